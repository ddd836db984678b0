"""Linear ListNet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags

from sklearn_rank._core.callbacks import Follower, no_hook
from sklearn_rank._core.parallel import ThreadPool, one_blas_thread
from sklearn_rank._core.protocols import Floats, Indices, IterateHook
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import Block, Queries
from sklearn_rank._core.tolerances import VARIANCE_ROUNDING, ZERO_SCORE
from sklearn_rank._core.validation import (
    FLAG,
    Choice,
    Constraint,
    Number,
    check_same,
    check_size,
    largest_size,
)
from sklearn_rank._core.warnings import warn
from sklearn_rank.estimators._stream_ranker import StreamRanker, mean_attributes, moments_of
from sklearn_rank.models import LinearModel
from sklearn_rank.objectives import CrossEntropy, ListLoss, error_cut
from sklearn_rank.objectives.listwise import LISTWISE_LOSS_CHOICE, as_listwise_loss, check_grades
from sklearn_rank.solvers import LINEAR_SOLVERS, LinearSolver
from sklearn_rank.solvers._solver import STOPPED
from sklearn_rank.solvers.list_solvers import ListProblem, OnlineDescent
from sklearn_rank.solvers.regularisers import REGULARISERS

_LARGEST_FEATURE = 1e70
"""Squares of larger features times gains 2**grade, summed over rows, overflow."""

_THETA = 0.5


class BlockwiseObjective:
    """A listwise objective of linear scores, by blocks: each gradient reads X only once.

    Parameters
    ----------
    objective : ListLoss
        The mean of a listwise loss, as a function of scores.
    model : LinearModel
        Linear scores, in the row order of the objective.
    threads : ThreadPool
        Threads that share the blocks.
    """

    def __init__(self, objective: ListLoss, model: LinearModel, threads: ThreadPool) -> None:
        self._objective = objective
        self._model = model
        self._threads = threads
        # Slices of a sparse matrix are copies: it is read as one block.
        queries = objective.rows.queries
        is_single = sparse.issparse(model.X) and queries.n_groups > 0
        self._blocks = [queries.block(0, queries.n_groups)] if is_single else objective.blocks

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self._objective.n_queries)

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return value and gradient, ``X' dL/ds`` at ``s = X w``."""

        def evaluate_block(index: int) -> tuple[float, Floats]:
            block = self._blocks[index]
            model = self._model.at_rows(block.items)
            value, gradient = self._objective.by_block(block, model.scores(w))
            return value, model.pull_back(gradient)

        results = self._threads.map(evaluate_block, len(self._blocks))
        value = sum(value for value, _ in results)
        gradient = np.sum([g for _, g in results], axis=0) if results else np.zeros_like(w)
        value, gradient = self._objective.sums.totals(value, gradient)
        return float(value), np.asarray(gradient)

    def _sum_of_blocks(self, term: Callable[[Block, LinearModel], Floats], start: Floats) -> Floats:
        """Sum a function of a block and its model over blocks and processes."""

        def evaluate_block(index: int) -> Floats:
            block = self._blocks[index]
            return term(block, self._model.at_rows(block.items))

        local_sum = sum(self._threads.map(evaluate_block, len(self._blocks)), start=start)
        return np.asarray(self._objective.sums.total(local_sum))

    @property
    def is_twice_differentiable(self) -> bool:
        """Whether the objective has second derivatives."""
        return hasattr(self._objective, "second_derivatives")

    def hessian(self, w: Floats, columns: Indices) -> Floats:
        """Return the second derivatives with respect to the coefficients `columns`."""

        def block_hessian(block: Block, model: LinearModel) -> Floats:
            c, b, p = self._objective.second_derivatives(block, model.scores(w))
            cross = model.group_sums(block, b, columns).T @ model.group_sums(block, p, columns)
            return np.asarray(model.weighted_products(c, columns) - cross - cross.T)

        return self._sum_of_blocks(block_hessian, np.zeros((len(columns), len(columns))))

    def query_gradient(self, query: int, w: Floats) -> Floats:
        """Return the gradient of the loss of one query alone."""
        queries = self._objective.rows.queries
        model = self._model.at_rows(slice(queries.start[query], queries.end[query]))
        return np.asarray(model.pull_back(self._objective.query_gradient(query, model.scores(w))))

    def variance(self) -> Floats:
        """Return the variance of each feature within queries: the mean curvature at w = 0.

        It is 0 for features that are constant in each query, on which the loss does not depend.
        """

        def measure(block: Block, model: LinearModel) -> Floats:
            share = self._objective.shares(block)
            mean, square = model.group_sums(block, share), model.square_sums(share)
            within = square - self._objective.n_queries * (mean * mean).sum(axis=0)
            return np.stack([within, square])

        def count_changes(block: Block, model: LinearModel) -> Floats:
            X = model.X[:, small]
            return np.asarray((X[1:] != X[:-1])[block.positions[1:] > 0].sum(axis=0)).ravel()

        variance, square = self._sum_of_blocks(measure, np.zeros((2, self._model.n_coordinates)))
        # A difference of two sums is lost in their rounding: there neighbours are compared.
        rounding = VARIANCE_ROUNDING * square
        small = np.flatnonzero(variance <= rounding)
        is_varying = self._sum_of_blocks(count_changes, np.zeros(len(small))) > 0
        variance[small] = np.where(is_varying, rounding[small], 0.0)
        return variance


def _offset(data: Rows, coefficients: Floats) -> float:
    """Return the offset between the two classes."""
    scores = np.asarray(data.X @ coefficients)
    scores[np.abs(scores) < ZERO_SCORE] = 0.0
    return -error_cut(scores, data.y, data.weight, data)


def _online_state(descent: OnlineDescent | None) -> dict[str, Any]:
    """Return the attributes from which `partial_fit` continues."""
    if descent is None:
        return {}
    return {"t_": descent.n_steps, "_descent_": (descent.coefficients, descent.total)}


class ListNetLinear(StreamRanker):
    r"""Linear ListNet: a linear model with a convex listwise loss.

    Use it for queries with graded relevance, such as search results. Every query has the same
    weight, however many rows it has, and the generalisation error does not grow with the
    length of the queries (Tewari2015).

    Call ``fit(X, y, qid=qid)``, then sort the rows of a query by decreasing ``predict(X)``. Without
    ``qid`` all rows are one list. Features should have similar ranges, especially within queries:
    see `sklearn_rank.preprocessing.QueryMinMaxScaler`. Guide: :doc:`/guide/list_net`.

    It minimises

    .. math:: \frac1n \sum_{q=1}^n \phi(s_q, y_q) + \frac\alpha2 \|w\|_2^2,
        \qquad \phi(s, y) = -\sum_j P_y(j) \, (s_j - \log Z_s), \qquad s_j = w^\top x_j

    .. math:: P_y(j) = \frac{c_j e^{y_j}}{\sum_l c_l e^{y_l}}, \qquad
        Z_s = \sum_l c_l e^{s_l}

    where

    - q runs over the n queries; :math:`y_q` is the relevance and :math:`s_q` are the scores
      of its rows, of shape (n_rows_of_q,);
    - w are the coefficients, of shape (n_features,), and x the features;
    - c are the sample weights, multiplicities inside both sums; a constant weight for all rows of a
      query changes nothing, so whole queries cannot be weighted.

    P is the *top-one probability*, the probability that row j is drawn first when rows are
    drawn with odds :math:`e^{y_j}`. An increase of the relevance by 1 multiplies the odds by e.

    Parameters
    ----------
    loss : str or ListwiseLoss, default="cross_entropy"
        "cross_entropy": as above, convex. "smoothed_dcg": minus the smoothed DCG, closer to the
        NDCG, but not convex, and unbounded without a penalty or `max_norm`. Or your own
        `ListwiseLoss` (:doc:`/guide/extending`).
    penalty : {"l2", "l1", None}, default="l2"
        "l1" replaces the last term by :math:`\alpha \|w\|_1`, which makes many
        coefficients exactly zero. None: no penalty, and `alpha` is ignored.
    alpha : float in [0, inf), default=1e-4
        Strength of the penalty.
    max_norm : float in (0, inf) or None, default=None
        Maximum norm of the coefficients: l1 with ``penalty="l1"``, otherwise l2.
    sigma : float in (0, inf), default=1.0
        Scale of the scores in "smoothed_dcg"; smaller values approximate the DCG better and are
        harder to minimise. Only with that loss.
    solver : {"lbfgs", "ogd"} or LinearSolver, default="lbfgs"
        "lbfgs": all queries at once. "ogd": averaged online gradient descent, one query
        per step, which can also learn from a stream: see `partial_fit`.
    eta0 : float in (0, inf) or "auto", default="auto"
        Step t of "ogd" has the size ``eta0 / t**theta``. "auto": the constant
        `sklearn_rank.theory.ogd_step` of all steps, of Tewari2015, Theorem 5; it needs `max_norm`
        and "cross_entropy", and is not for `partial_fit`.
    theta : float in [0, 1], default=0.5
        Exponent of the step-size decay when `eta0` is a number; 0 gives a constant step size, as in
        Tewari2015, eq. (7) (`sklearn_rank.theory.smooth_ogd_step`).
    max_iter : int in [1, inf), default=500
        Maximum number of iterations; with "ogd", of passes over the queries.
    tol : float in [0, inf), default=1e-6
        Stop when the gradient is at most `tol` times, or the duality gap (Notes) at most `tol`
        squared times, its value at w = 0; with "ogd", when a pass changes the objective by at most
        this fraction.
    warm_start : bool, default=False
        Whether `fit` starts from the coefficients of the last fit. A fit that fails or is
        interrupted leaves the previous model unchanged.
    relevance : {"graded", "binary"}, default="graded"
        "graded": numbers. "binary": two classes; the ranker is a scikit-learn classifier.
    n_jobs : int or None, default=None
        Number of threads that share the queries in "lbfgs"; None means 1, -1 all processors, as in
        joblib. NumPy uses one thread during a fit.
    random_state : int, RandomState or None, default=None
        Seed for the order of the queries in the second and later passes of "ogd".
    verbose : int, default=0
        1 prints ten lines per fit, 2 one line per iteration.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features_in_,)
        The coefficients w; with "ogd" the averaged iterate (1/T) sum_t w_t, with w_1 = 0. With
        "lbfgs", features that are constant within each query have the coefficient 0, because no
        order depends on them.
    objective_curve_ : ndarray
        The objective after each iteration, each pass of "ogd", or each call of `partial_fit`.
    t_ : int
        With "ogd": the number of steps so far.
    offset_ : float
        Binary mode: the constant that `decision_function` adds to the scores. It minimises the
        weighted training error of `predict`.
    classes_, n_iter_, n_features_in_, feature_names_in_
        The classes (binary mode), the second of which belongs at the top; the numbers of iterations
        and of features, and the feature names, if all are strings.

    Warns
    -----
    ConvergenceWarning
        If `tol` is not reached after `max_iter` iterations, or more than one pass of "ogd".

    Notes
    -----
    Sort X by query beforehand to avoid a copy. "lbfgs" scales features by their standard deviation
    within queries and, with at most 200 features, ends with steps of Newton's method. With an
    active `max_norm` W it also stops by the duality gap,

    .. math:: g^\top w + \Omega(w) + \max_{\|v\| \le W} \bigl(-g^\top v - \Omega(v)\bigr)

    where g is the gradient of the mean loss at w and :math:`\Omega` the penalty. With the convex
    "cross_entropy" the objective is at most this much above its minimum in the ball.

    References
    ----------
    Cao2007 (top-one cross-entropy). Tewari2015, eq. 3 (objective), sec. 3.2 (smoothed DCG),
    Theorem 5 (online descent).

    Examples
    --------
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> ranker = ListNetLinear().fit(data.data, data.target, qid=data.qid)
    >>> ranker.score(data.data, data.target, qid=data.qid) > 0.8
    True
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        **StreamRanker._allowed,
        "loss": LISTWISE_LOSS_CHOICE,
        "penalty": Choice(tuple(REGULARISERS)),
        "alpha": Number(0, closed="left"),
        "max_norm": Number(0, closed="neither", other=(None,)),
        "sigma": Number(0, closed="neither"),
        "solver": LINEAR_SOLVERS,
        "eta0": Number(0, closed="neither", other=("auto",)),
        "theta": Number(0, 1),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, closed="left"),
        "warm_start": FLAG,
    }

    def __init__(
        self,
        *,
        loss: Any = "cross_entropy",
        penalty: str | None = "l2",
        alpha: float = 1e-4,
        max_norm: float | None = None,
        sigma: float = 1.0,
        solver: Any = "lbfgs",
        eta0: float | str = "auto",
        theta: float = _THETA,
        max_iter: int = 500,
        tol: float = 1e-6,
        warm_start: bool = False,
        relevance: str = "graded",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.max_norm = max_norm
        self.sigma = sigma
        self.solver = solver
        self.eta0 = eta0
        self.theta = theta
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _not_online(self) -> str:
        if not self.solver_in_use.traits.is_online:
            return f"solver='ogd': solver={self.solver!r} needs all queries at once."
        if self.eta0 == "auto":
            return (
                "a number as eta0: eta0='auto' depends on the number of steps, which partial_fit "
                "does not know."
            )
        return ""

    @property
    def solver_in_use(self) -> LinearSolver:
        """The solver that the parameter `solver` stands for."""
        return LINEAR_SOLVERS.resolve(self.solver)

    # Checks ----------------------------------------------------------------------------

    def _check_combination(self) -> None:
        name = type(self).__name__
        if self.sigma != 1 and self.loss != "smoothed_dcg":
            raise ValueError(
                f"sigma={self.sigma:g} of {name} needs loss='smoothed_dcg'. Got loss={self.loss!r}."
            )
        if self.eta0 != "auto" and not self.solver_in_use.traits.is_online:
            raise ValueError(
                f"eta0={self.eta0:g} of {name} needs solver='ogd'. Got solver={self.solver!r}."
            )
        if self.eta0 == "auto" and self.theta != _THETA:
            raise ValueError(
                f"theta={self.theta:g} of {name} needs a number as eta0. Got eta0={self.eta0!r}."
            )
        if self.solver_in_use.traits.is_online and self.eta0 == "auto":
            if self.max_norm is None:
                raise ValueError(
                    f"eta0='auto' of {name} with solver={self.solver!r} needs max_norm, on "
                    "which its step depends. Got max_norm=None: set it, or set eta0 to a number."
                )
            if as_listwise_loss(self.loss, float(self.sigma)) != CrossEntropy():
                raise ValueError(
                    f"eta0='auto' of {name} needs a convex loss, loss='cross_entropy'. Got "
                    f"loss={self.loss!r}: set eta0 to a number."
                )

    def check_training(self, data: Rows) -> None:
        """Raise ValueError if nothing can be learned from the rows."""
        super().check_training(data)
        self._check_part(data)
        if self.warm_start and hasattr(self, "coef_"):
            owner, name = f"{type(self).__name__} with warm_start=True", "number of features"
            check_same(owner, {name: len(self.coef_)}, {name: data.X.shape[1]})

    def _check_part(self, data: Rows) -> None:
        """Raise ValueError for features and grades whose squares or powers overflow in sums."""
        name = type(self).__name__
        check_size(name, float(data.largest(largest_size(data.X))), _LARGEST_FEATURE)
        highest = data.largest(float(np.max(data.y, initial=-np.inf)))
        check_grades(self.loss, highest, name)

    # Learning ------------------------------------------------------------------------

    def _fit(self, data: Rows) -> dict[str, Any]:
        threads = ThreadPool(self.n_jobs, data.X.shape[0] * data.X.shape[1])
        # Blocks are too short for several BLAS threads: they would spend their time waiting.
        with one_blas_thread(), threads.running():
            fitted = self._solve(data, *self._make_function(data, threads))
        return {**fitted, **self._collect(data, fitted["coef_"])}

    def _collect(self, data: Rows, coefficients: Floats) -> dict[str, Any]:
        """Return the fitted attributes that scoring needs."""
        fitted = {"coef_": coefficients, **mean_attributes(coefficients, moments_of(data))}
        if self.relevance == "binary":
            fitted["offset_"] = _offset(data, coefficients)
        return fitted

    def _make_function(self, data: Rows, threads: ThreadPool) -> tuple[Any, BlockwiseObjective]:
        """Return X in fit order, and the mean loss as a function of w."""
        queries = Queries.from_codes(data.qid, data.X.shape[0])
        X, y, weight = map(queries.sort, (data.X, data.y.astype(np.float64), data.weight))
        loss = as_listwise_loss(self.loss, float(self.sigma))
        objective = ListLoss(queries, loss, y, weight, data)
        return X, BlockwiseObjective(objective, LinearModel(X), threads)

    def _solve(self, data: Rows, X: Any, objective: BlockwiseObjective) -> dict[str, Any]:
        """Return the coefficients that the solver finds."""
        solver = self.solver_in_use
        unit = "pass" if solver.traits.is_online else "iteration"

        def attributes_now() -> dict[str, Any]:
            return self._collect(data, follower.x)

        follower = Follower(self._make_observer(data, unit, self.max_iter, attributes_now))
        problem = self._make_problem(data, X, objective, follower, self.warm_start)
        solution = solver.solve(problem)
        if solution.message not in ("", STOPPED):
            warn(
                f"{type(self).__name__} with solver={self.solver!r} stopped before "
                f"tol={self.tol:g} was reached: {solution.message}. Raise max_iter="
                f"{self.max_iter}, raise alpha, or bring the features to similar ranges.",
                ConvergenceWarning,
            )
        curve = np.array(solution.values)
        fitted = {"coef_": solution.x, "objective_curve_": curve, "n_iter_": solution.n_iter}
        return {**fitted, **_online_state(problem.descent)}

    def _make_problem(
        self, data: Rows, X: Any, objective: BlockwiseObjective, hook: IterateHook, continued: bool
    ) -> ListProblem:
        """Return the problem, which starts at the coefficients of the last fit if `continued`."""
        continued = continued and hasattr(self, "coef_")
        start = np.array(self.coef_) if continued else np.zeros(X.shape[1])
        radius = np.inf if self.max_norm is None else float(self.max_norm)
        problem = ListProblem(
            objective,
            REGULARISERS[self.penalty](float(self.alpha) if self.penalty else 0.0, radius),
            start,
            self.max_iter,
            float(self.tol),
            hook,
            scale=float(self.sigma),
            random_state=self.random_state,
            rows=data,
        )
        if self.solver_in_use.traits.is_online:
            problem.descent = self._open_descent(start, continued)
            problem.rate = self._make_rate(X, objective.n_queries * self.max_iter)
        return problem

    def _fit_part(self, data: Rows) -> dict[str, Any]:
        """Take one step for each query of a call of `partial_fit`."""
        X, objective = self._make_function(data, ThreadPool(1))
        problem = self._make_problem(data, X, objective, no_hook, continued=True)
        solver: Any = self.solver_in_use
        coefficients, value = solver.take_pass(problem, np.arange(objective.n_queries))
        curve = self._extended_curve(value)
        fitted = {"coef_": coefficients, "n_iter_": len(curve["objective_curve_"]), **curve}
        fitted |= _online_state(problem.descent)
        fitted |= mean_attributes(coefficients, self._moments_so_far(data))
        return fitted | self._offset_of_part(data, lambda: _offset(data, coefficients))

    def _open_descent(self, start: Floats, continued: bool) -> OnlineDescent:
        """Return the descent of the last fit if `continued`, else a new one at `start`."""
        if continued and hasattr(self, "_descent_"):
            coefficients, total = self._descent_
            return OnlineDescent(coefficients, total, self.t_)
        return OnlineDescent(start, np.zeros_like(start))

    def _make_rate(self, X: Any, n_steps: int) -> Callable[[int], float]:
        """Return eta_t as a function of t; "auto" is the constant of Tewari2015, Theorem 5."""
        if self.eta0 != "auto":
            eta0, theta = float(self.eta0), float(self.theta)
            return lambda t: eta0 / t**theta
        row_norm = float(np.sqrt(np.max(LinearModel(X).square_norms())))
        if row_norm == 0:
            return lambda t: 0.0
        from sklearn_rank.theory import ogd_step

        step = ogd_step(n_steps, max_norm=float(self.max_norm or 0), row_norm=row_norm)
        return lambda t: step

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        return np.asarray(X @ self.coef_)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: sparse features are allowed, missing values are not."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
