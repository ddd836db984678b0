"""Rows in the order of a ranking, query by query, and the conventions of the cut-off metrics.

Conventions, stated once
------------------------
- **Relevant** is a row whose relevance is above 0.
- **Ties**: the value is the mean over all orders of the tied rows, exactly. The order of
  the input never matters.
- **Queries without a relevant row** say nothing about an order. They are skipped (NaN where
  each query is reported), or count 0 or 1: parameter `empty`.
- **Average**: each query counts once.
- **No weights**: a place in a list is a whole number, so these metrics take no
  `sample_weight`. `partial_auc_score` does, as its axes are shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank._validation import Choice, Constraint, Number, check_parameters
from sklearn_rank.grouping import starts_run
from sklearn_rank.metrics._pair_metrics import validated

MATRIX_ENTRIES = 1 << 12
AVERAGE = Choice(("mean", None))
EMPTY = Number(0, 1, integer=True, other=("skip",))
CUT_OFF = Number(1, integer=True, other=(None,))


@dataclass(frozen=True)
class RankedQueries:
    """Rows sorted by query and falling score; rows of one score form a tie group.

    Attributes
    ----------
    relevance : ndarray of shape (n_rows,)
        Relevance of the rows in that order.
    query_start : ndarray of shape (n_queries,)
        First row of each query.
    group_start : ndarray of shape (n_groups,)
        First row of each tie group.
    group_query : ndarray of shape (n_groups,)
        Query of each tie group.
    """

    relevance: Floats
    query_start: Indices
    group_start: Indices
    group_query: Indices

    @cached_property
    def query_size(self) -> Indices:
        """Rows of each query."""
        return np.diff(self.query_start, append=len(self.relevance))

    @cached_property
    def group_size(self) -> Indices:
        """Rows of each tie group."""
        return np.diff(self.group_start, append=len(self.relevance))

    @cached_property
    def before(self) -> Indices:
        """Rows of the query that stand before each tie group."""
        return np.asarray(self.group_start - self.query_start[self.group_query])

    @cached_property
    def relevant(self) -> Indices:
        """Relevant rows of each tie group."""
        return np.add.reduceat((self.relevance > 0).astype(np.intp), self.group_start)

    @cached_property
    def n_relevant(self) -> Indices:
        """Relevant rows of each query."""
        return np.add.reduceat((self.relevance > 0).astype(np.intp), self.query_start)

    def per_query(self, of_group: Floats) -> Floats:
        """Sum values of the tie groups over each query."""
        first = np.searchsorted(self.group_start, self.query_start)
        return np.asarray(np.add.reduceat(of_group, first))

    def places_up_to(self, k: Indices) -> Indices:
        """How many of the first `k` places of its query each tie group takes."""
        left = k[self.group_query] - self.before
        return np.clip(left, 0, self.group_size)


def rank_queries(y_true: Any, y_score: Any, qid: Any) -> RankedQueries:
    """Check the rows and sort them by query and falling score."""
    relevance, scores, codes, _ = validated(y_true, y_score, qid, None)
    query: Indices = np.zeros(len(scores), dtype=np.intp) if codes is None else codes
    order = np.argsort(-scores) if codes is None else _order_in_queries(scores, codes)
    query = query[order]
    new_query = starts_run(query)
    group_start = np.flatnonzero(new_query | starts_run(scores[order]))
    return RankedQueries(
        relevance[order], np.flatnonzero(new_query), group_start, query[group_start]
    )


def _order_in_queries(scores: Floats, query: Indices) -> Indices:
    """Sort rows by query and falling score.

    Queries of similar length are sorted as the rows of one matrix: short sorts are cheap.
    """
    size = np.bincount(query)
    n_queries, longest = len(size), int(size.max())
    # Short integers are sorted by counting.
    short = query.astype(np.uint16) if n_queries <= 1 << 16 else query
    if n_queries * longest > 2 * len(query) + MATRIX_ENTRIES:
        order = np.argsort(-scores)
        return order[np.argsort(short[order], kind="stable")]
    by_query = np.argsort(short, kind="stable")
    is_row = np.arange(longest) < size[:, np.newaxis]
    matrix = np.full(is_row.shape, np.nan)  # NaN is sorted behind all scores
    matrix[is_row] = -scores[by_query]
    start = np.cumsum(size) - size
    places = np.argsort(matrix, axis=1) + start[:, np.newaxis]
    return by_query[places[is_row]]


def check_options(owner: str, average: Any, empty: Any, **k: Any) -> None:
    """Check the parameters that the cut-off metrics share."""
    values = {"average": average, "empty": empty, **k}
    allowed: dict[str, Constraint] = {"average": AVERAGE, "empty": EMPTY, "k": CUT_OFF}
    check_parameters(owner, values, {name: allowed[name] for name in values})


def check_not_negative(owner: str, relevance: Floats) -> None:
    """Raise ValueError for a relevance below 0."""
    lowest = float(relevance.min())
    if lowest < 0:
        raise ValueError(
            f"y_true of {owner} must not be negative: a relevance is turned into a gain, "
            f"and 0 means none. Got {lowest:g}."
        )


def average_queries(
    values: Floats, counts: Mask, average: str | None, empty: str | int
) -> float | Floats:
    """Average values over queries, or return them; `counts` marks those that have a value."""
    values = np.where(counts, values, np.nan if empty == "skip" else float(empty))
    if average is None:
        return values
    present = ~np.isnan(values)
    if not present.any():
        raise ValueError(
            "There is no query to average over: none has a relevant row (relevance above 0), "
            "and what the metric compares it with."
        )
    return float(values[present].mean())


def divide(numerator: Floats, denominator: Floats | Indices) -> Floats:
    """Divide where the denominator is positive, and return 0 elsewhere."""
    result = np.zeros(len(numerator))
    np.divide(numerator, denominator, out=result, where=np.asarray(denominator) > 0)
    return result
