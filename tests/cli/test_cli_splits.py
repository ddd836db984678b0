"""Folds of the command line that keep to time, to groups, or are drawn several times."""

import json
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from commands import FAST, fails, run
from drift import drifting_table
from scipy import stats

from sklearn_rank.cli._compare import _next_command
from sklearn_rank.cli._contest import held_out_rows, make_folds, repeats
from sklearn_rank.cli._tables.dataset import training_data
from sklearn_rank.cli._tables.inputs import InputError
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.metrics.intervals import over_folds

ROWS = ["rows.csv", "--target", "late", "--rankers", "RankBoost", *FAST]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


def data_of(frame, notes=None, **options):
    frame.to_csv("rows.csv", index=False)
    return training_data(
        TableOptions("rows.csv", target="late", **options), [] if notes is None else notes
    )


def results(*words):
    run(["compare", *ROWS, *words, "-o", "r.json", "--force"])
    return json.loads(Path("r.json").read_text())


# ---------------------------------------------------------------------------- folds


def test_the_time_is_no_feature_unless_it_is_kept(folder):
    frame = drifting_table(100)
    notes = []
    data = data_of(frame, notes, time="day", group="customer", embargo=9.0)
    assert list(data.X) == ["a", "b", "c"]
    np.testing.assert_array_equal(data.time, pd.to_datetime(frame["day"]))
    assert (data.embargo, notes[1:]) == (9, [])  # one note on the class on top
    kept = data_of(frame, time="day", group="customer", keep=["day", "customer"])
    assert list(kept.X) == ["a", "b", "c", "day", "customer"]
    np.testing.assert_array_equal(kept.take(np.arange(3)).time, data.time[:3])


def test_folds_in_time_learn_from_earlier_rows(folder):
    data = data_of(drifting_table(300), time="day", embargo=30.0)
    folds = make_folds(data, 4, 0)
    assert len(folds) == 4
    for train, test in folds:
        assert data.time[test].min() - data.time[train].max() > np.timedelta64(30, "D")


@pytest.mark.parametrize("form", ["%Y%m%d", "%Y%m%d%H%M%S", "s", "ms", "us", "%d-%b-%y"])
def test_integers_that_are_dates_are_dates_in_time(folder, form):
    frame, notes = drifting_table(300), []
    day = pd.to_datetime(frame["day"])
    is_text = form[0] == "%"
    frame["day"] = day.dt.strftime(form) if is_text else day.astype(f"M8[{form}]").astype(int)
    data = data_of(frame, notes, time="day", embargo=30.0)
    np.testing.assert_array_equal(data.time, day)
    assert any("'day': " in note and "is read as" in note for note in notes)
    frame["day"] = frame["day"].astype(str).where(frame.index != 7, "0")
    words = "holds dates in 200 of 201 values" if "-" in form else "looks like dates without sep"
    with pytest.raises(InputError, match=rf"'day' {words}.*, but row 8 holds '0'"):
        data_of(frame, time="day")


def test_equal_rows_are_in_one_fold_but_frequent_ones_in_all(folder):
    frame = drifting_table(300)[["a", "b", "late"]]
    frame = pd.concat([frame, frame[:40], *[frame[:1]] * 30], ignore_index=True)
    frame.loc[300:, "late"] = "no"
    notes = []
    data = data_of(frame)
    found = held_out_rows(data, 5)
    row = frame[["a", "b"]].apply(tuple, axis=1)
    n_folds = pd.Series(found.rows.fold).groupby(row).nunique()
    assert n_folds[row[0]] == 5
    assert (n_folds.drop([row[0]]) == 1).all()
    drawn = repeats(data, notes)
    assert notes[0].startswith("70 of 370 rows repeat another")
    assert len(np.unique(drawn[row == row[0]])) == 32
    is_late = frame["late"][1:40] == "yes"  # a row of both classes was drawn twice
    assert ((drawn[1:40] != drawn[301:340]) == is_late).all()


def test_groups_are_whole(folder):
    frame = drifting_table(300)
    for options in ({}, {"time": "day"}):
        data = data_of(frame, group="customer", **options)
        for train, test in make_folds(data, 3, 0):
            assert not set(data.group[train]) & set(data.group[test])
            assert 0 < data.y[test].mean() < 1
    queries = frame.assign(query=frame["customer"] * 10 + frame.index % 2)
    data = data_of(queries, group="customer", qid="query")
    for train, test in make_folds(data, 3, 0):
        assert not set(data.group[train]) & set(data.group[test])


@pytest.mark.parametrize(
    ("options", "ratio"), [({}, None), ({"group": "customer"}, 1 / 3), ({"time": "day"}, None)]
)
def test_intervals_are_over_folds_where_rows_are_in_groups(folder, options, ratio):
    found = held_out_rows(data_of(drifting_table(300), **options), 4)
    assert len(found.folds) == 4
    assert found.rows.ratio == ratio


def test_the_next_command_has_the_same_words():
    words = ["compare", "t.csv", "--target", "late", "--metrics", "map,auc", "--force"]
    with click.Context(click.Command("compare"), obj=words):
        found = _next_command("t.csv", None)
    kept = "--target late --metrics map,auc"
    assert found == f"sklearn-rank train t.csv {kept} --best -o t.skops"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--embargo 3", "--embargo requires --time"),
        ("--time day --embargo 400", "no row is left to train on for period 1, from 2024"),
        ("--time dya", "no column 'dya' for --time; did you mean 'day'?"),
        ("--time few --cv 2", "--cv 2: RollingOriginSplit needs at least 3 distinct times"),
        ("--time note", "'note' must hold a date or a number in every row for --time"),
        ("--time gap", "'gap' must hold a date or a number in every row for --time"),
        ("--time late_from", "--cv 5 leaves only one target value in a fold; use fewer folds"),
        ("--group few", "--cv 5: "),
        ("--group gap", "is missing in 1 row"),
        ("--qid few --group customer", "a query has rows in several groups"),
    ],
)
def test_what_does_not_go(folder, capsys, words, message):
    frame = drifting_table(200)
    numbers = np.arange(200.0)
    frame = frame.assign(note="x y", few=numbers % 2, gap=np.where(numbers == 7, np.nan, numbers))
    frame["late_from"] = (frame["late"] == "yes") * 1000 + numbers % 9
    if not words.startswith(("--time day", "--time dya")):  # as a feature it needs skrub
        frame = frame.drop(columns="day")
    frame.to_csv("rows.csv", index=False)
    assert message in fails(["compare", *ROWS, *words.split()], capsys)


def repeated_customers(seed=0):
    """Return twelve nearly equal rows of each of 60 customers, whose class is drawn at random."""
    rng = np.random.default_rng(seed)
    customer = np.repeat(np.arange(60), 12)
    a, b, c = rng.normal(size=(3, 60))[:, customer] + 1e-3 * rng.normal(size=(3, 720))
    late = (rng.random(60) < 0.4)[customer]
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "customer": customer})
    return frame.assign(day=customer // 2, late=np.where(late, "yes", "no"))


def test_a_card_without_such_folds_is_refused(folder, capsys):
    repeated_customers().assign(one=1).to_csv("rows.csv", index=False)
    words = "card rows.csv --target late --group one -o card.json"
    assert "--cv 2: " in fails(words, capsys)


# ---------------------------------------------------------------------------- figures


def test_the_interval_over_folds_is_that_of_nadeau_and_bengio():
    values = np.array([0.7, 0.8, 0.75, 0.65])
    low, high, p_value = over_folds(values, 0.5)
    error = np.sqrt((1 / 4 + 0.5) * np.sum((values - 0.725) ** 2) / 3)
    assert np.isclose((low + high) / 2, 0.725)
    assert np.isclose((high - low) / 2 / error, stats.t(3).ppf(0.975))
    assert np.isclose(p_value, 2 * stats.t(3).sf(0.725 / error))
    # As of `compare_auc`, and up to rounding: values that are all the same don't tell the error.
    assert np.isnan(over_folds(np.full(3, 0.1), 0.5)).all()
    assert over_folds(np.zeros(3), 0.5) == (0, 0, 1)
    assert over_folds(np.full(5, 0.1 + 0.2 - 0.3), 0.25)[2] == 1
    with pytest.raises(ValueError, match="no value"):
        over_folds(np.array([0.5, np.nan]), 0.5)


# ---------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_time_shows_the_fall_that_random_folds_hide(folder, capsys):
    drifting_table(3000).to_csv("rows.csv", index=False)
    random = results("--drop", "day,customer")["results"]["RankBoost"]["auc"]["folds"]
    assert np.ptp(random) < 0.1
    found = results("--drop", "customer", "--time", "day")
    folds = found["results"]["RankBoost"]["auc"]["folds"]
    assert folds[0] - folds[-1] > 0.15
