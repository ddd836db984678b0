"""Splitters of whole queries."""

from __future__ import annotations

import inspect
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import (
    FLAG,
    SEED,
    Constraint,
    Number,
    check_column,
    check_lengths,
    check_parameters,
    check_qid,
    sort_unique,
)

Fold = tuple[Indices, Indices]
"""The rows to fit and those held out."""


def _counts_and_size(codes: Indices, is_relevant: Mask) -> tuple[Floats, Floats]:
    """Return the numbers of rows and of relevant rows per query, and sizes from their shares."""
    counts: Floats = np.array([np.bincount(codes), np.bincount(codes, weights=is_relevant)]).T
    return counts, (counts / np.maximum(counts.sum(axis=0), 1)).sum(axis=1)


def _jittered(size: Floats, rng: Any) -> Floats:
    """Return randomised sizes; a size more than twice another remains the larger one."""
    return np.asarray(size * (1 - rng.random_sample(len(size)) / 2))


def _draw_evenly(size: Floats, n_test: int, rng: Any) -> Mask:
    """Mark `n_test` queries by systematic sampling along their order by jittered size."""
    # Query j is drawn if an integer lies between its ends on a line of length n_test.
    edges = np.arange(len(size) + 1) * n_test / len(size) + rng.random_sample()
    is_drawn = np.empty(len(size), dtype=bool)
    is_drawn[np.argsort(_jittered(size, rng))] = np.diff(np.floor(edges + 1e-9)) > 0
    return is_drawn


class _QuerySplitter(BaseCrossValidator):
    """Base class that converts between rows and queries; subclasses split the queries."""

    # Requested by default: with metadata routing users pass `qid` only once.
    __metadata_request__split: ClassVar[dict[str, bool]] = {"qid": True}

    _allowed: ClassVar[dict[str, Constraint]]

    n_splits: int

    def split(
        self, X: Any, y: Any = None, groups: Any = None, *, qid: Any = None
    ) -> Iterator[tuple[Indices, Indices]]:
        """Return the splits, each a pair of arrays of row indices.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; only the number of rows matters.
        y : array-like of shape (n_samples,), default=None
            Relevance or class of each row.
        groups : array-like of shape (n_samples,), default=None
            Must be None: scikit-learn's tools would pass `groups` to the splitter, but not to
            the ranker and its scorer.
        qid : array-like of shape (n_samples,), default=None
            Query of each row: ints, strings or other sortable values, in any order.

        Returns
        -------
        iterator of (train, test)
            Sorted row indices of both sides. No query has rows on both.

        Raises
        ------
        ValueError
            Without qid, with groups, if an array is invalid, or if there are
            too few queries.
        """
        codes = self._query_codes(X, groups, qid)
        # No generator function: invalid input is an error here, not at the first split.
        masks = (mask[codes] for mask in self._test_queries(codes, _is_relevant(y, codes)))
        return ((np.flatnonzero(~mask), np.flatnonzero(mask)) for mask in masks)

    def get_n_splits(
        self, X: Any = None, y: Any = None, groups: Any = None, *, qid: Any = None
    ) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups, qid : object, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        int
            The parameter `n_splits`.
        """
        return self.n_splits

    @abstractmethod
    def _test_queries(self, codes: Indices, is_relevant: Mask) -> Iterator[Mask]:
        """Check the number of queries; return a mask of the test queries for each split."""

    def _query_codes(self, X: Any, groups: Any, qid: Any) -> Indices:
        name = type(self).__name__
        if qid is None or groups is not None:
            raise ValueError(
                f"{name} needs qid, the query of each row, to keep queries whole; groups would "
                "reach only the splitter. Call split(X, y, qid=qid). In GridSearchCV, "
                "cross_validate and similar tools, enable routing with sklearn.set_config("
                "enable_metadata_routing=True) and pass qid once: search.fit(X, y, qid=qid) or "
                "cross_validate(..., params={'qid': qid})."
            )
        return check_qid(qid, X.shape[0] if hasattr(X, "shape") else len(X))


def split_queries(splitter: Any, X: Any, y: Any, *, qid: Any, groups: Any) -> Any:
    """Return the splits of any splitter; qid is passed as `qid` if possible, else as `groups`."""
    takes_qid = "qid" in inspect.signature(splitter.split).parameters
    return splitter.split(X, y, **({"qid": qid} if takes_qid else {"groups": groups}))


def checked_folds(owner: str, splits: Iterable[Any], row_index: Indices) -> list[Fold]:
    """Return the folds of the kept rows, given splits of all rows as indices or masks.

    `row_index` is the index of each row among the kept rows, -1 for rows that are left out.
    """
    try:
        folds = [
            (row_index[np.asarray(train)], row_index[np.asarray(test)]) for train, test in splits
        ]
    except (IndexError, TypeError, ValueError) as error:
        raise ValueError(
            f"cv of {owner} must yield (train, test) arrays of indices of the {len(row_index)} "
            f"rows, or masks of them. {error}"
        ) from error
    return [(train[train >= 0], test[test >= 0]) for train, test in folds]


class QueryKFold(_QuerySplitter):
    r"""Split the queries into K folds that keep them whole, balanced in rows and in relevant rows.

    Every query is tested once. Queries are assigned in descending order of size, where size is a
    query's share of all rows plus its share of all relevant rows. Each joins the fold f with the
    smallest

    .. math:: \frac{n_f}{n} \cdot \frac{n_q}{n} + \frac{r_f}{r} \cdot \frac{r_q}{r}
        \qquad\text{among those with}\qquad n_f + n_q \le \min_g n_g + \max_q n_q

    where

    - :math:`n_f` and :math:`r_f` are the rows and the relevant rows that fold f holds;
    - :math:`n_q` and :math:`r_q` are those of the query, n and r those of all queries;
    - a row is relevant when its y is above the lowest y. Without y only rows count.

    Up to a factor of 2 and a constant this is the increase of the sum of the squared shares of
    the folds, which is minimal when all folds are equal.

    Parameters
    ----------
    n_splits : int in [2, inf), default=5
        Number of folds.
    shuffle : bool, default=False
        Whether to assign the queries in a random order; a query still precedes those less than half
        as large. Without shuffling, or with an int as random_state, the folds do not depend on the
        order of the rows.
    random_state : int, RandomState instance or None, default=None
        Seed of `shuffle`; only allowed with it.

    Raises
    ------
    ValueError
        If a parameter is invalid, or random_state is given without shuffle.

    See Also
    --------
    QueryShuffleSplit : Random test sets that may overlap.
    check_query_leakage : Counts the queries that other splitters divide.

    Notes
    -----
    *The row counts of two folds never differ by more than the largest query.* Proof by
    induction: at the start all counts are zero. Let the claim hold before a query is assigned
    to fold f, and let m be the smallest count. By the condition f then has at most
    m + max n_q rows, as all other folds have by assumption; and counts do not decrease, so that
    the smallest stays at least m. The fold with m rows always satisfies the condition. This
    holds in any order, also with `shuffle`.

    *No fold is empty*: only an empty fold has cost 0.

    References
    ----------
    Defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.model_selection import QueryKFold
    >>> qid = np.array(["a", "b", "a", "c", "d", "a", "d"])
    >>> X = np.zeros((7, 1))
    >>> for train, test in QueryKFold(n_splits=2).split(X, qid=qid):
    ...     print(qid[test])
    ['a' 'a' 'c' 'a']
    ['b' 'd' 'd']

    In a search with metadata routing, pass ``qid`` once:

    >>> import sklearn
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> grid = {"alpha": [1e-4, 1e-2]}
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     search = GridSearchCV(ListNetLinear(), grid, cv=QueryKFold(3), error_score="raise")
    ...     search = search.fit(data.data, data.target, qid=data.qid)
    >>> search.n_splits_
    3
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        "n_splits": Number(2, integer=True),
        "shuffle": FLAG,
        "random_state": SEED,
    }

    def __init__(
        self, n_splits: int = 5, *, shuffle: bool = False, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.shuffle = shuffle
        self.random_state = random_state
        check_parameters(type(self).__name__, vars(self), self._allowed)
        if random_state is not None and not shuffle:
            raise ValueError(
                "The 'random_state' parameter of QueryKFold has no effect with shuffle=False. "
                f"Use shuffle=True. Got random_state={random_state!r}."
            )

    def _test_queries(self, codes: Indices, is_relevant: Mask) -> Iterator[Mask]:
        n_rows = np.bincount(codes)
        if len(n_rows) < self.n_splits:
            raise ValueError(
                f"QueryKFold needs at least n_splits={self.n_splits} queries, one for each "
                f"fold. Got {len(n_rows)}."
            )
        counts, size = _counts_and_size(codes, is_relevant)
        if self.shuffle:
            size = _jittered(size, check_random_state(self.random_state))
        fold = _assign_folds(counts, np.argsort(-size, kind="stable"), self.n_splits)
        return (fold == j for j in range(self.n_splits))


class QueryShuffleSplit(_QuerySplitter):
    """Split off random test sets of whole queries, which may overlap between splits.

    Every query is tested with the same probability. Systematic sampling along the order by size
    (defined in `QueryKFold`) makes the test sets more similar in rows and in relevant rows than
    simple random sampling.

    Parameters
    ----------
    n_splits : int in [1, inf), default=10
        Number of splits.
    test_size : float in (0, 1), default=0.2
        Share of the test queries, rounded up; at least one query is left for training.
    random_state : int, RandomState instance or None, default=None
        Random seed. An int gives the same splits in every call of `split`.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    See Also
    --------
    QueryKFold : Every query is tested once, and the folds are balanced.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.model_selection import QueryShuffleSplit
    >>> qid = np.array([1, 1, 2, 2, 3, 3, 3, 4, 5])
    >>> splitter = QueryShuffleSplit(n_splits=2, test_size=0.4, random_state=0)
    >>> for train, test in splitter.split(np.zeros((9, 1)), qid=qid):
    ...     print(qid[train], qid[test])
    [1 1 3 3 3 5] [2 2 4]
    [2 2 3 3 3 4] [1 1 5]
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        "n_splits": Number(1, integer=True),
        "test_size": Number(0, 1, closed="neither"),
        "random_state": SEED,
    }

    def __init__(
        self, n_splits: int = 10, *, test_size: float = 0.2, random_state: Any = None
    ) -> None:
        self.n_splits = n_splits
        self.test_size = test_size
        self.random_state = random_state
        check_parameters(type(self).__name__, vars(self), self._allowed)

    def _test_queries(self, codes: Indices, is_relevant: Mask) -> Iterator[Mask]:
        n_queries = int(codes.max()) + 1
        if n_queries < 2:
            raise ValueError(
                "QueryShuffleSplit needs at least 2 queries, one to train and one to test. "
                f"Got {n_queries}."
            )
        # Up to rounding: 0.07 * 100 is a little more than 7.
        n_test = max(min(math.ceil(self.test_size * n_queries - 1e-9), n_queries - 1), 1)
        rng = check_random_state(self.random_state)
        size = _counts_and_size(codes, is_relevant)[1]
        return (_draw_evenly(size, n_test, rng) for _ in range(self.n_splits))


def _is_relevant(y: Any, codes: Indices) -> Mask:
    """Return a mask of the rows whose y is above the minimum (no row if y is None)."""
    if y is None:
        return np.zeros(len(codes), dtype=bool)
    labels = check_column(y, "y")
    check_lengths(X=codes, y=labels)
    return sort_unique(labels, "y must hold values")[1] > 0


def _assign_folds(counts: Floats, order: Indices, n_folds: int) -> Indices:
    """Return the fold of each query, assigned in this order (formula: `QueryKFold`)."""
    fold = np.empty(len(counts), dtype=np.intp)
    totals = np.zeros((n_folds, 2))  # rows and relevant rows of each fold
    max_rows = counts[:, 0].max()
    # Sums of counts are exact, unlike sums of shares, so that equal folds tie.
    scaled = counts / np.maximum(counts.sum(axis=0), 1) ** 2
    for query in order:
        cost, n_rows = totals @ scaled[query], totals[:, 0]
        cost[n_rows + counts[query, 0] > n_rows.min() + max_rows] = np.inf
        fold[query] = np.argmin(cost)
        totals[fold[query]] += counts[query]
    return fold
