"""Notes on columns: each says what is true of the rows, and real tables get few."""

import json
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer

from sklearn_rank.datasets import make_credit
from sklearn_rank.inspection import (
    column_notes,
    column_summaries,
    drift_notes,
    population_stability_index,
)

N = 600
RNG = np.random.default_rng(0)
Y = RNG.random(N) < 0.3
NOISE = RNG.normal(size=N)
CITY = RNG.choice(["Bern", "Graz", "Lyon"], N)


def kinds(X, y=Y, **more):
    return [(note.kind, note.columns) for note in column_notes(X, y, **more)]


def filled(of_top, of_others, y=Y):
    """Numbers that are there in these shares of the rows of two classes."""
    draws = np.random.default_rng(1).random(len(y))
    return np.where(draws < np.where(y, of_top, of_others), 7.0, np.nan)


@pytest.mark.parametrize(
    ("shares", "is_told"),
    [
        ((0.95, 0.02), True),
        ((0.02, 0.95), True),
        ((1, 0), True),
        ((0.98, 0.4), True),  # missing in 2 % and 60 %
        ((0.7, 0.01), True),
        ((0.4, 0.01), False),  # most rows of either class are alike
        ((0.9, 0.3), False),
        ((0.5, 0.5), False),
    ],
)
def test_a_column_that_is_filled_in_for_one_class(shares, is_told):
    found = column_notes(pd.DataFrame({"investigator": filled(*shares), "x": NOISE}), Y)
    assert [note.kind for note in found] == ["filled"] * is_told
    if is_told:
        rows = np.isfinite(filled(*shares))
        told = f"{100 * rows[Y].mean():.3g} % of the rows on top and {100 * rows[~Y].mean():.3g} %"
        assert told in str(found[0])


def test_a_column_that_is_filled_in_for_all_rows_of_one_class_in_a_small_table():
    top = np.arange(60) < 20  # too few for the limits of the shares
    for gaps in (top, ~top):
        X = np.column_stack([np.where(gaps, np.nan, NOISE[:60]), NOISE[:60]])
        assert kinds(X, top) == [("filled", ("x0",))]
    assert kinds(np.where(top[1:], np.nan, 1.0)[:, None], top[1:]) == []  # 19 of a class


DEFAULTS = {"0": 0, "0.5": 0.5, "'No'": "No", "''": "", "missing": np.nan}
DEFAULTS["1900-01-01"] = pd.Timestamp("1900-01-01")


@given(
    shown=st.sampled_from([*DEFAULTS]),
    share=st.sampled_from([0.7, 0.95]),
    gaps=st.integers(0, 1),
    on_top=st.booleans(),
)
def test_a_column_that_is_its_commonest_value_for_one_class(shown, share, gaps, on_top):
    default, draws = DEFAULTS[shown], np.random.default_rng(2).random(N)
    others = pd.Series(NOISE)
    if isinstance(default, str):
        others = pd.Series(CITY)
    elif isinstance(default, pd.Timestamp):
        others = pd.Series(pd.date_range("2024-01-01", periods=N))
    is_other = draws < share
    x = others.where(is_other & (on_top == Y), default).mask(np.arange(N) % 10 < gaps)
    (note,) = column_notes(pd.DataFrame({"z": NOISE, "x": x}), Y)
    words = "is filled in" if shown == "missing" else f"is other than {shown}"
    assert (note.kind, note.columns) == ("filled", ("x",))
    assert str(note).startswith(f"column 'x' {words} for ")
    assert kinds(pd.DataFrame({"z": NOISE, "x": others.where(is_other, default)})) == []


def test_few_rows_of_a_class_tell_nothing():
    few = np.arange(N) < 15
    assert kinds(np.column_stack([np.where(few, 1.0, np.nan), few + 0.01 * NOISE]), few) == []


LEAKS = {
    "number": Y + 0.01 * NOISE,
    "falling": -1.0 * Y,
    "text": np.where(Y, "in", "out").astype(object),
    "date": np.datetime64("2024-01-01") + (100 * Y + RNG.integers(0, 90, N)),
    "gaps": np.where(RNG.random(N) < 0.1, np.nan, Y),
}


@pytest.mark.parametrize("name", LEAKS)
def test_a_column_that_orders_the_rows(name):
    (note,) = column_notes(pd.DataFrame({"x": LEAKS[name], "z": NOISE}), Y)
    assert note.kind == "leak"
    assert "column 'x' alone orders the rows with an AUC of " in str(note)
    assert column_notes(pd.DataFrame({"x": LEAKS[name]}), None) == []
    classes = np.where(Y, "on top", "below")
    assert column_notes(pd.DataFrame({"x": LEAKS[name], "z": NOISE}), classes) == [note]


def test_columns_of_one_value():
    almost = np.where(np.arange(N) < 6, NOISE, 0)
    X = pd.DataFrame({"a": 1, "b": np.nan, "c": almost, "d": "x", "e": NOISE, "f": [*"yn" * 300]})
    found = column_notes(X, Y)
    assert [note.columns for note in found] == [("a", "b", "d"), ("c",)]
    assert str(found[0]) == "columns 'a', 'b', 'd' hold one value only"
    assert str(found[1]) == "column 'c' holds one value in all but 10 rows or fewer"
    assert kinds(np.where(np.arange(N) < 7, 1.0, 0)[:, None]) == []  # more than 1 %
    assert str(column_notes(np.ones((N, 12)))[0]).endswith("'x9', ... (2 more) hold one value only")


def test_kinds_of_tables_are_equal():
    frame = pd.DataFrame({"x0": NOISE, "x1": filled(0.9, 0.01), "x2": 1.0})
    expected = [str(note) for note in column_notes(frame, Y)]
    assert len(expected) == 2
    for other in (frame.to_numpy(), pl.DataFrame(frame.to_dict("list")), frame.convert_dtypes()):
        assert [str(note) for note in column_notes(other, Y)] == expected


@pytest.mark.parametrize("data", [load_breast_cancer(as_frame=True), make_credit(2000)])
def test_tables_in_order_get_no_note(data):
    assert column_notes(data.data, data.target) == []


def test_what_is_no_table_or_target_gets_a_sentence():
    for X in (csr_matrix(np.ones((4, 2))), np.ones(4)):
        with pytest.raises(ValueError, match=r"X must be a data frame or a dense array .* \(4"):
            column_notes(X, [0, 1, 0, 1])
    X = pd.DataFrame({"a": Y * 1.0})
    for y in (np.where(np.arange(N) < 5, np.nan, Y), pd.array([*Y[5:], *[None] * 5], "boolean")):
        with pytest.raises(ValueError, match=r"needs y in every row. Got 5 rows without"):
            column_notes(X, y)


def test_wrong_lengths():
    with pytest.raises(ValueError, match="inconsistent"):
        column_notes(np.ones((3, 1)), [0, 1])
    with pytest.raises(ValueError, match="X_new lacks columns 'a', 'b'"):
        drift_notes(column_summaries(pd.DataFrame({"a": [1], "b": 1})), pd.DataFrame({"c": [1]}))


# ---------------------------------------------------------------------------- drift


def mixed(n, seed, shift=0.0):
    rng = np.random.default_rng(seed)
    city = rng.choice([*"abcdefghijklm"], n, p=np.arange(13, 0, -1) / 91)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 3, n), "city": city})
    frame["late"] = rng.normal(size=n) + shift
    frame["gap"] = np.where(rng.random(n) < 0.1 + 0.3 * shift, np.nan, frame["a"])
    return frame.assign(place=np.where(rng.random(n) < 0.4 * shift, "elsewhere", city))


def test_columns_that_drift_are_named():
    summaries = json.loads(json.dumps(column_summaries(mixed(2000, 0))))
    (note,) = drift_notes(summaries, mixed(500, 1, shift=1.0))
    assert set(note.columns) == {"late", "gap", "place"}
    assert str(note).endswith("differ from the training rows")
    assert drift_notes(summaries, mixed(500, 1, shift=0.1)) == []  # no large change
    assert drift_notes(summaries, mixed(500, 1).head(0)) == []


@pytest.mark.parametrize("code", [-999, -1, 2, 999])
def test_values_outside_those_of_training_are_told(code):
    """Also beside a value that nearly all training rows have, and where they are few."""
    late = (np.arange(1000) % 20 == 0) * 1
    (note,) = drift_notes(column_summaries(late[:, None]), np.where(late, code, late)[:, None])
    assert note.columns == ("x0",)


DAYS = np.arange("2024-01-01", "2024-01-06", dtype="datetime64[D]")
VALUES = {
    "integers": (np.arange(1, 6), ["1", "2", "3", "4", "5"]),
    "floats": (np.arange(1, 6) / 2, ["0.5", "1.0", "1.5", "2", "2.5"]),
    "booleans": (np.array([False, True, True]), ["False", "True", "True"]),
    "dates": (DAYS, DAYS.astype(str).tolist()),
}


@pytest.mark.parametrize("name", VALUES)
def test_numbers_in_one_table_and_the_same_as_text_in_the_other_are_no_drift(name):
    numbers, texts = map(np.asarray, VALUES[name])
    rng, n = np.random.default_rng(0), len(VALUES[name][1])
    places = [rng.integers(0, n, 500), rng.integers(0, n, 500), rng.integers(n - 1, n, 500)]
    kinds = [
        lambda rows: pd.DataFrame({"g": numbers[rows]}),
        lambda rows: pd.DataFrame({"g": texts[rows].astype(object)}),
        lambda rows: pd.DataFrame({"g": pd.Categorical(texts[rows])}),
    ]
    for then, now in product(kinds, kinds):
        summaries = json.loads(json.dumps(column_summaries(then(places[0]))))
        assert drift_notes(summaries, now(places[1])) == []
        (note,) = drift_notes(summaries, now(places[2]))
        assert note.columns == ("g",)


def test_without_drift_few_tables_get_a_note():
    summaries = column_summaries(mixed(300, 0))
    found = [bool(drift_notes(summaries, mixed(n, k))) for n in (60, 300) for k in range(1, 11)]
    assert sum(found) <= 2


def test_summaries_count_all_rows():
    frame = mixed(500, 0)
    for name, one in column_summaries(frame).items():
        assert sum(one["counts"]) == 500
        assert one["counts"][-1] == frame[name].isna().sum()
    assert column_summaries(pd.DataFrame({"a": [None, None], "b": ["x", None]})) == {
        "a": {"texts": [], "counts": [0, 2]},
        "b": {"texts": ["x"], "counts": [1, 0, 1]},
    }


@pytest.mark.slow
def test_rank_names_columns_that_drift(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = mixed(400, 0)
    rows["y"] = (rows["a"] + np.random.default_rng(9).normal(size=400) > 1).astype(int)
    rows.to_csv("old.csv", index=False)
    mixed(200, 1).to_csv("same.csv", index=False)
    mixed(200, 1, shift=1.0).drop(columns="place").assign(place="a").to_csv("new.csv", index=False)
    run("train old.csv --target y -o m.skops --param n_estimators=5")
    capsys.readouterr()
    run("rank m.skops same.csv -o out.csv")
    assert "differ" not in capsys.readouterr().err
    run("rank m.skops new.csv -o out.csv --force")
    assert "'late'" in capsys.readouterr().err
    run("card old.csv --target y -o card.json")
    capsys.readouterr()
    run("rank card.json same.csv -o out.csv --force")
    assert "differ" not in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_dates_are_compared_in_one_unit(kind):
    seconds = np.random.default_rng(0).integers(0, 10**6, 500)
    then, now = (
        pd.DataFrame({"d": seconds.astype(f"{kind}[s]").astype(f"{kind}[{unit}]")})
        for unit in ("ns", "us")
    )
    then.loc[3, "d"] = now.loc[3, "d"] = None
    assert column_summaries(then) == column_summaries(now)
    assert drift_notes(column_summaries(then), now) == []


# The stability index ---------------------------------------------------------------------------


def test_index_by_hand():
    psi, _ = population_stability_index([2, 2], [1, 3])
    assert psi == pytest.approx(0.25 * np.log(0.5 / 0.25) + 0.25 * np.log(0.75 / 0.5))
    assert population_stability_index([3, 5, 2], [6, 10, 4])[0] == 0
    # The second bin has the share of half a row; the third has no rows of either.
    psi, p_value = population_stability_index([4, 0, 0], [2, 2, 0])
    expected = (0.5 - 1) * np.log(0.5 / 1) + (0.5 - 0.125) * np.log(0.5 / 0.125)
    assert (psi, p_value) == (pytest.approx(expected), 1)
    with pytest.raises(ValueError, match="two lists of counts"):
        population_stability_index([1, 2], [0, 0])


def test_index_without_any_change_has_its_distribution():
    rng, unit = np.random.default_rng(0), 1 / 1500 + 1 / 500
    found = [
        population_stability_index(*(rng.multinomial(n, [0.1] * 10) for n in (1500, 500)))
        for _ in range(300)
    ]
    psi, p_values = np.transpose(found)
    np.testing.assert_allclose(p_values, chi2(9).sf(psi / unit))
    assert psi.mean() == pytest.approx(9 * unit, rel=0.1)
    assert np.mean(p_values < 0.05) == pytest.approx(0.05, abs=0.04)


def test_rare_bins_are_tested_together_and_hide_no_change():
    old, new = [3, 9, 40, 2, 46], [7, 11, 20, 3, 9]
    psi, p_value = population_stability_index(old, new)
    together = population_stability_index([12, 40, 48], [18, 20, 12])
    assert psi > together[0]
    assert p_value == pytest.approx(together[1])
    shares = 1 / np.arange(1, 201) ** 1.5
    shares /= shares.sum()
    moved = shares + 0.1 * ((np.arange(200) == 1) * 1.0 - (np.arange(200) == 0))
    rng = np.random.default_rng(0)
    draw = rng.multinomial
    p_values = [
        [population_stability_index(draw(1000, shares), draw(1000, s))[1] for s in (moved, shares)]
        for _ in range(100)
    ]
    of_moved, of_same = np.mean(np.array(p_values) < 0.05, axis=0)
    assert of_moved > 0.9
    assert 0.01 < of_same < 0.12
