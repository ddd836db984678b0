"""Stored models of other versions: a stamp, and a warning."""

from __future__ import annotations

from inspect import signature
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

from sklearn_rank._release import __version__
from sklearn_rank._warnings import warn

_STAMP = "_sklearn_rank_version"
_BEFORE_STAMPS = "0.1.0"
"""The only release that stored models without a stamp."""


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


class VersionedMixin:
    """Stamps what is stored with the version of this package, and warns of other versions.

    For pickle, joblib and skops, which all store and restore an estimator by
    ``__getstate__`` and ``__setstate__``. Stands before ``BaseEstimator`` among the bases,
    which stamps estimators of scikit-learn only.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and the stamp."""
        return {**super().__getstate__(), _STAMP: __version__}  # type: ignore[dict-item]

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes; warn when another version has stored them."""
        attributes = dict(state)
        version = attributes.pop(_STAMP, _BEFORE_STAMPS)
        if version != __version__:
            warn(
                InconsistentRankerVersionWarning(
                    estimator_name=type(self).__name__,
                    current_sklearn_version=__version__,
                    original_sklearn_version=version,
                ),
            )
            attributes = {**defaults_of(type(self)), **attributes}
        super().__setstate__(attributes)  # type: ignore[misc]


def defaults_of(estimator: type) -> dict[str, Any]:
    """Return the defaults of all parameters, for those that an old version did not have."""
    parameters = signature(estimator).parameters
    return {name: one.default for name, one in parameters.items() if one.default is not one.empty}
