"""Queries brought together, each in one partition, by the shuffle of dask.dataframe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import dask.dataframe as dd
import pandas as pd
from dask import delayed

from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks

_OTHERS = ("y", "qid", "weight")


def shuffled(tasks: Tasks, partitions: Partitions) -> Partitions:
    """Return the same rows, those of weight zero left out, with each query in one partition."""
    frames = partitions.map(as_frame)
    head = tasks.results([delayed(without_rows, pure=False)(frames[0])])[0]
    frame = dd.from_delayed(frames, meta=head, verify_meta=False)
    frame = frame.shuffle("qid", npartitions=partitions.n_partitions)
    part = delayed(column_of, pure=False)
    chunks = [
        (part(one, "X"), *(part(one, name) for name in _OTHERS)) for one in frame.to_delayed()
    ]
    return replace(partitions, chunks=chunks).with_codes(None)  # they are coded by now


def as_frame(rows: Partition) -> pd.DataFrame:
    """Return rows as a data frame."""
    frame = pd.DataFrame(rows.X, columns=[f"x{j}" for j in range(rows.X.shape[1])])
    return frame.assign(y=rows.y, qid=rows.qid, weight=rows.weight)


def without_rows(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns alone."""
    return frame.iloc[:0]


def column_of(frame: pd.DataFrame, name: str) -> Any:
    """Return a column as an array, or the features."""
    if name == "X":
        return frame.drop(columns=list(_OTHERS)).to_numpy()
    return frame[name].to_numpy()
