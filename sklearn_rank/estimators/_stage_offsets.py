"""The offset between two classes after each round of boosting."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Mask, ObjectiveState, require
from sklearn_rank.objectives import balancing_offset
from sklearn_rank.objectives.offsets import rising_cut
from sklearn_rank.rows import Preferences, Rows, Sums
from sklearn_rank.solvers import Round

MOST_ROWS = 1 << 13
"""Rows from which the cuts of stages are found; that of the last has them all."""


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
        return balancing_offset(scores, self._positive, rows.log_weight, rows)


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
    sums : Sums
        Sums over all rows, if they are not all here: the rows that are kept are.
    """

    def __init__(self, rows: Indices, signed: Floats, scores: Floats, sums: Sums) -> None:
        self._here, self._sums = rows, sums
        scores, signed = sums.concat(scores[rows]), sums.concat(signed)
        self._order = np.argsort(scores, kind="stable")
        self._scores, self._signed = scores[self._order], signed[self._order]

    @classmethod
    def of_sample(cls, data: Rows, pairs: Preferences, scores: Floats) -> StageCuts:
        """Take all rows, or a sample of distinct ones."""
        rows: Indices = np.arange(pairs.n_rows)
        weight = pairs.weight
        if data.shape[0] > MOST_ROWS:
            sampled, weight = data.sample(MOST_ROWS, by_class=True)
            place = np.empty_like(rows)
            place[pairs.order] = rows
            rows = place[sampled]
        signed = np.where(data.y[pairs.order[rows]], weight, -weight)
        return cls(rows, signed, scores, pairs)

    def after_round(self, done: Round, state: ObjectiveState) -> float:
        """Return the offset: minus the cut."""
        h = self._sums.concat(done.h[self._here])[self._order]
        self._scores += done.step * h
        if h.dtype == np.bool_:  # two runs in order, which a stable sort merges in linear time
            runs = np.concatenate([np.flatnonzero(~h), np.flatnonzero(h)])
            order = runs[np.argsort(self._scores[runs], kind="stable")]
        else:
            order = np.argsort(self._scores, kind="stable")
        self._order, self._scores = self._order[order], self._scores[order]
        self._signed = self._signed[order]
        return -rising_cut(self._scores, self._signed)
