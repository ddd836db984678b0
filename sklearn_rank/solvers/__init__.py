"""Solvers: optimisers of functions of coefficients, which know no estimator."""

from sklearn_rank.solvers._cell_objectives import PosedCells
from sklearn_rank.solvers._composition import BlockwiseObjective, CoefficientObjective
from sklearn_rank.solvers._coordinate_descent import (
    Coefficients,
    OptimalGain,
    PushStep,
    QuadraticGain,
    Round,
    SmoothMarginStep,
    coordinate_descent,
    steepest,
)
from sklearn_rank.solvers._corrective import CorrectiveDescent
from sklearn_rank.solvers._function_space_descent import gradient_descent, stochastic_descent
from sklearn_rank.solvers._function_space_lbfgs import function_space_lbfgs
from sklearn_rank.solvers._lbfgs import minimise
from sklearn_rank.solvers._line_search import smooth_margin_root
from sklearn_rank.solvers._messages import DIVERGED, INDEFINITE, OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers._online import OnlineDescent
from sklearn_rank.solvers._regularised import minimise_regularised
from sklearn_rank.solvers._regularisers import REGULARISERS, Regulariser
from sklearn_rank.solvers._smooth_path import minimise_along

__all__ = [
    "DIVERGED",
    "INDEFINITE",
    "OUT_OF_ITERATIONS",
    "REGULARISERS",
    "STOPPED",
    "BlockwiseObjective",
    "CoefficientObjective",
    "Coefficients",
    "CorrectiveDescent",
    "OnlineDescent",
    "OptimalGain",
    "PosedCells",
    "PushStep",
    "QuadraticGain",
    "Regulariser",
    "Round",
    "SmoothMarginStep",
    "coordinate_descent",
    "function_space_lbfgs",
    "gradient_descent",
    "minimise",
    "minimise_along",
    "minimise_regularised",
    "smooth_margin_root",
    "steepest",
    "stochastic_descent",
]
