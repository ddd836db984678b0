"""Models: coefficients to scores and gradients back; what was fitted, ready for new rows."""

from __future__ import annotations

from typing import Any

from sklearn_rank._protocols import Candidate, Model
from sklearn_rank.bins.binned_features import FeatureBins
from sklearn_rank.models.estimator import EstimatorModel
from sklearn_rank.models.feature_parameters import StumpConstraints
from sklearn_rank.models.kernel import KernelModel
from sklearn_rank.models.linear import Features, LinearModel
from sklearn_rank.models.rules import EstimatorRules, FeatureRules
from sklearn_rank.models.stump_columns import StumpColumns
from sklearn_rank.models.stump_rules import StepFunction, StumpRules
from sklearn_rank.models.stumps import Stumps
from sklearn_rank.rows import FitRows

__all__ = [
    "WEAK_RANKERS",
    "Candidate",
    "EstimatorModel",
    "EstimatorRules",
    "FeatureBins",
    "FeatureRules",
    "Features",
    "FitRows",
    "KernelModel",
    "LinearModel",
    "StepFunction",
    "StumpColumns",
    "StumpConstraints",
    "StumpRules",
    "Stumps",
    "WeakRankerChoice",
    "as_model",
]

WEAK_RANKERS: dict[str, Model] = {"stump": Stumps(), "feature": Features()}
"""Each `Model` of the package by the name that the boosting rankers take as `weak_ranker`."""


class WeakRankerChoice:
    """What `weak_ranker` may be: a name, an estimator, or an object with `on_rows`."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if isinstance(value, str):
            return value in WEAK_RANKERS
        is_estimator = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
        return not isinstance(value, type) and (is_estimator or is_model(value))

    def __str__(self) -> str:
        """Return the text after "must be"."""
        names = ", ".join(map(repr, WEAK_RANKERS))
        return f"one of {names}, a scikit-learn regressor or classifier, or a model with on_rows"


def as_model(weak_ranker: Any) -> Model:
    """Return the model that a name, an estimator or a model of the user's own stands for."""
    if isinstance(weak_ranker, str):
        return WEAK_RANKERS[weak_ranker]
    return weak_ranker if is_model(weak_ranker) else EstimatorModel(weak_ranker)


def is_model(weak_ranker: Any) -> bool:
    """Whether a parameter is an object of the protocol `Model`."""
    return hasattr(weak_ranker, "on_rows")
