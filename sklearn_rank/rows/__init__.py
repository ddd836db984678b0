"""Rows: what every sum runs over, in groups, in pairs, and on one process or several."""

from sklearn_rank.rows.groups import Block, Groups, Queries
from sklearn_rank.rows.preferences import Preferences
from sklearn_rank.rows.processes import ALL_HERE, Collective, Sums, shared_property
from sklearn_rank.rows.rows import FitRows, Rows
from sklearn_rank.rows.sample import priority_sample

__all__ = [
    "ALL_HERE",
    "Block",
    "Collective",
    "FitRows",
    "Groups",
    "Preferences",
    "Queries",
    "Rows",
    "Sums",
    "priority_sample",
    "shared_property",
]
