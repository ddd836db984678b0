"""Metrics of held-out rows, by the names of `ranking_scorer`, with 95 % intervals.

The sampling unit is the query, or the row in one list; there only the AUC and the true positive
rate at a false positive rate have an interval. The models are fixed: an interval does not include
the variation of a model with its training rows.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sklearn_rank import metrics
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank.metrics import RankingComparison, ranking_scorer
from sklearn_rank.metrics._choice import influence, strata
from sklearn_rank.metrics._confidence import comparison, interval_within_unit
from sklearn_rank.metrics.intervals import Influence, over_folds

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

    def take(self, rows: Any) -> Labels:
        """Return some of the rows, without folds."""
        return Labels(self.y[rows], None if self.qid is None else self.qid[rows])


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


def metric_value(name: str, y: Floats, scores: Floats, qid: Indices | None) -> float:
    """Return a metric; NaN where it is not defined."""
    try:
        return ranking_scorer(name).measure(y, scores, qid=qid)
    except ValueError:  # no pair, no relevant row, or NDCG of a negative or huge relevance
        return float("nan")


def have_pair(y: Values, qid: Indices | None) -> bool:
    """Whether a query, or the one list, has rows of different relevance."""
    query = np.zeros(len(y)) if qid is None else qid
    return len(np.unique([query, y], axis=1).T) > len(np.unique(query))


def in_folds(name: str, rows: Labels, scores: Floats) -> list[float]:
    """Return a metric in each fold; an empty list without folds."""
    if rows.fold is None:
        return []
    masks = [rows.fold == fold for fold in np.unique(rows.fold)]
    folds = [(rows.take(mask), scores[mask]) for mask in masks]
    return [metric_value(name, fold.y, fold_scores, fold.qid) for fold, fold_scores in folds]


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
        of_auc = metrics.auc_interval if is_interval else metrics.compare_auc
        return of_auc(rows.y, *scores, qid=rows.qid, fold=rows.fold)
    if rows.qid is not None:
        values = [ranking_scorer(name).of_queries(rows.y, score, qid=rows.qid) for score in scores]
        of_queries = metrics.bootstrap_interval if is_interval else metrics.compare_rankings
        return of_queries(*values, **_RESAMPLING)
    kind, _, rate = name.partition("@")
    if kind != "tpr":
        raise ValueError(f"{name} of one list has no interval")
    of_tpr = metrics.tpr_at_fpr_interval if is_interval else metrics.compare_tpr_at_fpr
    return of_tpr(rows.y, *scores, max_fpr=float(rate), fold=rows.fold)


def _over_folds(name: str, rows: Labels, *scores: Floats) -> RankingComparison:
    """Return a metric, or a difference, with an interval from its values in folds.

    Equal values give a metric an interval of width zero, as `auc_interval` does, and a difference
    an unknown one: NaN.
    """
    values = np.array([in_folds(name, rows, score) for score in scores])
    of_folds = values[0] - (values[1] if len(values) > 1 else 0)
    low, high, p_value = over_folds(of_folds, float(rows.ratio or 0))
    mean = float(of_folds.mean())
    if len(values) == 1:
        low, high = np.clip(np.nan_to_num([low, high], nan=mean), 0.0, 1.0).tolist()
    n_queries = 1 if rows.qid is None else len(np.unique(rows.qid))
    return RankingComparison(mean, low, high, p_value, n_queries)
