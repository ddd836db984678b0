"""The first look at all rows: what the client learns of each, and queries made whole."""

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
"""Most labels of one partition that are reported."""

_OTHERS = ["y", "qid", "weight"]


@dataclass(frozen=True, eq=False)
class Summary:
    """What the client learns of a partition.

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
        kinds = {isinstance(one, str) for one in rows.y} if rows.y.dtype.kind == "O" else set()
        labels = (rows.y if len(kinds) > 1 else np.unique(rows.y))[:_MOST_LABELS]
    return Summary(rows.n_rows, labels, float(rows.weight.max(initial=-np.inf)))


def find_categories(
    tasks: Tasks, partitions: Partitions, positions: tuple[int, ...]
) -> CategoryCodes | None:
    """Return the codes of the categories of all rows of positive weight; None without rows."""
    find = delayed(categories_of, pure=False)
    parts = [find(X, weight, positions) for X, _, _, weight in partitions.chunks]
    found: CategoryCodes | None = tasks.results([tasks.tree(merge_categories, parts)])[0]
    return found


def categories_of(X: Any, weight: Any, positions: tuple[int, ...]) -> CategoryCodes | None:
    """Return the codes of the categories of a partition; None without rows."""
    is_used = check_some_weights(weight, len(X)) > 0
    return CategoryCodes(as_table(X[is_used]), positions) if is_used.any() else None


def merge_categories(parts: list[CategoryCodes | None]) -> CategoryCodes | None:
    """Return the codes of the categories of several partitions."""
    known = [part for part in parts if part is not None]
    return CategoryCodes.merged(known) if known else None


Queries = tuple[Values, list[Any]]
"""Distinct ids of the queries of some partitions, and one that is in several, if there is one."""


def find_queries(rows: Partition) -> Queries:
    """Return the queries of a partition."""
    return np.unique(np.asarray(rows.qid)), []


def merge_queries(parts: list[Queries]) -> Queries:
    """Return the queries of several partitions, and one that is split."""
    parts = [part for part in parts if len(part[0])] or parts[:1]
    ids, count = np.unique(np.concatenate([part[0] for part in parts]), return_counts=True)
    split = [one for _, known in parts for one in known] + ids[count > 1].tolist()
    return ids, split[:1]


def with_whole_queries(
    tasks: Tasks, partitions: Partitions, owner: str, *, shuffles: bool
) -> Partitions:
    """Return the rows, shuffled if so wished; ValueError where a query is in several partitions."""
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
    """Return the same rows, those of weight zero left out, with each query in one partition."""
    frames = partitions.map(as_frame)
    head = tasks.results([frames[0].head(0)])[0]
    frame = dd.from_delayed(frames, meta=head, verify_meta=False)
    frame = frame.shuffle("qid", npartitions=len(partitions.chunks))
    chunks = [
        (one.drop(columns=_OTHERS).to_numpy(), *(one[name].to_numpy() for name in _OTHERS))
        for one in frame.to_delayed()
    ]
    return replace(partitions, chunks=chunks).with_checks(codes=None)  # they are coded by now


def as_frame(rows: Partition) -> pd.DataFrame:
    """Return rows as a data frame."""
    frame = pd.DataFrame(rows.X, columns=[f"x{j}" for j in range(rows.X.shape[1])])
    return frame.assign(y=rows.y, qid=rows.qid, weight=rows.weight)
