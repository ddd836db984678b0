"""What boosted trees take for ``"auto"``: the loss, and penalties in its unit of curvature."""

from __future__ import annotations

from typing import Any

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank.estimators._tree_fit import TreeProblem

AUTO = "auto"

RIDGE = {"logistic": 2.0}
OTHER_RIDGE = 4.0
"""`reg_lambda` in units of curvature, of these losses and of all others. With the logistic loss a
first step is twice as long, and it is the loss itself that shrinks the later ones."""


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the ranker."""
    return isinstance(value, str) and value == AUTO


def loss_of(given: Any, push: str) -> Any:
    """Return the loss to minimise; "auto" is the logistic one wherever the push takes it."""
    if not is_auto(given):
        return given
    return "exponential" if push == "ir" else "logistic"


def units_of(loss: Any, has_sets: bool = False) -> dict[str, float]:
    """Return the multiples of `PosedObjective.unit` that "auto" is.

    The best set of many categories fits the noise of its rows: a leaf then needs one of the rarer
    class, or as much curvature.
    """
    ridge = RIDGE.get(loss, OTHER_RIDGE) if isinstance(loss, str) else OTHER_RIDGE
    return {"reg_lambda": ridge, "min_child_weight": float(has_sets)}


def smoothing_of(ranker: Any, problem: TreeProblem) -> float:
    """Return the curvature added to that of each category where LightGBM sorts them.

    It leaves out categories of fewer rows than that; equal rows, which are one row here, make
    them fewer, and the smoothing smaller.
    """
    rows = problem.data
    if problem.objective is None or ranker.category_codes_ is None:
        return 1.0
    return 8 * problem.unit * len(rows.y) / number_of_rows(rows.weight, rows)


def penalties_of(ranker: Any, problem: TreeProblem) -> dict[str, float | None]:
    """Return `reg_lambda` and `min_child_weight` as numbers; None is the engine's default.

    So is "auto" where the objective is the engine's own: its curvatures are not known here.
    """
    levels = [] if ranker.category_codes_ is None else ranker.category_codes_.categories.values()
    # Both engines split fewer categories one by one: no set of them is chosen.
    found, has_sets = {}, any(len(one) >= 4 for one in levels)
    for name, multiple in units_of(loss_of(ranker.loss, ranker.push), has_sets).items():
        value = getattr(ranker, name)
        if is_auto(value):
            value = None if problem.objective is None else multiple and multiple * problem.unit
        found[name] = None if value is None else float(value)
    return found
