"""Whole queries in every split, even folds, qid by routing or by hand, and leaks that are found."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    BaseCrossValidator,
    GridSearchCV,
    GroupKFold,
    KFold,
    check_cv,
    cross_val_predict,
    cross_validate,
)

from sklearn_rank import ListNetLinear
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import auc_score
from sklearn_rank.model_selection import (
    QueryKFold,
    QueryLeakage,
    QueryShuffleSplit,
    check_query_leakage,
)
from sklearn_rank.model_selection._splitters import _assign_folds

DATA = make_queries(n_queries=15, rows_per_query=8, n_features=4, random_state=0)
X, Y, QID = DATA.data, DATA.target, DATA.qid
SWITCH = r"sklearn\.set_config\(enable_metadata_routing=True\)"

both_splitters = pytest.mark.parametrize(
    "splitter", [QueryKFold(3), QueryShuffleSplit(3, random_state=0)], ids=repr
)


def skewed(seed, n_queries=60):
    """Query sizes over three powers of ten, relevant rows in some of the queries only."""
    rng = np.random.default_rng(seed)
    size = np.ceil(10 ** rng.uniform(0, 2.5, n_queries)).astype(int)
    qid = rng.permutation(np.repeat(np.arange(n_queries), size))
    share = np.where(rng.random(n_queries) < 0.3, rng.uniform(0, 1, n_queries), 0)
    return qid, (rng.random(len(qid)) < share[qid]).astype(int)


def split(splitter, qid, y=None):
    return list(splitter.split(np.zeros((len(qid), 1)), y, qid=qid))


def assert_same_splits(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


def spread(splits, values):
    """Largest minus smallest sum of the values over the test sets."""
    return np.ptp([values[test].sum() for _, test in splits])


@st.composite
def queries(draw):
    """Unsorted query ids, ints or strings, singletons among them, and relevance."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=2, max_size=12))
    numbers = draw(st.permutations(np.repeat(np.arange(len(sizes)), sizes).tolist()))
    y = draw(st.lists(st.integers(0, 3), min_size=len(numbers), max_size=len(numbers)))
    qid = np.array(numbers) - 3
    return (qid.astype(str) if draw(st.booleans()) else qid), np.array(y)


# QueryKFold ---------------------------------------------------------------------------


@given(queries(), st.integers(2, 6), st.booleans(), st.booleans())
def test_every_row_is_tested_once_and_folds_are_even(data, n_splits, shuffle, with_y):
    qid, y = data
    sizes = np.unique(qid, return_counts=True)[1]
    n_splits = min(n_splits, len(sizes))
    splitter = QueryKFold(n_splits, shuffle=shuffle, random_state=0 if shuffle else None)
    splits = split(splitter, qid, y if with_y else None)
    assert len(splits) == n_splits
    tested = np.concatenate([test for _, test in splits])
    np.testing.assert_array_equal(np.sort(tested), np.arange(len(qid)))
    for train, test in splits:
        assert len(test) > 0
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(len(qid)))
        assert not set(qid[train]) & set(qid[test])
    assert spread(splits, np.ones(len(qid))) <= sizes.max()


@given(queries(), st.randoms(use_true_random=False))
def test_the_folds_do_not_depend_on_the_order_of_the_rows(data, random):
    qid, y = data
    order = np.array(random.sample(range(len(qid)), len(qid)))
    splits, others = split(QueryKFold(2), qid, y), split(QueryKFold(2), qid[order], y[order])
    for (_, test), (_, other) in zip(splits, others, strict=True):
        assert set(qid[test]) == set(qid[order][other])


def test_relevant_rows_are_even_over_many_data_sets():
    """In the mean over data sets: below a tenth of GroupKFold's spread, rows nearly as even."""
    found = []
    for seed in range(20):
        qid, y = skewed(seed, n_queries=200)
        folds = QueryKFold(5, shuffle=True, random_state=0) if seed % 2 else QueryKFold(5)
        own, other = split(folds, qid, y), list(GroupKFold(5).split(qid, y, groups=qid))
        rows = np.ones(len(y))
        found.append([spread(own, y) / spread(other, y), spread(own, rows) / len(y)])
    relevant, rows = np.mean(found, axis=0)
    assert relevant < 0.1
    assert rows < 0.01


def test_even_rows_come_first():
    """The first query has half of the relevant rows: to even these out alone takes 3 to 1."""
    qid, hits = np.repeat(np.arange(6), 5), [5, 1, 1, 1, 1, 1]
    y = np.concatenate([np.arange(5) < one for one in hits])
    assert spread(split(QueryKFold(2), qid, y), np.ones(30)) <= 5
    sizes = [len(test) for _, test in split(QueryKFold(2), qid[:20], y[:20])]
    assert sizes == [10, 10]


def test_without_y_equal_queries_give_equal_folds():
    assert [len(test) for _, test in split(QueryKFold(5), QID)] == [24] * 5


def test_relevant_means_above_the_lowest():
    """Two large and four small queries: which fold gets which follows from y alone."""
    qid = np.repeat(["a", "b", "c", "d"], 5)
    relevant = np.isin(qid, ["a", "b"])
    for y in (relevant, np.where(relevant, 3.5, -1), np.where(relevant, "good", "bad")):
        for _, test in split(QueryKFold(2), qid, y):
            assert relevant[test].sum() == 5
    assert_same_splits(split(QueryKFold(2), qid, np.ones(20)), split(QueryKFold(2), qid))


def test_the_seed_draws_the_folds():
    draws = drawn_folds(QID, (0, 0, 1))
    assert draws[0] == draws[1] != draws[2]
    draws = drawn_folds(skewed(0)[0], (0, 1))
    assert draws[0] != draws[1]  # also where no two queries are of one size


def drawn_folds(qid, seeds):
    splitters = [QueryKFold(3, shuffle=True, random_state=seed) for seed in seeds]
    return [[set(qid[test]) for _, test in split(one, qid)] for one in splitters]


def test_too_few_queries():
    with pytest.raises(ValueError, match=r"QueryKFold needs at least n_splits=4 .* Got 3\."):
        QueryKFold(4).split(np.zeros((6, 1)), qid=[1, 1, 2, 2, 3, 3])
    with pytest.raises(ValueError, match=r"QueryShuffleSplit needs at least 2 .* Got 1\."):
        QueryShuffleSplit().split(np.zeros((2, 1)), qid=[1, 1])


# QueryShuffleSplit --------------------------------------------------------------------


@given(queries(), st.floats(0.01, 0.99), st.integers(0, 5))
def test_random_splits_keep_queries_whole(data, test_size, seed):
    qid, y = data
    splitter = QueryShuffleSplit(4, test_size=test_size, random_state=seed)
    splits = split(splitter, qid, y)
    n_queries = len(set(qid))
    assert len(splits) == 4
    for train, test in splits:
        assert not set(qid[train]) & set(qid[test])
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(len(qid)))
        expected = min(np.ceil(test_size * n_queries - 1e-9), n_queries - 1)
        assert len(set(qid[test])) == expected
    assert_same_splits(splits, split(splitter, qid, y))


def test_the_number_of_test_queries_has_no_rounding_error():
    """7 % of 100 queries are 7, although 0.07 * 100 is above 7."""
    _, test = split(QueryShuffleSplit(1, test_size=0.07), np.arange(100))[0]
    assert len(test) == 7


# Input --------------------------------------------------------------------------------


@both_splitters
def test_containers_are_equal(splitter):
    expected = split(splitter, QID, Y)
    texts = [f"q{one:03d}" for one in QID]
    rows = [X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X), sparse.csr_array(X)]
    ids = [QID, QID.tolist(), texts, pd.Series(texts), pl.Series(texts)]
    for one_x, one_qid in zip(rows, ids, strict=True):
        assert_same_splits(splitter.split(one_x, Y, qid=one_qid), expected)


@both_splitters
def test_groups_that_reach_the_splitter_alone_are_refused(splitter):
    """A ranker would be fitted and scored as on one list: it can't know of the queries."""
    message = rf"^{type(splitter).__name__} needs qid.*groups would reach only the splitter"
    for groups, qid in ((QID, None), (QID, QID)):
        with pytest.raises(ValueError, match=message):
            splitter.split(X, Y, groups, qid=qid)


@both_splitters
def test_no_queries_names_the_switch(splitter):
    with pytest.raises(ValueError, match=f"{type(splitter).__name__} needs qid.*{SWITCH}"):
        splitter.split(X, Y)
    with pytest.raises(ValueError, match=SWITCH):
        cross_validate(LinearRegression(), X, Y, cv=splitter)


@both_splitters
@pytest.mark.parametrize(
    ("y", "qid", "message"),
    [
        (Y, QID[:-1], "qid must hold one id for each of the 120 rows"),
        (Y, np.where(QID == 1, np.nan, QID), "must not have missing values"),
        (Y[:-1], QID, "inconsistent numbers of samples"),
        (np.c_[Y, Y], QID, "y should be a 1d array"),
        (np.array(["a", 1] * 60, dtype=object), QID, "y must hold values of one kind"),
    ],
)
def test_wrong_arrays(splitter, y, qid, message):
    with pytest.raises(ValueError, match=message):
        splitter.split(X, y, qid=qid)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [
        *((QueryKFold, {"n_splits": n_splits}) for n_splits in (1, 2.0, 2.5)),
        (QueryKFold, {"shuffle": 1}),
        (QueryKFold, {"random_state": "a", "shuffle": True}),
        (QueryKFold, {"random_state": 0}),
        (QueryShuffleSplit, {"n_splits": 0}),
        (QueryShuffleSplit, {"test_size": 1}),
        (QueryShuffleSplit, {"test_size": 0.0}),
        (QueryShuffleSplit, {"random_state": -1}),
    ],
)
def test_wrong_parameters(kind, parameters):
    name = next(iter(parameters))
    allowed = r"must be an int in \[2.*" if kind is QueryKFold and name == "n_splits" else ".*"
    message = f"The '{name}' parameter of {kind.__name__} {allowed} Got"
    with pytest.raises(ValueError, match=message):
        kind(**parameters)


# Among scikit-learn's tools -----------------------------------------------------------


@both_splitters
def test_a_splitter_is_a_scikit_learn_splitter(splitter):
    assert isinstance(splitter, BaseCrossValidator)
    assert check_cv(splitter) is splitter
    assert splitter.get_n_splits() == splitter.get_n_splits(X, Y, QID) == 3
    assert repr(splitter).startswith(f"{type(splitter).__name__}(n_splits=3, random_state=")
    copies = [copy.deepcopy(splitter), pickle.loads(pickle.dumps(splitter))]
    copies.append(clone(GridSearchCV(ListNetLinear(), {}, cv=splitter)).cv)
    for one in copies:
        assert repr(one) == repr(splitter)
        assert one is not splitter


@both_splitters
def test_qid_is_passed_once(splitter):
    with config_context(enable_metadata_routing=True):
        found = cross_validate(
            ListNetLinear(), X, Y, params={"qid": QID}, cv=splitter, error_score="raise"
        )
    for (train, test), score in zip(split(splitter, QID, Y), found["test_score"], strict=True):
        model = ListNetLinear().fit(X[train], Y[train], qid=QID[train])
        assert score == auc_score(Y[test], model.predict(X[test]), qid=QID[test])


@both_splitters
def test_qid_can_have_another_name(splitter):
    with config_context(enable_metadata_routing=True):
        renamed = copy.deepcopy(splitter).set_split_request(qid="query")
        ranker = ListNetLinear().set_fit_request(qid="query").set_score_request(qid="query")
        found = cross_validate(ranker, X, Y, params={"query": QID}, cv=renamed, error_score="raise")
    assert np.isfinite(found["test_score"]).all()


def test_cross_val_predict_predicts_every_row():
    with config_context(enable_metadata_routing=True):
        found = cross_val_predict(ListNetLinear(), X, Y, params={"qid": QID}, cv=QueryKFold(3))
    for train, test in split(QueryKFold(3), QID, Y):
        model = ListNetLinear().fit(X[train], Y[train], qid=QID[train])
        np.testing.assert_array_equal(found[test], model.predict(X[test]))


def test_routing_without_qid_says_what_is_missing():
    with config_context(enable_metadata_routing=True), pytest.raises(ValueError, match="needs qid"):
        cross_validate(ListNetLinear(), X, Y, cv=QueryKFold(3))


# Leaks --------------------------------------------------------------------------------


@given(queries(), st.integers(0, 5))
def test_leaks_are_counted(data, seed):
    qid, _ = data
    cv = KFold(2, shuffle=True, random_state=seed)
    found = check_query_leakage(cv, qid, qid=qid)
    leaks = [set(qid[train]) & set(qid[test]) for train, test in cv.split(qid)]
    assert found.n_queries == tuple(map(len, leaks))
    assert set(found.query_ids) == set.union(*leaks)
    assert list(found.query_ids) == sorted(found.query_ids)
    splits = zip(leaks, cv.split(qid), strict=True)
    assert found.n_rows == tuple(np.isin(qid[test], list(one)).sum() for one, (_, test) in splits)
    assert found.is_leaking == any(leaks)


@both_splitters
def test_own_splitters_do_not_leak(splitter):
    found = check_query_leakage(splitter, X, Y, qid=QID)
    assert found == QueryLeakage((0, 0, 0), (0, 0, 0), ())
    assert str(found) == "No query has rows on both sides of a split, in 3 splits."
    found.raise_if_leaking()


def test_other_forms_of_cv():
    assert check_query_leakage(GroupKFold(3), X, qid=QID, groups=QID).n_queries == (0, 0, 0)
    assert check_query_leakage(15, X, qid=np.sort(QID)).n_queries == (0,) * 15
    by_hand = [([0, 1], [2, 3]), ([0, 1, 2], [3])]
    found = check_query_leakage(by_hand, X[:4], qid=["a", "b", "b", "c"])
    assert found == QueryLeakage((1, 0), (1, 0), ("b",))


def test_a_leak_can_be_an_error():
    found = check_query_leakage(KFold(4, shuffle=True, random_state=0), X, qid=QID)
    text = "15 queries have rows on both sides of a split, in 4 of 4 splits (120 test rows): "
    assert str(found) == f"{text}0, 1, 2, 3, 4 and 10 more."
    with pytest.raises(ValueError, match=r"15 queries .*QueryKFold keeps queries whole"):
        found.raise_if_leaking()


def skewed_queries(n_queries=100, seed=0):
    """Queries of which a few are long, and labels of which some queries have more."""
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), np.ceil(rng.lognormal(2, 0.7, n_queries)).astype(int))
    return qid, (rng.random(len(qid)) < rng.beta(1, 3, n_queries)[qid]).astype(int)


def test_shuffled_test_sets_vary_less_than_plain_draws():
    qid, y = skewed_queries()
    X, rng = np.zeros((len(qid), 1)), np.random.default_rng(1)
    splitter = QueryShuffleSplit(300, test_size=0.2, random_state=0)
    ours = [test for _, test in splitter.split(X, y, qid=qid)]
    plain = [np.isin(qid, rng.choice(100, 20, replace=False)).nonzero()[0] for _ in range(300)]
    for share in (lambda test: len(test) / len(qid), lambda test: y[test].sum() / y.sum()):
        spread, other = np.std([share(t) for t in ours]), np.std([share(t) for t in plain])
        assert spread < 0.85 * other
        assert np.mean([share(t) for t in ours]) == pytest.approx(0.2, abs=0.01)


@pytest.mark.parametrize(
    ("qid", "y", "share"), [(QID, None, 0.2), (*skewed_queries(20), 0.3)], ids=["equal", "skewed"]
)
def test_every_query_is_tested_with_the_same_probability(qid, y, share):
    splits = split(QueryShuffleSplit(2000, test_size=share, random_state=0), qid, y)
    drawn, n_queries = [np.unique(qid[test]) for _, test in splits], len(set(qid))
    assert {len(one) for one in drawn} == {round(share * n_queries)}
    often = np.bincount(np.concatenate(drawn), minlength=n_queries) / 2000
    assert np.abs(often - share).max() < 4 * np.sqrt(share * (1 - share) / 2000)


@given(st.integers(1, 12), st.integers(2, 4), st.integers(0, 10**6))
def test_each_query_goes_to_the_fold_that_holds_least_like_it(n_queries, n_folds, seed):
    """Shares of the rows and of the relevant ones count alike; no fold becomes much larger."""
    rng = np.random.default_rng(seed)
    counts = np.column_stack([rng.integers(1, 9, n_queries), rng.integers(0, 3, n_queries)]) * 1.0
    order = rng.permutation(n_queries)
    found = _assign_folds(counts, order, n_folds)
    held = [[0.0, 0.0] for _ in range(n_folds)]
    for query in order:
        n_rows, n_relevant = counts[query]
        smallest = min(rows for rows, _ in held)
        cost = [
            rows * n_rows / counts[:, 0].sum() ** 2
            + relevant * n_relevant / max(counts[:, 1].sum(), 1) ** 2
            if rows + n_rows <= smallest + counts[:, 0].max()
            else np.inf
            for rows, relevant in held
        ]
        assert cost[found[query]] == pytest.approx(min(cost))
        held[found[query]][0] += n_rows
        held[found[query]][1] += n_relevant
