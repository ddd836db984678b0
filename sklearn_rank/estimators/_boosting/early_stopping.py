"""Early stopping: rows that are held out, whole queries at a time, and the rule that stops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Lots, Rows
from sklearn_rank._core.selected import Selection
from sklearn_rank._core.warnings import warn
from sklearn_rank.estimators._boosting.held_out import Watched, n_of_rarer_class

MIN_ROWS = 10
"""Held-out rows of the rarer class below which there is no early stopping.

With fewer the rounds that they choose are mostly chance. See `effective_rows`.
"""


def has_enough(ranker: Any, held_out: Rows) -> bool:
    """Whether a ranker may stop by these rows; warn if they are too few to tell."""
    if ranker.n_iter_no_change is None:
        return False
    found = n_of_rarer_class(held_out)
    if found < MIN_ROWS:
        warn(
            f"{type(ranker).__name__} does not stop early and runs all rounds: "
            f"n_iter_no_change={ranker.n_iter_no_change} needs at least {MIN_ROWS} held-out rows "
            f"of the rarer class, to tell more than chance. There are {found:.4g}: hold out more "
            "(validation_fraction), or pass n_iter_no_change=None. Weights that are not whole "
            "numbers count by their effective number."
        )
    return found >= MIN_ROWS


def split_validation(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fraction of the queries or, without them, of the distinct rows."""
    split = _split_rows if data.qid is None else _split_queries
    parts = split(data, fraction, seed)
    for name, part in zip(("left to learn from", "held out"), parts, strict=True):
        if not len(part.y) or part.preferences.total_pair_weight == 0:
            raise ValueError(
                f"n_iter_no_change: the rows {name} have no comparable pair. Try a "
                f"validation_fraction other than {fraction:g}."
            )
    return parts


def _split_queries(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    splitter = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    try:
        train, held_out = next(splitter.split(data.y, data.y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the queries (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    return data.take(np.sort(train)), data.take(np.sort(held_out))


def _split_rows(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out distinct rows at even distances along the rows sorted by relevance.

    Inside a relevance the rows lie along a random direction. Rows with the same features are
    dealt as `Lots` says.
    """
    lots = Lots(data)
    X, y = Selection.of(data.X)[lots.first], data.y[lots.first]
    direction = np.random.default_rng(seed).standard_normal(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        place = np.concatenate(
            [(part if X.is_sparse else np.nan_to_num(part)) @ direction for part in X.parts()]
        )
    # Each of two classes gives its share, and at least one row; grades are one line.
    n_places = lots.count_by_level()
    bounds = np.append(0, np.cumsum(n_places if y.dtype == np.bool_ else n_places.sum()))

    def taken(n: Indices) -> Indices:
        held_out = sum(
            _evenly(np.clip(n - first, 0, last - first), last - first, fraction)
            for first, last in pairwise(bounds)
        )
        return np.stack([n - held_out, held_out]).astype(np.intp)

    parts, side = lots.deal(np.lexsort((place, y)), taken)
    return parts.take(np.flatnonzero(side == 0)), parts.take(np.flatnonzero(side == 1))


def _evenly(n: Indices, n_all: float, fraction: float) -> Floats:
    """Return how many of the first n places are among a fraction of all at even distances.

    At least one of all is.
    """
    # One more where k * fraction + start passes a whole number; the last one at least.
    start = max(0.5, 1.0 - n_all * fraction)
    return np.asarray(np.floor(n * fraction + start) - np.floor(start))


@dataclass(eq=False, repr=False)
class EarlyStopping:
    r"""Measures the held-out rows after each round and says when to stop.

    With b the round of the smallest loss so far, that is at the first round
    :math:`t \ge b +` `patience` at which :math:`L_t - L_b` exceeds the standard error of this
    paired difference.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out,)
        Scores of the held-out rows so far.
    watched : Watched
        What is measured.
    losses, curve : list of float
        The loss and the score after each round so far; extended here.
    patience : int or None
        Rounds after the best one from which on the fit may stop; None: never, and all are kept.
    tol : float
        By how much a loss must be below the best one to be better.
    best_scores : ndarray of shape (n_held_out,), default=None
        Scores after the best of the rounds so far, if there were any.

    Attributes
    ----------
    best_round : int
        Number of rounds that the model keeps: after it no loss was smaller.
    smallest_loss : int
        Number of rounds after which the loss was smallest.
    """

    scores: Floats
    watched: Watched
    losses: list[float]
    curve: list[float]
    patience: int | None
    tol: float
    best_scores: Any = None

    def __post_init__(self) -> None:
        """Take note of the rounds so far."""
        self._best, self.smallest_loss = np.inf, 0
        self._deviation: Floats | None = None
        for number, loss in enumerate(self.losses, start=1):
            self._compare(number, loss)

    def measure(self, scores: Floats) -> float:
        """Return the score after a round."""
        self.scores = scores
        loss, score = self.watched.measure(scores)
        self.losses.append(loss)
        self.curve.append(score)
        if self._compare(len(self.losses), loss):
            self.best_scores, self._deviation = scores, None
        return score

    @property
    def is_over(self) -> bool:
        """Whether the last round is worse than the best one, by more than its standard error."""
        if self.patience is None or len(self.losses) - self.smallest_loss < self.patience:
            return False
        behind = self.losses[-1] - self._best
        return behind > 0 and behind > self._standard_error()

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return len(self.losses) if self.patience is None else self.smallest_loss

    def _standard_error(self) -> float:
        """Return that of the loss of the last round minus that of the best; NaN: it has none."""
        if self._deviation is None:
            self._deviation = self.watched.deviation(self.best_scores)
        return float(np.linalg.norm(self.watched.deviation(self.scores) - self._deviation))

    def _compare(self, number: int, loss: float) -> bool:
        """Take note of a loss; return whether it is the smallest so far."""
        is_best = loss < self._best - self.tol
        if is_best:
            self._best, self.smallest_loss = loss, number
        return is_best
