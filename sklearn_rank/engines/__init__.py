"""Ranking objectives for the trees of XGBoost and LightGBM.

Neither package is needed to import this one.
"""

from sklearn_rank.engines._ranking_objective import RankingObjective

__all__ = ["RankingObjective"]
