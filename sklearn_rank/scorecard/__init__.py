"""Scorecards: a ranker as a table of integer points.

``terms`` and ``card`` are a card as plain data, ``scorecard`` is the estimator. A fit makes cards
without some rows (``_folds``), rounds the ranker fitted to all of them (``_rounding``), finds the
probability at each total (``_risk_curve``, ``_logistic_fit``), and puts them together (``_build``,
``_variables``). ``_text``, ``_html``, ``_json`` and ``_sql`` write a card.
"""

from sklearn_rank.scorecard._html import to_html
from sklearn_rank.scorecard._json import card_from_json, card_to_json
from sklearn_rank.scorecard._sql import to_sql
from sklearn_rank.scorecard._text import to_frame, to_text
from sklearn_rank.scorecard.card import Card, Variable
from sklearn_rank.scorecard.scorecard import Scorecard

__all__ = [
    "Card",
    "Scorecard",
    "Variable",
    "card_from_json",
    "card_to_json",
    "to_frame",
    "to_html",
    "to_sql",
    "to_text",
]
