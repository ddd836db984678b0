"""Scorecards: a ranker as a table of integer points.

``card`` is a card as plain data, ``scorecard`` is the estimator. A fit makes cards without each
fold (``_folds``), rounds the ranker fitted to all rows (``_rounding``), fits the probability at
each total (``_risk_curve``, ``_logistic_fit``), and writes the card (``_build``). ``_exports`` has
the methods that return it as text, HTML, JSON and SQL (``_text``, ``_html``, ``_json``, ``_sql``).
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
