"""What boosted trees take for ``"auto"``: the loss of some rows, and penalties in its unit."""

from __future__ import annotations

from typing import Any

from sklearn_rank.estimators._tree_fit import TreeProblem
from sklearn_rank.rows import Rows

AUTO = "auto"

UNITS = {"reg_lambda": 4.0, "min_child_weight": 0.0}
"""The multiples of `PosedObjective.unit` that "auto" is, with every loss."""


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the rows."""
    return isinstance(value, str) and value == AUTO


def loss_of(given: Any, push: str, rows: Rows) -> Any:
    """Return the loss to minimise: in one list the exponential one, within queries the logistic."""
    if not is_auto(given):
        return given
    return "exponential" if rows.qid is None or push == "ir" else "logistic"


def penalties_of(ranker: Any, problem: TreeProblem) -> dict[str, float | None]:
    """Return `reg_lambda` and `min_child_weight` as numbers; None is the engine's default.

    So is "auto" where the objective is the engine's own: its curvatures are not known here.
    """
    found = {}
    for name, multiple in UNITS.items():
        value = getattr(ranker, name)
        if is_auto(value):
            value = None if problem.objective is None else multiple * problem.unit
        found[name] = None if value is None else float(value)
    return found
