"""Folds of the command line that keep to time, to groups, or are drawn several times."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pandas as pd
import pytest
from commands import FAST, fails, run
from drift import drifting_table
from scipy import stats
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

from sklearn_rank import RankBoost
from sklearn_rank.cli._contest import ENSEMBLE, judge, next_command
from sklearn_rank.cli._crossval import _run_fold, held_out_rows, make_folds, most_folds
from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.dataset import training_data
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.ensemble.score_map import normal_scores
from sklearn_rank.metrics.intervals import over_folds
from sklearn_rank.models import Stumps

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
    run(["compare", *ROWS, *words, "--json", "r.json", "--force"])
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


@pytest.mark.parametrize("chosen", ["", "n_estimators"])
def test_rows_held_out_are_watched_unless_a_search_has_chosen(folder, chosen):
    data = data_of(drifting_table(300)[["a", "b", "c", "late"]])
    folds = Folds(search={chosen: [4, 5]} if chosen else {})
    fold = make_folds(data, 3, 0)[0]
    pipeline = Pipeline([("as it is", "passthrough"), ("ranker", RankBoost(n_estimators=5))])
    fitted, scores, _, _, said = _run_fold("x", pipeline, data, fold, "auc", folds)
    assert bool(said) == bool(chosen)
    # Those that are watched have a curve of losses, from which all folds choose the round.
    assert hasattr(fitted[-1], "validation_losses_") == (not chosen) == (scores is None)


@pytest.mark.parametrize(
    ("options", "ratio"), [({}, None), ({"group": "customer"}, 1 / 3), ({"time": "day"}, None)]
)
def test_intervals_are_over_folds_where_rows_are_in_groups(folder, options, ratio):
    folds, found = held_out_rows(data_of(drifting_table(300), **options), 4)
    assert len(folds) == 4
    assert found.rows.ratio == ratio


@pytest.mark.parametrize("asked", [True, False])
def test_the_next_command_has_the_metric_where_one_was_asked_for(asked):
    contest = SimpleNamespace(top="map")
    words = ["compare", "t.csv", "--target", "late", "--metrics", "map,auc", "--force"]
    with click.Context(click.Command("compare"), obj=words):
        found = next_command(contest, "t.csv", asked, None)
    metric = " --metric map" if asked else ""
    assert found == f"sklearn-rank train t.csv --target late{metric} --best -o t.skops"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--embargo 3", "--embargo needs --time"),
        ("--time day --embargo 400", "no row is left to train on for period 1, from 2024"),
        ("--time dya", "no column 'dya' for --time; did you mean 'day'?"),
        ("--time few --cv 2", "--cv 2: RollingOriginSplit needs at least 3 different moments"),
        ("--time note", "'note' must hold a date or a number in every row for --time"),
        ("--time gap", "'gap' must hold a date or a number in every row for --time"),
        ("--time late_from", "leaves one class in a part of the rows; lower --cv"),
        ("--group few", "--cv 5 needs as many groups; there are 2"),
        ("--group gap", "is missing in 1 row"),
        ("--qid few --group customer", "a query lies in several groups"),
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


def test_calibration_rows_are_not_drawn_at_random_then(folder, capsys):
    drifting_table(100).to_csv("rows.csv", index=False)
    words = "train rows.csv --target late --time day --calibrate 0.3 -o m.skops"
    assert "without regard to --time and --group" in fails(words, capsys)


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
    assert "needs as many groups; there are 1" in fails(words, capsys)


@pytest.mark.parametrize("role", ["group", "time"])
@pytest.mark.parametrize("patience", [[], ["--param", "n_iter_no_change=10"]])
def test_other_groups_or_the_last_period_stop_boosting(folder, capsys, role, patience):
    """They choose the rounds, and then all rows are fitted for that many."""
    column, other = {"group": ("customer", "day"), "time": ("day", "customer")}[role]
    data = data_of(repeated_customers(), **{role: column, "drop": [other]})
    words = f"train rows.csv --target late --{role} {column} --drop {other} -o m.skops"
    run([*words.split(), "--ranker", "RankBoost", *patience])
    train, test = most_folds(data, 10, 0)[-1]
    X, y = data.X.to_numpy(), data.y
    stopped = RankBoost(weak_ranker=Stumps(), n_iter_no_change=10, random_state=0)
    stopped.fit(X[train], y[train], X_val=X[test], y_val=y[test])
    whole = RankBoost(weak_ranker=Stumps(), n_estimators=stopped.n_iter_).fit(X, y)
    ranker = load_model("m.skops", []).pipeline[-1]
    assert ranker.n_iter_ == stopped.n_iter_ < 100
    np.testing.assert_array_equal(ranker.decision_function(X), whole.decision_function(X))
    assert f", {stopped.n_iter_} rounds" in capsys.readouterr().out


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


def test_the_ensemble_of_a_period_knows_no_later_one(folder):
    """Its weights come from rows that its models could learn from; in the first they are equal."""
    data = data_of(drifting_table(400), time="day", embargo=30.0)
    models = {name: LinearSVC() for name in "abc"}
    scores = data.y * np.array([[1], [0.5], [-1]]) + np.random.default_rng(0).normal(size=(3, 400))

    def found(y):
        held_out = held_out_rows(replace(data, y=y), 4)[1]
        of_models = dict(zip(models, scores[:, held_out.place], strict=True))
        held_out = replace(held_out, scores=of_models)
        contest = judge(Folds(cv=4), data, ["auc"], None, models, held_out)
        return contest.scores[ENSEMBLE], held_out

    before, held_out = found(data.y)
    fold = held_out.rows.fold
    start = data.time[held_out.place][fold == 3].min() - np.timedelta64(30, "D")
    after, _ = found(np.where(data.time >= start, 1 - data.y, data.y))  # not known in period 3
    np.testing.assert_array_equal(before, after)
    after, _ = found(np.where(data.time < start, 1 - data.y, data.y))
    assert not np.array_equal(before[fold == 3], after[fold == 3])
    ranks = [normal_scores(each, fold, np.ones(len(fold))) for each in held_out.scores.values()]
    np.testing.assert_allclose(before[fold == 0], np.mean(ranks, axis=0)[fold == 0])


# ---------------------------------------------------------------------------- the command


@pytest.mark.slow
def test_time_shows_the_fall_that_random_folds_hide(folder, capsys):
    drifting_table(3000).to_csv("rows.csv", index=False)
    random = results("--drop", "day,customer")["results"]["RankBoost"]["auc"]["folds"]
    assert np.ptp(random) < 0.1
    found = results("--drop", "customer", "--time", "day")
    folds = found["results"]["RankBoost"]["auc"]["folds"]
    assert folds[0] - folds[-1] > 0.15
    assert "in the last period after" in found["periods"]["warning"]
    printed = capsys.readouterr().out
    assert "\nAUC by period\nWarning: " in printed
    assert all(start in printed for start in found["periods"]["from"])
    assert len(found["periods"]["from"]) == 5


def test_a_search_keeps_to_time_too(folder, capsys):
    drifting_table(300).to_csv("rows.csv", index=False)
    words = "train rows.csv --target late --time day --search p=1,4 -o m.skops"
    run([*words.split(), *FAST])
    assert "(auc in 3 periods)" in capsys.readouterr().out.replace("tpr@0.05", "auc")
