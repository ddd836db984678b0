"""Models: coefficients to scores and gradients back; what was fitted, ready for new rows."""

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Candidate
from sklearn_rank.models.kernel import KernelModel
from sklearn_rank.models.linear import LinearModel
from sklearn_rank.models.rules import EstimatorRules, FeatureRules
from sklearn_rank.models.stump_columns import StumpColumns
from sklearn_rank.models.stump_rules import StepFunction, StumpRules
from sklearn_rank.models.stumps import WEAK_RANKER, WEAK_RANKERS, StumpConstraints, Stumps, as_model

__all__ = [
    "WEAK_RANKER",
    "WEAK_RANKERS",
    "Candidate",
    "EstimatorRules",
    "FeatureBins",
    "FeatureRules",
    "KernelModel",
    "LinearModel",
    "StepFunction",
    "StumpColumns",
    "StumpConstraints",
    "StumpRules",
    "Stumps",
    "as_model",
]
