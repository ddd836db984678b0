"""Solvers: optimisers of functions of coefficients, which know no estimator."""

from sklearn_rank.solvers._messages import DIVERGED, INDEFINITE, OUT_OF_ITERATIONS, STOPPED
from sklearn_rank.solvers._regularisers import REGULARISERS, Regulariser
from sklearn_rank.solvers._solver import BoostingSolver, Solver, SolverChoice
from sklearn_rank.solvers.coordinate_descent import (
    Coordinate,
    OptimalGain,
    PushStep,
    QuadraticGain,
    Round,
    smooth_margin_root,
    steepest,
)
from sklearn_rank.solvers.corrective import Corrective
from sklearn_rank.solvers.function_space import (
    FunctionSpaceLBFGS,
    GradientDescent,
    KernelSolver,
)
from sklearn_rank.solvers.lbfgs_path import LBFGS
from sklearn_rank.solvers.list_solvers import (
    LinearSolver,
    OnlineDescent,
    OnlineGradientDescent,
    RegularisedLBFGS,
)

__all__ = [
    "BOOSTING_SOLVERS",
    "DIVERGED",
    "INDEFINITE",
    "KERNEL_SOLVERS",
    "LBFGS",
    "LINEAR_SOLVERS",
    "OUT_OF_ITERATIONS",
    "REGULARISERS",
    "SOLVERS",
    "STOPPED",
    "BoostingSolver",
    "Coordinate",
    "Corrective",
    "FunctionSpaceLBFGS",
    "GradientDescent",
    "KernelSolver",
    "LinearSolver",
    "OnlineDescent",
    "OnlineGradientDescent",
    "OptimalGain",
    "PushStep",
    "QuadraticGain",
    "RegularisedLBFGS",
    "Regulariser",
    "Round",
    "Solver",
    "SolverChoice",
    "smooth_margin_root",
    "steepest",
]

BOOSTING_SOLVERS = SolverChoice(
    {"coordinate": Coordinate, "corrective": Corrective, "lbfgs": LBFGS}, BoostingSolver
)
"""What `solver` of PNormPushRanker may be."""

KERNEL_SOLVERS = SolverChoice(
    {"gd": GradientDescent, "lbfgs": FunctionSpaceLBFGS}, KernelSolver, other=("auto",)
)
"""What `solver` of KernelPairwiseSGDRanker may be; "auto" is one of the two."""

LINEAR_SOLVERS = SolverChoice(
    {"lbfgs": RegularisedLBFGS, "ogd": OnlineGradientDescent}, LinearSolver
)
"""What `solver` of ListNetLinear may be."""

SOLVERS = {
    "boosting": BOOSTING_SOLVERS.named,
    "kernel": KERNEL_SOLVERS.named,
    "linear": LINEAR_SOLVERS.named,
}
"""The solvers by name, for each kind of problem."""
