"""Converters of the rankers for skl2onnx."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.impute import SimpleImputer

from sklearn_rank._core.protocols import Values
from sklearn_rank._core.validation import is_missing
from sklearn_rank.ensemble import RankingEnsemble
from sklearn_rank.ensemble.members import NumberScaler
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.list_net_linear import ListNetLinear
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost
from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker
from sklearn_rank.export.onnx._column_graph import columns_of
from sklearn_rank.export.onnx._graph import import_onnx
from sklearn_rank.export.onnx._operator_graph import (
    GraphInput,
    OperatorGraph,
    graph_inputs,
    steps_of,
)
from sklearn_rank.export.onnx._score_graph import (
    constant_scores,
    kernel_scores,
    linear_scores,
    mapped_scores,
    step_scores,
)
from sklearn_rank.export.onnx._tree_graph import leaf_values
from sklearn_rank.export.search_engines.tree_arrays import (
    LARGEST_ZERO,
    tree_of_sklearn,
    trees_of,
)
from sklearn_rank.metrics.scorers import scoring_method


def register_converters(*, imputer: bool = False) -> None:
    """Register the rankers' converters with skl2onnx; calling it again has no effect.

    Importing `sklearn_rank.export.onnx` does this if skl2onnx is installed, without `imputer`. Then
    ``skl2onnx.to_onnx(ranker, X)`` works, also for a Pipeline that ends in a ranker. The outputs
    are `label`, in binary mode, the result of `predict`, and `scores` of shape (n_rows,), in double
    precision, the result of `decision_function` (of `predict` with ``relevance="graded"``).

    Parameters
    ----------
    imputer : bool, default=False
        Whether to replace also skl2onnx's converter of scikit-learn's `SimpleImputer`, for all
        models that this process converts. The replacement imputes NaN in double precision and
        supports `add_indicator`. The converter of skl2onnx uses an operator for ``float64`` input
        that onnxruntime runs for ``float32`` only.

    Raises
    ------
    ImportError
        Without skl2onnx, which the extra "onnx" installs.

    Notes
    -----
    All computations are in double precision, even if the input is in single precision, as in the
    rankers. Scores equal those of `decision_function` up to rounding, about 1e-15 of their size. An
    estimator as weak ranker is as exact as its converter in skl2onnx.

    These cannot be converted and raise an error: kernels that are functions or ``"precomputed"``,
    weak rankers that are your own objects or estimators without a converter, and LightGBM models
    with linear leaves or with zeros as missing values.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from skl2onnx import to_onnx
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.export.onnx import register_converters
    >>> register_converters()
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = RankBoost(n_estimators=10).fit(X, y)
    >>> model = to_onnx(ranker, X[:1])
    >>> [value.name for value in model.graph.output]
    ['label', 'scores']
    """
    skl2onnx = import_onnx("register_converters", "skl2onnx")
    shapes = import_onnx("register_converters", "skl2onnx.shape_calculators.scaler")
    operators = import_onnx("register_converters", "skl2onnx.operator_converters.scaler_op")
    skl2onnx.update_registered_converter(  # they treat it as a StandardScaler
        NumberScaler,
        "SklearnRankNumberScaler",
        shapes.calculate_sklearn_scaler_output_shapes,
        operators.convert_sklearn_scaler,
        options={"div": ["std", "div", "div_cast"]},
    )
    if imputer:
        skl2onnx.update_registered_converter(
            SimpleImputer, "SklearnSimpleImputer", _set_imputer_shape, _convert_imputer
        )
    for ranker in _SCORES:
        skl2onnx.update_registered_converter(
            ranker,
            f"SklearnRank{ranker.__name__}",
            _set_types,
            _convert,
            parser=_declare,
            options={
                "zipmap": [False, True, "columns"],
                "output_class_labels": [False, True],
                "raw_scores": [False, True],  # for the converter of CalibratedClassifierCV
            },
        )


# What skl2onnx calls -----------------------------------------------------------------------


def _declare(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a ranker."""
    alias = import_onnx("to_onnx", "skl2onnx").get_model_alias(type(model))
    operator = scope.declare_local_operator(alias, model)
    operator.inputs = inputs
    if model.relevance == "binary":
        operator.outputs.append(scope.declare_local_variable("label", missing_type=True))
    operator.outputs.append(scope.declare_local_variable("scores", missing_type=True))
    _set_types(operator)
    return operator.outputs


def _set_types(operator: Any) -> None:
    """Set the types of the outputs, again where skl2onnx has changed them."""
    types = import_onnx("to_onnx", "skl2onnx.common.data_types")
    if len(operator.outputs) == 2:
        type_names = {"b": "Boolean", "i": "Int64", "f": "Double"}
        type_name = type_names.get(_classes(operator.raw_operator).dtype.kind, "String")
        operator.outputs[0].type = getattr(types, f"{type_name}TensorType")([None])
    operator.outputs[-1].type = types.DoubleTensorType([None])


def _classes(ranker: Any) -> Values:
    """Return the classes; numbers have 64 bits."""
    return np.asarray(ranker.classes_.tolist())


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a ranker."""
    model, outputs = operator.raw_operator, [output.full_name for output in operator.outputs]
    graph = OperatorGraph(scope, container, type(model).__name__)
    scores = _scores(graph, graph_inputs(operator), model)
    is_raw = container.get_options(model, {"raw_scores": False})["raw_scores"]
    is_raw = is_raw or _is_calibrated(scope, model)
    columns = _two_columns(graph, scores, operator) if is_raw else scores
    graph.node("Identity", columns, output=outputs[-1])
    if len(outputs) > 1:
        is_upper = graph.cast(graph.node("Greater", scores, 0.0), np.int64)
        graph.node("Gather", _classes(model), is_upper, output=outputs[0])


def _is_calibrated(scope: Any, ranker: Any) -> bool:
    """Whether a CalibratedClassifierCV holds a pipeline or a search that ends with the ranker.

    skl2onnx reads columns there, too, but asks only the estimator itself for raw scores.
    """
    models = [operator.raw_operator for operator in scope.operators.values()]
    calibrated = [c for model in models for c in getattr(model, "calibrated_classifiers_", ())]
    return any(steps_of(classifier.estimator)[-1] is ranker for classifier in calibrated)


def _two_columns(graph: OperatorGraph, scores: str, operator: Any) -> str:
    """Return minus the scores and the scores, of the type of the input, as skl2onnx does."""
    column = graph.node("Reshape", scores, [-1, 1])
    columns = graph.node("Concat", graph.node("Neg", column), column, axis=1)
    is_double = "Double" in type(operator.inputs[0].type).__name__
    return columns if is_double else graph.cast(columns, np.float32)


def _set_imputer_shape(operator: Any) -> None:
    """Set the type of the output of an imputer."""
    types = import_onnx("to_onnx", "skl2onnx.common.data_types")
    n_columns = len(operator.raw_operator.get_feature_names_out())
    operator.outputs[0].type = types.DoubleTensorType([None, n_columns])


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an imputer."""
    imputer = operator.raw_operator
    if not is_missing(imputer.missing_values):
        raise ValueError(
            f"SimpleImputer with missing_values={imputer.missing_values!r} cannot be exported "
            "to ONNX: only NaN can be imputed."
        )
    graph = OperatorGraph(scope, container, "SimpleImputer")
    rows = columns_of(graph, graph_inputs(operator), None)
    fill_values = imputer.statistics_.astype(np.float64)
    is_nan = graph.node("IsNaN", rows)
    filled = graph.node("Where", is_nan, fill_values, rows)
    columns = [graph.node("Gather", filled, np.flatnonzero(~np.isnan(fill_values)), axis=1)]
    if imputer.add_indicator:
        was_nan = graph.node("Gather", is_nan, imputer.indicator_.features_, axis=1)
        columns.append(graph.cast(was_nan, np.float64))
    graph.node("Concat", *columns, axis=1, output=operator.outputs[0].full_name)


# Scores by class -------------------------------------------------------------------------------


def _scores(graph: OperatorGraph, inputs: list[GraphInput], ranker: Any) -> str:
    """Return the scores of a ranker, with the offset of binary mode."""
    X = columns_of(graph, inputs, getattr(ranker, "category_codes_", None))
    scores = _SCORES[type(ranker)](graph, X, ranker)
    offset = float(ranker.offset_) if ranker.relevance == "binary" else 0.0
    return graph.node("Add", scores, offset)


def _of_boosting(graph: OperatorGraph, X: str, ranker: Any) -> str:
    """Return the sum of the weak rankers."""
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    if hasattr(rules, "step_functions"):
        return step_scores(graph, X, rules.step_functions(weights))
    if hasattr(rules, "coefficients"):
        return linear_scores(graph, X, rules.coefficients(weights, ranker.n_features_in_))
    if hasattr(rules, "estimators"):
        return _of_estimators(graph, X, ranker)
    raise ValueError(
        f"{graph.owner} with weak_ranker={ranker.weak_ranker!r} cannot be exported to "
        "ONNX; 'stump', 'feature' and estimators with a converter can."
    )


def _of_estimators(graph: OperatorGraph, X: str, ranker: Any) -> str:
    """Return the sum of fitted estimators, mapped to [0, 1]."""
    rules, n_columns = ranker.weak_rankers_, ranker.n_features_in_
    # h = (prediction - low) / width, so that the sum has a constant and a factor for each.
    factors = np.asarray(ranker.estimator_weights_) / np.asarray(rules.width)
    total = constant_scores(graph, X, -float(factors @ np.asarray(rules.low)))
    if rules.estimators and all(hasattr(e, "tree_") for e in rules.estimators):
        trees = [tree_of_sklearn(estimator) for estimator in rules.estimators]
        # These trees compare single precision with double thresholds.
        single_X = graph.cast(graph.cast(X, np.float32), np.float64)
        leaves = leaf_values(graph, single_X, n_columns, trees, "BRANCH_LEQ")
        return graph.node("Add", total, linear_scores(graph, leaves, factors))
    for estimator, factor in zip(rules.estimators, factors.tolist(), strict=True):
        description = f"weak_ranker={type(estimator).__name__}(...)"
        prediction, *_ = graph.converted(X, n_columns, estimator, description)
        column = graph.cast(prediction, np.float64)
        weighted = graph.node("Mul", graph.node("Reshape", column, [-1]), factor)
        total = graph.node("Add", total, weighted)
    return total


def _of_linear(graph: OperatorGraph, X: str, ranker: Any) -> str:
    return linear_scores(graph, X, ranker.coef_)


def _of_kernel(graph: OperatorGraph, X: str, ranker: Any) -> str:
    """Return the weighted sum of kernels."""
    kernel = ranker.kernel
    if kernel == "linear":
        return _of_linear(graph, X, ranker)
    if callable(kernel) or kernel == "precomputed":
        name = repr(kernel) if isinstance(kernel, str) else "a function"
        raise ValueError(
            f"{graph.owner} with kernel={name} cannot be exported to ONNX; named "
            "kernels can, except 'precomputed'."
        )
    return kernel_scores(graph, X, ranker)


def _of_trees(graph: OperatorGraph, X: str, ranker: Any) -> str:
    """Return the sum of the trees, rounded as the engine rounds it."""
    trees, is_single = trees_of(ranker), ranker.engine_ == "xgboost"
    if is_single:
        X = graph.cast(X, np.float32)
    elif ranker.engine_ == "lightgbm":  # tiny values count as zero
        is_tiny = graph.node("LessOrEqual", graph.node("Abs", X), LARGEST_ZERO)
        X = graph.node("Where", is_tiny, 0.0, X)
    comparison = "BRANCH_LT" if is_single else "BRANCH_LEQ"
    leaves = leaf_values(graph, X, ranker.n_features_in_, trees, comparison)
    # One after the other, so that sums in single precision are those of the engine.
    sums = graph.node("CumSum", leaves, 1)
    final_sum = graph.node("Gather", sums, len(trees) - 1, axis=1)
    return graph.cast(final_sum, np.float64)


def _of_ensemble(graph: OperatorGraph, X: str, ensemble: RankingEnsemble) -> str:
    """Return the weighted sum of mapped scores."""
    total = constant_scores(graph, X, 0.0)
    for name, member in ensemble.estimators_.items():
        scores = mapped_scores(graph, _of_member(graph, X, member, name), ensemble.maps_[name])
        total = graph.node("Add", total, graph.node("Mul", scores, ensemble.weights_[name]))
    return total


def _of_member(graph: OperatorGraph, X: str, member: Any, name: str) -> str:
    """Return the scores of a member; of a pipeline or a search those of its last step."""
    *steps, model = steps_of(member)
    n_columns, description = member.n_features_in_, f"member {name!r}, {type(model).__name__}(...),"
    for step in steps:
        if step not in (None, "passthrough"):
            X, *_ = graph.converted(X, n_columns, step, description)
            X, n_columns = graph.cast(X, np.float64), None
    if type(model) in _SCORES:
        return _scores(graph, [GraphInput(X, model.n_features_in_)], model)
    is_raw = scoring_method(model) == "decision_function"
    *_, values = graph.converted(X, n_columns, model, description, is_raw)
    values = graph.cast(values, np.float64)
    if is_classifier(model):
        values = graph.node("Gather", values, [-1], axis=1)
    return graph.node("Reshape", values, [-1])


_SCORES: dict[type, Callable[..., str]] = {
    BoostedTreesRanker: _of_trees,
    KernelPairwiseSGDRanker: _of_kernel,
    ListNetLinear: _of_linear,
    PNormPushRanker: _of_boosting,
    RankBoost: _of_boosting,
    RankingEnsemble: _of_ensemble,
    SmoothMarginRanker: _of_boosting,
}
