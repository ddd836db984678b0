"""Confidence intervals of the metrics, and paired tests against the best of a comparison.

The sampling unit is the query where there are queries, else the row. The models are fixed: the
intervals do not include how a model varies with its training rows. R_4 has none, because a few
rows determine it; nor have NDCG, AP and P@ of one list, of which there is one value each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._metrics import query_values
from sklearn_rank.metrics import (
    RankingComparison,
    auc_interval,
    bootstrap_interval,
    compare_auc,
    compare_rankings,
)

MIN_INTERVAL_QUERIES = 10
"""Minimum number of queries for an interval over queries."""

MIN_INTERVAL_ROWS = 10
"""Minimum number of rows of the rarer class for an interval over rows."""

MIN_FOLD_ROWS = 5
"""Minimum number of them in each fold."""

OVER_QUERIES = ("ndcg_at_10", "average_precision", "precision_at_10")
WITH_INTERVAL = ("auc", *OVER_QUERIES)
"""Keys of the metrics that may have an interval."""

N_RESAMPLES = 1999
"""Number of bootstrap samples: enough for two digits of an interval's width."""

_ERROR_RATE = 0.05


@dataclass(frozen=True)
class Interval:
    """A metric and the ends of its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class ComparedInterval:
    """The interval of a candidate and its difference from the best of the column.

    Attributes
    ----------
    interval : Interval
        Interval of the candidate itself.
    best : str
        Candidate with the best estimate.
    below_best : RankingComparison or None
        The best minus this one, paired; None for the best.
    is_worse : bool
        Whether the difference is significant, corrected for the number of candidates.
    """

    interval: Interval
    best: str
    below_best: RankingComparison | None = None
    is_worse: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return nested dictionaries."""
        content: dict[str, Any] = {
            "estimate": self.interval.estimate,
            "interval": [self.interval.low, self.interval.high],
        }
        if self.below_best is not None:
            content["below_best"] = {"best": self.best, **asdict(self.below_best)}
            content["below_best"]["is_worse"] = self.is_worse
        return content


IntervalTable = dict[str, dict[str, ComparedInterval]]
"""Intervals by key of the metric and by candidate."""


@dataclass(frozen=True)
class LabelledRows:
    """Relevance of rows, with their queries and folds.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Relevance.
    qid : ndarray of shape (n_rows,) or None
        Query codes.
    fold : ndarray of shape (n_rows,) or None
        Fold in which each row was held out: scores of different folds are of different models.
    """

    y: Floats
    qid: Indices | None
    fold: Indices | None = None


def compute_intervals(rows: LabelledRows, scores: Floats) -> dict[str, Interval]:
    """Return 95 % intervals of the metrics that have them, for one ranking.

    There are none with fewer than `MIN_INTERVAL_QUERIES` queries that are not skipped. In one list
    at least `MIN_INTERVAL_ROWS` rows, and `MIN_FOLD_ROWS` in each fold, must differ from the most
    frequent relevance. The AUC needs two queries with a pair in every fold.
    """
    return _intervals(rows, scores, _values(rows, scores), n_resamples=9999)


def compare_with_best(rows: LabelledRows, scores: Mapping[str, Floats]) -> IntervalTable:
    """Compare every candidate with the best, in each metric that all of them have."""
    values = {name: _values(rows, one) for name, one in scores.items()}
    intervals = {
        name: _intervals(rows, one, values[name], n_resamples=N_RESAMPLES)
        for name, one in scores.items()
    }
    interval_table: IntervalTable = {}
    for key in WITH_INTERVAL:
        if not all(key in found for found in intervals.values()):
            continue
        column = {name: found[key] for name, found in intervals.items()}
        best = max(column, key=lambda name: column[name].estimate)
        # The best is chosen from the same data. Dividing the error rate by the number of the
        # others still bounds the probability that the true best is starred (Hsu1981).
        rate = _ERROR_RATE / max(1, len(column) - 1)
        interval_table[key] = {}
        for name, interval in column.items():
            found = None if name == best else _difference(rows, key, scores, values, best, name)
            is_worse = found is not None and found.p_value < rate
            interval_table[key][name] = ComparedInterval(interval, best, found, is_worse)
    return interval_table


def interval_footnote(rows: LabelledRows, keys: Collection[str], *, is_comparison: bool) -> str:
    """Return a sentence on the intervals of a table, or on why there are none."""
    is_list = rows.qid is None
    if not keys:
        few = "rows of the rarer class" if is_list else "queries with a relevant row"
        least = MIN_INTERVAL_ROWS if is_list else MIN_INTERVAL_QUERIES
        in_fold = f", or than {MIN_FOLD_ROWS} in a fold" if is_list and is_comparison else ""
        return f"No intervals: fewer than {least} {few}{in_fold}."
    drawn = "rows" if is_list else "queries"
    if is_comparison:
        sentences = [
            f"Intervals: over the held-out {drawn}, with the models as they are.",
            "*: worse than the best of its column (paired test; the truly best of a column gets a "
            "star in at most about 5 % of tables).",
        ]
    else:
        sentences = [f"[low, high]: 95 % interval over {drawn}."]
    methods = ["AUC by its first-order variance"] * ("auc" in keys)
    methods += ["the others by bootstrap"] * (len(keys) > len(methods))
    if len(methods) > 1:
        sentences.append(f"{', '.join(methods)}.")
    without_auc = "" if "auc" in keys else "AUC, "
    sentences.append(
        "No interval: R_4, and NDCG, AP and P@ of one list."
        if is_list
        else f"No interval: {without_auc}R_4, P@1%."
    )
    return " ".join(sentences)


def _intervals(
    rows: LabelledRows, scores: Floats, values: Mapping[str, Floats], n_resamples: int
) -> dict[str, Interval]:
    intervals = {}
    if _has_enough_rows(rows):
        auc = _or_none(lambda: auc_interval(rows.y, scores, qid=rows.qid, fold=rows.fold))
        if auc is not None and (rows.qid is None or auc.n_queries >= MIN_INTERVAL_QUERIES):
            intervals["auc"] = Interval(auc.auc, auc.low, auc.high)
    for key, one in values.items():
        found = bootstrap_interval(one, n_resamples=n_resamples, random_state=0)
        intervals[key] = Interval(found.mean, found.low, found.high)
    return intervals


def _difference(
    rows: LabelledRows,
    key: str,
    scores: Mapping[str, Floats],
    values: Mapping[str, Mapping[str, Floats]],
    best: str,
    name: str,
) -> RankingComparison:
    if key == "auc":
        return compare_auc(rows.y, scores[best], scores[name], qid=rows.qid, fold=rows.fold)
    pair = values[best][key], values[name][key]
    return compare_rankings(*pair, n_resamples=N_RESAMPLES, random_state=0)


def _values(rows: LabelledRows, scores: Floats) -> dict[str, Floats]:
    """Return the values of the queries, of the metrics that have enough of them."""
    if rows.qid is None:
        return {}
    values = query_values(rows.y, scores, rows.qid, OVER_QUERIES)
    return {key: one for key, one in values.items() if len(one) >= MIN_INTERVAL_QUERIES}


def _has_enough_rows(rows: LabelledRows) -> bool:
    if rows.qid is not None:
        return True
    folds = [] if rows.fold is None else [rows.y[rows.fold == v] for v in np.unique(rows.fold)]
    return _n_rarer(rows.y) >= MIN_INTERVAL_ROWS and all(
        _n_rarer(one) >= MIN_FOLD_ROWS for one in folds
    )


def _n_rarer(y: Floats) -> int:
    return len(y) - int(np.unique(y, return_counts=True)[1].max())


def _or_none(interval: Callable[[], Any]) -> Any:
    try:
        return interval()
    except ValueError:  # fewer than two queries with a pair in a fold, or scores that are NaN
        return None
