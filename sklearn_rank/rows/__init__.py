"""Rows: what every sum runs over, in groups, in pairs, and on one process or several."""

from sklearn_rank.rows.groups import Block, GroupedRows, Groups
from sklearn_rank.rows.preferences import Preferences

__all__ = ["Block", "GroupedRows", "Groups", "Preferences"]
