"""Trees that compare features in single precision, for all forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank.export.search_engines.tree_arrays import LARGEST_ZERO, TreeArrays
from sklearn_rank.models import StepFunction

LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Leaf:
    """The end of a path; its value is added to the score."""

    value: float


@dataclass(frozen=True)
class Split:
    """A comparison: the `left` node where a feature is at most `limit`, else the `right` one.

    The limit is a number of single precision, as features are: the largest that goes left.
    """

    feature: int
    limit: float
    left: Node
    right: Node


Node = Leaf | Split


def next_single(x: float) -> float:
    """Return the next larger single-precision number."""
    return float(np.nextafter(np.float32(x), np.float32(np.inf)))


def largest_single(x: Floats) -> Floats:
    """Return, for each number, the largest single-precision number that is not above it."""
    with np.errstate(over="ignore"):
        single = np.asarray(x, dtype=np.float32)
    below = np.nextafter(single, np.float32(-np.inf))
    return np.where(single > x, below, single).astype(np.float64)


def limits_of(tree: TreeArrays, engine: str) -> Floats:
    """Return, for each node, the largest single-precision number that goes left."""
    threshold = tree.threshold
    if engine == "xgboost":  # less than the threshold, both in single precision
        return np.nextafter(threshold, np.float32(-np.inf)).astype(np.float64)
    limit = largest_single(threshold)
    if engine == "symmetric":
        return limit
    # LightGBM takes numbers of this size for zero, before it compares them.
    limit = np.where((threshold >= 0) & (limit < LARGEST_ZERO), LARGEST_ZERO, limit)
    below_zero = -next_single(LARGEST_ZERO)  # below all that count as zero
    return np.where((threshold < 0) & (limit > below_zero), below_zero, limit)


def tree_node(tree: TreeArrays, engine: str) -> Node:
    """Return a tree without the splits that send every value to one side."""
    limits = limits_of(tree, engine)

    def node(index: int) -> Node:
        limit = float(limits[index])
        if tree.feature[index] < 0:
            return Leaf(float(tree.value[index]))
        if limit >= LARGEST:
            return node(int(tree.left[index]))
        if limit < -LARGEST:
            return node(int(tree.right[index]))
        left, right = node(int(tree.left[index])), node(int(tree.right[index]))
        return Split(int(tree.feature[index]), limit, left, right)

    return node(0)


def step_node(step: StepFunction) -> Node:
    """Return a step function of a feature as one balanced tree."""
    single = largest_single(step.bins.special)
    codes = single[single == step.bins.special]  # a value of single precision equals no other
    previous = np.nextafter(codes.astype(np.float32), np.float32(-np.inf)).astype(np.float64)
    cuts = np.unique(np.concatenate([largest_single(step.bins.thresholds), codes, previous]))
    cuts = cuts[(cuts >= -LARGEST) & (cuts < LARGEST)]
    # Above a cut and up to the next, all numbers have the value of the last of them.
    values = step(np.append(cuts, LARGEST))
    is_step = values[1:] != values[:-1]
    return _balanced(step.feature, cuts[is_step], values[np.append(is_step, True)])


def _balanced(feature: int, cuts: Floats, values: Floats) -> Node:
    """Return the tree of a step function, given its value up to each cut and above the last one."""
    if not len(cuts):
        return Leaf(float(values[0]))
    middle = len(cuts) // 2
    return Split(
        feature,
        float(cuts[middle]),
        _balanced(feature, cuts[:middle], values[: middle + 1]),
        _balanced(feature, cuts[middle + 1 :], values[middle + 1 :]),
    )


def with_columns(node: Node, columns: Sequence[int]) -> Node:
    """Return a tree on other columns: feature j becomes column ``columns[j]``."""
    if isinstance(node, Leaf):
        return node
    left, right = with_columns(node.left, columns), with_columns(node.right, columns)
    return replace(node, feature=columns[node.feature], left=left, right=right)
