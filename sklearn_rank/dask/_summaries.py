"""Summaries of the partitions for the client, categories, and queries brought together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask import delayed

from sklearn_rank._bins.categories import CategoryCodes, as_table
from sklearn_rank._core.protocols import Values
from sklearn_rank._core.validation import check_some_weights
from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks

_MOST_LABELS = 100
"""Labels of a partition sent to the client; more than two are an error, which shows a few."""

_COLUMNS = ["y", "qid", "weight"]
"""The columns of a shuffled data frame that are not features."""


@dataclass(frozen=True, eq=False)
class Summary:
    """A summary of a partition.

    Attributes
    ----------
    n_rows : int
        Number of rows of positive weight.
    labels : ndarray or None
        Their labels, at most a hundred; None with graded relevance.
    heaviest : float
        The largest weight.
    """

    n_rows: int
    labels: Values | None
    heaviest: float


def summarise(rows: Partition, graded: bool) -> Summary:
    """Return a summary of a partition."""
    labels = None
    if not graded:
        # Strings and numbers can't be sorted together: `find_classes` refuses the mixture.
        kinds = {isinstance(y, str) for y in rows.y} if rows.y.dtype.kind == "O" else set()
        labels = (rows.y if len(kinds) > 1 else np.unique(rows.y))[:_MOST_LABELS]
    return Summary(rows.n_rows, labels, float(rows.weight.max(initial=-np.inf)))


def find_categories(
    tasks: Tasks, partitions: Partitions, positions: tuple[int, ...]
) -> CategoryCodes | None:
    """Return the codes of the categories of all rows of positive weight; None without rows."""
    find = delayed(categories_of, pure=False)
    codes = [find(X, weight, positions) for X, _, _, weight in partitions.chunks]
    merged: CategoryCodes | None = tasks.results([tasks.tree(merge_categories, codes)])[0]
    return merged


def categories_of(X: Any, weight: Any, positions: tuple[int, ...]) -> CategoryCodes | None:
    """Return the codes of the categories of a partition; None without rows."""
    is_used = check_some_weights(weight, len(X)) > 0
    return CategoryCodes(as_table(X[is_used]), positions) if is_used.any() else None


def merge_categories(codes: list[CategoryCodes | None]) -> CategoryCodes | None:
    """Return the codes of the categories of several partitions."""
    non_empty = [code for code in codes if code is not None]
    return CategoryCodes.merged(non_empty) if non_empty else None


Queries = tuple[Values, list[Any]]
"""Distinct query ids of some partitions; at most one id that occurs in several of them."""


def find_queries(rows: Partition) -> Queries:
    """Return the queries of a partition."""
    return np.unique(np.asarray(rows.qid)), []


def merge_queries(groups: list[Queries]) -> Queries:
    """Return the queries of several groups of partitions, and one that is split among them."""
    # Ids of empty partitions may have another type, which would decide that of all.
    groups = [group for group in groups if len(group[0])] or groups[:1]
    ids, counts = np.unique(np.concatenate([ids for ids, _ in groups]), return_counts=True)
    split_queries = [query for _, queries in groups for query in queries] + ids[counts > 1].tolist()
    return ids, split_queries[:1]


def with_whole_queries(
    tasks: Tasks, partitions: Partitions, owner: str, *, shuffles: bool
) -> Partitions:
    """Return the rows, shuffled on request; raise ValueError if partitions share a query."""
    if not partitions.has_queries:
        return partitions
    if shuffles:
        partitions = shuffled(tasks, partitions)
    split = tasks.results([tasks.tree(merge_queries, partitions.map(find_queries))[1]])[0]
    if split:
        raise ValueError(
            f"Query {split[0]!r} is in several partitions, and {owner} needs each query whole in "
            "one: DaskRanker(..., shuffle_queries=True) brings queries together."
        )
    return partitions


def shuffled(tasks: Tasks, partitions: Partitions) -> Partitions:
    """Return the rows of positive weight, with each query in one partition."""
    frames = partitions.map(as_frame)
    meta = tasks.results([frames[0].head(0)])[0]
    frame = dd.from_delayed(frames, meta=meta, verify_meta=False)
    frame = frame.shuffle("qid", npartitions=len(partitions.chunks))
    chunks = [
        (chunk.drop(columns=_COLUMNS).to_numpy(), *(chunk[name].to_numpy() for name in _COLUMNS))
        for chunk in frame.to_delayed()
    ]
    return replace(partitions, chunks=chunks).with_checks(codes=None)  # X is encoded by now


def as_frame(rows: Partition) -> pd.DataFrame:
    """Return rows as a data frame."""
    frame = pd.DataFrame(rows.X, columns=[f"x{j}" for j in range(rows.X.shape[1])])
    return frame.assign(y=rows.y, qid=rows.qid, weight=rows.weight)
