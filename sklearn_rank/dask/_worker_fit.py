"""What every process of a shared fit runs: the ranker's own fit, in lock-step with the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sklearn_rank._callbacks import observed
from sklearn_rank._protocols import Observer
from sklearn_rank.rows import Rows
from sklearn_rank.rows.processes import Collective, Together

Attributes = dict[str, Any]


class _ActsAlone:
    """Passes on what an observer is told; the attributes it asks for are made by one process."""

    def __init__(self, observer: Any, processes: Together) -> None:
        self._observer, self._processes = observer, processes

    def begin(self, attributes: Callable[[], Attributes]) -> None:
        """Take what returns the fitted attributes so far."""

        def alone() -> Attributes:
            with self._processes.alone():
                return attributes()

        if hasattr(self._observer, "begin"):
            self._observer.begin(alone)

    def __call__(self, number: int, objective: float, validation: float | None = None) -> bool:
        """Return whether the fit ends after a round."""
        return bool(self._observer(number, objective, validation))


def fit_rows(
    estimator: Any,
    rows: Rows,
    collective: Collective,
    observer: Observer | None = None,
    earlier: Attributes | None = None,
    card: Any = None,
) -> Attributes:
    """Fit a ranker to the rows of all processes and return its fitted attributes.

    Parameters
    ----------
    estimator : estimator
        The ranker, unfitted, with parameters that were checked; changed by the call.
    rows : Rows
        The rows of this process.
    collective : Collective
        The processes.
    observer : Observer or None
        Told of each round, in every process; it returns the same in all. If it has a method
        `begin`, that gets a function that returns the fitted attributes so far.
    earlier : dict or None
        Fitted attributes of a fit to the same rows that was interrupted: it goes on there.
    card : Scorecard or None
        What is made of the ranker. Its many fits are not observed.
    """
    processes = Together(collective)
    data = replace(rows, collective=processes if processes.size > 1 else None)
    estimator.n_features_in_ = rows.X.shape[1]
    if earlier is not None:
        estimator.set_fitted(dict(earlier))
        estimator.warm_start = True
    if card is not None:
        estimator.check_training(data)
        of_card: Attributes = card.fit_rows(data, estimator)
        return of_card
    told = None if observer is None else _ActsAlone(observer, processes)
    with observed(estimator, told):
        estimator.check_training(data)
        fitted: Attributes = estimator.fit_rows(data)
    return fitted
