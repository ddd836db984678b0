"""Early stopping on rows held out of the training data, whole queries at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.model_selection import (
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedShuffleSplit,
)

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.base import TrainingData


def split_validation(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData]:
    """Hold out a fraction of the queries or, without them, of the rows (stratified)."""
    y = data.y
    splitter: GroupShuffleSplit | ShuffleSplit | StratifiedShuffleSplit
    options = {"n_splits": 1, "test_size": fraction, "random_state": seed}
    if data.qid is not None:
        splitter = GroupShuffleSplit(**options)
    elif np.unique(y, return_counts=True)[1].min() > 1:
        splitter = StratifiedShuffleSplit(**options)
    else:
        splitter = ShuffleSplit(**options)
    try:
        train, held_out = next(splitter.split(data.X, y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the data (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    parts = data.take(np.sort(train)), data.take(np.sort(held_out))
    for name, part in zip(("left to learn from", "held out"), parts, strict=True):
        if part.preferences.total_pair_weight == 0:
            raise ValueError(
                f"n_iter_no_change: the rows {name} have no comparable pair. Another "
                f"validation_fraction than {fraction:g} may divide the data better."
            )
    return parts


class EarlyStopping:
    """Scores the held-out rows after each round and says when to stop.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out,)
        Scores of the held-out rows so far.
    metric : callable
        Maps scores of the held-out rows to a number, greater is better.
    patience : int
        Rounds without a better score after which to stop.
    tol : float
        By how much a score must exceed the best to be better.
    """

    def __init__(
        self, scores: Floats, metric: Callable[[Floats], float], patience: int, tol: float
    ) -> None:
        self._scores = scores
        self._metric = metric
        self._patience = patience
        self._tol = tol

    def is_over(self, change: Floats, history: list[float]) -> bool:
        """Add a round's change to the scores; True when patience is at its end."""
        self._scores = self._scores + change
        history.append(self._metric(self._scores))
        return len(history) - best_round(history, self._tol) >= self._patience


def best_round(history: list[float], tol: float) -> int:
    """Return the number of rounds after which no score was better by more than tol."""
    best, rounds = -np.inf, 0
    for number, score in enumerate(history, start=1):
        if score > best + tol:
            best, rounds = score, number
    return rounds


def rows_in_pairs(data: TrainingData) -> Indices:
    """Return the rows that belong to at least one comparable pair, in data order."""
    preferences = data.preferences
    return np.sort(preferences.order[preferences.is_paired])
