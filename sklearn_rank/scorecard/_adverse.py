"""Which end of the totals is bad, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

_BAD = "bad|default|defaulted|delinquent|(charged|written) off|not paid|fraud|fraudulent|churn"
_BAD += "|churned|failed|failure|fail|rejected|refused|declined|defective"
_GOOD = "good|paid|repaid|fully paid|(no|non) default|current|performing|(no|not) fraud|legitimate"
_GOOD += "|genuine|not churned|healthy|approved|accepted"


def adverse_end(given: str, classes: tuple[Any, Any]) -> str | None:
    """Return the bad end of the totals, "high" or "low"; None if it is unknown.

    Parameters
    ----------
    given : {"auto", "high", "low"}
        What the user says. "auto": it follows from the names of the classes, where one of them is
        a common name of a good or a bad outcome, and the other does not contradict.
    classes : tuple
        The two classes; high totals mean the second.
    """
    if given != "auto":
        return given
    lower, upper = (_side(one) for one in classes)
    if {lower, upper} == {None} or lower == upper:
        return None
    return "high" if upper == "bad" or lower == "good" else "low"


def _side(value: Any) -> str | None:
    """Return whether a class is certainly "good" or "bad"; None where it is not."""
    if not isinstance(value, str):
        return None
    words = " ".join(value.casefold().replace("_", " ").replace("-", " ").split())
    sides = (("bad", _BAD), ("good", _GOOD))
    return next((side for side, names in sides if re.fullmatch(names, words)), None)


def worst_points(
    owner: str, unseen: str, adverse: str | None
) -> Callable[[Iterable[int]], int] | None:
    """Return `max` or `min`, which of some points is the worst; None where it is not wanted."""
    if unseen != "worst":
        return None
    if adverse is None:
        raise ValueError(
            f"unseen='worst' of {owner} needs to know which end of the totals is bad, and the "
            "classes do not tell. Use adverse='high' if high totals are bad, or adverse='low'."
        )
    return max if adverse == "high" else min
