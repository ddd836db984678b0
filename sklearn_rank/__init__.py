"""Ranking for scikit-learn: exact pair losses at the price of the rows."""

from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost
from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker

__all__ = ["PNormPushRanker", "RankBoost", "SmoothMarginRanker"]

__version__ = "0.1.0"
