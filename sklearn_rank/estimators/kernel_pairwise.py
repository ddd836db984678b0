"""Pairwise ranking in a kernel space, by gradient descent over all pairs."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import kernel_metrics, pairwise_kernels
from sklearn.utils import Tags, check_random_state

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.callbacks import Follower, no_hook
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, require
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
from sklearn_rank._core.warnings import warn
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSS_CHOICE, MarginLoss, as_margin_loss
from sklearn_rank.estimators._stream_ranker import (
    StreamRanker,
    mean_attributes,
    rows_of,
)
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.models.kernel import working_rows
from sklearn_rank.models.rules import linear_contributions
from sklearn_rank.objectives import error_cut
from sklearn_rank.solvers import KERNEL_SOLVERS, FunctionSpaceLBFGS, GradientDescent, KernelSolver
from sklearn_rank.solvers._solver import DIVERGED, INDEFINITE, NO_STEP, OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers.function_space import KernelProblem, Progress

_NOT_NEGATIVE = frozenset({"chi2", "additive_chi2"})
_WITH_GAMMA = frozenset({"rbf", "poly", "polynomial", "sigmoid", "laplacian", "chi2"})
_SPARSE_KERNELS = (_WITH_GAMMA - {"chi2"}) | {"linear", "cosine"}


_LARGEST_FEATURE, _THETA = 1e152, 0.5
_EPSILON = float(np.finfo(np.float64).eps)


class KernelPairwiseSGDRanker(StreamRanker):
    r"""Kernel ranking: RankSVM and four other losses over all pairs.

    Use it when the score is a nonlinear function of the features, for up to about ten
    thousand rows; with ``kernel="linear"`` for up to millions, also after `Nystroem
    <sklearn.kernel_approximation.Nystroem>`. Guide: :doc:`/guide/kernel_pairwise`.

    It minimises

    .. math:: \frac{\sum_{i \text{ above } k} w_i w_k \, \phi(f(x_i) - f(x_k))}
        {\sum_{i \text{ above } k} w_i w_k} + \frac{\alpha}{2} \|f\|_K^2,
        \qquad f(x) = \sum_n c_n K(x_n, x)

    where

    - i above k are the pairs of rows with :math:`y_i > y_k` in one query, and w the
      sample weights;
    - :math:`\phi` is the loss of a margin;
    - K is a positive semi-definite kernel, :math:`\|f\|_K^2 = \sum_{nm} c_n c_m K(x_n,
      x_m)`, and c are the coefficients, of shape (n_samples,).

    L-BFGS finds the minimum. With ``solver="gd"``, which a number as `eta0` or `batch_size`
    selects too, the ranker instead takes steps of gradient descent from :math:`f_1 = 0`,

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \eta_t \sum_n g_n K(x_n, \cdot),
        \qquad \eta_t = \eta_0 t^{-\theta}

    with g the gradient of the mean loss with respect to the scores of the training rows.

    Parameters
    ----------
    loss : str or MarginLoss, default="logistic"
        "exponential", :math:`e^{-m}`; "least_squares", :math:`(1-m)^2`; "hinge", :math:`(1-m)_+`;
        "squared_hinge", :math:`(1-m)_+^2`; "logistic", :math:`\ln(1 + e^{-m})`; or a
        `MarginLoss` of your own (:doc:`/guide/extending`).
    kernel : str or callable, default="rbf"
        A name that `sklearn.metrics.pairwise.pairwise_kernels` accepts, "precomputed" (X is then
        the kernel matrix), or a function of two rows; positive semi-definite. "linear" works on
        coefficients of the features. Scale the features, as StandardScaler does.
    gamma : {"scale", "auto"} or float in (0, inf), default="scale"
        Width of the rbf, laplacian, polynomial, sigmoid and chi2 kernels; larger is less smooth.
        "scale": 1 / (n_features * weighted variance of X); "auto": 1 / n_features.
    degree : float in [0, inf), default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial and sigmoid kernels.
    kernel_params : dict or None, default=None
        Keyword arguments for a callable kernel.
    alpha : float in (0, inf), default=1e-3
        Strength of the ridge penalty. Larger values make the function smoother and the fit
        faster.
    eta0 : "auto" or float in (0, inf), default="auto"
        Size of the first step; a number selects gradient descent. "auto": :math:`1 / (4 \kappa^2 M
        + \alpha)`, the largest that provably bounds every :math:`\|f_t\|_K`, with :math:`\kappa^2`
        the largest K(x, x) and M ``loss.local_lipschitz`` (:doc:`/guide/theory`).
    theta : float in [0, 1], default=0.5
        Exponent of the decay of the step size; 0 is a constant step, the fastest for a smooth
        loss. Any value but the default selects gradient descent.
    max_iter : int in [1, inf), default=1000
        Maximum number of steps, or of iterations.
    tol : float in [0, inf), default=1e-4
        Stop when the norm of the gradient is at most `tol` times its norm at f = 0; 0: never. For
        the hinge loss with "lbfgs" it bounds the share of the objective that can be gained; for
        `batch_size` that share of the mean objective of a hundred steps.
    solver : {"auto", "gd", "lbfgs"} or KernelSolver, default="auto"
        "gd": gradient descent. "lbfgs": the minimum, in far fewer products with the kernel matrix.
        "auto": "gd" if one of its parameters is set, or if the loss has kinks and no
        ``rounded(width)``; otherwise "lbfgs".
    batch_size : int in [1, inf) or None, default=None
        None: every step uses all pairs. A number, which selects gradient descent: the number of
        pairs per step, drawn by weight, so that the gradient is unbiased.
    average : bool, default=False
        Whether the result is the averaged iterate, as is better with `batch_size`. True selects
        gradient descent.
    warm_start : bool, default=False
        Whether `fit` continues the last fit, on the same data, with up to `max_iter` more
        steps. A fit that fails or is interrupted leaves the previous model unchanged.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ranker is a scikit-learn classifier. "graded": numbers.
    n_jobs : int or None, default=None
        Number of threads for kernels and sums over pairs; None means 1, -1 all processors, as in
        joblib. Matrix products use the threads of the linear algebra library.
    random_state : int, RandomState or None, default=None
        Seed for the pairs that `batch_size` draws.
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per iteration.

    Attributes
    ----------
    dual_coef_, fit_rows_ : ndarray of shape (n_fit_rows,)
        The coefficients c of the training rows of positive weight, and their positions among the
        rows passed to `fit`; not with ``kernel="linear"``.
    X_fit_ : {ndarray, sparse matrix} of shape (n_fit_rows, n_features)
        These rows; not with "linear" or "precomputed".
    coef_ : ndarray of shape (n_features,)
        Coefficients of the features; only with ``kernel="linear"``.
    objective_curve_ : ndarray of shape (n_iter_,)
        The objective after each step; with `batch_size` an estimate, before it.
    eta0_, gamma_ : float
        The first step (only with gradient descent) and the number used for `gamma`.
    offset_ : float
        Binary mode: added to the scores by `decision_function`. It is minus the threshold with
        the smallest weighted training error.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of steps, of
        all fits, and of features, and the names of these, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached before `tol`, if the steps diverge, or if the kernel is indefinite;
        in the last two cases the last function with finite values is kept.

    References
    ----------
    Chen2012, Lemma 3.1 (problem; its lambda is `alpha`), eq. (1.5) (steps), Lemma 3.4
    (``eta0="auto"``).

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from sklearn_rank import KernelPairwiseSGDRanker
    >>> X, y = make_circles(200, factor=0.5, noise=0.1, random_state=0)
    >>> ranker = KernelPairwiseSGDRanker().fit(X, y)
    >>> ranker.score(X, y) > 0.99
    True
    """

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

    def _not_online(self) -> str:
        if self.kernel != "linear":
            return f"kernel='linear'. Got kernel={self.kernel!r}."
        if not self.solver_in_use.traits.has_steps:
            return f"solver='gd': solver={self.solver!r} needs all rows at once."
        return ""

    def _check_part(self, data: Rows) -> None:
        known = getattr(self, "_progress_", {}).get("settings", {})
        check_same(f"partial_fit of {type(self).__name__}", known, self._fixed_settings(data))

    # Validation --------------------------------------------------------------------

    @property
    def _descent_settings(self) -> dict[str, bool]:
        """Parameters of gradient descent as messages show them, and whether each is set."""
        return {
            f"batch_size={self.batch_size}": self.batch_size is not None,
            f"average={self.average}": bool(self.average),
            f"eta0={self.eta0}": self.eta0 != "auto",
            f"theta={self.theta:g}": self.theta != _THETA,
        }

    @property
    def solver_in_use(self) -> KernelSolver:
        """The solver that the parameter `solver` stands for."""
        if self.solver == "auto":
            loss = as_margin_loss(self.loss)
            can_be_smooth = loss.is_smooth or hasattr(loss, "rounded")
            is_set = any(self._descent_settings.values())
            return FunctionSpaceLBFGS() if can_be_smooth and not is_set else GradientDescent()
        return KERNEL_SOLVERS.resolve(self.solver)

    def _check_combination(self) -> None:
        loss, solver = as_margin_loss(self.loss), self.solver_in_use
        shown = f"solver={KERNEL_SOLVERS.name_of(solver)!r}"
        if solver.traits.has_steps and self.eta0 == "auto":
            require(loss, "local_lipschitz", "eta0='auto' of KernelPairwiseSGDRanker")
        if solver.traits.needs_smooth and not loss.is_smooth:
            require(loss, "rounded", f"{shown} of KernelPairwiseSGDRanker")
        if solver.traits.has_steps and loss.factorises and self.eta0 == "auto":
            raise ValueError(
                "KernelPairwiseSGDRanker with loss='exponential' and gradient descent needs a "
                "number as eta0: the largest step that is certain to converge is too small to be "
                "useful. Got eta0='auto'."
            )
        for setting, is_set in self._descent_settings.items():
            if is_set and not solver.traits.has_steps:
                raise ValueError(
                    f"{setting} of KernelPairwiseSGDRanker needs solver='gd'. Got {shown}."
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
        """Raise ValueError for rows that nothing can be learned from."""
        super().check_training(data)
        if self.warm_start and hasattr(self, "_progress_"):
            owner = f"{type(self).__name__} with warm_start=True"
            check_same(owner, self._progress_["settings"], self._fixed_settings(data))

    def _fixed_settings(self, data: Rows) -> dict[str, Any]:
        """Return the settings that a warm start must not change."""
        kernel = self.kernel if isinstance(self.kernel, str) else "callable"
        n_rows = None if kernel == "linear" else len(data.y)
        return {"kernel": kernel, "rows": n_rows, "features": data.X.shape[1]}

    # Fitting -------------------------------------------------------------------------

    def _fit(self, data: Rows) -> dict[str, Any]:
        with ThreadPool(self.n_jobs, data.X.shape[0] * data.X.shape[1]).running() as threads:
            loss: Any = as_margin_loss(self.loss)
            if hasattr(loss, "in_threads"):
                loss = loss.in_threads(threads)
            return self._fit_loss(data, loss, threads)

    def _fit_loss(self, data: Rows, loss: MarginLoss, threads: ThreadPool) -> dict[str, Any]:
        progress = Progress(self._fixed_settings(data))
        if self.warm_start and hasattr(self, "_progress_"):
            progress = Progress(**deepcopy(self._progress_))
        fitted: dict[str, Any] = {}
        if self.kernel in _WITH_GAMMA:
            fitted["gamma_"] = self._find_gamma(data)
        solver, preferences = self.solver_in_use, data.preferences
        model = self._make_model(data, fitted.get("gamma_"), threads)
        order = np.arange(model.n_coordinates) if self.kernel == "linear" else preferences.order

        def reconstruct() -> dict[str, Any]:
            x = follower.x  # stochastic steps have no elements, only coefficients
            f = x if x.ndim > 1 else model.element(x)
            known = self._collect(data, model, order, f)
            if self.kernel == "linear" and not solver.traits.has_steps:
                # What a fit that was interrupted goes on from.
                so_far = {"coefficients": known["coef_"], "values": list(progress.values)}
                known["_progress_"] = {**vars(progress), **so_far}
            return {**fitted, **known}

        watched = data, "iteration", self.max_iter, reconstruct
        follower = Follower(self._make_observer(*watched))
        settings = self.alpha, self.tol, self.max_iter
        problem = KernelProblem(model, preferences, loss, *settings, follower)
        if solver.traits.has_steps:
            fitted["eta0_"] = self._first_step(model, data)
            problem = self._with_steps(problem, fitted["eta0_"])
        start = np.zeros(model.n_coordinates)
        if len(progress.coefficients):
            start[:] = progress.coefficients[order]
        solution, last = solver.solve(problem, start, progress)
        self._warn(solution.message)
        progress.coefficients = _inverted(last, order)
        fitted["_progress_"] = vars(progress)
        fitted["objective_curve_"] = np.array(progress.values)
        fitted["n_iter_"] = len(progress.values)
        return {**fitted, **self._collect(data, model, order, solution.x)}

    def _fit_part(self, data: Rows) -> dict[str, Any]:
        """Take one step on the pairs among the rows of a call of `partial_fit`."""
        before = getattr(self, "_progress_", None) or vars(Progress(self._fixed_settings(data)))
        progress = Progress(**{**before, "values": list(before["values"])})
        seen, data = self._rows_seen(data), data.with_moderate_weights()
        model, order = self._make_model(data, None), np.arange(data.X.shape[1])
        f = model.element(getattr(self, "coef_", np.zeros(len(order))))
        fitted: dict[str, Any] = {"n_iter_": len(progress.values)}
        fitted["objective_curve_"] = getattr(self, "objective_curve_", np.zeros(0))
        if data.preferences.is_paired.any():
            start = progress.coefficients if len(before["values"]) else np.zeros(len(order))
            eta0 = self._first_step(model, data)
            if self.eta0 == "auto":
                eta0 = min(eta0, getattr(self, "eta0_", np.inf))
            loss = as_margin_loss(self.loss)
            problem = KernelProblem(model, data.preferences, loss, self.alpha, 0.0, 1, no_hook)
            problem = self._with_steps(problem, eta0)
            solution, last = self.solver_in_use.solve(problem, start, progress)
            self._warn(solution.message)
            progress.coefficients, f = last, solution.x
            fitted |= {"eta0_": eta0, "n_iter_": len(progress.values)}
            fitted |= self._extended_curve(progress.values[-1])
        fitted |= {"coef_": f[0], "_progress_": vars(progress)}
        fitted |= mean_attributes(f[0], seen)
        return fitted | self._offset_of_part(data, lambda: _offset(data, model.element_scores(f)))

    def _with_steps(self, problem: KernelProblem, eta0: float) -> KernelProblem:
        """Return the problem with the settings of gradient descent."""
        return replace(
            problem,
            eta0=eta0,
            theta=self.theta,
            batch_size=self.batch_size,
            average=self.average,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _collect(
        self, data: Rows, model: LinearModel | KernelModel, order: Indices, f: Floats
    ) -> dict[str, Any]:
        """Return the fitted attributes that scoring needs, for an element f."""
        coefficients = _inverted(f[0], order)
        fitted: dict[str, Any] = {}
        if self.relevance == "binary":
            fitted["offset_"] = _offset(data, model.element_scores(f))
        if self.kernel == "linear":
            means = mean_attributes(coefficients, rows_of(data))
            return {**fitted, "coef_": coefficients, **means}
        fitted |= {"dual_coef_": coefficients, "fit_rows_": data.position}
        return fitted if self.kernel == "precomputed" else {**fitted, "X_fit_": data.X}

    def _make_model(
        self, data: Rows, gamma: float | None, threads: ThreadPool | None = None
    ) -> LinearModel | KernelModel:
        """Return the functions over the rows in fit order."""
        order = data.preferences.order
        if self.kernel == "linear":
            return LinearModel(data.X, order, data, threads)
        if self.kernel == "precomputed":
            matrix = data.X[np.ix_(order, data.position[order])]
            return KernelModel(self._kernel(None), data.X, matrix)
        return KernelModel(self._kernel(gamma, n_jobs=1), data.X[order], threads=threads)

    def _kernel(self, gamma: float | None, n_jobs: int | None = None) -> Any:
        """Return the kernel as a function of two sets of rows."""
        if callable(self.kernel):
            options = dict(self.kernel_params or {})
        else:
            options = {"gamma": gamma, "degree": self.degree, "coef0": self.coef0}
            options["filter_params"] = True
        return partial(self._kernel_matrix, {**options, "n_jobs": n_jobs or self.n_jobs})

    def _kernel_matrix(self, options: dict[str, Any], X: Any, Y: Any) -> Floats:
        is_dense = isinstance(self.kernel, str) and not (issparse(X) or issparse(Y))
        if is_dense and self.kernel == "rbf":
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

    def _find_gamma(self, data: Rows) -> float:
        """Return gamma as a number."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        n_features = data.X.shape[1]
        if self.gamma == "auto":
            return 1.0 / n_features
        variance = _variance(data.X, data.weight)
        return 1.0 / (n_features * variance) if variance > 0 else 1.0

    def _first_step(self, model: LinearModel | KernelModel, data: Rows) -> float:
        """Return eta0 as a number; warn where it is not sure to converge."""
        loss = as_margin_loss(self.loss)
        if loss.factorises or not hasattr(loss, "local_lipschitz"):
            return float(self.eta0)
        norms = model.square_norms()
        largest = float(data.largest(np.max(norms, initial=0.0)))
        kappa = float(np.sqrt(max(largest, np.finfo(float).tiny)))
        from sklearn_rank.theory import safe_step

        bound = safe_step(loss, kappa, self.alpha)
        if self.eta0 == "auto":
            return bound
        if self.eta0 > bound:
            warn(
                f"eta0={self.eta0:g} of KernelPairwiseSGDRanker is above {bound:g}, the longest "
                "first step that is sure to converge (eta0='auto').",
                UserWarning,
            )
        return float(self.eta0)

    def _warn(self, reason: str) -> None:
        """Warn of a reason for which `tol` was not reached."""
        is_descent = self.solver_in_use.traits.has_steps
        advice = {
            OUT_OF_ITERATIONS: "raise max_iter" + ", or use solver='lbfgs'" * is_descent,
            DIVERGED: "the last function with finite values is kept; take a smaller eta0, 'auto' "
            "where the loss allows it, or solver='lbfgs'",
            NO_STEP: "scale the features, as StandardScaler does",
            INDEFINITE: "the last sound function is kept; take another kernel",
        }
        if reason not in ("", STOPPED):
            warn(
                f"{type(self).__name__}: {reason} (max_iter={self.max_iter}, tol={self.tol:g}); "
                f"{advice[reason]}.",
                ConvergenceWarning,
            )

    # Scoring -------------------------------------------------------------------------

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        if self.kernel == "linear":
            return np.asarray(X @ self.coef_)
        support = np.flatnonzero(self.dual_coef_)
        coefficients = self.dual_coef_[support]
        if self.kernel == "precomputed":
            return np.asarray(X[:, self.fit_rows_[support]] @ coefficients)
        scores = np.zeros(X.shape[0])
        if len(support):
            kernel, rows = self._kernel(getattr(self, "gamma_", None)), self.X_fit_
            if len(support) < rows.shape[0]:
                rows = rows[support]
            for block in blocks(len(scores), working_rows(len(support))):
                scores[block] = kernel(X[block], rows) @ coefficients
        return scores

    def _not_additive(self) -> str:
        needed = f"with kernel='linear'. Got kernel={self.kernel!r}"
        return "" if self.kernel == "linear" else needed

    def _sum_by_feature(self, X: Any) -> Floats:
        return linear_contributions(X, self.coef_)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; the kernel decides about the input."""
        tags = super().__sklearn_tags__()
        kernel = self.kernel if isinstance(self.kernel, str) else "callable"
        tags.input_tags.sparse = kernel in _SPARSE_KERNELS
        tags.input_tags.pairwise = kernel == "precomputed"
        tags.input_tags.positive_only = kernel in _NOT_NEGATIVE
        return tags


def _variance(X: Any, weight: Floats) -> float:
    """Return the variance of all entries of X, whose rows have weights.

    Deviations are taken from an entry, so that equal entries have the variance zero, and then
    from their mean.
    """
    mass, entries = weight, X
    if issparse(X):
        stored = np.diff(X.indptr)
        # One more entry stands for the zeros that are not stored.
        mass = np.append(np.repeat(weight, stored), weight @ (X.shape[1] - stored))
        entries = np.append(X.data, 0.0)
    mass = mass / (weight.sum() * X.shape[1])
    deviation = entries - entries.flat[0]
    deviation -= (mass @ deviation).sum()
    return float((mass @ deviation**2).sum())


def _offset(data: Rows, scores: Floats) -> float:
    """Return the offset between the two classes, given the scores of the rows in fit order."""
    rows = data.preferences
    return -error_cut(scores, data.y[rows.order], rows.weight, rows)


def _inverted(values: Floats, order: Any) -> Floats:
    """Return values in the order of the training data."""
    out = np.empty_like(values)
    out[order] = values
    return out
