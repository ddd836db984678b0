"""Trees on the command line: with either engine, with none, and the classifier beside them."""

import json
import sys
from pathlib import Path

import pytest
import skops.io
from commands import FAST, fails, run
from libraries import need
from test_cli import loans

from sklearn_rank.cli._store import load_model
from sklearn_rank.engines import registry

ENGINES = ("lightgbm", "xgboost")
ARGV = ["loans.csv", "--target", "default", "--drop", "id,grade"]
SMALL = ["--param", "n_estimators=5", "--param", "max_depth=3"]


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


def results(argv):
    run(["compare", *argv, "--cv", "2", "-o", "r.json", "--force"])
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
