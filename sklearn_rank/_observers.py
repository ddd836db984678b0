"""What sees a fit go on: lines on the terminal, and several observers as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sklearn_rank._protocols import Floats, Observer


class Follower:
    """Passes the iterates of a solver on to an observer, and keeps the last one.

    Parameters
    ----------
    observer : Observer
        What is told of each iteration.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self.x: Any = None

    def __call__(self, x: Floats, values: list[float]) -> bool:
        """Keep the iterate and pass its number and objective on."""
        self.x = x
        return self._observer(len(values), values[-1])


@dataclass(frozen=True)
class Printer:
    """Prints a line about an iteration: what `verbose` does.

    Parameters
    ----------
    name : str
        Class of the estimator.
    unit : str
        What an iteration is called.
    total : int
        Number of iterations asked for; about ten of them are printed.
    verbose : int
        0 prints nothing, 1 the first line and ten more, 2 every line.
    shows_total : bool, default=True
        Whether the line says it: "round 3/100", else "round 3".

    Examples
    --------
    >>> from sklearn_rank._observers import Printer
    >>> printer = Printer("RankBoost", "round", total=100, verbose=1)
    >>> ended = printer(1, 0.5), printer(2, 0.4), printer(10, 0.25)
    [RankBoost] round 1/100: objective 0.5
    [RankBoost] round 10/100: objective 0.25
    """

    name: str
    unit: str
    total: int
    verbose: int
    shows_total: bool = True

    def __call__(self, number: int, objective: float, validation: float | None = None) -> bool:
        """Print the line if it is its turn; never end the fit."""
        every = 1 if self.verbose > 1 else max(1, self.total // 10)
        if self.verbose and (number % every == 0 or number == 1):
            place = f"{number}/{self.total}" if self.shows_total else f"{number}"
            print(f"[{self.name}] {self.unit} {place}: objective {objective:.6g}")
        return False


def combine(*observers: Observer | None) -> Observer:
    """Return one observer that calls all; the fit ends when any of them says so.

    None stands for an observer that isn't there.
    """
    present = [one for one in observers if one is not None]
    if len(present) == 1:
        return present[0]

    def observe(number: int, objective: float, validation: float | None = None) -> bool:
        # A list, so that every observer sees the iteration, whatever those before it say.
        return any([one(number, objective, validation) for one in present])

    return observe


@contextmanager
def observed(estimator: Any, observer: Observer | None) -> Iterator[None]:
    """Let an observer see the iterations of an estimator that is fitted inside the block."""
    estimator._observer = observer
    try:
        yield
    finally:
        del estimator._observer
