"""The inputs of a graph as one table of numbers, with codes instead of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_rank._core.validation import is_missing
from sklearn_rank.export.onnx._operator_graph import GraphInput, OperatorGraph


def columns_of(graph: OperatorGraph, inputs: Sequence[GraphInput], codes: Any) -> str:
    """Return the features as doubles; `codes` has those of categories, or is None."""
    code_of = {} if codes is None else _learned_codes(codes)
    columns: list[str] = []
    position: list[int] = []  # of each feature in the columns
    n_columns = 0
    for block in inputs:
        features = range(len(position), len(position) + block.n_columns)
        coded_features = [j for j in features if j in code_of]
        if block.is_text and len(coded_features) < block.n_columns:
            raise ValueError(
                f"{graph.owner} takes strings only for categorical features. Input {block.name!r}, "
                f"of features {features[0]} to {features[-1]}, has strings."
            )
        position += range(n_columns, n_columns + block.n_columns)
        table = block.name if block.is_text else graph.cast(block.name, np.float64)
        if not block.is_text:
            columns.append(table)
            n_columns += block.n_columns
        for j in coded_features:
            column = graph.node("Gather", table, [j - features[0]], axis=1)
            columns.append(_codes(graph, column, code_of[j], block.is_text))
            position[j] = n_columns
            n_columns += 1
    table = columns[0] if len(columns) == 1 else graph.node("Concat", *columns, axis=1)
    return graph.node("Gather", table, position, axis=1) if code_of else table


def _learned_codes(codes: Any) -> dict[int, dict[Any, int]]:
    """Return the code of each category that has one, by position of the feature."""
    return {
        position: {
            category: code
            for code, category in enumerate(codes.categories[position].tolist())
            if is_learned[code] and not is_missing(category)
        }
        for position, is_learned in zip(codes.positions, codes.is_learned, strict=True)
    }


def _codes(graph: OperatorGraph, column: str, codes: dict[Any, int], is_text: bool) -> str:
    """Return the codes of a column of shape (n_rows, 1), NaN where there is none."""
    if any(isinstance(category, str) != is_text for category in codes):
        raise ValueError(
            f"{graph.owner} has a categorical feature with the categories {list(codes)[:3]}, ..., "
            f"and the input of this feature has {'strings' if is_text else 'numbers'}."
        )
    if is_text:
        code = graph.cast(graph.look_up(column, codes or {"": -1}, -1), np.float64)
    else:
        categories = np.array([list(codes)], dtype=np.float64)
        is_equal = graph.cast(graph.node("Equal", column, categories), np.float64)
        # Codes plus one, so that -1 is left where the value is no category.
        codes_plus_1 = np.array([*codes.values()], dtype=np.float64)[:, np.newaxis] + 1.0
        code = graph.node("Sub", graph.node("MatMul", is_equal, codes_plus_1), 1.0)
    return graph.node("Where", graph.node("Less", code, 0.0), np.nan, code)
