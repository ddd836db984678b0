"""Learning from clicks: weights that correct position bias, estimates, and simulated users."""

from sklearn_rank.clicks._simulator import make_clicks
from sklearn_rank.clicks._unbiased import ClickPairs, click_pairs, click_weights
from sklearn_rank.clicks.dcg_estimates import ClickEstimate, dcg_from_clicks
from sklearn_rank.clicks.propensity import PositionPropensity

__all__ = [
    "ClickEstimate",
    "ClickPairs",
    "PositionPropensity",
    "click_pairs",
    "click_weights",
    "dcg_from_clicks",
    "make_clicks",
]
