"""Splits that keep every query on one side, and a check for splits that don't."""

from sklearn_rank.model_selection._leakage import QueryLeakage, check_query_leakage
from sklearn_rank.model_selection._splitters import QueryKFold, QueryShuffleSplit

__all__ = ["QueryKFold", "QueryLeakage", "QueryShuffleSplit", "check_query_leakage"]
