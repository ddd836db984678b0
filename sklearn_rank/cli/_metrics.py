"""Metrics by the names of `ranking_scorer`: which are shown, and what tables call them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.metrics.held_out import Measured
from sklearn_rank.tables.dataset import Dataset
from sklearn_rank.tables.errors import InputError

_AT_THE_TOP = ("tpr", "pauc", "ndcg", "precision", "err", "mrr", "push", "map", "recall")


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
