"""scikit-learn displays of rankings, especially of the top of the list.

Each has ``from_estimator``, most have ``from_predictions``; ``plot`` draws again, on new or
existing axes, and returns the display. Drawing imports matplotlib; importing this does not.
"""

from sklearn_rank.plotting._ranked_list import RankedListDisplay
from sklearn_rank.plotting._scorecard_display import ScorecardDisplay
from sklearn_rank.plotting._shape_function import ShapeFunctionDisplay
from sklearn_rank.plotting._top_roc import TopROCDisplay

__all__ = ["RankedListDisplay", "ScorecardDisplay", "ShapeFunctionDisplay", "TopROCDisplay"]
