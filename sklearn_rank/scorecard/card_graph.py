"""The ONNX graph of a scorecard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._onnx_graph import GraphBuilder, import_onnx
from sklearn_rank._protocols import Values
from sklearn_rank.scorecard.card import Card, variables_alone
from sklearn_rank.scorecard.terms import Variable

_TYPES = {"str": np.str_, "int": np.int64, "bool": np.int64}
"""Types of columns of categories; all others are floats of the wanted size."""


def to_onnx(card: Card, *, dtype: str = "float64", name: str = "score") -> Any:
    """Return an ONNX model that computes the total of each row.

    A card of numbers alone has one input "X" of shape (n_rows, n_features). A card with
    categories has an input of shape (n_rows, 1) for each of its variables, called as the
    feature, or x0, x1, ...: floats for numbers, strings, or int64 for integers and truth
    values. NaN is missing, and so is an empty string, unless the card names it as a category;
    columns of int64 have no missing values. Floats are compared as float64, those of float32
    after conversion, which is exact: the totals are those of the card for the same X.

    Parameters
    ----------
    card : Card
        The scorecard.
    dtype : {"float64", "float32"}, default="float64"
        Type of the inputs that are floats.
    name : str, default="score"
        Name of the output, int64 of shape (n_rows,).

    Returns
    -------
    onnx.ModelProto
        Of opset 15 and, with categories that are strings, opset 2 of ai.onnx.ml.

    Raises
    ------
    ImportError
        Without onnx, which the extra "onnx" brings.
    ValueError
        When `dtype` is another one, or an input is called `name`.

    Examples
    --------
    >>> from sklearn_rank.onnx import to_onnx
    >>> from sklearn_rank.scorecard import Card, Variable
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> model = to_onnx(card)
    >>> [one.name for one in model.graph.input], [one.name for one in model.graph.output]
    (['X'], ['score'])
    """
    import_onnx("to_onnx")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"The dtype of to_onnx must be 'float64' or 'float32'. Got {dtype!r}.")
    graph = GraphBuilder(prefix=f"{name}/")
    kinds = [one.kind for one in variables_alone(card, "to_onnx")]
    names = [card.column_name(one) for one in variables_alone(card, "to_onnx")]
    has_categories = bool(set(kinds) - {"number"})
    inputs = names if has_categories else ["X"]
    if name in inputs or not all([name, *inputs]):
        raise ValueError(
            f"The output and all inputs must have names, which differ: the output is called "
            f"{name!r}, the inputs {inputs}. Pass another name."
        )
    if has_categories:
        for kind, column in zip(kinds, names, strict=True):
            graph.add_input(column, np.dtype(_TYPES.get(kind, dtype)), 1)
    else:
        graph.add_input("X", np.dtype(dtype), card.n_features)

    def column_of(variable: Variable, kind: str) -> str:
        if has_categories:
            values = card.column_name(variable)
        else:
            values = graph.node("Gather", "X", [variable.column], axis=1)
        is_single = kind not in _TYPES and dtype != "float64"
        return graph.cast(values, np.float64) if is_single else values

    total = card_totals(graph, card, inputs[0], column_of)
    graph.node("Identity", total, output=name)
    return graph.model(name, np.int64)


def card_totals(
    graph: GraphBuilder,
    card: Card,
    first_input: str,
    column_of: Callable[[Variable, str], str],
) -> str:
    """Return the totals of a card.

    `column_of` maps a variable and its kind to its values: of shape (n_rows, 1), double for
    numbers and "float", int64 for "int" and "bool", strings for "str".
    """
    n_rows = graph.node("Shape", first_input, start=0, end=1)
    total = graph.node("Expand", [int(card.intercept)], n_rows)
    for variable in variables_alone(card, "to_onnx"):
        kind = variable.kind
        points = _points(graph, variable, kind, column_of(variable, kind))
        total = graph.node("Add", total, points)
    return total


def _points(graph: GraphBuilder, variable: Variable, kind: str, values: str) -> str:
    """Return the points of a variable, from values of shape (n_rows, 1)."""
    points = list(map(int, variable.points))
    if kind == "number":
        return _points_of_numbers(graph, variable, points, values)
    pairs = [(category, one.points) for one in variable.listed() for category in one.values]
    of_missing, of_others = points[variable.missing], points[-1]
    if kind == "str":
        pairs = list({"": of_missing, **dict(pairs)}.items())
        flat = graph.node("Squeeze", values, [1])
        return graph.node(
            "LabelEncoder",
            flat,
            domain="ai.onnx.ml",
            keys_strings=[category for category, _ in pairs],
            values_int64s=[of_one for _, of_one in pairs],
            default_int64=of_others,
        )
    gains = [of_one - of_others for _, of_one in pairs]
    categories: Values = np.array([one for one, _ in pairs], dtype=_TYPES.get(kind, np.float64))
    is_equal = graph.node("Equal", values, categories)
    found = _sum_where(graph, is_equal, gains, of_others)
    if kind != "float":
        return found
    is_missing = graph.node("IsNaN", graph.node("Squeeze", values, [1]))
    return graph.node("Where", is_missing, [of_missing], found)


def _points_of_numbers(
    graph: GraphBuilder, variable: Variable, points: list[int], values: str
) -> str:
    """Return the points of numbers: those of ranges, unless they are special or missing."""
    n_values = variable.n_values
    is_above = graph.node("Greater", values, np.array(variable.thresholds, dtype=np.float64))
    steps = np.diff(points[:n_values]).tolist()
    found = _sum_where(graph, is_above, steps, points[0])
    flat = graph.node("Squeeze", values, [1])
    for code, of_code in zip(variable.special, points[n_values : variable.missing], strict=True):
        is_code = graph.node("Equal", flat, [float(code)])
        found = graph.node("Where", is_code, [of_code], found)
    is_missing = graph.node("IsNaN", flat)
    return graph.node("Where", is_missing, [points[-1]], found)


def _sum_where(graph: GraphBuilder, is_true: str, gains: list[int], start: int) -> str:
    """Return start plus the gains where a condition of shape (n_rows, n_gains) holds."""
    added = graph.node("Where", is_true, np.array(gains, dtype=np.int64), [0])
    total = graph.node("ReduceSum", added, [1], keepdims=0)
    return graph.node("Add", total, [start])
