"""Periods in time: no test row is as early as a training row, and every period is tested once."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score, cross_validate

from sklearn_rank import RankBoost
from sklearn_rank.datasets import make_queries
from sklearn_rank.model_selection import RollingOriginSplit, check_query_leakage

DAY = np.timedelta64(1, "D")


def split(time, n_splits=5, *, embargo=0, **ids):
    rows = np.zeros((len(time), 1))
    return list(RollingOriginSplit(n_splits, embargo=embargo).split(rows, time=time, **ids))


def lists(splits):
    return [(train.tolist(), test.tolist()) for train, test in splits]


@st.composite
def moments(draw):
    """Times with many ties in any order, as ints, floats or dates, and a number of splits."""
    time = np.array(draw(st.lists(st.integers(-9, 9), min_size=3, max_size=40)))
    n_moments = len(np.unique(time))
    assume(n_moments > 1)
    kind = draw(st.sampled_from(["int64", "float64", "M8[D]", "M8[ns]"]))
    return time.astype("M8[D]").astype(kind) if "M8" in kind else time.astype(kind), draw(
        st.integers(1, min(n_moments - 1, 6))
    )


@given(moments(), st.data())
def test_the_future_is_never_trained_on(data, draw):
    time, n_splits = data
    embargo = draw.draw(st.integers(0, 4))
    try:
        splits = split(time, n_splits, embargo=embargo)
    except ValueError as error:
        assert embargo
        assert "no row is left to train on" in str(error)
        return
    assert len(splits) == n_splits
    span = embargo * DAY if time.dtype.kind == "M" else embargo
    for train, test in splits:
        start = time[test].min()
        # Not only after: all rows that are early enough are used.
        np.testing.assert_array_equal(train, np.flatnonzero(start - time > span))
        assert time[train].max() < start
    tested = np.concatenate([test for _, test in splits])
    first = time[splits[0][1]].min()
    np.testing.assert_array_equal(np.sort(tested), np.flatnonzero(time >= first))
    for (_, one), (_, other) in pairwise(splits):
        assert time[one].max() < time[other].min()


@given(moments(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(data, random):
    time, n_splits = data
    order = np.array(random.sample(range(len(time)), len(time)))
    for one, other in zip(split(time, n_splits), split(time[order], n_splits), strict=True):
        for mine, others in zip(one, other, strict=True):
            assert set(mine) == set(order[others])


@given(moments(), st.data())
def test_queries_are_whole_and_groups_are_not_on_both_sides(data, draw):
    time, n_splits = data
    ids = np.array(draw.draw(st.lists(st.integers(0, 9), min_size=len(time), max_size=len(time))))
    for name in ("qid", "groups"):
        try:
            splits = split(time, n_splits, **{name: ids})
        except ValueError as error:
            assert "distinct times" in str(error) or "no row is left" in str(error)
            continue
        for train, test in splits:
            assert time[train].max() < time[test].min()
            assert not set(ids[train]) & set(ids[test])
    rows = np.zeros((len(time), 1))
    whole = st.integers(0, 9)
    query_time = np.array(draw.draw(st.lists(whole, min_size=10, max_size=10)))[ids]
    if len(np.unique(query_time)) > n_splits:
        splitter = RollingOriginSplit(n_splits)
        found = lists(splitter.split(rows, time=query_time, qid=ids))
        assert found == lists(splitter.split(rows, time=query_time))  # each has one time


@given(st.integers(1, 30), st.integers(2, 6))
def test_without_ties_the_periods_are_those_of_time_series_split(n_each, n_splits):
    n_rows = n_each * (n_splits + 1)
    expected = TimeSeriesSplit(n_splits).split(np.zeros((n_rows, 1)))
    assert lists(split(np.arange(n_rows), n_splits)) == lists(expected)


def test_periods_are_as_even_as_moments_allow():
    time = np.repeat([0, 1, 2, 3, 4, 5], [10, 1, 1, 10, 9, 11])
    sizes = [len(test) for _, test in split(time, 3)]
    assert sizes == [12, 9, 11]  # 10 are trained on first
    assert [len(test) for _, test in split(np.repeat([0, 1, 2], [1, 50, 1]), 2)] == [50, 1]


def test_a_query_is_tested_by_its_first_moment_and_trained_on_after_its_last():
    time, qid = [0, 0, 1, 5, 2, 3, 4, 6], [0, 0, 1, 1, 2, 2, 3, 4]
    expected = [([0, 1], [2, 3]), ([0, 1], [4, 5]), ([0, 1, 4, 5], [6, 7])]
    assert lists(split(time, 3, qid=qid)) == expected


def test_a_group_that_is_tested_is_not_trained_on():
    time, groups = [0, 0, 1, 2, 2], list("abaca")
    assert lists(split(time, 2, groups=groups)) == [([1], [2]), ([1], [3, 4])]


DATES = pd.date_range("2024-01-01", periods=6)
SAME_DATES = [
    DATES,
    pd.Series(DATES.tz_localize("Europe/Berlin")),
    pd.Series(DATES.tz_localize("Europe/Berlin")).astype("timestamp[us, tz=UTC][pyarrow]"),
    np.arange(6).astype("datetime64[M]"),
    np.arange(6).astype("datetime64[Y]"),
    pd.Series(DATES.to_pydatetime(), dtype=object),
    list(DATES.date),
    pl.Series(list(DATES.date)),
    pd.Series(range(6), dtype="Int64"),
    np.arange(6, dtype=np.uint8)[:, None],
]


@pytest.mark.parametrize("time", SAME_DATES, ids=lambda one: type(one).__name__)
def test_containers_of_times_are_equal(time):
    assert lists(split(time, 2)) == lists(split(np.arange(6), 2))


@pytest.mark.parametrize("of", [list, csr_array, pd.DataFrame])
def test_rows_may_be_a_list_a_sparse_array_or_a_table(of):
    rows, time = np.zeros((12, 2)), np.arange(12)
    found = RollingOriginSplit(3).split(of(rows.tolist() if of is list else rows), time=time)
    assert lists(found) == lists(split(time, 3))


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m"])
def test_an_embargo_on_dates_without_marks_is_refused(form):
    days = pd.date_range("2023-11-01", periods=120).strftime(form).astype(int).to_numpy()
    assert len(split(days, 2)) == len(split(days - days[0], 2, embargo=0.5)) == 2
    for time in (days, days.astype(float)):
        with pytest.raises(ValueError, match=f"numbers such as {days[0]}, .*dates .*{form}"):
            split(time, 2, embargo=30)


def test_an_embargo_on_dates_is_in_days():
    hours = pd.date_range("2024-01-01", periods=6, freq="6h")
    assert lists(split(hours, 1, embargo=0.25)) == [([0, 1], [3, 4, 5])]
    assert lists(split(hours, 1, embargo=0.24)) == [([0, 1, 2], [3, 4, 5])]


@pytest.mark.parametrize("time", [[2023.8, 2023.9, 2024.0, 2024.1], [0.0, 0.1, 0.2, 0.3]])
def test_a_row_just_the_embargo_before_is_not_trained_on_however_floats_are_rounded(time):
    earlier = [time[0] - 0.01, *time]
    assert lists(split(earlier, 1, embargo=0.1)) == [([0], [2, 3, 4])]
    assert lists(split(earlier, 1, embargo=0.0999)) == [([0, 1], [2, 3, 4])]
    with pytest.raises(ValueError, match="no row is left to train on for period 1"):
        split(time, 3, embargo=0.1)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "int64[pyarrow]"])
def test_long_integers_stay_apart(dtype):
    time = pd.Series(np.array([0, 10, 20, 30]) + 1_700_000_000_000_000_000, dtype=dtype)
    assert lists(split(time, 2)) == [([0], [1, 2]), ([0, 1, 2], [3])]


@pytest.mark.parametrize(
    ("time", "given", "message"),
    [
        (None, {}, r"needs the time.*cv=list\(splitter\.split"),
        (list("abcdef"), {}, "must hold numbers or dates.*<U1"),
        (DATES.tz_localize("UTC").to_pydatetime(), {}, "dates with zones"),
        ([0, 1, np.nan, 3, 4, np.inf], {}, "missing values. Row 2 has nan"),
        (DATES.where(DATES.day > 1), {}, "Row 0 has NaT"),
        ([*DATES[:5], pd.NaT], {}, "Row 5 has NaT"),
        (pd.Series([pd.NaT, *DATES.date[1:]], dtype=object), {}, "Row 0 has NaT"),
        (range(5), {}, "X has 6, time has 5"),
        ([0, 0, 0, 1, 1, 1], {}, "at least 3 distinct times.*Got 2"),
        (range(6), {"embargo": 3}, r"no row is left to train on for period 1, from 2 on.*=3, n_s"),
    ],
)
def test_wrong_times(time, given, message):
    splitter = RollingOriginSplit(2, embargo=given.get("embargo", 0))
    with pytest.raises(ValueError, match=message):
        splitter.split(np.zeros((6, 1)), time=time)


@pytest.mark.parametrize("embargo", [-1, np.inf, np.nan, True, "a", None])
def test_wrong_embargoes(embargo):
    with pytest.raises(ValueError, match=r"'embargo' parameter.*a float in \[0, inf\)"):
        RollingOriginSplit(embargo=embargo)


def test_a_scikit_learn_splitter():
    splitter = RollingOriginSplit(3, embargo=7)
    assert repr(clone(pickle.loads(pickle.dumps(splitter)), safe=False)) == repr(splitter)
    assert splitter.get_n_splits() == 3
    with pytest.raises(ValueError, match="n_splits"):
        RollingOriginSplit(0)


def test_time_is_passed_once_in_searches():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(60, 2)), rng.permutation(60) // 3
    y = X[:, 0] + rng.normal(size=60) > 0
    splitter, model = RollingOriginSplit(3), LogisticRegression()
    by_hand = cross_val_score(model, X, y, cv=list(splitter.split(X, time=time)))
    with config_context(enable_metadata_routing=True):
        routed = cross_validate(model, X, y, cv=splitter, params={"time": time})
        search = GridSearchCV(model, {"C": [1.0]}, cv=splitter).fit(X, y, time=time)
    np.testing.assert_array_equal(routed["test_score"], by_hand)
    assert search.cv_results_["mean_test_score"] == [by_hand.mean()]
    with pytest.raises(ValueError, match="needs the time"):
        cross_validate(model, X, y, cv=splitter)


def test_time_and_queries_are_routed_together():
    data = make_queries(n_queries=12, rows_per_query=5, random_state=0)
    time = data.qid // 2
    splitter, ranker = RollingOriginSplit(3), RankBoost(relevance="graded", n_estimators=2)
    params = {"qid": data.qid, "time": time}
    with config_context(enable_metadata_routing=True):
        how = {"cv": splitter, "params": params, "error_score": "raise"}
        found = cross_val_score(ranker, data.data, data.target, **how)
    assert np.isfinite(found).all()
    leakage = check_query_leakage(
        list(splitter.split(data.data, **params)), data.data, qid=data.qid
    )
    assert not leakage.is_leaking


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8"])
def test_narrow_integers_are_split_like_wide_ones(dtype):
    limits = np.iinfo(dtype)
    time = np.linspace(limits.min, limits.max, 200).astype(np.int64)
    assert lists(split(time.astype(dtype), 3)) == lists(split(time, 3))
