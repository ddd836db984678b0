"""The AUC of rows on a cluster, exact.

One list is sorted by dividing the scores into ranges: each range is counted on one worker, and
pairs of different ranges by the weights of their levels of relevance. The client learns those
weights only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from dask import delayed

from sklearn_rank._protocols import Floats, Values
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks
from sklearn_rank.metrics.pair_counts import NO_PAIR, count_pairs
from sklearn_rank.metrics.scored_rows import ScoredRows

_SAMPLE = 1000
"""Scores of a partition by which the ranges are chosen."""

_MOST_LEVELS = 1000
"""Most levels of relevance of one list."""


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows with scores, those that are equal as one.

    Attributes
    ----------
    score, y, weight : ndarray of shape (n_rows,)
        Scores, relevance and weights.
    """

    score: Floats
    y: Floats
    weight: Floats


@dataclass(frozen=True, eq=False)
class PairSums:
    """What is known of the pairs of some rows.

    Attributes
    ----------
    wrong, total : float
        Weight of the pairs in the wrong order, ties one half, and of all pairs.
    levels, weight : ndarray of shape (n_levels,)
        The relevances of the rows, increasing, and their weights.
    """

    wrong: float
    total: float
    levels: Floats
    weight: Floats


def cluster_auc(
    tasks: Tasks, partitions: Partitions, estimator: Any, heaviest: float, n_ranges: int
) -> float:
    """Return the AUC of the rows of one list.

    Parameters
    ----------
    tasks : Tasks
        What runs the tasks.
    partitions : Partitions
        The rows.
    estimator : estimator
        The fitted ranker.
    heaviest : float
        The largest weight.
    n_ranges : int
        Into how many ranges the scores are divided.
    """
    model = delayed(estimator)
    samples = partitions.map(sample_scores, model)
    splitters = tasks.result(
        choose_splitters, tasks.keep(tasks.tree(np.concatenate, samples)), n_ranges
    )
    pieces = partitions.map(score_pieces, model, splitters, heaviest)
    count = delayed(count_range, pure=False)
    ranges = [count([one[k] for one in pieces]) for k in range(len(splitters) + 1)]
    return pooled_auc(tasks.results(ranges))


def queries_auc(tasks: Tasks, partitions: Partitions, estimator: Any, heaviest: float) -> float:
    """Return the AUC of rows whose queries are whole in their partitions."""
    sums = tasks.results(partitions.map(count_queries, delayed(estimator), heaviest))
    total = sum(one.total for one in sums)
    if not total > 0:
        raise ValueError(NO_PAIR)
    return 1.0 - float(sum(one.wrong for one in sums) / total)


def scored(rows: Partition, estimator: Any) -> tuple[Floats, Floats]:
    """Return scores and relevance."""
    if not rows.n_rows:
        return np.zeros(0), np.zeros(0)
    relevance = estimator.relevance_of(rows.y, rows.weight)
    return estimator.score_rows(rows.X), np.asarray(relevance, dtype=np.float64)


def sample_scores(rows: Partition, estimator: Any) -> Floats:
    """Return the scores of some rows, evenly spaced."""
    return scored(rows.take(slice(None, None, 1 + rows.n_rows // _SAMPLE)), estimator)[0]


def choose_splitters(sample: Floats, n_ranges: int) -> Floats:
    """Return scores that divide the sample into about equal ranges."""
    share = np.arange(1, n_ranges) / n_ranges
    if not len(sample):
        return np.zeros(0)
    return np.unique(np.quantile(sample, share, method="inverted_cdf"))


def score_pieces(
    rows: Partition, estimator: Any, splitters: Floats, heaviest: float
) -> list[Piece]:
    """Return the rows of a partition in each range of scores."""
    score, y = scored(rows, estimator)
    order = np.lexsort([y, score])
    score, y, weight = score[order], y[order], rows.weight[order] / heaviest
    if len(score):
        is_new = np.append(True, (np.diff(score) != 0) | (np.diff(y) != 0))
        first = np.flatnonzero(is_new)
        score, y, weight = score[first], y[first], np.add.reduceat(weight, first)
    cuts = np.searchsorted(score, splitters, side="right")
    parts = (np.split(one, cuts) for one in (score, y, weight))
    return [Piece(*one) for one in zip(*parts, strict=True)]


def count_range(pieces: list[Piece]) -> PairSums:
    """Count the pairs of a range of scores."""
    score, y, weight = (
        np.concatenate([getattr(piece, name) for piece in pieces])
        for name in ("score", "y", "weight")
    )
    if not len(score):
        return PairSums(0.0, 0.0, score, score)
    levels, number = np.unique(y, return_inverse=True)
    if len(levels) > _MOST_LEVELS:
        raise ValueError(
            f"score on a cluster counts the pairs of at most {_MOST_LEVELS} levels of relevance "
            "in one list; pass qid where there are queries. Got more."
        )
    wrong, total = _counted(y, score, None, weight)
    return PairSums(wrong, total, levels, np.bincount(number, weight).astype(np.float64))


def count_queries(rows: Partition, estimator: Any, heaviest: float) -> PairSums:
    """Count the pairs of the queries of a partition."""
    score, y = scored(rows, estimator)
    nothing = np.zeros(0)
    if not len(score):
        return PairSums(0.0, 0.0, nothing, nothing)
    assert rows.qid is not None
    code = np.unique(rows.qid, return_inverse=True)[1].ravel()
    return PairSums(*_counted(y, score, code, rows.weight / heaviest), nothing, nothing)


def _counted(y: Floats, score: Floats, query: Values | None, weight: Floats) -> tuple[float, float]:
    """Return the weight of the pairs in the wrong order, and that of all."""
    n_queries = 1 if query is None else int(query.max()) + 1
    rows = ScoredRows(y, score, query, weight, np.ones(len(y), dtype=bool), n_queries)
    counts = count_pairs(rows)
    return float(weight @ (counts.lower + counts.tied / 2)), float(weight @ counts.total)


def pooled_auc(ranges: list[PairSums]) -> float:
    """Return the AUC of rows in ranges of scores, in increasing order."""
    levels = np.unique(np.concatenate([one.levels for one in ranges]))
    wrong = total = 0.0
    before = np.zeros(len(levels))  # weights of lower scores
    for one in ranges:
        here = np.zeros(len(levels))
        here[np.searchsorted(levels, one.levels)] = one.weight
        higher = np.append(np.cumsum(before[::-1])[::-1][1:], 0.0)
        lower = np.append(0.0, np.cumsum(before)[:-1])
        crossed = float(here @ higher)
        wrong += one.wrong + crossed
        total += one.total + crossed + float(here @ lower)
        before += here
    if not total > 0:
        raise ValueError(NO_PAIR)
    return 1.0 - wrong / total
