"""Checks of the text in which LightGBM stores trees.

LightGBM's own reader trusts the text: numbers that are missing or out of range end the process, or
let it read memory that is not its own.
"""

from __future__ import annotations

import re
from typing import Any

# The lines of a tree that have a number for each split, for each leaf, and for the tree.
_OF_SPLITS = ["split_feature", "decision_type", "left_child", "right_child", "threshold"]
_OF_SPLITS += ["split_gain", "internal_value", "internal_weight", "internal_count"]
_OF_LEAVES = ["leaf_value", "leaf_weight", "leaf_count", "leaf_const", "num_features"]
_OF_TREE = ["num_leaves", "num_cat", "is_linear", "shrinkage"]
_WHOLE = {"num_leaves", "num_cat", "is_linear", *_OF_SPLITS[:4], "num_features", "leaf_features"}
_WHOLE |= {"cat_boundaries", "cat_threshold"}

_BODY = re.compile(r"([a-z_]+=[-+.0-9einfa ]*\n)*[a-z_]+=[-+.0-9einfa ]*")
_OTHER_ENDS = re.compile(r"[\x00-\x09\x0b-\x1f]")
"""Marks at which LightGBM ends a line or the text, and that it does not write."""

_DEEPEST = 10_000
"""LightGBM visits the nodes of a tree by recursion when it divides a score among features."""


def check_trees(stored: bytes) -> None:
    """Raise ValueError for trees that LightGBM does not write."""
    text, where = stored.decode("latin-1"), ""  # a character a byte, as the sizes of trees count
    head, _, _ = text.partition("\nTree=" if "\nTree=" in text else "\nend of trees")
    header, place = dict(line.partition("=")[::2] for line in head.split("\n")), len(head) + 1
    try:
        n_features = int(header["max_feature_idx"]) + 1
        has_one_score = header["num_class"] == header["num_tree_per_iteration"] == "1"
        _demand(has_one_score and n_features == len(header["feature_names"].split()), "the header")
        for number, size in enumerate(map(int, header.get("tree_sizes", "").split())):
            where, end = f"tree {number}: ", place + max(size, 0)
            body, _, blank = text[place:end].partition("\n\n")
            first, _, lines = body.partition("\n")
            _demand(first == f"Tree={number}" and not blank.strip("\n"), "the place")
            _check_tree(lines, n_features)
            place = end
        where = ""
        _demand(text.startswith("end of trees", place), "the end")
        _demand(not _OTHER_ENDS.search(text, 0, place), "the end of a line")
    except (ValueError, KeyError, OverflowError) as error:
        raise ValueError(f"the trees are damaged: {where}{error}") from None


def _demand(is_right: bool, what: str) -> None:
    if not is_right:
        raise ValueError(f"{what} is not as LightGBM writes it")


def _check_tree(body: str, n_features: int) -> None:
    lines = body.split("\n") if _BODY.fullmatch(body) else []
    own: dict[str, list[Any]] = {}
    for name, text in (line.split("=") for line in lines):
        own[name] = list(map(int if name in _WHOLE else float, text.split()))
    (n_leaves,), (n_sets,) = own["num_leaves"], own["num_cat"]
    bounds, n_terms = own.get("cat_boundaries") or [0], sum(own.get("num_features", []))
    needed = {"leaf_value", "shrinkage"}
    if n_sets:
        needed |= {"cat_boundaries", "cat_threshold"}
    if any(own.get("is_linear", [])):
        needed |= {"leaf_const", "num_features", "leaf_features", "leaf_coeff"}
    counts = dict.fromkeys(_OF_SPLITS, n_leaves - 1) | dict.fromkeys(_OF_LEAVES, n_leaves)
    counts |= dict.fromkeys(_OF_TREE, 1) | dict.fromkeys(("leaf_features", "leaf_coeff"), n_terms)
    counts |= {"cat_boundaries": n_sets + 1, "cat_threshold": bounds[-1]}
    ends = {"split_feature": n_features, "leaf_features": n_features, "decision_type": 2**4}
    ends |= {"num_features": n_features + 1, "cat_threshold": 2**32}
    for name, values in own.items():
        is_left_out = n_leaves == 1 and not values and name not in needed
        _demand(is_left_out or len(values) == counts[name], name)
        _demand(name not in ends or all(0 <= one < ends[name] for one in values), name)
    are_all = len(own) == len(lines) and own.keys() >= needed
    _demand(are_all and bounds[0] == 0 and bounds == sorted(bounds), "a line")
    if n_leaves > 1:
        _check_splits(own, n_sets)


def _check_splits(own: dict[str, list[Any]], n_sets: int) -> None:
    """Check that splits and leaves (-1 - number) are a tree, and the sets of categories."""
    left, right, bits = own["left_child"], own["right_child"], own["decision_type"]
    are_once = sorted((*left, *right)) == [*range(-len(left) - 1, 0), *range(1, len(left))]
    _demand(are_once and len(own["split_feature"]) == len(left), "a child")
    depth = [0] * len(left)
    for parent, children in enumerate(zip(left, right, strict=True)):
        for child in children:
            _demand(child < 0 or child > parent, "a child")
            if child > 0:
                depth[child] = depth[parent] + 1
    _demand(max(depth) <= _DEEPEST, "the depth")
    # The lowest bit says that a split is of categories: its threshold is the number of their set.
    sets = [number for number, one in zip(own["threshold"], bits, strict=True) if one & 1]
    _demand(all(0 <= one < n_sets and one.is_integer() for one in sets), "a set of categories")
