"""Scorecards: a ranker as a table of integer points."""

from sklearn_rank.scorecard._counterfactuals import Change, Counterfactual, counterfactuals
from sklearn_rank.scorecard._json import card_from_json, card_to_json
from sklearn_rank.scorecard._pages import report, to_html
from sklearn_rank.scorecard._pmml import to_pmml
from sklearn_rank.scorecard._points_table import to_csv, to_excel, to_frame
from sklearn_rank.scorecard._sql import to_sql
from sklearn_rank.scorecard._test_rows import test_rows
from sklearn_rank.scorecard._text import to_text
from sklearn_rank.scorecard._two_cards import CardComparison, compare_cards
from sklearn_rank.scorecard.card import Card
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
