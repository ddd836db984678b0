"""Check that training and test rows share no query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sklearn_rank._core.validation import check_names, check_qid
from sklearn_rank.model_selection._splitters import split_queries


@dataclass(frozen=True)
class QueryLeakage:
    """The result of `check_query_leakage`.

    Attributes
    ----------
    n_queries : tuple of int
        For each split, the number of queries with rows on both sides.
    n_rows : tuple of int
        For each split, the number of test rows that belong to these queries.
    query_ids : tuple
        The ids of the queries that leak in at least one split, sorted.

    Examples
    --------
    >>> from sklearn_rank.model_selection import QueryLeakage
    >>> print(QueryLeakage(n_queries=(0, 1), n_rows=(0, 3), query_ids=("a",)))
    1 query has rows on both sides of a split, in 1 of 2 splits (3 test rows): 'a'.
    >>> QueryLeakage(n_queries=(0, 0), n_rows=(0, 0), query_ids=()).is_leaking
    False
    """

    n_queries: tuple[int, ...]
    n_rows: tuple[int, ...]
    query_ids: tuple[Any, ...]

    @property
    def is_leaking(self) -> bool:
        """Whether a query has rows on both sides of a split."""
        return bool(self.query_ids)

    def raise_if_leaking(self) -> None:
        """Raise an error if a query has rows on both sides of a split.

        Raises
        ------
        ValueError
            If a query has rows on both sides of a split.
        """
        if self.is_leaking:
            raise ValueError(
                f"{self} Scores of such splits are too optimistic. "
                "sklearn_rank.model_selection.QueryKFold keeps queries whole."
            )

    def __str__(self) -> str:
        n_splits = len(self.n_queries)
        if not self.is_leaking:
            return f"No query has rows on both sides of a split, in {n_splits} splits."
        ids = ", ".join(map(repr, self.query_ids[:5]))
        n_ids = len(self.query_ids)
        ids += f" and {n_ids - 5} more" if n_ids > 5 else ""
        return (
            f"{n_ids} {'query has' if n_ids == 1 else 'queries have'} rows on both sides of a "
            f"split, in {np.count_nonzero(self.n_queries)} of {n_splits} splits "
            f"({sum(self.n_rows)} test rows): {ids}."
        )


def check_query_leakage(
    cv: Any, X: Any, y: Any = None, *, qid: Any, groups: Any = None
) -> QueryLeakage:
    """Count the queries with rows on both sides of a split.

    Rows of a query are dependent. If some of them are training rows, the test score of the others
    is too optimistic.

    Parameters
    ----------
    cv : int, splitter or iterable of (train, test)
        As `cv` in scikit-learn; an int means ``KFold``.
    X : array-like of shape (n_samples, n_features)
        Features.
    y : array-like of shape (n_samples,), default=None
        Target, for splitters that need one.
    qid : array-like of shape (n_samples,)
        Query of each row: ints, strings or other sortable values, in any order.
    groups : array-like of shape (n_samples,), default=None
        Passed to a splitter without a parameter `qid`.

    Returns
    -------
    QueryLeakage
        Counts for each split, the ids, a summary as ``str`` and `raise_if_leaking`.

    Raises
    ------
    ValueError
        If qid is invalid, or if the splitter raises it.

    Examples
    --------
    >>> from sklearn.model_selection import KFold
    >>> from sklearn_rank.datasets import make_queries
    >>> from sklearn_rank.model_selection import QueryKFold, check_query_leakage
    >>> data = make_queries(n_queries=20, rows_per_query=10, random_state=0)
    >>> shuffled = KFold(4, shuffle=True, random_state=0)
    >>> print(check_query_leakage(shuffled, data.data, qid=data.qid))
    20 queries have rows on both sides of a split, in 4 of 4 splits (200 test rows): ...
    >>> print(check_query_leakage(QueryKFold(4), data.data, qid=data.qid))
    No query has rows on both sides of a split, in 4 splits.
    """
    n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
    codes = check_qid(qid, n_samples)
    splits = split_queries(check_cv(cv), X, y, qid=qid, groups=groups)
    # Of each split, the query of each test row whose query is also in the training rows.
    leaks = [codes[test][np.isin(codes[test], codes[train])] for train, test in splits]
    n_queries, n_rows = [len(np.unique(leak)) for leak in leaks], map(len, leaks)
    first_row = np.unique(codes, return_index=True)[1]
    leaking = np.unique(np.concatenate([codes[:0], *leaks]))
    ids = check_names(qid, "qid")[first_row[leaking]].tolist()
    return QueryLeakage(tuple(n_queries), tuple(n_rows), tuple(ids))
