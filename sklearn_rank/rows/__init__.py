"""Rows: what every sum runs over, in groups, in pairs, and on one process or several."""

from sklearn_rank.rows.drawn_pairs import PairDraws
from sklearn_rank.rows.given_pairs import GivenPairs
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.rows.rows import FitRows, Rows
from sklearn_rank.rows.sample import priority_sample
from sklearn_rank.rows.sums import ALL_HERE, Block, Groups, Queries, Sums, shared_property

__all__ = [
    "ALL_HERE",
    "Block",
    "FitRows",
    "GivenPairs",
    "Groups",
    "PairDraws",
    "Preferences",
    "Queries",
    "Rows",
    "Sums",
    "priority_sample",
    "shared_property",
]
