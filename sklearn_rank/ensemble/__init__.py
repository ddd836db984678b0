"""Ensembles of rankers and classifiers, selected for a ranking metric."""

from sklearn_rank.ensemble.ranking_ensemble import RankingEnsemble
from sklearn_rank.ensemble.score_map import ScoreMap, normal_scores
from sklearn_rank.ensemble.selection import (
    Estimate,
    HeldOutLabels,
    Selection,
    greedy_weights,
    select_members,
)

__all__ = [
    "Estimate",
    "HeldOutLabels",
    "RankingEnsemble",
    "ScoreMap",
    "Selection",
    "greedy_weights",
    "normal_scores",
    "select_members",
]
