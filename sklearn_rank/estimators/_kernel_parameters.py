"""The parameters of the kernel ranker: which go together, its solver and its kernel."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.utils import Tags

from sklearn_rank._core.protocols import Floats, require
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FLAG,
    KEYWORDS,
    Choice,
    Constraint,
    Number,
    check_same,
    check_size,
    largest_size,
)
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSS_CHOICE, as_margin_loss
from sklearn_rank.estimators._stream_ranker import StreamRanker
from sklearn_rank.solvers import KERNEL_SOLVERS, FunctionSpaceLBFGS, GradientDescent, KernelSolver

_NOT_NEGATIVE = frozenset({"chi2", "additive_chi2"})
_WITH_GAMMA = frozenset({"rbf", "poly", "polynomial", "sigmoid", "laplacian", "chi2"})
_SPARSE_KERNELS = (_WITH_GAMMA - {"chi2"}) | {"linear", "cosine"}

_LARGEST_FEATURE = 1e152
"""Products of two larger features, summed over features, overflow."""

_THETA = 0.5


class KernelParameters(StreamRanker):
    """Base class of `KernelPairwiseSGDRanker`: its parameters, their checks, and the kernel."""

    _allowed: ClassVar[dict[str, Constraint]] = {
        **StreamRanker._allowed,
        "loss": MARGIN_LOSS_CHOICE,
        "kernel": Choice((*sorted(kernel_metrics()), "precomputed"), "a callable", Callable),
        "gamma": Number(0, closed="neither", other=("scale", "auto")),
        "degree": Number(0, closed="left"),
        "coef0": Number(-np.inf, closed="neither"),
        "kernel_params": KEYWORDS,
        "alpha": Number(0, closed="neither"),
        "eta0": Number(0, closed="neither", other=("auto",)),
        "theta": Number(0, 1),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, closed="left"),
        "solver": KERNEL_SOLVERS,
        "batch_size": Number(1, integer=True, other=(None,)),
        "average": FLAG,
        "warm_start": FLAG,
    }

    def __init__(
        self,
        *,
        loss: Any = "logistic",
        kernel: Any = "rbf",
        gamma: Any = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        kernel_params: Any = None,
        alpha: float = 1e-3,
        eta0: Any = "auto",
        theta: float = _THETA,
        max_iter: int = 1000,
        tol: float = 1e-4,
        solver: Any = "auto",
        batch_size: int | None = None,
        average: bool = False,
        warm_start: bool = False,
        relevance: str = "binary",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.alpha = alpha
        self.eta0 = eta0
        self.theta = theta
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.batch_size = batch_size
        self.average = average
        self.warm_start = warm_start
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # Checks --------------------------------------------------------------------------

    def _not_online(self) -> str:
        if self.kernel != "linear":
            return f"kernel='linear'. Got kernel={self.kernel!r}."
        if not self.solver_in_use.traits.has_steps:
            return f"solver='gd': solver={self.solver!r} needs all rows at once."
        return ""

    def _check_part(self, data: Rows) -> None:
        last_fit = getattr(self, "_progress_", {}).get("settings", {})
        check_same(f"partial_fit of {type(self).__name__}", last_fit, self._fixed_settings(data))

    @property
    def _descent_settings(self) -> dict[str, bool]:
        """The parameters of gradient descent as shown in messages, and whether each is set."""
        return {
            f"batch_size={self.batch_size}": self.batch_size is not None,
            f"average={self.average}": bool(self.average),
            f"eta0={self.eta0}": self.eta0 != "auto",
            f"theta={self.theta:g}": self.theta != _THETA,
        }

    @property
    def solver_in_use(self) -> KernelSolver:
        """The solver that the parameter `solver` stands for."""
        if self.solver != "auto":
            return KERNEL_SOLVERS.resolve(self.solver)
        loss = as_margin_loss(self.loss)
        can_be_smooth = loss.is_smooth or hasattr(loss, "rounded")
        is_set = any(self._descent_settings.values())
        return FunctionSpaceLBFGS() if can_be_smooth and not is_set else GradientDescent()

    def _check_combination(self) -> None:
        loss, solver = as_margin_loss(self.loss), self.solver_in_use
        solver_text = f"solver={KERNEL_SOLVERS.name_of(solver)!r}"
        if solver.traits.has_steps and self.eta0 == "auto":
            require(loss, "local_lipschitz", "eta0='auto' of KernelPairwiseSGDRanker")
        if solver.traits.needs_smooth and not loss.is_smooth:
            require(loss, "rounded", f"{solver_text} of KernelPairwiseSGDRanker")
        if solver.traits.has_steps and loss.factorises and self.eta0 == "auto":
            raise ValueError(
                "KernelPairwiseSGDRanker with loss='exponential' and gradient descent needs a "
                "number as eta0: the largest step guaranteed to converge is too small to be "
                "useful. Got eta0='auto'."
            )
        for setting, is_set in self._descent_settings.items():
            if is_set and not solver.traits.has_steps:
                raise ValueError(
                    f"{setting} of KernelPairwiseSGDRanker needs solver='gd'. Got {solver_text}."
                )
        if self.kernel_params is not None and not callable(self.kernel):
            raise ValueError(
                "kernel_params of KernelPairwiseSGDRanker are for a callable kernel. Got "
                f"kernel={self.kernel!r}."
            )

    def _check_features(self, X: Any) -> None:
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                "KernelPairwiseSGDRanker with kernel='precomputed' must be fitted with a square "
                f"kernel matrix. Got shape {X.shape}."
            )
        check_size(type(self).__name__, largest_size(X), _LARGEST_FEATURE)

    def check_training(self, data: Rows) -> None:
        """Raise ValueError if nothing can be learned from the rows."""
        super().check_training(data)
        if self.warm_start and hasattr(self, "_progress_"):
            owner = f"{type(self).__name__} with warm_start=True"
            check_same(owner, self._progress_["settings"], self._fixed_settings(data))

    def _fixed_settings(self, data: Rows) -> dict[str, Any]:
        """Return the settings that a warm start must not change."""
        kernel = self.kernel if isinstance(self.kernel, str) else "callable"
        n_rows = None if kernel == "linear" else len(data.y)
        return {"kernel": kernel, "rows": n_rows, "features": data.X.shape[1]}

    # The kernel ----------------------------------------------------------------------

    def _kernel(self, gamma: float | None, n_jobs: int | None = None) -> Any:
        """Return the kernel as a function of two arrays of rows."""
        options: dict[str, Any] = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
        options["filter_params"] = True  # those that the kernel has
        if callable(self.kernel):
            options = self.kernel_params or {}
        return partial(self._kernel_matrix, {**options, "n_jobs": n_jobs or self.n_jobs})

    def _kernel_matrix(self, options: dict[str, Any], X: Any, Y: Any) -> Floats:
        if self.kernel == "rbf" and not (issparse(X) or issparse(Y)):
            # Distances are differences of squares, which cancel far from the origin.
            centre = Y.mean(axis=0)
            X, Y = X - centre, Y - centre
        matrix = pairwise_kernels(X, Y, metric=self.kernel, **options)
        if not np.isfinite(matrix).all():
            raise ValueError(
                f"kernel={self.kernel!r} of KernelPairwiseSGDRanker must give finite numbers. Got "
                "NaN or infinity."
            )
        return np.asarray(matrix)

    def _find_gamma(self, data: Rows) -> float | None:
        """Return gamma as a number, or None for kernels without gamma."""
        if self.kernel not in _WITH_GAMMA:
            return None
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        n_features = data.X.shape[1]
        if self.gamma == "auto":
            return 1.0 / n_features
        variance = _variance(data.X, data.weight)
        return 1.0 / (n_features * variance) if variance > 0 else 1.0

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; the kernel determines the input tags."""
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.kernel, str) else "callable"
        tags.input_tags.sparse = kernel in _SPARSE_KERNELS
        tags.input_tags.pairwise = kernel == "precomputed"
        tags.input_tags.positive_only = kernel in _NOT_NEGATIVE
        return tags


def _variance(X: Any, weight: Floats) -> float:
    """Return the variance of all entries of X, with weighted rows."""
    mass, entries = weight, X
    if issparse(X):
        n_stored = np.diff(X.indptr)
        # One more entry stands for the zeros that are not stored.
        mass = np.append(np.repeat(weight, n_stored), weight @ (X.shape[1] - n_stored))
        entries = np.append(X.data, 0.0)
    mass = mass / (weight.sum() * X.shape[1])
    # Deviations from an entry first: equal entries then have the variance zero exactly.
    deviation = entries - entries.flat[0]
    deviation -= (mass @ deviation).sum()
    return float((mass @ deviation**2).sum())
