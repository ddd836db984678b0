"""Stumps as a model: their parameters, many by feature, and the constraints that these are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_rank._bins.binned_features import (
    BinnedFeatures,
    Binning,
    BinSizes,
    FeatureBins,
    encode,
)
from sklearn_rank._core.protocols import Floats, Model, Values
from sklearn_rank._core.rows import FitRows, number_of_rows
from sklearn_rank._core.tolerances import SIZE_ROUNDING
from sklearn_rank._core.validation import Constraint, Described, Number, check_parameters
from sklearn_rank.models.category_levels import category_bins
from sklearn_rank.models.estimator import EstimatorModel
from sklearn_rank.models.linear import Features
from sklearn_rank.models.stump_columns import BoundedStumps, StumpColumns, Subsets

__all__ = ["Stumps"]

Positions = tuple[int, ...]

ROWS_BY_LEVEL = 3.0
"""Rows that a category needs for each category of its feature, where bins have a minimum size."""

ROWS_OF_LEVEL, SHARE_OF_LEVEL = 10.0, 0.02
"""Rows that a category needs otherwise, or that share of all rows if it is less."""

_NO_CATEGORIES: Mapping[int, Any] = {}


def _is_dict(value: Any) -> bool:
    """Whether a parameter is None or has features as keys."""
    return value is None or hasattr(value, "items")


def _are_features(value: Any) -> bool:
    """Whether a parameter names features."""
    if value is None or isinstance(value, str):
        return value in (None, "from_dtype")
    return np.ndim(value) == 1 and (not len(value) or np.asarray(value).dtype.kind in "biuUO")


CATEGORICAL = Described(
    "'from_dtype', None, or an array of indices, names or booleans of features", _are_features
)
"""What ``categorical_features`` may be, as in scikit-learn's HistGradientBoosting."""

_DICT = "None or a dict from names or indices of features to "


def by_position(
    owner: str, parameter: str, by_feature: Mapping[Any, Any], names: Values | None, n_features: int
) -> dict[int, Any]:
    """Convert the keys of a dict from feature names or indices to positions."""
    positions: dict[Any, int] = {} if names is None else {name: j for j, name in enumerate(names)}
    positions.update({j: j for j in range(n_features)})
    # True and False are equal to 1 and 0, but name no features.
    unknown = [k for k in by_feature if np.asarray(k).dtype.kind == "b" or k not in positions]
    if unknown:
        raise ValueError(
            f"{parameter} of {owner} has {unknown}, which are neither feature names nor indices "
            f"below {n_features}."
        )
    values = {positions[key]: value for key, value in by_feature.items()}
    if len(values) < len(by_feature):
        raise ValueError(f"{parameter} of {owner} has a feature twice. Got {list(by_feature)}.")
    return values


def check_monotonic(
    owner: str, monotonic_cst: Any, names: Values | None, n_features: int, categorical: Positions
) -> Positions | None:
    """Return the monotonic constraint of each feature (-1, 0 or 1), or None without constraints."""
    if monotonic_cst is None:
        return None
    signs = monotonic_cst
    if hasattr(signs, "keys"):
        by_feature = by_position(owner, "monotonic_cst", signs, names, n_features)
        signs = [by_feature.get(j, 0) for j in range(n_features)]
    signs = np.array(signs, dtype=object)
    if signs.shape != (n_features,) or not all(sign in (-1, 0, 1) for sign in signs):
        raise ValueError(
            f"monotonic_cst of {owner} must be -1, 0 or 1 for each of the "
            f"{n_features} features. Got {monotonic_cst!r}."
        )
    if any(signs[j] for j in categorical):
        raise ValueError(
            f"monotonic_cst of {owner} must be 0 for categories, which have "
            f"no order. Got {monotonic_cst!r}, and categorical features {list(categorical)}."
        )
    return tuple(signs.astype(int).tolist())


@dataclass(frozen=True, eq=False)
class StumpConstraints:
    """Constraints on stumps, with features given by column.

    Attributes
    ----------
    monotonic : dict of int to int
        1 where the score must not fall with a feature, -1 where it must not rise.
    max_features, max_thresholds : int or None
        Largest number of features, and of weak rankers with a net coefficient other than zero.
    thresholds : dict of int to ndarray
        The only thresholds of some features, increasing.
    min_bin_size : float
        Share of the weight of the training rows that every bin must have.
    min_bin_events : float
        Weight of the rows of the upper class that every bin must have.
    n_categories : dict of int to int
        Number of codes 0, 1, ... of each categorical feature.
    special : dict of int to ndarray
        Special codes of some features, increasing.
    category_bins : dict of int to FeatureBins
        First bins of categorical features whose levels have an order, or are in groups.
    """

    monotonic: Mapping[int, int] = field(default_factory=dict)
    max_features: int | None = None
    max_thresholds: int | None = None
    thresholds: Mapping[int, Floats] = field(default_factory=dict)
    min_bin_size: float = 0.0
    min_bin_events: float = 0.0
    n_categories: Mapping[int, int] = field(default_factory=dict)
    special: Mapping[int, Floats] = field(default_factory=dict)
    category_bins: Mapping[int, FeatureBins] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The constraints by parameter of `Stumps`, as plain values that can be compared."""

        def as_lists(by_feature: Mapping[int, Floats]) -> dict[int, list[float]]:
            return {j: values.tolist() for j, values in sorted(by_feature.items())}

        return {
            "monotonic_cst": dict(self.monotonic),
            "max_features_used": self.max_features,
            "max_thresholds": self.max_thresholds,
            "thresholds": as_lists(self.thresholds),
            "min_bin_size": self.min_bin_size,
            "min_bin_events": self.min_bin_events,
            "categorical_features": sorted(self.n_categories),
            "special_values": as_lists(self.special),
            **{
                name: {
                    j: bins.categories.tolist()
                    for j, bins in sorted(self.category_bins.items())
                    if bins.ordered == is_ordered and bins.categories is not None
                }
                for name, is_ordered in (("category_order", True), ("category_groups", False))
            },
        }

    def binning(self, max_bins: int) -> Binning:
        """Return how values become bins, before small bins are merged."""
        return Binning(
            max_bins, self.thresholds, self.special, self.n_categories, self.category_bins
        )

    def bin_sizes(self, rows: FitRows) -> BinSizes:
        """Return the minimum weight of a bin for these training rows."""
        weight = rows.weight
        events = weight * rows.rows.y[rows.order]
        total_weight = float(rows.total(float(weight.sum()))) * (1 - SIZE_ROUNDING)
        weight_of_row = total_weight / number_of_rows(weight, rows)
        least_weight, least_level = self.min_bin_size * total_weight, ROWS_BY_LEVEL * weight_of_row
        if least_weight == 0:
            least_level = min(ROWS_OF_LEVEL * weight_of_row, SHARE_OF_LEVEL * total_weight)
        # A hair less than asked for: rounding of a sum must not merge a bin.
        least_events = self.min_bin_events * (1 - SIZE_ROUNDING)
        return BinSizes(weight, events, least_weight, least_events, rows, least_level)


class Stumps(BaseEstimator):
    r"""Threshold weak rankers: h is 1 where a feature exceeds a threshold, or is in a set.

    Pass it as `weak_ranker` of a boosting ranker: ``weak_ranker="stump"`` is ``Stumps()``. Like an
    estimator, it has parameters, but it has no `fit`: the booster chooses a stump in each round.

    Without constraints, categories and special codes, each threshold puts missing values (NaN) on
    the better side, or separates them from all others. With any of these, the model is a table of
    points: h is ``1[x > t]``, 0 where x is missing or a special code, ``1[x is missing]``, ``1[x ==
    code]``, or ``1[x in S]`` with S a subset of the categories.

    Parameters
    ----------
    special_values : dict or None, default=None
        Values that are codes, such as -99, rather than amounts: a list of codes for each feature,
        by name or index. Each code gets its own weak ranker.
    thresholds : dict or None, default=None
        The only thresholds allowed for some features: increasing numbers, by name or index of
        the feature.
    max_features_used : int in [1, inf) or None, default=None
        Maximum number of features in the model.
    max_thresholds : int in [1, inf) or None, default=None
        Maximum number of different weak rankers with a nonzero net coefficient. A threshold, a
        subset of categories, "is missing" and each special code count as one. Once the maximum is
        reached, further rounds only change these coefficients.
    min_bin_size : float in [0, 0.5], default=0.0
        Minimum share of the weight of the training rows in every bin of a feature. Smaller
        neighbouring bins are merged; rare categories are pooled, or count as missing if they are
        too few even together. Missing values and special codes that are too few get no weak ranker.
        Because the best set of many categories fits noise, with a value above 0 each of k
        categories also needs 3 k rows. At 0, a category needs ten rows (on small data, a fiftieth
        of all), and so do missing values and all rarer categories together, which otherwise count
        as missing. If missing values have no weak ranker, they and unseen levels get the mean of
        the other training rows, which changes no score on average.
    min_bin_events : float in [0, inf), default=0
        Minimum weight of the rows of ``classes_[1]`` in every bin; smaller bins are treated as
        with `min_bin_size`. Only with ``relevance="binary"``.
    category_order : dict or None, default=None
        The levels of some categorical features from low to high, by name or index of the feature.
        They then have thresholds like numbers, so each bin is a range of levels, and they may have
        `monotonic_cst`. Levels in a nested list are never separated: ``{"grade": ["A", ["B", "C"],
        "D"]}``. All levels of the training rows must be named. An ordered categorical column of
        pandas has the order of its dtype unless it is listed here or in `category_groups`.
    category_groups : dict or None, default=None
        Levels of categorical features that are treated as one, by name or index of the feature:
        ``{"home": [["own", "mortgage"], ["rent", "other"]]}``. Levels in no group remain separate
        categories.

    See Also
    --------
    sklearn_rank.RankBoost, sklearn_rank.PNormPushRanker : Boosters of stumps.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.models import Stumps
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=20, weak_ranker=Stumps(max_thresholds=5)).fit(X, y)
    >>> sum(
    ...     len(step.values) - 2
    ...     for step in ranker.weak_rankers_.step_functions(ranker.estimator_weights_)
    ... )
    5

    The parameters can be searched for, as `weak_ranker__max_thresholds` for example:

    >>> search = GridSearchCV(ranker, {"weak_ranker__max_thresholds": [1, 5]}, cv=3).fit(X, y)
    >>> search.best_params_
    {'weak_ranker__max_thresholds': 5}
    """

    name = "stump"
    allow_nan = True
    sparse = False

    _allowed: ClassVar[dict[str, Constraint]] = {
        "special_values": Described(_DICT + "lists of codes", _is_dict),
        "thresholds": Described(_DICT + "increasing values", _is_dict),
        "category_order": Described(_DICT + "levels in order", _is_dict),
        "category_groups": Described(_DICT + "lists of levels", _is_dict),
        "max_features_used": Number(1, integer=True, other=(None,)),
        "max_thresholds": Number(1, integer=True, other=(None,)),
        "min_bin_size": Number(0, 0.5),
        "min_bin_events": Number(0, closed="left"),
    }

    def __init__(
        self,
        *,
        special_values: Mapping[Any, Any] | None = None,
        thresholds: Mapping[Any, Any] | None = None,
        max_features_used: int | None = None,
        max_thresholds: int | None = None,
        min_bin_size: float = 0.0,
        min_bin_events: float = 0,
        category_order: Mapping[Any, Any] | None = None,
        category_groups: Mapping[Any, Any] | None = None,
    ) -> None:
        self.special_values = special_values
        self.thresholds = thresholds
        self.max_features_used = max_features_used
        self.max_thresholds = max_thresholds
        self.min_bin_size = min_bin_size
        self.min_bin_events = min_bin_events
        self.category_order = category_order
        self.category_groups = category_groups

    def check(self) -> None:
        """Raise ValueError for an invalid parameter."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._allowed)

    def constraints(
        self,
        n_features: int,
        names: Values | None = None,
        categories: Mapping[int, Values] = _NO_CATEGORIES,
        orders: Mapping[int, Any] = _NO_CATEGORIES,
        monotonic_cst: Any = None,
        booster: str = "",
    ) -> StumpConstraints:
        """Convert the parameters to constraints on columns.

        Parameters
        ----------
        n_features : int
            Number of features.
        names : ndarray of shape (n_features,) or None
            Their names.
        categories : dict of int to ndarray
            The categories of each categorical feature by their codes.
        orders : dict of int to list
            The levels of features whose type of column orders them.
        monotonic_cst : array-like, dict or None
            The parameter of the booster.
        booster : str
            Its class, for messages.
        """
        owner, categorical = type(self).__name__, tuple(categories)
        labels = [*range(n_features)] if names is None else [repr(str(name)) for name in names]
        bins = self._category_bins(names, labels, categories, orders)
        has_no_order = tuple(j for j in categorical if j not in bins or not bins[j].ordered)
        signs = check_monotonic(booster, monotonic_cst, names, n_features, has_no_order)

        def numbers(parameter: str) -> dict[int, Floats]:
            by_feature = getattr(self, parameter) or {}
            by_column = by_position(owner, parameter, by_feature, names, n_features)
            return {
                j: _check_numbers(owner, parameter, labels[j], values, j in categorical)
                for j, values in by_column.items()
            }

        return StumpConstraints(
            {j: sign for j, sign in enumerate(signs or ()) if sign},
            self.max_features_used,
            self.max_thresholds,
            numbers("thresholds"),
            float(self.min_bin_size),
            float(self.min_bin_events),
            {j: len(levels) for j, levels in categories.items()},
            numbers("special_values"),
            bins,
        )

    def _category_bins(
        self,
        names: Values | None,
        labels: Sequence[Any],
        categories: Mapping[int, Values],
        orders: Mapping[int, Any],
    ) -> dict[int, FeatureBins]:
        """Return the initial bins of categorical features that are ordered or grouped."""
        owner, bins = type(self).__name__, {}
        for parameter in ("category_order", "category_groups"):
            by_feature = getattr(self, parameter) or {}
            by_column = by_position(owner, parameter, by_feature, names, len(labels))
            for j, levels in by_column.items():
                if j not in categories:
                    raise ValueError(
                        f"{parameter} of {owner} is for categorical features. Feature {labels[j]} "
                        "is not one of them."
                    )
                if j in bins:
                    raise ValueError(
                        f"Feature {labels[j]} is in both category_order and category_groups of "
                        f"{owner}: group its levels by lists in category_order."
                    )
                bins[j] = category_bins(owner, parameter, str(labels[j]), levels, categories[j])
        for j in set(orders) - set(bins):
            settings = owner, "category_order", str(labels[j])
            bins[j] = category_bins(*settings, orders[j], categories[j])
        return bins

    def on_rows(self, rows: FitRows) -> StumpColumns:
        """Return the stumps on the training rows."""
        constraints: StumpConstraints | None = rows.constraints
        constraints = self.constraints(rows.X.shape[1]) if constraints is None else constraints
        binned = self._binned(rows, constraints)
        subsets = Subsets.of(rows.earlier_rules, binned.bins)
        if not (constraints.monotonic or constraints.max_features or constraints.max_thresholds):
            # Without any constraint the model is no table of points: NaN may be on either side.
            is_unconstrained = not any(constraints.settings.values())
            return StumpColumns(binned, rows, both_sides=is_unconstrained, subsets=subsets)
        max_sizes = [constraints.max_features, constraints.max_thresholds]
        return BoundedStumps(binned, rows, subsets, constraints.monotonic, max_sizes)

    def _binned(self, rows: FitRows, constraints: StumpConstraints) -> BinnedFeatures:
        """Return the bins of the training rows."""
        X, order = rows.X, rows.order
        if hasattr(X, "bins"):
            bins, codes = X.bins, X.codes(order)
        else:
            bins = constraints.binning(rows.max_bins).find(rows.rows, rows.threads)
            codes = encode(X, order, bins, rows.threads)
        return BinnedFeatures.of(bins, codes, constraints.bin_sizes(rows))


def _check_numbers(
    owner: str, parameter: str, feature: Any, numbers: Any, is_categorical: bool
) -> Floats:
    """Return the thresholds or special codes of a feature that is not categorical, increasing."""
    if is_categorical:
        raise ValueError(
            f"{parameter} of {owner} requires numeric features. Feature {feature} is categorical."
        )
    values = np.asarray(numbers) if np.iterable(numbers) else np.array(None)
    is_empty = values.ndim == 1 and not len(values)
    if values.ndim != 1 or not (is_empty or values.dtype.kind in "iuf"):
        raise ValueError(
            f"{parameter} of {owner} must be lists of numbers. Feature {feature} has {numbers!r}."
        )
    values = values.astype(np.float64) + 0.0  # no negative zero
    if not np.isfinite(values).all():
        raise ValueError(
            f"{parameter} of {owner} must be finite: missing values (NaN) have their own bin "
            f"already. Those of feature {feature} are {values.tolist()}."
        )
    is_ordered = parameter == "thresholds"
    increasing = values if is_ordered else np.sort(values)
    if not (np.diff(increasing) > 0).all():
        requirement = "increase" if is_ordered else "have each code once"
        raise ValueError(
            f"{parameter} of {owner} must {requirement}. Those of feature {feature} are "
            f"{values.tolist()}."
        )
    return increasing


WEAK_RANKERS: dict[str, Model] = {"stump": Stumps(), "feature": Features()}
"""Each `Model` of the package by its name as `weak_ranker` of a boosting ranker."""


def as_model(weak_ranker: Any) -> Model:
    """Return the model for a name or an estimator; return other models unchanged."""
    if isinstance(weak_ranker, str):
        return WEAK_RANKERS[weak_ranker]
    return weak_ranker if hasattr(weak_ranker, "on_rows") else EstimatorModel(weak_ranker)


def _is_weak_ranker(value: Any) -> bool:
    """Whether a parameter is a name, an estimator, or an object of the protocol `Model`."""
    if isinstance(value, str):
        return value in WEAK_RANKERS
    is_estimator = all(hasattr(value, name) for name in ("fit", "predict", "get_params"))
    return not isinstance(value, type) and (is_estimator or hasattr(value, "on_rows"))


WEAK_RANKER = Described(
    f"one of {', '.join(map(repr, WEAK_RANKERS))}, a scikit-learn regressor or classifier, or a "
    "model with on_rows",
    _is_weak_ranker,
)
"""What ``weak_ranker`` may be."""
