"""Trees on the command line: with every engine, and without the libraries."""

import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import FAST, fails, run
from libraries import need
from sklearn.metrics import roc_auc_score
from test_cli import loans

from sklearn_rank.cli._output import Output
from sklearn_rank.cli._store import load_model, save_model
from sklearn_rank.cli._tables.inputs import InputError
from sklearn_rank.engines import registry
from sklearn_rank.engines.stored_booster import StoredBooster

ARGV = ["loans.csv", "--target", "default", "--drop", "id,grade"]
SMALL = ["--param", "n_estimators=5", "--param", "max_depth=3"]


@pytest.fixture(params=registry.ENGINES)
def engine(request):
    need(request.param)
    return request.param


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    loans().to_csv("loans.csv", index=False)
    return tmp_path


@pytest.fixture
def without_libraries(monkeypatch):
    """Let no library of trees be found."""
    for name in registry.LIBRARIES:
        monkeypatch.setitem(sys.modules, name, None)
    registry._loaded.cache_clear()
    yield
    registry._loaded.cache_clear()


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


def test_symmetric_trees_need_no_library(folder, capsys, without_libraries):
    run(["compare", *ARGV, "--cv", "2", "--rankers", "BoostedTreesRanker,RankBoost", *FAST])
    captured = capsys.readouterr()
    assert "BoostedTreesRanker" in captured.out
    assert captured.err == ""
    run(["train", *ARGV, "--ranker", "BoostedTreesRanker", "-o", "m.skops", *SMALL])
    run("rank m.skops loans.csv -o r.csv --explain")
    assert load_model("m.skops", []).pipeline[-1].engine_ == "symmetric"
    ranked = pd.read_csv("r.csv")
    assert roc_auc_score(ranked["default"] == "yes", ranked["score"]) > 0.85
    used = {reason.split()[0] for reason in ranked["reason_1"].dropna()}
    assert used <= set(ranked) and len(used) > 1


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_stored_trees_hold_no_pickle_and_unpack_to_nothing_larger(folder, save):
    run(["train", *ARGV, "--ranker", "BoostedTreesRanker", "-o", "m.skops", *SMALL])
    model, file = load_model("m.skops", []), io.BytesIO()
    feature = np.array([[print]]) if save is np.savez else np.zeros((10**6, 1))
    save(file, **(vars(model.pipeline[-1].booster_) | {"feature": feature}))
    model.pipeline[-1]._trees_ = StoredBooster("symmetric", file.getvalue())
    save_model(model, Output(Path("bad.skops")))
    with pytest.raises(InputError, match="cannot be loaded"):
        load_model("bad.skops", [])


@pytest.mark.parametrize("command", ["compare", "train --best -o m.skops"])
def test_what_needs_a_library_says_which(folder, capsys, without_libraries, command):
    argv = [*command.split(), *ARGV, "--rankers", "RankBoost,BoostedTreesRanker"]
    message = fails([*argv, "--param", "loss=ndcg"], capsys)
    assert "engine='auto' of BoostedTreesRanker can't be used: lightgbm is not" in message
    message = fails([*argv, "--param", "engine=xgboost"], capsys)
    assert "engine='xgboost' of BoostedTreesRanker can't be used: xgboost is not" in message
    assert "lightgbm" not in message
