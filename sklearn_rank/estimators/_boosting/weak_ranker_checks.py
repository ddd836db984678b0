"""The parameter `weak_ranker` of boosting rankers, and the constraints on stumps."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils import Tags

from sklearn_rank._bins.binned_features import Binning
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Constraint, check_size, largest_size
from sklearn_rank.estimators._boosting.rounds_ranker import RoundsRanker
from sklearn_rank.models import WEAK_RANKER, StumpConstraints, Stumps, as_model


class WeakRankerChecks(RoundsRanker):
    """A ranker with the parameters `weak_ranker`, `max_bins` and `monotonic_cst`.

    It checks them, and gives stumps their constraints.
    """

    _allowed: ClassVar[dict[str, Constraint]] = RoundsRanker._allowed | {"weak_ranker": WEAK_RANKER}

    @property
    def _model(self) -> Any:
        """The family of weak rankers."""
        return as_model(self.weak_ranker)

    def _check_combination(self) -> None:
        super()._check_combination()
        self._check_stumps()
        reason, name = getattr(self._model, "refusal", None), type(self).__name__
        if reason:
            raise ValueError(f"weak_ranker={self.weak_ranker!r} of {name} can't be used: {reason}.")

    def _not_additive(self) -> str:
        if hasattr(self, "weak_rankers_"):
            is_additive = hasattr(self.weak_rankers_, "contributions")
        else:  # a user's own model may be additive: its rules show it after the fit
            is_allowed = self._allowed["weak_ranker"].allows(self.weak_ranker)
            is_additive = is_allowed and self._model.name != "estimator"
        needed = "with weak_ranker='stump', 'feature' or a model whose rules have contributions"
        return "" if is_additive else f"{needed}. Got weak_ranker={self.weak_ranker!r}"

    def _sum_by_feature(self, X: Any) -> Floats:
        return self.weak_rankers_.contributions(X, self.estimator_weights_, X.shape[1])

    @property
    def _has_stumps(self) -> bool:
        """Whether the weak rankers are stumps: the model with `constraints`."""
        return hasattr(self._model, "constraints")

    def _refused_by(self) -> str:
        """Return the setting that rules out constraints on stumps, or an empty string."""
        return "" if self._has_stumps else f"weak_ranker={self.weak_ranker!r}"

    @property
    def _wanted_categories(self) -> Any:
        return None if self._refused_by() else self.categorical_features

    def _check_stumps(self) -> None:
        """Raise ValueError for stump parameters that the weak ranker cannot use."""
        model = self._model
        if self._has_stumps:
            model.check()
        parameters = [(self, "monotonic_cst"), (self, "categorical_features")]
        if self._has_stumps:
            parameters += [(model, name) for name in Stumps().get_params()]
        settings = [
            f"{name} of {type(owner).__name__}"
            for owner, name in parameters
            if _is_used(getattr(owner, name))
        ]
        refused = self._refused_by()
        if refused and settings:
            raise ValueError(
                f"{settings[0]} is for stumps that are chosen one by one: it can't be used with "
                f"{refused}."
            )
        if getattr(model, "min_bin_events", 0) > 0 and self.relevance == "graded":
            raise ValueError(
                f"min_bin_events of {type(model).__name__} counts rows of the upper class: it "
                "needs relevance='binary'. Got relevance='graded'."
            )

    def _constraints(self) -> StumpConstraints:
        """Return the constraints on stumps of checked features."""
        codes = self.category_codes_
        stumps = self._model if self._has_stumps else Stumps()
        return stumps.constraints(
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            {} if codes is None else codes.categories,
            {} if codes is None else codes.orders,
            self.monotonic_cst,
            type(self).__name__,
        )

    def binning(self) -> Binning | None:
        """Return how the values of checked features become the bins of stumps.

        Returns
        -------
        Binning or None
            By positions of features; None if weak rankers take values, not bins.
        """
        return self._constraints().binning(self.max_bins) if self._has_stumps else None

    def stump_settings(self) -> dict[str, Any]:
        """Return `max_bins` and the constraints on stumps, by parameter, as plain values.

        Returns
        -------
        dict of str to object
            Features by their positions.
        """
        return {"max_bins": self.max_bins, **self._constraints().settings}

    def _check_features(self, X: Any) -> None:
        super()._check_features(X)
        max_value = getattr(self._model, "largest_value", np.inf)
        if max_value < np.inf:
            owner = f"{type(self).__name__} with weak_ranker={self.weak_ranker!r}"
            check_size(owner, largest_size(X), max_value)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags; missing and sparse input depend on the weak ranker."""
        tags = super().__sklearn_tags__()
        if self._allowed["weak_ranker"].allows(self.weak_ranker):
            tags.input_tags.allow_nan = self._model.allow_nan
            tags.input_tags.sparse = self._model.sparse
        return tags


def _is_used(value: Any) -> bool:
    """Whether a value of a parameter constrains stumps; "from_dtype" waits for the features."""
    is_unset = value is None or isinstance(value, str) or (np.isscalar(value) and value == 0)
    return not is_unset and np.size(value) > 0
