"""Notes on columns: those that know the answer, are constant, or have drifted."""

from sklearn_rank.cli._tables.column_notes import (
    ColumnNote,
    column_notes,
    column_summaries,
    drift_notes,
)

__all__ = ["ColumnNote", "column_notes", "column_summaries", "drift_notes"]
