"""What `solver` of a ranker takes: names, and objects that hold the settings of a solver."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

OUT_OF_ITERATIONS = "max_iter came before tol"
DIVERGED = "the steps diverge"
INDEFINITE = "the kernel is not positive semi-definite"
NO_STEP = "no step lowers the objective"
STOPPED = "an observer ended the fit"


class Solver(BaseEstimator, ABC):
    """Base class of the solvers: what one needs and what it offers are attributes of its class.

    The parameters of ``__init__`` are settings that searches can change: ``solver__share``.

    Attributes
    ----------
    on_cluster : bool
        Whether several processes, each with a part of the rows, find the same model with it.
    needs_smooth : bool
        Whether it needs an objective with a gradient everywhere. Kinks are then rounded.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> list(SOLVERS["boosting"])
    ['coordinate', 'corrective', 'lbfgs']
    """

    on_cluster: ClassVar[bool] = False
    needs_smooth: ClassVar[bool] = False


class BoostingSolver(Solver):
    """Base class of solvers that find the coefficients of weak rankers, as boosting does.

    Attributes
    ----------
    has_stages : bool
        Whether each iteration is a step of one coefficient, so that there is a model after
        each: `staged_predict`, `n_iter_no_change`, `X_val`.
    fits_bags : bool
        Whether it takes `n_bags`.
    has_ridge : bool
        Whether it takes `alpha`.
    has_learning_rate : bool
        Whether it takes a `learning_rate` below 1.
    has_selection : bool
        Whether it takes ``selection="optimal"``: it searches with the gain of the problem.
    has_path : bool
        Whether it takes ``p=inf``, of which only smooth objectives that approach it are known.
    needs_stumps : bool
        Whether it needs 0/1 weak rankers and a search that leaves some of them out.
    moves_all : bool
        Whether it moves the coefficients of all weak rankers at once, which must be known
        beforehand. Stumps are then free of constraints.

    Examples
    --------
    >>> from sklearn_rank.solvers import SOLVERS
    >>> [name for name, solver in SOLVERS["boosting"].items() if solver.has_stages]
    ['coordinate']
    """

    has_stages: ClassVar[bool] = False
    fits_bags: ClassVar[bool] = False
    has_ridge: ClassVar[bool] = False
    has_learning_rate: ClassVar[bool] = False
    has_selection: ClassVar[bool] = False
    has_path: ClassVar[bool] = False
    needs_stumps: ClassVar[bool] = False
    moves_all: ClassVar[bool] = False

    @abstractmethod
    def solve(self, problem: Any, record: Any) -> None:
        """Find coefficients, and tell the record of each iteration.

        Parameters
        ----------
        problem : BoostingProblem
            `weak_rankers`, `objective` and `preferences` on the training rows; `gain`, what
            a search maximises; `alpha` and `tol`; ``state(scores)``, the objective at some
            scores; ``search(state)``, the best weak ranker there; ``at(preferences)``, the
            same problem of other rows.
        record : Record
            ``scores()`` of the model so far; ``step(state, candidate, h)``, the step of
            boosting and whether constraints cut it short; `n_left`, the number of iterations
            to go; ``add(round, state)``, a step of one coefficient, and
            ``replace(coordinates, coefficients, credit, value)``, a model as a whole. Both
            return True to end the fit.
        """
