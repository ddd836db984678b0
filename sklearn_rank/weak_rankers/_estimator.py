"""The old name of `sklearn_rank.models.rules`, for files of version 0.1.0."""

from sklearn_rank.models.rules import EstimatorRules  # noqa: F401
