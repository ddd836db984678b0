"""Figures by period, vintages and cut-offs, against loops over the rows."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import definitions as oracles
from oracles.monitoring import weights

from sklearn_rank.scorecard.monitoring import (
    cutoff_table,
    period_table,
    population_stability_index,
    vintage_table,
)

ROW = st.tuples(
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from(["2025-12", "2026-01", "2026-03"]),
    st.integers(1, 3),
)
TABLES = st.lists(ROW, min_size=2, max_size=30)


def share(rows, among):
    """Weight of some rows by that of all; NaN without any."""
    total = sum(w for _, w in among)
    return float(sum(w for _, w in rows) / total) if total else math.nan


@given(TABLES, st.booleans())
def test_periods_are_those_of_the_definition(table, is_weighted):
    y, f, time, w = (np.array(one) for one in zip(*table, strict=True))
    weight = w if is_weighted else None
    found = period_table(y, f, time, cut=0, sample_weight=weight)
    mass = weights(y, weight)
    assert found.period.tolist() == sorted(set(time.tolist()))
    first = time == found.period[0]
    for number, name in enumerate(found.period):
        own = [(n, mass[n]) for n in range(len(y)) if time[n] == name]
        here = time == name
        total = sum(u for _, u in own)
        assert found.count[number] == total
        assert found.rate[number] == pytest.approx(share([r for r in own if y[r[0]]], own))
        assert found.above[number] == pytest.approx(share([r for r in own if f[r[0]] > 0], own))
        assert found.mean[number] == pytest.approx(
            float(sum(u * int(f[n]) for n, u in own) / total)
        )
        if 0 < y[here].sum() < here.sum():
            times = None if weight is None else w[here]
            assert found.auc[number] == pytest.approx(oracles.auc(f[here], y[here], None, times))
        else:
            assert np.isnan(found.auc[number])
        if number and len(set(f[first].tolist())) > 1:
            of = {
                "reference_weight": weight if weight is None else w[first],
                "sample_weight": weight if weight is None else w[here],
            }
            assert found.psi[number] == pytest.approx(
                population_stability_index(f[first], f[here], **of)
            )
    assert np.isnan(found.psi[0])


@given(TABLES)
def test_vintages_are_those_of_the_definition(table):
    y, f, time, w = (np.array(one) for one in zip(*table, strict=True))
    found = vintage_table(y, f, time, bands=[-1, 1], sample_weight=w)
    ends = [(-np.inf, -1), (-1, 1), (1, np.inf)]
    lines = [(name, *band) for name in sorted(set(time.tolist())) for band in ends]
    assert list(zip(found.period.tolist(), found.above, found.up_to, strict=True)) == lines
    for number, (name, low, high) in enumerate(lines):
        own = [n for n in range(len(y)) if time[n] == name and low < f[n] <= high]
        count, events = sum(w[n] for n in own), sum(w[n] for n in own if y[n])
        assert (found.count[number], found.events[number]) == (count, events)
        rate = events / count if count else math.nan
        assert found.rate[number] == pytest.approx(rate, nan_ok=True)


@given(TABLES, st.sampled_from(["above", "below"]))
def test_cutoffs_are_those_of_the_definition(table, selected):
    y, f, _, w = (np.array(one) for one in zip(*table, strict=True))
    found = cutoff_table(y, f, cuts=[-4, -1, 0, 2, 3], selected=selected, sample_weight=w)
    rows = [(n, w[n]) for n in range(len(y))]
    for number, cut in enumerate([-4, -1, 0, 2, 3]):
        chosen = [r for r in rows if (f[r[0]] > cut) == (selected == "above")]
        others = [r for r in rows if r not in chosen]
        events = [r for r in rows if y[r[0]]]
        bad = [r for r in chosen if y[r[0]]]
        wanted = [
            (found.selected, share(chosen, rows)),
            (found.selected_rate, share(bad, chosen)),
            (found.other_rate, share([r for r in others if y[r[0]]], others)),
            (found.events_selected, share(bad, events)),
        ]
        for column, value in wanted:
            assert column[number] == pytest.approx(value, nan_ok=True)


Y, F = [0, 1, 0, 1], [1, 2, 3, 4]


@pytest.mark.parametrize(
    "time",
    [
        pd.to_datetime(["2026-01-05", "2026-02-01", "2026-01-31", "2026-02-28"]),
        pd.Series(pd.to_datetime(["2026-01-05", "2026-02-01", "2026-01-31", "2026-02-28"])),
        pd.to_datetime(["2026-01-05", "2026-02-01", "2026-01-31", "2026-02-28"]).tz_localize("UTC"),
        pd.PeriodIndex(["2026-01", "2026-02", "2026-01", "2026-02"], freq="M"),
        [datetime.date(2026, m, 3) for m in (1, 2, 1, 2)],
        ["2026-01", "2026-02", "2026-01", "2026-02"],
    ],
    ids=["dates", "series", "zoned", "periods", "date", "text"],
)
def test_dates_are_taken_by_month(time):
    found = period_table(Y, F, time)
    assert found.period.tolist() == ["2026-01", "2026-02"]
    assert found.rate.tolist() == [0, 1]


STARTS = pd.Series(pd.to_datetime(["2026-02-01 00:30", "2026-02-15 00:30"] * 2))
BERLIN = STARTS.dt.tz_localize("Europe/Berlin")


@pytest.mark.parametrize(
    "time",
    [
        BERLIN,
        pd.DatetimeIndex(BERLIN),
        BERLIN.array,
        BERLIN.tolist(),
        BERLIN.astype(object),
        BERLIN.dt.to_pydatetime().tolist(),
        BERLIN.astype("timestamp[ns, tz=Europe/Berlin][pyarrow]"),
        pl.Series(BERLIN.dt.to_pydatetime().tolist()).dt.convert_time_zone("Europe/Berlin"),
    ],
    ids=["series", "index", "array", "list", "object", "datetime", "arrow", "polars"],
)
def test_months_are_those_of_the_clock_of_the_dates(time):
    """At half past midnight in Berlin it is still the month before in UTC."""
    assert period_table(Y, F, time).period.tolist() == ["2026-02"]
    west = (STARTS - pd.Timedelta(hours=1)).dt.tz_localize("America/Lima")
    assert vintage_table(Y, F, west, bands=[2]).period[::2].tolist() == ["2026-01", "2026-02"]


@pytest.mark.parametrize("one", [pd.Categorical, pd.CategoricalIndex, pd.Series])
def test_ordered_categories_keep_their_order(one):
    """February was before January, and so the reference."""
    months = pd.Categorical(
        ["Mar", "Jan", "Feb", "Jan"], ["Dec", "Jan", "Feb", "Mar"], ordered=True
    )
    found = period_table(Y, F, one(months))
    assert found.period.tolist() == ["Jan", "Feb", "Mar"]
    assert found.mean.tolist() == [3, 3, 1] and np.isnan(found.psi).tolist() == [True, False, False]
    plain = period_table(Y, F, one(months.as_unordered()))
    assert plain.period.tolist() == ["Feb", "Jan", "Mar"]
    dates = pd.Categorical(pd.to_datetime(["2026-02-03", "2026-01-05"] * 2), ordered=True)
    assert period_table(Y, F, one(dates)).period.tolist() == ["2026-01", "2026-02"]
    with pytest.raises(ValueError, match=r"missing values\. Row 1"):
        period_table(Y, F, one(pd.Categorical(["a", None, "a", "a"], ordered=True)))


def test_scores_below_a_constant_reference_are_another_band():
    for base, now in ((0.5, [0.2, 0.2]), (0.9, [0.1, 0.3]), (2.0**60, [2.0**59, 0])):
        found = period_table([0, 1, 0, 1], [base, base, *now], [1, 1, 2, 2])
        assert found.psi[1] == pytest.approx(population_stability_index([0, 0], [1, 1], bins=[0]))
    assert period_table(Y, [0.5, 0.5, 0.5, 0.2], [1, 1, 2, 2]).psi[1] > 0
    assert period_table(Y, [0.5] * 4, [1, 1, 2, 2]).psi[1] == 0


def test_a_reference_of_its_own():
    found = period_table(Y, F, [1, 1, 2, 2], reference=[1, 2, 3, 4])
    assert found.psi[0] == pytest.approx(population_stability_index([1, 2, 3, 4], [1, 2]))
    assert period_table(Y, [5, 5, 5, 6], [1, 1, 2, 2]).psi[1] > 0


@pytest.mark.parametrize("time", [[1.0, np.nan, 1, 1], pd.to_datetime(["2026-01-01"] * 3 + [None])])
def test_a_missing_time_is_refused(time):
    with pytest.raises(ValueError, match=r"time must not have missing values\. Row"):
        period_table(Y, F, time)


def test_what_is_refused():
    with pytest.raises(ValueError, match="time"):
        period_table(Y, F, [1, 2])
    with pytest.raises(ValueError, match="values of one kind"):
        period_table(Y, F, np.array([1, "a", 2, "b"], dtype=object))
    with pytest.raises(ValueError, match="'selected' parameter of cutoff_table"):
        cutoff_table(Y, F, selected="all")
    with pytest.raises(ValueError, match="cuts of cutoff_table"):
        cutoff_table(Y, F, cuts=[2, 1])


def test_weights_of_zero_are_no_rows():
    found = period_table(Y, F, [1, 2, 3, 3], sample_weight=[1, 0, 1, 1])
    assert found.period.tolist() == [1, 3]
    assert vintage_table(Y, F, [1, 2, 3, 3], bands=[2], sample_weight=[1, 0, 1, 1]).count.sum() == 3


@pytest.mark.parametrize("seed", range(10))
def test_no_row_beyond_a_cut_is_nan_whatever_the_weights(seed):
    random = np.random.default_rng(seed)
    y, score, weight = random.random(50) < 0.5, random.integers(0, 20, 50), random.random(50)
    for selected, cuts in (("above", [5, 25]), ("below", [5, -5])):
        found = cutoff_table(y, score, cuts=sorted(cuts), selected=selected, sample_weight=weight)
        last = -1 if selected == "above" else 0
        assert found.selected[last] == 0
        assert math.isnan(found.selected_rate[last])
