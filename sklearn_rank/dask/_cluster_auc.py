"""The AUC of rows on a cluster, exact.

The scores of one list are divided into ranges. A worker counts the pairs within a range; the
client counts those across ranges, from the weight of each level of relevance in each range.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from dask import delayed

from sklearn_rank._core.protocols import Floats
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks
from sklearn_rank.metrics.scored_rows import NO_PAIR, ScoredRows, count_pairs

_SAMPLE = 1000
"""Scores of a partition that go into the choice of the ranges."""

_MOST_LEVELS = 1000
"""Most levels of relevance of one list: the client holds a weight for each, in each range."""


class CountedPairs(NamedTuple):
    """Sums over the pairs of some rows.

    Attributes
    ----------
    wrong, total : float
        Weight of the pairs in the wrong order, ties one half, and of all pairs.
    levels : Series
        The weights of the rows by their relevance.
    """

    wrong: float
    total: float
    levels: pd.Series


def cluster_auc(
    tasks: Tasks, partitions: Partitions, estimator: Any, heaviest: float, n_ranges: int
) -> float:
    """Return the AUC of the rows of one list.

    Parameters
    ----------
    tasks : Tasks
        Runs the tasks.
    partitions : Partitions
        The rows.
    estimator : estimator
        The fitted ranker.
    heaviest : float
        The largest weight.
    n_ranges : int
        Number of ranges of scores.
    """
    # 1) Splitters: quantiles of a sample of scores.
    model = delayed(estimator)
    samples = partitions.map(sample_scores, model)
    splitters = tasks.result(
        choose_splitters, tasks.keep(tasks.tree(np.concatenate, samples)), n_ranges
    )
    # 2) Pieces of the partitions by range; the pieces of a range are counted together.
    pieces = partitions.map(score_pieces, model, splitters, heaviest)
    count = delayed(count_range, pure=False)
    ranges = [count([piece[k] for piece in pieces]) for k in range(len(splitters) + 1)]
    return pooled_auc(tasks.results(ranges))


def queries_auc(tasks: Tasks, partitions: Partitions, estimator: Any, heaviest: float) -> float:
    """Return the AUC of rows whose queries are whole in their partitions."""
    return pooled_auc(tasks.results(partitions.map(count_queries, delayed(estimator), heaviest)))


def scored(rows: Partition, estimator: Any, heaviest: float = 1.0) -> pd.DataFrame:
    """Return score, relevance and weight of rows, sorted by score, with equal rows merged."""
    columns: dict[str, Any] = {"score": np.zeros(0), "y": np.zeros(0), "weight": np.zeros(0)}
    if rows.n_rows:
        relevance = estimator.relevance_of(rows.y, rows.weight).astype(np.float64)
        scores, weight = estimator.score_rows(rows.X), rows.weight / heaviest
        columns = {"score": scores, "y": relevance, "weight": weight}
    by = ["score", "y"]
    if rows.qid is not None:
        by, columns["query"] = [*by, "query"], np.unique(rows.qid, return_inverse=True)[1].ravel()
    return pd.DataFrame(columns).groupby(by, as_index=False)["weight"].sum()


def sample_scores(rows: Partition, estimator: Any) -> Floats:
    """Return the scores of some rows, evenly spaced."""
    sample = rows.take(slice(None, None, 1 + rows.n_rows // _SAMPLE))
    return scored(sample, estimator)["score"].to_numpy()


def choose_splitters(sample: Floats, n_ranges: int) -> Floats:
    """Return scores that divide the sample into ranges of about equal size."""
    if not len(sample):
        return np.zeros(0)
    levels = np.arange(1, n_ranges) / n_ranges
    return np.unique(np.quantile(sample, levels, method="inverted_cdf"))


def score_pieces(
    rows: Partition, estimator: Any, splitters: Floats, heaviest: float
) -> list[pd.DataFrame]:
    """Return the rows of a partition in each range of scores."""
    frame = scored(rows, estimator, heaviest)
    cuts = np.searchsorted(frame["score"], splitters, side="right")
    return [frame.iloc[start:end] for start, end in pairwise([0, *cuts, len(frame)])]


def count_range(pieces: list[pd.DataFrame]) -> CountedPairs:
    """Count the pairs of a range of scores."""
    counts = count_pairs_of(pd.concat(pieces))
    if len(counts.levels) > _MOST_LEVELS:
        raise ValueError(
            f"score on a cluster counts the pairs of at most {_MOST_LEVELS} levels of relevance "
            "in one list; pass qid where there are queries. Got more."
        )
    return counts


def count_queries(rows: Partition, estimator: Any, heaviest: float) -> CountedPairs:
    """Count the pairs of the queries of a partition; no query has rows in another one."""
    counts = count_pairs_of(scored(rows, estimator, heaviest))
    return counts._replace(levels=counts.levels[:0])


def count_pairs_of(frame: pd.DataFrame) -> CountedPairs:
    """Count the pairs of scored rows, in queries if there are any."""
    levels = frame.groupby("y")["weight"].sum()
    if frame.empty:
        return CountedPairs(0.0, 0.0, levels)
    score, y, weight = (frame[name].to_numpy() for name in ("score", "y", "weight"))
    query = frame["query"].to_numpy() if "query" in frame else None
    n_queries = 1 if query is None else int(query.max()) + 1
    rows = ScoredRows(y, score, query, weight, np.ones(len(y), dtype=bool), n_queries)
    counts = count_pairs(rows)
    wrong, total = weight @ (counts.outscored + counts.tied / 2), weight @ counts.total
    return CountedPairs(float(wrong), float(total), levels)


def pooled_auc(ranges: list[CountedPairs]) -> float:
    """Return the AUC of rows in ranges of scores, in increasing order."""
    levels = [counts.levels for counts in ranges]
    weight = pd.concat(levels, axis=1).sort_index().fillna(0.0).to_numpy()  # levels x ranges
    lower_weight = np.cumsum(weight, axis=1) - weight  # weight of lower scores, by level
    # Of those lower scores, the weight of lower levels (right order) and of higher ones (wrong).
    lower = np.cumsum(lower_weight, axis=0) - lower_weight
    wrong_order = lower_weight.sum(axis=0) - lower_weight - lower
    wrong_between = float((weight * wrong_order).sum())
    wrong = wrong_between + sum(counts.wrong for counts in ranges)
    total = wrong_between + float((weight * lower).sum()) + sum(counts.total for counts in ranges)
    if not total > 0:
        raise ValueError(NO_PAIR)
    return 1.0 - wrong / total
