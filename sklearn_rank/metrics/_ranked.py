"""Rows sorted by query and score, and the conventions of rank-based metrics.

Conventions, stated once
------------------------
- **Relevant** rows are those with a relevance above 0. Metrics that only distinguish relevant rows
  from others warn if all rows are relevant but have several grades.
- **Ties**: the value is the exact mean over all orders of the tied rows, so that the order
  of the input does not matter.
- **Queries without a relevant row** have the same value in any order. They are skipped (NaN
  with ``average=None``), or count 0 or 1: parameter `empty`.
- **Average**: each query counts once, or by its `query_weight`.
- **No row weights**: a rank is an integer, so these metrics take no `sample_weight`.
  `partial_auc_score` and `tpr_at_fpr_score` do, because their axes are shares.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypedDict, TypeVar, Unpack

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.sums import Groups, nested_runs
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    Number,
    check_column,
    check_parameters,
    check_qid,
    check_query_weight,
)
from sklearn_rank._core.warnings import warn
from sklearn_rank.metrics.scored_rows import ScoredRows

Metric = TypeVar("Metric", bound=Callable[..., Any])

_ALLOWED: dict[str, Constraint] = {
    "average": Choice(("mean", None)),
    "empty": Number(0, 1, integer=True, other=("skip",)),
    "k": Number(1, integer=True, other=(None,)),
}


@dataclass(frozen=True, eq=False)
class RankedQueries:
    """Rows sorted by query and descending score; tied rows of a query form a tie group.

    Attributes
    ----------
    rows : ScoredRows
        The rows as the caller passed them.
    order : ndarray of shape (n_rows,)
        ``rows.y[order]`` is sorted.
    ties : Groups
        The tie groups, over rows.
    queries : Groups
        The queries, over tie groups.
    """

    rows: ScoredRows
    order: Indices
    ties: Groups
    queries: Groups

    @cached_property
    def relevance(self) -> Floats:
        """Relevance of the sorted rows."""
        return self.rows.y[self.order]

    @cached_property
    def query_rows(self) -> Groups:
        """The queries, over rows."""
        return Groups(self.ties.start[self.queries.start], self.ties.n_items)

    def depth(self, k: int | None) -> int:
        """Return the number of ranks up to the cut-off k, or to the end of the longest query."""
        longest = int(self.query_rows.length.max())
        return longest if k is None else min(k, longest)

    @cached_property
    def n_before(self) -> Indices:
        """Number of rows of the query before each tie group."""
        return self.ties.start - self.queries.spread(self.query_rows.start)

    @cached_property
    def relevant(self) -> Indices:
        """Number of relevant rows of each tie group."""
        return self.ties.reduce(np.add, self._is_relevant)

    @cached_property
    def n_relevant(self) -> Indices:
        """Number of relevant rows of each query."""
        return self.query_rows.reduce(np.add, self._is_relevant)

    @cached_property
    def _is_relevant(self) -> Indices:
        """1 for relevant rows, else 0."""
        return (self.relevance > 0).astype(np.intp)


def rank_rows(rows: ScoredRows) -> RankedQueries:
    """Sort rows by query and descending score."""
    order = order_by_score(rows.score, rows.qid)
    return RankedQueries(rows, order, *nested_runs(rows.query[order], rows.score[order]))


def order_by_score(scores: Floats, query: Indices | None) -> Indices:
    """Return the order of the rows by query code and descending score."""
    order = np.argsort(-scores)
    if query is None:
        return order
    # NumPy sorts short integers by counting, in linear time.
    query_code = query.astype(np.uint16) if query.max() < 1 << 16 else query
    return order[np.argsort(query_code[order], kind="stable")]


def rank_queries(
    owner: str,
    y_true: Any,
    y_score: Any,
    k: Any = None,
    /,
    *,
    has_gains: bool = False,
    **over: Unpack[OverQueries],
) -> tuple[QueryMean, RankedQueries]:
    """Check the arguments of a rank-based metric, and sort rows by query and descending score.

    `has_gains` is True for metrics with a gain for each grade: a grade must not be negative. For
    others, rows are relevant or not, and a warning is issued if all are relevant.
    """
    query_mean = QueryMean.checked(owner, y_true, k, **over)
    rows = ScoredRows.with_relevance(y_true, y_score, over.get("qid"))
    lowest, highest = float(rows.y.min()), float(rows.y.max())
    if has_gains and lowest < 0:
        raise ValueError(
            f"y_true of {owner} must not be negative: relevance becomes a gain, "
            f"and 0 means none. Got {lowest:g}."
        )
    if not has_gains and 0 < lowest < highest:
        reason = f"For {owner} every row is relevant: y_true is above 0 everywhere"
        warn(f"{reason}, so all orders have the same value. Subtract its minimum.")
    return query_mean, rank_rows(rows)


@dataclass(frozen=True, eq=False)
class QueryMean:
    """The mean of a metric over queries.

    Attributes
    ----------
    average : "mean" or None
        None: the values of the queries instead of their mean.
    empty : 0, 1 or "skip"
        The value of queries that have none.
    weight : ndarray of shape (n_queries,) or None
        Weight of each query; None: 1 for all.
    """

    average: str | None
    empty: str | int
    weight: Floats | None = None

    @classmethod
    def checked(
        cls,
        owner: str,
        y_true: Any,
        k: Any = None,
        /,
        *,
        qid: Any = None,
        query_weight: Any = None,
        average: str | None = "mean",
        empty: str | int = "skip",
    ) -> QueryMean:
        """Check the common parameters of rank-based metrics, and return the mean."""
        check_parameters(owner, {"average": average, "empty": empty, "k": k}, _ALLOWED)
        if query_weight is None:
            return cls(average, empty)
        if qid is None or average is None:
            required = "qid" if qid is None else "average='mean'"
            raise ValueError(
                f"query_weight of {owner} needs {required}: it weights the queries in their mean."
            )
        codes = check_qid(qid, len(check_column(y_true, "y_true")))
        return cls(average, empty, check_query_weight(query_weight, qid, codes))

    def of(self, values: Floats, has_value: Mask) -> float | Floats:
        """Return the mean of the values of the queries that have one."""
        values = np.where(has_value, values, np.nan if self.empty == "skip" else float(self.empty))
        if self.average is None:
            return values
        is_counted, weight = ~np.isnan(values), self.weight
        if weight is not None:
            is_counted &= weight > 0
        if not is_counted.any():
            hint = "All rows are one query, and y_true has rows of one kind only. "
            raise ValueError(
                f"{hint if len(values) == 1 else ''}There is no query to average over: none has "
                "both a relevant row (relevance above 0) and what the metric compares it with"
                f"{'' if weight is None else ', and a weight'}."
            )
        if weight is None:
            return float(values[is_counted].mean())
        max_weight = weight[is_counted].max()
        return float(np.average(values[is_counted], weights=weight[is_counted] / max_weight))


def divide(numerator: Floats, denominator: Floats | Indices) -> Floats:
    """Divide where the denominator is positive, and return 0 elsewhere."""
    quotient = np.zeros(len(numerator))
    np.divide(numerator, denominator, out=quotient, where=np.asarray(denominator) > 0)
    return quotient


class OverQueries(TypedDict, total=False):
    """The common keyword parameters of rank-based metrics."""

    qid: Any
    query_weight: Any
    average: str | None
    empty: str | int


def over_queries(metric: Metric) -> Metric:
    """Show the names and defaults of `OverQueries` in the signature of a metric."""
    signature = inspect.signature(metric)
    own_parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    shared_params = inspect.signature(QueryMean.checked).parameters
    parameters = [*own_parameters, *(shared_params[name] for name in OverQueries.__annotations__)]
    vars(metric)["__signature__"] = signature.replace(parameters=parameters)
    return metric
