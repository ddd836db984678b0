"""Early stopping on rows held out of the training data, whole queries at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import GroupShuffleSplit

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.base import TrainingData


def split_validation(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData]:
    """Hold out a fraction of the queries or, without them, of the rows' multiplicities."""
    if data.qid is None:
        parts = _split_rows(data, fraction, seed)
    else:
        parts = _split_queries(data, fraction, seed)
    for name, part in zip(("left to learn from", "held out"), parts, strict=True):
        if part.preferences.total_pair_weight == 0:
            raise ValueError(
                f"n_iter_no_change: the rows {name} have no comparable pair. Another "
                f"validation_fraction than {fraction:g} may divide the data better."
            )
    return parts


def _split_queries(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData]:
    splitter = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    try:
        train, held_out = next(splitter.split(data.X, data.y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the queries (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    return data.take(np.sort(train)), data.take(np.sort(held_out))


def _split_rows(
    data: TrainingData, fraction: float, seed: int
) -> tuple[TrainingData, TrainingData]:
    """Take multiplicities at even distances along the rows sorted by relevance.

    Inside a relevance the rows lie along a random direction, where equal rows are
    neighbours: so weight 2 is divided as the row twice would be.
    """
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(data.X.shape[1])
    dense = data.X if issparse(data.X) else np.nan_to_num(data.X)
    with np.errstate(over="ignore", invalid="ignore"):
        order = np.lexsort((dense @ direction, data.y))
    # Each of two classes gives its share, and at least one row; grades are one line.
    n_first = np.count_nonzero(~data.y) if data.y.dtype == np.bool_ else 0
    unit = min(1.0, float(data.weight.min()))
    held_out = np.zeros(len(order))
    for part in (order[:n_first], order[n_first:]):
        share = np.cumsum(data.weight[part]) / unit * fraction
        start = max(0.5, 1.0 - share[-1]) if len(share) else 0.0
        held_out[part] = np.diff(np.floor(share + start), prepend=0.0) * unit
    held_out = np.minimum(held_out, data.weight)
    return _reweighted(data, data.weight - held_out), _reweighted(data, held_out)


def _reweighted(data: TrainingData, weight: Floats) -> TrainingData:
    """Return the rows that still weigh something."""
    return replace(data, weight=weight).take(np.flatnonzero(weight > 0))


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
