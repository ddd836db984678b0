"""Metrics of held-out rows, by the names of `ranking_scorer`, with 95 % intervals.

The sampling unit is the query where there are queries, else the row; in one list only the AUC and
the share found at a false positive rate have an interval. The models are fixed: an interval does
not include how a model varies with its training rows.
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

    `ratio` is that of rows tested to rows trained on where rows are not independent: they occur
    several times, or belong to one customer. NaN where folds aren't either. Rows with the same
    number in `drawn_with` repeat one another and count as one draw; their numbers begin at 0.
    """

    y: Floats
    qid: Indices | None
    fold: Indices | None = None
    ratio: float | None = None
    drawn_with: Indices | None = None

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
        return {key: one for key, one in asdict(self).items() if one or key == "mean"}


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


def in_folds(name: str, rows: Labels, scores: Floats) -> list[float]:
    """Return a metric in each of the folds; none where no folds are known."""
    parts = [] if rows.fold is None else [rows.fold == one for one in np.unique(rows.fold)]
    folds = [(rows.take(part), scores[part]) for part in parts]
    return [value(name, fold.y, own, fold.qid) for fold, own in folds]


def estimate(name: str, rows: Labels, *scores: Floats) -> Any:
    """Return a metric of a ranking, or of two the RankingComparison; ValueError if it has none."""
    if rows.ratio is not None:
        return _over_folds(name, rows, *scores)
    is_one = len(scores) == 1
    if rows.drawn_with is not None:
        given: Any = rows.y, None, rows.fold, rows.drawn_with
        drawn = [Influence(*influence(name, one, *given), strata(*given)) for one in scores]
        return interval_within_unit(drawn[0]) if is_one else comparison(drawn[0] - drawn[1])
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
    return of_tpr(rows.y, *scores, max_fpr=float(rate), fold=rows.fold)


def _over_folds(name: str, rows: Labels, *scores: Floats) -> RankingComparison:
    """Return a metric, or a difference, with an interval by its values in folds.

    Where they are all the same, the interval of a metric has no width, as that of `auc_interval`,
    and that of a difference is not known.
    """
    values = np.array([in_folds(name, rows, one) for one in scores])
    found = values[0] - (values[1] if len(values) > 1 else 0)
    low, high, p_value = over_folds(found, float(rows.ratio or 0))
    mean = float(found.mean())
    if len(values) == 1:
        low, high = np.clip(np.nan_to_num([low, high], nan=mean), 0.0, 1.0).tolist()
    n_queries = 1 if rows.qid is None else len(np.unique(rows.qid))
    return RankingComparison(mean, low, high, p_value, n_queries)
