"""Solvers: optimisers that know neither features nor estimators."""

from sklearn_rank.solvers._coordinate_descent import (
    Ledger,
    OptimalGain,
    PushStep,
    Round,
    SmoothMarginStep,
    coordinate_descent,
    steepest,
)
from sklearn_rank.solvers._functional_gd import (
    DIVERGED,
    INDEFINITE,
    OUT_OF_ITERATIONS,
    Descended,
    gradient_descent,
    stochastic_descent,
)
from sklearn_rank.solvers._functional_lbfgs import Found, functional_lbfgs
from sklearn_rank.solvers._lbfgs import Minimum, minimise
from sklearn_rank.solvers._online import OnlineDescent
from sklearn_rank.solvers._regularised import RegularisedMinimum, minimise_regularised
from sklearn_rank.solvers._regularisers import REGULARISERS, Regulariser

__all__ = [
    "DIVERGED",
    "INDEFINITE",
    "OUT_OF_ITERATIONS",
    "REGULARISERS",
    "Descended",
    "Found",
    "Ledger",
    "Minimum",
    "OnlineDescent",
    "OptimalGain",
    "PushStep",
    "RegularisedMinimum",
    "Regulariser",
    "Round",
    "SmoothMarginStep",
    "coordinate_descent",
    "functional_lbfgs",
    "gradient_descent",
    "minimise",
    "minimise_regularised",
    "steepest",
    "stochastic_descent",
]
