"""The parameters of the boosting rankers that speak of stumps, and those of `Stumps`."""

from __future__ import annotations

from copy import copy
from inspect import signature
from typing import Any, ClassVar

import numpy as np

from sklearn_rank._validation import Constraint, Number
from sklearn_rank.bins.binned_features import Binning
from sklearn_rank.bins.categories import CategoricalFeatures
from sklearn_rank.estimators._feature_parameters import CategoricalMixin
from sklearn_rank.models import StumpConstraints, Stumps, as_model

_SHARED = ("max_bins", "monotonic_cst", "categorical_features")
"""Parameters that boosters and `Stumps` have."""


class ConstrainedMixin(CategoricalMixin):
    """Stumps and their parameters, before `BaseRanker` among the bases."""

    _constraints_allowed: ClassVar[dict[str, Constraint]] = {
        "max_bins": Number(2, 65_535, integer=True),
        "categorical_features": CategoricalFeatures(),
    }

    def _refused_by(self: Any) -> str:
        """Return the parameter with which stumps can't be constrained; empty when they can."""
        has_stumps = hasattr(as_model(self.weak_ranker), "constraints")
        return "" if has_stumps else f"weak_ranker={self.weak_ranker!r}"

    @property
    def _stumps(self: Any) -> Stumps | None:
        """The stumps, with the ranker's parameters where theirs are None; None without stumps."""
        model: Any = as_model(self.weak_ranker)
        if not hasattr(model, "constraints"):
            return None
        stumps: Stumps = copy(model)
        for name in _SHARED:
            if getattr(stumps, name) is None:
                setattr(stumps, name, getattr(self, name))
        return stumps

    @property
    def _most_bins(self: Any) -> int:
        """Maximum number of bins of a feature."""
        return self.max_bins if self._stumps is None else self._stumps.max_bins

    @property
    def _wanted_categories(self) -> Any:
        stumps = None if self._refused_by() else self._stumps
        return None if stumps is None else stumps.categorical_features

    def _check_combination(self: Any) -> None:
        super()._check_combination()  # type: ignore[misc]
        model: Any = as_model(self.weak_ranker)
        if self._stumps is not None:
            model.check()
            self._check_shared(model)
        refused, used = self._refused_by(), self.used_constraints()
        if refused and used:
            raise ValueError(
                f"{used[0]} is for stumps that are chosen one by one: it can't be used with "
                f"{refused}."
            )
        if getattr(model, "min_bin_events", 0) > 0 and self.relevance == "graded":
            raise ValueError(
                f"min_bin_events of {type(model).__name__} counts rows of the upper class: it "
                "needs relevance='binary'. Got relevance='graded'."
            )

    def _check_shared(self: Any, stumps: Stumps) -> None:
        """Raise ValueError for a parameter that the ranker and the stumps set differently."""
        defaults = signature(type(self)).parameters
        for name in _SHARED:
            own, given = getattr(self, name), getattr(stumps, name)
            is_set = given is not None and not _is_same(own, defaults[name].default)
            if is_set and not _is_same(own, given):
                owner = type(self).__name__
                raise ValueError(
                    f"{name} of {owner} and of its {type(stumps).__name__} must be the same, or "
                    f"only one of them set. Got {owner}({name}={own!r}) and "
                    f"{type(stumps).__name__}({name}={given!r})."
                )

    def used_constraints(self: Any) -> list[str]:
        """Return the parameters that constrain stumps, of the ranker or its `Stumps`.

        Returns
        -------
        list of str
            Such as "thresholds of Stumps".
        """
        model: Any = as_model(self.weak_ranker)
        return [
            f"{name} of {type(owner).__name__}"
            for owner in ((self, model) if hasattr(model, "constraints") else (self,))
            for name, unused in Stumps().get_params().items()
            if name != "max_bins" and _is_used(getattr(owner, name, unused), unused)
        ]

    def _constraints(self: Any) -> StumpConstraints | None:
        """Return the constraints on stumps of checked features; None without stumps."""
        stumps = None if self._refused_by() else self._stumps
        if stumps is None:
            return None
        codes = self.category_codes
        n_categories = () if codes is None else [len(one) for one in codes.known]
        has_signs = as_model(self.weak_ranker).monotonic_cst is not None  # type: ignore[attr-defined]
        return stumps.constraints(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            dict(zip(self._categorical_positions, n_categories, strict=True)),
            "" if has_signs else type(self).__name__,
        )

    def binning(self) -> Binning:
        """Return how the values of checked features become bins of stumps.

        Returns
        -------
        Binning
            With features by their positions.
        """
        return (self._constraints() or StumpConstraints()).binning(self._most_bins)

    def stump_settings(self) -> dict[str, Any]:
        """Return the most bins and the constraints of the stumps by parameter, as plain values.

        Returns
        -------
        dict of str to object
            Features by their positions.
        """
        constraints = self._constraints() or StumpConstraints()
        return {"max_bins": self._most_bins, **constraints.settings}


def _is_used(value: Any, unused: Any) -> bool:
    """Whether a value of a parameter constrains stumps; "from_dtype" waits for the features."""
    is_open = isinstance(value, str) and value == "from_dtype"
    return not is_open and np.size(value) > 0 and not _is_same(value, unused)


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal: numbers, names, dicts or lists."""
    return np.array_equal(np.array(one, dtype=object), np.array(other, dtype=object))
