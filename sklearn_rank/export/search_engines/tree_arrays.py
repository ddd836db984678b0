"""Trees as plain arrays, read from the boosters of the engines and from scikit-learn's trees."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank.engines.symmetric_trees import SymmetricTrees

_LEAF = -1

LARGEST_ZERO = float(np.float32(1e-35))
"""The largest number that counts as zero in LightGBM."""


@dataclass(frozen=True, eq=False)
class TreeArrays:
    """One tree.

    Attributes
    ----------
    feature : ndarray of shape (n_nodes,)
        The feature of each split; -1 for a leaf. The root is node 0.
    threshold : ndarray of shape (n_nodes,)
        The number that a value is compared with; any number for a split of categories.
    left, right : ndarray of shape (n_nodes,)
        Children; left is where the comparison holds.
    missing_left : ndarray of shape (n_nodes,)
        Whether a missing value goes left.
    value : ndarray of shape (n_nodes,)
        Values of the leaves.
    categories : dict of int to tuple of int
        The codes that go left at each node that splits categories; others, unknown ones included,
        go right.
    is_neutral : ndarray of shape (n_nodes,) or bool
        Whether training had no missing value there, which would have chosen the side of missing
        values; False where that is unknown.
    """

    feature: Indices
    threshold: Floats
    left: Indices
    right: Indices
    missing_left: Mask
    value: Floats
    categories: dict[int, tuple[int, ...]] = field(default_factory=dict)
    is_neutral: Mask | bool = False


def trees_of(ranker: Any) -> list[TreeArrays]:
    """Return the trees of a fitted `BoostedTreesRanker`."""
    trees, is_complete = _TREES[ranker.engine_](ranker.booster_), ranker._neutral_
    return [replace(tree, is_neutral=is_complete[tree.feature] | tree.is_neutral) for tree in trees]


def trees_of_xgboost(booster: Any) -> list[TreeArrays]:
    """Return the trees of a booster, whose sum starts at zero.

    A value goes left if it is less than the threshold, both in single precision.
    """
    learner = json.loads(booster.save_raw("json"))["learner"]
    return [_tree_of_xgboost(tree) for tree in learner["gradient_booster"]["model"]["trees"]]


def _tree_of_xgboost(tree: dict[str, Any]) -> TreeArrays:
    left, condition = np.array(tree["left_children"]), np.array(tree["split_conditions"])
    right, missing_left = np.array(tree["right_children"]), np.array(tree["default_left"], bool)
    is_leaf = left == _LEAF
    categories: dict[int, tuple[int, ...]] = {}
    for node, offset, size in zip(
        tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
    ):
        # The engine lists the categories that go right.
        categories[node] = tuple(tree["categories"][offset : offset + size])
        left[node], right[node] = right[node], left[node]
        missing_left[node] = not missing_left[node]
    return TreeArrays(
        np.where(is_leaf, _LEAF, tree["split_indices"]),
        condition.astype(np.float32),
        left,
        right,
        missing_left,
        np.where(is_leaf, condition, 0.0).astype(np.float32),
        categories,
    )


def trees_of_lightgbm(booster: Any) -> list[TreeArrays]:
    """Return the trees of a booster; a value goes left when it is at most the threshold.

    Raises
    ------
    ValueError
        If leaves hold linear functions, or zeros count as missing.
    """
    trees = booster.dump_model()["tree_info"]
    return [_tree_of_lightgbm(tree["tree_structure"]) for tree in trees]


def _tree_of_lightgbm(root: dict[str, Any]) -> TreeArrays:
    nodes, children = [root], []
    for node in nodes:  # the list grows meanwhile: breadth first
        if "split_feature" in node:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node["left_child"], node["right_child"]]
        else:
            children.append((0, 0))
    if any("leaf_coeff" in node for node in nodes):
        raise ValueError(
            "BoostedTreesRanker with linear functions in the leaves (linear_tree) cannot be "
            "exported: the leaves of a tree must be numbers."
        )
    if any(node.get("missing_type") == "Zero" for node in nodes):
        raise ValueError(
            "BoostedTreesRanker with zeros as missing values (zero_as_missing) cannot be "
            "exported: only NaN may mean missing."
        )
    is_category = [node.get("decision_type") == "==" for node in nodes]
    columns = zip(nodes, is_category, strict=True)
    left, right = np.array(children).T
    return TreeArrays(
        np.array([node.get("split_feature", _LEAF) for node in nodes]),
        np.array([0.0 if is_set else node.get("threshold", 0.0) for node, is_set in columns]),
        left,
        right,
        np.array([_missing_goes_left(node) for node in nodes]),
        np.array([node.get("leaf_value", 0.0) for node in nodes]),
        {
            index: tuple(map(int, nodes[index]["threshold"].split("||")))
            for index in np.flatnonzero(is_category).tolist()
        },
    )


def _missing_goes_left(node: dict[str, Any]) -> bool:
    """Whether NaN goes left; a split that met no NaN in training treats it as zero."""
    if "split_feature" not in node or node["decision_type"] == "==":
        return False
    if node["missing_type"] == "None":
        return bool(node["threshold"] >= 0)
    return bool(node["default_left"])


def trees_of_symmetric(trees: SymmetricTrees) -> list[TreeArrays]:
    """Return complete trees, in which values up to the threshold go left."""
    return [_complete_tree(trees[tree : tree + 1]) for tree in range(len(trees))]


def _complete_tree(tree: SymmetricTrees) -> TreeArrays:
    """Return one tree, without the last levels, which split nothing."""
    feature, threshold = tree.feature[0], tree.threshold[0]
    n_levels = int(np.count_nonzero(feature >= 0))
    n_leaves = 1 << n_levels
    level = np.repeat(np.arange(n_levels), 1 << np.arange(n_levels))  # of each split
    is_category = np.isnan(threshold)
    codes = [tuple(np.flatnonzero(~right).tolist()) for right in tree.goes_right[0]]
    left_child = 2 * np.arange(len(level)) + 1

    def node_values(by_level: Any, leaves: Any) -> Any:
        return np.append(by_level[level], np.broadcast_to(leaves, n_leaves))

    return TreeArrays(
        node_values(feature, _LEAF),
        node_values(np.where(is_category, 0.0, threshold), 0.0),
        np.pad(left_child, (0, n_leaves)),
        np.pad(left_child + 1, (0, n_leaves)),
        node_values(~tree.missing_right[0], False),
        node_values(np.zeros(len(feature)), tree.value[0, :: tree.value.shape[1] // n_leaves]),
        {node: codes[j] for node, j in enumerate(level.tolist()) if is_category[j]},
        node_values(tree.is_neutral[0], False),
    )


def tree_of_sklearn(estimator: Any) -> TreeArrays:
    """Return the tree of a regressor or classifier, whose leaves hold predictions.

    A value in single precision goes left if it is at most the threshold.
    """
    tree, value = estimator.tree_, estimator.tree_.value[:, 0]
    classes: Values | None = getattr(estimator, "classes_", None)
    return TreeArrays(
        np.where(tree.children_left == _LEAF, _LEAF, tree.feature),
        tree.threshold,
        tree.children_left,
        tree.children_right,
        tree.missing_go_to_left.astype(bool),
        value[:, 0] if classes is None else classes.take(value.argmax(axis=1)).astype(np.float64),
    )


_TREES = {
    "xgboost": trees_of_xgboost,
    "lightgbm": trees_of_lightgbm,
    "symmetric": trees_of_symmetric,
}
