"""The old name of `sklearn_rank.model_selection.splitters`, for files of version 0.1.0."""

from sklearn_rank.model_selection.splitters import QueryKFold, QueryShuffleSplit  # noqa: F401
