"""Queries brought together, each in one partition, by the shuffle of dask.dataframe."""

from __future__ import annotations

from dataclasses import replace

import dask.dataframe as dd
import pandas as pd

from sklearn_rank.dask._partitions import Partition, Partitions
from sklearn_rank.dask._tasks import Tasks

_OTHERS = ["y", "qid", "weight"]


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
