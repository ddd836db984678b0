"""How a round chooses its weak ranker."""

from __future__ import annotations

from typing import Any

from sklearn_rank._protocols import Gain
from sklearn_rank.estimators._rounds import Problem
from sklearn_rank.objectives import SidePush
from sklearn_rank.solvers import OptimalGain, steepest

SELECTIONS = ("steepest", "optimal")


def make_gain(ranker: Any, problem: Problem, p: float) -> Gain:
    """Return what the `selection` parameter of a ranker maximises."""
    if ranker.selection == "steepest":
        return steepest
    objective = problem.objective
    if (
        ranker.weak_ranker == "stump"
        and isinstance(objective, SidePush)
        and objective.side == "top"
        and problem.preferences.is_bipartite_list
    ):
        return OptimalGain(p, problem.smoothing)
    raise ValueError(
        f"selection='optimal' of {type(ranker).__name__} is for weak_ranker='stump' and "
        "one list with two levels of relevance, pushed at the top: elsewhere the decrease "
        "of every weak ranker would need a table for each query. Use selection='steepest'."
    )
