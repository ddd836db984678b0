"""Columns with a role of their own."""

import json
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
    run(["compare", *argv, "--rankers", "RankBoost", "--cv", "3", "-o", "r.json", "--force"])
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
    assert captured.err == ""  # no category that did not occur in training
    assert "07" in captured.out


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
        (-1, "column 'w' must hold numbers of 0 or more for --weight, but row 3 holds '-1'"),
        (np.nan, "column 'w' must hold numbers of 0 or more for --weight, but row 3 holds ''"),
        (np.inf, "column 'w' must hold finite numbers, but row 3 holds 'inf'"),
        ("much", "column 'w' must hold numbers of 0 or more for --weight, but row 3 holds 'much'"),
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
    assert "--weight requires DATA" in fails(["compare", "--weight", "w"], capsys)
