"""Any scikit-learn regressor or classifier as weak ranker."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_rank._protocols import Candidate, Gain, Indices, RowMasses, Values
from sklearn_rank.models.rules import EstimatorRules, predictions


class EstimatorFamily:
    """Weak rankers that are learned anew each round, from the signs of the row masses.

    Parameters
    ----------
    estimator : estimator
        Cloned each round and fitted with ``sample_weight = |row mass|`` to the sign of
        the row mass.
    X : array-like of shape (n, n_features)
        Training rows.
    order : ndarray of shape (n_rows,)
        Rows in preference order.
    seed : int
        Seeds the clones, together with the number of the round.
    known : EstimatorRules or None
        Rounds that are already there.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        order: Indices,
        seed: int,
        known: EstimatorRules | None = None,
    ) -> None:
        self._estimator = estimator
        self._X = X[order]
        self._seed = seed
        self._known = EstimatorRules([], [], []) if known is None else known
        self._h: Values = np.zeros(0)

    def search(self, masses: RowMasses, gain: Gain) -> Candidate | None:
        """Fit a clone to the row masses."""
        target, weight = np.sign(masses.data), np.abs(masses.data)
        rows = weight > 0
        if not rows.any():
            return None
        estimator = clone(self._estimator)
        rng = np.random.default_rng([self._seed, len(self._known.estimators)])
        estimator.set_params(
            **{
                name: int(rng.integers(2**31 - 1))
                for name in estimator.get_params()
                if name == "random_state" or name.endswith("__random_state")
            }
        )
        # Weights of mean one: regularised estimators expect them.
        weight = weight[rows] / weight[rows].mean()
        estimator.fit(self._X[rows], target[rows], sample_weight=weight)
        prediction = predictions(estimator, self._X)
        low, width = float(prediction.min()), float(np.ptp(prediction))
        if width == 0:
            return None
        h = (prediction - low) / width
        self._h = h == 1 if np.all((h == 0) | (h == 1)) else h
        self._known = self._known.with_one_more(estimator, low, width)
        return Candidate(len(self._known.estimators) - 1, float(masses.data @ h))

    def values(self, candidate: Candidate) -> Values:
        """Return the prediction of the last clone, mapped to [0, 1]."""
        return self._h

    def rules(self, indices: Indices) -> EstimatorRules:
        """Return the weak rankers, ready for new rows."""
        known = self._known
        return EstimatorRules(
            [known.estimators[t] for t in indices],
            [known.low[t] for t in indices],
            [known.width[t] for t in indices],
        )
