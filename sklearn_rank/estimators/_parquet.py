"""Rows in Parquet files, read a block at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import check_array

from sklearn_rank._core.callbacks import has_callbacks
from sklearn_rank._core.distinct import hash_rows
from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Codes, Floats, Indices, Values
from sklearn_rank.engines.registry import get_engine

_BLOCK_VALUES = 1 << 20
"""Values of a block: 8 MiB of floats."""

_SUFFIXES = (".parquet", ".pq")


class ParquetTable:
    """The rows of Parquet files, in the order of the files.

    Parameters
    ----------
    owner : str
        Who reads, for messages.
    paths : str, path or list of them
        Files, or folders, of which all files ``*.parquet`` and ``*.pq`` are read by name.
    target, qid, sample_weight : str or None
        Columns of relevance, queries and weights.
    features : list of str or None
        Columns of the features; None: all others.

    Attributes
    ----------
    features : list of str
        Columns of the features.
    n_rows : int
        Number of rows.
    """

    def __init__(
        self,
        owner: str,
        paths: Any,
        target: str,
        qid: str | None,
        sample_weight: str | None,
        features: Sequence[str] | None,
    ) -> None:
        self._owner = owner
        self._arrow = import_extra("pyarrow", "parquet", owner)
        self._parquet = import_extra("pyarrow.parquet", "parquet", owner)
        self._paths = _files_of(owner, paths)
        self._labels = target, qid, sample_weight
        schemas = [self._parquet.read_schema(path) for path in self._paths]
        taken = [name for name in self._labels if name is not None]
        known = [name for name in schemas[0].names if name not in taken]
        self.features = known if features is None else list(features)
        self._check_names(taken)
        for path, schema in zip(self._paths, schemas, strict=True):
            self._check_schema(path, schema, taken)
        self.n_rows = sum(self._parquet.read_metadata(path).num_rows for path in self._paths)

    def labels(self) -> tuple[Values, Values | None, Values | None]:
        """Return the columns of relevance, queries and weights."""
        target, *others = self._labels
        queries, weights = (None if name is None else self._column(name) for name in others)
        return self._column(target), queries, weights

    def codes(self, check: Any) -> Codes:
        """Return a hash of the features of each row; `check` gets the blocks."""
        found = np.empty(self.n_rows, dtype=np.uint64)
        for first, block in self.blocks():
            try:
                with np.errstate(over="ignore", invalid="ignore"):  # sums of the largest floats
                    check_array(block, ensure_all_finite="allow-nan", input_name="X")
                check(block)
            except ValueError as error:
                raise ValueError(f"{self._owner}, rows from {first} on: {error}") from error
            found[first : first + len(block)] = hash_rows(block)
        return found

    def take(self, rows: Indices) -> Floats:
        """Return the features of some rows, in single precision, in the order given."""
        order = np.argsort(rows, kind="stable")
        sorted_rows = np.asarray(rows)[order]
        found = np.empty((len(rows), len(self.features)), dtype=np.float32)
        for first, block in self.blocks():
            start, end = np.searchsorted(sorted_rows, [first, first + len(block)])
            found[order[start:end]] = block[sorted_rows[start:end] - first]
        return found

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Yield the number of the first row of each block, and its features."""
        first, size = 0, max(1, _BLOCK_VALUES // len(self.features))
        for path in self._paths:
            for batch in self._batches(path, self.features, size):
                block = np.column_stack([self._floats(batch.column(n)) for n in self.features])
                if first + len(block) > self.n_rows:
                    raise self._changed()
                yield first, block
                first += len(block)
        if first != self.n_rows:
            raise self._changed()
        self._arrow.default_memory_pool().release_unused()

    def _batches(self, path: Path, columns: Sequence[str], size: int) -> Iterator[Any]:
        with self._parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(size, columns=list(columns), use_threads=False):
                if batch.num_rows:
                    yield batch

    def _floats(self, column: Any) -> Floats:
        """Return a column of numbers as floats; missing ones are NaN."""
        found = column.cast(self._arrow.float64(), safe=False)
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)

    def _column(self, name: str) -> Values:
        """Return a column of all files, of any type."""
        parts = []
        for path in self._paths:
            column = self._parquet.read_table(path, columns=[name], use_threads=False).column(0)
            if self._arrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            parts.append(column.to_numpy())
        found = np.concatenate(parts)
        if len(found) != self.n_rows:
            raise self._changed()
        return found

    def _check_names(self, taken: Sequence[str]) -> None:
        """Raise ValueError for columns that are named twice, and where there are no features."""
        named = [*taken, *self.features]
        twice = sorted({name for name in named if named.count(name) > 1})
        if twice or not self.features:
            what = f"{twice[0]!r} is named twice" if twice else "there is none besides"
            raise ValueError(
                f"{self._owner} needs different columns for target, qid, sample_weight and the "
                f"features: {what}. Got {taken} and features {self.features}."
            )

    def _check_schema(self, path: Path, schema: Any, taken: Sequence[str]) -> None:
        """Raise ValueError for a file that lacks columns, or has features that are no numbers."""
        for name in (*taken, *self.features):
            if name not in schema.names:
                raise ValueError(
                    f"{self._owner}: {path.name} has no column {name!r}. Its columns are "
                    f"{schema.names}."
                )
        types = self._arrow.types
        for name in self.features:
            kind = schema.field(name).type
            if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
                raise ValueError(
                    f"{self._owner}: column {name!r} of {path.name} must hold numbers. Its type is "
                    f"{kind}. Name the columns of numbers in features, or encode it first."
                )

    def _changed(self) -> ValueError:
        return ValueError(f"{self._owner}: the files changed while they were read.")


def _files_of(owner: str, paths: Any) -> list[Path]:
    """Return the files of paths, of which some may be folders."""
    given = list(paths) if hasattr(paths, "__len__") and not isinstance(paths, str) else [paths]
    found: list[Path] = []
    for path in map(Path, given):
        inside = sorted(path.iterdir()) if path.is_dir() else [path]
        found += [one for one in inside if not path.is_dir() or one.suffix in _SUFFIXES]
    missing = [str(path) for path in found if not path.is_file()]
    if missing or not found:
        got = f"{missing[0]!r}, which is none" if missing else f"{[str(one) for one in given]}"
        raise ValueError(f"{owner} needs Parquet files, or a folder that has some. Got {got}.")
    return found


def check_able(owner: str, ranker: Any, has_own_objective: bool, goes_on: bool) -> None:
    """Raise ValueError for parameters of boosted trees whose rows can't be read from files."""
    engine = get_engine(ranker.engine, owner).name
    method = (ranker.engine_params or {}).get("tree_method", "hist")
    categorical = ranker.categorical_features
    is_categorical = categorical is not None and not isinstance(categorical, str)
    refused = {
        "engine='xgboost'": (engine != "xgboost", f"engine={ranker.engine!r}"),
        "a loss of this package, not of the engine": (has_own_objective, f"loss={ranker.loss!r}"),
        "tree_method='hist'": (method != "hist", f"engine_params={ranker.engine_params!r}"),
        "features that are numbers": (
            is_categorical and len(categorical) > 0,
            f"categorical_features={categorical!r}",
        ),
        "a ranker that is not fitted, or warm_start=False": (goes_on, "warm_start=True"),
        "a ranker without callbacks": (has_callbacks(ranker), "callbacks"),
    }
    for needed, (is_refused, got) in refused.items():
        if is_refused:
            raise ValueError(f"{owner} needs {needed}. Got {got}.")
