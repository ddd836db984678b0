"""The nodes that one operator adds to a graph of skl2onnx."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Values
from sklearn_rank.export.onnx._graph import GraphBuilder, import_onnx

_OLDEST_OPSET, _OLDEST_ML_OPSET = 15, 3
_ML_VERSIONS = {"TreeEnsembleRegressor": 3, "LabelEncoder": 2}
"""Versions of the operators of ai.onnx.ml: some releases of skl2onnx know no later ones."""


@dataclass(frozen=True)
class GraphInput:
    """An input of shape (n_rows, n_columns): numbers or truth values, or strings."""

    name: str
    n_columns: int
    is_text: bool = False


def graph_inputs(operator: Any) -> list[GraphInput]:
    """Return names, types and widths of the inputs of an operator."""
    inputs, model = [], operator.raw_operator
    for variable in operator.inputs:
        shape = variable.type.shape
        n_columns = shape[1] if len(shape) > 1 else 1
        if n_columns is None and len(operator.inputs) > 1:
            raise ValueError(
                f"Input {variable.raw_name!r} of {type(model).__name__} must have a known number "
                "of columns. Give it in initial_types."
            )
        is_text = "String" in type(variable.type).__name__
        inputs.append(GraphInput(variable.full_name, n_columns or model.n_features_in_, is_text))
    return inputs


def steps_of(model: Any) -> list[Any]:
    """Return the steps of a fitted model, those of searches and pipelines inside it one by one."""
    if hasattr(model, "best_estimator_"):
        return steps_of(model.best_estimator_)
    if hasattr(model, "steps"):
        return [inner_step for _, step in model.steps for inner_step in steps_of(step)]
    return [model]


class OperatorGraph(GraphBuilder):
    """The part of a graph of skl2onnx that a ranker adds.

    Parameters
    ----------
    scope, container : objects of skl2onnx
        The scope gives names, the container holds the nodes.
    owner : str
        Name of the ranker, for messages.
    """

    def __init__(self, scope: Any, container: Any, owner: str) -> None:
        super().__init__(prefix="")
        self.scope, self.container, self.owner = scope, container, owner
        opset = container.target_opset_any_domain("")
        ml_opset = container.target_opset_any_domain("ai.onnx.ml")
        if opset < _OLDEST_OPSET or ml_opset < _OLDEST_ML_OPSET:
            raise ValueError(
                f"The ONNX graph of {owner} needs opset {_OLDEST_OPSET} and opset "
                f"{_OLDEST_ML_OPSET} of ai.onnx.ml. Got target_opset={opset} and {ml_opset}."
            )

    def _add(self, kind: str, inputs: list[str], output: str, domain: str, **options: Any) -> None:
        name = self.scope.get_unique_operator_name(f"{self.owner}{kind}")
        version = {"op_version": _ML_VERSIONS[kind]} if domain else {}
        self.container.add_node(
            kind, inputs, [output], op_domain=domain, name=name, **version, **options
        )

    def constant(self, values: Values) -> str:
        """Add a constant and return its name."""
        name = self._new_name("constant")
        flat = values.ravel()
        content = flat.astype(str).tolist() if values.dtype.kind in "OSU" else flat
        self.container.add_initializer(name, self._type(values.dtype), values.shape, content)
        return name

    def _new_name(self, kind: str) -> str:
        return str(self.scope.get_unique_variable_name(f"{self.owner}_{kind}"))

    def converted(
        self, X: str, n_columns: int | None, estimator: Any, about: str, raw_scores: bool = False
    ) -> list[str]:
        """Return the outputs of an estimator, by its own converter; messages call it `about`.

        With `raw_scores` the second output is `decision_function`, instead of probabilities.
        """
        has_option = partial(self.container.has_options, estimator)
        if raw_scores and not has_option("raw_scores"):
            raise ValueError(
                f"{self.owner} with {about} cannot be exported to ONNX: it needs the values "
                "of decision_function, for which skl2onnx has no converter of this class."
            )
        operators = import_onnx("to_onnx", "skl2onnx.algebra.onnx_operator")
        types = import_onnx("to_onnx", "skl2onnx.common.data_types")
        rows = (X, types.DoubleTensorType([None, n_columns]))
        trees = np.ravel(getattr(estimator, "estimators_", []))
        if len(trees) and all(hasattr(tree, "tree_") for tree in trees):
            # Trees of scikit-learn compare numbers in single precision.
            rows = (self.cast(X, np.float32), types.FloatTensorType([None, n_columns]))
        opset = self.container.target_opset_any_domain("")
        # A class without probabilities, as LinearSVC, may have no other graph in double precision.
        is_raw = raw_scores or not hasattr(estimator, "predict_proba")
        options = {"zipmap": False, "raw_scores": is_raw}
        options = {name: value for name, value in options.items() if has_option(name)}
        try:
            self.container.add_options(id(estimator), options)
            node = operators.OnnxSubEstimator(estimator, rows, op_version=opset, options=options)
            node.add_to(self.scope, self.container)
        except Exception as error:
            raise ValueError(
                f"{self.owner} with {about} cannot be exported to ONNX, because skl2onnx "
                f"has no working converter for it: {str(error)[:400]}"
            ) from error
        return [str(output.full_name) for output in node.outputs]
