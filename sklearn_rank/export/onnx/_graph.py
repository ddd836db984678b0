"""Nodes, constants and inputs of an ONNX graph, collected one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Values
from sklearn_rank._core.release import __version__

_OPSET, _ML_OPSET, _IR_VERSION = 15, 2, 8
"""Old enough for the runtimes of recent years."""


def import_onnx(owner: str, module: str = "onnx") -> Any:
    """Import onnx, or skl2onnx."""
    return import_extra(module, "onnx", owner)


class GraphBuilder:
    """A graph that grows.

    Parameters
    ----------
    prefix : str
        Start of the names of results inside the graph, which no input has.
    """

    def __init__(self, prefix: str) -> None:
        self.onnx = import_onnx(type(self).__name__)
        self.prefix = prefix
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.domains = {"": _OPSET}

    def add_input(self, name: str, dtype: Any, n_columns: int) -> None:
        """Declare an input of shape (n_rows, n_columns)."""
        self.inputs.append(self._value(name, dtype, ["n_rows", n_columns]))

    def node(
        self, kind: str, *inputs: Any, output: str = "", domain: str = "", **options: Any
    ) -> str:
        """Add a node and return the name of its result.

        Inputs are names, or values that become constants: a float is a double, an int has 64 bits.
        """
        names = [x if isinstance(x, str) else self.constant(np.asarray(x)) for x in inputs]
        output = output or self._new_name(kind)
        self._add(kind, names, output, domain, **options)
        return output

    def look_up(self, texts: str, values: Mapping[str, int], default: int) -> str:
        """Return the integer of each text, the default for texts without one."""
        return self.node(
            "LabelEncoder",
            texts,
            domain="ai.onnx.ml",
            keys_strings=list(values),
            values_int64s=list(values.values()),
            default_int64=default,
        )

    def _add(self, kind: str, inputs: list[str], output: str, domain: str, **options: Any) -> None:
        """Add a node."""
        if domain:
            self.domains[domain] = _ML_OPSET
        node = self.onnx.helper.make_node(kind, inputs, [output], domain=domain, **options)
        self.nodes.append(node)

    def constant(self, values: Values) -> str:
        """Add a constant and return its name."""
        name = self._new_name("constant")
        self.constants.append(self.tensor(values, name))
        return name

    def tensor(self, values: Values, name: str = "values") -> Any:
        """Return values as ONNX stores them."""
        return self.onnx.numpy_helper.from_array(values, name)

    def cast(self, name: str, dtype: Any) -> str:
        """Return a value as another type."""
        return self.node("Cast", name, to=self._type(dtype))

    def model(self, output: str, dtype: Any) -> Any:
        """Return the checked model of one output with an entry for each row."""
        helper = self.onnx.helper
        outputs = [self._value(output, dtype, ["n_rows"])]
        graph = helper.make_graph(
            self.nodes, "sklearn_rank", self.inputs, outputs, initializer=self.constants
        )
        opsets = [helper.make_opsetid(name, version) for name, version in self.domains.items()]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=_IR_VERSION,
            producer_name="sklearn_rank",
            producer_version=__version__,
        )
        self.onnx.checker.check_model(model)
        return model

    def _type(self, dtype: Any) -> int:
        dtype = np.dtype(dtype)
        if dtype.kind in "OSU":  # which old releases do not know
            return int(self.onnx.TensorProto.STRING)
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def _value(self, name: str, dtype: Any, shape: list[Any]) -> Any:
        return self.onnx.helper.make_tensor_value_info(name, self._type(dtype), shape)

    def _new_name(self, kind: str) -> str:
        """Return a name that no other result has."""
        return f"{self.prefix}{len(self.nodes) + len(self.constants)}/{kind}"
