"""Rankers of listed pairs: the objective, the trick of one query a pair, bad input, searches."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import skops.io
from hypothesis import assume, given
from hypothesis import strategies as st
from oracles import definitions
from oracles import given_pairs as oracle
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.validation import check_relevance, check_weight
from sklearn_rank.objectives import MARGIN_LOSSES, ListedExponential, MarginLoss, make_push
from sklearn_rank.objectives._margin_push import MARGIN_PUSHES
from sklearn_rank.pairs import PairKFold, PairRanker, PairTable
from sklearn_rank.pairs._given import share_in_order
from sklearn_rank.pairs.pair_ranker import PairedItems
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@st.composite
def listed(draw, n_max=6):
    """Items, pairs that may repeat or contradict each other, weights, and scores with ties."""
    n = draw(st.integers(2, n_max))
    one = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda p: p[0] != p[1])
    pairs = draw(st.lists(one, min_size=1, max_size=12))
    of_pair = st.sampled_from([1.0, 2.0, 0.25, 3.5])
    weight = draw(st.lists(of_pair, min_size=len(pairs), max_size=len(pairs)))
    of_item = st.sampled_from([-3.0, -0.5, 0.0, 0.3, 0.5, 1.0, 4.0])
    scores = draw(st.lists(of_item, min_size=n, max_size=n))
    return np.array(pairs), np.array(weight), np.array(scores)


def posed(pairs, weight, n):
    return GivenPairs(n, pairs[:, 0].copy(), pairs[:, 1].copy(), weight)


def duels(n=60, n_pairs=300, seed=0):
    """Items with three features, one of few values, and noisy pairs with whole weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 2] = rng.integers(0, 3, n)
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(n_pairs)])
    f = X[:, 0] + np.abs(X[:, 1])
    lost = f[pairs[:, 0]] + rng.normal(size=n_pairs) < f[pairs[:, 1]]
    pairs[lost] = pairs[lost, ::-1]
    return X, pairs, rng.integers(1, 4, n_pairs)


X, PAIRS, WEIGHT = duels()


def one_query_a_pair(ranker, X, pairs, copies):
    """Fit a ranker by the trick: every pair, as often as it weighs, is a query of two rows."""
    rows = np.repeat(pairs, copies, axis=0)
    y, qid = np.tile([1, 0], len(rows)), np.repeat(np.arange(len(rows)), 2)
    return clone(ranker).set_params(relevance="graded").fit(X[rows.ravel()], y, qid=qid)


# The objective -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", oracle.PHI)
@pytest.mark.parametrize("push", MARGIN_PUSHES)
@given(listed(), st.sampled_from([1.0, 4.0, 16.0]))
def test_each_loser_has_a_height(loss, push, case, p):
    pairs, weight, scores = case
    objective = make_push(posed(pairs, weight, len(scores)), loss, p, push, 0.4)
    value, gradient = oracle.push(pairs, weight, scores, loss, p, push, 0.4)
    found, slopes = objective.value_and_gradient(scores)
    atol = 1e-10 * max(1, np.abs(gradient).max())
    assert found == pytest.approx(value, rel=1e-10, abs=1e-10)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-10, atol=atol)
    h = np.cos(np.arange(len(scores)))
    at_step = oracle.push(pairs, weight, scores + 0.3 * h, loss, p, push, 0.4)[1]
    assert objective.slope(scores, h)(0.3) == pytest.approx(at_step @ h, rel=1e-9, abs=1e-9)
    method = "value_gradient_slopes" if loss == "hinge" else "value_gradient_curvature"
    bound = getattr(objective, method)(scores)[2]
    if loss == "hinge":
        assert (bound >= np.abs(gradient) - atol).all()
    elif p == 1 and loss != "exponential":
        expected = oracle.mean_curvature(pairs, weight, scores, loss)
        np.testing.assert_allclose(bound, expected, rtol=1e-10, atol=1e-10)
    elif loss != "squared_hinge":
        steps = scores + np.outer([1e-4, -1e-4], h)
        near = [oracle.push(pairs, weight, f, loss, p, push, 0.4)[1] @ h for f in steps]
        limit = min(bound @ (h - h.min()), bound @ (h.max() - h)) * np.ptp(h)
        assert (near[0] - near[1]) / 2e-4 <= limit * (1 + 1e-4) + 1e-8 * p * max(1, abs(near[0]))


@given(listed(), st.sampled_from(["top", "bottom"]), st.data())
def test_exponential_pairs_have_shares_and_a_largest_height(case, side, data):
    pairs, weight, scores = case
    h = np.array(data.draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    value, shares = oracle.log_exponential(pairs, weight, scores)
    split = ListedExponential(posed(pairs, weight, len(scores))).pair_shares(scores, h)
    expected = oracle.pair_shares(pairs, shares, h)
    np.testing.assert_allclose(
        [split.right, split.wrong, split.tied], [expected[1], expected[-1], expected[0]], atol=1e-12
    )
    push = make_push(posed(pairs, weight, len(scores)), "exponential", np.inf, side)
    largest = value + np.log(np.bincount(pairs[:, int(side == "top")], shares).max())
    assert push.value(scores) == pytest.approx(largest, rel=1e-12, abs=1e-12)
    assert list(push.smooth_path())[-1].value(scores) == pytest.approx(largest, abs=1e-4)


# The trick ---------------------------------------------------------------------------------------

STUMPS = [
    RankBoost(n_estimators=30),
    RankBoost(n_estimators=20, selection="optimal"),
    RankBoost(n_estimators=20, monotonic_cst=[1, 0, 0], categorical_features=[2]),
    *(PNormPushRanker(p=1, loss=loss, n_estimators=30) for loss in MARGIN_LOSSES),
    PNormPushRanker(p=1, loss="logistic", solver="lbfgs", tol=1e-12),
]
LINEAR = [
    RankBoost(n_estimators=20, weak_ranker="feature"),
    PNormPushRanker(p=1, loss="logistic", solver="lbfgs", weak_ranker="feature", tol=1e-13),
    PNormPushRanker(p=1, solver="lbfgs", weak_ranker="feature", alpha=0.01, tol=1e-13),
    KernelPairwiseSGDRanker(kernel="linear", tol=1e-7),
    KernelPairwiseSGDRanker(kernel="linear", loss="squared_hinge", tol=1e-7),
    KernelPairwiseSGDRanker(kernel="linear", solver="gd", max_iter=30),
]


@pytest.mark.parametrize("ranker", [*STUMPS, *LINEAR], ids=str)
def test_the_scores_are_those_of_one_query_a_pair(ranker):
    found = PairRanker(ranker).fit(X, PAIRS, sample_weight=WEIGHT)
    trick = one_query_a_pair(ranker, X, PAIRS, WEIGHT)
    expected = trick.predict(X)
    assert np.ptp(expected) > 0.1
    assert np.abs(found.predict(X) - expected).max() <= 1e-8 * max(1, np.abs(expected).max())
    assert found.score(X, PAIRS, sample_weight=WEIGHT) > 0.7


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_kernels_and_trees_give_the_scores_of_one_query_a_pair(loss):
    kernel = KernelPairwiseSGDRanker(loss=loss, tol=1e-6, alpha=0.01)
    trees = BoostedTreesRanker(
        engine="xgboost", loss=loss, n_estimators=10, subsample=1.0, colsample=1.0
    )
    for ranker, tolerance in ((kernel, 1e-3), (trees, 1e-5)):
        found = PairRanker(ranker).fit(X, PAIRS, sample_weight=WEIGHT).predict(X)
        expected = one_query_a_pair(ranker, X, PAIRS, WEIGHT).predict(X)
        np.testing.assert_allclose(found, expected, atol=tolerance * np.ptp(expected))


@pytest.mark.parametrize("loss", ["exponential", "logistic", "squared_hinge"])
def test_a_push_of_all_pairs_of_queries_is_that_of_crucial_pairs(loss):
    ranker = PNormPushRanker(p=4, loss=loss, n_estimators=20, push="crucial_pairs")
    y, qid = np.digitize(X[:, 0] + np.abs(X[:, 1]), [0.3, 1.2]), np.arange(60) % 4
    pairs = np.column_stack(definitions.weighted_pairs(y, qid)[:2])
    found = PairRanker(ranker).fit(X, pairs).predict(X)
    expected = ranker.set_params(relevance="graded").fit(X, y, qid=qid).predict(X)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.ptp(expected))


def test_equal_items_of_trees_keep_their_heights():
    items = PairedItems.from_pairs(np.ones((3, 1)), np.array([[1, 0], [1, 2]]), np.array([2.0, 1]))
    items = replace(items, has_heights=True).distinct()
    push = make_push(items.preferences, "exponential", 4, "top")
    assert push.value(np.zeros(3)) == pytest.approx(np.log(2**4 + 1) / 4, rel=1e-12)


@pytest.mark.parametrize("weight", [np.ones(300), 0.2 * WEIGHT], ids=["1", "below 1"])
def test_the_smooth_margin_of_listed_pairs(weight):
    """Each step by explicit pairs: RankBoost's until 0 < G < edge, then eq. 12."""
    items = np.random.default_rng(1).integers(0, 2, (60, 5)).astype(float)
    better = (items @ [1.0, 2, 3, 4, 5])[PAIRS] @ [1, -1]
    pairs = np.where(better[:, None] > 0, PAIRS, PAIRS[:, ::-1])[abs(better) > 2]
    w = weight[abs(better) > 2]
    ranker = PairRanker(SmoothMarginRanker(n_estimators=60)).fit(items, pairs, sample_weight=w)
    rules, w, net = ranker.ranker_, w / min(1, w.min()), np.zeros(5)
    e, g = 1 / (2 * max(w.sum(), w.sum() ** 2 / (w**2).sum())), -1.0
    steps = zip(rules.weak_rankers_.feature, rules.estimator_weights_, strict=True)
    for number, (j, step) in enumerate(steps):
        shares = oracle.log_exponential(pairs, w, items @ net)[1]
        split = oracle.pair_shares(pairs, shares, items[:, j])
        sign = 1 if split[1] > split[-1] else -1
        right, wrong, tied = (split[key] for key in (sign, -sign, 0))
        expected = np.log((right + e) / (wrong + e)) / 2
        if 0 < g < right - wrong:
            expected = definitions.smooth_margin_closed_form(right, wrong, tied, g)
        assert step == pytest.approx(sign * expected, rel=1e-10)
        net[j] += step
        g = -oracle.log_exponential(pairs, w, items @ net)[0] / abs(net).sum()
        assert rules.smooth_margin_curve_[number] == pytest.approx(g, rel=1e-10)
    margin = min((items @ net)[pairs] @ [1, -1]) / abs(net).sum()
    assert 0 < g <= rules.margin_ == pytest.approx(margin, rel=1e-10)


def test_a_linear_model_is_logistic_regression_of_the_differences():
    alpha = 0.05
    ranker = PNormPushRanker(
        p=1, loss="logistic", solver="lbfgs", weak_ranker="feature", alpha=alpha, tol=1e-14
    )
    found = PairRanker(ranker).fit(X, PAIRS, sample_weight=WEIGHT).ranker_.coef_
    rows = X[PAIRS[:, 0]] - X[PAIRS[:, 1]]
    both, y = np.concatenate([rows, -rows]), np.repeat([1, 0], len(rows))
    peer = LogisticRegression(C=1 / (2 * alpha * WEIGHT.sum()), fit_intercept=False, tol=1e-10)
    peer.fit(both, y, sample_weight=np.tile(WEIGHT, 2))
    np.testing.assert_allclose(found, peer.coef_[0], rtol=1e-5)


@pytest.mark.parametrize(("least", "n_scores"), [(30, 2), (31, 1)])
def test_leaves_of_trees_count_items_not_pairs(least, n_scores):
    trees = BoostedTreesRanker(
        engine="lightgbm", n_estimators=1, min_samples_leaf=least, subsample=1.0, colsample=1.0
    )
    items = np.arange(60.0)[:, np.newaxis]  # the upper half wins all of its many duels
    pairs = [(30 + i, k) for i in range(30) for k in range(30)]
    assert len(np.unique(PairRanker(trees).fit(items, pairs).predict(items))) == n_scores


def test_a_loss_of_the_users_own():
    class Cubic(MarginLoss):
        def value_and_derivative(self, margin):
            short = np.maximum(1 - margin, 0)
            return short**3, -3 * short**2

    for ranker in (
        PNormPushRanker(p=1, loss=Cubic(), solver="lbfgs", weak_ranker="feature", alpha=0.1),
        BoostedTreesRanker(loss=Cubic(), n_estimators=5),
    ):
        assert PairRanker(ranker).fit(X, PAIRS).score(X, PAIRS) > 0.6


def test_items_of_no_pair_and_pairs_of_weight_zero_do_not_count():
    more = np.concatenate([X, 50 * X])
    pairs = np.concatenate([PAIRS, PAIRS + 60])
    weight = np.concatenate([WEIGHT, np.zeros_like(WEIGHT)])
    for ranker in (None, KernelPairwiseSGDRanker(gamma=0.5), BoostedTreesRanker(n_estimators=5)):
        plain = PairRanker(ranker).fit(X, PAIRS, sample_weight=WEIGHT)
        found = PairRanker(ranker).fit(more, pairs, sample_weight=weight)
        assert found.n_pairs_ == len(PAIRS)
        np.testing.assert_allclose(found.predict(X), plain.predict(X), atol=1e-4)


def test_sparse_items():
    ranker = PairRanker(KernelPairwiseSGDRanker(kernel="linear", tol=1e-8))
    dense = ranker.fit(X, PAIRS).predict(X)
    for kind in (sparse.csr_array, sparse.csr_matrix):
        np.testing.assert_allclose(clone(ranker).fit(kind(X), PAIRS).predict(kind(X)), dense)


# The estimator -----------------------------------------------------------------------------------


@given(listed())
def test_score_is_the_share_of_pairs_in_order(case):
    pairs, weight, scores = case
    expected = oracle.share_in_order(pairs, weight, scores)
    assert share_in_order(scores, pairs, weight) == pytest.approx(expected, abs=1e-12)


BAD_PAIRS = {
    "must differ from its loser. Got item 2 twice in pair 1": [(0, 1), (2, 2)],
    "be whole numbers from 0 to 59, the rows of X. Got [3.0, 60.0]": [(0, 1), (3, 60)],
    "which may be a PairTable instead. Got shape (1, 3)": [(0, 1, 2)],
    "contains NaN": [(0, np.nan)],
    "the rows of X. Got [0.0, 1.5] in pair 0; duel_pairs makes them from names": [(0, 1.5)],
    "pairs can't be used as an array. could not convert string": [("a", "b")],
    "must have shape (n_pairs, 2): the rows of winner and loser in X": None,
}


@pytest.mark.parametrize("message", BAD_PAIRS)
@pytest.mark.parametrize("method", ["fit", "score"])
def test_bad_pairs_are_a_sentence_and_change_nothing(method, message):
    ranker = PairRanker(RankBoost(n_estimators=3)).fit(X, PAIRS)
    known = dict(vars(ranker))
    with pytest.raises(ValueError, match=re.escape(message)):
        getattr(ranker, method)(X, BAD_PAIRS[message])
    assert vars(ranker) == known


@pytest.mark.parametrize(
    ("ranker", "error", "message"),
    [
        (PNormPushRanker(push="ir"), ValueError, "with push='ir': pairs have no list"),
        (RankBoost(n_iter_no_change=3), ValueError, "with n_iter_no_change=3: pairs"),
        (KernelPairwiseSGDRanker(batch_size=5), ValueError, "with batch_size=5"),
        (PNormPushRanker(p=1, solver=Corrective()), ValueError, "with solver=Corrective()"),
        (BoostedTreesRanker(loss="ndcg", relevance="graded"), ValueError, "with loss='ndcg'"),
        (ListNetLinear(), TypeError, "Got ListNetLinear"),
        ("RankBoost", TypeError, "Got str"),
    ],
)
def test_what_can_not_learn_from_pairs_is_refused_by_name(ranker, error, message):
    with pytest.raises(error, match=re.escape(message)):
        PairRanker(ranker).fit(X, PAIRS)


def test_features_are_checked_as_the_ranker_does():
    with pytest.raises(ValueError, match="NaN"):
        PairRanker(KernelPairwiseSGDRanker()).fit(np.full((3, 2), np.nan), [(0, 1)])
    ranker = PairRanker().fit(pd.DataFrame(X, columns=list("abc")), PAIRS)
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="feature names"):
        ranker.predict(pd.DataFrame(X, columns=list("abd")))
    assert not hasattr(ranker.fit(X, PAIRS), "feature_names_in_")
    with pytest.raises(ValueError, match="2 features"):
        ranker.predict(X[:, :2])
    with pytest.raises(NotFittedError):
        PairRanker().predict(X)


def test_it_is_a_scikit_learn_estimator():
    ranker = PairRanker(RankBoost(n_estimators=4))
    assert ranker.get_params()["ranker__n_estimators"] == 4
    other = clone(ranker).set_params(ranker__n_estimators=2).fit(X, PAIRS)
    assert len(other.ranker_.estimator_weights_) == 2
    assert other.ranker.relevance == "binary"
    assert repr(other) == "PairRanker(ranker=RankBoost(n_estimators=2))"
    tags = get_tags(PairRanker(KernelPairwiseSGDRanker(kernel="linear")))
    found = tags.estimator_type, tags.input_tags.sparse, tags.target_tags.required
    assert found == ("ranker", True, True)
    again = clone(other).fit(X, PAIRS)
    np.testing.assert_array_equal(again.predict(X), other.predict(X))
    np.testing.assert_array_equal(other.fit(X, PAIRS).predict(X), again.predict(X))


@pytest.mark.parametrize("ranker", [None, BoostedTreesRanker(n_estimators=5)], ids=str)
def test_it_is_stored(ranker):
    fitted = PairRanker(ranker).fit(X, PAIRS)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict(X), fitted.predict(X))
    stored = skops.io.dumps(fitted)
    trusted = skops.io.get_untrusted_types(data=stored)
    assert all(name.startswith("sklearn_rank.") for name in trusted)
    read = skops.io.loads(stored, trusted=trusted)
    np.testing.assert_array_equal(read.predict(X), fitted.predict(X))


def test_pipelines_take_pairs_in_the_place_of_y():
    pipe = make_pipeline(StandardScaler(), PairRanker(KernelPairwiseSGDRanker(kernel="linear")))
    assert 0.6 < pipe.fit(X, PAIRS).score(X, PAIRS) < 1
    expected = PairRanker(KernelPairwiseSGDRanker(kernel="linear"))
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_allclose(pipe.predict(X), expected.fit(scaled, PAIRS).predict(scaled))
    with config_context(enable_metadata_routing=True):
        assert clone(pipe).fit(X, PAIRS).score(X, PAIRS) == pipe.score(X, PAIRS)


def test_a_pipeline_inside_sees_the_items_of_a_table():
    steps = make_pipeline(StandardScaler(), KernelPairwiseSGDRanker(kernel="linear"))
    outside = make_pipeline(StandardScaler(), PairRanker(KernelPairwiseSGDRanker(kernel="linear")))
    frame = pd.DataFrame(X, columns=list("abc"))
    inside = PairRanker(steps).fit(PairTable(frame, PAIRS))
    np.testing.assert_allclose(inside.predict(frame), outside.fit(X, PAIRS).predict(X))
    assert inside.feature_names_in_.tolist() == ["a", "b", "c"]
    assert not hasattr(steps[0], "mean_")
    grid = {"ranker__kernelpairwisesgdranker__alpha": [1e-3, 10.0]}
    search = GridSearchCV(PairRanker(steps), grid, cv=PairKFold(3), error_score="raise")
    assert search.fit(PairTable(X, PAIRS)).best_score_ > 0.6
    with pytest.raises(TypeError, match="Got ListNetLinear"):
        PairRanker(make_pipeline(StandardScaler(), ListNetLinear())).fit(X, PAIRS)


class RankerOfGrades(PairRanker):
    """A ranker as scikit-learn's checks call it: the pairs are those that y would make."""

    @staticmethod
    def _cumulative_pair_weight(y, sample_weight):
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        y = check_relevance(y)
        i, k = np.nonzero(np.greater.outer(y, y))
        weight = check_weight(sample_weight, len(y))
        return np.column_stack([i, k]), weight[i] * weight[k]

    def fit(self, X, y=None, sample_weight=None):
        pairs, weight = self._cumulative_pair_weight(y, sample_weight)
        return super().fit(X, pairs, sample_weight=weight)

    def score(self, X, y=None, sample_weight=None):
        pairs, weight = self._cumulative_pair_weight(y, sample_weight)
        return super().score(X, pairs, sample_weight=weight)


@pytest.mark.slow
@parametrize_with_checks(
    [
        RankerOfGrades(PNormPushRanker(p=1, loss="logistic", n_estimators=4)),
        RankerOfGrades(SmoothMarginRanker(n_estimators=4)),
        RankerOfGrades(KernelPairwiseSGDRanker(kernel="linear", max_iter=10)),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


# Searches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("routing", [False, True])
def test_pairs_are_the_samples_of_a_search(routing):
    table = PairTable(X, PAIRS)
    ranker = PairRanker(RankBoost(n_estimators=5))
    grid = {"ranker__n_estimators": [1, 20]}
    annotator = np.arange(len(PAIRS)) % 7
    with config_context(enable_metadata_routing=routing):
        search = GridSearchCV(ranker, grid, cv=PairKFold(3, random_state=0), error_score="raise")
        search.fit(table)
        by_group = GroupKFold(3)
        options = {"params": {"groups": annotator}} if routing else {"groups": annotator}
        scores = cross_val_score(ranker, table, cv=by_group, error_score="raise", **options)
    assert search.best_params_ == {"ranker__n_estimators": 20}
    train, test = next(PairKFold(3, random_state=0).split(table))
    part = clone(ranker).set_params(ranker__n_estimators=20).fit(X, PAIRS[train])
    assert search.cv_results_["split0_test_score"][1] == part.score(X, PAIRS[test])
    train, test = next(by_group.split(table, groups=annotator))
    assert not set(annotator[train]) & set(annotator[test])
    assert scores[0] == clone(ranker).fit(X, PAIRS[train]).score(X, PAIRS[test])


def test_weights_follow_their_pairs_in_a_search():
    table, weight = PairTable(X, PAIRS), WEIGHT.astype(float)
    search = GridSearchCV(PairRanker(RankBoost(n_estimators=5)), {}, cv=KFold(3))
    search.fit(table, sample_weight=weight)
    train, test = next(KFold(3).split(PAIRS))
    part = PairRanker(RankBoost(n_estimators=5)).fit(X, PAIRS[train], sample_weight=weight[train])
    # Since scikit-learn 1.9 weights reach score, too.
    known = [part.score(X, PAIRS[test], sample_weight=w) for w in (None, weight[test])]
    assert search.cv_results_["split0_test_score"][0] in known


def test_a_table_holds_its_items_once():
    table = PairTable(X, PAIRS)
    part = table[[3, 1]]
    assert part.X is X
    assert part.pairs.tolist() == PAIRS[[3, 1]].tolist()
    assert (len(part), part.shape, table[4].shape) == (2, (2, 2), (1, 2))
    assert table[np.arange(len(PAIRS)) < 5].shape == (5, 2)
    with pytest.raises(ValueError, match="pass it alone"):
        PairRanker().fit(table, PAIRS)
    with pytest.raises(ValueError, match="from 0 to 59"):
        PairTable(X, PAIRS + 60)


@given(listed(n_max=9), st.sampled_from(["pairs", "items"]), st.integers(0, 3))
def test_what_is_kept_is_on_one_side(case, keep, seed):
    pairs = case[0]
    folds = PairKFold(2, keep=keep, random_state=seed)
    try:
        splits = list(folds.split(pairs))
    except ValueError as error:
        assume("use fewer splits" not in str(error) and "needs at least" not in str(error))
        raise
    kept = {
        "pairs": [{frozenset(pair)} for pair in pairs.tolist()],
        "items": [set(pair) for pair in pairs.tolist()],
    }[keep]
    tested = []
    for train, test in splits:
        sides = [set().union(*(kept[j] for j in part)) for part in (train, test)]
        assert not sides[0] & sides[1]
        left = np.setdiff1d(np.arange(len(pairs)), np.concatenate([train, test]))
        assert keep == "items" or not len(left)
        assert all(kept[j] & sides[0] or kept[j] - sides[1] for j in left)
        tested += test.tolist()
    assert len(set(tested)) == len(tested)
    assert keep == "items" or sorted(tested) == list(range(len(pairs)))


def test_splits_that_can_not_be_are_a_sentence():
    with pytest.raises(ValueError, match=r"at least n_splits=99 of them\. Got 60"):
        PairKFold(99, keep="items").split(PAIRS)
    with pytest.raises(ValueError, match="use fewer splits"):
        PairKFold(30, keep="items").split(PAIRS)


@pytest.mark.parametrize("options", [{"n_splits": 1}, {"keep": "annotators"}, {"random_state": -1}])
def test_parameters_of_the_splitter_are_checked(options):
    with pytest.raises(ValueError, match=f"The '{next(iter(options))}' parameter of PairKFold"):
        PairKFold(**options)
