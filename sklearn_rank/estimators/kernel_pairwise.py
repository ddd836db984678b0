"""Pairwise ranking in a kernel space, by gradient descent over all pairs."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.callbacks import Follower, no_hook
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.warnings import warn
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss
from sklearn_rank.estimators._kernel_parameters import KernelParameters
from sklearn_rank.estimators._stream_ranker import mean_attributes, moments_of
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.models.kernel import working_rows
from sklearn_rank.objectives import error_cut
from sklearn_rank.solvers._solver import DIVERGED, INDEFINITE, NO_STEP, OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers.function_space import KernelProblem, Progress


class KernelPairwiseSGDRanker(KernelParameters):
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

    L-BFGS finds the minimum. With ``solver="gd"`` (implied by a numeric `eta0` or
    `batch_size`), the ranker instead runs gradient descent from :math:`f_1 = 0`,

    .. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \eta_t \sum_n g_n K(x_n, \cdot),
        \qquad \eta_t = \eta_0 t^{-\theta}

    with g the gradient of the mean loss with respect to the scores of the training rows.

    Parameters
    ----------
    loss : str or MarginLoss, default="logistic"
        "exponential", :math:`e^{-m}`; "least_squares", :math:`(1-m)^2`; "hinge", :math:`(1-m)_+`;
        "squared_hinge", :math:`(1-m)_+^2`; "logistic", :math:`\ln(1 + e^{-m})`; or your own
        `MarginLoss` (:doc:`/guide/extending`).
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
        the hinge loss with "lbfgs", it bounds the relative decrease of the objective that is still
        possible; for `batch_size` that share of the mean objective of a hundred steps.
    solver : {"auto", "gd", "lbfgs"} or KernelSolver, default="auto"
        "gd": gradient descent. "lbfgs": the minimum, in far fewer products with the kernel matrix.
        "auto": "gd" if one of its parameters is set, or if the loss has kinks and no
        ``rounded(width)``; otherwise "lbfgs".
    batch_size : int in [1, inf) or None, default=None
        None: every step uses all pairs. A number, which selects gradient descent: the number of
        pairs per step, drawn by weight, so that the gradient is unbiased.
    average : bool, default=False
        Whether the result is the averaged iterate, which is better with `batch_size`. True selects
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
        The coefficients c of the training rows with positive weight, and their positions among the
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
        Binary mode: the constant that `decision_function` adds to the scores. It is minus the
        threshold with the smallest weighted training error.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of steps of
        all fits and of features, and the feature names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` is reached before `tol`, if the steps diverge, or if the kernel is indefinite;
        in the last two cases, the last function with finite values is kept.

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

    # Fitting -------------------------------------------------------------------------

    def _fit(self, data: Rows) -> dict[str, Any]:
        with ThreadPool(self.n_jobs, data.X.shape[0] * data.X.shape[1]).running() as threads:
            loss: Any = as_margin_loss(self.loss)
            if hasattr(loss, "in_threads"):
                loss = loss.in_threads(threads)
            return self._minimise(data, loss, threads)

    def _minimise(self, data: Rows, loss: MarginLoss, threads: ThreadPool) -> dict[str, Any]:
        """Return the fitted attributes at the minimum of the mean loss plus the ridge."""
        # 1. The functions f = sum_n c_n K(x_n, .), and the f to start from: 0 or the last fit's.
        progress = Progress(self._fixed_settings(data))
        if self.warm_start and hasattr(self, "_progress_"):
            progress = Progress(**deepcopy(self._progress_))
        gamma = self._find_gamma(data)
        fitted: dict[str, Any] = {} if gamma is None else {"gamma_": gamma}
        solver, preferences = self.solver_in_use, data.preferences
        model = self._make_model(data, gamma, threads)
        order = np.arange(model.n_coordinates) if self.kernel == "linear" else preferences.order
        start = np.zeros(model.n_coordinates)
        if len(progress.coefficients):
            start[:] = progress.coefficients[order]

        def attributes_now() -> dict[str, Any]:
            x = follower.x  # stochastic steps have no elements, only coefficients
            f = x if x.ndim > 1 else model.element(x)
            attributes = {**fitted, **self._collect(data, model, order, f)}
            if self.kernel == "linear" and not solver.traits.has_steps:
                # An interrupted fit continues from here.
                now = {"coefficients": attributes["coef_"], "values": list(progress.values)}
                attributes["_progress_"] = {**vars(progress), **now}
            return attributes

        # 2. Minimise E_S(f) + alpha / 2 ||f||^2, with E_S the mean loss of all pairs: by L-BFGS,
        # or by steps of size eta_t = eta_0 t^-theta along its gradient (Chen2012, (1.5)).
        follower = Follower(self._make_observer(data, "iteration", self.max_iter, attributes_now))
        settings = self.alpha, self.tol, self.max_iter
        problem = KernelProblem(model, preferences, loss, *settings, follower)
        if solver.traits.has_steps:
            fitted["eta0_"] = self._first_step(model, data)
            problem = self._with_steps(problem, fitted["eta0_"])
        solution, last_coefficients = solver.solve(problem, start, progress)
        self._warn(solution.message)
        # 3. The fitted attributes, with rows in the order of the training data.
        progress.coefficients = _unsorted(last_coefficients, order)
        fitted["_progress_"] = vars(progress)
        fitted["objective_curve_"] = np.array(progress.values)
        fitted["n_iter_"] = len(progress.values)
        return {**fitted, **self._collect(data, model, order, solution.x)}

    def _fit_part(self, data: Rows) -> dict[str, Any]:
        """Take step t of Chen2012, (1.5), on the pairs among the rows of call t."""
        old_fit = getattr(self, "_progress_", None) or vars(Progress(self._fixed_settings(data)))
        progress = Progress(**{**old_fit, "values": list(old_fit["values"])})
        moments, data = self._moments_so_far(data), data.with_moderate_weights()
        model, zero = self._make_model(data, None), np.zeros(data.X.shape[1])
        f = model.element(getattr(self, "coef_", zero))
        fitted: dict[str, Any] = {"n_iter_": len(progress.values)}
        fitted["objective_curve_"] = getattr(self, "objective_curve_", np.zeros(0))
        if data.preferences.is_paired.any():
            # f_t, the last iterate and not the average; f_1 = 0.
            start = progress.coefficients if progress.values else zero
            # eta_t = eta_0 t^-theta, t one more than the number of values. "auto" must be safe for
            # the rows of all calls so far.
            eta0 = self._first_step(model, data)
            if self.eta0 == "auto":
                eta0 = min(eta0, getattr(self, "eta0_", np.inf))
            # f_{t+1} = (1 - eta_t alpha) f_t - eta_t grad E_S(f_t), with E_S over the pairs here.
            loss = as_margin_loss(self.loss)
            problem = KernelProblem(model, data.preferences, loss, self.alpha, 0.0, 1, no_hook)
            problem = self._with_steps(problem, eta0)
            solution, last_coefficients = self.solver_in_use.solve(problem, start, progress)
            self._warn(solution.message)
            progress.coefficients, f = last_coefficients, solution.x
            fitted |= {"eta0_": eta0, "n_iter_": len(progress.values)}
            fitted |= self._extended_curve(progress.values[-1])
        fitted |= {"coef_": f[0], "_progress_": vars(progress)}
        fitted |= mean_attributes(f[0], moments)
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
        """Return the fitted attributes that scoring needs, given an element f."""
        coefficients = _unsorted(f[0], order)
        fitted: dict[str, Any] = {}
        if self.relevance == "binary":
            fitted["offset_"] = _offset(data, model.element_scores(f))
        if self.kernel == "linear":
            means = mean_attributes(coefficients, moments_of(data))
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

    def _first_step(self, model: LinearModel | KernelModel, data: Rows) -> float:
        """Return eta0 as a number; warn where convergence is not certain (Chen2012, Lemma 3.4)."""
        loss = as_margin_loss(self.loss)
        if loss.factorises or not hasattr(loss, "local_lipschitz"):
            return float(self.eta0)
        max_square = float(data.largest(np.max(model.square_norms(), initial=0.0)))
        kappa = float(np.sqrt(max(max_square, np.finfo(float).tiny)))
        from sklearn_rank.theory import safe_step

        bound = safe_step(loss, kappa, self.alpha)
        if self.eta0 == "auto":
            return bound
        if self.eta0 > bound:
            warn(
                f"eta0={self.eta0:g} of KernelPairwiseSGDRanker is above {bound:g}, the longest "
                "first step that is guaranteed to converge (eta0='auto').",
                UserWarning,
            )
        return float(self.eta0)

    def _warn(self, reason: str) -> None:
        """Warn if `tol` was not reached, and say why."""
        other_solver = ", or use solver='lbfgs'" if self.solver_in_use.traits.has_steps else ""
        advice = {
            OUT_OF_ITERATIONS: f"raise max_iter{other_solver}",
            DIVERGED: "the last function with finite values is kept; use a smaller eta0, 'auto' "
            "if the loss allows it, or solver='lbfgs'",
            NO_STEP: "scale the features, as StandardScaler does",
            INDEFINITE: "the function before that is kept; use another kernel",
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
        requirement = f"with kernel='linear'. Got kernel={self.kernel!r}"
        return "" if self.kernel == "linear" else requirement


def _offset(data: Rows, scores: Floats) -> float:
    """Return the offset between the two classes, given the scores of the rows in fit order."""
    rows = data.preferences
    return -error_cut(scores, data.y[rows.order], rows.weight, rows)


def _unsorted(values: Floats, order: Any) -> Floats:
    """Return values in the order of the training rows."""
    unsorted = np.empty_like(values)
    unsorted[order] = values
    return unsorted
