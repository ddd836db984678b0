"""Splitters of whole queries, a check of splitters, and how many rows of a list to take."""

from sklearn_rank.model_selection._leakage import QueryLeakage, check_query_leakage
from sklearn_rank.model_selection._splitters import QueryKFold, QueryShuffleSplit
from sklearn_rank.model_selection._splitters import split_queries as split_queries
from sklearn_rank.model_selection.conformal import ConformalSelector

__all__ = [
    "ConformalSelector",
    "QueryKFold",
    "QueryLeakage",
    "QueryShuffleSplit",
    "check_query_leakage",
]
