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
from sklearn_rank._core.selected import SelectedRows

_MOST_BYTES = 1 << 27
"""Bytes that the dense bins of sparse rows may take, however small X is: 128 MiB."""

_RATE_TIMES_TREES, _LARGEST_RATE = 10.0, 0.3
"""The "auto" learning rate of libraries: this number divided by the trees, up to a largest rate."""


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
    X : SelectedRows of shape (n_rows, n_features)
        Features, read block by block.
    weighted : Rows or None
        The rows with their weights, for quantiles; None where the engine bins values itself.
    relevance : ndarray of shape (n_rows,) or None
        For the engine's own ranking objective; None where it gets gradients.
    query_sizes : ndarray of shape (n_queries,) or None
        Number of rows of each query, with `relevance`.
    query_weight : ndarray of shape (n_queries,) or None
        Weight of each query, with `relevance`; None for equal weights.
    shown_at : ndarray of shape (n_rows,) or None
        The position, from 1, at which each row was shown in its query, with `relevance`.
    held_out : SelectedRows of shape (n_held_out, n_features) or None
        Features of rows that are scored after each round.
    start : booster or None
        The trees of an earlier fit, to which new ones are added.
    weight : ndarray of shape (n_rows,) or None
        Weights on the scale of the gradients: their mean is 1 where they are shares of one.
    """

    X: SelectedRows
    weighted: Rows | None = None
    relevance: Floats | None = None
    query_sizes: Any = None
    query_weight: Floats | None = None
    shown_at: Any = None
    held_out: SelectedRows | None = None
    start: Any = None
    weight: Floats | None = None


@dataclass(frozen=True, eq=False)
class RoundView:
    """Scores and model after a round, each computed on demand.

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
        """Return objective, gradient and curvature at other scores, rounded as in `gradient`."""

    def after_round(self, view: RoundView) -> bool:
        """Process a round; return True to end the fit there."""


class Engine(ABC):
    """Grows trees, stores them as bytes, and scores rows with them."""

    name: ClassVar[str]
    needs_package: ClassVar[bool] = True
    """Whether a library must be installed."""

    keeps_zeros_sparse: ClassVar[bool] = True
    """Whether sparse rows stay sparse; otherwise their bins are dense."""

    own_names: ClassVar[dict[str, str]]
    """Main parameter of the engine to the parameter of `BoostedTreesRanker` that decides it; "" if
    none does."""

    defaults: ClassVar[dict[str, float]]
    """The engine's default `reg_lambda` and `min_child_weight`."""

    loss: ClassVar[str] = "logistic"
    auto: ClassVar[dict[str, Any]] = {
        "max_depth": None,
        "max_leaf_nodes": 31,
        "max_bins": 255,
        "subsample": 0.7,
        "colsample": 0.7,
    }
    """What "auto" means for the loss and for settings that don't depend on the rows."""

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

    def with_neutral_sides(self, stored: bytes, medians: Floats, first_tree: int) -> bytes:
        """Return trees that send missing values to the median's side if training had none.

        Parameters
        ----------
        stored : bytes
            Trees as `to_bytes` returns them.
        medians : ndarray of shape (n_features,)
            Weighted medians; NaN for features that training rows miss, whose sides are learned.
        first_tree : int
            The first round to change.
        """
        return stored

    @abstractmethod
    def from_bytes(self, stored: bytes, n_threads: int) -> Any:
        """Return a booster that scores with some threads."""

    @abstractmethod
    def scores(self, booster: Any, X: Any, n_threads: int, first: int, last: int) -> Floats:
        """Return the sum of the trees of the rounds from `first` to before `last`, for each row."""

    def scores_of(
        self, booster: Any, X: SelectedRows, n_threads: int, first: int, last: int
    ) -> Floats:
        """Return the scores of selected rows, without copying all of them."""
        scores = [self.scores(booster, block, n_threads, first, last) for block in X.parts()]
        return np.concatenate(scores) if scores else np.zeros(0)

    @abstractmethod
    def contributions(self, booster: Any, X: Any, n_threads: int) -> Floats:
        """Return Shapley values, the constant last."""

    @abstractmethod
    def importances(self, booster: Any, n_features: int) -> Floats:
        """Return the total gain of each feature's splits."""

    def learning_rate(self, n_estimators: int, n_rows: float, n_rarer: float) -> float:
        """Return the "auto" learning rate.

        Parameters
        ----------
        n_estimators : int
            Number of trees.
        n_rows, n_rarer : float
            Number of rows, and of rows of the rarer class.
        """
        return min(_LARGEST_RATE, _RATE_TIMES_TREES / n_estimators)

    def refused(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the parameters of `BoostedTreesRanker` that the engine refuses, and why."""
        yield from ()

    def _main_params(self, settings: TreeSettings) -> dict[str, Any]:
        """Return the settings that are not None, under the engine's names."""
        values = {name: getattr(settings, ours, None) for name, ours in self.own_names.items()}
        return {name: value for name, value in values.items() if value is not None}

    def check_params(self, owner: str, params: Mapping[str, Any]) -> None:
        """Raise ValueError for the main names of parameters that `owner` decides.

        All others are passed on: the engine itself warns of names that it does not know, and of
        aliases that have no effect because the main name is set.
        """
        for name in filter(self.own_names.__contains__, params):
            parameter = self.own_names[name]
            reason = f"is its parameter {parameter!r}: set that" if parameter else "can't be set"
            raise ValueError(
                f"engine_params of {owner} has {name!r}, which {reason}. "
                f"Got {name}={params[name]!r}."
            )

    def check_features(self, owner: str, X: SelectedRows, max_bins: int) -> None:
        """Raise ValueError for sparse rows whose bins would be far larger than they are."""
        if self.keeps_zeros_sparse or not X.is_sparse:
            return
        n_bytes = X.shape[0] * X.shape[1] * np.min_scalar_type(max_bins - 1).itemsize
        n_stored_bytes = X.matrix.nnz * (X.matrix.dtype.itemsize + 4)
        if n_bytes > max(_MOST_BYTES, 2 * n_stored_bytes):
            raise ValueError(
                f"Sparse X of {owner} is too large for engine={self.name!r}, which would need "
                f"{n_bytes / 1e9:.2g} GB for its {X.shape[0]} rows x {X.shape[1]} features: it "
                "treats values that are not stored as missing, so their bins must be "
                f"dense. The limit is {_MOST_BYTES >> 20} MiB, or twice the size of X. Use "
                "engine='lightgbm', which keeps zeros sparse, or ListNetLinear or "
                "KernelPairwiseSGDRanker, or select features."
            )

    @contextmanager
    def errors_named(self, owner: str, params: Mapping[str, Any]) -> Iterator[None]:
        """Turn errors of the engine into ValueError that names the parameter."""
        try:
            yield
        except self.error as error:
            text = str(error).partition("\nStack trace")[0].strip()
            parameter = self._parameter_in(text, params)
            raise ValueError(f"{parameter}{owner}: {self.name} says: {text}") from error

    def _parameter_in(self, text: str, params: Mapping[str, Any]) -> str:
        """Return "... of " with the parameter that an error names, or an empty string."""
        mentioned = {k: value for k, value in params.items() if k in text or repr(value) in text}
        ours = next((ours for name, ours in self.own_names.items() if ours and name in text), "")
        if mentioned or (params and not ours):
            return f"engine_params={mentioned or dict(params)} of "
        return f"{ours} of " if ours else ""

    @property
    @abstractmethod
    def error(self) -> type[Exception] | tuple[()]:
        """The class of the engine's errors."""


def as_exact_sums(values: Floats, share: float = 1.0, dtype: Any = np.float32) -> Floats:
    """Divide and round values to multiples of a power of two, by default as float32.

    Their sums in float64 are exact, so that every tree is the same for any order of the rows and
    any number of threads. The power is at most twice 2**-52 of the sum of the absolute values:
    only values below 2**-27 of that sum lose digits that float32 has.
    """
    slices = list(blocks(len(values)))
    abs_sum = sum(float(np.abs(values[block]).sum()) for block in slices) / share
    # No finer than the smallest number of 32 bits.
    quantum = 2.0 ** max(np.ceil(np.log2(abs_sum)) - 52, -149) if abs_sum > 0 else 1.0
    rounded = np.empty(len(values), dtype)
    for block in slices:
        multiples = np.rint(values[block] / share * (1.0 / quantum))
        np.multiply(multiples, quantum, out=rounded[block], casting="same_kind")
    return rounded
