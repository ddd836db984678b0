"""Objectives: functions of the scores and the preferences, never of the features."""

from sklearn_rank.objectives._descent import (
    BipartiteDescent,
    ScoredDescent,
    balancing_offset,
)
from sklearn_rank.objectives._push import (
    PUSHES,
    BothPush,
    InformationRetrievalPush,
    Push,
    SidePush,
)

__all__ = [
    "PUSHES",
    "BipartiteDescent",
    "BothPush",
    "InformationRetrievalPush",
    "Push",
    "ScoredDescent",
    "SidePush",
    "balancing_offset",
]
