"""Early stopping on validation rows: given, or held out, whole queries at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import GroupShuffleSplit

from sklearn_rank._protocols import Floats, Mask
from sklearn_rank.metrics.scorers import as_scorer
from sklearn_rank.rows import Rows
from sklearn_rank.rows.distinct import distinct_rows


def split_validation(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fraction of the queries or, without them, of the distinct rows."""
    if data.qid is None:
        parts = _split_rows(data, fraction, seed)
    else:
        parts = _split_queries(data, fraction, seed)
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
        train, held_out = next(splitter.split(data.X, data.y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the queries (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    return data.take(np.sort(train)), data.take(np.sort(held_out))


def _split_rows(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out distinct rows at even distances along the rows sorted by relevance.

    Inside a relevance the rows lie along a random direction. Equal rows stay together: no row is
    on both sides, and weight 2 is held out as the row twice would be.
    """
    rows, *_, number = distinct_rows(data.code, data.y, None, data.weight)
    X, y = data.X[rows], data.y[rows]
    direction = np.random.default_rng(seed).standard_normal(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        place = (X if issparse(X) else np.nan_to_num(X)) @ direction
    # Each of two classes gives its share, and at least one row; grades are one line.
    n_lower = [int(np.count_nonzero(~y))] if y.dtype == np.bool_ else []
    levels = [0, *n_lower, len(y)]
    is_held_out = np.empty(len(y), dtype=bool)
    is_held_out[np.lexsort((place, y))] = np.concatenate(
        [_evenly(last - first, fraction) for first, last in pairwise(levels)]
    )
    is_held_out = is_held_out[number]
    return data.take(np.flatnonzero(~is_held_out)), data.take(np.flatnonzero(is_held_out))


def _evenly(n: int, fraction: float) -> Mask:
    """Mark a fraction of n places at even distances, at least one."""
    # Place k is marked where k * fraction + start passes a whole number; the last one at least.
    start = max(0.5, 1.0 - n * fraction)
    return np.diff(np.floor(np.arange(n + 1) * fraction + start)) > 0


def metric_of_rows(owner: str, scoring: object, rows: Rows) -> Callable[[Floats], float]:
    """Return the metric that `scoring` names as a function of the scores of some rows.

    Rows of weight zero are gone already, and weights of one are the same as none. Other
    weights are refused by the metrics that have none.
    """
    scorer = as_scorer(scoring)
    weight = None if np.all(rows.weight == 1) else rows.weight

    def metric(scores: Floats) -> float:
        try:
            return scorer.measure(rows.y, scores, qid=rows.qid, sample_weight=weight)
        except ValueError as error:
            raise ValueError(
                f"scoring={scorer.label!r} of {owner} can't measure these rows for early "
                f"stopping. {error}"
            ) from error

    return metric


@dataclass(eq=False, repr=False)
class EarlyStopping:
    """Scores the held-out rows after each round and says when to stop.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out,)
        Scores of the held-out rows so far.
    metric : callable
        Maps scores of the held-out rows to a number, greater is better.
    curve : list of float
        The metric after each round so far; extended here.
    patience : int or None
        Rounds without a better score after which to stop; None: never, and all are kept.
    tol : float
        By how much a score must exceed the best to be better.

    Attributes
    ----------
    best_round : int
        Number of rounds that the model keeps: after it no score was better.
    curve : list of float
        The metric after each round.
    """

    scores: Floats
    metric: Callable[[Floats], float]
    curve: list[float]
    patience: int | None
    tol: float

    def __post_init__(self) -> None:
        """Take note of the rounds so far."""
        self._best, self._best_round = -np.inf, 0
        for number, score in enumerate(self.curve, start=1):
            self._compare(number, score)

    def measure(self, scores: Floats) -> float:
        """Return the metric of the scores after a round."""
        self.scores = scores
        self.curve.append(self.metric(self.scores))
        self._compare(len(self.curve), self.curve[-1])
        return self.curve[-1]

    @property
    def is_over(self) -> bool:
        """Whether the last `patience` rounds had no better score."""
        return self.patience is not None and len(self.curve) - self._best_round >= self.patience

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return len(self.curve) if self.patience is None else self._best_round

    def _compare(self, number: int, score: float) -> None:
        if score > self._best + self.tol:
            self._best, self._best_round = score, number
