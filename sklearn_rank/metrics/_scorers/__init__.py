"""The old name of `sklearn_rank.metrics.scorers`, for files of version 0.1.0."""

from sklearn_rank.metrics.scorers import RankingScorer  # noqa: F401
