"""Stored models of other versions: a stamp, and a warning."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from sklearn_rank._core.release import __version__
from sklearn_rank._core.warnings import warn

_STAMP = "_sklearn_rank_version"

FIT_TASK = "_fit_task"
"""Attribute that holds what tells the callbacks of an estimator while it is fitted."""


class InconsistentRankerVersionWarning(InconsistentVersionWarning):
    """Warns that a model was stored by another version of sklearn_rank.

    A subclass, so that a filter or a handler for scikit-learn's warning is one for this, too.
    Its text names this package; its attributes are scikit-learn's, with versions of this
    package: `estimator_name`, `original_sklearn_version` and `current_sklearn_version`.
    """

    def __str__(self) -> str:
        """Return one sentence: who was stored and loaded by what, and what to do."""
        return (
            f"This {self.estimator_name} was stored by sklearn_rank "
            f"{self.original_sklearn_version} and loaded by {self.current_sklearn_version}: "
            "check that it still gives the same scores, or train it anew."
        )


def stamped_state(estimator: Any) -> dict[str, Any]:
    """Return the attributes and the version of this package: the ``__getstate__`` of estimators.

    For pickle, joblib and skops. scikit-learn stamps its own estimators only. What belongs to a
    fit that goes on is left out: a callback gets a copy of the estimator, which it may store.
    """
    state: dict[str, Any] = BaseEstimator.__getstate__(estimator)
    return {name: one for name, one in state.items() if name != FIT_TASK} | {_STAMP: __version__}


def take_state(estimator: Any, state: dict[str, Any]) -> None:
    """Take the attributes; warn when another version has stored them: ``__setstate__``."""
    attributes = dict(state)
    version = attributes.pop(_STAMP, "unknown")
    if version != __version__:
        warn(
            InconsistentRankerVersionWarning(
                estimator_name=type(estimator).__name__,
                current_sklearn_version=__version__,
                original_sklearn_version=version,
            )
        )
    BaseEstimator.__setstate__(estimator, attributes)
