"""Splitters of whole queries, and a check whether a splitter divides queries."""

from sklearn_rank.model_selection._leakage import QueryLeakage, check_query_leakage
from sklearn_rank.model_selection._splitters import QueryKFold, QueryShuffleSplit

__all__ = ["QueryKFold", "QueryLeakage", "QueryShuffleSplit", "check_query_leakage"]
