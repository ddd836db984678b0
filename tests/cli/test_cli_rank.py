"""rank with --top and --explain; card and its exports, and cards as models."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, run
from numpy.testing import assert_array_equal

from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.dataset import model_data
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.scorecard import Scorecard

FAST = ["--param", "n_estimators=8"]
CARD = ["--param", "p=2", "--param", "cv=2", "--max-terms", "5"]


def table(n=300, seed=0):
    """Columns whose one-hot names coincide: a with the category b_x, and a_b with x."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.choice(["b_x", "c", "d"], n),
            "a_b": rng.choice(["x", "y"], n),
            "size": rng.normal(size=n).round(2),
            "debt": np.where(rng.random(n) < 0.2, -999, rng.integers(0, 90, n)),
        }
    )
    risk = 2.0 * (frame["a"] == "c") + frame["size"] + 2 * (frame["a_b"] == "x")
    frame.loc[rng.random(n) < 0.1, "size"] = np.nan
    risk = risk.to_numpy() + 2.0 * (frame["debt"] == -999) + rng.normal(size=n) / 2
    return frame.assign(q=np.arange(n) // 30, bad=np.where(risk > 3, "yes", "no"))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for name, seed, n in [("old", 0, 300), ("new", 1, 90)]:
        table(n, seed).to_csv(f"{name}.csv", index=False)


def train(*more, ranker="RankBoost", options=""):
    line = f"train old.csv --target bad --drop q --ranker {ranker} -o m.skops {options}"
    run(line, *more)


def ranked(line):
    run(f"rank {line} -o out.csv --force")
    return pd.read_csv("out.csv").fillna({f"reason_{k}": "" for k in (1, 2, 3)})


# rank -------------------------------------------------------------------------------------


def test_top_writes_the_first_rows_of_each_list(capsys):
    train(*FAST)
    whole = ranked("m.skops new.csv")
    pd.testing.assert_frame_equal(ranked("m.skops new.csv --top 7"), whole.head(7))
    assert "90 rows ranked in one list, 7 written" in capsys.readouterr().out
    run("train old.csv --target bad --qid q -o m.skops --force", *FAST)
    whole = ranked("m.skops new.csv")
    expected = whole[whole["rank"] <= 2].reset_index(drop=True)
    pd.testing.assert_frame_equal(ranked("m.skops new.csv --top 2"), expected)
    assert len(expected) == 6


@pytest.mark.parametrize("options", ["", "--qid q"])
def test_columns_that_became_incomplete_are_noted(options, capsys):
    run(f"train old.csv --target bad --ranker RankBoost -o m.skops {options}", *FAST)
    new = pd.read_csv("new.csv")
    new.loc[:12, "a"], new.loc[:0, "debt"], new.loc[:40, "size"] = None, None, None
    new.to_csv("new.csv", index=False)
    capsys.readouterr()
    ranked("m.skops new.csv")
    notes = " ".join(capsys.readouterr().err.split())
    assert "column 'a' is missing in 13 rows, but never in training" in notes
    assert "column 'debt' is missing in 1 row, but never in training" in notes
    assert "'size' is missing" not in notes


def parts_of(model, rows):
    """Contributions of columns by definition: what a score changes by with that of other rows."""
    X = model_data(TableOptions(rows), model.schema, [], labelled=False).X
    old = model_data(TableOptions("old.csv"), model.schema, [], labelled=False).X
    repeated = X.iloc[np.repeat(np.arange(len(X)), len(old))].reset_index(drop=True)
    tiled = old.iloc[np.tile(np.arange(len(old)), len(X))].reset_index(drop=True)
    score = model.pipeline.decision_function
    change = {
        name: score(repeated) - score(repeated.assign(**{name: tiled[name]})) for name in X.columns
    }
    return pd.DataFrame(change).groupby(np.repeat(np.arange(len(X)), len(old))).mean()


@pytest.mark.parametrize(
    ("ranker", "more"),
    [
        ("RankBoost", FAST),
        ("PNormPushRanker", FAST),
        ("ListNetLinear", ["--param", "alpha=0.01"]),
        ("KernelPairwiseSGDRanker", ["--param", "kernel=linear"]),
    ],
)
def test_reasons_are_the_largest_contributions_of_the_users_columns(ranker, more):
    train(*more, ranker=ranker)
    table(12, 5).to_csv("few.csv", index=False)
    model = load_model("m.skops", [])
    parts = parts_of(model, "few.csv")
    found = ranked("m.skops few.csv --explain")
    scores = model.pipeline.decision_function(
        model_data(TableOptions("few.csv"), model.schema, [], labelled=False).X
    )
    for place, row in enumerate(np.argsort(-scores, kind="stable")):
        largest = parts.iloc[row].sort_values(key=np.abs, ascending=False, kind="stable")
        for number in (1, 2, 3):
            text = found[f"reason_{number}"][place]
            value = largest.iloc[number - 1]
            if abs(value) < 1e-9:
                assert text == ""
                continue
            name, said = text.rsplit(" ", 1)
            assert float(said) == pytest.approx(value, rel=0.01)
            assert parts[name].iloc[row] == pytest.approx(value, rel=1e-6)


def test_a_score_that_is_no_sum_has_no_reasons(capsys):
    train(ranker="KernelPairwiseSGDRanker")
    message = fails("rank m.skops new.csv --explain -o out.csv", capsys)
    assert "--explain is not supported for KernelPairwiseSGDRanker, only for stumps" in message


# card -------------------------------------------------------------------------------------


def test_a_card_is_printed_stored_and_ranks(capsys):
    run("card old.csv --target bad --drop q -o card.json --points -4:6", *CARD)
    said = capsys.readouterr().out
    assert "SCORECARD: a high total means yes" in said
    assert re.search(r"held out: AUC 0\.[89]\d\d; mean height .* 0\.\d\d\d \(class 'yes'\)", said)
    scorecard = Scorecard.from_json(Path("card.json").read_text())
    assert scorecard.classes_.tolist() == ["no", "yes"]
    assert max(max(one.points) for one in scorecard.card_.variables) <= 6
    found = ranked("card.json new.csv --explain")
    rows = pd.read_csv("new.csv").drop(columns=["q", "bad"])
    totals = scorecard.card_.totals(rows)
    order = np.argsort(-totals, kind="stable")
    assert_array_equal(found["score"], totals[order])
    points = scorecard.card_.points(rows)[order]
    first = [text.rsplit(" ", 1) for text in found["reason_1"] if text]
    assert len(first) > 50
    for (name, value), of_row in zip(first, points[points.any(axis=1)], strict=True):
        assert abs(of_row).max() == abs(int(value))
        assert of_row[scorecard.variables_.index(name)] == int(value)
    run("evaluate card.json new.csv")
    assert " 0." in capsys.readouterr().out


def test_options_of_a_card(capsys):
    line = "card old.csv --target bad --positive no --drop q -o card.json --special debt=-999"
    run(f"{line} --special debt=-998 --monotone size=-1 --param min_bin_size=0.05", *CARD)
    card = Scorecard.from_json(Path("card.json").read_text()).card_
    assert card.classes == ("yes", "no")
    variables = {one.name: one for one in card.variables}
    assert variables["debt"].special == (-999.0, -998.0)
    size = variables["size"]
    assert np.all(np.diff(size.points[: size.n_values]) <= 0)
    assert "least points allowed: -5" in capsys.readouterr().out


def test_dates_are_left_out_and_columns_off_the_card_are_not_needed(capsys):
    days = pd.date_range("2024-01-01", periods=300).to_numpy()
    rng = np.random.default_rng(0)
    table().assign(day=rng.permutation(days)).to_parquet("dated.parquet")
    line = "card dated.parquet --target bad --drop q -o card.json"
    run(line, *CARD)
    assert "day" in capsys.readouterr().err
    new = pd.read_csv("new.csv")
    names = Scorecard.from_json(Path("card.json").read_text()).variables_
    new[names[::-1]].to_csv("only.csv", index=False)
    only = ranked("card.json only.csv")
    assert_array_equal(only["score"], ranked("card.json new.csv")["score"])


def test_a_card_from_python_ranks_tables(capsys):
    frame = table().drop(columns=["q"])
    y = frame.pop("bad") == "yes"
    frame["a"] = frame["a"].astype("category")
    frame["a_b"] = (frame["a_b"] == "x").map({True: 7, False: 8}).astype("category")
    scorecard = Scorecard(max_terms=4, cv=2, random_state=0).fit(frame, y)
    Path("card.json").write_text(scorecard.to_json())
    frame.to_csv("frame.csv", index=False)
    found = ranked("card.json frame.csv")
    assert_array_equal(found["score"], np.sort(scorecard.decision_function(frame))[::-1])


@pytest.mark.parametrize("form", ["sql", "html", "text", "onnx"])
def test_exports(form, capsys):
    run("card old.csv --target bad --drop q -o card.json", *CARD)
    capsys.readouterr()
    suffix = "txt" if form == "text" else form
    run(f"card export card.json --to {form} -o out.{suffix}")
    assert capsys.readouterr().out == f"out.{suffix}: written\n"
    content = Path(f"out.{suffix}").read_bytes()
    assert b'"kinds"' not in content
    if form == "onnx":
        assert "requires -o FILE" in fails(f"card export card.json --to {form}", capsys)
        return
    run(f"card export card.json --to {form}")
    assert capsys.readouterr().out.strip() == content.decode().strip().replace("\r\n", "\n")


def test_bad_input_of_cards(capsys):
    line = "card old.csv --target bad --drop q -o card.json"
    assert "--points 5: must be LOW:HIGH" in fails(f"{line} --points 5", capsys)
    assert "'points' parameter of Scorecard" in fails(f"{line} --points 3:5", capsys)
    assert "--special debt: must be COL=NUMBER" in fails(f"{line} --special debt", capsys)
    message = fails(f"{line} --monotone sise=1", capsys)
    assert "--monotone sise=1: the features are a, a_b, size, debt" in message
    assert "--param x: neither Scorecard nor its ranker" in fails(f"{line} --param x=1", capsys)
    message = fails(line.replace("bad", "debt") + " --relevance graded", capsys)
    assert "requires two classes; --relevance graded is not supported" in message
    assert "must end in .json" in fails(line.replace(".json", ".sql"), capsys)
    Path("no.json").write_text("{")
    message = fails("rank no.json new.csv -o -", capsys)
    assert "no.json: was not saved by sklearn-rank card. The scorecard" in message
    assert "no.json: was not saved by" in fails("card export no.json --to sql", capsys)
    assert "'doc' is not one of 'sql', 'html'" in fails("card export no.json --to doc", capsys)
    run(line, *CARD)
    content = json.loads(Path("card.json").read_text())
    content["details"]["table"] = '{"kind": 1}'
    Path("no.json").write_text(json.dumps(content))
    message = fails("rank no.json new.csv -o -", capsys)
    assert "the entry 'table' of its details is damaged" in message
