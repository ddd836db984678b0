"""The command export: stored models in the forms of search engines."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import readers_search_engines as readers
from commands import fails, run

from sklearn_rank.cli._store import load_model

NAMES = ["title score", "age"]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 2)).astype(np.float32).astype(float)
    frame = pd.DataFrame(rows, columns=NAMES)
    frame.insert(0, "q", np.arange(120) // 12)
    grades = np.digitize(rows @ [1.0, -0.5] + random.normal(size=120) / 3, [-0.5, 0.8])
    frame.assign(grade=grades).to_csv("old.csv", index=False)


def train(ranker, *more):
    line = f"train old.csv --target grade --relevance graded --qid q --ranker {ranker}"
    run(f"{line} -o m.skops --force", *more)
    # pandas before 3 reads the last digit of some numbers otherwise.
    rows = np.loadtxt("old.csv", delimiter=",", skiprows=1)
    X = pd.DataFrame(rows[:, 1:3], columns=NAMES)
    pipeline = load_model("m.skops", []).pipeline
    return X.to_numpy(np.float32), pipeline.predict(X)


@pytest.mark.parametrize("ranker", ["RankBoost", "BoostedTreesRanker --param engine=symmetric"])
@pytest.mark.parametrize("form", ["ranklib", "xgboost"])
def test_sums_of_trees_are_exported(form, ranker, capsys):
    X, expected = train(ranker, "--param", "n_estimators=8")
    capsys.readouterr()
    run(f"export m.skops --to {form} -o out.txt")
    assert capsys.readouterr().out == "out.txt: written\n"
    text = Path("out.txt").read_text(encoding="utf-8")
    terms = {
        "ranklib": lambda: readers.ranklib(text),
        "xgboost": lambda: readers.xgboost(text, NAMES),
    }[form]()
    np.testing.assert_allclose([sum(terms(row)) for row in X], expected, rtol=1e-6, atol=1e-9)
    run(f"export m.skops --to {form}")
    assert capsys.readouterr().out.strip() == text.strip()


def test_scaled_linear_models_are_exported(capsys):
    X, expected = train("ListNetLinear")
    run("export m.skops --to linear -o out.json")
    terms = readers.linear(Path("out.json").read_text(encoding="utf-8"), NAMES)
    found = np.array([sum(terms(row)) for row in X])
    np.testing.assert_allclose(np.ptp(found - expected), 0, atol=1e-6)


def test_bad_input_of_export(capsys):
    train("RankBoost", "--param", "n_estimators=3")
    assert "'pmml' is not one of 'ranklib', 'xgboost'" in fails("export m.skops --to pmml", capsys)
    assert "not a model written by" in fails("export old.csv --to linear", capsys)
    assert "RankBoost is not linear" in fails("export m.skops --to linear", capsys)
