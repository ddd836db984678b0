"""Any scikit-learn regressor or classifier as weak ranker."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from sklearn_rank._core.protocols import Candidate, Gain, Indices, RowGradient, Values
from sklearn_rank._core.rows import FitRows
from sklearn_rank.models.rules import EstimatorRules, predictions


class EstimatorModel:
    """The model of an estimator passed as ``weak_ranker``: h is a new clone in each round.

    Parameters
    ----------
    estimator : estimator
        A regressor or classifier that takes `sample_weight`.
    """

    name = "estimator"

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator
        tags = get_tags(estimator).input_tags
        self.allow_nan, self.sparse = tags.allow_nan, tags.sparse

    @property
    def refusal(self) -> str:
        """Why the estimator cannot be a weak ranker; an empty string if it can."""
        takes_weight = has_fit_parameter(self.estimator, "sample_weight")
        return "" if takes_weight else "its fit takes no sample_weight"

    def on_rows(self, rows: FitRows) -> FittedClones:
        """Return the clones of the earlier rounds; each search adds a clone."""
        return FittedClones(self.estimator, rows)


class FittedClones:
    """Weak rankers that are refitted in each round to the signs of the gradient.

    Parameters
    ----------
    estimator : estimator
        Cloned each round and fitted to minus the sign of the gradient, with
        ``sample_weight = |gradient|``.
    rows : FitRows
        Training rows. `seed` seeds the clones, together with the number of the round;
        `earlier_rules` are the clones of the earlier rounds.
    """

    def __init__(self, estimator: Any, rows: FitRows) -> None:
        self._estimator = estimator
        self._X = rows.X[rows.order]
        self._seed = rows.seed
        rules = EstimatorRules([], [], []) if rows.earlier_rules is None else rows.earlier_rules
        # Each with the smallest prediction on the training rows, and the range.
        self._clones = list(zip(rules.estimators, rules.low, rules.width, strict=True))
        self._h: Values = np.zeros(0)

    def search(self, gradient: RowGradient, gain: Gain) -> Candidate | None:
        """Fit a clone to the signs of minus the gradient."""
        target, weight = -np.sign(gradient.data), np.abs(gradient.data)
        has_weight = weight > 0
        if not has_weight.any():
            return None
        estimator = clone(self._estimator)
        # A seed of its own in each round, the same after a warm start.
        rng = np.random.default_rng([self._seed, len(self._clones)])
        seed_names = [k for k in estimator.get_params() if k.rpartition("__")[2] == "random_state"]
        estimator.set_params(**{name: int(rng.integers(2**31 - 1)) for name in seed_names})
        # Weights of mean one: regularised estimators expect them.
        weight = weight[has_weight] / weight[has_weight].mean()
        estimator.fit(self._X[has_weight], target[has_weight], sample_weight=weight)
        prediction = predictions(estimator, self._X)
        low, width = float(prediction.min()), float(np.ptp(prediction))
        if width == 0:
            return None
        h = (prediction - low) / width
        self._h = h == 1 if np.all((h == 0) | (h == 1)) else h
        self._clones.append((estimator, low, width))
        return Candidate(len(self._clones) - 1, -float(gradient.data @ h))

    def values(self, candidate: Candidate) -> Values:
        """Return the prediction of the last clone, mapped to [0, 1]."""
        return self._h

    def rules(self, indices: Indices) -> EstimatorRules:
        """Return the weak rankers, ready for new rows."""
        clones = [self._clones[t] for t in indices]
        return EstimatorRules(*([clone[field] for clone in clones] for field in range(3)))
