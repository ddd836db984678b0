"""Learning from clicks: weights that undo the bias of positions, estimates, and simulated users."""

from sklearn_rank.clicks._pairs import ClickPairs, click_pairs
from sklearn_rank.clicks._rows import ClickLists, click_rows, click_weights
from sklearn_rank.clicks._simulator import make_clicks
from sklearn_rank.clicks.dcg_estimates import ClickEstimate, dcg_from_clicks
from sklearn_rank.clicks.interleaving import InterleavingResult, interleaving_test, team_draft
from sklearn_rank.clicks.propensity import PositionPropensity

__all__ = [
    "ClickEstimate",
    "ClickLists",
    "ClickPairs",
    "InterleavingResult",
    "PositionPropensity",
    "click_pairs",
    "click_rows",
    "click_weights",
    "dcg_from_clicks",
    "interleaving_test",
    "make_clicks",
    "team_draft",
]
