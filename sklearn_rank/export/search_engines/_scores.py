"""The scores of a fitted ranker, or a pipeline that ends with one, as a linear form or trees."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
    Leaf,
    Node,
    limits_of,
    step_node,
    tree_node,
    with_columns,
)
from sklearn_rank.export.search_engines.tree_arrays import (
    TreeArrays,
    trees_of_lightgbm,
    trees_of_xgboost,
)
from sklearn_rank.models import StepFunction


@dataclass(frozen=True, eq=False)
class LinearScore:
    """The score ``weights @ x + constant``."""

    weights: Floats
    constant: float


@dataclass(frozen=True)
class TreeScore:
    """The sum of trees and a constant."""

    trees: list[Node]
    constant: float

    def all_trees(self) -> list[Node]:
        """Return the trees, the last of them a leaf with the constant unless that is zero."""
        has_constant = self.constant != 0 or not self.trees
        return [*self.trees, *([Leaf(self.constant)] if has_constant else [])]


Score = LinearScore | TreeScore


def exported(model: Any) -> tuple[str, Score]:
    """Return the class of a fitted ranker and its score; an error names what no form can hold.

    The score is that of `predict`, in binary mode of `decision_function`.
    """
    check_is_fitted(model)
    steps = model.steps if isinstance(model, Pipeline) else [("", model)]
    ranker = steps[-1][1]
    owner = type(ranker).__name__
    of_class = next((one for kind, one in _SCORES.items() if isinstance(ranker, kind)), None)
    if of_class is None:
        known = ", ".join(kind.__name__ for kind in _SCORES)
        raise TypeError(
            f"{owner} can't be written for a search engine. Those that can: {known}, alone or at "
            "the end of a Pipeline."
        )
    score = of_class(ranker, owner)
    if ranker.relevance == "binary":
        score = replace(score, constant=score.constant + float(ranker.offset_))
    for name, step in reversed(steps[:-1]):
        score = _before(name, step, score, owner)
    return owner, score


def names_of(model: Any, given: Sequence[str] | None, owner: str) -> list[str]:
    """Return the names of the features, as given or as the model learned them."""
    # A pipeline has them from its first step, which may be "passthrough".
    steps = [one for _, one in getattr(model, "steps", [("", model)])]
    first = next(one for one in steps if hasattr(one, "n_features_in_"))
    names = getattr(first, "feature_names_in_", None) if given is None else given
    n_features = first.n_features_in_
    if names is None:
        raise ValueError(
            f"{owner} was fitted to {n_features} features without names. Pass feature_names, the "
            "names of the features in the search engine."
        )
    are_names = not isinstance(names, str) and all(isinstance(one, str) and one for one in names)
    if not are_names or len({*names}) != n_features or len(names) != n_features:
        raise ValueError(
            f"feature_names must name each of the {n_features} features of {owner} once, by texts "
            f"that are not empty. Got {names!r}."
        )
    return list(map(str, names))


# Scores by class -------------------------------------------------------------------------------


def _of_linear(ranker: Any, owner: str) -> Score:
    if getattr(ranker, "kernel", "linear") != "linear":
        raise ValueError(
            f"{owner} with kernel={ranker.kernel!r} can't be written for a search engine: only "
            "kernel='linear' has a form there."
        )
    return LinearScore(np.array(ranker.coef_, dtype=np.float64), 0.0)


def _of_boosting(ranker: Any, owner: str) -> Score:
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    if hasattr(rules, "coefficients"):
        return LinearScore(rules.coefficients(weights, ranker.n_features_in_), 0.0)
    if not hasattr(rules, "step_functions"):
        raise ValueError(
            f"{owner} with weak_ranker={ranker.weak_ranker!r} can't be written for a search "
            "engine: 'stump' and 'feature' can."
        )
    steps = rules.step_functions(weights)
    for step in steps:
        _check_step(step, owner)
    return TreeScore([step_node(step) for step in steps], 0.0)


def _check_step(step: StepFunction, owner: str) -> None:
    """Raise ValueError for categories, and for missing values that are not scored as 0 is."""
    if step.bins.categories is not None:
        raise _categories(owner, step.feature)
    missing, zero = step(np.array([np.nan, 0.0])).tolist()
    if missing not in (0.0, zero):  # 0.0: no stump that was chosen is 1 where it is missing
        raise _missing(owner, step.feature)


def _of_trees(ranker: Any, owner: str) -> Score:
    is_xgboost = ranker.engine_ == "xgboost"
    trees = (trees_of_xgboost if is_xgboost else trees_of_lightgbm)(ranker.booster_)
    for tree in trees:
        _check_tree(tree, ranker.engine_, owner)
    return TreeScore([tree_node(tree, ranker.engine_) for tree in trees], 0.0)


def _check_tree(tree: TreeArrays, engine: str, owner: str) -> None:
    """Raise ValueError for categories, and for missing values that go elsewhere than 0 does."""
    if tree.categories:
        raise _categories(owner, int(tree.feature[next(iter(tree.categories))]))
    zero_left = limits_of(tree, engine) >= 0
    differs = tree.missing_left != zero_left
    if engine == "xgboost":  # sends them to the right where it has seen none
        differs = tree.missing_left & ~zero_left
    found = np.flatnonzero(differs & (tree.feature >= 0))
    if len(found):
        raise _missing(owner, int(tree.feature[found[0]]))


def _categories(owner: str, feature: int) -> ValueError:
    return ValueError(
        f"{owner} has a split of categories, on column {feature}, which can't be written for a "
        "search engine: its models compare numbers. Encode categories as 0/1 features."
    )


def _missing(owner: str, feature: int) -> ValueError:
    return ValueError(
        f"{owner} has learned from missing values of column {feature}, and scores them unlike 0. "
        "This can't be written for a search engine, where a feature without a value is 0: fit the "
        "ranker to rows with 0 in place of NaN."
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


def _before(name: str, step: Any, score: Score, owner: str) -> Score:
    """Return the score of the input of a step, given that of its output."""
    columns = _passed_on(step)
    if columns is not None:
        return _of_columns(score, columns, step.n_features_in_)
    if _is_identity(step):
        return score
    scale = _affine(step)
    if scale is None or isinstance(score, TreeScore):
        raise ValueError(
            f"The step {name!r}, {type(step).__name__}, before {owner} can't be written for a "
            f"search engine. Only {_FOLDED}. Compute it as a feature there, or leave it out."
        )
    factor, shift = scale
    constant = score.constant + float(np.sum(score.weights * shift))
    return LinearScore(score.weights * factor, constant)


def _affine(step: Any) -> tuple[Any, Any] | None:
    """Return the factor and the shift of each feature, None for a step that is not affine."""
    if type(step) is StandardScaler:
        factor = 1.0 if step.scale_ is None else 1.0 / step.scale_
        return factor, (-step.mean_ * factor if step.with_mean else 0.0)
    if type(step) is MinMaxScaler and not step.clip:
        return step.scale_, step.min_
    return None


def _is_identity(step: Any) -> bool:
    """Whether a step returns rows without missing values as they are."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return True
    if type(step) is SimpleImputer:
        fills_nan = step.missing_values != step.missing_values
        return bool(fills_nan and step.add_indicator and not len(step.indicator_.features_))
    return type(step) is FunctionTransformer and step.func is None


def _passed_on(step: Any) -> list[int] | None:
    """Return the columns that a ColumnTransformer passes on, None if it does anything else."""
    if type(step) is not ColumnTransformer or step.transformer_weights:
        return None
    names = list(getattr(step, "feature_names_in_", range(step.n_features_in_)))
    found: list[int] = []
    for _, one, columns in step.transformers_:
        if isinstance(one, str) and one == "drop":
            continue
        is_list = isinstance(columns, list) and {*map(type, columns)} <= {str, int}
        if not is_list or (columns and not _is_identity(one)):
            return None
        found += [names.index(j) if isinstance(j, str) else range(len(names))[j] for j in columns]
    return found


def _of_columns(score: Score, columns: list[int], n_features: int) -> Score:
    """Return the score of all columns, given that of those that are passed on."""
    if isinstance(score, TreeScore):
        return replace(score, trees=[with_columns(one, columns) for one in score.trees])
    weights = np.bincount(columns, score.weights, n_features).astype(np.float64)
    return LinearScore(weights, score.constant)
