"""Exposure of groups, metrics of several intents, and other orders of a list."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from oracles import metrics as naive
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from sklearn_rank import metrics
from sklearn_rank.metrics import (
    alpha_ndcg_score,
    exposure_by_group,
    fair_exposure_policy,
    intent_aware_err_score,
    rerank_mmr,
)


def approx(expected):
    return pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True)


def log_discount(t):
    return 1 / math.log2(1 + t)


# Intents ------------------------------------------------------------------------------------


@st.composite
def intents(draw, grades=(0, 0, 1), max_rows=6):
    """Return the relevance of rows for two or three intents, tied scores and unsorted ids."""
    n, m = draw(st.integers(1, max_rows)), draw(st.integers(1, 3))
    row = st.tuples(*[st.sampled_from(grades)] * m)
    y = draw(st.lists(row, min_size=n, max_size=n))
    f = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    ids = draw(st.sampled_from(["x", "ba", "xyz"]))
    qid = draw(st.lists(st.sampled_from(ids), min_size=n, max_size=n))
    return y, np.array(f, dtype=float), np.array(qid)


def per_query(definition, y, f, qid):
    """Return the mean over tied orders in each query; NaN where no row is relevant."""
    return np.array(
        [
            naive.expected(definition, *query) if np.any(query[0]) else np.nan
            for query in naive.queries(y, f, qid)
        ]
    )


METRICS = {
    **{
        f"alpha={alpha}": (
            partial(alpha_ndcg_score, alpha=alpha),
            partial(naive.alpha_ndcg, alpha=alpha),
        )
        for alpha in (0, 0.3, 0.5, 1)
    },
    "alpha-NDCG@2": (partial(alpha_ndcg_score, k=2), partial(naive.alpha_ndcg, alpha=0.5, k=2)),
    "ERR-IA": (
        partial(intent_aware_err_score, max_relevance=2),
        partial(naive.intent_aware_err, top=2),
    ),
    "ERR-IA@2": (
        partial(intent_aware_err_score, max_relevance=2, k=2),
        partial(naive.intent_aware_err, top=2, k=2),
    ),
}
every_metric = pytest.mark.parametrize(("metric", "definition"), METRICS.values(), ids=METRICS)


@every_metric
@settings(deadline=None)
@given(problem=intents())
def test_intents_queries_and_ties(metric, definition, problem):
    y, f, qid = problem
    expected = per_query(definition, y, f, qid)
    assert metric(y, f, qid=qid, average=None) == approx(expected)
    if np.isnan(expected).all():
        with pytest.raises(ValueError, match="no query to average over"):
            metric(y, f, qid=qid)
        return
    assert metric(y, f, qid=qid) == approx(np.nanmean(expected))
    weight = np.where(qid == max(qid.tolist()), 3.0, 1.0)
    ids, first = np.unique(qid, return_index=True)
    known = ~np.isnan(expected)
    mean = np.average(expected[known], weights=weight[first][known])
    assert len(ids) == len(expected)
    assert metric(y, f, qid=qid, query_weight=weight) == approx(mean)


@settings(deadline=None)
@given(intents(grades=(0, 1, 2)), st.booleans())
def test_probabilities_of_intents(problem, by_query):
    y, f, qid = problem
    ids, m = np.unique(qid), len(y[0])
    probability = np.arange(1.0, m + 1)
    if by_query:
        probability = probability + np.arange(len(ids))[:, np.newaxis] ** 2
    rows = np.broadcast_to(probability, (len(ids), m))
    expected = [
        per_query(partial(naive.intent_aware_err, top=2, probability=row), y, f, qid)[number]
        for number, row in enumerate(rows)
    ]
    found = intent_aware_err_score(
        y, f, qid=qid, max_relevance=2, intent_probability=probability, average=None
    )
    assert found == approx(np.array(expected))


@given(intents(grades=(0, 1, 3), max_rows=8))
def test_one_intent_is_the_err(problem):
    y, f, qid = problem
    y = np.array(y)[:, :1]
    found = intent_aware_err_score(y, f, qid=qid, average=None, empty=0)
    assert found == approx(metrics.err_score(y[:, 0], f, qid=qid, average=None, empty=0))


@given(intents(max_rows=8))
def test_without_a_penalty_alpha_ndcg_is_the_ndcg_of_the_number_of_intents(problem):
    y, f, qid = problem
    found = alpha_ndcg_score(y, f, alpha=0, qid=qid, average=None, empty=0)
    number = np.sum(y, axis=1)
    expected = metrics.ndcg_score(number, f, gain="linear", qid=qid, average=None, empty=0)
    assert found == approx(expected)


@pytest.mark.parametrize("metric", [alpha_ndcg_score, intent_aware_err_score])
def test_the_order_of_the_rows_and_of_equal_ones_does_not_matter(metric):
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 2, (120, 4)), rng.integers(0, 9, 120)
    qid, order = rng.integers(0, 9, 120), rng.permutation(120)
    expected = metric(y, f, qid=qid, average=None)
    assert metric(y[order], f[order], qid=qid[order], average=None) == approx(expected)


def test_long_ties_have_the_mean_of_sampled_orders():
    rng = np.random.default_rng(0)
    y, f = rng.integers(0, 2, (40, 3)), rng.integers(0, 3, 40)
    values = [
        naive.alpha_ndcg([tuple(row) for row in y[np.lexsort((rng.random(40), -f))]], 0.5, 10)
        for _ in range(60)
    ]
    error = np.std(values) / np.sqrt(len(values))
    assert alpha_ndcg_score(y, f, k=10) == pytest.approx(np.mean(values), abs=5 * error)


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (alpha_ndcg_score, {"alpha": 1.5}, "'alpha' parameter of alpha_ndcg_score"),
        (alpha_ndcg_score, {"y_true": [1, 0]}, r"shape \(n_samples, n_intents\).*shape \(2,\)"),
        (alpha_ndcg_score, {"y_true": [[1], [-1]]}, "must not be negative. Got -1"),
        (alpha_ndcg_score, {"y_true": [[1], [np.nan]]}, "y_true contains NaN"),
        (alpha_ndcg_score, {"y_true": [[1]]}, "inconsistent numbers of samples"),
        (intent_aware_err_score, {"max_relevance": 0.5}, "exceeds max_relevance=0.5. Got 1"),
        (intent_aware_err_score, {"intent_probability": [1, 1]}, r"shape \(1,\) or \(1, 1\)"),
        (intent_aware_err_score, {"intent_probability": [-1]}, "must not be negative"),
        (intent_aware_err_score, {"intent_probability": [0]}, "positive for an intent"),
    ],
)
def test_errors_of_intents(metric, options, message):
    with pytest.raises(ValueError, match=message):
        metric(**{"y_true": [[1], [0]], "y_score": [1, 2], **options})


# Exposure -----------------------------------------------------------------------------------


@st.composite
def grouped(draw, max_rows=6):
    n = draw(st.integers(2, max_rows))
    column = partial(st.lists, min_size=n, max_size=n)
    y = draw(column(st.sampled_from([0, 0.25, 1, 2])))
    f = draw(column(st.integers(0, 2)))
    group = draw(column(st.sampled_from("abc")))
    qid = draw(column(st.sampled_from([1, 2])))
    return np.array(y), np.array(f, float), np.array(group), np.array(qid)


DISCOUNTS = {
    "default": ({}, log_discount),
    "k": ({"k": 2}, lambda t: log_discount(t) * (t <= 2)),
    "function": ({"discount": lambda t: 1 / t}, lambda t: 1 / t),
    "list": ({"discount": [3, 1]}, lambda t: (3, 1)[t - 1] if t <= 2 else 0),
}


@pytest.mark.parametrize(("options", "discount"), DISCOUNTS.values(), ids=DISCOUNTS)
@given(problem=grouped(), weight=st.sampled_from([None, {1: 2.0, 2: 0.5}]))
def test_exposure_of_groups(options, discount, problem, weight):
    y, f, group, qid = problem
    sums = {g: np.zeros(4) for g in sorted(set(group.tolist()))}
    for q in sorted(set(qid.tolist())):
        own = qid == q
        found = naive.exposure_sums(y[own], f[own], group[own].tolist(), discount)
        for g, values in found.items():
            sums[g] += np.array(values) * (1 if weight is None else weight[q])
    n, exposure, merit, impact = np.array(list(sums.values())).T
    assume(weight is None or 1 in qid)
    found = exposure_by_group(y, f, group, qid=qid, query_weight=weight, **options)
    assert found.groups.tolist() == list(sums)
    for name, values in {
        "exposure": exposure / n,
        "merit": merit / n,
        "impact": impact / n,
    }.items():
        assert getattr(found, name) == approx(values)
    assert found.n_rows == approx(n)
    place = list(sums).index(found.reference)
    assert exposure[place] / n[place] == approx(np.max(exposure / n))
    with np.errstate(all="ignore"):
        per_merit, clicks = exposure / merit, impact / merit
        per_merit[merit == 0], clicks[merit == 0] = np.nan, np.nan
        ratios = [exposure / n, per_merit, clicks]
        ratios = [np.where(one[place] > 0, one / one[place], np.nan) for one in ratios]
    for name, values in zip(("exposure", "treatment", "impact"), ratios, strict=True):
        assert getattr(found, f"{name}_ratio") == approx(values)


@pytest.mark.parametrize("reference", [None, "a", "c"])
def test_of_a_group_of_no_weight_nothing_is_known(reference):
    rows = [1, 0, 1, 1], [3, 2, 1, 2], list("abbc")
    options = {"qid": [0, 0, 1, 1], "query_weight": {0: 1, 1: 0}, "reference": reference}
    found = exposure_by_group(*rows, **options)
    assert (found.reference, found.n_rows.tolist()) == (reference or "a", [1, 1, 0])
    ratios = found.exposure_ratio, found.treatment_ratio, found.impact_ratio
    for figure in (found.exposure, found.merit, found.impact, *ratios):
        assert np.isnan(figure[2])
    assert found.exposure[:2].tolist() == [1, 1 / np.log2(3)]
    assert np.isnan(found.exposure_ratio).all() == (reference == "c")


def test_the_reference_is_a_group():
    found = exposure_by_group([1, 0], [2, 1], [1, 0], reference=0)
    assert found.reference == 0
    assert found.exposure_ratio == approx(np.array([1, math.log2(3)]))
    with pytest.raises(ValueError, match=r"one of the groups \[0, 1\]. Got 2"):
        exposure_by_group([1, 0], [2, 1], [1, 0], reference=2)
    with pytest.raises(ValueError, match="group must not have missing values: row 1"):
        exposure_by_group([1, 0], [2, 1], ["a", None])
    with pytest.raises(ValueError, match="y_true of exposure_by_group must not be negative"):
        exposure_by_group([1, -1], [2, 1], ["a", "b"])


# Maximal marginal relevance -----------------------------------------------------------------


@given(
    st.lists(st.integers(0, 4), min_size=1, max_size=7),
    st.sampled_from([0, 0.25, 0.5, 0.75, 1]),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
@example([2], 0.5, 3, None)
def test_mmr(scores, trade_off, k, random):
    n = len(scores)
    similarity = np.eye(n)
    for i in range(n):
        for j in range(i):
            similarity[i, j] = similarity[j, i] = random.randint(0, 4) / 4
    order = naive.mmr(scores, similarity.tolist(), trade_off, k)
    found = rerank_mmr(scores, similarity, trade_off=trade_off, similarity="precomputed", k=k)
    assert np.argsort(-found).tolist() == order
    assert sorted(found) == list(range(1, n + 1))
    of_function = rerank_mmr(
        scores, np.ones((n, 1)), trade_off=trade_off, similarity=lambda X: similarity, k=k
    )
    np.testing.assert_array_equal(of_function, found)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_mmr_of_queries_is_that_of_each(kind):
    rng = np.random.default_rng(0)
    X, score, qid = rng.normal(size=(40, 3)), rng.normal(size=40), rng.integers(0, 5, 40)
    X[3] = 0
    found = rerank_mmr(score, kind(X), trade_off=0.3, qid=qid, k=4)
    for q in range(5):
        own = np.flatnonzero(qid == q)
        order = naive.mmr(score[own].tolist(), cosine_similarity(X[own]).tolist(), 0.3, 4)
        assert np.argsort(-found[own]).tolist() == order
    same = rerank_mmr(score, cosine_similarity(X), similarity="precomputed", trade_off=0.3, qid=qid)
    np.testing.assert_array_equal(same, rerank_mmr(score, kind(X), trade_off=0.3, qid=qid))


def test_mmr_serves_more_intents():
    """Copies of the best row take all places of the top until they are re-ranked."""
    X = np.repeat(np.eye(4), 5, axis=0)
    score = np.repeat([4.0, 3, 2, 1], 5)
    intents = X.astype(int)
    before, after = score, rerank_mmr(score, X, trade_off=0.3)
    assert alpha_ndcg_score(intents, after, k=4) == approx(1)
    assert alpha_ndcg_score(intents, before, k=4) < 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trade_off": 2}, "'trade_off' parameter of rerank_mmr"),
        ({"similarity": "dot"}, "'similarity' parameter of rerank_mmr must be one of 'cosine'"),
        ({"y_score": [1, np.inf]}, "y_score must be finite"),
        ({"y_score": [1]}, "one row a score, with 1 samples"),
        ({"similarity": "precomputed"}, r"must have \(n_samples, n_samples\)"),
        ({"similarity": lambda X: X}, r"must return finite numbers of shape \(2, 2\)"),
        ({"similarity": lambda X: np.full((2, 2), np.nan)}, r"shape \(2, 2\), 0 of 4 finite"),
        ({"X": [[1], [np.nan]]}, "X contains NaN"),
        ({"qid": [1]}, "qid must hold one id"),
    ],
)
def test_errors_of_mmr(options, message):
    with pytest.raises(ValueError, match=message):
        rerank_mmr(**{"y_score": [1, 2], "X": [[1], [2]], **options})


# Exposure under a constraint ----------------------------------------------------------------


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.9, 1]), min_size=2, max_size=5),
    st.sampled_from(["row", "merit"]),
    st.sampled_from([0, 0.3, 0.8, 1]),
    st.sampled_from(list(DISCOUNTS)[2:]),
    st.randoms(use_true_random=False),
)
def test_the_best_lottery_over_all_orders(gain, per, ratio, name, random):
    """Birkhoff's theorem: chances of rows at ranks, and lotteries over orders, reach the same."""
    options, discount = DISCOUNTS[name]
    group = [random.choice("ab") if n else "a" for n in range(len(gain))]
    merit = {g: np.mean([u for u, h in zip(gain, group, strict=True) if h == g]) for g in "ab"
             if g in group}  # fmt: skip
    merit = dict.fromkeys(merit, 1.0) if per == "row" else merit
    assume(all(merit.values()))
    expected = naive.fair_dcg(gain, group, merit, ratio, discount)
    if expected is None:
        with pytest.raises(ValueError, match="No ranking has ratio="):
            fair_exposure_policy(gain, group, per=per, ratio=ratio, **options)
        return
    policy = fair_exposure_policy(gain, group, per=per, ratio=ratio, **options)
    assert policy.dcg == pytest.approx(expected, rel=1e-7, abs=1e-9)
    per_merit = policy.exposure / [merit[g] for g in policy.groups]
    assert per_merit.min() >= ratio * per_merit.max() - 1e-7
    assert policy.weights.sum() == approx(1)
    assert policy.probability.sum(axis=0) == approx(np.ones(len(gain)))
    assert policy.probability.sum(axis=1) == approx(np.ones(len(gain)))
    best = sum(u * discount(t) for t, u in enumerate(sorted(gain, reverse=True), 1))
    assert policy.best_dcg == approx(best)


def test_figures_of_a_policy_are_the_mean_of_its_orders():
    rng = np.random.default_rng(0)
    gain, group = rng.random(30), rng.choice(list("abc"), 30)
    policy = fair_exposure_policy(gain, group, ratio=0.95)
    seen = 1 / np.log2(2 + np.arange(30))
    dcg = sum(
        w * (gain[order] @ seen) for w, order in zip(policy.weights, policy.orders, strict=True)
    )
    assert policy.dcg == approx(dcg)
    draws = [policy.draw(seed) for seed in range(300)]
    for scores in draws[:3]:
        assert np.argsort(-scores).tolist() in policy.orders.tolist()
    shown = np.mean([exposure_by_group(gain, one, group).exposure for one in draws], axis=0)
    assert shown == pytest.approx(policy.exposure, rel=0.03)
    unfair = exposure_by_group(gain, gain, group).exposure
    assert policy.exposure.min() / policy.exposure.max() == pytest.approx(0.95, rel=1e-6)
    assert unfair.min() / unfair.max() < 0.95


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 1.1}, "'ratio' parameter of fair_exposure_policy"),
        ({"per": "group"}, "'per' parameter of fair_exposure_policy"),
        ({"relevance": [1, -1]}, "relevance of fair_exposure_policy must not be negative"),
        ({"relevance": [1, np.nan]}, "relevance contains NaN"),
        ({"relevance": []}, "relevance is empty"),
        ({"relevance": [1, 0], "per": "merit"}, "positive relevance in each group. Group 'b'"),
        ({"relevance": [1, 0.01], "per": "merit"}, "No ranking has ratio=1"),
        ({"group": ["a"]}, "group must hold one id for each of the 2 rows"),
    ],
)
def test_errors_of_a_policy(options, message):
    with pytest.raises(ValueError, match=message):
        fair_exposure_policy(**{"relevance": [1, 0.5], "group": ["a", "b"], **options})


def test_mmr_orders_equal_rows_by_score():
    """BLAS gives the cosines of equal rows other last digits, by their places."""
    for seed in range(60):
        random = np.random.default_rng(seed)
        n, d = random.integers(5, 60), random.integers(2, 40)
        x, score = random.normal(size=d), random.permutation(n).astype(float)
        X = np.tile(x, (n, 1))
        X[np.argmax(score)] = random.normal(size=d)
        np.testing.assert_array_equal(rerank_mmr(score, X, trade_off=0), score + 1)
