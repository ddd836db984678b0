"""Solvers: optimisers of functions of coefficients, independent of estimators."""

from sklearn_rank._core.validation import KindChoice
from sklearn_rank.solvers._lbfgs import LBFGS
from sklearn_rank.solvers._solver import BoostingSolver, Round, Solver, SolverTraits
from sklearn_rank.solvers.coordinate_descent import Coordinate
from sklearn_rank.solvers.corrective import Corrective
from sklearn_rank.solvers.function_space import FunctionSpaceLBFGS, GradientDescent, KernelSolver
from sklearn_rank.solvers.list_solvers import LinearSolver, OnlineGradientDescent, RegularisedLBFGS

__all__ = [
    "BOOSTING_SOLVERS",
    "KERNEL_SOLVERS",
    "LBFGS",
    "LINEAR_SOLVERS",
    "SOLVERS",
    "BoostingSolver",
    "Coordinate",
    "Corrective",
    "FunctionSpaceLBFGS",
    "GradientDescent",
    "KernelSolver",
    "LinearSolver",
    "OnlineGradientDescent",
    "RegularisedLBFGS",
    "Round",
    "Solver",
    "SolverTraits",
]

BOOSTING_SOLVERS = KindChoice(
    {"coordinate": Coordinate, "corrective": Corrective, "lbfgs": LBFGS}, BoostingSolver
)
"""What `solver` of PNormPushRanker may be."""

KERNEL_SOLVERS = KindChoice(
    {"gd": GradientDescent, "lbfgs": FunctionSpaceLBFGS}, KernelSolver, other=("auto",)
)
"""What `solver` of KernelPairwiseSGDRanker may be; "auto" is one of the two."""

LINEAR_SOLVERS = KindChoice({"lbfgs": RegularisedLBFGS, "ogd": OnlineGradientDescent}, LinearSolver)
"""What `solver` of ListNetLinear may be."""

SOLVERS = {
    "boosting": BOOSTING_SOLVERS.named,
    "kernel": KERNEL_SOLVERS.named,
    "linear": LINEAR_SOLVERS.named,
}
"""The solvers by name, for each kind of problem."""
