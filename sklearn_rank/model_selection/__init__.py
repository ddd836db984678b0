"""Splitters for queries and for time, a leakage check, and how many rows to select."""

from sklearn_rank.model_selection._leakage import QueryLeakage, check_query_leakage
from sklearn_rank.model_selection._rolling_origin import RollingOriginSplit
from sklearn_rank.model_selection._splitters import Fold as Fold
from sklearn_rank.model_selection._splitters import QueryKFold, QueryShuffleSplit
from sklearn_rank.model_selection._splitters import checked_folds as checked_folds
from sklearn_rank.model_selection._splitters import split_queries as split_queries
from sklearn_rank.model_selection.conformal import ConformalSelector

__all__ = [
    "ConformalSelector",
    "QueryKFold",
    "QueryLeakage",
    "QueryShuffleSplit",
    "RollingOriginSplit",
    "check_query_leakage",
]
