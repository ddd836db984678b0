"""Columns with a role of their own, and tables from standard input."""

import gzip
import io
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import FAST, fails, run

from sklearn_rank.cli._store import load_model


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to an empty folder with a table whose codes say nothing by their size."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    code, x = rng.integers(0, 8, size=200), rng.normal(size=200)
    y = np.where(np.isin(code, [1, 4, 6]) ^ (rng.random(200) < 0.1), "yes", "no")
    frame = pd.DataFrame({"code": [f"{one:02}" for one in code], "x": x, "y": y})
    frame.to_csv("rows.csv", index=False)
    return tmp_path


def auc(argv):
    run(["compare", *argv, "--rankers", "RankBoost", "--cv", "3", "--json", "r.json", "--force"])
    return json.loads(Path("r.json").read_text())["results"]["logistic regression"]["auc"]["mean"]


# ---------------------------------------------------------------------------- categories


@pytest.mark.slow
def test_codes_may_be_declared_categories(folder, capsys):
    as_numbers = auc(["rows.csv", "--target", "y"])
    as_codes = auc(["rows.csv", "--target", "y", "--category", "code"])
    assert as_codes > 0.85
    assert as_numbers < 0.7
    run(["train", "--target", "y", "--category", "code", "rows.csv", "-o", "m.skops", *FAST])
    model = load_model("m.skops", [])
    assert model.schema.kinds == {"code": "category", "x": "number"}
    (known,) = model.pipeline.named_steps["columns"].named_transformers_["category"].categories_
    assert list(known) == [f"{one:02}" for one in range(8)]
    capsys.readouterr()
    run(["rank", "m.skops", "rows.csv", "-o", "-"])
    captured = capsys.readouterr()
    assert captured.err == ""  # no category that training never saw
    assert "07" in captured.out


# ---------------------------------------------------------------------------- standard input


def give(monkeypatch, content):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))


def as_parquet(frame):
    written = io.BytesIO()
    frame.to_parquet(written)
    return written.getvalue()


CONTENTS = {
    "comma": lambda frame: frame.to_csv(index=False).encode(),
    "semicolon": lambda frame: frame.to_csv(index=False, sep=";").encode(),
    "tab": lambda frame: frame.to_csv(index=False, sep="\t").encode(),
    "packed": lambda frame: gzip.compress(frame.to_csv(index=False).encode()),
    "parquet": as_parquet,
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_standard_input_gives_what_a_file_gives(folder, capsys, monkeypatch, content):
    run(["train", "rows.csv", "--target", "y", "--category", "code", "-o", "m.skops", *FAST])
    frame = pd.read_csv("rows.csv", dtype={"code": str})
    run(["rank", "m.skops", "rows.csv", "-o", "from_file.csv"])
    give(monkeypatch, content(frame))
    run(["rank", "m.skops", "-", "-o", "from_input.csv"])
    one, two = (pd.read_csv(f"from_{source}.csv") for source in ("file", "input"))
    pd.testing.assert_frame_equal(one, two)
    give(monkeypatch, content(frame))
    capsys.readouterr()
    run(["evaluate", "m.skops", "-", "--json", "e.json"])
    assert "PNormPushRanker on standard input: 200 rows" in capsys.readouterr().out
    assert json.loads(Path("e.json").read_text())["data"] == "standard input"


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "standard input: is empty"),
        (b"y,a\n1,2\n1,2,3\n", "standard input, line 3: has 3 cells"),
        (
            gzip.compress(b"y,a\n" + bytes(10_000), mtime=0)[:-9],
            "standard input: the gzip data is trunc",
        ),
        (b"PAR1 and no more", "standard input: is not a Parquet file"),
        (b"1 qid:1 1:x\n", "standard input"),
        (b"a,b\n1,2\n", "standard input: no column 'y' for --target"),
    ],
)
def test_bad_standard_input(folder, capsys, monkeypatch, content, part):
    give(monkeypatch, content)
    message = fails(["train", "-", "--target", "y", "-o", "m.skops"], capsys)
    assert part in message
    assert "/input" not in message
    assert message.count("\n") == 1


def test_a_model_is_no_standard_input(folder, capsys):
    assert "-: no such file" in fails(["rank", "-", "rows.csv", "-o", "-"], capsys)


# ---------------------------------------------------------------------------- weights


@pytest.mark.parametrize("ranker", ["RankBoost", "ListNetLinear"])
def test_a_weight_is_a_multiplicity_in_fitting(folder, capsys, ranker):
    rng, frame = np.random.default_rng(0), pd.read_csv("rows.csv")
    times = rng.integers(0, 4, len(frame))
    frame.assign(times=times).to_csv("weighted.csv", index=False)
    frame.loc[np.repeat(frame.index, times)].to_csv("repeated.csv", index=False)
    argv = ["--target", "y", "--ranker", ranker, "--param"]
    argv += ["n_estimators=5"] if ranker == "RankBoost" else ["tol=1e-9"]
    # Columns are scaled by their rows, which weights do not change: compare unscaled ones.
    scores = {}
    for name, words in {"weighted": ["--weight", "times"], "repeated": []}.items():
        run(["train", f"{name}.csv", *argv, *words, "-o", f"{name}.skops"])
        run(["rank", f"{name}.skops", "rows.csv", "-o", f"{name}_ranked.csv"])
        scores[name] = pd.read_csv(f"{name}_ranked.csv").sort_values(["code", "x"])["score"]
        assert list(load_model(f"{name}.skops", []).schema.kinds) == ["code", "x"]
    if ranker == "RankBoost":
        assert list(scores["weighted"]) == pytest.approx(list(scores["repeated"]))
    else:
        assert np.corrcoef(scores["weighted"], scores["repeated"])[0, 1] > 0.99


@pytest.mark.parametrize(
    ("cell", "part"),
    [
        (-1, "column 'w' must hold weights from 0 on, but row 3 holds '-1'"),
        (np.nan, "column 'w' must hold weights from 0 on, but row 3 holds ''"),
        (np.inf, "column 'w' holds infinite values"),
        ("much", "column 'w' must hold numbers to be --weight, but row 3 holds 'much'"),
    ],
)
def test_bad_weights(folder, capsys, cell, part):
    frame = pd.read_csv("rows.csv").assign(w=1)
    frame["w"] = frame["w"].astype(object)
    frame.loc[2, "w"] = cell
    frame.to_csv("rows.csv", index=False)
    argv = ["train", "rows.csv", "--target", "y", "-o", "m.skops", "--weight"]
    assert part in fails([*argv, "w"], capsys)
    assert "no column 'v' for --weight" in fails([*argv, "v"], capsys)
    assert "must name different columns" in fails([*argv, "y"], capsys)
    assert "--weight needs DATA" in fails(["compare", "--weight", "w"], capsys)


# ---------------------------------------------------------------------------- rows of training


# ---------------------------------------------------------------------------- targets


@pytest.mark.parametrize(
    ("classes", "top", "hint"),
    [
        (("Ja", "Nein"), "Ja", "(by its name); --positive chooses"),
        (("non", "oui"), "oui", None),
        (
            ("Aktiv", "Ruhend"),
            "Ruhend",
            "--positive Aktiv puts the rarer class there, 25%",
        ),
        (("Ruhend", "Aktiv"), "Ruhend", "(the later in the alphabet); --positive chooses"),
    ],
)
def test_the_rarer_class_is_the_hint(folder, capsys, classes, top, hint):
    frame = pd.read_csv("rows.csv").assign(y=np.where(np.arange(200) % 4 == 0, *classes))
    frame.to_csv("rows.csv", index=False)
    run(["train", "rows.csv", "--target", "y", "-o", "m.skops", *FAST])
    captured = capsys.readouterr()
    assert f"of class {top!r} on top" in captured.out
    assert hint in captured.err if hint else "on top" not in captured.err
