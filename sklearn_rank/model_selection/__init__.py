"""Splitters of whole queries, a check of splitters, and how many rows of a list to take."""

from sklearn_rank.model_selection._leakage import QueryLeakage, check_query_leakage
from sklearn_rank.model_selection.conformal import ConformalSelector
from sklearn_rank.model_selection.splitters import QueryKFold, QueryShuffleSplit

__all__ = [
    "ConformalSelector",
    "QueryKFold",
    "QueryLeakage",
    "QueryShuffleSplit",
    "check_query_leakage",
]
