"""Trees on the command line: with either engine, with none, and the classifier beside them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import FAST, fails, run
from libraries import need
from test_cli import loans

from sklearn_rank.cli._store import load_model
from sklearn_rank.engines import registry

ENGINES = ("lightgbm", "xgboost")
ARGV = ["loans.csv", "--target", "default", "--drop", "id,grade"]
GRADED = ["loans.csv", "--target", "grade", "--relevance", "graded", "--qid", "branch"]
SMALL = ["--param", "n_estimators=5", "--param", "max_depth=3"]
LIBGOMP = "libgomp.so.1: cannot open shared object file"


@pytest.fixture(params=ENGINES)
def engine(request):
    need(request.param)
    return request.param


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    loans().to_csv("loans.csv", index=False)
    loans(seed=1).to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def without_engines(monkeypatch):
    """Let no engine be found."""
    for name in ENGINES:
        monkeypatch.setitem(sys.modules, name, None)
    registry._loaded.cache_clear()
    yield
    registry._loaded.cache_clear()


def words_of(capsys):
    captured = capsys.readouterr()
    assert captured.err == ""
    return " ".join(captured.out.split())


def results(argv):
    run(["compare", *argv, "--cv", "2", "--json", "r.json", "--force"])
    return json.loads(Path("r.json").read_text())["results"]


# ---------------------------------------------------------------------------- with an engine


def test_train_stores_the_trees(folder, capsys, engine):
    argv = ["train", *ARGV, "--ranker", "boostedtreesranker", "-o", "m.skops", *SMALL]
    run([*argv, "--param", f"engine={engine}"])
    ranker = load_model("m.skops", []).pipeline[-1]
    assert (ranker.engine_, ranker.n_iter_, ranker.max_depth) == (engine, 5, 3)
    assert "scale" not in load_model("m.skops", []).pipeline.named_steps
    untrusted = skops.io.get_untrusted_types(file="m.skops")
    own = [name for name in untrusted if name.startswith("sklearn_rank.")]
    assert own == [
        "sklearn_rank._bins.categories.CategoryCodes",
        "sklearn_rank.engines.stored_booster.StoredBooster",
        "sklearn_rank.estimators.boosted_trees.BoostedTreesRanker",
    ]


@pytest.mark.parametrize(
    ("param", "parts"),
    [
        ("engine=catboost", ["'auto', 'lightgbm', 'xgboost'", "'catboost'"]),
        ("engine=3", ["'auto', 'lightgbm', 'xgboost'", "3"]),
        ("max_depth=0", ["'max_depth'", "[1, 30]", "0"]),
        ("engine_params=fast", ["'engine_params'", "'fast'"]),
        ("loss=ndcg", ["has no push", "p=2"]),
    ],
)
@pytest.mark.parametrize("command", ["compare", "train"])
def test_bad_parameters(folder, capsys, command, param, parts):
    name = "BoostedTreesRanker"
    words = ["--rankers", name] if command == "compare" else ["--ranker", name, "-o", "m.skops"]
    message = fails([command, *ARGV, *words, "--param", param, "--param", "p=2"], capsys)
    for part in [name, *parts]:
        assert part in message


# ---------------------------------------------------------------------------- without


NONE = (
    "engine='auto' of BoostedTreesRanker can't be used: lightgbm is not installed "
    '(pip install "sklearn-rank[lightgbm]"); xgboost is not installed '
    '(pip install "sklearn-rank[xgboost]")'
)


def test_compare_goes_on_without_trees_and_says_so(folder, capsys, without_engines):
    run(["compare", *ARGV, "--cv", "2", *FAST])
    captured = capsys.readouterr()
    assert captured.err.splitlines()[0] == f"note: no BoostedTreesRanker: {NONE}"
    assert "RankBoost" in captured.out
    assert "BoostedTreesRanker" not in captured.out


@pytest.mark.parametrize(
    "argv",
    [
        ["compare", *ARGV, "--rankers", "RankBoost,BoostedTreesRanker"],
        ["train", *ARGV, "--ranker", "BoostedTreesRanker", "-o", "m.skops"],
    ],
    ids=["compare", "train"],
)
def test_trees_that_are_asked_for_need_an_engine(folder, capsys, without_engines, argv):
    assert fails(argv, capsys) == f"sklearn-rank: error: {NONE}\n"
    message = fails([*argv, "--param", "engine=xgboost"], capsys)
    assert "engine='xgboost' of BoostedTreesRanker can't be used: xgboost is not" in message
    assert "lightgbm" not in message


@pytest.mark.parametrize("command", ["rank", "evaluate"])
def test_a_stored_model_needs_its_engine(folder, capsys, monkeypatch, engine, command):
    argv = ["train", *ARGV, "--ranker", "BoostedTreesRanker", "-o", "m.skops", *SMALL]
    run([*argv, "--param", f"engine={engine}"])
    capsys.readouterr()
    monkeypatch.setitem(sys.modules, engine, None)
    registry._loaded.cache_clear()
    try:
        words = [command, "m.skops", "new.csv", *(["-o", "o.csv"] if command == "rank" else [])]
        assert fails(words, capsys) == (
            f"sklearn-rank: error: m.skops: the model cannot be loaded: engine={engine!r} of a "
            f"fitted BoostedTreesRanker can't be used: {engine} is not installed (pip install "
            f'"sklearn-rank[{engine}]")\n'
        )
    finally:
        registry._loaded.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize("error", [f"OSError('{LIBGOMP}')", "ImportError('DLL load failed')"])
def test_engines_that_are_installed_but_do_not_load(folder, error):
    Path("fakes").mkdir()
    for name in ENGINES:
        Path("fakes", f"{name}.py").write_text(f"raise {error}\n")
    paths = [str(Path("fakes").resolve()), *filter(None, sys.path)]
    how = {"env": {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}, "capture_output": True}
    compare = ["compare", *ARGV, "--cv", "2", *FAST]
    train = ["train", *ARGV, "--ranker", "BoostedTreesRanker", "-o", "m.skops"]
    script = (  # one process, which takes seconds to start
        f"import sys; from sklearn_rank.cli import main; assert main({compare}) == 0;"
        f"print('and', file=sys.stderr); sys.exit(main({train}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], **how, check=False, text=True, encoding="utf-8"
    )
    text = error.partition("'")[2].removesuffix("')")
    hint = " (on Debian and Ubuntu: apt install libgomp1)" if "libgomp" in error else ""
    reasons = "; ".join(f"{n} is installed but can't be loaded: {text}{hint}" for n in ENGINES)
    why = f"engine='auto' of BoostedTreesRanker can't be used: {reasons}\n"
    of_compare, _, of_train = done.stderr.partition("and\n")
    assert of_compare.startswith(f"note: no BoostedTreesRanker: {why}")
    assert of_train == f"sklearn-rank: error: {why}"
    assert done.returncode == 2


def test_missing_values_categories_and_queries(folder, capsys, engine):
    table = loans(n=300)
    table["empty_here"] = np.where(table["branch"] < 6, np.nan, table["age"])
    table.to_csv("loans.csv", index=False)
    argv = [*GRADED, "--drop", "id,default", "--category", "branch"][:-2]
    run(["train", *argv, "--ranker", "BoostedTreesRanker", "-o", "m.skops", *SMALL])
    run(["rank", "m.skops", "loans.csv", "-o", "o.csv"])
    ranked = pd.read_csv("o.csv")
    assert ranked["score"].notna().all()
    assert ranked.groupby("branch")["score"].apply(lambda s: (np.diff(s) <= 0).all()).all()
    assert capsys.readouterr().err == ""
