"""Scorecards: a ranker as a table of integer points."""

from sklearn_rank.scorecard._report_page import report
from sklearn_rank.scorecard._scorecard import Scorecard

__all__ = ["Scorecard", "report"]
