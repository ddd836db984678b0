"""The interface of an engine, a library that grows trees from gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import Selection

_MOST_BINS = 1 << 27
"""Bytes of the bins of sparse rows, which are dense: 128 MiB."""

_RATE_BY_TREES, _LARGEST_RATE = 10.0, 0.3
"""Learning rate times number of trees, and the largest rate."""


@dataclass(frozen=True)
class TreeSettings:
    """The parameters of `BoostedTreesRanker` that an engine needs, under the same names.

    Attributes
    ----------
    n_estimators, learning_rate, max_leaf_nodes, max_depth, max_bins, min_samples_leaf, \
min_child_weight, reg_lambda, subsample, colsample, random_state, engine_params
        As in `BoostedTreesRanker`.
    monotonic_cst : tuple of int or None
        1, 0 or -1 for each feature.
    categorical : tuple of int
        Features whose values are codes 0, 1, ... or NaN.
    cat_smooth : float
        Curvature by which categories are smoothed, where the engine has that.
    n_jobs : int
        Number of threads.
    """

    n_estimators: int = 100
    learning_rate: float = 0.1
    max_leaf_nodes: int | None = 31
    max_depth: int = 30
    max_bins: int = 255
    min_samples_leaf: int | None = None
    min_child_weight: float | None = None
    reg_lambda: float | None = None
    subsample: float = 1.0
    colsample: float = 1.0
    monotonic_cst: tuple[int, ...] | None = None
    categorical: tuple[int, ...] = ()
    cat_smooth: float = 1.0
    engine_params: Mapping[str, Any] = field(default_factory=dict)
    random_state: int = 0
    n_jobs: int = 1


@dataclass(frozen=True, eq=False)
class TreeData:
    """Training rows.

    Attributes
    ----------
    X : Selection of shape (n_rows, n_features)
        Features, which the engine reads block by block.
    weighted : Rows or None
        The rows with their weights, for quantiles; None where the engine finds its bins itself.
    relevance : ndarray of shape (n_rows,) or None
        For the engine's own ranking objective; None when it gets gradients.
    query_sizes : ndarray of shape (n_queries,) or None
        Number of rows of each query, with `relevance`.
    query_weight : ndarray of shape (n_queries,) or None
        Weight of each query, with `relevance`; None: all the same.
    shown : ndarray of shape (n_rows,) or None
        The place, from 1, at which each row was shown in its query, with `relevance`.
    held_out : Selection of shape (n_held_out, n_features) or None
        Features of rows that are scored after each round.
    start : booster or None
        The trees of an earlier fit, which new ones are added to.
    weight : ndarray of shape (n_rows,) or None
        Weights on the scale of the gradients: a mean of 1 where they are shares of one.
    """

    X: Selection
    weighted: Rows | None = None
    relevance: Floats | None = None
    query_sizes: Any = None
    query_weight: Floats | None = None
    shown: Any = None
    held_out: Selection | None = None
    start: Any = None
    weight: Floats | None = None


@dataclass(frozen=True, eq=False)
class RoundView:
    """Scores and model after a round; each is computed when it is asked for.

    Attributes
    ----------
    scores, held_out : callable
        Return the scores of the training rows and of the held-out rows.
    stored : callable
        Maps a number of rounds to the model of these rounds as bytes.
    """

    scores: Callable[[], Floats]
    held_out: Callable[[], Floats]
    stored: Callable[[int], bytes]


class Descent(Protocol):
    """An observer of every round, which gives the gradient of the next."""

    scores: Floats
    """The scores of the training rows so far."""

    value: float
    """The objective at these."""

    def gradient(self) -> tuple[Floats, Floats]:
        """Return gradient and curvature at the scores so far."""

    def gradient_at(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the objective, gradient and curvature at other scores, rounded alike."""

    def after_round(self, view: RoundView) -> bool:
        """Take note of a round; return True to end the fit there."""


class Engine(ABC):
    """Grows trees, stores them as bytes, and scores rows with them."""

    name: ClassVar[str]
    needs_package: ClassVar[bool] = True
    """Whether it is a library that must be installed."""

    keeps_zeros_sparse: ClassVar[bool] = True
    """Whether sparse rows stay sparse; otherwise their bins are dense."""

    own_names: ClassVar[dict[str, str]]
    """The parameter of `BoostedTreesRanker` that decides each main parameter of the engine; "" for
    one that can't be set at all."""

    defaults: ClassVar[dict[str, float]]
    """Its own `reg_lambda` and `min_child_weight`."""

    loss: ClassVar[str] = "logistic"
    auto: ClassVar[dict[str, Any]] = {
        "max_depth": None,
        "max_leaf_nodes": 31,
        "max_bins": 255,
        "subsample": 0.7,
        "colsample": 0.7,
    }
    """The loss and other settings that are "auto", beside those that depend on the rows."""

    max_depth: ClassVar[int] = 30
    """The largest depth of a tree."""

    def __init__(self, module: Any) -> None:
        self.module = module

    @abstractmethod
    def train(self, settings: TreeSettings, rows: TreeData, descent: Descent) -> None:
        """Grow trees round by round until `descent` says to stop."""

    @abstractmethod
    def to_bytes(self, booster: Any, n_rounds: int) -> bytes:
        """Return the first rounds of a booster, as the engine stores them."""

    def with_neutral_sides(self, stored: bytes, medians: Floats, first: int) -> bytes:
        """Return trees that send what is missing, where training had it never, to the median.

        Parameters
        ----------
        stored : bytes
            What `to_bytes` returns.
        medians : ndarray of shape (n_features,)
            NaN of features of which training rows have chosen the sides.
        first : int
            The first round that is changed.
        """
        return stored

    @abstractmethod
    def from_bytes(self, stored: bytes, n_threads: int) -> Any:
        """Return a booster that scores with some threads."""

    @abstractmethod
    def scores(self, booster: Any, X: Any, n_threads: int, first: int, last: int) -> Floats:
        """Return the sum of the trees of the rounds from `first` to before `last`, for each row."""

    def scores_of(
        self, booster: Any, X: Selection, n_threads: int, first: int, last: int
    ) -> Floats:
        """Return the same of selected rows, without a copy of all of them."""
        parts = [self.scores(booster, part, n_threads, first, last) for part in X.parts()]
        return np.concatenate(parts) if parts else np.zeros(0)

    @abstractmethod
    def contributions(self, booster: Any, X: Any, n_threads: int) -> Floats:
        """Return Shapley values, the constant last."""

    @abstractmethod
    def importances(self, booster: Any, n_features: int) -> Floats:
        """Return the total gain of each feature's splits."""

    def learning_rate(self, n_estimators: int, n_rows: float, n_rarer: float) -> float:
        """Return the learning rate that is "auto".

        Parameters
        ----------
        n_estimators : int
            Number of trees.
        n_rows, n_rarer : float
            Number of rows, and of rows of the rarer class.
        """
        return min(_LARGEST_RATE, _RATE_BY_TREES / n_estimators)

    def refused(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield parameters of `BoostedTreesRanker` that the engine can't take, and why."""
        yield from ()

    def _main_params(self, settings: TreeSettings) -> dict[str, Any]:
        """Return the settings that are not None, under the engine's names."""
        given = {name: getattr(settings, ours, None) for name, ours in self.own_names.items()}
        return {name: value for name, value in given.items() if value is not None}

    def check_params(self, owner: str, given: Mapping[str, Any]) -> None:
        """Raise ValueError for the main names of parameters that `owner` decides.

        All others are passed on: the engine itself warns of names that it does not know, and of
        aliases that have no effect because the main name is set.
        """
        for name in given:
            ours = self.own_names.get(name)
            if ours is not None:
                reason = f"is its parameter {ours!r}: set that" if ours else "can't be set"
                raise ValueError(
                    f"engine_params of {owner} has {name!r}, which {reason}. "
                    f"Got {name}={given[name]!r}."
                )

    def check_features(self, owner: str, X: Selection, max_bins: int) -> None:
        """Raise ValueError for sparse rows whose bins would be far larger than they are."""
        if self.keeps_zeros_sparse or not X.is_sparse:
            return
        n_bytes = X.shape[0] * X.shape[1] * np.min_scalar_type(max_bins - 1).itemsize
        stored = X.matrix.nnz * (X.matrix.dtype.itemsize + 4)
        if n_bytes > max(_MOST_BINS, 2 * stored):
            raise ValueError(
                f"Sparse X of {owner} is too large for engine={self.name!r}, which would need "
                f"{n_bytes / 1e9:.2g} GB for its {X.shape[0]} rows x {X.shape[1]} features: it "
                "takes values that are not stored for missing ones, so that their bins are made "
                f"dense. The limit is {_MOST_BINS >> 20} MiB, or twice the size of X. Use "
                "engine='lightgbm', which keeps zeros sparse, or ListNetLinear or "
                "KernelPairwiseSGDRanker, or select features."
            )

    @contextmanager
    def errors_named(self, owner: str, given: Mapping[str, Any]) -> Any:
        """Turn errors of the engine into ValueError that names the parameter."""
        try:
            yield
        except self.error as error:
            text = str(error).partition("\nStack trace")[0].strip()
            whose = self._parameter_in(text, given)
            raise ValueError(f"{whose}{owner}: {self.name} says: {text}") from error

    def _parameter_in(self, text: str, given: Mapping[str, Any]) -> str:
        """Return "... of " with the parameter that an error is about, as far as it says."""
        found = {name: one for name, one in given.items() if name in text or repr(one) in text}
        ours = next((mine for name, mine in self.own_names.items() if mine and name in text), "")
        if found or (given and not ours):
            return f"engine_params={found or dict(given)} of "
        return f"{ours} of " if ours else ""

    @property
    @abstractmethod
    def error(self) -> type[Exception] | tuple[()]:
        """The class of the engine's errors."""


def as_exact_sums(values: Floats, share: float = 1.0, dtype: Any = np.float32) -> Floats:
    """Divide values, and round to multiples of a power of two, by default as float32.

    Sums are exact: each in float64 is the same in any order, and so is every tree, with any
    number of threads. The power is at most twice 2**-52 of the sum of the absolute values:
    values that are not tiny lose no digit that float32 has.
    """
    parts = list(blocks(len(values)))
    total = sum(float(np.abs(values[part]).sum()) for part in parts) / share
    # No finer than the smallest number of 32 bits.
    unit = 2.0 ** max(np.ceil(np.log2(total)) - 52, -149) if total > 0 else 1.0
    out = np.empty(len(values), dtype)
    for part in parts:
        work = values[part] / share * (1.0 / unit)
        np.rint(work, out=work)
        np.multiply(work, unit, out=out[part], casting="same_kind")
    return out
