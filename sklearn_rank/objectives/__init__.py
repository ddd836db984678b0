"""Objectives: functions of the scores and the preferences, never of the features."""

from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.sums import Queries
from sklearn_rank._pair_sums._pair_loss import PairLoss, Push, pair_loss_and_gradient
from sklearn_rank._pair_sums.listed_pairs import ListedExponential, ListedPairLoss
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES, MarginLoss
from sklearn_rank.objectives._information_retrieval_push import InformationRetrievalPush
from sklearn_rank.objectives._list_loss import ListLoss
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._moving_masses import BothState, ExponentialState
from sklearn_rank.objectives.listwise import (
    LISTWISE_LOSSES,
    CrossEntropy,
    ListwiseLoss,
    SmoothedDcg,
)
from sklearn_rank.objectives.offsets import balancing_offset, error_cut
from sklearn_rank.objectives.pushes import PUSHES, BothPush, SidePush, make_push
from sklearn_rank.objectives.states import ScoreState, SecondOrderState

__all__ = [
    "LISTWISE_LOSSES",
    "MARGIN_LOSSES",
    "PUSHES",
    "BothPush",
    "BothState",
    "CrossEntropy",
    "ExponentialState",
    "GivenPairs",
    "InformationRetrievalPush",
    "ListLoss",
    "ListedExponential",
    "ListedPairLoss",
    "ListwiseLoss",
    "MarginLoss",
    "MarginPush",
    "PairLoss",
    "Preferences",
    "Push",
    "Queries",
    "ScoreState",
    "SecondOrderState",
    "SidePush",
    "SmoothedDcg",
    "balancing_offset",
    "error_cut",
    "make_push",
    "pair_loss_and_gradient",
]
