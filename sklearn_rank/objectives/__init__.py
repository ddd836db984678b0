"""Objectives: functions of the scores and the preferences, never of the features."""

from sklearn_rank.objectives._exponential_pushes import (
    PUSHES,
    BothPush,
    SidePush,
)
from sklearn_rank.objectives._information_retrieval_push import InformationRetrievalPush
from sklearn_rank.objectives._list_loss import ListLoss
from sklearn_rank.objectives._listwise import (
    LISTWISE_LOSS_CHOICE,
    LISTWISE_LOSSES,
    CrossEntropy,
    ListwiseLoss,
    SmoothedDcg,
    as_listwise_loss,
)
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._offsets import balancing_offset, error_cut
from sklearn_rank.objectives._push import Push
from sklearn_rank.objectives._states import ExponentialState, ScoreState, make_state
from sklearn_rank.pair_sums import (
    MARGIN_LOSS_CHOICE,
    MARGIN_LOSSES,
    MarginLoss,
    PairLoss,
    as_margin_loss,
    pair_loss_and_gradient,
)

__all__ = [
    "LISTWISE_LOSSES",
    "LISTWISE_LOSS_CHOICE",
    "MARGIN_LOSSES",
    "MARGIN_LOSS_CHOICE",
    "PUSHES",
    "BothPush",
    "CrossEntropy",
    "ExponentialState",
    "InformationRetrievalPush",
    "ListLoss",
    "ListwiseLoss",
    "MarginLoss",
    "MarginPush",
    "PairLoss",
    "Push",
    "ScoreState",
    "SidePush",
    "SmoothedDcg",
    "as_listwise_loss",
    "as_margin_loss",
    "balancing_offset",
    "error_cut",
    "make_state",
    "pair_loss_and_gradient",
]
