"""Scorecards: a ranker as a table of integer points.

From the bottom up; imports go down this list only:

1. ``terms``, ``card``: a card as plain data. ``_adverse``, ``_input``, ``_log``, ``_owner``,
   ``_texts``: what all parts ask of one.
2. ``search``, ``risk``: settings chosen by folds; the probability at each total.
   ``forms``: what other systems read. ``monitoring``: tables for validation, from plain arrays.
3. ``fitting``: a card made of a fitted ranker. ``pages``: HTML. ``explaining``: reasons.
4. ``changes``: editing, recalibration, comparison. ``exports``: all forms by name.
5. ``scorecard``: the estimator.
"""

from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.changes._two_cards import CardComparison, compare_cards
from sklearn_rank.scorecard.explaining._counterfactuals import (
    Change,
    Counterfactual,
    counterfactuals,
)
from sklearn_rank.scorecard.forms._json import card_from_json, card_to_json
from sklearn_rank.scorecard.forms._pmml import to_pmml
from sklearn_rank.scorecard.forms._points_table import to_csv, to_excel, to_frame
from sklearn_rank.scorecard.forms._sql import to_sql
from sklearn_rank.scorecard.forms._test_rows import test_rows
from sklearn_rank.scorecard.forms._text import to_text
from sklearn_rank.scorecard.pages._pages import report, to_html
from sklearn_rank.scorecard.scorecard import Scorecard
from sklearn_rank.scorecard.terms import Axis, Pair, Variable

__all__ = [
    "Axis",
    "Card",
    "CardComparison",
    "Change",
    "Counterfactual",
    "Pair",
    "Scorecard",
    "Variable",
    "card_from_json",
    "card_to_json",
    "compare_cards",
    "counterfactuals",
    "report",
    "test_rows",
    "to_csv",
    "to_excel",
    "to_frame",
    "to_html",
    "to_pmml",
    "to_sql",
    "to_text",
]
