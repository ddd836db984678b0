"""Metrics by the names of `ranking_scorer`: which are shown, their intervals, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.errors import InputError
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.metrics.held_out import Comparison, Labels, Measured, estimate, in_folds, value

_AT_THE_TOP = ("tpr", "pauc", "ndcg", "precision", "err", "mrr", "push", "map", "recall")

_LEAST = 10
"""Least queries, or rows of the rarer class, for an interval; half of that in a fold."""


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
    short = {"precision": "P@", "map": "AP@" if at else "AP"}
    return short.get(kind, name.upper()[: len(kind) + 1]) + at


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
    drawn = "folds" if ratio is not None else "rows" if data.qid is None else "queries"
    if ratio is not None and np.isnan(ratio):
        return "No intervals: rows of a group are not independent, and periods differ."
    if any(one.interval for one in found):
        return f"[low, high]: 95 % interval over {drawn}."
    return f"No intervals: too few {drawn}, or metrics that have none."


def about_names(names: Iterable[str]) -> str:
    """Return a footnote on the metrics whose name does not tell what they count."""
    share = "share of the positives found before that share of the negatives"
    return "".join(f" {heading(name).capitalize()}: {share}." for name in names if "tpr" in name)


def measure(name: str, rows: Labels, scores: Floats) -> Measured:
    """Return a metric, its values in folds, and its interval; NaN if not defined."""
    folds = in_folds(name, rows, scores)
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
    mean = getattr(found, "mean", mean)
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
                found = estimate(name, rows, scores[best], scores[key])
                # The best is chosen from the same data. Dividing the error rate by the number of
                # the others still bounds the probability that the true best is starred (Hsu1981).
                is_worse = found.p_value < 0.05 / len(others)
                column[key] = replace(one, below_best=found, is_worse=is_worse)
        table[name] = column
    return table


def _n_rarer(rows: Labels) -> int:
    """Return the number of rows of the rarer class; of folds, twice that in the worst."""
    fold = np.zeros(len(rows.y)) if rows.fold is None else rows.fold
    of_folds = (np.unique(rows.y[fold == one], return_counts=True)[1] for one in np.unique(fold))
    return (1 if rows.fold is None else 2) * min(int(one.sum() - one.max()) for one in of_folds)
