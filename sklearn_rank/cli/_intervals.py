"""How sure the figures are, and which rows of a comparison differ by more than noise.

What is drawn again is what a user will have again: whole queries where there are queries, else
rows. The models stay as they are: how much they would change with other training rows is not in
these intervals. R_4 has none, since a few rows decide it, and neither have NDCG, AP and P@ of one
list, which is one value of each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rank.cli._metrics import Floats, query_values
from sklearn_rank.metrics import (
    RankingComparison,
    auc_interval,
    bootstrap_interval,
    compare_auc,
    compare_rankings,
)

MIN_INTERVAL_QUERIES = 10
"""With fewer queries than this an interval over queries says too little."""

MIN_INTERVAL_ROWS = 10
"""With fewer rows of the rarer class than this an interval over rows says too little."""

MIN_FOLD_ROWS = 5
"""With fewer of them in a fold its share of the variance is hardly estimated."""

OVER_QUERIES = ("ndcg_at_10", "average_precision", "precision_at_10")
WITH_INTERVAL = ("auc", *OVER_QUERIES)
"""Keys of the figures that may have an interval."""

N_RESAMPLES = 1999
"""Enough for two digits of an interval's width; a table has many intervals."""

_ERROR_RATE = 0.05


@dataclass(frozen=True)
class Interval:
    """A figure over all rows or queries, and the ends of its 95 % interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Standing:
    """One candidate's interval and, but for the best of its column, the distance from the best.

    Attributes
    ----------
    interval : Interval
        Of the candidate alone.
    best : str
        Which candidate has the best estimate.
    below_best : RankingComparison or None
        The best minus this one, paired; None for the best.
    is_worse : bool
        Whether that is more than noise, among as many candidates as there are.
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


Standings = dict[str, dict[str, Standing]]
"""Standings by key of the figure and by candidate."""


@dataclass(frozen=True)
class Known:
    """Rows whose relevance is known, and which of them belong together.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Relevance.
    qid : ndarray of shape (n_rows,) or None
        Query codes.
    fold : ndarray of shape (n_rows,) or None
        Fold that each row was held out in: scores of two folds are of two models.
    """

    y: Floats
    qid: NDArray[np.intp] | None
    fold: NDArray[np.intp] | None = None


def compute_intervals(known: Known, scores: Floats) -> dict[str, Interval]:
    """Return 95 % intervals of the figures that have them, for one ranking.

    There are none with fewer than `MIN_INTERVAL_QUERIES` queries that count, or in one list with
    fewer than `MIN_INTERVAL_ROWS` rows, or `MIN_FOLD_ROWS` in a fold, besides those of the most
    frequent relevance. The AUC needs two queries that count in every fold.
    """
    return _intervals(known, scores, _values(known, scores), n_resamples=9999)


def compare_with_best(known: Known, scores: Mapping[str, Floats]) -> Standings:
    """Return the standing of every candidate in each figure that all of them have."""
    values = {name: _values(known, one) for name, one in scores.items()}
    intervals = {
        name: _intervals(known, one, values[name], n_resamples=N_RESAMPLES)
        for name, one in scores.items()
    }
    standings: Standings = {}
    for key in WITH_INTERVAL:
        if not all(key in found for found in intervals.values()):
            continue
        column = {name: found[key] for name, found in intervals.items()}
        best = max(column, key=lambda name: column[name].estimate)
        # The best is chosen by the same numbers. With the error rate shared among all other
        # rows the one that is truly the best gets a star as seldom nevertheless (Hsu1981).
        rate = _ERROR_RATE / max(1, len(column) - 1)
        standings[key] = {}
        for name, interval in column.items():
            found = None if name == best else _difference(known, key, scores, values, best, name)
            is_worse = found is not None and found.p_value < rate
            standings[key][name] = Standing(interval, best, found, is_worse)
    return standings


def about_intervals(known: Known, keys: Collection[str], *, is_comparison: bool) -> str:
    """Say what the intervals of a table stand for, or why there are none."""
    is_list = known.qid is None
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
    ways = ["AUC by its first-order variance"] * ("auc" in keys)
    ways += ["the others by bootstrap"] * (len(keys) > len(ways))
    if len(ways) > 1:
        sentences.append(f"{', '.join(ways)}.")
    without_auc = "" if "auc" in keys else "AUC, "
    sentences.append(
        "No interval: R_4, and NDCG, AP and P@ of one list."
        if is_list
        else f"No interval: {without_auc}R_4, P@1%."
    )
    return " ".join(sentences)


def _intervals(
    known: Known, scores: Floats, values: Mapping[str, Floats], n_resamples: int
) -> dict[str, Interval]:
    intervals = {}
    if _has_enough_rows(known):
        auc = _or_none(lambda: auc_interval(known.y, scores, qid=known.qid, fold=known.fold))
        if auc is not None and (known.qid is None or auc.n_queries >= MIN_INTERVAL_QUERIES):
            intervals["auc"] = Interval(auc.auc, auc.low, auc.high)
    for key, one in values.items():
        found = bootstrap_interval(one, n_resamples=n_resamples, random_state=0)
        intervals[key] = Interval(found.mean, found.low, found.high)
    return intervals


def _difference(
    known: Known,
    key: str,
    scores: Mapping[str, Floats],
    values: Mapping[str, Mapping[str, Floats]],
    best: str,
    name: str,
) -> RankingComparison:
    if key == "auc":
        return compare_auc(known.y, scores[best], scores[name], qid=known.qid, fold=known.fold)
    pair = values[best][key], values[name][key]
    return compare_rankings(*pair, n_resamples=N_RESAMPLES, random_state=0)


def _values(known: Known, scores: Floats) -> dict[str, Floats]:
    """Return the values of the queries that count, of the figures with enough of them."""
    if known.qid is None:
        return {}
    values = query_values(known.y, scores, known.qid, OVER_QUERIES)
    return {key: one for key, one in values.items() if len(one) >= MIN_INTERVAL_QUERIES}


def _has_enough_rows(known: Known) -> bool:
    if known.qid is not None:
        return True
    folds = [] if known.fold is None else [known.y[known.fold == v] for v in np.unique(known.fold)]
    return _n_rarer(known.y) >= MIN_INTERVAL_ROWS and all(
        _n_rarer(one) >= MIN_FOLD_ROWS for one in folds
    )


def _n_rarer(y: Floats) -> int:
    return len(y) - int(np.unique(y, return_counts=True)[1].max())


def _or_none(interval: Callable[[], Any]) -> Any:
    try:
        return interval()
    except ValueError:  # fewer than two queries with a pair in a fold, or scores that are NaN
        return None
