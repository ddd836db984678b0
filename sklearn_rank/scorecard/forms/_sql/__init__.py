"""A scorecard as an expression or a query of SQL."""

from sklearn_rank.scorecard.forms._sql.query import to_sql

__all__ = ["to_sql"]
