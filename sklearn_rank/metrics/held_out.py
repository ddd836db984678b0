"""Metrics of held-out rows, by the names of `ranking_scorer`, with 95 % intervals.

The sampling unit is the query where there are queries, else the row; in one list only the AUC and
the share found at a false positive rate have an interval. The models are fixed: an interval does
not include how a model varies with its training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank import metrics
from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.metrics import RankingComparison, ranking_scorer
from sklearn_rank.metrics.intervals import over_folds

_LEAST = 10
"""Least queries, or rows of the rarer class, for an interval; half of that in a fold."""

_RESAMPLING: dict[str, Any] = {"n_resamples": 999, "random_state": 0}


@dataclass(frozen=True)
class Labels:
    """Relevance of rows, their queries (None: one list) and the folds that held them out.

    `ratio` is that of rows tested to rows trained on where rows are not independent: they occur
    several times, or belong to one customer. NaN where folds aren't either.
    """

    y: Floats
    qid: Indices | None
    fold: Indices | None = None
    ratio: float | None = None

    def take(self, rows: Any) -> Labels:
        """Return some of the rows, of which no folds are known."""
        return Labels(self.y[rows], None if self.qid is None else self.qid[rows])


@dataclass(frozen=True)
class Measured:
    """A metric of one ranking, in folds too, and beside the best ranking of a comparison."""

    mean: float
    interval: tuple[float, float] | None = None
    folds: list[float] = field(default_factory=list)
    below_best: Any = None
    is_worse: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return nested dictionaries."""
        return {key: one for key, one in asdict(self).items() if one}


Comparison = dict[str, dict[str, Measured]]
"""Rankings by name, for each metric."""


def value(name: str, y: Floats, scores: Floats, qid: Indices | None) -> float:
    """Return a metric; NaN if it is not defined."""
    try:
        return ranking_scorer(name).measure(y, scores, qid=qid)
    except ValueError:  # no pair, no relevant row, or NDCG of a negative or huge relevance
        return float("nan")


def have_pair(y: Values, qid: Indices | None) -> bool:
    """Return whether a query, or the one list, has rows of different relevance."""
    query = np.zeros(len(y)) if qid is None else qid
    return len(np.unique([query, y], axis=1).T) > len(np.unique(query))


def measure(name: str, rows: Labels, scores: Floats) -> Measured:
    """Return a metric, its values in folds, and its interval; NaN if not defined."""
    folds = _in_folds(name, rows, scores)
    values = np.array(folds or [value(name, rows.y, scores, rows.qid)])
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if known.size else float("nan")
    measured = Measured(mean, None, folds)
    try:
        found = estimate(name, rows, scores)
    except ValueError:  # fewer than two queries with a pair in a fold, or NaN
        return measured
    if (_n_rarer(rows) if rows.qid is None else found.n_queries) < _LEAST:
        return measured
    mean = getattr(found, "auc" if name == "auc" else "mean", mean)
    return replace(measured, mean=mean, interval=(found.low, found.high))


def _in_folds(name: str, rows: Labels, scores: Floats) -> list[float]:
    found = []
    for number in [] if rows.fold is None else np.unique(rows.fold):
        part = rows.fold == number
        fold = rows.take(part)
        found.append(value(name, fold.y, scores[part], fold.qid))
    return found


def compare_with_best(names: list[str], rows: Labels, scores: Mapping[str, Floats]) -> Comparison:
    """Measure rankings by some metrics, and compare each with the best, if all have intervals."""
    table = {}
    for name in names:
        column = {key: measure(name, rows, one) for key, one in scores.items()}
        best = max(column, key=lambda key: column[key].mean)
        others = {key: one for key, one in column.items() if key != best}
        if all(one.interval for one in column.values()):
            for key, one in others.items():
                found = estimate(name, rows, scores[best], scores[key])
                # The best is chosen from the same data. Dividing the error rate by the number of
                # the others still bounds the probability that the true best is starred (Hsu1981).
                is_worse = found.p_value < 0.05 / len(others)
                column[key] = replace(one, below_best=found, is_worse=is_worse)
        table[name] = column
    return table


def estimate(name: str, rows: Labels, *scores: Floats) -> Any:
    """Return a metric of a ranking, or of two the RankingComparison; ValueError if it has none."""
    if rows.ratio is not None:
        return _over_folds(name, rows, *scores)
    is_one = len(scores) == 1
    if name == "auc":
        of_auc = metrics.auc_interval if is_one else metrics.compare_auc
        return of_auc(rows.y, *scores, qid=rows.qid, fold=rows.fold)
    if rows.qid is not None:
        values = [ranking_scorer(name).of_queries(rows.y, one, qid=rows.qid) for one in scores]
        of_queries = metrics.bootstrap_interval if is_one else metrics.compare_rankings
        return of_queries(*values, **_RESAMPLING)
    kind, _, rate = name.partition("@")
    if kind != "tpr":
        raise ValueError(f"{name} of one list has no interval")
    of_tpr = metrics.tpr_at_fpr_interval if is_one else metrics.compare_tpr_at_fpr
    return of_tpr(rows.y, *scores, max_fpr=float(rate), fold=rows.fold, **_RESAMPLING)


def _over_folds(name: str, rows: Labels, *scores: Floats) -> RankingComparison:
    """Return a metric, or a difference, with an interval by its values in folds."""
    values = np.array([_in_folds(name, rows, one) for one in scores])
    found = values[0] - (values[1] if len(values) > 1 else 0)
    low, high, p_value = over_folds(found, float(rows.ratio or 0))
    if len(values) == 1:
        low, high = max(low, 0.0), min(high, 1.0)
    n_queries = 1 if rows.qid is None else len(np.unique(rows.qid))
    return RankingComparison(float(found.mean()), low, high, p_value, n_queries)


def _n_rarer(rows: Labels) -> int:
    """Return the number of rows of the rarer class; of folds, twice that in the worst."""
    fold = np.zeros(len(rows.y)) if rows.fold is None else rows.fold
    of_folds = (np.unique(rows.y[fold == one], return_counts=True)[1] for one in np.unique(fold))
    return (1 if rows.fold is None else 2) * min(int(one.sum() - one.max()) for one in of_folds)
