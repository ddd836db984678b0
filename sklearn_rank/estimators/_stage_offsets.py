"""The offset between two classes after each round of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask, ObjectiveState, require
from sklearn_rank.base import TrainingData
from sklearn_rank.objectives import balancing_offset
from sklearn_rank.objectives.offsets import rising_cut
from sklearn_rank.rows.distinct import coarse_codes, hash_rows
from sklearn_rank.rows.groups import starts_run
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.rows.processes import ONE_PROCESS, Collective, concat
from sklearn_rank.solvers import Round

MOST_ROWS = 1 << 13
"""Rows from which the cuts of stages are found; that of the last has them all."""

_LARGEST_CODE = 0xFFFF_FFFF_FFFF_FFFF

_LOST_BITS = 11
"""Bits by which a code is longer than the digits of a float."""


class StageBalances:
    """The balancing offset after each round, of all rows.

    Parameters
    ----------
    positive : ndarray of shape (n_rows,)
        True for the upper class, in fit order.
    preferences : Preferences
        The rows with their weights.
    """

    def __init__(self, positive: Mask, preferences: Preferences) -> None:
        self._positive = positive
        self._preferences = preferences

    def after_round(self, done: Round, state: ObjectiveState) -> float:
        """Return the offset."""
        find: Any = getattr(state, "balancing_offset", None)
        if find is not None:
            return float(find())
        scores = require(state, "scores", "The offset of a round")
        rows = self._preferences
        return balancing_offset(scores, self._positive, rows.log_weight, rows.collective)


class StageCuts:
    """The error cut after each round, of some rows that are kept in the order of their scores.

    Parameters
    ----------
    rows : ndarray of shape (n_some,)
        The rows, in fit order.
    signed : ndarray of shape (n_some,)
        Their weights, negative in the lower class.
    scores : ndarray of shape (n_rows,)
        Scores of all rows so far.
    collective : Collective
        The processes that hold the rows, if they are not all here.
    """

    def __init__(
        self, rows: Indices, signed: Floats, scores: Floats, collective: Collective = ONE_PROCESS
    ) -> None:
        self._here, self._collective = rows, collective
        if collective.size > 1:  # from here on every process has the rows of all
            scores, signed = concat(collective, scores[rows]), concat(collective, signed)
            rows = np.arange(len(signed))
        order = np.argsort(scores[rows], kind="stable")
        self._rows = rows[order]
        self._signed = signed[order]
        self._scores = scores[self._rows]

    @classmethod
    def of_sample(cls, data: TrainingData, pairs: Preferences, scores: Floats) -> StageCuts:
        """Take all rows, or those that `sample_rows` takes."""
        rows: Indices = np.arange(pairs.n_rows)
        positive, weight = data.y[pairs.order], pairs.weight
        if pairs.collective.reduce(np.add, float(len(rows))) > MOST_ROWS:
            rows, weight = sample_rows(data, pairs)
        return cls(rows, np.where(positive[rows], weight, -weight), scores, pairs.collective)

    def after_round(self, done: Round, state: ObjectiveState) -> float:
        """Return the offset: minus the cut."""
        h = done.h
        if self._collective.size > 1:
            h = concat(self._collective, h[self._here])
        h = h[self._rows]
        self._scores += done.step * h
        if h.dtype == np.bool_:  # two runs in order, which a stable sort merges in linear time
            runs = np.concatenate([np.flatnonzero(~h), np.flatnonzero(h)])
            order = runs[np.argsort(self._scores[runs], kind="stable")]
        else:
            order = np.argsort(self._scores, kind="stable")
        self._rows, self._scores = self._rows[order], self._scores[order]
        self._signed = self._signed[order]
        return -rising_cut(self._scores, self._signed)


def sample_rows(data: TrainingData, pairs: Preferences) -> tuple[Indices, Floats]:
    """Return at most `MOST_ROWS` distinct rows in fit order, and their summed weights.

    Those with the smallest hash of features and class: a row of weight 2 is there where the
    row twice would be, and the order of the rows has no part in it.
    """
    coarse = coarse_codes(data.X)
    # Twice as many rows as wanted are enough, unless many are equal.
    for share in (min(2.0 * MOST_ROWS / len(coarse), 1.0), 1.0):
        is_low = coarse <= np.uint64(min(int(share * 2.0**64), _LARGEST_CODE))
        places = np.flatnonzero(is_low[pairs.order])
        rows = pairs.order[places]
        code = hash_rows(data.X[rows])
        code[data.y[rows]] ^= np.uint64(_LARGEST_CODE)
        by_code = np.lexsort((code, coarse[rows]))
        first = np.flatnonzero(starts_run(code[by_code])) if len(rows) else by_code
        if len(first) >= MOST_ROWS:
            break
    weight = np.add.reduceat(pairs.weight[places][by_code], first)
    found, weight = places[by_code][first][:MOST_ROWS], weight[:MOST_ROWS]
    if pairs.collective.size == 1:
        return found, weight
    # The smallest of all processes: every one has taken at least those that it holds.
    rank = (coarse[pairs.order[found]] >> np.uint64(_LOST_BITS)).astype(np.float64)
    smallest = np.unique(concat(pairs.collective, rank))[:MOST_ROWS]
    is_kept = rank <= smallest[-1]
    return found[is_kept], weight[is_kept]
