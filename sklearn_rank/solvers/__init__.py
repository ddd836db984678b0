"""Solvers: optimisers that know neither features nor estimators."""

from sklearn_rank.solvers._boosting import (
    Ledger,
    OptimalGain,
    PushStep,
    Round,
    SmoothMarginStep,
    coordinate_descent,
    steepest,
)
from sklearn_rank.solvers._lbfgs import Minimum, minimise

__all__ = [
    "Ledger",
    "Minimum",
    "OptimalGain",
    "PushStep",
    "Round",
    "SmoothMarginStep",
    "coordinate_descent",
    "minimise",
    "steepest",
]
