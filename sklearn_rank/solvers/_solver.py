"""What `solver` of a ranker takes, and the contract between a solver and a boosting fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Protocol

from sklearn.base import BaseEstimator

from sklearn_rank._core.arrays import Floats, Indices, Values
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Candidate, Gain, Objective, ObjectiveState, WeakRankers

OUT_OF_ITERATIONS = "max_iter was reached before tol"
DIVERGED = "the steps diverge"
INDEFINITE = "the kernel is not positive semi-definite"
NO_STEP = "no step lowers the objective"
STOPPED = "an observer ended the fit"


@dataclass(frozen=True)
class SolverTraits:
    """What a solver needs and what it offers.

    Attributes
    ----------
    on_cluster : bool
        Whether it finds the same model on several processes, each with some of the rows.
    needs_smooth : bool
        Whether it needs a differentiable objective. Kinks are then smoothed.
    has_stages : bool
        Whether each iteration is a step of one coefficient, so that there is a model after
        each: `staged_predict`, `n_iter_no_change`, `X_val`.
    fits_bags : bool
        Whether it supports `n_bags`.
    has_ridge : bool
        Whether it supports `alpha`.
    has_learning_rate : bool
        Whether it supports a `learning_rate` below 1.
    has_selection : bool
        Whether it supports ``selection="optimal"``: it searches with the gain of the problem.
    has_path : bool
        Whether it supports ``p=inf``, an objective known only as the limit of smooth ones.
    needs_stumps : bool
        Whether it needs 0/1 weak rankers and a search that can exclude coordinates.
    moves_all : bool
        Whether it moves the coefficients of all weak rankers at once, which must be known
        beforehand. Stumps then have no constraints.
    has_steps : bool
        Whether it supports `eta0`, `theta`, `batch_size` and `average` (kernel rankers).
    is_online : bool
        Whether it takes one step per query (linear rankers), which enables `eta0` and `partial_fit`
        and requires ``take_pass(problem, order)``.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["boosting"].items() if solver.traits.has_stages]
    ['coordinate']
    """

    on_cluster: bool = False
    needs_smooth: bool = False
    has_stages: bool = False
    fits_bags: bool = False
    has_ridge: bool = False
    has_learning_rate: bool = False
    has_selection: bool = False
    has_path: bool = False
    needs_stumps: bool = False
    moves_all: bool = False
    has_steps: bool = False
    is_online: bool = False


@dataclass(frozen=True, eq=False)
class Round:
    """A round of boosting: a step of one coefficient.

    Attributes
    ----------
    index : int
        Coordinate of the weak ranker.
    step : float
        The change of its coefficient.
    decrease : float
        The decrease of the objective.
    h : ndarray of shape (n_rows,)
        The weak ranker on the training rows, in fit order.

    Examples
    --------
    >>> from sklearn_rank.solvers import Round
    >>> Round(index=3, step=0.5, decrease=0.1, h=[True, False]).step
    0.5
    """

    index: int
    step: float
    decrease: float
    h: Values


StepRule = Callable[[ObjectiveState, Candidate, Values], float]
"""Returns the signed step along a weak ranker."""


class Problem(Protocol):
    """What a `BoostingSolver` minimises: an objective of scores ``H @ w``, with a ridge."""

    @property
    def weak_rankers(self) -> WeakRankers:
        """The columns of H: the values of the weak rankers on the training rows."""

    @property
    def preferences(self) -> Preferences:
        """The comparable pairs of the training rows, and sums over all processes."""

    @property
    def objective(self) -> Objective:
        """The objective, of scores in the order of the preferences."""

    @property
    def gain(self) -> Gain:
        """The quantity that a search maximises."""

    @property
    def alpha(self) -> float:
        """Strength of the ridge."""

    @property
    def tol(self) -> float:
        """Relative decrease of the objective at which a fit ends; with 0, it never does."""

    @property
    def longest_step(self) -> float:
        """The largest absolute step of boosting along a 0/1 weak ranker."""

    @property
    def owner(self) -> str:
        """Class of the ranker, for messages."""

    def state(self, scores: Floats) -> ObjectiveState:
        """Return the objective at some scores."""

    def search(self, state: ObjectiveState) -> Candidate | None:
        """Return the weak ranker with the largest gain at a state; None if none has an edge."""

    def at(self, preferences: Preferences) -> Problem:
        """Return the same problem on other rows."""


class Record(Protocol):
    """What a `BoostingSolver` reports to. `add` and `replace` return True to end the fit."""

    @property
    def objective(self) -> list[float]:
        """The objective after each iteration so far; a solver may correct these values."""

    @property
    def n_iterations(self) -> int:
        """Maximum number of iterations."""

    @property
    def n_left(self) -> int:
        """Number of remaining iterations."""

    def model(self) -> tuple[list[int], Floats, Floats]:
        """Return the model so far: coordinates, steps or coefficients, and credit."""

    def scores(self) -> Floats:
        """Return the scores of the training rows by the model so far, in fit order."""

    def step(self, state: ObjectiveState, candidate: Candidate, h: Values) -> tuple[float, bool]:
        """Return the boosting step along h, and whether constraints have shortened it."""

    def add(self, last_round: Round, state: ObjectiveState) -> bool:
        """Take a step of one coefficient."""

    def replace(
        self, coordinates: Indices, coefficients: Floats, credit: Floats, value: float | None = None
    ) -> bool:
        """Replace the whole model; with an objective `value`, this ends an iteration.

        `credit` is the decrease of the objective that each weak ranker brought.
        """


class Solver(BaseEstimator, ABC):
    """Base class of the solvers.

    Searches can change the parameters of ``__init__``, for example as ``solver__share``.

    Attributes
    ----------
    traits : SolverTraits
        What the solver needs and offers; a class attribute.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> list(SOLVERS["boosting"])
    ['coordinate', 'corrective', 'lbfgs']
    """

    traits: ClassVar[SolverTraits] = SolverTraits()


class BoostingSolver(Solver):
    """Base class of solvers that find the coefficients of weak rankers, as boosting does.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["boosting"].items() if solver.traits.has_ridge]
    ['corrective', 'lbfgs']
    """

    @abstractmethod
    def solve(self, problem: Problem, record: Record) -> None:
        """Find the coefficients, and report each iteration.

        Parameters
        ----------
        problem : Problem
            The objective and the weak rankers.
        record : Record
            The model so far, which the solver extends.
        """
