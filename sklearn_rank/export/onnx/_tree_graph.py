"""Nodes of an ONNX graph that compute the leaf of each tree for each row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Values
from sklearn_rank.export.onnx._graph import GraphBuilder
from sklearn_rank.export.search_engines.tree_arrays import TreeArrays

_INFINITE = 1e300
"""LightGBM writes an infinite threshold, which separates missing values, as this number."""


def leaf_values(
    graph: GraphBuilder, X: str, n_columns: int, trees: Sequence[TreeArrays], comparison: str
) -> str:
    """Return the value of the leaf of each row in each tree, shape (n_rows, n_trees).

    Comparisons and values have the precision of `X` and of the trees, which must agree. Ensembles
    of ONNX return single precision: for double values the ensemble returns the positions of the
    leaves, by which the values are looked up.

    Parameters
    ----------
    graph : GraphBuilder
        Gets the nodes.
    X : str
        Values of shape (n_rows, n_columns), float or double.
    n_columns : int
        Number of columns of `X`.
    trees : sequence of TreeArrays
        The trees.
    comparison : {"BRANCH_LT", "BRANCH_LEQ"}
        The comparison that sends a value to the left.
    """
    X, trees = _with_category_columns(graph, X, n_columns, trees)
    if trees[0].value.dtype == np.float32:
        return _ensemble(graph, X, trees, comparison)
    counts = np.array([len(tree.value) for tree in trees])
    if counts.max() >= 2**24:  # single precision has no larger odd numbers
        raise ValueError("A tree of more than 16 million nodes cannot be exported to ONNX.")
    numbered_trees = [replace(tree, value=np.arange(float(len(tree.value)))) for tree in trees]
    leaf = graph.cast(_ensemble(graph, X, numbered_trees, comparison), np.int64)
    position = graph.node("Add", leaf, np.cumsum(counts) - counts)
    return graph.node("Gather", np.concatenate([tree.value for tree in trees]), position)


def _ensemble(graph: GraphBuilder, X: str, trees: Sequence[TreeArrays], comparison: str) -> str:
    """Return the value of the leaf of each row in each tree, in single precision."""

    def concat(name: str) -> Values:
        return np.concatenate([getattr(tree, name) for tree in trees])

    def split_values(name: str) -> Values:
        return np.where(is_leaf, 0, concat(name))

    tree_id = np.repeat(np.arange(len(trees)), [len(tree.value) for tree in trees])
    node = np.concatenate([np.arange(len(tree.value)) for tree in trees])
    is_leaf, value = concat("feature") < 0, concat("value")
    threshold = split_values("threshold")
    threshold[threshold.astype(np.float64) >= _INFINITE] = np.inf
    options: dict[str, Any] = {
        "nodes_modes": ["LEAF" if leaf else comparison for leaf in is_leaf],
        "nodes_treeids": tree_id.tolist(),
        "nodes_nodeids": node.tolist(),
        "nodes_featureids": split_values("feature").tolist(),
        "nodes_truenodeids": split_values("left").tolist(),
        "nodes_falsenodeids": split_values("right").tolist(),
        "nodes_missing_value_tracks_true": split_values("missing_left").tolist(),
        "target_treeids": tree_id[is_leaf].tolist(),
        "target_nodeids": node[is_leaf].tolist(),
        "target_ids": tree_id[is_leaf].tolist(),
        "aggregate_function": "SUM",
        "post_transform": "NONE",
    }
    floats = {"nodes_values": threshold.astype(value.dtype), "target_weights": value[is_leaf]}
    if value.dtype == np.float64:  # attributes of their own, since ai.onnx.ml 3
        options |= {f"{name}_as_tensor": graph.tensor(x) for name, x in floats.items()}
    else:
        options |= {name: x.tolist() for name, x in floats.items()}
    return graph.node(
        "TreeEnsembleRegressor", X, domain="ai.onnx.ml", n_targets=len(trees), **options
    )


def _with_category_columns(
    graph: GraphBuilder, X: str, n_columns: int, trees: Sequence[TreeArrays]
) -> tuple[str, Sequence[TreeArrays]]:
    """Replace splits of categories by splits of new columns, which are 0 if the category goes left.

    A new column is NaN where the category is missing.
    """
    category_splits = {
        (int(tree.feature[node]), codes)
        for tree in trees
        for node, codes in tree.categories.items()
    }
    splits = sorted(category_splits)
    if not splits:
        return X, trees
    columns, dtype = [X], trees[0].threshold.dtype
    for feature, group in groupby(splits, key=itemgetter(0)):
        lists = [codes for _, codes in group]
        n_codes = 1 + max(max(codes, default=-1) for codes in lists)
        goes_right = np.ones((n_codes + 1, len(lists)), dtype=dtype)  # the last row: other codes
        for index, codes in enumerate(lists):
            goes_right[list(codes), index] = 0.0
        columns.append(_category_columns(graph, X, feature, goes_right))
    column_of = {split: n_columns + index for index, split in enumerate(splits)}
    return graph.node("Concat", *columns, axis=1), [_on_columns(tree, column_of) for tree in trees]


def _category_columns(graph: GraphBuilder, X: str, feature: int, goes_right: Values) -> str:
    """Return the row of a table at the code of each row of X; NaN where it is missing."""
    code = graph.node("Gather", X, [feature], axis=1)
    is_missing = graph.node("IsNaN", code)
    other_code = goes_right.dtype.type(len(goes_right) - 1)
    index = graph.node("Where", is_missing, other_code, graph.node("Min", code, other_code))
    index = graph.node("Squeeze", graph.cast(index, np.int64), [1])
    columns = graph.node("Gather", goes_right, index, axis=0)
    return graph.node("Where", is_missing, goes_right.dtype.type(np.nan), columns)


def _on_columns(tree: TreeArrays, column_of: dict[tuple[int, tuple[int, ...]], int]) -> TreeArrays:
    """Return a tree that splits the new columns instead of categories."""
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    for node, codes in tree.categories.items():
        feature[node] = column_of[int(feature[node]), codes]
        threshold[node] = 0.5
    return replace(tree, feature=feature, threshold=threshold, categories={})
