"""SimpleImputer in double precision, which the operator of ONNX that skl2onnx takes is not for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from sklearn_rank.export.onnx._column_graph import columns_of
from sklearn_rank.export.onnx._graph import import_onnx
from sklearn_rank.export.onnx._operator_graph import OperatorGraph, graph_inputs

_ALIAS = "SklearnSimpleImputer"


def register_imputer() -> None:
    """Let skl2onnx convert `SimpleImputer` with double input to what runtimes can run.

    With other input, other missing values than NaN or features that are left out the converter of
    skl2onnx does it, as before.
    """
    import_onnx("register_converters", "skl2onnx").update_registered_converter(
        SimpleImputer, _ALIAS, _set_shape, _convert
    )


def _is_own(operator: Any) -> bool:
    """Whether the operator is not left to skl2onnx."""
    imputer = operator.raw_operator
    is_double = all("Double" in type(one.type).__name__ for one in operator.inputs)
    is_nan = is_double and np.isnan(imputer.missing_values)
    return bool(is_nan and not np.isnan(imputer.statistics_.astype(np.float64)).any())


def _indicated(imputer: Any) -> list[int]:
    """Return the columns of which further columns tell whether they were missing."""
    return list(imputer.indicator_.features_) if imputer.add_indicator else []


def _set_shape(operator: Any) -> None:
    """Set the shape of the output, which skl2onnx takes to have no indicators."""
    shapes = import_onnx("register_converters", "skl2onnx.shape_calculators.imputer")
    shapes.calculate_sklearn_imputer_output_shapes(operator)
    shape = operator.outputs[0].type.shape
    if _is_own(operator) and shape[1] is not None:
        shape[1] += len(_indicated(operator.raw_operator))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an imputer."""
    imputer = operator.raw_operator
    if not _is_own(operator):
        theirs = import_onnx("to_onnx", "skl2onnx.operator_converters.imputer_op")
        theirs.convert_sklearn_imputer(scope, operator, container)
        return
    graph = OperatorGraph(scope, container, type(imputer).__name__)
    rows = columns_of(graph, graph_inputs(operator), None)
    filling = imputer.statistics_.astype(np.float64)
    is_nan = graph.node("IsNaN", rows)
    parts = [graph.node("Where", is_nan, filling, rows)]
    if _indicated(imputer):
        was_nan = graph.node("Gather", is_nan, _indicated(imputer), axis=1)
        parts.append(graph.cast(was_nan, np.float64))
    graph.node("Concat", *parts, axis=1, output=operator.outputs[0].full_name)
