"""Metrics of held-out rows, by the names of `ranking_scorer`, with 95 % intervals.

The sampling unit is the query where there are queries, else the row; in one list only the AUC and
the share found at a false positive rate have an interval. The models are fixed: an interval does
not include how a model varies with its training rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank import metrics
from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._dataset import Dataset
from sklearn_rank.cli._errors import InputError
from sklearn_rank.metrics import RankingComparison, ranking_scorer
from sklearn_rank.metrics.intervals import over_folds

_LEAST = 10
"""Least queries, or rows of the rarer class, for an interval; half of that in a fold."""

_AT_THE_TOP = ("tpr", "pauc", "ndcg", "precision", "err", "mrr", "push", "map", "recall")
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


def choose_metrics(names: Iterable[str], data: Dataset | None) -> list[str]:
    """Return the metrics of an option, checked, or those that are shown by default."""
    chosen = list(dict.fromkeys(names))
    for name in chosen:
        try:
            ranking_scorer(name)
        except ValueError as error:
            allowed = str(error).partition("must be ")[2].partition(". Got ")[0]
            raise InputError(f"unknown metric {name!r}; the metrics are {allowed}") from error
    return chosen or ["auc", "ndcg@10" if data is not None and has_grades(data) else "tpr@0.05"]


def has_grades(data: Dataset) -> bool:
    """Whether rows have queries or grades."""
    return data.qid is not None or data.schema.relevance == "graded"


def top_metric(names: list[str]) -> str:
    """Return the metric that says which ranking is best at the top."""
    found = (name for start in _AT_THE_TOP for name in names if name.startswith(start))
    return next(found, names[0])


def heading(name: str) -> str:
    """Return how tables call a metric."""
    kind, _, at = name.partition("@")
    if kind == "tpr":
        return f"first {100 * float(at):g} %"
    return {"precision": "P@", "map": "AP"}.get(kind, name.upper()[: len(kind) + 1]) + at


def value(name: str, y: Floats, scores: Floats, qid: Indices | None) -> float:
    """Return a metric; NaN if it is not defined."""
    try:
        return ranking_scorer(name).measure(y, scores, qid=qid)
    except ValueError:  # no pair, no relevant row, or NDCG of a negative or huge relevance
        return float("nan")


def measure(name: str, rows: Labels, scores: Floats) -> Measured:
    """Return a metric, its values in folds, and its interval; NaN if not defined."""
    folds = _in_folds(name, rows, scores)
    mean = pd.Series(folds or [value(name, rows.y, scores, rows.qid)]).mean()  # of those defined
    measured = Measured(float(mean), None, folds)
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


def cells(column: Mapping[str, Measured]) -> dict[str, str]:
    """Return value, interval, and a star for what is significantly worse than the best."""
    texts = {}
    for name, one in column.items():
        text = f"{one.mean:.3f}" if np.isfinite(one.mean) else "-"
        if one.interval is not None:
            text += " [{:.3f}, {:.3f}]".format(*one.interval)
        texts[name] = text + ("*" if one.is_worse else " ")
    return texts


def about_intervals(data: Dataset, found: Iterable[Measured], ratio: float | None = None) -> str:
    """Return a footnote on the intervals, or on why there are none."""
    drawn = "rows" if data.qid is None else "queries"
    drawn = drawn if ratio is None else "folds"
    if ratio is not None and np.isnan(ratio):
        return "No intervals: rows of a group are not independent, and periods differ."
    if any(one.interval for one in found):
        return f"[low, high]: 95 % interval over {drawn}."
    return f"No intervals: too few {drawn}, or metrics that have none."


def about_names(names: Iterable[str]) -> str:
    """Return a footnote on the metrics whose name does not tell what they count."""
    share = "share of the positives found before that share of the negatives"
    return "".join(f" {heading(name).capitalize()}: {share}." for name in names if "tpr" in name)


def _n_rarer(rows: Labels) -> int:
    """Return the number of rows of the rarer class; of folds, twice that in the worst."""
    fold = np.zeros(len(rows.y)) if rows.fold is None else rows.fold
    counts = pd.crosstab(fold, rows.y)
    return (1 if rows.fold is None else 2) * int((counts.sum(axis=1) - counts.max(axis=1)).min())
