"""Metrics of held-out rows, by the names of `ranking_scorer`, with 95 % intervals.

The sampling unit is the query, or the row in one list; there only the AUC and the true positive
rate at a false positive rate have an interval. The models are fixed: an interval does not include
the variation of a model with its training rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank import metrics
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank.metrics import RankingComparison, ranking_scorer
from sklearn_rank.metrics._choice import influence, strata
from sklearn_rank.metrics._confidence import comparison, interval_within_unit
from sklearn_rank.metrics.intervals import Influence, over_folds

_LEAST = 10
"""Least queries, or rows of the rarer class, for an interval."""
_RESAMPLING: dict[str, Any] = {"n_resamples": 999, "random_state": 0}


@dataclass(frozen=True, eq=False)
class Labels:
    """Relevance of rows, their queries (None: one list) and the folds that held them out.

    `ratio` is that of tested rows to training rows, where rows are not independent (repeated, or
    of one customer); NaN where folds are not independent either. Rows with the same number in
    `drawn_with`, from 0, count as one draw: they repeat one another.
    """

    y: Floats
    qid: Indices | None
    fold: Indices | None = None
    ratio: float | None = None
    drawn_with: Indices | None = None


@dataclass(frozen=True)
class Measured:
    """A metric of a ranking, in all rows and in folds, and the comparison with the best ranking."""

    mean: float
    interval: tuple[float, float] | None = None
    folds: list[float] = field(default_factory=list)
    below_best: Any = None
    is_worse: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return nested dictionaries."""
        return {key: value for key, value in asdict(self).items() if value or key == "mean"}


Comparison = dict[str, dict[str, Measured]]
"""Rankings by name, for each metric."""


def have_pair(y: Values, qid: Indices | None) -> bool:
    """Whether some query, or the single list, has rows of different relevance."""
    query = np.zeros(len(y)) if qid is None else qid
    return len(np.unique([query, y], axis=1).T) > len(np.unique(query))


def _in_folds(name: str, rows: Labels, scores: Floats) -> list[float]:
    """Return a metric in each fold (without folds, of all rows); NaN where it is undefined."""
    values, fold = [], np.zeros(len(rows.y)) if rows.fold is None else rows.fold
    for in_fold in (fold == k for k in np.unique(fold)):
        qid = None if rows.qid is None else rows.qid[in_fold]
        values.append(float("nan"))
        with suppress(ValueError):  # no pair, no relevant row, or NDCG of a negative grade
            values[-1] = ranking_scorer(name).measure(rows.y[in_fold], scores[in_fold], qid=qid)
    return values


def measure(name: str, rows: Labels, scores: Floats) -> Measured:
    """Return a metric, its values in folds, and its interval; NaN if it is undefined."""
    folds = _in_folds(name, rows, scores)
    valid = [value for value in folds if not np.isnan(value)] or [np.nan]
    measured = Measured(float(np.mean(valid)), None, folds if rows.fold is not None else [])
    with suppress(ValueError):  # fewer than two queries with a pair in a fold, or NaN
        interval = estimate(name, rows, scores)
        counts = np.unique(rows.y, return_counts=True)[1]  # of each class or grade
        if (counts.sum() - counts.max() if rows.qid is None else interval.n_queries) >= _LEAST:
            mean = getattr(interval, "mean", measured.mean)
            return replace(measured, mean=mean, interval=(interval.low, interval.high))
    return measured


def compare_with_best(names: list[str], rows: Labels, scores: Mapping[str, Floats]) -> Comparison:
    """Measure rankings, and compare each with the best by each metric, if all have intervals."""
    table = {}
    for name in names:
        by_model = table[name] = {model: measure(name, rows, scores[model]) for model in scores}
        best_model = max(by_model, key=lambda model: by_model[model].mean)
        if all(measured.interval for measured in by_model.values()):
            for model in by_model.keys() - {best_model}:
                lead = estimate(name, rows, scores[best_model], scores[model])
                # The best is chosen from the same data. Dividing the error rate by the number of
                # the others still bounds the probability that the true best is starred (Hsu1981).
                is_worse = lead.p_value < 0.05 / (len(by_model) - 1)
                by_model[model] = replace(by_model[model], below_best=lead, is_worse=is_worse)
    return table


def estimate(name: str, rows: Labels, *scores: Floats) -> Any:
    """Return an interval of a ranking's metric, or the RankingComparison of two rankings.

    ValueError where the metric has no interval.
    """
    # 1) Dependent rows: the folds are the draws.
    if rows.ratio is not None:
        return _over_folds(name, rows, *scores)
    is_interval = len(scores) == 1
    # 2) Repeated rows: those that repeat one another are a draw.
    if rows.drawn_with is not None:
        draws: Any = rows.y, None, rows.fold, rows.drawn_with
        drawn = [Influence(*influence(name, score, *draws), strata(*draws)) for score in scores]
        return interval_within_unit(drawn[0]) if is_interval else comparison(drawn[0] - drawn[1])
    # 3) Rows, or queries, are the draws.
    if name == "auc":
        auc_function = metrics.auc_interval if is_interval else metrics.compare_auc
        return auc_function(rows.y, *scores, qid=rows.qid, fold=rows.fold)
    if rows.qid is not None:
        values = [ranking_scorer(name).of_queries(rows.y, score, qid=rows.qid) for score in scores]
        query_function = metrics.bootstrap_interval if is_interval else metrics.compare_rankings
        return query_function(*values, **_RESAMPLING)
    kind, _, rate = name.partition("@")
    if kind != "tpr":
        raise ValueError(f"{name} of one list has no interval")
    tpr_function = metrics.tpr_at_fpr_interval if is_interval else metrics.compare_tpr_at_fpr
    return tpr_function(rows.y, *scores, max_fpr=float(rate), fold=rows.fold)


def _over_folds(name: str, rows: Labels, *scores: Floats) -> RankingComparison:
    """Return a metric or a difference, with an interval computed from its values in folds.

    Equal values give a metric an interval of width zero, as `auc_interval` does, and a difference
    an unknown one: NaN.
    """
    values = np.array([_in_folds(name, rows, score) for score in scores])
    fold_values = values[0] - (values[1] if len(values) > 1 else 0)
    low, high, p_value = over_folds(fold_values, float(rows.ratio or 0))
    mean = float(fold_values.mean())
    if len(values) == 1:
        low, high = np.clip(np.nan_to_num([low, high], nan=mean), 0.0, 1.0).tolist()
    n_queries = 1 if rows.qid is None else len(np.unique(rows.qid))
    return RankingComparison(mean, low, high, p_value, n_queries)
