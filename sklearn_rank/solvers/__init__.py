"""Solvers: optimisers of functions of coefficients, which know no estimator."""

from sklearn_rank.solvers._composition import BlockwiseObjective, CoefficientObjective
from sklearn_rank.solvers._function_space_descent import gradient_descent, stochastic_descent
from sklearn_rank.solvers._function_space_lbfgs import function_space_lbfgs
from sklearn_rank.solvers._lbfgs import minimise
from sklearn_rank.solvers._line_search import smooth_margin_root
from sklearn_rank.solvers._messages import DIVERGED, INDEFINITE, OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers._online import OnlineDescent
from sklearn_rank.solvers._regularised import minimise_regularised
from sklearn_rank.solvers._regularisers import REGULARISERS, Regulariser
from sklearn_rank.solvers._solver import BoostingSolver, Solver, SolverChoice
from sklearn_rank.solvers.coordinate_descent import (
    Coefficients,
    Coordinate,
    OptimalGain,
    PushStep,
    QuadraticGain,
    Round,
    SmoothMarginStep,
    steepest,
)
from sklearn_rank.solvers.corrective import Corrective
from sklearn_rank.solvers.lbfgs_path import LBFGS

__all__ = [
    "BOOSTING_SOLVERS",
    "DIVERGED",
    "INDEFINITE",
    "LBFGS",
    "OUT_OF_ITERATIONS",
    "REGULARISERS",
    "SOLVERS",
    "STOPPED",
    "BlockwiseObjective",
    "BoostingSolver",
    "CoefficientObjective",
    "Coefficients",
    "Coordinate",
    "Corrective",
    "OnlineDescent",
    "OptimalGain",
    "PushStep",
    "QuadraticGain",
    "Regulariser",
    "Round",
    "SmoothMarginStep",
    "Solver",
    "SolverChoice",
    "function_space_lbfgs",
    "gradient_descent",
    "minimise",
    "minimise_regularised",
    "smooth_margin_root",
    "steepest",
    "stochastic_descent",
]

BOOSTING_SOLVERS = SolverChoice(
    {"coordinate": Coordinate, "corrective": Corrective, "lbfgs": LBFGS}, BoostingSolver
)
"""What `solver` of PNormPushRanker may be."""

SOLVERS = {"boosting": BOOSTING_SOLVERS.named}
"""The solvers by name, for each kind of problem."""
