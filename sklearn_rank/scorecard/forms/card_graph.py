"""The ONNX graph of a scorecard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Values
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.forms.onnx_graph import GraphBuilder, import_onnx
from sklearn_rank.scorecard.terms import Pair, Variable

_TYPES = {"str": np.str_, "int": np.int64, "bool": np.int64}
"""Types of columns of categories; all others are floats of the wanted size."""


def to_onnx(card: Card, *, dtype: str = "float64", name: str = "score") -> Any:
    """Return an ONNX model that computes the total of each row.

    A card of numbers alone has one input "X" of shape (n_rows, n_features). A card with
    categories has an input of shape (n_rows, 1) for each feature that it needs, called as
    it is, or x0, x1, ...: floats for numbers, strings, or int64 for integers and truth
    values. NaN is missing, and so is an empty string, unless the card names it as a category;
    columns of int64 have no missing values. Floats are compared as float64, those of float32
    after conversion, which is exact: the totals are those of the card for the same X. Infinity
    lies in the outermost range.

    Parameters
    ----------
    card : Card
        The scorecard.
    dtype : {"float64", "float32"}, default="float64"
        Type of the inputs that are floats.
    name : str, default="score"
        Name of the output of shape (n_rows,): int64, or float64 with ``unseen="refuse"``, where
        the total of a row that is refused is NaN.

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
    >>> from sklearn_rank.export.onnx import to_onnx
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
    axes = {axis.column: axis for term in card.terms for axis in term.axes}
    kinds = {card.column_name(one): card.kind_of(column) for column, one in axes.items()}
    has_categories = bool(set(kinds.values()) - {"number"})
    inputs = list(kinds) if has_categories else ["X"]
    if name in inputs or not all([name, *inputs]):
        raise ValueError(
            f"The output and all inputs must have names, which differ: the output is called "
            f"{name!r}, the inputs {inputs}. Pass another name."
        )
    if has_categories:
        for column, kind in kinds.items():
            graph.add_input(column, np.dtype(_TYPES.get(kind, dtype)), 1)
    else:
        graph.add_input("X", np.dtype(dtype), card.n_features)

    def column_of(axis: Any, kind: str) -> tuple[str, str]:
        if has_categories:
            values = card.column_name(axis)
        else:
            values = graph.node("Gather", "X", [axis.column], axis=1)
        is_single = kind not in _TYPES and dtype != "float64"
        return graph.cast(values, np.float64) if is_single else values, kind

    total = card_totals(graph, card, inputs[0], column_of)
    graph.node("Identity", total, output=name)
    return graph.model(name, np.float64 if card.unseen == "refuse" else np.int64)


def card_totals(
    graph: GraphBuilder,
    card: Card,
    first_input: str,
    column_of: Callable[[Any, str], tuple[str, str]],
) -> str:
    """Return the totals of a card, of type double if it refuses what training has not seen.

    `column_of` maps an axis and the kind of its feature to its values and their kind, which is
    "float" where integers or truth values come as floats. Values have the shape (n_rows, 1): double
    for "number" and "float", int64 for "int" and "bool", strings for "str".
    """
    dtype = np.float64 if card.unseen == "refuse" else np.int64
    n_rows = graph.node("Shape", first_input, start=0, end=1)
    total = graph.node("Expand", np.array([card.intercept], dtype=dtype), n_rows)
    columns: dict[int, tuple[str, str]] = {}
    for term in card.terms:
        for axis in term.axes:
            if axis.column not in columns:
                columns[axis.column] = column_of(axis, card.kind_of(axis.column))
        points = np.array(term.points, dtype=dtype)
        refused = card.refused_bins(term)
        if refused:
            points[refused] = np.nan
        bins = _bins_of(graph, card, term, columns)
        total = graph.node("Add", total, graph.node("Gather", points, bins))
    return total


def _bins_of(
    graph: GraphBuilder, card: Card, term: Variable | Pair, columns: dict[int, tuple[str, str]]
) -> str:
    """Return the bin of each row, of a pair its cell."""
    first, *others = [_bins(graph, card, axis, *columns[axis.column]) for axis in term.axes]
    for axis, bins in zip(term.axes[1:], others, strict=True):
        first = graph.node("Add", graph.node("Mul", first, [axis.n_bins]), bins)
    return first


def _bins(graph: GraphBuilder, card: Card, axis: Any, values: str, kind: str) -> str:
    """Return the bins of a feature, from values of shape (n_rows, 1)."""
    places = list(enumerate(axis.places()))
    pairs = [(value, number) for number, one in places for value in one.values]
    if kind == "number":
        is_above = graph.node("Greater", values, np.array(axis.thresholds, dtype=np.float64))
        found = _sum_where(graph, is_above, [1] * len(axis.thresholds), 0)
        flat = graph.node("Squeeze", values, [1])
        for code, number in pairs:
            is_code = graph.node("Equal", flat, [float(code)])
            found = graph.node("Where", is_code, [number], found)
    elif kind == "str":
        groups = [group for one in card.axes_of(axis.column) for group in one.groups or ()]
        is_category = any("" in group for group in groups)
        bin_of = {"": axis.other if is_category else axis.missing, **dict(pairs)}
        return graph.node(
            "LabelEncoder",
            graph.node("Squeeze", values, [1]),
            domain="ai.onnx.ml",
            keys_strings=list(bin_of),
            values_int64s=list(bin_of.values()),
            default_int64=axis.other,
        )
    else:
        listed: Values = np.array([one for one, _ in pairs], dtype=_TYPES.get(kind, np.float64))
        is_equal = graph.node("Equal", values, listed)
        found = _sum_where(
            graph, is_equal, [number - axis.other for _, number in pairs], axis.other
        )
        if kind != "float":
            return found
        flat = graph.node("Squeeze", values, [1])
    return graph.node("Where", graph.node("IsNaN", flat), [axis.missing], found)


def _sum_where(graph: GraphBuilder, is_true: str, gains: list[int], start: int) -> str:
    """Return start plus the gains where a condition of shape (n_rows, n_gains) holds."""
    added = graph.node("Where", is_true, np.array(gains, dtype=np.int64), [0])
    total = graph.node("ReduceSum", added, [1], keepdims=0)
    return graph.node("Add", total, [start])
