"""Objectives: functions of the scores and the preferences, never of the features."""

from sklearn_rank.objectives._descent import (
    BipartiteDescent,
    ScoredDescent,
    balancing_offset,
)
from sklearn_rank.objectives._exponential_pushes import (
    PUSHES,
    BothPush,
    SidePush,
)
from sklearn_rank.objectives._information_retrieval_push import InformationRetrievalPush
from sklearn_rank.objectives._list_loss import ListLoss
from sklearn_rank.objectives._listwise import (
    LISTWISE_LOSSES,
    CrossEntropy,
    ListwiseLoss,
    SmoothedDcg,
    as_listwise_loss,
)
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._offsets import error_cut
from sklearn_rank.objectives._push import Push
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
    "ListLoss",
    "ListwiseLoss",
    "MarginLoss",
    "MarginPush",
    "PairLoss",
    "Push",
    "ScoredDescent",
    "SidePush",
    "SmoothedDcg",
    "as_listwise_loss",
    "balancing_offset",
    "error_cut",
    "pair_loss_and_gradient",
]
