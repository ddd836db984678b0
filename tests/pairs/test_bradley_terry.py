"""The model of Bradley and Terry, and the tables that duels and votes come in."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracles import given_pairs as oracle
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_rank import PNormPushRanker
from sklearn_rank.pairs import BradleyTerry, PairRanker, duel_pairs, merge_votes


@st.composite
def duels(draw):
    """Pairs of a few items, most of them in a round of wins, and weights."""
    n = draw(st.integers(2, 6))
    one = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(one, min_size=1, max_size=12))
    if draw(st.integers(0, 3)):
        pairs += [(i, (i + 1) % n) for i in range(n)]
    weights = st.sampled_from([1.0, 2.0, 0.5, 7.0])
    weight = draw(st.lists(weights, min_size=len(pairs), max_size=len(pairs)))
    return np.array(pairs), np.array(weight)


def season(n=12, n_pairs=400, seed=0):
    """Duels of a strongly connected graph."""
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n_pairs)])
    lost = rng.random(n_pairs) > 1 / (1 + np.exp(strength[pairs[:, 1]] - strength[pairs[:, 0]]))
    pairs[lost] = pairs[lost, ::-1]
    assert oracle.is_strongly_connected(pairs, n)
    return pairs


PAIRS = season()


# Bradley and Terry -------------------------------------------------------------------------------


@given(duels())
@settings(deadline=None)
def test_scores_are_those_of_the_mm_iteration(case):
    pairs, weight = case
    n = len(np.unique(pairs))
    pairs = np.unique(pairs, return_inverse=True)[1].reshape(-1, 2)
    assume(oracle.is_strongly_connected(pairs, n))
    model = BradleyTerry().fit(pairs, sample_weight=weight)
    expected = oracle.bradley_terry_mm(pairs, weight, n)
    np.testing.assert_allclose(model.scores_, expected, atol=1e-8)
    assert abs(model.scores_.sum()) < 1e-10
    assert model.is_connected_


@given(duels())
@example((np.array([[1, 0], [2, 0], [2, 3], [3, 2]]), np.ones(4)))  # scores ran away
@settings(deadline=None)
def test_duels_that_are_not_strongly_connected_are_noticed(case):
    pairs, weight = case
    codes = np.unique(pairs, return_inverse=True)[1].reshape(-1, 2)
    is_connected = oracle.is_strongly_connected(codes, codes.max() + 1)
    if is_connected:
        BradleyTerry().fit(pairs, sample_weight=weight)
    else:
        with pytest.warns(
            ConvergenceWarning, match=r"no finite maximum-likelihood scores: .* Set alpha > 0"
        ):
            model = BradleyTerry().fit(pairs, sample_weight=weight)
        assert np.isfinite(model.scores_).all()
        assert not model.is_connected_
    # With a ridge the gradient is zero at the scores, whatever the graph.
    ridge = BradleyTerry(alpha=0.01).fit(pairs, sample_weight=weight)
    gradient = oracle.push(codes, weight, ridge.scores_, "logistic", 1)[1]
    np.testing.assert_allclose(gradient, -0.01 * ridge.scores_, atol=1e-10)
    assert ridge.is_connected_ == is_connected


def test_a_large_season_and_a_long_chain():
    large = season(n=300, n_pairs=9000, seed=1)
    expected = oracle.bradley_terry_mm(large, np.ones(len(large)), 300)
    np.testing.assert_allclose(BradleyTerry().fit(large).scores_, expected, atol=1e-8)
    # Each beats the next three times in four: the scores fall by log 3.
    chain = np.array([(i, i + 1) for i in range(200)])
    duels = np.concatenate([chain] * 3 + [chain[:, ::-1]])
    found = BradleyTerry().fit(duels)
    np.testing.assert_allclose(np.diff(found.scores_), -np.log(3), atol=1e-8)


def test_steps_that_go_too_far_are_halved():
    # A round of three with unequal weights: whole Newton steps go to and fro.
    weight = np.array([1e-2, 1e-1, 1e4])
    s = BradleyTerry().fit([(0, 1), (1, 2), (2, 0)], sample_weight=weight).scores_
    # At the minimum each item loses as much as it wins: w (1 - P(win)) is the same of all duels.
    lost = weight / (1 + np.exp(s - np.roll(s, -1)))
    np.testing.assert_allclose(lost, lost[0], rtol=1e-6)


def test_it_is_the_linear_ranker_of_one_hot_items():
    linear = PNormPushRanker(
        p=1, loss="logistic", solver="lbfgs", weak_ranker="feature", alpha=0, tol=1e-15
    )
    items = sparse.csr_array(np.eye(12))
    found = PairRanker(linear).fit(items, PAIRS).predict(items)
    np.testing.assert_allclose(found, BradleyTerry().fit(PAIRS).scores_, atol=1e-5)
    with_ridge = clone(linear).set_params(alpha=0.1)
    found = PairRanker(with_ridge).fit(items, PAIRS).predict(items)
    np.testing.assert_allclose(found, BradleyTerry(alpha=0.1).fit(PAIRS).scores_, atol=1e-7)


def test_names_weights_and_order_of_the_duels():
    names = np.array(["l", "b", "a", "k", "e", "d", "c", "f", "i", "g", "h", "j"])
    plain, named = BradleyTerry().fit(PAIRS), BradleyTerry().fit(names[PAIRS])
    assert named.items_.tolist() == sorted(names)
    np.testing.assert_allclose(named.predict(names), plain.scores_, atol=1e-9)
    frame = pd.DataFrame({"winner": names[PAIRS[:, 0]], "loser": names[PAIRS[:, 1]]})
    np.testing.assert_array_equal(BradleyTerry().fit(frame).scores_, named.scores_)
    weight = np.arange(len(PAIRS)) % 3
    found = BradleyTerry(alpha=1e-3).fit(PAIRS[::-1], sample_weight=weight[::-1])
    repeated = BradleyTerry(alpha=1e-3).fit(np.repeat(PAIRS, weight, axis=0))
    np.testing.assert_allclose(found.scores_, repeated.scores_, atol=1e-9)
    for scale in (1e-300, 1e290):
        scaled = BradleyTerry().fit(PAIRS, sample_weight=np.full(len(PAIRS), scale))
        np.testing.assert_allclose(scaled.scores_, plain.scores_, atol=1e-9)


def test_probabilities_and_score():
    model = BradleyTerry().fit(PAIRS)
    wins = np.exp(model.scores_)
    expected = wins[PAIRS[:, 0]] / (wins[PAIRS[:, 0]] + wins[PAIRS[:, 1]])
    np.testing.assert_allclose(model.win_probability(PAIRS), expected)
    expected = oracle.share_in_order(PAIRS, np.ones(len(PAIRS)), model.scores_)
    assert model.score(PAIRS) == pytest.approx(expected)
    with pytest.raises(ValueError, match="no score of 99, which training has not seen"):
        model.predict([0, 99])
    assert BradleyTerry(alpha=0.1).fit(PAIRS).predict([99]).tolist() == [0.0]
    grid = {"alpha": [1e-4, 1e-2, 10.0]}
    search = GridSearchCV(BradleyTerry(alpha=1.0), grid, cv=KFold(3), error_score="raise")
    assert search.fit(PAIRS).best_score_ > 0.6
    read = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(read.scores_, model.scores_)
    for names in (np.array(list("abcdefghijkl")), np.arange(12).astype(str).astype(object)):
        stored = skops.io.dumps(BradleyTerry().fit(names[PAIRS]))
        trusted = ["sklearn_rank.pairs.bradley_terry.BradleyTerry"]
        read = skops.io.loads(stored, trusted=trusted)
        np.testing.assert_allclose(read.predict(names), model.scores_, atol=1e-9)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([("a", "a")], "The items of a duel must differ. Got 'a' twice in duel 0"),
        ([1, 2], "must have shape (n_pairs, 2), winner and loser. Got shape (2,)"),
        (np.zeros((0, 2)), "is empty"),
        ([(1.0, np.nan)], "second must not have missing values: row 0"),
        (np.array([("a", 1)], dtype=object), "Items need names of one kind"),
        ([("a", 1), ("b", 2)], "Items need names of one kind"),
    ],
)
def test_bad_duels_are_a_sentence(X, message):
    model = BradleyTerry().fit(PAIRS)
    known = dict(vars(model))
    with pytest.raises(ValueError, match=re.escape(message)):
        model.fit(X)
    assert vars(model) == known


def test_bad_parameters_and_too_few_steps():
    for options in ({"alpha": -1}, {"max_iter": 0}, {"tol": 0}):
        with pytest.raises(ValueError, match=f"'{next(iter(options))}' parameter of BradleyTerry"):
            BradleyTerry(**options).fit(PAIRS)
    with pytest.warns(ConvergenceWarning, match="raise max_iter=1"):
        BradleyTerry(max_iter=1).fit(PAIRS)
    with pytest.raises(NotFittedError):
        BradleyTerry().predict([0])
    with pytest.raises(ValueError, match="must not be negative"):
        BradleyTerry().fit(PAIRS, sample_weight=-np.ones(len(PAIRS)))


# Tables ------------------------------------------------------------------------------------------


def test_duels_become_pairs():
    first, second = ["a", "b", "c", "a"], ["b", "c", "a", "c"]
    found = duel_pairs(first, second, [1, 0, 0.5, 0.75], sample_weight=[1, 2, 4, 8])
    named = [(found.names[i], found.names[k]) for i, k in found.pairs]
    assert named == [("a", "b"), ("c", "b"), ("c", "a"), ("a", "c"), ("a", "c"), ("c", "a")]
    assert found.weight.tolist() == [1, 2, 2, 2, 6, 2]
    assert found.duel.tolist() == [0, 1, 2, 2, 3, 3]
    as_objects = duel_pairs(first, np.array(second, dtype=object))
    assert as_objects.names.tolist() == ["a", "b", "c"]
    own = duel_pairs(first, second, items=["c", "x", "a", "b"])
    assert own.pairs.tolist() == [[2, 3], [3, 0], [0, 2], [2, 0]]
    assert own.names.tolist() == ["c", "x", "a", "b"]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((["a"], ["b"], [np.nan]), {}, "must be from 0, the second wins, to 1"),
        ((["a"], ["b", "c"]), {}, "inconsistent numbers of samples"),
        ((["1", "2"], [2, 3]), {}, "Items need names of one kind"),
        ((["1", "2"], [2, 3]), {"items": ["1", "2", "3"]}, "Items need names of one kind"),
        (([b"1"], ["2"]), {}, "Items need names of one kind"),
        ((["a"], ["b"]), {"items": ["a"]}, "must have every name. 'b' is missing"),
        ((["a"], ["b"]), {"items": ["a", "b", "a"]}, "must have each name once"),
        ((["a"], ["b"]), {"sample_weight": [-1]}, "must not be negative"),
    ],
)
def test_bad_tables_are_a_sentence(arguments, options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        duel_pairs(*arguments, **options)


@given(duels(), st.sampled_from(["votes", "shares", "majority"]))
def test_votes_are_merged_by_their_definition(case, kind):
    pairs, weight = case
    expected = oracle.merged_votes(pairs.tolist(), weight, kind)
    if not expected:
        with pytest.raises(ValueError, match="found no majority"):
            merge_votes(pairs, sample_weight=weight, weights=kind)
        return
    merged, found = merge_votes(pairs, sample_weight=weight, weights=kind)
    assert [tuple(pair) for pair in merged.tolist()] == sorted(expected)
    np.testing.assert_allclose(found, [expected[one] for one in sorted(expected)], rtol=1e-12)


def test_merged_votes_give_the_model_of_all_votes():
    X = np.random.default_rng(0).normal(size=(12, 3))
    merged, weight = merge_votes(PAIRS)
    assert len(merged) < len(PAIRS)
    ranker = PairRanker(PNormPushRanker(p=1, loss="logistic", n_estimators=20))
    found = clone(ranker).fit(X, merged, sample_weight=weight).predict(X)
    np.testing.assert_allclose(found, ranker.fit(X, PAIRS).predict(X), atol=1e-10)
    with pytest.raises(ValueError, match="'weights' parameter of merge_votes"):
        merge_votes(PAIRS, weights="mean")


def test_a_missing_name_among_others_in_a_list_is_refused():
    with pytest.raises(ValueError, match="second must not have missing values"):
        duel_pairs(["ann", "bob"], [np.nan, "eve"])
    with pytest.raises(ValueError, match="second must not have missing values"):
        BradleyTerry(alpha=1).fit([("ann", np.nan), ("bob", "ann")])
    assert BradleyTerry(alpha=1).fit([(1, 2), (2, 1)]).items_.tolist() == [1, 2]


def test_a_tie_of_weights_is_no_majority():
    weights = [0.3, 0.3, 0.3, 0.9]
    with pytest.raises(ValueError, match="found no majority"):
        merge_votes([(0, 1)] * 3 + [(1, 0)], sample_weight=weights, weights="majority")


def test_weights_far_apart_and_of_zero():
    duels = [("a", "b"), ("b", "a")]
    model = BradleyTerry(alpha=1).fit(duels, sample_weight=[1e-300, 1e10])
    assert model.predict(["b"]) > model.predict(["a"])
    model = BradleyTerry().fit([("a", "b"), ("b", "a"), ("a", "b")])
    assert model.score([("a", "b"), ("z", "a")], sample_weight=[1, 0]) == 1.0


@pytest.mark.parametrize(
    ("outcome", "got"), [([0.5, 2, 3], "2 in duel 1"), ([1, 0, -1], "-1 in duel 2")]
)
def test_the_first_outcome_that_is_no_share_is_named(outcome, got):
    with pytest.raises(ValueError, match=rf"must be from 0.* Got {got}\."):
        duel_pairs(["a", "b", "c"], ["b", "c", "a"], outcome)
