"""Conventions, and the interfaces by which the parts of an estimator meet.

Conventions
-----------
- The margin of a pair is ``m = f_i - f_k`` for i above k; larger is better.
- Objectives are minimised, and a gradient is plus the derivative with respect to the scores.
- A weight is a multiplicity: weight 2 is the row twice, weight 0 is the row gone.
- Inside a fit, arrays over rows are in *fit order*: the order in which the objective was
  posed (`Preferences.order`, `Queries.order`). A model is given that order once, with
  the rows of X as the caller passed them; nothing else converts.
- An estimator is an objective, a model and a solver. An objective is a function of scores
  and never sees X. A model maps coefficients to scores and gradients back. A solver moves
  the coefficients. Siblings never import each other: they meet inside an estimator.
- An optional ability is a method that only some parts have. Its caller gets it from `require`,
  whose error names the part and the missing method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from sklearn_rank._core.arrays import Codes, Floats, Indices, Mask, Matrix, Values, require
from sklearn_rank._core.rows import FitRows

if TYPE_CHECKING:
    from sklearn_rank._core.parallel import ThreadPool

__all__ = ["Codes", "Floats", "Indices", "Mask", "Values", "require"]  # for other modules


# Objectives --------------------------------------------------------------------------------


class Objective(Protocol):
    """A function of the scores of rows in fit order.

    Further methods are abilities that some objectives have:

    - ``value_gradient_curvature(scores)``: also the diagonal of the Hessian, or the bound
      of it that the class states;
    - ``slope(scores, h)``: the derivative of ``value(scores + a * h)`` as a function of a;
    - ``pair_shares(scores, h)``: `PairShares` of a 0/1 weak ranker h, or None where the
      closed-form step does not apply;
    - ``state(scores, ...)``: an `ObjectiveState` that is moved in place;
    - ``rounded(width)``: a smooth objective at most ``width / 2`` below this one;
    - ``smooth_path()``: smooth objectives that approach this one;
    - ``blocks`` and ``by_block(block, scores)``: value and gradient of a block of whole
      queries, for models that read X once for both.
    """

    def value(self, scores: Floats) -> float:
        """Return the objective."""

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient with respect to the scores."""


@dataclass(frozen=True)
class PairShares:
    """The shares of the mass d~ (Rudin2009, Figure 2) that a 0/1 weak ranker h orders or ties.

    Attributes
    ----------
    right, wrong, tied : float
        Share of the pairs with ``h_i - h_k`` equal to +1, -1 and 0 (d+, d-, d0).
    """

    right: float
    wrong: float
    tied: float

    def flipped(self) -> PairShares:
        """Return the shares of the weak ranker -h."""
        return PairShares(self.wrong, self.right, self.tied)


@dataclass(frozen=True, eq=False)
class RowGradient:
    """A gradient with respect to the scores: one signed group, or the two sides of one list.

    Attributes
    ----------
    data : ndarray of shape (n_rows,)
        With one group the gradient. With two groups positive numbers: divided by the sum
        of its group, minus the gradient of the rows above and plus that of those below.
    pointer : ndarray of shape (n_groups + 1,)
        ``data[pointer[g]:pointer[g + 1]]`` is group g: ``[0, n]`` for one signed group,
        ``[0, n_above, n]`` for the rows above and the rows below.
    curvature : ndarray of shape (n_rows,) or None
        With one group, the c of `Objective.value_gradient_curvature`, where it is known.
    """

    data: Floats
    pointer: Indices
    curvature: Floats | None = None

    @classmethod
    def signed(cls, gradient: Floats, curvature: Floats | None = None) -> RowGradient:
        """Return a gradient as one group."""
        return cls(gradient, np.array([0, len(gradient)]), curvature)


class ObjectiveState(Protocol):
    """An objective together with the current scores: what coordinate descent moves.

    A state may have ``with_masses(candidate, h)``, which returns the candidate with the sums that
    `slope` and `advance` both need.
    """

    needs_refresh: bool
    """Whether rounding errors add up over the rounds, until `refresh`."""

    @property
    def value(self) -> float:
        """The objective at the current scores."""

    @property
    def gradient(self) -> RowGradient:
        """Its gradient at the current scores."""

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares | None:
        """Return d+, d-, d0 if the closed-form step applies to h, else None."""

    def curvature(self, candidate: Candidate, h: Values) -> float | None:
        """Return a bound on the second derivative along h, or None if none is known."""

    def slope(self, candidate: Candidate, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``objective(f + a * h)`` as a function of a."""

    def advance(self, candidate: Candidate, h: Values, step: float) -> float:
        """Move the scores by ``step * h``, or less; return the step taken."""

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`."""

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""


# Models ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidate:
    """A weak ranker that a search has chosen.

    Attributes
    ----------
    index : int
        Its coordinate in the model (one coefficient each).
    edge : float
        Minus the derivative of the objective along h.
    one, zero : ndarray of shape (n_groups,) or None
        Sum of the gradient's data, in each group, where h is 1 and where it is 0; None
        when h is not 0/1.
    curvature : float or None
        Bound of the second derivative of the objective along h, where the search found it.
    masses : tuple of two ndarrays or None
        Sums of all masses of the state where h is 1 and where it is 0, if the state has more
        masses than its gradient (`with_masses`).
    """

    index: int
    edge: float
    one: Floats | None = None
    zero: Floats | None = None
    curvature: float | None = None
    masses: tuple[Floats, Floats] | None = None


Limits = tuple[Floats, Floats] | None
"""The smallest step (at most zero) and the largest (at least zero) along each weak ranker."""


class Gain(Protocol):
    """The quantity that a search maximises."""

    def __call__(
        self, above: Floats, totals: Floats, curvature: Floats | None = None, limits: Limits = None
    ) -> Floats:
        """Return the gain of each weak ranker, zero where no step is allowed.

        Parameters
        ----------
        above : ndarray of shape (n_groups, ...)
            Sums of the gradient times each h.
        totals : ndarray of shape (n_groups,)
            Sums of the gradient.
        curvature : ndarray of shape (...) or None
            Bounds of the second derivatives along each h, where they are known.
        limits : tuple of two ndarrays or None
            The steps along each h, where not all are allowed.
        """


class Rules(Protocol):
    """Fitted weak rankers, ready to be applied to new rows.

    Further methods are abilities that some rules have:

    - ``coefficients(weights, n_features)`` of a linear model, which becomes `coef_`;
    - ``feature``, the column that each looks at, or ``importances(credit, n_features)``, the
      credit of each feature given that of each rule, None if unknown: they become
      `feature_importances_`;
    - ``contributions(X, weights, n_features)`` where each rule is a function of a single
      feature: an array of shape (n_samples, n_features) whose column j is the sum of the
      rules on feature j, and whose rows sum to `scores`. Rankers then have
      `contributions`, which subtracts the mean over the training rows;
    - ``step_functions(weights)`` where these functions are constant on bins: a list of
      `StepFunction`, one for each feature that has rules.
    """

    def scores(self, X: Matrix, weights: Floats, threads: ThreadPool) -> Floats:
        """Return ``sum_t weights[t] * h_t(x)`` for each row of X."""

    def staged_scores(self, X: Matrix, weights: Floats) -> Iterator[Floats]:
        """Yield the scores after each rule."""

    def equal(self, other: object) -> bool:
        """Whether these are the same weak rankers in the same order."""


class WeakRankers(Protocol):
    """Weak rankers on the training rows: columns h of a matrix H that is never built.

    Further methods are abilities that some models have:

    - ``is_two_sided``: True where `search` takes gradients in two groups, and gives
      candidates with `one` and `zero`;
    - ``sums_curvature``: True if `search` passes bounds on the second derivatives to `gain`,
      computed from `RowGradient.curvature`;
    - ``n_coordinates``, ``scores(coefficients)`` (``H @ coefficients``) and
      ``pull_back(gradient)`` (``H.T @ gradient``), for solvers that move all coefficients;
    - ``step_limits(candidate)``, the smallest and the largest step along a weak ranker, and
      ``take(candidate, step)``, called after every step (with a warm start, the earlier ones
      too): for constraints that depend on the coefficients so far;
    - ``search(gradient, gain, excluded)``, which leaves out some coordinates, for solvers that
      choose each weak ranker once;
    - ``at_rows(rows, weight)``: the same weak rankers on some of the rows, for bags;
    - ``mean_contributions(indices, weights)``: the weighted mean over the training rows of
      `contributions` of the rules of these coordinates, without a pass over the rows for each
      feature.
    """

    def search(self, gradient: RowGradient, gain: Gain) -> Candidate | None:
        """Return the weak ranker with the largest gain, or None when none has an edge."""

    def values(self, candidate: Candidate) -> Values:
        """Return h on the training rows, in fit order."""

    def rules(self, indices: Indices) -> Rules:
        """Return the weak rankers of given coordinates, ready to be applied to new rows."""


class Model(Protocol):
    """A family of weak rankers, which ``weak_ranker`` takes besides names and estimators.

    A fit does not change it, as it is a parameter of an estimator: `on_rows` returns a new object.
    """

    name: str
    """Its name in messages; a warm start continues only a model of the same name."""

    allow_nan: bool
    """Whether X may have missing values."""

    sparse: bool
    """Whether X may be a sparse matrix."""

    def on_rows(self, rows: FitRows) -> WeakRankers:
        """Return the weak rankers on the training rows."""


class LinearScores(Protocol):
    """Columns h of a matrix H, as a linear map of coefficients to scores."""

    def scores(self, coefficients: Floats) -> Floats:
        """Return ``H @ coefficients``, in fit order."""

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient with respect to the coefficients, ``H.T @ gradient``."""


class FunctionSpace(Protocol):
    """A Hilbert space of scoring functions: a model whose inner product a solver uses.

    An element is an array of two rows, coefficients c and their dual d, such that the
    inner product of two elements is ``c @ other_d``.
    """

    def element(self, coefficients: Floats) -> Floats:
        """Return the element with some coefficients."""

    def element_scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows."""

    def representer(self, gradient: Floats) -> Floats:
        """Return the gradient in the space as an element, given that with respect to the scores."""

    def square_norms(self) -> Floats:
        """Return the kernel of each training row with itself."""


class RowView(Protocol):
    """A function space restricted to a few training rows; functions are coefficients."""

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the rows."""

    def add_representer(self, coefficients: Floats, gradient: Floats) -> None:
        """Add the representer of a gradient with respect to these scores to `coefficients`."""

    def square(self, gradient: Floats) -> float:
        """Return the squared norm of that representer."""


class RowSpace(FunctionSpace, Protocol):
    """A function space with views of a few rows."""

    def at_rows(self, rows: Indices) -> RowView:
        """Return the view of some training rows."""


# Solvers -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a solver: coefficients, and how they were found.

    Attributes
    ----------
    x : ndarray
        The coefficients; in a function space an element.
    values : list of float
        The objective after each iteration.
    n_iter : int
        Number of iterations.
    message : str
        Why the solver ended before its tolerance was reached; empty when it was reached.
    residual : float
        Distance from meeting the conditions of a minimum, where the solver knows it.
    average : ndarray or None
        The averaged iterate, if the solver has one.
    credit : ndarray or None
        Decrease of the objective credited to each coefficient, where the solver knows it.
    """

    x: Floats
    values: Sequence[float]
    n_iter: int
    message: str = ""
    residual: float = np.nan
    average: Floats | None = None
    credit: Floats | None = None


IterateHook = Callable[[Floats, list[float]], bool]
"""A function that a solver calls after each iteration, with the iterate and the objectives so far.

Returns True to end the fit there. `sklearn_rank._core.callbacks.Follower` passes it on to an
`Observer`.
"""


class Observer(Protocol):
    """An observer of every iteration of a fit: printed lines, progress bars, callbacks."""

    def __call__(self, iteration: int, objective: float, val_score: float | None = None) -> bool:
        """Observe an iteration, counted from 1; return True to end the fit after it."""
