"""Nodes of an ONNX graph that compute the leaf of each tree for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Values
from sklearn_rank.export.onnx._graph import GraphBuilder
from sklearn_rank.export.search_engines.tree_arrays import TreeArrays

_INFINITE = 1e300
"""LightGBM writes an infinite threshold, which parts missing values from others, as this number."""


def leaf_values(
    graph: GraphBuilder, X: str, n_columns: int, trees: Sequence[TreeArrays], comparison: str
) -> str:
    """Return the value of the leaf of each row in each tree, shape (n_rows, n_trees).

    Comparisons and values have the precision of `X` and of the trees, which must agree. The
    ensembles of ONNX return single precision: where values are double, the ensemble returns
    the numbers of the leaves, by which the values are looked up.

    Parameters
    ----------
    graph : GraphBuilder
        Gets the nodes.
    X : str
        Values of shape (n_rows, n_columns), float or double.
    n_columns : int
        Their number.
    trees : sequence of TreeArrays
        The trees.
    comparison : {"BRANCH_LT", "BRANCH_LEQ"}
        What sends a value to the left.
    """
    X, trees = _with_category_columns(graph, X, n_columns, trees)
    if trees[0].value.dtype == np.float32:
        return _ensemble(graph, X, trees, comparison)
    counts = np.array([len(tree.value) for tree in trees])
    if counts.max() >= 2**24:
        raise ValueError("A tree of more than 16 million nodes can't be written as an ONNX graph.")
    numbered = [replace(tree, value=np.arange(float(len(tree.value)))) for tree in trees]
    found = graph.cast(_ensemble(graph, X, numbered, comparison), np.int64)
    place = graph.node("Add", found, np.cumsum(counts) - counts)
    return graph.node("Gather", np.concatenate([tree.value for tree in trees]), place)


def _ensemble(graph: GraphBuilder, X: str, trees: Sequence[TreeArrays], comparison: str) -> str:
    """Return the value of the leaf of each row in each tree, in single precision."""

    def all_nodes(name: str) -> Values:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def of_splits(name: str) -> Values:
        return np.where(is_leaf, 0, all_nodes(name))

    owner = np.repeat(np.arange(len(trees)), [len(tree.value) for tree in trees])
    node = np.concatenate([np.arange(len(tree.value)) for tree in trees])
    is_leaf, value = all_nodes("feature") < 0, all_nodes("value")
    threshold = of_splits("threshold")
    threshold[threshold.astype(np.float64) >= _INFINITE] = np.inf
    options: dict[str, Any] = {
        "nodes_modes": ["LEAF" if one else comparison for one in is_leaf],
        "nodes_treeids": owner.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_featureids": of_splits("feature").tolist(),
        "nodes_truenodeids": of_splits("left").tolist(),
        "nodes_falsenodeids": of_splits("right").tolist(),
        "nodes_missing_value_tracks_true": of_splits("missing_left").tolist(),
        "target_treeids": owner[is_leaf].tolist(),
        "target_nodeids": node[is_leaf].tolist(),
        "target_ids": owner[is_leaf].tolist(),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }
    reals = {"nodes_values": threshold.astype(value.dtype), "target_weights": value[is_leaf]}
    if value.dtype == np.float64:  # attributes of their own, since ai.onnx.ml 3
        options |= {f"{name}_as_tensor": graph.tensor(one) for name, one in reals.items()}
    else:
        options |= {name: one.tolist() for name, one in reals.items()}
    return graph.node(
        "TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=len(trees), **options
    )


def _with_category_columns(
    graph: GraphBuilder, X: str, n_columns: int, trees: Sequence[TreeArrays]
) -> tuple[str, Sequence[TreeArrays]]:
    """Replace splits of categories by splits of new columns, 0 where the category goes left.

    A new column is NaN where the category is missing.
    """
    sets = {
        (int(tree.feature[node]), codes)
        for tree in trees
        for node, codes in tree.categories.items()
    }
    if not sets:
        return X, trees
    known, dtype = sorted(sets), trees[0].threshold.dtype
    columns = [X]
    for feature in sorted({feature for feature, _ in known}):
        of_feature = [codes for one, codes in known if one == feature]
        n_codes = 1 + max(max(codes, default=-1) for codes in of_feature)
        goes_right = np.ones((n_codes + 1, len(of_feature)), dtype=dtype)  # the last: all others
        for number, codes in enumerate(of_feature):
            goes_right[list(codes), number] = 0.0
        columns.append(_category_columns(graph, X, feature, goes_right))
    place = {one: n_columns + number for number, one in enumerate(known)}
    return graph.node("Concat", *columns, axis=1), [_by_place(tree, place) for tree in trees]


def _category_columns(graph: GraphBuilder, X: str, feature: int, goes_right: Values) -> str:
    """Return the line of a table for the code of each row; NaN where it is missing."""
    code = graph.node("Gather", X, [feature], axis=1)
    is_missing = graph.node("IsNaN", code)
    last = goes_right.dtype.type(len(goes_right) - 1)
    number = graph.node("Where", is_missing, last, graph.node("Min", code, last))
    lines = graph.node("Squeeze", graph.cast(number, np.int64), [1])
    found = graph.node("Gather", goes_right, lines, axis=0)
    return graph.node("Where", is_missing, goes_right.dtype.type(np.nan), found)


def _by_place(tree: TreeArrays, place: dict[tuple[int, tuple[int, ...]], int]) -> TreeArrays:
    """Return a tree whose splits of categories are splits of their columns."""
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    for node, codes in tree.categories.items():
        feature[node] = place[int(feature[node]), codes]
        threshold[node] = 0.5
    return replace(tree, feature=feature, threshold=threshold, categories={})
