"""auc_score and p_norm_push_loss against definitions that visit every pair."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles import metrics as oracles_metrics
from sklearn.metrics import roc_auc_score
from strategies import bipartite, graded, one_list, problems

from sklearn_rank.metrics import auc_score, p_norm_push_loss

POWERS = [1, 1.5, 2, 4, 64, np.inf]
METRICS = [auc_score, lambda *args, **kwargs: p_norm_push_loss(*args, p=2, **kwargs)]
METRIC_IDS = ["auc_score", "p_norm_push_loss"]

any_metric = pytest.mark.parametrize("metric", METRICS, ids=METRIC_IDS)


def approx(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


def both_against_oracles(y, f, qid=None, w=None):
    """Assert that the metrics are what the definitions say, errors included."""
    options = {"qid": qid, "sample_weight": w}
    if not oracles.above(y, qid, w).any():
        for metric in METRICS:
            with pytest.raises(ValueError, match=r"no comparable pair|weights are zero"):
                metric(y, f, **options)
        return
    assert auc_score(y, f, **options) == approx(oracles.auc(f, y, qid, w))
    places = np.unique(f, return_inverse=True)[1]  # differences of scores may overflow
    for p in POWERS:
        expected = oracles_metrics.push_loss(y, places, p, qid, w)
        assert p_norm_push_loss(y, f, p=p, **options) == approx(expected)


# Against the definitions --------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("y", list(product([0, 1, 2], repeat=3)))
def test_every_list_of_three_rows(y):
    for f in product([0, 1, 2], repeat=3):
        both_against_oracles(np.array(y), np.array(f))


@pytest.mark.slow
@pytest.mark.parametrize("qid", ["aabb", "abab", "aaab", "abcd"])
def test_every_binary_pair_of_queries(qid):
    for y, f in product(product([0, 1], repeat=4), product([0, 1], repeat=4)):
        both_against_oracles(np.array(y), np.array(f), np.array(list(qid)))


@pytest.mark.slow
@pytest.mark.parametrize("w", list(product([0, 1, 3], repeat=3)))
def test_every_weighting_of_three_rows(w):
    for y, f in product([(0, 1, 1), (1, 0, 2)], product([0, 1, 2], repeat=3)):
        both_against_oracles(np.array(y), np.array(f), w=np.array(w))


@given(problems(max_rows=12))
def test_ties_weights_queries_and_grades(problem):
    both_against_oracles(problem.y, problem.f, problem.qid, problem.w)


@given(st.lists(st.integers(0, 40), min_size=2, max_size=40), st.randoms(use_true_random=False))
def test_many_grades(y, random):
    f = [random.randint(0, 5) for _ in y]
    both_against_oracles(np.array(y), np.array(f))


@given(one_list(max_rows=12))
def test_one_binary_list_is_scikit_learns_roc_auc(problem):
    expected = roc_auc_score(problem.y == problem.y.max(), problem.f, sample_weight=problem.w)
    assert auc_score(problem.y, problem.f, sample_weight=problem.w) == approx(expected)


def test_textbook_numbers():
    # Pairs, above first: (0.4, 0.3) right, (0.4, 0.4) tied, (0.9, 0.3) and (0.9, 0.4) right.
    y, f = [0, 0, 1, 1], [0.3, 0.4, 0.4, 0.9]
    assert auc_score(y, f) == approx((1 + 0.5 + 1 + 1) / 4)
    # Row 0 is above neither of its two rivals, row 1 ties with one of them: an error.
    assert p_norm_push_loss(y, f, p=2) == approx(((0 + (1 / 2) ** 2) / 2) ** 0.5)
    assert p_norm_push_loss(y, f, p=np.inf) == 0.5


# Laws ---------------------------------------------------------------------------------------


@given(bipartite())
def test_booleans_are_relevances(problem):
    is_above = problem.y == problem.y.max()
    assert auc_score(is_above, problem.f, qid=problem.qid) == auc_score(
        problem.y, problem.f, qid=problem.qid
    )


@given(graded())
def test_lists_are_taken_like_arrays(problem):
    w = None if problem.w is None else problem.w.tolist()
    qid = None if problem.qid is None else problem.qid.tolist()
    options = {"qid": problem.qid, "sample_weight": problem.w}
    as_lists = auc_score(problem.y.tolist(), problem.f.tolist(), qid=qid, sample_weight=w)
    assert as_lists == auc_score(problem.y, problem.f, **options)
    assert isinstance(as_lists, float)


# Extremes -----------------------------------------------------------------------------------

EXTREMES = [-np.inf, -1.7e308, -1e300, -5e-324, -0.0, 0.0, 5e-324, 1, 1 + 2**-52, 1e300, np.inf]


@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from(EXTREMES)), min_size=1, max_size=12))
@example([(0, 1e300), (1, -1e300), (1, 1e300)])
@example([(0, -1.7e308), (1, 1.7e308)])
@example([(0, np.inf), (1, np.inf), (1, -np.inf), (0, -np.inf)])
def test_extreme_scores(rows):
    y, f = np.array(rows).T
    both_against_oracles(y, f)


@pytest.mark.slow
def test_huge_lists_lose_no_pair():
    # 2**20 rows: the AUC is a ratio of integers that doubles hold exactly.
    n = 2**19
    y, f = np.repeat([0, 1], n), np.concatenate([np.arange(n), np.arange(n)])
    assert auc_score(y, f) == 0.5
    assert auc_score(y, f, qid=np.tile(np.arange(n), 2)) == 0.5
    assert auc_score(y, f + y / 2) == approx((n * (n - 1) / 2 + n) / n**2)


def test_a_light_query_beside_a_heavy_one():
    # The worst share is that of the light query, however little it weighs.
    y, f, qid = [1, 1, 1, 1, 0], [0, 0, 1, 3, 2], list("aabbb")
    w = [1e9, 1e9, 1e-7, 2e-7, 1e-7]
    both_against_oracles(np.array(y), np.array(f), np.array(qid), np.array(w))


# Errors -------------------------------------------------------------------------------------


@any_metric
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y_true": [1, 1]}, "no comparable pair: y_true has one value only"),
        ({"qid": ["a", "b"]}, "no comparable pair"),
        ({"sample_weight": [0, 1]}, "no comparable pair"),
        ({"sample_weight": [0, 0]}, "weights are zero"),
        ({"sample_weight": [-1, 1]}, "must not be negative"),
        ({"sample_weight": [1, 1, 1]}, r"shape \(2,\)"),
        ({"sample_weight": [1, np.nan]}, "sample_weight contains NaN"),
        ({"qid": [1.0, np.nan]}, "qid must not have missing values: row 1"),
        ({"qid": pd.array(["a", None], "string")}, "qid must not have missing values: row 1"),
        ({"qid": pd.array([None, 1], "Int64")}, "qid must not have missing values: row 0"),
        ({"qid": pd.array(["a", None], "string[pyarrow]")}, "qid must not have missing values"),
        ({"qid": pd.Categorical([None, "a"])}, "qid must not have missing values: row 0"),
    ],
)
def test_errors(metric, arguments, message):
    with pytest.raises(ValueError, match=message):
        metric(**{"y_true": [0, 1], "y_score": [1, 2], **arguments})
