"""The command ``train --cluster``: fit to Parquet files on the workers of a Dask cluster.

No rows come to this process. Partitions report the distinct cells or the moments of their columns;
the encoders are fitted to a few rows made of these, with the result that all rows would give.
"""

from __future__ import annotations

import glob
import logging
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
from dask.system import CPU_COUNT
from distributed.system import MEMORY_LIMIT
from sklearn.pipeline import Pipeline

from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli import _rankers
from sklearn_rank.cli._output import progress, show_notes
from sklearn_rank.cli._settings import Train
from sklearn_rank.cli._store import Model, save_model
from sklearn_rank.cli._tables.columns import BOOLEAN, CATEGORY, NUMBER, Column, Schema
from sklearn_rank.cli._tables.dataset import (
    choose_schema,
    feature_frame,
    least_hashes,
    pooled_hashes,
    with_categories,
)
from sklearn_rank.cli._tables.errors import InputError, count, listing, noting, with_name
from sklearn_rank.cli._tables.kinds import FEW_VALUES, NUMBERED, is_numbered
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import Table
from sklearn_rank.cli._tables.roles import (
    check_names,
    features_of,
    relevance,
    role_column,
    row_weights,
)
from sklearn_rank.cli._tables.summaries import pool_summaries
from sklearn_rank.dask import DaskRanker, check_supported
from sklearn_rank.inspection import summaries_in_bins

_REFUSED = ("best", "metric", "validation", "calibrate")
_OF_TEXT = ("decimal", "sep", "encoding", "no_header", "missing")
_MOST_VALUES = 1000  # distinct cells of a column that a partition reports
_N_BINS = 100  # of a column in a partition, from which those of all rows are put together
_SHARE_OF_MEMORY = 0.8  # that the workers of this machine may take together
_SECONDS = 10  # until a scheduler must have answered
_ERRORS = (ValueError, TypeError, RuntimeError)  # of a ranker's own checks, on any machine
_BYTES = "64MiB"  # of a partition, where the row groups of the files allow it


def train_on_cluster(settings: Train) -> None:
    """Fit one ranker to the rows on a cluster and store it."""
    notes: list[str] = []
    ranker, name = _checked_ranker(settings)
    path, where = str(settings.table.data), str(settings.cluster)
    frame = _read(path)
    table = Table(frame._meta, path)
    source = _Source(path, check_names(table, settings.table))
    features = features_of(table, source.options, notes)
    distinct = _check_types(table, features, source.options.category)
    with _client(where) as client, _errors(name, notes), progress(f"fitting {name}"):
        parts, digest = frame.to_delayed(), dask.delayed(source.digest)
        digests = dask.compute(*[digest(part, features, distinct) for part in parts])
        schema, X = _schema(digests, source, name, notes)
        pipeline = _rankers.pipeline_for(ranker, schema)
        _fit_encoders(pipeline, X, parts, source, schema)
        made = DaskRanker(ranker, client=client, shuffle_queries=schema.qid is not None)
        made.fit(**_arrays(parts, source, schema, pipeline[:-1]))
        pipeline.steps[-1] = ("ranker", made.estimator_)
        summary = dask.delayed(source.summary)
        found = dask.compute(*[summary(part, schema) for part in parts])
        hashes, summaries = zip(*filter(None, found), strict=True)
        rows, pooled = pooled_hashes(hashes), pool_summaries(summaries)
        schema = replace(schema, rows=rows, summaries=pooled)
    save_model(Model(pipeline, name, schema), settings.output)
    show_notes(notes)
    top = "" if schema.positive is None else f", class {schema.positive!r} on top"
    n_rows = sum(digest.n_rows for digest in digests)
    size = f"{count(n_rows, 'row')}, {count(len(schema.kinds), 'column')}"
    print(f"{settings.output}: {name} fitted on {path}: {size}{top}")


@dataclass(frozen=True)
class _Source:
    """The files and the options by which workers read partitions of them."""

    path: str
    options: TableOptions

    def digest(self, part: Any, features: list[str], distinct: Collection[str]) -> _Digest:
        """Return the distinct cells of categories and target, and what numbers have."""
        table, n_unlabelled = self._labelled(part)
        cells, numbered = {}, set()
        for name in features:
            column = Column(table, name, [])
            known = column.cells.dropna()
            found = list(known.unique()[:_MOST_VALUES]) if name in distinct else [0.0]
            cells[name] = found * (len(known) > 0) + [None] * (len(known) < len(column.cells))
            if name not in distinct and is_numbered(column):
                numbered.add(name)
        target = str(self.options.target)
        graded = self.options.relevance == "graded"
        texts = ["0"] if graded else role_column(table, target).texts.values[:_MOST_VALUES]
        return _Digest(len(table.frame), n_unlabelled, cells | {target: texts}, numbered)

    def arrays(self, part: Any, schema: Schema, encoder: Pipeline) -> tuple[Any, ...]:
        """Return encoded features, relevance, query ids and weights."""
        table, _ = self._labelled(part)
        X: Floats = np.empty((0, len(encoder.get_feature_names_out())))
        if len(table.frame):  # scikit-learn encodes no table without a row
            X = np.asarray(encoder.transform(feature_frame(table, schema, [])))
        y = relevance(table, schema, [])
        qid = None if schema.qid is None else np.asarray(table.frame[schema.qid])
        return X, y, qid, row_weights(table, schema)

    def summary(self, part: Any, schema: Schema) -> tuple[Any, dict[str, Any]] | None:
        """Return hashes of rows and the distribution of columns; None where there are no rows."""
        table, _ = self._labelled(part)
        X = feature_frame(table, schema, [])
        return (least_hashes(X), summaries_in_bins(X, _N_BINS)) if len(X) else None

    def _labelled(self, part: Any) -> tuple[Table, int]:
        """Return the rows that have a target, and the number of those that have none."""
        table, target = Table(part.reset_index(drop=True), self.path), str(self.options.target)
        known = role_column(table, target).texts.codes >= 0
        return table.rows(known), int((~known).sum())


@dataclass(frozen=True)
class _Digest:
    """What a partition says of its rows."""

    n_rows: int
    n_unlabelled: int
    cells: dict[str, list[Any]]  # distinct cells by column; 0 and None of numbers
    numbered: set[str]  # columns of integers in the order of the rows


def _arrays(parts: list[Any], source: _Source, schema: Schema, encoder: Pipeline) -> dict[str, Any]:
    """Return the arguments of `DaskRanker.fit`."""
    encoder_, task = dask.delayed(encoder), dask.delayed(source.arrays, nout=4)
    chunks = [task(part, schema, encoder_) for part in parts]
    shapes: dict[str, Any] = {"X": (np.nan, len(encoder.get_feature_names_out())), "y": (np.nan,)}
    shapes |= {"qid": schema.qid and (np.nan,), "sample_weight": schema.weight and (np.nan,)}
    return {
        name: da.concatenate(
            [da.from_delayed(chunk[k], shape, dtype=np.float64) for chunk in chunks],
            allow_unknown_chunksizes=True,
        )
        for k, (name, shape) in enumerate(shapes.items())
        if shape is not None
    }


def _schema(
    digests: list[_Digest], source: _Source, ranker: str, notes: list[str]
) -> tuple[Schema, Any]:
    """Return the schema, and a few rows with all categories; InputError if columns do not fit."""
    path, options, target = source.path, source.options, str(source.options.target)
    n_unlabelled = sum(digest.n_unlabelled for digest in digests)
    rows = f"{path}: {count(n_unlabelled, 'row')} without a value of {target!r}"
    digests = [digest for digest in digests if digest.n_rows]
    if not digests or (n_unlabelled and not options.reading.skip_unlabelled):
        why = f"{rows}; --skip-unlabelled leaves them out" if n_unlabelled else f"{path}: no rows"
        raise InputError(why)
    notes += [f"{rows} left out"] * (n_unlabelled > 0)
    numbered = set.intersection(*(digest.numbered for digest in digests)) - set(options.keep)
    for name in sorted(numbered):
        notes.append(f"column {name!r} is not used: {NUMBERED} (--keep {name} uses it)")
    cells = {
        name: list(dict.fromkeys(chain(*(digest.cells[name] for digest in digests))))
        for name in digests[0].cells
        if name not in numbered
    }
    n = max(map(len, cells.values()))
    columns = {k: pd.Series(v + v[-1:] * (n - len(v))) for k, v in cells.items()}
    table = Table(pd.DataFrame(columns), path)
    names = [name for name in cells if name != target]
    schema = choose_schema(table, replace(options, keep=names), names, notes)
    X = feature_frame(table, schema, notes)
    schema = with_categories(schema, X)
    limit = 0 if ranker == _rankers.TREES else FEW_VALUES
    for name, kind in schema.kinds.items():
        if kind not in {NUMBER, BOOLEAN, CATEGORY}:
            raise InputError(f"{path}: column {name!r} holds {kind}s, which --cluster can't encode")
        if len(schema.categories.get(name, ())) > limit:
            what = f"has more than the {limit} categories that --cluster encodes for {ranker}"
            raise InputError(f"{path}: column {name!r} {what}; --drop leaves it out")
    return schema, X


def _fit_encoders(
    pipeline: Pipeline, X: Any, parts: list[Any], source: _Source, schema: Schema
) -> None:
    """Fit the steps before the ranker, the first to a few rows with all categories."""
    for place, (_, step) in enumerate(pipeline.steps[:-1]):
        if place:
            X = _alike(_arrays(parts, source, schema, pipeline[:place])["X"])
        step.fit(X)


def _alike(X: Any) -> Floats:
    """Return rows with the means and variances of all rows, and a missing value where they have."""
    figures = da.nanmean(X, axis=0), da.nanstd(X, axis=0), da.isnan(X).any(axis=0)
    mean, spread, has_missing = np.nan_to_num(dask.compute(*figures))
    rows = np.array([mean - spread, mean + spread, np.where(has_missing, np.nan, mean)])
    return rows if has_missing.any() else rows[:2]


def _checked_ranker(settings: Train) -> tuple[Any, str]:
    """Return the ranker and its name; InputError for what a cluster can't do."""
    table, reading = settings.table, settings.table.reading
    given = {"search": settings.folds.search} | {k: getattr(settings, k) for k in _REFUSED}
    given |= {name: getattr(table, name) for name in ("time", "group")}
    given |= {name: getattr(reading, name) for name in _OF_TEXT}
    for option, value in given.items():
        if value or (option == "best" and value is not None):
            raise InputError(f"--{option.replace('_', '-')} does not go with --cluster")
    (name,) = _rankers.choose_rankers([settings.ranker or _rankers.DEFAULT])
    rankers = _rankers.make_rankers([name], settings)
    if name == _rankers.TREES and "engine" not in settings.folds.param:
        rankers[name].set_params(engine="xgboost")
    _rankers.check_engine(rankers)
    with noting([], name, _ERRORS):
        check_supported(rankers[name], table.qid is not None)
    return rankers[name], name


def _read(data: str) -> Any:
    """Return the files as a data frame that is read partition by partition."""
    files = [data] if "://" in data else sorted(map(os.path.abspath, glob.glob(data)))
    if not files:
        raise InputError(f"{data}: no such file")
    try:
        return dd.read_parquet(files, blocksize=_BYTES)
    except (ValueError, TypeError, OSError) as error:
        raise InputError(f"{data}: --cluster reads Parquet files only ({error})") from error


def _check_types(table: Table, features: list[str], category: Collection[str]) -> set[str]:
    """Return the features to read as categories; InputError for those of other types."""
    types = pd.api.types
    dtypes = {name: table.frame[name].dtype for name in features}
    found = {k for k, dtype in dtypes.items() if dtype == "category" or types.is_bool_dtype(dtype)}
    found |= {*category}
    others = [k for k in features if k not in found and not types.is_numeric_dtype(dtypes[k])]
    if others:
        shown = listing(f"{name!r} ({dtypes[name]})" for name in others)
        raise InputError(
            f"{table.path}: --cluster takes columns of numbers and categories only, not {shown}; "
            "--drop leaves them out, --category makes categories of texts"
        )
    return found


@contextmanager
def _client(where: str) -> Iterator[Any]:
    """Yield a client of workers on this machine, or of the scheduler at an address."""
    local = {
        "n_workers": CPU_COUNT,
        "threads_per_worker": 1,
        "memory_limit": int(_SHARE_OF_MEMORY * MEMORY_LIMIT / CPU_COUNT),
        "host": "127.0.0.1",
        "dashboard_address": "127.0.0.1:0",  # any free port
        "silence_logs": logging.CRITICAL,  # the error is one line
    }
    how = local if where == "local" else {"address": where, "timeout": _SECONDS}
    try:
        client = distributed.Client(**how)
    except (OSError, ValueError) as error:
        raise InputError(f"--cluster {where}: no scheduler answers ({error})") from error
    with client:
        yield client


@contextmanager
def _errors(name: str, notes: list[str]) -> Iterator[None]:
    """Make notes of warnings, and an InputError of what a ranker or the cluster refuses."""
    found: list[str] = []
    try:
        with noting(found, name, _ERRORS):
            yield
    except distributed.KilledWorker as error:
        what = "a worker ended again and again, which mostly is for want of memory"
        raise InputError(f"--cluster: {what}; smaller row groups need less") from error
    notes += [with_name(name, line) for line in found]
