"""Readers of the forms of search engines, written from what their plugins say of them.

They share nothing with the writers. Each returns a function of one row, a sequence of numbers of
single precision, that gives the terms of the score. Thresholds are read in single precision, as the
plugins do; terms have the precision `number`: double, or single to count what the plugins round.
"""

import json
import xml.etree.ElementTree as ET

import numpy as np

SINGLE = np.float32


# RankLib ---------------------------------------------------------------------------------------


def ranklib(text, number=float):
    """RankLib: the first line names the algorithm; lines of "#" are skipped, others joined."""
    first, *lines = text.splitlines()
    assert first == "## LambdaMART"
    root = ET.fromstring("".join(line for line in lines if not line.startswith("#")))
    assert root.tag == "ensemble"
    for element in root.iter():  # content is found as the first child: text would be taken for it
        assert not len(element) or (element.text is None and all(c.tail is None for c in element))
    trees = [(number(tree.attrib["weight"]), only(tree)) for tree in root]
    assert [tree.attrib["id"] for tree in root] == [str(1 + i) for i in range(len(root))]

    def terms(row):
        return [weight * ranklib_leaf(split, row, number) for weight, split in trees]

    return terms


def only(tree):
    (split,) = tree
    assert tree.tag == "tree"
    assert split.tag == "split"
    return split


def ranklib_leaf(split, row, number):
    """Features count from 1; at most the threshold goes left, the third child."""
    while split[0].tag == "feature":
        feature, threshold, left, right = split
        assert threshold.tag == "threshold"
        assert (left.attrib, right.attrib) == ({"pos": "left"}, {"pos": "right"})
        split = left if row[int(feature.text) - 1] <= SINGLE(threshold.text) else right
    (output,) = split
    assert output.tag == "output"
    return number(output.text)


# XGBoost's dump --------------------------------------------------------------------------------

SPLIT_FIELDS = {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}


def xgboost(text, names, number=float, absent="missing"):
    """A list of trees; `absent` says where NaN goes: "missing", the branch, or "no"."""
    trees = json.loads(text)
    assert isinstance(trees, list)
    assert trees
    for tree in trees:
        check_xgboost(tree, names, 0, set())

    def terms(row):
        return [
            xgboost_leaf(tree, dict(zip(names, row, strict=True)), number, absent) for tree in trees
        ]

    return terms


def check_xgboost(node, names, depth, seen):
    """The plugins refuse unknown fields and features, and children that are not yes and no."""
    assert node["nodeid"] not in seen
    seen.add(node["nodeid"])
    if "leaf" in node:
        assert set(node) == {"nodeid", "leaf"}
        return
    assert set(node) == SPLIT_FIELDS
    assert node["split"] in names
    assert node["depth"] == depth
    assert [node["yes"], node["no"]] == [child["nodeid"] for child in node["children"]]
    assert node["missing"] in (node["yes"], node["no"])
    for child in node["children"]:
        check_xgboost(child, names, depth + 1, seen)


def xgboost_leaf(node, row, number, absent):
    while "leaf" not in node:
        x = row[node["split"]]
        goes_on = node["yes"] if x < SINGLE(node["split_condition"]) else node["no"]
        if np.isnan(x):
            goes_on = node[absent]
        node = next(child for child in node["children"] if child["nodeid"] == goes_on)
    return number(node["leaf"])


# Weights ---------------------------------------------------------------------------------------


def linear(text, names, number=float):
    """Weights by feature; features that are not named weigh nothing, others are refused."""
    weights = json.loads(text)
    assert set(weights) <= set(names)

    def terms(row):
        return [
            number(weights.get(name, 0)) * number(x) for name, x in zip(names, row, strict=True)
        ]

    return terms
