"""The ONNX graph of a scorecard."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank.export.onnx._graph import GraphBuilder, import_onnx
from sklearn_rank.scorecard import Card, Scorecard, Variable

_TYPES: dict[str, Any] = {"str": np.str_, "int": np.int64, "bool": np.int64}
"""Types of columns of categories; all others are floats of the wanted size."""


def to_onnx(card: Card | Scorecard, *, name: str = "score") -> Any:
    """Return an ONNX model that computes the total of each row.

    A card with numbers only has one input "X" of shape (n_rows, n_features). A card with categories
    has one input of shape (n_rows, 1) per feature that it uses, named after the feature or x0, x1,
    ...: floats for numbers, strings, or int64 for integers and booleans. NaN is missing, and so is
    an empty string, unless the card names it as a category; int64 columns have no missing values.
    Floats are doubles, so totals equal those of the card. Infinity falls in the outermost range.

    Parameters
    ----------
    card : Card or Scorecard
        The scorecard; an estimator must be fitted.
    name : str, default="score"
        Name of the output of shape (n_rows,), of type int64.

    Returns
    -------
    onnx.ModelProto
        Of opset 15 and, with categories that are strings, opset 2 of ai.onnx.ml. The cut of the
        card is not subtracted from the totals.

    Raises
    ------
    ImportError
        Without onnx, which the extra "onnx" installs.
    TypeError
        If `card` is not a card; use ``skl2onnx.to_onnx`` for other rankers.
    ValueError
        If an input has the name `name`.

    Examples
    --------
    >>> from sklearn_rank.export.onnx import to_onnx
    >>> from sklearn_rank.scorecard import Card, Variable
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> model = to_onnx(card)
    >>> [value.name for value in model.graph.input], [value.name for value in model.graph.output]
    (['X'], ['score'])
    """
    import_onnx("to_onnx")
    if isinstance(card, Scorecard):
        check_is_fitted(card)
        card = card.card_
    if not isinstance(card, Card):
        raise TypeError(
            f"to_onnx takes a Card or a fitted Scorecard. Got {type(card).__name__}: for rankers "
            "and pipelines use skl2onnx.to_onnx, after importing sklearn_rank.export.onnx."
        )
    kinds = {card.column_name(variable): variable.kind for variable in card.variables}
    has_categories = bool(set(kinds.values()) - {"number"})
    inputs = list(kinds) if has_categories else ["X"]
    if name in inputs or not all([name, *inputs]):
        raise ValueError(
            f"The output and the inputs must have different names, none empty. Got the output "
            f"{name!r} and the inputs {inputs}: pass another name."
        )
    # The prefix of all results inside is longer than every name outside: none can be equal.
    graph = GraphBuilder(prefix=max(name, *inputs, key=len) + "/")
    if has_categories:
        for column, kind in kinds.items():
            graph.add_input(column, np.dtype(_TYPES.get(kind, np.float64)), 1)
    else:
        graph.add_input("X", np.dtype(np.float64), card.n_features)

    # total = intercept + sum of points[bin] over the variables
    n_rows = graph.node("Shape", inputs[0], start=0, end=1)
    total = graph.node("Expand", np.array([card.intercept], dtype=np.int64), n_rows)
    for variable in card.variables:
        values = card.column_name(variable)
        if not has_categories:
            values = graph.node("Gather", "X", [variable.column], axis=1)
        points = np.array(variable.points, dtype=np.int64)
        points_of_rows = graph.node("Gather", points, _bins(graph, variable, values))
        total = graph.node("Add", total, points_of_rows)
    graph.node("Identity", total, output=name)
    return graph.model(name, np.int64)


def _bins(graph: GraphBuilder, variable: Variable, values: str) -> str:
    """Return the bins of a variable, from values of shape (n_rows, 1)."""
    other_bin, kind = variable.n_bins - 1, variable.kind
    bin_of = [(value, index) for index, b in enumerate(variable.listed()) for value in b.values]
    if kind == "number":
        is_above = graph.node("Greater", values, np.array(variable.thresholds, dtype=np.float64))
        bins = _sum_where(graph, is_above, [1] * len(variable.thresholds), 0)
        values_1d = graph.node("Squeeze", values, [1])
        for code, index in bin_of:
            is_code = graph.node("Equal", values_1d, [float(code)])
            bins = graph.node("Where", is_code, [index], bins)
    elif kind == "str":
        # An empty string is missing, unless it is a category.
        bins_of = {"": variable.missing, **dict(bin_of)}
        return graph.look_up(graph.node("Squeeze", values, [1]), bins_of, other_bin)
    else:
        categories = np.array([value for value, _ in bin_of], dtype=_TYPES.get(kind, np.float64))
        is_equal = graph.node("Equal", values, categories)
        bins = _sum_where(graph, is_equal, [index - other_bin for _, index in bin_of], other_bin)
        if kind != "float":
            return bins
        values_1d = graph.node("Squeeze", values, [1])
    return graph.node("Where", graph.node("IsNaN", values_1d), [variable.missing], bins)


def _sum_where(graph: GraphBuilder, is_true: str, gains: list[int], start: int) -> str:
    """Return start plus the gains where a condition of shape (n_rows, n_gains) holds."""
    selected = graph.node("Where", is_true, np.array(gains, dtype=np.int64), [0])
    total = graph.node("ReduceSum", selected, [1], keepdims=0)
    return graph.node("Add", total, [start])
