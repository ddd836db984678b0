"""SimpleImputer in double precision, which the operator of ONNX that skl2onnx takes is not for."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from sklearn_rank.onnx._column_graph import columns_of
from sklearn_rank.onnx._operator_graph import OperatorGraph, graph_inputs
from sklearn_rank.scorecard.forms.onnx_graph import import_onnx

_ALIAS = "SklearnSimpleImputer"


def register_imputer() -> None:
    """Let skl2onnx convert `SimpleImputer` with double input to what runtimes can run.

    With other input, other missing values than NaN, indicators or features that are left out
    the converter of skl2onnx does it, as before.
    """
    shapes = import_onnx("register_converters", "skl2onnx.shape_calculators.imputer")
    import_onnx("register_converters", "skl2onnx").update_registered_converter(
        SimpleImputer, _ALIAS, shapes.calculate_sklearn_imputer_output_shapes, _convert
    )


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of an imputer."""
    imputer = operator.raw_operator
    is_double = all("Double" in type(one.type).__name__ for one in operator.inputs)
    is_plain = np.isnan(imputer.missing_values) if is_double else False
    if not is_plain or imputer.add_indicator or np.isnan(imputer.statistics_).any():
        theirs = import_onnx("to_onnx", "skl2onnx.operator_converters.imputer_op")
        theirs.convert_sklearn_imputer(scope, operator, container)
        return
    graph = OperatorGraph(scope, container, type(imputer).__name__)
    rows = columns_of(graph, graph_inputs(operator), None)
    filling = imputer.statistics_.astype(np.float64)
    output = operator.outputs[0].full_name
    graph.node("Where", graph.node("IsNaN", rows), filling, rows, output=output)
