"""The table, the sentence, the search and the pictures of compare, and what train makes of them."""

import importlib.util
import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from commands import FAST, fails, run

from sklearn_rank import metrics
from sklearn_rank.cli import _contest, _rankers
from sklearn_rank.cli._compare import _heading, _sentence
from sklearn_rank.cli._contest import ENSEMBLE, HeldOut, top_metric
from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.dataset import model_data
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.metrics.held_out import Labels, Measured, compare_with_best, estimate, measure
from sklearn_rank.metrics.scorers import scores_of

TWO = ["--rankers", "RankBoost,PNormPushRanker", "--cv", "2", *FAST]
BINARY = ["rows.csv", "--target", "y", "--drop", "grade,q"]
GRADED = ["rows.csv", "--target", "grade", "--relevance", "graded", "--drop", "y", "--qid", "q"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to an empty folder with a table of two classes, grades and queries."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 300))
    risk = a + 0.5 * b + rng.normal(size=300)
    frame = pd.DataFrame({"a": a, "b": b, "y": (risk > 0.8).astype(int)})
    frame["grade"], frame["q"] = np.digitize(risk, [0, 1]), rng.permutation(300) % 20
    frame.to_csv("rows.csv", index=False)
    return frame


def results(argv):
    run(["compare", *argv, "-o", "r.json", "--force"])
    return json.loads(Path("r.json").read_text())


# ---------------------------------------------------------------------------- numbers


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.3).astype(float)
    return y, y + rng.normal(size=n), y + 3 * rng.normal(size=n), rng.permutation(n) % 4


def test_figures_of_zero_are_in_json_too():
    assert Measured(0.0, (0.0, 0.0), [0.0]).as_json()["mean"] == 0.0


def test_intervals_of_one_list_are_those_of_the_metrics():
    y, good, poor, fold = rows(1500)
    held_out = Labels(y, None, fold)
    table = compare_with_best(["auc", "tpr@0.1", "precision@10"], held_out, {"a": poor, "b": good})
    found = metrics.auc_interval(y, good, fold=fold)
    assert table["auc"]["b"].interval == (found.low, found.high)
    assert table["auc"]["b"].mean == found.mean
    assert table["auc"]["a"].below_best == metrics.compare_auc(y, good, poor, fold=fold)
    how = {"max_fpr": 0.1, "fold": fold}
    found = metrics.tpr_at_fpr_interval(y, good, **how)
    assert table["tpr@0.1"]["b"].interval == (found.low, found.high)
    assert table["tpr@0.1"]["a"].below_best == metrics.compare_tpr_at_fpr(y, good, poor, **how)
    assert [table[name]["a"].is_worse for name in ("auc", "tpr@0.1")] == [True, True]
    assert table["precision@10"]["a"].interval is None
    assert len(table["precision@10"]["a"].folds) == 4


def test_intervals_over_queries_are_those_of_their_values():
    y, good, _, _ = rows()
    qid = np.arange(400) % 25
    values = metrics.ndcg_score(y, good, k=10, qid=qid, average=None)
    found = measure("ndcg@10", Labels(y, qid), good)
    expected = metrics.bootstrap_interval(values, n_resamples=999, random_state=0)
    assert (found.mean, found.interval) == (expected.mean, (expected.low, expected.high))
    assert measure("push@4", Labels(y, qid), good).interval is None
    assert measure("ndcg@10", Labels(y, qid % 9), good).interval is None


def test_a_note_where_all_rows_are_relevant(folder, capsys):
    """Also of `evaluate`; once, and no warning."""
    folder.assign(grade=folder["grade"] + 1).to_csv("rows.csv", index=False)
    shown, note = ["--metrics", "map,auc"], "note: For average_precision every row is relevant"
    run(["compare", *GRADED, "--rankers=RankBoost", "--cv=2", *shown, *FAST])
    run(["train", *GRADED, "--ranker=RankBoost", "-o", "m.skops", *FAST])
    compared = capsys.readouterr().err
    run(["evaluate", "m.skops", "rows.csv", *shown])
    assert compared.count(note) == capsys.readouterr().err.count(note) == 1


def test_names_of_metrics():
    assert top_metric(["auc", "map", "tpr@0.05"]) == "tpr@0.05"
    assert top_metric(["auc"]) == "auc"
    names = [
        "auc",
        "tpr@0.05",
        "ndcg@10",
        "precision@10",
        "map",
        "map@5",
        "ndcg_linear@5",
        "push@4",
    ]
    headings = ["AUC", "TPR@5%FPR", "NDCG@10", "P@10", "AP", "AP@5", "NDCG_LINEAR@5", "PUSH@4"]
    assert list(map(_heading, names)) == headings


def contest(y, scores, **selection):
    """A contest of models in two folds, by default without an ensemble."""
    rows = Labels(y, None, np.arange(len(y)) % 2)
    found = HeldOut(rows, np.arange(len(y)), [], scores)
    data = SimpleNamespace(
        group=None, weight=None, qid=None, schema=SimpleNamespace(relevance="binary")
    )
    with (
        mock.patch.object(_contest, "select_members", **(selection or {"side_effect": ValueError})),
        mock.patch.object(_contest, "cross_validate", return_value=found),
        mock.patch.object(_contest, "training_data", return_value=data),
        mock.patch.object(_contest, "repeats", return_value=None),
        mock.patch.object(_rankers, "rankers_of", return_value={}),
        mock.patch.object(_rankers, "baselines", return_value={}),
    ):
        folds = Folds(["RankBoost"], cv=2, metrics=["auc"])
        return _contest.hold(TableOptions(), folds, [])


def test_the_sentence_says_who_is_first_and_how_sure_that_is():
    y, good, poor, _ = rows(2000)

    def sentence(ours, peer):
        return _sentence(contest(y, {"RankBoost": ours, "LightGBM": peer}))

    ours = sentence(good, poor)
    assert ours.startswith("First: RankBoost, AUC 0.7")
    assert "above LightGBM, the best baseline (95 % interval 0." in ours
    assert "; both corrected for picking the best of 2)" in ours
    assert "above RankBoost, the best ranker (" in sentence(poor, good)
    rng = np.random.default_rng(3)
    near = sentence(good, y + rng.normal(size=2000))
    assert "; the difference may be due to chance (" in near or "no better than LightGBM" in near
    assert "no better than LightGBM, the best baseline (" in sentence(good, good)
    noise = sentence(*rng.normal(size=(2, 2000)))
    assert noise.startswith("No better than chance, AUC 0.500. First: ")
    assert "no better than LightGBM" not in noise
    constant = sentence(np.zeros(2000), np.zeros(2000))
    assert constant.startswith("No better than chance")
    few = contest(y[:20], {"RankBoost": good[:20], "LightGBM": poor[:20]})
    assert "no interval: too few" in _sentence(few)


def test_the_sentence_claims_no_lead_that_the_table_denies():
    """The best of four baselines loses more by the correction than the ranker: the sign turns."""
    y, n_turned = np.repeat([1, 0, 0], 100), 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        common = y + rng.normal(scale=1.5, size=300)
        names = ["RankBoost", *list(_rankers.BASELINES)[:4]]
        held = contest(y, {name: common + rng.normal(scale=0.7, size=300) for name in names})
        first, rivals = held.order[0], set(names[1:])
        if first != "RankBoost":
            continue
        rival, lead = held.choice.lead(rivals)
        is_behind = held.table["auc"][first].mean <= held.table["auc"][rival].mean
        n_turned += is_behind and lead.mean > 0.0005
        assert f"above {rival}" not in _sentence(held) or not is_behind
    assert n_turned


def test_equal_rows_count_once_in_intervals():
    y, score, other, fold = rows(600)
    once, twice = Labels(y, None, fold), Labels(np.tile(y, 2), None, np.tile(fold, 2))
    copies = replace(twice, drawn_with=np.tile(np.arange(600), 2))
    for name in ("auc", "tpr@0.1"):
        of_rows = estimate(name, once, score, other)
        for labels, width in ((copies, 1.0), (twice, 0.5**0.5)):
            found = estimate(name, labels, np.tile(score, 2), np.tile(other, 2))
            assert np.isclose(found.difference, of_rows.difference)
            expected = width * (of_rows.high - of_rows.low)
            assert np.isclose(found.high - found.low, expected, rtol=0.01)


def test_near_ties_go_to_the_simplest_and_an_ensemble_of_one_is_that_member():
    y, good, poor, _ = rows(2000)
    near = good - 1e-9 * np.arange(2000)
    for better, worse in ((good, near), (near, good)):
        assert contest(y, {"LightGBM": better, "RankBoost": worse}).order[0] == "RankBoost"
    assert contest(y, {"LightGBM": good, "RankBoost": poor}).order[0] == "LightGBM"
    for weights, has_ensemble in (
        ({"LightGBM": 1.0, "RankBoost": 0.0}, False),
        (dict.fromkeys(("LightGBM", "RankBoost"), 0.5), True),
    ):
        selection = SimpleNamespace(weights=weights, nearly_honest_scores=good + poor)
        found = contest(y, {"LightGBM": good, "RankBoost": poor}, return_value=selection)
        assert (ENSEMBLE in found.order, len(found.weights)) == (has_ensemble, 2 * has_ensemble)


def test_the_sentence_says_why_the_ensemble_is_first():
    y, good, poor, _ = rows(2000)
    weights = dict.fromkeys(("LightGBM", "RankBoost"), 0.5)
    for scores, is_first in ((good + y, True), (poor, False)):
        selection = SimpleNamespace(weights=weights, nearly_honest_scores=scores)
        held = contest(y, {"LightGBM": good, "RankBoost": poor}, return_value=selection)
        assert (held.order[0] == ENSEMBLE) == is_first
        assert ("ensemble of these (no model is near" in _sentence(held)) == is_first
    few = SimpleNamespace(weights=weights, nearly_honest_scores=y[::200] + 0.0)
    inverted = dict.fromkeys(weights, -y[::200] + 0.0)
    held = contest(y[::200], inverted, return_value=few)  # without intervals nothing is compared
    assert _sentence(held).startswith("First: ensemble of these, AUC 1.000 (no interval")


# ---------------------------------------------------------------------------- compare


def test_compare_without_a_file(folder, capsys):
    run(["compare", *TWO])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(" ".join(lines).split())
    assert "First: " in text
    assert "P@125 R@125 fit s" in text
    assert "next: sklearn-rank compare YOUR.csv --target COLUMN" in text
    assert "rank score AUC TPR@5%FPR \\ " in text
    for name in ("RankBoost", "PNormPushRanker", "logistic regression", "HistGradientBoosting"):
        assert f" {name} 0." in text
    run(["compare", *GRADED, "--rankers", "RankBoost", "--cv", "2", *FAST])
    captured = capsys.readouterr()
    assert "AUC NDCG@10 fit s" in " ".join(captured.out.split())
    assert "relevance > 0; the other baselines predict the grades" in captured.err


@pytest.mark.slow
def test_which_rankers_are_compared_by_default(folder, monkeypatch, capsys):
    binary = results([*BINARY, "--cv", "2", *FAST])["results"]
    baselines = [*_rankers.BASELINES]
    for name in ("lightgbm", "catboost"):
        if importlib.util.find_spec(name) is None:
            baselines.remove({"lightgbm": "LightGBM", "catboost": "CatBoost"}[name])
    assert set(binary) == {
        *("BoostedTreesRanker", "KernelPairwiseSGDRanker", "PNormPushRanker", "RankBoost"),
        *(*baselines, "ensemble of these"),
    }
    monkeypatch.setattr(_rankers, "MAX_QUADRATIC_ROWS", 149)
    graded = results([*GRADED, "--cv", "2", *FAST])["results"]
    assert "ListNetLinear" in graded
    assert "KernelPairwiseSGDRanker" not in graded
    assert "SmoothMarginRanker" not in graded
    named = results([*BINARY, "--cv", "2", "--rankers", "SmoothMarginRanker", *FAST])["results"]
    assert set(named) == {"SmoothMarginRanker", *baselines, "ensemble of these"}


def write_noise_twice(seed):
    """Write a table of 300 rows of noise, each twice."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(300, 4))).add_prefix("x")
    frame = frame.assign(y=rng.random(300) < 0.3)
    pd.concat([frame, frame]).to_csv("rows.csv", index=False)


def test_equal_rows_are_held_out_together_and_counted_once(folder, capsys):
    write_noise_twice(seed=1)
    run(["compare", "rows.csv", "--target", "y", *TWO, "--plot", "p.png", "-o", "r.json"])
    out, notes = capsys.readouterr()
    assert "300 of 600 rows repeat another: equal rows are held out together" in notes
    assert "--plot" not in out
    found = json.loads(Path("r.json").read_text())["results"]
    low, high = next(iter(found.values()))["auc"]["interval"]
    assert high - low > 0.12  # of 300 rows, not of 600
    assert Path("p.png").read_bytes().startswith(b"\x89PNG")
    assert not Path("catboost_info").exists()
    assert "must end in .png or .svg" in fails(["compare", *BINARY, "--plot", "p.txt"], capsys)


@pytest.mark.slow
def test_noise_with_each_row_twice_is_noise(folder, capsys):
    """Most 95 % intervals contain what chance gives: of 16 seeds, 15 of the AUC and 14 of TPR."""
    hold_auc, hold_tpr = [], []
    for seed in range(8):
        write_noise_twice(seed)
        found = results(["rows.csv", "--target", "y", *TWO])["results"]
        low, high = next(iter(found.values()))["auc"]["interval"]
        hold_auc.append(low <= 0.5 <= high)
        sentence = " ".join(capsys.readouterr().out.split())
        ends = re.search(r"No better than chance, .* 0\.050\. .*interval (\S+) to (\S+),", sentence)
        hold_tpr.append(float(ends[1]) <= 0.05 <= float(ends[2]))
    assert min(sum(hold_auc), sum(hold_tpr)) >= 6


@pytest.mark.slow
def test_numbers_do_not_depend_on_jobs(folder, capsys):
    found = [results([*BINARY, *TWO, "--n-jobs", jobs])["results"] for jobs in ("1", "2")]
    for name in found[0]:
        assert found[0][name]["tpr@0.05"] == found[1][name]["tpr@0.05"]


# ---------------------------------------------------------------------------- the first


@pytest.fixture
def claims(tmp_path, monkeypatch):
    """Go to an empty folder with claims of which linear models and trees know a part each."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, 600))
    kind = rng.choice(["u", "v", "w"], 600)
    risk = 1.5 * a + 2 * b * c + (kind == "u") + rng.normal(size=600)
    frame = pd.DataFrame({"a": a, "b": b, "c": np.where(c > 1, np.nan, c), "kind": kind})
    frame.assign(fraud=np.where(risk > 2, "yes", "no")).to_csv("claims.csv", index=False)
    return frame


OF_CLAIMS = ["claims.csv", "--target", "fraud", "--cv", "3", "--rankers", "RankBoost", *FAST]


def next_words(out):
    (line,) = [line for line in out.splitlines() if line.startswith("next: sklearn-rank ")]
    return shlex.split(line.removeprefix("next: sklearn-rank "))


@pytest.mark.slow
def test_the_next_command_fits_what_is_first(claims, capsys, monkeypatch):
    found = results([*OF_CLAIMS, "--metrics=auc"])
    table = capsys.readouterr().out.partition("\nnext: ")
    words = next_words(table[1] + table[2])
    best = ["--metrics=auc", "--best", "r.json"]
    assert words == ["train", *OF_CLAIMS, *best, "-o", "claims.skops"]
    monkeypatch.setattr(_contest, "cross_validate", None)  # is not needed again
    run(words)
    out = capsys.readouterr().out
    assert table[0].split("\n\n")[0] == out.split("\n\n")[0]  # the sentence
    assert "fit s" in table[0] and "fit s" not in out  # its table was printed by compare
    model = load_model("claims.skops", [])
    assert model.ranker == next(iter(found["results"]))
    assert f"claims.skops: {model.ranker} fitted on claims.csv: 600 rows" in out
    run(["evaluate", "claims.skops", "claims.csv"])
    run(["rank", "claims.skops", "claims.csv", "-o", "o.csv"])


def test_the_ensemble_is_estimated_fitted_and_stored(claims, capsys, monkeypatch):
    monkeypatch.setattr(_rankers, "SIMPLEST_FIRST", ())  # so that no near tie goes to another
    found = results(OF_CLAIMS)
    assert next(iter(found["results"])) == "ensemble of these"
    whole = " ".join(capsys.readouterr().out.split())
    footnote = r"Ensemble of these: \d+ % .*; weights for each fold come from the other folds"
    assert re.search(footnote, whole)
    run(["train", *OF_CLAIMS, "--best", "-o", "m.skops"])
    out, notes = capsys.readouterr()
    assert len(notes.splitlines()) == len(set(notes.splitlines()))  # each once
    assert "m.skops: ensemble of these fitted on claims.csv: 600 rows" in out
    model = load_model("m.skops", [])
    members = model.pipeline[-1].estimators_
    assert 2 <= len(members) <= 5
    assert "% " + next(iter(members)) in " ".join(out.split())
    run(["rank", "m.skops", "claims.csv", "-o", "o.csv"])
    ranked = pd.read_csv("o.csv")
    scores = scores_of(model.pipeline, feature_frame_of("claims.csv", model))
    np.testing.assert_allclose(ranked["score"], np.sort(scores)[::-1])
    run(["rank", "m.skops", "claims.csv", "--top", "3", "--explain", "-o", "x.csv"])
    assert pd.read_csv("x.csv")["reason_1"].str.contains(r" [+-]\d").all()
    message = fails(["card", "export", "m.skops", "--to", "sql"], capsys)
    assert "m.skops: was not saved by sklearn-rank card" in message


@pytest.mark.parametrize("name", [_rankers.LOGISTIC, _rankers.HISTOGRAMS])
def test_whatever_is_first_has_reasons(claims, name):
    table = TableOptions("claims.csv", target="fraud")
    found = _contest.hold(table, Folds(["RankBoost"], {"n_estimators": 5}, cv=2), [])
    found = replace(found, order=[name])
    model = _contest.fit_first(found, [])
    X, own = found.data.X.iloc[:30], found.pipelines[name]
    _contest.fit_pipeline(own, found.data, name)
    assert (np.argsort(scores_of(model, X)) == np.argsort(scores_of(own, X))).all()
    parts = model[-1].contributions(X)
    np.testing.assert_allclose(parts.sum(axis=1), scores_of(model, X))


def feature_frame_of(path, model):
    return model_data(TableOptions(path), model.schema, [], labelled=False).X


@pytest.mark.slow
def test_a_stored_run_is_used_for_the_same_rows_and_options_only(claims, capsys):
    run(["compare", *OF_CLAIMS, "-o", "run.json"])
    train = ["train", *OF_CLAIMS, "--best", "run.json", "-o", "m.skops"]
    for more, what in (
        (["--cv", "4"], "--cv"),
        (["--seed", "1"], "--seed"),
        (["--drop", "c"], "rows or columns"),
        (["--param", "learning_rate=0.3"], "--param"),
    ):
        message = fails([*train, *more], capsys)
        assert f"run.json: was saved for other {what}; run compare again" in message
    changed = pd.read_csv("claims.csv").assign(a=claims["a"] + 1e-9)
    changed.to_csv("claims.csv", index=False)
    assert "was saved for other rows or columns" in fails(train, capsys)
    message = "run.json: is not a run saved by compare -o: its format must be"
    stored = json.loads(Path("run.json").read_text())
    for content in ({**stored, "format": "sklearn_rank.scorecard"}, {}, []):
        Path("run.json").write_text(json.dumps(content))
        assert message in fails(train, capsys)
    Path("run.json").write_text("no JSON")
    assert "run.json: is not a run saved by compare -o" in fails(train, capsys)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--best", "--ranker", "RankBoost"], "--ranker rules out --best"),
        (["--rankers", "RankBoost"], "--rankers requires --best"),
        (["--best", "none.json"], "none.json: no such file"),
    ],
)
def test_what_does_not_go_with_best(folder, capsys, more, message):
    assert message in fails(["train", *BINARY, *more, "-o", "m.skops"], capsys)


# ---------------------------------------------------------------------------- baselines


@pytest.mark.slow
@pytest.mark.parametrize("name", _rankers.BASELINES)
@pytest.mark.parametrize("argv", [BINARY, GRADED])
def test_baselines_are_trained_and_stored(folder, capsys, name, argv):
    if name in ("LightGBM", "CatBoost"):
        pytest.importorskip(name.lower())
    kind = np.random.default_rng(1).choice(["u", "v", ""], 300)
    folder.assign(kind=kind, a=folder["a"].where(kind != "u")).to_csv("rows.csv", index=False)
    run(["train", *argv, "--ranker", name.lower().replace(" ", ""), "-o", "m.skops"])
    assert f"m.skops: {name} fitted on rows.csv: 300 rows" in capsys.readouterr().out
    assert load_model("m.skops", []).ranker == name
    run(["evaluate", "m.skops", "rows.csv", "-o", "e.json"])
    assert json.loads(Path("e.json").read_text())["results"]["auc"]["mean"] > 0.7
    run(["rank", "m.skops", "rows.csv", "-o", "o.csv"])
    message = fails(["rank", "m.skops", "rows.csv", "--explain", "-o", "x.csv"], capsys)
    assert f"--explain is not supported for {name}, only for stumps" in message
