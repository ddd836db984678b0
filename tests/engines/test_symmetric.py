"""Symmetric trees: each split and leaf by the definition, what is stored, and what is refused."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import symmetric_trees as oracle
from sklearn.base import clone

from sklearn_rank import BoostedTreesRanker
from sklearn_rank._core import parallel
from sklearn_rank.engines import _symmetric, _symmetric_leaves, _symmetric_splits
from sklearn_rank.engines.symmetric_trees import SymmetricTrees

FEW = {"HEAVY_SHARE": 0.07, "SINGLE_LEVELS": 10}
"""Limits for few rows: the share of a row that is always drawn, and of levels split singly."""


def make(**parameters):
    few = {"n_estimators": 3, "max_depth": 3, "learning_rate": 0.5, "reg_lambda": 0.25}
    return BoostedTreesRanker(engine="symmetric", **{**few, **parameters})


# The definition ----------------------------------------------------------------------------


def assert_is_best(tree, level, split, leaf):
    """The split is that of the best cut: best of its feature, and then best of all features."""
    search = tree.search
    table = oracle.scored_cuts(
        search.bins, search.codes, tree.gradient, search.weight, tree.counts, leaf, search.sign
    )
    noise, fresh = tree.draws[2 * level : 2 * level + 2]
    noisy = [score + tree.scale * e for (*_, score), e in zip(table, noise, strict=True)]
    best = {}
    for number, (j, *_) in enumerate(table):
        if j not in best or noisy[number] > noisy[best[j]]:
            best[j] = number
    final = {j: table[n][2] + tree.scale * e for (j, n), e in zip(best.items(), fresh, strict=True)}
    rows = search.codes[split.feature]
    ours = [
        number
        for number, (j, right, _) in enumerate(table)
        if j == split.feature
        and (split.goes_right[rows] == np.isin(rows, list(right))).all()
        and set(np.flatnonzero(split.goes_right[:-1])) == right - {len(split.goes_right) - 1}
    ]
    assert max(noisy[n] for n in ours) >= noisy[best[split.feature]] - 1e-10
    assert final[split.feature] >= max(final[j] for j in final if tree.is_open[j]) - 1e-10
    assert tree.is_open[split.feature]
    if not split.saw_missing:  # to the side of the weighted median
        mass = [search.weight[split.goes_right[rows] == side].sum() for side in (False, True)]
        assert split.goes_right[-1] == (mass[1] > mass[0])
    assert split.saw_missing == (search.bins[split.feature].missing in rows)


@contextmanager
def checked(settings, **limits):
    """Check all trees that are grown; `limits` are those of blocks, paths and heavy rows."""
    trees, search, leaves = [], _symmetric_splits.SplitSearch, _symmetric.leaf_values

    class Search(search):
        def draw(self, share, uniform):
            self.counts = oracle.multiples(self.weight, uniform, share)
            return super().draw(share, uniform)

        def begin(self, gradient, drawn, share):
            tree = SimpleNamespace(search=self, counts=self.counts, gradient=gradient, draws=[])
            tree.splits, tree.is_open = [], None
            assert_array_equal(drawn, np.flatnonzero(self.counts))
            trees.append(tree)
            super().begin(gradient, drawn, share)

        def choose(self, score, is_open, scale, noise):
            tree = trees[-1]
            tree.is_open, tree.scale = is_open, scale

            def noted(size):
                tree.draws.append(noise(size))
                return tree.draws[-1]

            return super().choose(score, is_open, scale, noted)

        def split_at(self, cut):
            trees[-1].splits.append(super().split_at(cut))
            return trees[-1].splits[-1]

    def leaf_values(descent, scores, leaf, n_leaves, ridge, chains):
        tree, leaf_above = trees[-1], np.zeros(len(leaf), dtype=int)
        tree.leaf = leaf
        assert_array_equal(tree.gradient, descent.gradient()[0])
        weight, n = tree.search.weight, tree.search.weight.sum()
        noise = np.sqrt(sum(tree.gradient**2 / weight) / n)
        shrunk = n / (n + np.exp(settings["learning_rate"] * (len(trees) - 1)))
        assert (tree.is_open is None) == (len(tree.search.cut_feature) == 0)
        if tree.is_open is not None:
            assert_allclose(tree.scale, noise * shrunk, rtol=1e-12)
            assert sum(tree.is_open) == max(1, round(settings["colsample"] * len(tree.is_open)))
        for level, split in enumerate(tree.splits):
            assert_is_best(tree, level, split, leaf_above)
            leaf_above = 2 * leaf_above + split.goes_right[tree.search.codes[split.feature]]
        assert_array_equal(leaf, leaf_above)
        values = leaves(descent, scores, leaf, n_leaves, ridge, chains)
        ordered = oracle.chains(tree.splits, tree.search.sign)
        # With the engine's regression, as rounding decides which steps near the minimum are halved.
        pool = [(sign, np.array(paths)) for sign, paths in ordered]

        def monotone(values, weight, _):
            return _symmetric_leaves.monotone(values, weight, pool)

        wanted = oracle.leaf_values(descent, leaf, n_leaves, ridge, ordered, monotone)
        assert_allclose(values, wanted, rtol=0, atol=1e-10)
        tree.values, tree.X = settings["learning_rate"] * values, descent.problem.data.X
        return values

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_symmetric, "SplitSearch", Search)
        patch.setattr(_symmetric, "leaf_values", leaf_values)
        for name, value in {**FEW, **limits}.items():
            patch.setattr(_symmetric_splits, name, value)
            patch.setattr(oracle, name, value, raising=name in FEW)
        yield trees


SMALL_BLOCKS = {"_TABLE_ENTRIES": 8}
CASES = {
    "n_rows": st.integers(2, 40),
    "missing": st.booleans(),
    "levels": st.sampled_from([0, 3, 16]),
    "weighted": st.booleans(),
    "monotonic_cst": st.sampled_from([None, [1, -1, 0, 0], [1, 1, 1, 0], [-1, 0, 0, 0]]),
    "colsample": st.sampled_from([1.0, 0.5]),
    "subsample": st.sampled_from([1.0, 0.5]),
    "loss": st.sampled_from(["exponential", "logistic", "cross_entropy"]),
    "max_depth": st.integers(1, 4),
    "reg_lambda": st.sampled_from([0.25, 0.0]),
    "limits": st.sampled_from([{}, SMALL_BLOCKS, {**SMALL_BLOCKS, "_FLAT_ENTRIES": 0}]),
}


def problem(random, n_rows, missing, levels, weighted):
    """Few values, so many ties, and the last of four features a category."""
    X = random.integers(0, 5, (n_rows, 4)).astype(float)
    X[:, 3] = random.integers(0, max(levels, 1), n_rows)
    if missing:
        X[random.random(X.shape) < 0.2] = np.nan
    weight = random.choice([1.0, 1.5, 2.0, 6.0], n_rows) if weighted else np.ones(n_rows)
    y = np.append(random.random(n_rows - 2) < 0.4, [False, True])
    return X, y, weight


@given(seed=st.integers(0, 10**6), case=st.fixed_dictionaries(CASES))
def test_each_split_and_leaf_by_the_definition(seed, case):
    random, case = np.random.default_rng(seed), dict(case)
    shape = [case.pop(name) for name in ("n_rows", "missing", "levels", "weighted")]
    X, y, weight = problem(random, *shape)
    limits, categories = case.pop("limits"), [3] if shape[2] else None
    model = make(categorical_features=categories, random_state=seed, **case)
    with checked(model.get_params(), **limits) as trees:
        model.fit(X, y, sample_weight=weight)
    assert len(trees) == 3
    rows = trees[-1].X.copied()
    scores = model.booster_.scores(rows, 0, 3)
    assert_allclose(scores, sum(tree.values[tree.leaf] for tree in trees), rtol=0, atol=1e-12)
    parts = model.booster_.contributions(rows)
    assert_allclose(parts.sum(axis=1), scores, atol=1e-12)
    assert_allclose(parts[0], oracle.shapley_values(model.booster_, rows[0]), atol=1e-12)


PAIRS_OF_LEAVES = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
THREE_STEPS = np.array([[0, 2, 6], [1, 3, 7]])


@given(
    st.lists(st.integers(-4, 4), min_size=8, max_size=8),
    st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=8, max_size=8),
    st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1])),
)
def test_leaves_are_ordered_by_isotonic_regression(values, weight, signs):
    chains = list(zip(signs, [THREE_STEPS, PAIRS_OF_LEAVES], strict=True))
    values, weight = np.array(values, dtype=float), np.array(weight)
    wanted = oracle.ordered(values, weight, [(s, paths.tolist()) for s, paths in chains])
    assert_allclose(_symmetric_leaves.monotone(values, weight, chains), wanted, atol=1e-10)


# Rows --------------------------------------------------------------------------------------

RANDOM = np.random.default_rng(0)
X, Y, WEIGHT = problem(RANDOM, 300, missing=True, levels=12, weighted=True)
X[:, 0] += RANDOM.normal(size=300).round(1)
MANY = {"n_estimators": 20, "categorical_features": [3], "max_depth": 5, "learning_rate": 0.3}


def test_the_same_model_on_any_threads_and_paths(monkeypatch):
    monkeypatch.setattr(parallel, "_MIN_PARALLEL_VALUES", 0)
    model, weight = make(**MANY, max_bins=20), WEIGHT / 3  # sums of thirds are rounded
    first = clone(model).fit(X, Y, sample_weight=weight).booster_.to_bytes()
    for n_jobs, entries in ((2, 1 << 18), (1, 0), (2, 0)):
        monkeypatch.setattr(_symmetric_splits, "_FLAT_ENTRIES", entries)
        other = clone(model).set_params(n_jobs=n_jobs).fit(X, Y, sample_weight=weight)
        assert other.booster_.to_bytes() == first


def test_few_rows_are_drawn():
    model = make(**MANY, subsample=0.01).fit(np.repeat(X, 2, axis=0), np.repeat(Y, 2))
    assert np.isfinite(model.decision_function(X)).all()


def test_scores_never_fall_against_a_constraint():
    sign = np.array([1, -1, 1, 0])
    model = make(**MANY, monotonic_cst=sign).fit(X, Y, sample_weight=WEIGHT)
    rows = RANDOM.integers(-2, 7, (2000, 4)) / 1.0
    rows[:, 3] = np.where(RANDOM.random(2000) < 0.1, np.nan, np.abs(rows[:, 3]))
    higher = rows + sign * RANDOM.choice([0.0, 0.3, 1.0, 4.0], (2000, 4))
    found = model.decision_function(rows), model.decision_function(higher)
    assert (found[1] >= found[0]).all()
    assert (found[1] > found[0]).any()
    free = make(**MANY).fit(X, Y, sample_weight=WEIGHT)
    assert (free.decision_function(higher) < free.decision_function(rows)).any()


# What is stored ----------------------------------------------------------------------------


def test_trees_are_stored_as_arrays():
    model = make(**MANY).fit(X, Y, sample_weight=WEIGHT)
    trees = model.booster_
    loaded = SymmetricTrees.from_bytes(trees.to_bytes())
    assert_array_equal(loaded.contributions(X), trees.contributions(X))
    assert_array_equal(loaded.importances(4), trees.importances(4))
    parts = [trees.scores(X, *ends) for ends in ((0, 3), (3, 11), (11, 20))]
    assert_allclose(sum(parts), loaded.scores(X, 0, 20), rtol=0, atol=1e-12)
    assert_array_equal(trees[:3].scores(X, 0, 3), parts[0])


@pytest.mark.parametrize("depths", [(2, 4), (4, 2)])
def test_trees_of_several_depths(depths):
    """Leaves that no training row is in have values too, where constraints order them."""
    model = make(max_depth=depths[0], monotonic_cst=[1, 1, -1], warm_start=True, reg_lambda=1.0)
    model.fit(X[:, :3], Y)
    before = model.booster_.scores(X[:, :3], 0, 3)
    model.set_params(n_estimators=6, max_depth=depths[1]).fit(X[:, :3], ~Y)
    assert_allclose(model.booster_.scores(X[:, :3], 0, 3), before, rtol=0, atol=1e-12)
    rows = RANDOM.uniform(-2, 6, (200, 3))
    assert_allclose(model.contributions(rows).sum(axis=1), model.decision_function(rows))
    wanted = oracle.shapley_values(model.booster_, rows[0])
    assert_allclose(model.booster_.contributions(rows)[0], wanted, atol=1e-12)


# Objectives, and what is refused -----------------------------------------------------------

OBJECTIVES = [
    {"p": 4.0, "push": "both"},
    {"push": "ir"},
    {"loss": "hinge"},
    {"loss": "least_squares", "p": 2.0},
    {"loss": "cross_entropy"},
    {"loss": "smoothed_dcg"},
]


@pytest.mark.parametrize("parameters", OBJECTIVES, ids=str)
def test_every_objective_falls_in_queries_of_grades(parameters):
    qid, grades = np.arange(300) // 15, np.clip(np.nan_to_num(X[:, 0]).round() // 2, 0, 2)
    model = make(**MANY, relevance="graded", **parameters)
    curve = model.fit(X, grades + Y, qid=qid, sample_weight=WEIGHT).objective_curve_
    assert curve[-1] < 0.95 * curve[0]
    assert (np.diff(curve) <= 1e-12).all()


REFUSED = {
    "max_depth": 9,
    "engine_params": {"a": 1},
    "loss": "ndcg",
    "max_leaf_nodes": 31,
    "min_samples_leaf": 5,
    "min_child_weight": 1,
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} of BoostedTreesRanker .*'symmetric' must be"):
        make(**{name: REFUSED[name]}).fit(X, Y)


def test_positions_are_refused():
    with pytest.raises(ValueError, match="position of BoostedTreesRanker needs loss='ndcg'"):
        make().fit(X, Y, position=np.ones(300))


def test_one_constant_feature_and_early_stopping():
    model = make(**MANY, n_iter_no_change=2, colsample=0.25).fit(X * [1, 0, 0, 1], Y)
    assert len(model.validation_losses_) <= 20
    assert model.n_iter_ <= len(model.validation_losses_)
    assert_allclose(model.contributions(X).sum(axis=1), model.decision_function(X))
