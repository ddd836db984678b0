"""The inputs of a graph as one table of numbers, with codes in place of categories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_rank._core.validation import is_missing
from sklearn_rank.export.onnx._operator_graph import GraphInput, OperatorGraph


def columns_of(graph: OperatorGraph, inputs: Sequence[GraphInput], codes: Any) -> str:
    """Return the features as doubles; `codes` has those of categories, or is None."""
    known = {} if codes is None else _known_categories(codes)
    parts: list[str] = []
    place: list[int] = []
    n_columns = 0
    for one in inputs:
        numbers = range(len(place), len(place) + one.n_columns)
        coded = [number for number in numbers if number in known]
        if one.is_text and len(coded) < one.n_columns:
            raise ValueError(
                f"{graph.owner} takes strings only for categorical features. Input {one.name!r}, "
                f"of features {numbers[0]} to {numbers[-1]}, has strings."
            )
        place += range(n_columns, n_columns + one.n_columns)
        name = one.name if one.is_text else graph.cast(one.name, np.float64)
        if not one.is_text:
            parts.append(name)
            n_columns += one.n_columns
        for number in coded:
            x = graph.node("Gather", name, [number - numbers[0]], axis=1)
            parts.append(_codes(graph, x, known[number], one.is_text))
            place[number] = n_columns
            n_columns += 1
    name = parts[0] if len(parts) == 1 else graph.node("Concat", *parts, axis=1)
    return graph.node("Gather", name, place, axis=1) if known else name


def _known_categories(codes: Any) -> dict[int, dict[Any, int]]:
    """Return the code of each category that has one, by position of the feature."""
    return {
        position: {
            category: code
            for code, category in enumerate(codes.categories[position].tolist())
            if is_learned[code] and not is_missing(category)
        }
        for position, is_learned in zip(codes.positions, codes.is_learned, strict=True)
    }


def _codes(graph: OperatorGraph, x: str, codes: dict[Any, int], is_text: bool) -> str:
    """Return the codes of a column of shape (n_rows, 1), NaN where there is none."""
    if any(isinstance(one, str) != is_text for one in codes):
        raise ValueError(
            f"{graph.owner} has a categorical feature with the categories {list(codes)[:3]}, ..., "
            f"and the input of this feature has {'strings' if is_text else 'numbers'}."
        )
    if is_text:
        code = graph.cast(graph.look_up(x, codes or {"": -1}, -1), np.float64)
    else:
        categories = np.array([list(codes)], dtype=np.float64)
        is_equal = graph.cast(graph.node("Equal", x, categories), np.float64)
        places = np.array([*codes.values()], dtype=np.float64)[:, np.newaxis] + 1.0
        code = graph.node("Sub", graph.node("MatMul", is_equal, places), 1.0)
    return graph.node("Where", graph.node("Less", code, 0.0), np.nan, code)
