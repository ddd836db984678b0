"""Objectives: functions of the scores and the preferences, never of the features."""

from sklearn_rank.objectives._descent import (
    BipartiteDescent,
    ScoredDescent,
    balancing_offset,
)
from sklearn_rank.objectives._exponential_pushes import (
    PUSHES,
    BothPush,
    InformationRetrievalPush,
    Push,
    SidePush,
)
from sklearn_rank.objectives._listwise import (
    LISTWISE_LOSSES,
    CrossEntropy,
    ListwiseLoss,
    SmoothedDcg,
)
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._offsets import error_cut
from sklearn_rank.pair_sums import (
    MARGIN_LOSSES,
    MarginLoss,
    PairLoss,
    pair_loss_and_gradient,
)

__all__ = [
    "LISTWISE_LOSSES",
    "MARGIN_LOSSES",
    "PUSHES",
    "BipartiteDescent",
    "BothPush",
    "CrossEntropy",
    "InformationRetrievalPush",
    "ListwiseLoss",
    "MarginLoss",
    "MarginPush",
    "PairLoss",
    "Push",
    "ScoredDescent",
    "SidePush",
    "SmoothedDcg",
    "balancing_offset",
    "error_cut",
    "pair_loss_and_gradient",
]
