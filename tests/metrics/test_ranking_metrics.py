"""The metrics of a ranking against definitions that visit every pair and every tied order."""

import warnings
from functools import partial
from itertools import product
from math import inf, log

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import metrics as naive
from printed import PAPERS, number, numbers, step
from scipy.special import expit, logit
from scipy.stats import bootstrap, norm
from scipy.stats import t as student_t
from sklearn.metrics import ndcg_score as sklearn_ndcg_score
from sklearn.metrics import roc_auc_score, roc_curve
from strategies import bipartite, one_list, problems

from sklearn_rank import metrics

pytestmark = pytest.mark.filterwarnings("ignore:For .* every row is relevant")  # in a few rows
LOSSES = list(naive.LOSSES)


def approx(expected):
    return pytest.approx(expected, rel=1e-10, abs=1e-12, nan_ok=True)


GAINS = [0, 1, 0, 9, 4]
WITH_OPTIONS = {
    "ndcg": (metrics.ndcg_score, naive.ndcg, {}),
    "ndcg@2, linear": (metrics.ndcg_score, naive.ndcg, {"k": 2, "gain": "linear"}),
    "ndcg@3": (metrics.ndcg_score, naive.ndcg, {"k": 3}),
    "ndcg, own functions": (metrics.ndcg_score, naive.ndcg, {"gain": np.sqrt}),
    "precision@1": (metrics.precision_at_k, naive.precision, {"k": 1}),
    "precision@3": (metrics.precision_at_k, naive.precision, {"k": 3}),
    "precision@3 of 3": (metrics.precision_at_k, naive.precision, {"k": 3, "divide_by": "k"}),
    "recall@2": (metrics.recall_at_k, naive.recall, {"k": 2}),
    "recall": (metrics.recall_at_k, naive.recall, {"k": 99}),
    "r_precision": (metrics.r_precision, naive.r_precision, {}),
    "map": (metrics.average_precision, naive.average_precision, {}),
    "map@2": (metrics.average_precision, naive.average_precision, {"k": 2}),
    "mrr": (metrics.reciprocal_rank, naive.reciprocal_rank, {}),
    "mrr@2": (metrics.reciprocal_rank, naive.reciprocal_rank, {"k": 2}),
}
CUT_OFF = {
    **{name: (partial(one, **o), partial(by, **o)) for name, (one, by, o) in WITH_OPTIONS.items()},
    "ndcg, own gains": (
        partial(metrics.ndcg_score, k=3, gain=GAINS),
        partial(naive.ndcg, k=3, gain=GAINS.__getitem__),
    ),
    "map@3 of all": (
        partial(metrics.average_precision, k=3, divide_by="relevant"),
        partial(naive.average_precision, k=3, divide_by="relevant"),
    ),
    "err": (partial(metrics.err_score, max_relevance=4), partial(naive.err, top=4)),
    "err@2": (partial(metrics.err_score, max_relevance=4, k=2), partial(naive.err, top=4, k=2)),
}
every_cut_off = pytest.mark.parametrize(("metric", "definition"), CUT_OFF.values(), ids=CUT_OFF)
PER_QUERY = {name: metric for name, (metric, _) in CUT_OFF.items()} | {
    "partial_auc": metrics.partial_auc_score,
    "tpr_at_fpr": metrics.tpr_at_fpr_score,
}
every_per_query = pytest.mark.parametrize("metric", PER_QUERY.values(), ids=PER_QUERY)
PAIR = {
    "auc_score": metrics.auc_score,
    "p_norm_push_loss": partial(metrics.p_norm_push_loss, p=2),
    "hinge": partial(metrics.p_norm_push_loss, p=2, loss="hinge"),
    "logistic": partial(metrics.p_norm_push_loss, p=2, loss="logistic"),
    "exponential": partial(metrics.p_norm_push_loss, p=2, loss="exponential"),
    "max_height_loss": metrics.max_height_loss,
    "ranking_margin": metrics.ranking_margin,
}
every_pair_metric = pytest.mark.parametrize("metric", PAIR.values(), ids=PAIR)
LISTS = {
    "reciprocal_rank_sum": metrics.reciprocal_rank_sum,
    "reciprocal_log_rank_sum": metrics.reciprocal_log_rank_sum,
}
EVERY = PER_QUERY | PAIR | LISTS | {"heights": metrics.heights, "reverse": metrics.reverse_heights}
every_metric = pytest.mark.parametrize("metric", EVERY.values(), ids=EVERY)


@st.composite
def lists(draw, max_rows=6):
    """Return grades, tied scores and unsorted ids, singletons among them."""
    n = draw(st.integers(1, max_rows))
    y = draw(st.lists(st.sampled_from([0, 0, 1, 2, 4]), min_size=n, max_size=n))
    f = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    ids = draw(st.sampled_from([None, "ba", "xyz"]))
    if ids is None:
        return np.array(y), np.array(f, dtype=float), None
    qid = draw(st.lists(st.sampled_from(ids), min_size=n, max_size=n))
    return np.array(y), np.array(f, dtype=float), np.array(qid)


# Cut-off metrics: the mean over all tied orders ---------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.nightly)])
@every_cut_off
def test_every_list_of_a_few_rows(metric, definition, n):
    for y, f in product(product([0, 1, 2], repeat=n), product([0, 1], repeat=n)):
        expected = naive.per_query(definition, y, f, None)
        assert metric(y, f, average=None) == approx(expected)


@every_cut_off
@given(lists(max_rows=6))
def test_queries_and_ties(metric, definition, problem):
    y, f, qid = problem
    for empty, value in (("skip", np.nan), (0, 0.0), (1, 1.0)):
        expected = naive.per_query(definition, y, f, qid, value)
        assert metric(y, f, qid=qid, average=None, empty=empty) == approx(expected)
        if np.isnan(expected).all():
            with pytest.raises(ValueError, match="no query to average over"):
                metric(y, f, qid=qid, empty=empty)
        else:
            mean = metric(y, f, qid=qid, empty=empty)
            assert mean == approx(np.nanmean(expected))
            assert isinstance(mean, float)


@pytest.mark.parametrize("gain", [[0, 1, 0, 5], lambda y: 0 * y])
def test_rows_without_a_gain_leave_a_query_out(gain):
    y, f, qid = [2, 0, 2, 0], [1, 2, 3, 4], [0, 0, 1, 1]
    assert np.isnan(metrics.ndcg_score(y, f, qid=qid, gain=gain, average=None)).all()
    assert metrics.ndcg_score(y, f, qid=qid, gain=gain, empty=1) == 1
    with pytest.raises(ValueError, match="no query to average over"):
        metrics.ndcg_score(y, f, qid=qid, gain=gain)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gain": "cubic"}, r"'gain' parameter of ndcg_score must be one of 'exponential', "),
        ({"gain": None}, "'gain' parameter of ndcg_score"),
        ({"gain": [0, 1]}, r"lists 2 gains, .* y_true must hold .* below 2. Got .*2"),
        ({"gain": [0, -1, 2]}, "gain of ndcg_score must be finite and not negative. Got .*-1"),
        ({"gain": lambda y: y / 0.0}, "gain of ndcg_score must be finite"),
        ({"gain": lambda y: [1.0, 2.0]}, "broadcast"),
        ({"gain": []}, "lists 0 gains"),
        ({"gain": ["a", "b", "c"]}, "gain must hold numbers"),
        ({"gain": {0: 0, 1: 1, 2: 5}}, "gain should be a 1d array"),
    ],
)
@pytest.mark.filterwarnings("ignore:(divide|invalid):RuntimeWarning")
def test_gains_that_are_none(options, message):
    with pytest.raises(ValueError, match=message):
        metrics.ndcg_score([0, 1, 2], [1, 2, 3], **options)


def test_gains_by_level_need_levels():
    with pytest.raises(ValueError, match=r"must hold whole numbers below 2\. Got .*0\.5"):
        metrics.ndcg_score([0, 0.5], [1, 2], gain=[0, 1])


def test_a_row_weight_of_the_gain_is_a_gain():
    """What TF-Ranking calls the weight of an item multiplies its gain, in the best order too."""
    y, f, w = np.array([2, 0, 1, 1]), [1, 2, 3, 4], np.array([0.5, 1, 3, 0])
    gains = (w * (2.0**y - 1)).tolist()
    dcg = sum(g / np.log2(1 + t) for t, g in enumerate([gains[n] for n in np.argsort(f)[::-1]], 1))
    best = sum(g / np.log2(1 + t) for t, g in enumerate(sorted(gains, reverse=True), 1))
    assert metrics.ndcg_score(gains, f, gain="linear") == approx(dcg / best)


@every_per_query
@given(lists(max_rows=8), st.randoms(use_true_random=False))
def test_weights_of_queries_weigh_the_mean(metric, problem, random):
    y, f, qid = problem
    if qid is None:
        return
    values = metric(y, f, qid=qid, average=None)
    ids, code = np.unique(qid, return_inverse=True)
    w = np.array([random.choice([0, 1, 2.5]) for _ in ids])
    counts = ~np.isnan(values) & (w > 0)
    weights = {"rows": w[code], "names": dict(zip(ids.tolist(), w.tolist(), strict=True))}
    for weight in weights.values():
        if not counts.any():
            with pytest.raises(ValueError, match="weight"):
                metric(y, f, qid=qid, query_weight=weight)
            continue
        expected = (w * values)[counts].sum() / w[counts].sum()
        assert metric(y, f, qid=qid, query_weight=weight) == approx(expected)
        huge = weight if isinstance(weight, dict) else weight * 1e299
        assert metric(y, f, qid=qid, query_weight=huge) == approx(expected)


@every_per_query
def test_weights_of_queries_that_are_none(metric):
    y, f, qid = [0, 1, 0, 1], [1, 2, 3, 4], [1, 1, 2, 2]
    cases = [
        ({"query_weight": [1] * 4}, "query_weight of .* needs qid"),
        ({"query_weight": [1] * 4, "qid": qid, "average": None}, "needs average='mean'"),
        ({"query_weight": [1, 2, 1, 1], "qid": qid}, "same in all rows of a query"),
        ({"query_weight": {1: 2}, "qid": qid}, r"a weight for every query. Not for \[2\]"),
        ({"query_weight": [-1] * 4, "qid": qid}, "query_weight must not be negative"),
        ({"query_weight": [1] * 3, "qid": qid}, "query_weight must have shape"),
        ({"query_weight": [1] * 4, "qid": [1, None, 2, 2]}, "qid must not have missing values"),
        ({"query_weight": [1] * 4, "qid": [1, 2]}, "one id for each of the 4 rows. Got 2"),
    ]
    for options, message in cases:
        with pytest.raises(ValueError, match=message):
            metric(y, f, **options)


@every_cut_off
def test_a_warning_where_all_rows_are_relevant(metric, definition):
    """Classes 1 and 2, or grades from 1 on: only gains tell the rows apart."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        values = {metric([2, 1, 1, 2], f) for f in ([4, 3, 2, 1], [1, 2, 3, 0])}
        assert {metric(y, [1, 2]) for y in ([0, 1], [1, 1])}  # without
    warned = ["every row is relevant" in str(warning.message) for warning in caught]
    assert warned == [True] * (2 * (len(values) == 1))


@every_per_query
def test_row_order_and_query_names_do_not_matter(metric):
    rng = np.random.default_rng(1)
    n = 300
    y, f, qid = rng.integers(0, 5, n), rng.integers(0, 6, n) / 2, rng.integers(0, 40, n)
    values = metric(y, f, qid=qid, average=None)
    order = rng.permutation(n)
    names = np.array([f"q{one:03}" for one in qid])
    shuffled = metric(y[order], 2 * f[order], qid=names[order], average=None)
    assert shuffled == approx(values)
    alone = [metric(y[qid == q], f[qid == q], average=None)[0] for q in np.unique(qid)]
    assert values == approx(np.array(alone))
    assert np.nanmin(values) >= 0
    assert np.nanmax(values) <= 1


def test_many_queries_are_no_special_case():
    n = 70_000
    y, f, qid = np.tile([0, 1], n), np.zeros(2 * n), np.repeat(np.arange(n), 2)
    assert metrics.reciprocal_rank(y, f, qid=qid) == approx(0.75)


@pytest.mark.slow
def test_a_million_tied_rows():
    n = 10**6
    y = np.zeros(n)
    y[:3] = 1
    f = np.ones(n)
    assert metrics.precision_at_k(y, f, k=10) == approx(3 / n)
    harmonic = np.sum(1 / np.arange(1, n + 1))
    assert metrics.reciprocal_rank(y[2:], f[2:]) == approx(
        np.sum(1 / np.arange(1, n - 1)) / (n - 2)
    )
    # One of 3 is in place t with chance 3 / n, behind 2 (t - 1) / (n - 1) others.
    expected = (harmonic + 2 / (n - 1) * (n - harmonic)) / n
    assert metrics.average_precision(y, f) == approx(expected)
    assert metrics.err_score(y[:2000], f[:2000], k=3) > 0


def test_default_of_err_is_the_highest_grade_of_all_queries():
    y, f, qid = [1, 0, 3, 0], [2, 1, 2, 1], [1, 1, 2, 2]
    expected = [naive.err([1, 0], 3), naive.err([3, 0], 3)]
    assert metrics.err_score(y, f, qid=qid, average=None) == approx(np.array(expected))


@given(lists(max_rows=8), st.integers(1, 9))
def test_ndcg_with_linear_gain_is_scikit_learns(problem, k):
    y, f, _ = problem
    if len(y) > 1 and y.any():
        expected = sklearn_ndcg_score([y], [f], k=k)
        assert metrics.ndcg_score(y, f, k=k, gain="linear") == approx(expected)


@pytest.mark.parametrize("y", [[1e-3, 0, 5e-324], [1000, 0, 1023], [0.5, 0, 2.5]])
def test_small_and_large_grades(y):
    assert metrics.ndcg_score(y, y) == 1
    assert 0 <= metrics.ndcg_score(y, [0, 1, 0]) < 1
    assert 0 < metrics.err_score(y, y) <= 1


def test_infinite_scores_are_scores():
    assert metrics.average_precision([1, 0, 0], [inf, 1, -inf]) == 1
    assert metrics.reciprocal_rank([1, 0, 0], [-inf, 1, -inf]) == approx((1 / 2 + 1 / 3) / 2)


# Partial AUC --------------------------------------------------------------------------


@given(one_list(max_rows=12), st.sampled_from([0.05, 0.1, 0.25, 0.5, 0.8, 1.0]))
def test_partial_auc(problem, max_fpr):
    y = problem.y == problem.y.max()
    found = metrics.partial_auc_score(y, problem.f, max_fpr=max_fpr, sample_weight=problem.w)
    assert found == approx(naive.partial_auc(y, problem.f, problem.w, max_fpr))
    if max_fpr == 1:
        assert found == approx(oracles.auc(problem.f, y, None, problem.w))
    else:
        chance = max_fpr / 2
        standard = (1 + (found - chance) / (1 - chance)) / 2
        theirs = roc_auc_score(y, problem.f, max_fpr=max_fpr, sample_weight=problem.w)
        assert standard == approx(theirs)


@given(one_list(max_rows=12), st.sampled_from([0.05, 0.1, 0.25, 0.29, 0.5, 0.57, 0.8, 1.0]))
def test_tpr_at_fpr_is_the_roc_curve(problem, max_fpr):
    y = problem.y == problem.y.max()
    found = metrics.tpr_at_fpr_score(y, problem.f, max_fpr=max_fpr, sample_weight=problem.w)
    assert found == approx(naive.tpr_at_fpr(y, problem.f, problem.w, max_fpr))
    assert 0 <= found <= 1
    fpr, tpr, _ = roc_curve(y, problem.f, sample_weight=problem.w, drop_intermediate=False)
    if np.abs(fpr - max_fpr).min() > 1e-9:  # at a vertical part the upper end counts
        assert found == approx(np.interp(max_fpr, fpr, tpr))


@pytest.mark.parametrize("rate", [0.07, 0.14, 0.28, 0.29, 0.55, 0.57, 0.58])
def test_a_rate_that_is_a_number_of_rows(rate):
    """Of 100 others 29 are taken at 0.29, although 0.29 * 100 is less than 29 in floats."""
    n = round(100 * rate)
    y = [0] * n + [1] + [0] * (100 - n) + [1]
    assert metrics.tpr_at_fpr_score(y, np.arange(102)[::-1], max_fpr=rate) == 0.5
    assert metrics.tpr_at_fpr_score(y, np.arange(102)[::-1], max_fpr=rate - 0.001) == 0


@pytest.mark.parametrize("metric", [metrics.partial_auc_score, metrics.tpr_at_fpr_score])
def test_shares_of_queries(metric):
    y, f = [1, 0, 1, 0, 1, 1], [2, 1, 1, 2, 1, 0]
    options = {"qid": list("aabbcc"), "max_fpr": 0.5}
    assert metric(y, f, average=None, **options) == approx(np.array([1, 0, np.nan]))
    assert metric(y, f, empty=1, **options) == approx(2 / 3)
    # The first query has no rows left: it is not empty but gone.
    options["sample_weight"] = [0, 0, 1, 1, 1, 1]
    assert metric(y, f, average=None, **options) == approx(np.array([np.nan, 0, np.nan]))
    assert metric(y, f, empty=1, **options) == approx((0 + 1) / 2)


# Push losses --------------------------------------------------------------------------


@pytest.mark.parametrize("p", PAPERS["Rudin2009"]["table_2"]["rows"])
def test_rudin_table_2(p):
    """Half the scores; one cell is cut off instead of rounded."""
    table = PAPERS["Rudin2009"]["table_2"]
    labels, f = numbers("Rudin2009", "labels_14"), np.arange(14, 0, -1) / 14 / 2
    for column, text in zip(table["columns"], table["rows"][p], strict=True):
        loss, sign = column.removesuffix(" f1").removesuffix(" f2"), 1 if "f1" in column else -1
        found = metrics.p_norm_push_loss(labels, sign * f, p=int(p), loss=loss, normalize=False)
        misprinted = (p, column) == ("5", "exponential f1")
        expected = number(text) + step(text) * misprinted
        assert abs(found - expected) <= step(text) / 2 * (1 + 1e-9)


def test_rudin_table_1():
    lists = {
        "original": (-1, 1, -1, 1, -1, -1, 1, 1),
        "swap_on_bottom": (1, -1, -1, 1, -1, -1, 1, 1),
        "swap_on_top": (-1, 1, -1, 1, -1, 1, -1, 1),
    }
    for row, cells in numbers("Rudin2009", "table_1").items():
        for loss, value in cells.items():
            f = np.arange(1, 9) / 2
            found = metrics.p_norm_push_loss(lists[row], f, p=4, loss=loss, normalize=False)
            assert round(found, 2) == value


@pytest.mark.parametrize("loss", LOSSES)
@given(problem=problems(max_rows=10), margin=st.sampled_from([0.0, 0.5, -1.0, 2.0]))
def test_general_losses(loss, problem, margin):
    y, f, qid, w = problem.y, problem.f, problem.qid, problem.w
    for p, normalize in product([1, 2, 3.5, inf], [True, False]):
        if normalize or p < inf:
            options = {"p": p, "loss": loss, "margin": margin, "normalize": normalize, "qid": qid}
            expected = naive.push_loss(y, f, **options, w=w)
            assert metrics.p_norm_push_loss(y, f, **options, sample_weight=w) == approx(expected)


LONG_LISTS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 2**32 - 1),
        "n": st.integers(1000, 2000),
        "levels": st.sampled_from([2, 5]),
        "lead": st.sampled_from([0.0, 1.0, 20.0]),
        "heavy_tails": st.booleans(),
        "ties": st.booleans(),
        "spread": st.sampled_from([0.1, 1.0, 30.0, 1e4]),
        "queries": st.booleans(),
        "weights": st.booleans(),
    }
)


def long_list(seed, n, levels, lead, heavy_tails, ties, spread, queries, weights):
    """Return y, f, qid and weights of so many rows that sums don't visit each pair."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, levels, n).astype(float)
    f = rng.standard_cauchy(n) ** 3 if heavy_tails else rng.normal(size=n)
    f = spread * (np.round(f, 1) if ties else f) + lead * y
    qid = np.repeat(["b", "a"], [n - 50, 50]) if queries else None
    return y, f, qid, 10 ** rng.uniform(-3, 3, n) if weights else None


def test_the_mean_losses_of_long_lists_are_the_terms():
    rng = np.random.default_rng(0)
    y, f, w = rng.integers(0, 3, 30), rng.normal(size=30), rng.integers(0, 3, 30)
    qid = rng.choice(list("ab"), 30)
    for loss in ("logistic", "hinge", "exponential"):
        terms = naive.push_terms(y, f, qid, w, loss, 0.5)
        expected = [[w[k] for k, *_ in terms], [total / n for _, total, n in terms]]
        assert naive.mean_losses(y, f, qid, w, loss, 0.5) == approx(np.array(expected))


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["logistic", "hinge", "exponential"])
@given(LONG_LISTS, st.sampled_from([0.0, 0.5, -3.0]), st.sampled_from([1, 2, 16, inf]))
@settings(max_examples=settings.default.max_examples * 3 // 5)
def test_long_lists_equal_the_explicit_pairs(loss, options, margin, p):
    """The logistic loss within 1e-12 of the pair weight, as a share of which it is given."""
    y, f, qid, w = long_list(**options)
    if loss == "exponential":
        f = np.clip(f, -100, 100)  # finite sums
    weight, means = naive.mean_losses(y, f, qid, w, loss, margin)
    worst = means.max()
    expected = worst * (
        1 if p == inf or worst == 0 else np.average((means / worst) ** p, weights=weight) ** (1 / p)
    )
    found = metrics.p_norm_push_loss(y, f, p=p, loss=loss, margin=margin, qid=qid, sample_weight=w)
    assert found == pytest.approx(expected, rel=1e-12, abs=0 if loss == "exponential" else 1e-12)


@given(bipartite(queries=("none",), weights=("none",), max_rows=12), st.booleans())
def test_one_unweighted_list_is_counted_from_the_smaller_class(problem, flip):
    y, f = (-problem.y, -problem.f) if flip else (problem.y, problem.f)
    for p, margin in product([1, 4, inf], [0.0, 0.25]):
        found = metrics.p_norm_push_loss(y, f, p=p, margin=margin)
        assert found == approx(naive.push_loss(y, f, p, margin=margin))
        weighted = metrics.p_norm_push_loss(y, f, p=p, margin=margin, sample_weight=[2] * len(y))
        assert found == approx(weighted)


@pytest.mark.parametrize("kind", ["normal", "cauchy", "infinite", "ties", "equal", "huge", "tiny"])
def test_sorting_of_many_values(kind):
    rng = np.random.default_rng(0)
    values = rng.normal(size=60_000)
    if kind == "cauchy":
        values = rng.standard_cauchy(60_000) ** 5
    elif kind == "infinite":
        values[:20_000], values[20_000:30_000] = inf, -inf
    elif kind == "ties":
        values = rng.integers(0, 40, 60_000) / 7
    elif kind == "equal":
        values[:] = 3
    elif kind in ("huge", "tiny"):
        values *= {"huge": 1e307, "tiny": 1e-310}[kind]
        values[:3] = inf, -inf, 1.7e308
    y = np.arange(60_000) % 3 == 0
    found = metrics.p_norm_push_loss(y, values, p=3)
    weighted = metrics.p_norm_push_loss(y, values, p=3, sample_weight=np.full(60_000, 2.0))
    assert found == approx(weighted)


@given(one_list(), st.sampled_from([1, 2, 4.5, 16]))
def test_the_chain_of_bounds_on_the_push(problem, p):
    """From the AUC over the heights up to the losses: g(r) = r^p is convex and grows.

    Jensen's inequality below, the largest height above, then Theorem 1's bound.
    """
    y, options = problem.y, {"sample_weight": problem.w}
    f = np.argsort(np.argsort(problem.f, kind="stable")) / 4  # the AUC counts ties one half
    weight = oracles.row_weights(y, problem.w)
    above, below = (weight[y == level].sum() for level in (y.max(), y.min()))
    push = metrics.p_norm_push_loss(y, f, p=p, normalize=False, **options)
    mean_height = above * (1 - metrics.auc_score(y, f, **options))
    largest = metrics.max_height_loss(y, f, **options)
    heaviest = weight[metrics.heights(y, f, **options) == largest].max()
    assert below * mean_height**p <= push * (1 + 1e-9) + 1e-15
    assert heaviest * largest**p <= push * (1 + 1e-9)
    assert push <= below * largest**p * (1 + 1e-9)
    for loss, base in (("exponential", 1), ("hinge", 1), ("logistic", log(2))):
        bound = metrics.p_norm_push_loss(y, f, p=p, loss=loss, normalize=False, **options)
        assert push <= bound / base**p * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["exponential", "logistic", "hinge"])
def test_scores_far_apart(loss):
    options = {"p": 2, "loss": loss}
    # The worst pair of one level must not hide behind another level's large scores.
    y, f = [2, 1, 1, 0], [1000.0, 0.0, 1000.0, 0.0]
    at_zero = {"exponential": 1.0, "logistic": log(2), "hinge": 1.0}[loss]
    # Row 2 ties with row 0; row 3 with one of its three rows above.
    terms = [0.0, at_zero, at_zero / 3]
    expected = (np.sum(np.square(terms)) / 3) ** 0.5
    assert metrics.p_norm_push_loss(y, f, **options) == approx(expected)
    high = metrics.p_norm_push_loss([1, 0], [-1e4, 1e4], **options)
    assert high == {"exponential": inf, "logistic": 2e4, "hinge": 20001.0}[loss]
    low = metrics.p_norm_push_loss([1, 0], [1e4, -1e4], **options)
    assert low == 0


@given(problems())
def test_heights_and_margins(problem):
    y, f, qid, w = problem.y, problem.f, problem.qid, problem.w
    options = {"qid": qid, "sample_weight": w}
    expected = naive.heights(y, f, qid, w)
    assert metrics.heights(y, f, **options) == approx(expected)
    assert metrics.max_height_loss(y, f, **options) == approx(np.nanmax(expected))
    reverse = naive.reverse_heights(y, f, qid, w)
    assert metrics.reverse_heights(y, f, **options) == approx(reverse)
    margin = naive.ranking_margin(y, f, qid, w)
    assert metrics.ranking_margin(y, f, **options) == approx(margin)
    assert (margin > 0) == (np.nanmax(expected) == 0)


@given(problems(weights=("none",)))
def test_reciprocal_sums(problem):
    ranks = naive.relevant_ranks(problem.y, problem.f, problem.qid)
    found = metrics.reciprocal_rank_sum(problem.y, problem.f, qid=problem.qid)
    assert found == approx(sum(1 / rank for rank in ranks))
    found = metrics.reciprocal_log_rank_sum(problem.y, problem.f, qid=problem.qid)
    assert found == approx(sum(1 / log(1 + rank) for rank in ranks))


@given(problems())
def test_auc_of_queries(problem):
    y, f, w = problem.y, problem.f, problem.w
    ids = [None] if problem.qid is None else sorted(set(problem.qid.tolist()))
    expected = []
    for q in ids:
        own = np.ones(len(y), dtype=bool) if q is None else problem.qid == q
        own_w = None if w is None else w[own]
        has_pair = oracles.above(y[own], None, own_w).any()
        expected.append(oracles.auc(f[own], y[own], None, own_w) if has_pair else np.nan)
    options = {"qid": problem.qid, "sample_weight": w}
    assert metrics.auc_score(y, f, average=None, **options) == approx(np.array(expected))
    assert metrics.auc_score(y, f, average="queries", **options) == approx(np.nanmean(expected))


# Confidence ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n_resamples", "method"), [(99, "percentile"), (100, "BCa")])
def test_skewed_means_are_corrected_where_there_are_enough_resamples(n_resamples, method):
    values = np.random.default_rng(0).exponential(size=60)
    found = metrics.bootstrap_interval(values, n_resamples=n_resamples, random_state=0)
    options = {
        "n_resamples": n_resamples,
        "method": method,
        "random_state": np.random.RandomState(0),
    }
    wanted = bootstrap((values,), np.mean, confidence_level=0.95, **options).confidence_interval
    assert (found.low, found.high) == approx((wanted.low, wanted.high))


def test_bootstrap_interval_of_many_values_is_that_of_the_normal_distribution():
    values = np.random.default_rng(0).normal(3, 2, 400)
    found = metrics.bootstrap_interval([*values, np.nan], confidence=0.9, random_state=0)
    error = 1.645 * values.std() / 20
    assert found.mean == approx(values.mean())
    assert found.n_queries == 400
    assert found.high - found.mean == pytest.approx(error, rel=0.1)
    assert found.mean - found.low == pytest.approx(error, rel=0.1)
    again = metrics.bootstrap_interval(values, confidence=0.9, random_state=0)
    assert found == again


def test_equal_values_have_an_interval_of_no_width():
    found = metrics.bootstrap_interval([0.3, 0.3, 0.3])
    assert (found.low, found.high) == (0.3, 0.3)
    same = metrics.compare_rankings([0.1, 0.5], [0.1, 0.5])
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_differences_of_rounding_are_none():
    same = metrics.compare_rankings([0.1 + 0.2] * 10, [0.3] * 10)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)
    equal = metrics.bootstrap_interval([0.1 + 0.2, 0.3, 0.3 - 1e-14])
    assert equal.low == equal.high == equal.mean
    small = metrics.compare_rankings([0.3 + 1e-9] * 10, [0.3] * 10)
    assert small.difference == pytest.approx(1e-9)
    assert small.p_value < 0.01


def test_exact_permutation_test():
    a, b = np.array([0.9, 0.4, 0.8, np.nan, 0.6]), np.array([0.5, 0.5, 0.2, np.nan, 0.3])
    found = metrics.compare_rankings(a, b, random_state=0)
    difference = (a - b)[~np.isnan(a)]
    flips = [np.mean(difference * signs) for signs in product([-1, 1], repeat=4)]
    expected = np.mean(np.abs(flips) >= abs(difference.mean()) - 1e-12)
    assert found.p_value == approx(expected)
    assert found.difference == approx(difference.mean())
    assert found.low < found.difference < found.high
    assert found.n_queries == 4
    mirrored = metrics.compare_rankings(b, a, random_state=0)
    assert (mirrored.difference, mirrored.p_value) == approx((-found.difference, found.p_value))


def quantile(p, qid, freedom):
    """Return that of the normal distribution in one list, of the t distribution with queries."""
    return norm.ppf(p) if qid is None else student_t.ppf(p, freedom)


@st.composite
def folded(draw, **options):
    """A problem of up to 16 rows, and folds of whole queries or of rows."""
    problem = draw(problems(weights=("none",), max_rows=16, **options))
    n_folds = draw(st.integers(1, 3))
    if n_folds == 1:
        return problem, None
    codes = range(len(problem.y))
    if problem.qid is not None:
        codes = np.unique(problem.qid, return_inverse=True)[1].ravel()
    fold = np.asarray(codes) % n_folds
    y, qid = problem.y, problem.qid
    assume(any(fold[i] == fold[k] for i, k in oracles.pairs(y, qid)))
    return problem, fold


@given(folded())
def test_auc_interval_is_that_of_the_definition(problem):
    (y, f, qid), fold = (problem[0].y, problem[0].f, problem[0].qid), problem[1]
    auc, error, freedom = naive.auc_and_error(y, f, qid, fold)
    if error is None:
        unit = "rows of each class" if qid is None else "queries"
        with pytest.raises(ValueError, match=f"At least two {unit}"):
            metrics.auc_interval(y, f, qid=qid, fold=fold)
        return
    found = metrics.auc_interval(y, f, qid=qid, fold=fold)
    assert found.mean == approx(auc)
    assert found.n_queries == (
        1 if qid is None else len({qid[i] for i, _ in oracles.pairs(y, qid)})
    )
    if error < 1e-12 or auc in (0, 1):
        assert found.low == found.high == found.mean
    else:
        reach = quantile(0.975, qid, freedom) * error / (auc * (1 - auc))
        ends = expit([logit(auc) - reach, logit(auc) + reach])
        assert (found.low, found.high) == approx(tuple(ends))


@given(folded(), st.integers(0, 99))
def test_compare_auc_is_that_of_the_definition(problem, seed):
    (y, f, qid), fold = (problem[0].y, problem[0].f, problem[0].qid), problem[1]
    g = np.random.default_rng(seed).integers(0, 4, len(y))
    difference, error, freedom = naive.auc_and_error(y, f, qid, fold, other=g)
    if error is None:
        with pytest.raises(ValueError, match="At least two"):
            metrics.compare_auc(y, f, g, qid=qid, fold=fold)
        return
    found = metrics.compare_auc(y, f, g, qid=qid, fold=fold, confidence=0.9)
    assert found.difference == approx(difference)
    reach = quantile(0.95, qid, freedom) * error
    distribution = norm if qid is None else student_t(freedom)
    if error > 1e-9:
        assert found.p_value == approx(2 * distribution.sf(abs(difference) / error))
    elif abs(difference) > 1e-9:
        reach = np.nan
        assert np.isnan(found.p_value)
    else:
        assert found.p_value == 1
    assert (found.low, found.high) == approx((difference - reach, difference + reach))
    mirrored = metrics.compare_auc(y, g, f, qid=qid, fold=fold)
    assert mirrored.difference == approx(-found.difference)


def test_a_ranking_compared_with_itself():
    y, f = [0, 1, 0, 1, 1], [3, 1, 2, 4, 5]
    found = metrics.compare_auc(y, f, 2 * np.array(f))
    assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_a_difference_without_a_visible_error_is_no_certainty():
    """Every row, or query, contributes alike to the difference of 1."""
    y, f = np.array([0, 0, 1, 1]), np.array([1, 2, 3, 4])
    for qid in (None, [0, 1, 0, 1]):
        found = metrics.compare_auc(y, f, -f, qid=qid)
        assert found.difference == 1
        assert np.isnan([found.low, found.high, found.p_value]).all()


def plain_list(rng):
    y = np.repeat([0, 1], [60, 40])
    found = metrics.auc_interval(y, 1.5 * y + rng.normal(size=100), confidence=0.9)
    return found, norm.cdf(1.5 / np.sqrt(2))


def small_folds(rng, paired=False):
    """Two positives in each of five folds: the mean of two values is close to either."""
    y, fold = np.tile(np.repeat([0, 1], [10, 2]), 5), np.repeat(range(5), 12)
    a, b = y + 9 * fold + rng.normal(size=(2, 60))
    if paired:
        return metrics.compare_auc(y, a, b, fold=fold, confidence=0.9), 0.0
    return metrics.auc_interval(y, a, fold=fold, confidence=0.9), norm.cdf(1 / np.sqrt(2))


def few_queries(rng):
    y, qid = np.tile([0, 1], 30), np.repeat(range(6), 10)
    a, b = y + (rng.normal(size=(2, 6)) * 0.7)[:, qid] * y + rng.normal(size=(2, 60))
    return metrics.compare_auc(y, a, b, qid=qid, fold=qid % 2, confidence=0.9), 0.0


def one_long_query(rng, sizes=(200, *[20] * 29), paired=True):
    """The AUC differs between queries, and one of them has most of the pairs."""
    qid = np.repeat(range(len(sizes)), sizes)
    y = np.concatenate([np.arange(n) < n // 4 for n in sizes])
    a, b = y * (1 + rng.normal(size=(2, len(sizes))) / 2)[:, qid] + rng.normal(size=(2, len(y)))
    if paired:
        return metrics.compare_auc(y, a, b, qid=qid, confidence=0.9), 0.0
    return metrics.auc_interval(y, a, qid=qid, confidence=0.9), norm.cdf(1 / np.sqrt(2.25))


@pytest.mark.parametrize("paired", [True, False])
def test_a_query_with_most_of_the_pairs_does_not_hide_how_queries_differ(paired):
    """It pulled the AUC to its own, so that its difference from the AUC told nothing."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(60):
        found, true = one_long_query(rng, paired=paired)
        hits += found.low <= true <= found.high
    assert hits > 51


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "most_off"),
    [
        (partial(one_long_query, sizes=(60, *[20] * 29)), 0.04),
        (plain_list, 0.03),
        (small_folds, 0.04),
        (partial(small_folds, paired=True), 0.04),
        (few_queries, 0.04),
    ],
)
def test_intervals_hold_the_true_auc_as_often_as_they_say(draw, most_off):
    rng, hits = np.random.default_rng(0), 0
    for _ in range(400):
        found, true = draw(rng)
        hits += found.low <= true <= found.high
    assert abs(hits / 400 - 0.9) < most_off


SPLIT_QUERIES = {"qid": [0, 0, 1, 1], "fold": [0, 0, 0, 1]}


@pytest.mark.parametrize(
    ("name", "arrays", "options", "message"),
    [
        ("auc_interval", ([1, 1], [1, 2]), {}, "no comparable pair"),
        ("auc_interval", ([0, 1], [1, 2]), {"confidence": 1}, "'confidence' parameter of auc_int"),
        ("auc_interval", ([0, 1] * 2, range(4)), SPLIT_QUERIES, "Got 1 queries in several folds"),
        ("tpr_at_fpr_interval", ([0, 1] * 2, range(4)), SPLIT_QUERIES, "Got 1 queries in several"),
        ("compare_tpr_at_fpr", ([0, 1] * 2, *[range(4)] * 2), SPLIT_QUERIES, "in several folds"),
        ("compare_auc", ([0, 1], [1, 2], [1, 2]), {"confidence": 0}, "'confidence' .* of compare_"),
        ("compare_auc", ([0, 1, 1], *[range(3)] * 2), {"qid": [0, 0, 1]}, "At least two queries"),
        ("compare_auc", ([0, 1], [0, 1], [1, 0]), {}, "At least two rows of each class"),
        ("bootstrap_interval", ([0.5, np.nan],), {}, "At least two queries"),
        ("bootstrap_interval", ([0.5, inf],), {}, "values contains infinity"),
        ("bootstrap_interval", ([1, 2],), {"confidence": 1}, "'confidence' parameter of"),
        ("compare_rankings", ([1, 2], [1, 2, 3]), {}, "2 and 3 values"),
        ("compare_rankings", ([1, 2], [1, np.nan]), {}, "0 and 1 of them NaN"),
        ("compare_rankings", ([1, 2], [1, 2]), {"n_resamples": 0}, "'n_resamples'"),
    ],
)
def test_confidence_errors(name, arrays, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)(*arrays, **options)


# Errors -------------------------------------------------------------------------------


@every_metric
@pytest.mark.parametrize(
    ("y", "f", "options", "message"),
    [
        ([0, 1], [1, np.nan], {}, "y_score contains NaN"),
        ([0, 1], [1, 2, 3], {}, "inconsistent numbers of samples"),
        ([0, np.nan], [1, 2], {}, "y_true contains NaN"),
        (["a", "b"], [1, 2], {}, "y_true must hold numbers"),
        ([0, 1], [1, 2], {"qid": [1]}, "one id for each"),
    ],
)
def test_bad_rows(metric, y, f, options, message):
    with pytest.raises(ValueError, match=message):
        metric(y, f, **options)


@every_pair_metric
def test_no_pair(metric):
    for y, qid in (([1, 1], None), ([0, 1], ["a", "b"]), ([3], None)):
        with pytest.raises(ValueError, match="no comparable pair"):
            metric(y, np.arange(len(y)), qid=qid)


def test_no_pair_of_queries():
    with pytest.raises(ValueError, match="no comparable pair"):
        metrics.auc_score([1, 1], [1, 2], average="queries")
    assert np.isnan(metrics.auc_score([1, 1], [1, 2], average=None)).all()
    assert np.isnan(metrics.heights([1, 1], [1, 2])).all()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("auc_score", {"average": "mean"}, "'average' parameter of auc_score must be one of"),
        ("p_norm_push_loss", {"p": 2, "loss": "l2"}, "'loss' parameter .* 'zero_one', 'exp"),
        ("p_norm_push_loss", {"p": 2, "margin": inf}, "'margin' parameter"),
        *(
            ("p_norm_push_loss", {"p": p}, r"'p' parameter of p_norm_push_loss .* in \[1, inf\]")
            for p in (0.99, 0, -1, np.nan, -inf)
        ),
        ("p_norm_push_loss", {"p": 2, "normalize": 1}, "'normalize' .* True or False. Got 1"),
        ("p_norm_push_loss", {"p": inf, "normalize": False}, "no limit at p=inf"),
        ("ndcg_score", {"k": 0}, r"'k' parameter of ndcg_score must be an int in \[1, inf\)"),
        ("ndcg_score", {"k": 2.0}, "'k' parameter"),
        ("precision_at_k", {"k": 0}, "'k' parameter of precision_at_k"),
        ("precision_at_k", {"k": None}, "'k' parameter of precision_at_k"),
        ("recall_at_k", {"k": -1}, "'k' parameter of recall_at_k"),
        ("reciprocal_rank", {"k": 0}, "'k' parameter of reciprocal_rank"),
        ("err_score", {"max_relevance": 0}, "'max_relevance' parameter of err_score"),
        ("err_score", {"max_relevance": 0.5}, "exceeds max_relevance=0.5. Got 1"),
        ("partial_auc_score", {"max_fpr": 0}, r"'max_fpr' .* a float in \(0, 1\]. Got 0"),
        (
            "tpr_at_fpr_score",
            {"max_fpr": 1.1},
            r"'max_fpr' .* tpr_at_fpr_score .*\(0, 1\]. Got 1.1",
        ),
        ("average_precision", {"empty": 2}, "'empty' parameter of average_precision .* 'skip'"),
        ("r_precision", {"average": "pooled"}, "'average' parameter of r_precision"),
    ],
)
def test_unknown_options(name, options, message):
    with pytest.raises(ValueError, match=message):
        getattr(metrics, name)([0, 1], [1, 2], **options)


def test_relevance_that_is_no_gain():
    for metric in (metrics.ndcg_score, partial(metrics.ndcg_score, gain="linear")):
        with pytest.raises(ValueError, match=r"y_true of ndcg_score must not be negative.*Got -1"):
            metric([-1, 1], [1, 2])
    with pytest.raises(ValueError, match="err_score must not be negative"):
        metrics.err_score([-1, 1], [1, 2])
    with pytest.raises(ValueError, match="too large for gain='exponential'"):
        metrics.ndcg_score([0, 1100], [1, 2])
    assert metrics.ndcg_score([0, 1100], [1, 2], gain="linear") == 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [800, 1e20, 1e300])
def test_extreme_scores(loss, size):
    y, f = [0, 1, 0, 1, 1], np.array([-1, 1, 1, -1, 0]) * size
    for qid, p in product([None, list("aabba")], [1, 4, inf]):
        assert metrics.p_norm_push_loss(y, f, p=p, loss=loss, qid=qid) > 0
    assert metrics.p_norm_push_loss(y, f, p=64, loss=loss, normalize=False) > 0
    assert metrics.ranking_margin(y, f) == -2 * size


def test_raw_sums_overflow_to_infinity():
    y, f = np.arange(4000) % 2, np.arange(4000)
    assert metrics.p_norm_push_loss(y, f, p=400, normalize=False) == inf
    with np.errstate(over="ignore"):
        for p in (1, 2, inf):
            far = [0, 1, 0], [1e155, 0, 1]
            assert metrics.p_norm_push_loss(*far, p=p, loss="squared_hinge") == inf
    assert metrics.ranking_margin([0, 1], [1.7e308, -1.7e308]) == -inf


@pytest.mark.parametrize("loss", ["exponential", "logistic", "hinge"])
def test_losses_of_margins_need_finite_scores(loss):
    with pytest.raises(ValueError, match="needs finite scores"):
        metrics.p_norm_push_loss([0, 1], [1, inf], p=2, loss=loss)
    with pytest.raises(ValueError, match="too far apart"):
        metrics.p_norm_push_loss([0, 1], [1.7e308, -1.7e308], p=2, loss=loss)
    with pytest.raises(ValueError, match="needs finite scores"):
        metrics.ranking_margin([0, 1], [1, inf])


def test_no_relevant_row():
    for metric in LISTS.values():
        with pytest.raises(ValueError, match="no relevant row"):
            metric([0, -1], [1, 2])


@every_metric
def test_inputs_are_left_alone(metric):
    y, f, qid = np.array([0, 1, 2, 1.0]), np.array([3.0, 1, 2, 1]), np.array(list("abab"))
    for array in (y, f, qid):
        array.setflags(write=False)
    assert np.isfinite(np.nanmax(metric(y, f, qid=qid)))


@pytest.mark.parametrize("n_resamples", [2, 3, 99])
def test_few_samples_have_an_interval_too(n_resamples):
    """All of them may lie on one side of the mean, which the corrections of BCa can't tell."""
    for seed in range(20):
        found = metrics.bootstrap_interval(
            [0.1, 0.5, 0.9], n_resamples=n_resamples, random_state=seed
        )
        assert 0.1 <= found.low <= found.high <= 0.9
