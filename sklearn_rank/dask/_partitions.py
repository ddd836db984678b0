"""Rows in partitions of dask arrays and data frames, checked a partition at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any
from uuid import uuid4

import dask.array as da
import dask.dataframe as dd
import numpy as np
from dask import delayed
from sklearn.utils import check_array

from sklearn_rank._bins.categories import CategoryCodes, as_table
from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    check_column,
    check_names,
    check_relevance,
    check_some_weights,
    refuse_missing_ids,
)


@dataclass(frozen=True, eq=False)
class Partition:
    """The checked rows of a partition, without those of weight zero.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Features.
    y : ndarray of shape (n_rows,)
        Relevance, or True for the upper class; labels before the classes are known.
    qid : ndarray of shape (n_rows,) or None
        Query ids.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    """

    X: Floats
    y: Values
    qid: Values | None
    weight: Floats

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.y)

    def take(self, rows: Values | slice) -> Partition:
        """Return some of the rows."""
        qid = None if self.qid is None else self.qid[rows]
        return Partition(self.X[rows], self.y[rows], qid, self.weight[rows])


@dataclass(frozen=True, eq=False)
class RowChecks:
    """Requirements on the rows of every partition.

    Attributes
    ----------
    owner : str
        Class of the ranker.
    graded : bool
        Whether y is relevance instead of a class.
    allow_nan : bool
        Whether features may be missing.
    n_features : int
        Number of features.
    only_paired : bool
        Whether queries without a comparable pair are left out; queries must be whole.
    classes : ndarray of shape (2,) or None
        The two classes, as soon as known.
    codes : CategoryCodes or None
        Codes of the categorical features.
    """

    owner: str
    graded: bool
    allow_nan: bool
    n_features: int
    only_paired: bool = False
    classes: Values | None = None
    codes: CategoryCodes | None = None

    def rows(self, X: Any, y: Any, qid: Any, weight: Any) -> Partition:
        """Return the checked rows of a partition; ValueError where they break a requirement."""
        if self.codes is not None:
            X = self.codes.encode(as_table(X)) if len(X) else np.zeros((0, X.shape[1]))
        # `check_array` sums the values first, and a sum of the largest floats overflows.
        with np.errstate(over="ignore", invalid="ignore"):
            finiteness: Any = "allow-nan" if self.allow_nan else True
            kwargs = {"dtype": np.float64, "ensure_min_samples": 0, "input_name": "X"}
            X = check_array(X, ensure_all_finite=finiteness, **kwargs)
        if X.shape[1] != self.n_features:
            what = f"X should have {self.n_features} features according to its metadata"
            raise ValueError(f"{what}. Got {X.shape[1]}.")
        y = check_relevance(y) if self.graded else check_column(y, "y")
        ids = None if qid is None else check_names(qid, "qid")
        if ids is not None:
            refuse_missing_ids(ids, "qid", " of the partition")
        lengths = {"X": len(X), "y": len(y)} | ({} if ids is None else {"qid": len(ids)})
        requirement = "The partitions of X, y, qid and sample_weight must hold the same rows"
        _check_equal(lengths, requirement)
        weight = check_some_weights(weight, len(X))
        rows = Partition(X, self._by_class(y, weight), ids, weight)
        if not weight.all():
            rows = rows.take(weight > 0)
        if self.only_paired and rows.qid is not None and rows.n_rows:
            query_code = np.unique(rows.qid, return_inverse=True)[1].ravel()
            rows = rows.take(Rows(None, rows.y, query_code, rows.weight).paired_rows())
        return rows

    def _by_class(self, y: Values, weight: Floats) -> Values:
        """Return True for the upper class, if the classes are known."""
        if self.classes is None:
            return y
        if not np.isin(y[weight > 0], self.classes).all():
            raise ValueError(
                f"y changed while {self.owner} was fitted: a partition has other labels than "
                f"{self.classes.tolist()} when it is read again."
            )
        return np.asarray(y == self.classes[1])


def _check_equal(counts: dict[str, int], requirement: str) -> None:
    """Raise ValueError for different counts."""
    if len(set(counts.values())) > 1:
        counts_text = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ValueError(f"{requirement}: {counts_text}.")


def on_rows(
    function: Callable[..., Any], checks: RowChecks, number: int, chunk: Any, *arguments: Any
) -> Any:
    """Return ``function(rows, *arguments)`` of the checked rows of partition `number`."""
    try:
        rows = checks.rows(*chunk)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{error} (partition {number} of the rows)") from error
    return function(rows, *arguments)


@dataclass(frozen=True, eq=False)
class Partitions:
    """The rows of a fit, not yet read.

    Attributes
    ----------
    chunks : list of tuple
        X, y, qid and weight of each partition; each is delayed, None or a number.
    checks : RowChecks
        Requirements on the rows.
    """

    chunks: list[tuple[Any, Any, Any, Any]]
    checks: RowChecks

    def with_checks(self, **changes: Any) -> Partitions:
        """Return a copy with some checks, such as the classes, replaced."""
        return replace(self, checks=replace(self.checks, **changes))

    def where(self, is_kept: Sequence[bool]) -> Partitions:
        """Return some of the partitions."""
        return replace(self, chunks=list(compress(self.chunks, is_kept)))

    @property
    def has_queries(self) -> bool:
        """Whether qid was passed."""
        return self.chunks[0][2] is not None

    def map(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """Return delayed ``function(rows, *arguments)`` of each partition."""
        # Delayed once: all tasks share them.
        task, checks = delayed(on_rows, pure=False), delayed(self.checks)
        arguments = tuple(delayed(argument, traverse=False) for argument in arguments)
        name = f"{function.__name__}-{uuid4().hex}"
        return [
            task(function, checks, j, list(chunk), *arguments, dask_key_name=f"{name}-{j}")
            for j, chunk in enumerate(self.chunks)
        ]


# From dask collections to partitions ---------------------------------------------------------


def divide(owner: str, X: Any, y: Any, qid: Any, weight: Any, checks: RowChecks) -> Partitions:
    """Return the partitions of the caller's collections.

    Raises
    ------
    TypeError
        Where an argument is no dask collection.
    ValueError
        Where partitions don't line up.
    """
    chunks_by_name = {"X": _delayed(X.rechunk({1: -1}) if isinstance(X, da.Array) else X)}
    for name, column in {"y": y, "qid": qid, "sample_weight": weight}.items():
        if column is None or (name == "sample_weight" and np.isscalar(column)):
            chunks_by_name[name] = [column] * len(chunks_by_name["X"])
        else:
            chunks_by_name[name] = _chunks_of(owner, name, column)
    n_chunks = {name: len(chunks) for name, chunks in chunks_by_name.items()}
    _check_equal(n_chunks, f"The partitions of {owner}'s rows must line up")
    return Partitions(list(zip(*chunks_by_name.values(), strict=True)), checks)


def n_features_of(X: Any, owner: str) -> int:
    """Return the number of columns; raise TypeError if X is not a dask collection with columns."""
    is_array = isinstance(X, da.Array)
    if not isinstance(X, dd.DataFrame) and not (is_array and X.ndim == 2):
        got = f"a dask array of {X.ndim} dimensions" if is_array else type(X).__name__
        raise TypeError(
            f"X of {owner} must be a dask array of two dimensions or a dask data frame. Got {got}; "
            "rows in memory need no cluster."
        )
    if np.isnan(X.shape[1]):
        raise ValueError(f"X of {owner} has an unknown number of columns.")
    return int(X.shape[1])


def _delayed(values: Any) -> list[Any]:
    """Return the delayed partitions of a collection."""
    if isinstance(values, da.Array):
        return list(values.to_delayed().ravel())
    # Not optimised: Dask would read several small files at once for few columns, and columns of
    # one table would differ in their partitions. It would also read each file once per column.
    return list(values.to_delayed(optimize_graph=False))


def _chunks_of(owner: str, name: str, values: Any) -> list[Any]:
    """Return the delayed partitions of a column."""
    if isinstance(values, dd.Series) or (isinstance(values, da.Array) and values.ndim == 1):
        return _delayed(values)
    raise TypeError(
        f"{name} of {owner} must be a dask array of one dimension or a dask series"
        f"{', a number or None' if name == 'sample_weight' else ''}. Got "
        f"{type(values).__name__}."
    )
