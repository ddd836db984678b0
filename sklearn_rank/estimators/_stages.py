"""Scores and labels after each round, for rankers that are built round by round."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._protocols import Floats, Values
from sklearn_rank.base import is_binary


def has_stages(ranker: Any) -> bool:
    """Whether the model was built round by round."""
    n_bags = getattr(ranker, "n_bags", 1)
    if n_bags != 1:
        raise AttributeError(
            f"{type(ranker).__name__} has stages only with n_bags=1: n_bags={n_bags} is the mean "
            "of several fits."
        )
    if not hasattr(ranker, "solver") or ranker.solver_in_use.has_stages:
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has stages only with solver='coordinate': "
        f"solver={ranker.solver!r} moves all weights at once."
    )


def has_binary_stages(ranker: Any) -> bool:
    """Whether there is a decision function for each stage."""
    return is_binary(ranker) and has_stages(ranker)


class StagedMixin:
    """Staged methods of a ranker with `_stages`, which yields scores, and `staged_offsets_`."""

    @available_if(has_binary_stages)
    def staged_decision_function(self: Any, X: Any) -> Iterator[Floats]:
        """Yield the decision function after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Scores plus the offset of the stage; the last is `decision_function`.
        """
        check_is_fitted(self)
        for scores, offset in zip(self._stages(X), self.staged_offsets_, strict=True):
            yield scores + offset

    @available_if(has_stages)
    def staged_predict(self: Any, X: Any) -> Iterator[Values]:
        """Yield what `predict` would return after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Labels (binary mode) or scores (graded mode).
        """
        if self.relevance == "graded":
            yield from self._stages(X)
            return
        for decision in self.staged_decision_function(X):
            yield self._label(decision)
