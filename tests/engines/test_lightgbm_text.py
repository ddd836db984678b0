"""Stored trees of LightGBM that its own reader would not survive are refused."""

import numpy as np
import pytest
from libraries import need

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.engines._lightgbm_text import check_trees
from sklearn_rank.engines.stored_booster import StoredBooster

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(300, 3)), RNG.integers(0, 6, 300)])
X[RNG.random(X.shape) < 0.05] = np.nan
Y = (np.nan_to_num(X[:, 0]) + (X[:, 3] % 3 == 2) + RNG.normal(size=300) > 1).astype(int)

MODELS = {
    "numbers": {},
    "categories": {"categorical_features": [3]},
    "linear": {"engine_params": {"linear_tree": True}},
    "no split": {"min_samples_leaf": 200},
    "one tree": {"n_estimators": 1},
    "linear, no split": {"min_samples_leaf": 200, "engine_params": {"linear_tree": True}},
}


def stored(name="categories", **more):
    """Return the text of a model's trees."""
    need("lightgbm")
    parameters = {"n_estimators": 5, **MODELS[name], **more}
    ranker = BoostedTreesRanker(engine="lightgbm", **parameters)
    return ranker.fit(X, Y).booster_.model_to_string()


@pytest.fixture(scope="module")
def trees():
    """Return the text of a model that splits categories, in trees of four leaves."""
    return stored(n_estimators=2, max_leaf_nodes=4)


@pytest.mark.parametrize("name", MODELS)
def test_what_lightgbm_writes_is_accepted(name):
    check_trees(stored(name).encode())


def changed(text, line, change):
    """Return the text with another value of the first such line, and sizes of trees that fit."""
    before = next(one for one in text.split("\n") if one.startswith(f"{line}="))
    value = change(before.partition("=")[2])
    after = f"{line}={value}" if value is not None else f"other{line}=0"
    text = text.replace(before, after, 1)
    if text.index(after) < text.index("Tree=0"):
        return text
    sizes = next(one for one in text.split("\n") if one.startswith("tree_sizes="))
    first, *others = map(int, sizes.partition("=")[2].split())
    first += len(after) - len(before)
    return text.replace(sizes, "tree_sizes=" + " ".join(map(str, (first, *others))), 1)


def put(place, value):
    """Return a change of one number of a line."""

    def change(line):
        words = line.split(" ")
        words[place] = value
        return " ".join(words)

    return change


@pytest.mark.parametrize(
    ("line", "change", "what"),
    [
        ("max_feature_idx", put(0, "7"), "the header"),
        ("max_feature_idx", put(0, "-1"), "the header"),
        ("max_feature_idx", put(0, ""), "invalid literal"),
        ("num_class", put(0, "2"), "the header"),
        ("label_index", lambda line: f"{line}\rnum_class=9", "the end of a line"),
        ("label_index", lambda line: f"{line}\0", "the end of a line"),
        ("tree_sizes", put(0, "-5"), "tree 0: the place"),
        ("tree_sizes", put(0, "9999"), "tree 0: the place"),
        ("tree_sizes", put(1, "99"), "tree 1: "),
        ("tree_sizes", lambda line: f"{line} 9", "tree 2: the place"),
        ("tree_sizes", lambda line: line.partition(" ")[0], "damaged: the end"),
        ("num_leaves", put(0, "5"), "split_feature"),
        ("num_leaves", put(0, "0"), "split_feature"),
        ("num_leaves", put(0, "4000000000"), "split_feature"),
        ("num_leaves", put(0, "4.5"), "invalid literal"),
        ("num_leaves", lambda line: None, "'num_leaves'"),
        ("split_gain", lambda line: None, "'othersplit_gain'"),
        ("num_leaves", lambda line: f"{line}\nsplit_gain", "'num_leaves'"),
        ("num_leaves", lambda line: f"{line}\nnum_leaves={line}", "a line"),
        ("num_leaves", lambda line: f"{line}\r", "'num_leaves'"),
        ("split_feature", put(1, "4"), "split_feature"),
        ("split_feature", put(1, "-1"), "split_feature"),
        ("split_feature", put(1, "1.5"), "invalid literal"),
        ("decision_type", put(0, "99"), "decision_type"),
        ("left_child", put(0, "0"), "a child"),
        ("left_child", put(0, "9"), "a child"),
        ("right_child", put(0, "-9"), "a child"),
        ("right_child", lambda line: f"{line} 1", "right_child"),
        ("leaf_value", put(0, "e"), "could not convert"),
        ("leaf_value", put(0, "x"), "'num_leaves'"),
        ("leaf_value", put(0, "1_0"), "'num_leaves'"),
        ("leaf_value", lambda line: line.rpartition(" ")[0], "leaf_value"),
        ("leaf_count", put(0, "1-1"), "could not convert"),
        ("shrinkage", put(0, ""), "shrinkage"),
        ("num_cat", put(0, "0"), "cat_boundaries"),
        ("num_cat", put(0, "-1"), "cat_boundaries"),
        ("num_cat", put(0, "9"), "cat_boundaries"),
        ("cat_boundaries", put(0, "1"), "a line"),
        ("cat_boundaries", put(-1, "90"), "cat_threshold"),
        ("cat_boundaries", lambda line: None, "'othercat_boundaries'"),
        ("cat_threshold", lambda line: None, "'othercat_threshold'"),
        ("cat_threshold", put(0, "9999999999"), "cat_threshold"),
        ("cat_threshold", put(0, "-1"), "cat_threshold"),
        ("is_linear", put(0, "1"), "a line"),
        ("is_linear", put(0, "1 2"), "is_linear"),
    ],
)
def test_damaged_trees(trees, line, change, what):
    assert "num_cat=1" in trees
    check_trees(trees.encode())
    with pytest.raises(ValueError, match="tree 1: the place is not as LightGBM writes it"):
        check_trees(trees.replace("\nTree=1\n", "\nTree=2\n").encode())
    with pytest.raises(ValueError, match=rf"the trees are .*{what}"):
        check_trees(changed(trees, line, change).encode())


def test_a_tree_that_is_too_deep(trees):
    """Each node's left child is the next node."""
    n = 10_003
    numbers = {
        "num_leaves": [n],
        "left_child": [*range(1, n - 1), -n],
        "right_child": [-k for k in range(1, n)],
        "leaf_value": [0] * n,
        "split_feature": [0] * (n - 1),
        "decision_type": [2] * (n - 1),
        "threshold": [0] * (n - 1),
        "num_cat": [0],
        "shrinkage": [1],
    }
    lines = [f"{name}={' '.join(map(str, values))}" for name, values in numbers.items()]
    tree = "\n".join(["Tree=0", *lines, "", "", ""])
    head = trees.partition("tree_sizes=")[0]
    text = f"{head}tree_sizes={len(tree)}\n\n{tree}end of trees\n"
    with pytest.raises(ValueError, match="tree 0: the depth"):
        check_trees(text.encode())


def test_a_node_that_splits_categories_needs_a_set_of_them(trees):
    bits = next(one for one in trees.split("\n") if one.startswith("decision_type="))
    node = [int(one) % 2 for one in bits.partition("=")[2].split(" ")].index(1)
    with pytest.raises(ValueError, match="tree 0: a set of categories"):
        check_trees(changed(trees, "threshold", put(node, "5")).encode())


@pytest.mark.parametrize(
    ("line", "value", "what"),
    [
        ("num_features", "3", "leaf_features"),
        ("num_features", "-1", "num_features"),
        ("leaf_features", "4", "leaf_features"),
        ("leaf_coeff", "e", "could not convert"),
        ("leaf_const", "", "leaf_const"),
    ],
)
def test_damaged_linear_trees(line, value, what):
    """The first tree of LightGBM is constant in its leaves: the second is changed."""
    head, first, second, rest = stored("linear", n_estimators=3, max_leaf_nodes=3).split("\nTree=")
    before = next(one for one in second.split("\n") if one.startswith(f"{line}="))
    words = before.partition("=")[2].split(" ")
    words[next(k for k, word in enumerate(words) if word)] = value
    after = second.replace(before, f"{line}={' '.join(words)}")
    sizes = next(one for one in head.split("\n") if one.startswith("tree_sizes="))
    of_trees = [int(one) for one in sizes.partition("=")[2].split(" ")]
    of_trees[1] += len(after) - len(second)
    head = head.replace(sizes, f"tree_sizes={' '.join(map(str, of_trees))}")
    with pytest.raises(ValueError, match=rf"tree 1: ({what})"):
        check_trees("\nTree=".join([head, first, after, rest]).encode())


def test_damaged_trees_are_not_given_to_lightgbm(trees):
    damaged = trees.replace("left_child=", "left_child=9")
    with pytest.raises(ValueError, match="the trees are damaged: tree 0"):
        StoredBooster("lightgbm", damaged.encode()).loaded(1)
