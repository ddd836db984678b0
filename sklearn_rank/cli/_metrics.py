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
from sklearn_rank.metrics import ranking_scorer

_LEAST = 10
"""Least queries, or rows of the rarer class, for an interval; half of that in a fold."""

_AT_THE_TOP = ("tpr", "pauc", "ndcg", "precision", "err", "mrr", "push", "map", "recall")
_RESAMPLING: dict[str, Any] = {"n_resamples": 999, "random_state": 0}


@dataclass(frozen=True)
class Labels:
    """Relevance of rows, their queries (None: one list) and the folds that held them out."""

    y: Floats
    qid: Indices | None
    fold: Indices | None = None


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


def measure(name: str, rows: Labels, scores: Floats, *, is_quick: bool = False) -> Measured:
    """Return a metric, its values in folds and (unless quick) interval; NaN if not defined."""
    n_folds = 0 if rows.fold is None else int(rows.fold.max()) + 1
    parts = [rows.fold == number for number in range(n_folds)] or [np.ones(len(rows.y), bool)]
    folds = []
    for part in parts:
        try:
            qid = None if rows.qid is None else rows.qid[part]
            folds.append(ranking_scorer(name).measure(rows.y[part], scores[part], qid=qid))
        except ValueError:  # no pair, no relevant row, or NDCG of a negative or huge relevance
            folds.append(float("nan"))
    defined = [one for one in folds if np.isfinite(one)]
    measured = Measured(float(np.mean(defined)) if defined else float("nan"), None, folds[:n_folds])
    if is_quick:
        return measured
    try:
        found = _with_interval(name, rows, scores)
    except ValueError:  # fewer than two queries with a pair in a fold, or NaN
        return measured
    mean = found.auc if name == "auc" else found.mean
    return replace(measured, mean=mean, interval=(found.low, found.high))


def compare_with_best(names: list[str], rows: Labels, scores: Mapping[str, Floats]) -> Comparison:
    """Measure rankings by some metrics, and compare each with the best, if all have intervals."""
    table = {}
    for name in names:
        column = {key: measure(name, rows, one) for key, one in scores.items()}
        best = max(column, key=lambda key: column[key].mean)
        others = {key: one for key, one in column.items() if key != best}
        if all(one.interval for one in column.values()):
            for key, one in others.items():
                found = difference(name, rows, scores[best], scores[key])
                # The best is chosen from the same data. Dividing the error rate by the number of
                # the others still bounds the probability that the true best is starred (Hsu1981).
                is_worse = found.p_value < 0.05 / len(others)
                column[key] = replace(one, below_best=found, is_worse=is_worse)
        table[name] = column
    return table


def difference(name: str, rows: Labels, a: Floats, b: Floats) -> Any:
    """Return the RankingComparison of two rankings by a metric that has intervals."""
    if name == "auc":
        return metrics.compare_auc(rows.y, a, b, qid=rows.qid, fold=rows.fold)
    if rows.qid is None:
        rate, how = float(name.partition("@")[2]), _RESAMPLING
        return metrics.compare_tpr_at_fpr(rows.y, a, b, max_fpr=rate, fold=rows.fold, **how)
    values = (ranking_scorer(name).of_queries(rows.y, one, qid=rows.qid) for one in (a, b))
    return metrics.compare_rankings(*values, **_RESAMPLING)


def cells(column: Mapping[str, Measured]) -> dict[str, str]:
    """Return value, interval, and a star for what is significantly worse than the best."""
    texts = {}
    for name, one in column.items():
        text = f"{one.mean:.3f}" if np.isfinite(one.mean) else "-"
        if one.interval is not None:
            text += " [{:.3f}, {:.3f}]".format(*one.interval)
        texts[name] = text + ("*" if one.is_worse else " ")
    return texts


def about_intervals(data: Dataset, found: Iterable[Measured]) -> str:
    """Return a footnote on the intervals, or on why there are none."""
    drawn = "rows" if data.qid is None else "queries"
    if any(one.interval for one in found):
        return f"[low, high]: 95 % interval over {drawn}."
    return f"No intervals: too few {drawn}, or metrics that have none."


def about_names(names: Iterable[str]) -> str:
    """Return a footnote on the metrics whose name does not tell what they count."""
    share = "share of the positives found before that share of the negatives"
    return "".join(f" {heading(name).capitalize()}: {share}." for name in names if "tpr" in name)


def _with_interval(name: str, rows: Labels, scores: Floats) -> Any:
    """Return a metric with its interval; ValueError if it has none."""
    if rows.qid is not None and name != "auc":
        values = ranking_scorer(name).of_queries(rows.y, scores, qid=rows.qid)
        _check_enough(np.isfinite(values).sum())
        return metrics.bootstrap_interval(values, **_RESAMPLING)
    if rows.qid is None:
        is_whole = rows.fold is None
        counts = pd.crosstab(np.zeros(len(rows.y)) if is_whole else rows.fold, rows.y)
        n_rarer = (counts.sum(axis=1) - counts.max(axis=1)).min()
        _check_enough(n_rarer if is_whole else 2 * n_rarer)
    if name == "auc":
        found = metrics.auc_interval(rows.y, scores, qid=rows.qid, fold=rows.fold)
        _check_enough(_LEAST if rows.qid is None else found.n_queries)
        return found
    if not name.startswith("tpr@"):
        raise ValueError(f"{name} of one list has no interval")
    rate, how = float(name.partition("@")[2]), _RESAMPLING
    return metrics.tpr_at_fpr_interval(rows.y, scores, max_fpr=rate, fold=rows.fold, **how)


def _check_enough(number: int) -> None:
    if number < _LEAST:
        raise ValueError("too few rows or queries for an interval")
