"""Cards of the command line: small tables, queries, and cards that were made in Python."""

import contextlib
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

from sklearn_rank.scorecard import Scorecard

RNG = np.random.default_rng(0)
SMALL = "--param p=2 --param alpha=0.01 --param cv=2 --max-terms 2"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name, y, **columns):
    """Write a table of a feature that tells the classes, one of noise, and more columns."""
    frame = pd.DataFrame(
        {"x": np.round(y + RNG.normal(size=len(y)), 3), "noise": RNG.random(len(y))}
    )
    frame.assign(y=np.where(y, "yes", "no"), **columns).to_csv(name, index=False)


def test_a_card_of_floats_that_are_categories_reads_any_table(capsys):
    region = RNG.integers(1, 5, 400).astype(float)
    region[::50] = np.nan
    X = pd.DataFrame({"region": pd.Series(region).astype("category"), "x": RNG.normal(size=400)})
    y = np.where(RNG.random(400) < np.where(np.nan_to_num(region) > 2, 0.8, 0.2), "yes", "no")
    card = Scorecard(cv=2, max_terms=2, random_state=0).fit(X, y)
    Path("card.json").write_text(card.to_json(), encoding="utf-8")
    expected = card.decision_function(X.head(60)) + card.cut_
    rows = X.head(60).assign(region=region[:60], n=np.arange(60))
    rows.to_parquet("rows.parquet")
    rows.to_csv("rows.csv", index=False)
    for name in ("rows.parquet", "rows.csv"):
        run(f"rank card.json {name} -o ranked.csv --force")
        found = pd.read_csv("ranked.csv").sort_values("n")["score"]
        np.testing.assert_array_equal(found, expected)
    assert "did not occur" not in capsys.readouterr().err


def test_truth_values_in_sql():
    """They are true in a card, and True, TRUE or 1 elsewhere."""
    own = np.where(RNG.random(400) < 0.5, "True", "FALSE")
    write("t.csv", RNG.random(400) < np.where(own == "True", 0.8, 0.2), own=own)
    run(f"card t.csv --target y --positive yes -o card.json {SMALL}")
    run("rank card.json t.csv -o ranked.csv")
    run("card export card.json --to sql -o card.sql")
    for kind, values in (("TEXT", own), ("BOOLEAN", own == "True"), ("INTEGER", own == "True")):
        with contextlib.closing(sqlite3.connect(":memory:")) as base:
            table = pd.read_csv("t.csv").assign(own=values)
            table.to_sql("t", base, dtype={"own": kind}, index=False)
            totals = base.execute(f"SELECT {Path('card.sql').read_text()} FROM t").fetchall()
        assert sorted(np.ravel(totals)) == sorted(pd.read_csv("ranked.csv")["score"])


def test_a_card_of_a_rare_class_is_held_out_in_fewer_folds(capsys):
    write("rare.csv", np.arange(60) < 3)
    run("card rare.csv --target y --positive yes -o card.json --max-terms 2")
    assert "held out: AUC" in capsys.readouterr().out


def test_a_card_of_queries_has_no_figures_of_one_list(capsys):
    qid = np.repeat(np.arange(12), 6)
    write("q.csv", (qid < 3) & (np.arange(72) % 6 < 3), q=qid)
    run(f"card q.csv --target y --positive yes --qid q -o card.json {SMALL}")
    assert "no held-out figures" in capsys.readouterr().out


def test_sums_of_weights_are_no_numbers_of_rows(capsys):
    y = RNG.random(200) < 0.4
    weight = np.round(0.5 + RNG.random(200), 2)
    write("w.csv", y, w=weight)
    run(f"card w.csv --target y --positive yes --weight w -o card.json {SMALL}")
    said = capsys.readouterr()
    assert "categories of a column" not in said.err
    printed = " ".join(said.out.split())
    assert "Counts are sums of weights of training rows" in printed
    assert f"weights: column 'w' of 200 rows, {y.sum()} of them with the event" in printed
    assert f" weight of the training rows: {weight.sum():.4g} " in printed
    run("card export card.json --to html -o card.html")
    page = Path("card.html").read_text(encoding="utf-8")
    assert "Counts are sums of weights of training rows" in page
    run("card export card.json --to text")
    assert " ".join(capsys.readouterr().out.split()).partition("SCORECARD")[2] in printed
    run(f"card w.csv --target y --positive yes --drop w -o plain.json {SMALL}")
    plain = " ".join(capsys.readouterr().out.split())
    assert "Counts are those of training rows" in plain
    assert " weight of the training rows: 200 " in plain
    assert "sums of weights" not in plain


@pytest.mark.parametrize("sign", [1, -1])
def test_a_card_keeps_directions(sign):
    write("t.csv", RNG.random(300) < 0.5)
    run(f"card t.csv --target y --positive yes --monotone x={sign} -o card.json {SMALL}")
    card = Scorecard.from_json(Path("card.json").read_text(encoding="utf-8")).card_
    points = [np.array(one.points[:-1]) for one in card.variables if one.name == "x"]
    assert len(points) == (sign == 1)  # x rises with y: the other way it tells nothing
    assert all((np.diff(one) >= 0).all() for one in points)
