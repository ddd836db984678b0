"""The scores of a fitted ranker, or a pipeline that ends with one, as a linear form or trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Floats
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.list_net_linear import ListNetLinear
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost
from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker
from sklearn_rank.export.search_engines._nodes import (
    Node,
    limits_of,
    step_node,
    tree_node,
    with_columns,
)
from sklearn_rank.export.search_engines.tree_arrays import trees_of

Score = Floats | list[Node]
"""Weights of the features, or trees, whose sum is a score but for a constant."""


def exported(model: Any) -> tuple[str, Score, float]:
    """Return the class of a fitted ranker, its score and the constant that is added to it.

    The score is that of `predict`, in binary mode of `decision_function`. An error names what no
    form can hold.
    """
    check_is_fitted(model)
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    ranker = steps[-1][1]
    owner = type(ranker).__name__
    score_of = next((f for cls, f in _SCORES.items() if isinstance(ranker, cls)), None)
    if score_of is None:
        names = ", ".join(cls.__name__ for cls in _SCORES)
        raise TypeError(
            f"{owner} cannot be exported to a search engine. Supported are {names}, alone or at "
            "the end of a Pipeline."
        )
    score = score_of(ranker, owner)
    constant = float(ranker.offset_) if ranker.relevance == "binary" else 0.0
    for name, step in reversed(steps[:-1]):
        score, shift = _fold_in(name, step, score, owner)
        constant += shift
    return owner, score, constant


def names_of(model: Any, feature_names: Sequence[str] | None) -> list[str]:
    """Return the names of the features, by default those of the training rows."""
    # A pipeline has them from its first step, which may be "passthrough".
    steps = getattr(model, "steps", [("", model)])
    first = next(step for _, step in steps if hasattr(step, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None) if feature_names is None else feature_names
    n_features, owner = first.n_features_in_, type(steps[-1][1]).__name__
    if names is None:
        raise ValueError(
            f"{owner} was fitted to {n_features} features without names. Pass feature_names, the "
            "names of the features in the search engine."
        )
    are_names = not isinstance(names, str) and all(isinstance(n, str) and n for n in names)
    if not are_names or len({*names}) != n_features or len(names) != n_features:
        raise ValueError(
            f"feature_names must name each of the {n_features} features of {owner} once, by "
            f"non-empty strings. Got {names!r}."
        )
    return list(map(str, names))


# Scores by class -------------------------------------------------------------------------------


def _of_linear(ranker: Any, owner: str) -> Score:
    if getattr(ranker, "kernel", "linear") != "linear":
        raise ValueError(
            f"{owner} with kernel={ranker.kernel!r} cannot be exported to a search engine; "
            "only kernel='linear' can."
        )
    return np.array(ranker.coef_, dtype=np.float64)


def _of_boosting(ranker: Any, owner: str) -> Score:
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    if hasattr(rules, "coefficients"):
        return np.asarray(rules.coefficients(weights, ranker.n_features_in_), dtype=np.float64)
    if not hasattr(rules, "step_functions"):
        raise ValueError(
            f"{owner} with weak_ranker={ranker.weak_ranker!r} cannot be exported to a search "
            "engine; only weak_ranker='stump' and 'feature' can."
        )
    steps = rules.step_functions(weights)
    for step in steps:
        missing, zero = step(np.array([np.nan, 0.0])).tolist()
        # A value of 0: no chosen stump is 1 where the feature is missing.
        missing_differs = not step.is_neutral and missing not in (0.0, zero)
        _refuse(owner, step.feature, step.bins.categories is not None, missing_differs)
    return [step_node(step) for step in steps]


def _of_trees(ranker: Any, owner: str) -> Score:
    trees = trees_of(ranker)
    for tree in trees:
        zero_left = limits_of(tree, ranker.engine_) >= 0
        is_unlike = tree.missing_left != zero_left
        if ranker.engine_ == "xgboost":  # right is its default where training had none
            is_unlike = tree.missing_left & ~zero_left
        is_unlike = is_unlike & np.logical_not(tree.is_neutral)
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            _refuse(owner, int(tree.feature[node]), node in tree.categories, bool(is_unlike[node]))
    return [tree_node(tree, ranker.engine_) for tree in trees]


def _refuse(owner: str, feature: int, is_categorical: bool, missing_differs: bool) -> None:
    """Raise ValueError for categories, and for missing values with scores other than those of 0."""
    if is_categorical:
        raise ValueError(
            f"{owner} has a split of categories, on column {feature}, which cannot be exported to "
            "a search engine: its models compare numbers. Encode categories as 0/1 features."
        )
    if missing_differs:
        raise ValueError(
            f"{owner} has learned from missing values of column {feature}, and scores them unlike "
            "0. This cannot be exported to a search engine, where a feature without a value is 0: "
            "fit the ranker to rows with 0 instead of NaN."
        )


_SCORES: dict[type, Callable[[Any, str], Score]] = {
    BoostedTreesRanker: _of_trees,
    KernelPairwiseSGDRanker: _of_linear,
    ListNetLinear: _of_linear,
    PNormPushRanker: _of_boosting,
    RankBoost: _of_boosting,
    SmoothMarginRanker: _of_boosting,
}


# Steps before the ranker -----------------------------------------------------------------------

_FOLDED = (
    "StandardScaler and MinMaxScaler (without clip) before a linear model, a ColumnTransformer "
    "that passes lists of columns on as they are, and a SimpleImputer with "
    "add_indicator that has met no missing value can be folded in"
)


def _fold_in(name: str, step: Any, score: Score, owner: str) -> tuple[Score, float]:
    """Return the score as a function of a step's input, not its output, and a constant."""
    columns = _passthrough_columns(step)
    if columns is not None:
        if isinstance(score, list):
            return [with_columns(tree, columns) for tree in score], 0.0
        return np.bincount(columns, score, step.n_features_in_).astype(np.float64), 0.0
    if _is_identity(step):
        return score, 0.0
    affine = _affine(step)
    if affine is None or isinstance(score, list):
        raise ValueError(
            f"The step {name!r}, {type(step).__name__}, before {owner} cannot be exported to a "
            f"search engine. Only {_FOLDED}. Compute it as a feature there, or leave it out."
        )
    factor, shift = affine
    return score * factor, float(np.sum(score * shift))


def _affine(step: Any) -> tuple[Any, Any] | None:
    """Return the factor and the shift of each feature, None for a step that is not affine."""
    if type(step) is StandardScaler:
        factor = 1.0 if step.scale_ is None else 1.0 / step.scale_
        return factor, (-step.mean_ * factor if step.with_mean else 0.0)
    if type(step) is MinMaxScaler and not step.clip:
        return step.scale_, step.min_
    return None


def _is_identity(step: Any) -> bool:
    """Whether a step leaves rows without missing values unchanged."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    if type(step) is SimpleImputer:
        fills_nan = step.missing_values != step.missing_values
        return bool(fills_nan and step.add_indicator and not len(step.indicator_.features_))
    return type(step) is FunctionTransformer and step.func is None


def _passthrough_columns(step: Any) -> list[int] | None:
    """Return the columns that a ColumnTransformer passes through; None if it does anything else."""
    if type(step) is not ColumnTransformer or step.transformer_weights:
        return None
    names = list(getattr(step, "feature_names_in_", range(step.n_features_in_)))
    positions: list[int] = []
    for _, transformer, columns in step.transformers_:
        if isinstance(transformer, str) and transformer == "drop":
            continue
        is_list = isinstance(columns, list) and {*map(type, columns)} <= {str, int}
        if not is_list or (columns and not _is_identity(transformer)):
            return None
        positions += [
            names.index(j) if isinstance(j, str) else range(len(names))[j] for j in columns
        ]
    return positions
