"""Learning from clicks: weights that undo the bias of positions, and a simulator of users."""

from sklearn_rank.clicks._rows import ClickLists, click_rows, click_weights
from sklearn_rank.clicks._simulator import make_clicks
from sklearn_rank.clicks.propensity import PositionPropensity

__all__ = ["ClickLists", "PositionPropensity", "click_rows", "click_weights", "make_clicks"]
