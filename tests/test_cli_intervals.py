"""Intervals, comparisons with the best, and pictures of the command line."""

import json
from pathlib import Path

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import average_precision_score, ndcg_score

from sklearn_rank.cli import main
from sklearn_rank.cli._intervals import (
    MIN_INTERVAL_QUERIES,
    MIN_INTERVAL_ROWS,
    WITH_INTERVAL,
    LabelledRows,
    compare_with_best,
    compute_intervals,
)
from sklearn_rank.cli._metrics import JSON_ONLY, METRICS, compute_metrics
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import auc_interval, bootstrap_interval, compare_auc, compare_rankings

pytestmark = pytest.mark.slow

KEYS = [metric.key for metric in METRICS]
JSON_KEYS = [metric.key for metric in (*METRICS, *JSON_ONLY)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to an empty folder; messages are wrapped at 80 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def write_rows(name="rows.csv", n=150, seed=0, n_queries=15):
    """Write a table with two classes `y`, grades `grade` and queries `q`."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    risk = a + 0.5 * b + rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "b": b, "y": (risk > 0.8).astype(int)})
    frame["grade"] = np.digitize(risk, [0, 1])
    frame["q"] = np.arange(n) % n_queries
    frame.to_csv(name, index=False)
    return frame


BINARY = ["rows.csv", "--target", "y", "--drop", "grade", "q"]
GRADED = ["rows.csv", "--target", "grade", "--relevance", "graded", "--drop", "y", "--qid", "q"]
TWO = ["--rankers", "RankBoost", "ListNetLinear", "--cv", "3"]


def run(argv):
    assert main(argv) == 0


def words_of(capsys):
    return " ".join(capsys.readouterr().out.split())


# ---------------------------------------------------------------------------- numbers


def queries(n_queries=14, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(n_queries), 15))
    y = rng.integers(0, 3, len(codes)).astype(float)
    y[np.isin(codes, [3, 12])] = 0.0
    return y, y + rng.normal(scale=2, size=len(codes)), codes


def test_intervals_are_those_of_the_values_of_the_queries_that_count():
    y, scores, codes = queries()
    counted = [q for q in range(14) if q not in (3, 12)]
    parts = [(y[codes == q], scores[codes == q]) for q in counted]
    values = {
        "ndcg_at_10": [ndcg_score([2**y - 1], [s], k=10) for y, s in parts],
        "average_precision": [average_precision_score(y > 0, s) for y, s in parts],
        "precision_at_10": [np.mean(y[np.argsort(-s)][:10] > 0) for y, s in parts],
    }
    intervals = compute_intervals(LabelledRows(y, codes), scores)
    assert list(intervals) == list(WITH_INTERVAL)
    figures = compute_metrics(y, scores, codes)
    for key, one in values.items():
        found, expected = intervals[key], bootstrap_interval(one, random_state=0)
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    auc = auc_interval(y, scores, qid=codes)
    assert (intervals["auc"].low, intervals["auc"].high) == (auc.low, auc.high)
    for key, found in intervals.items():
        assert found.estimate == pytest.approx(figures[key])
        assert found.low < found.estimate < found.high


def test_there_is_no_interval_of_few_queries():
    y, scores, codes = queries()
    y[np.isin(codes, [0, 1])] = 0.0
    assert list(compute_intervals(LabelledRows(y, codes), scores)) == list(
        WITH_INTERVAL
    )  # ten count
    y[codes == 2] = 0.0
    assert compute_intervals(LabelledRows(y, codes), scores) == {}
    alone = np.where(codes == 4, y, 0.0)
    assert compute_intervals(LabelledRows(alone, codes), scores) == {}


def test_one_list_has_an_interval_of_its_auc_alone():
    rng = np.random.default_rng(0)
    y, scores = np.repeat([0.0, 1.0], [30, MIN_INTERVAL_ROWS]), rng.normal(size=40)
    (key, found), *others = compute_intervals(LabelledRows(y, None), scores).items()
    assert (key, others) == ("auc", [])
    expected = auc_interval(y, scores)
    assert (found.estimate, found.low, found.high) == (expected.auc, expected.low, expected.high)
    fold = np.arange(40) % 2
    assert list(compute_intervals(LabelledRows(y, None, fold), scores)) == ["auc"]  # five in each
    assert compute_intervals(LabelledRows(y, None, np.arange(40) % 3), scores) == {}
    fold[-1] = 0
    assert compute_intervals(LabelledRows(y, None, fold), scores) == {}
    y[-1] = 0.0  # one row of the rarer class too few
    assert compute_intervals(LabelledRows(y, None), scores) == {}


@pytest.mark.filterwarnings("error")
def test_the_interval_of_perfect_orders_is_one_point():
    rng = np.random.default_rng(0)
    for n in range(5, 60):  # some sizes round NDCG of tied grades to a little less than 1
        codes = np.repeat(np.arange(12), n)
        y = rng.integers(0, 4, len(codes)).astype(float)
        found = compute_intervals(LabelledRows(y, codes), y)["ndcg_at_10"]
        assert (found.low, found.high) == (1.0, 1.0)


def test_every_ranking_is_compared_with_the_best_one_in_pairs():
    y, scores, codes = queries(n_queries=40)
    rng = np.random.default_rng(1)
    rankings = {"fair": scores, "same": scores + 1, "noise": rng.normal(size=len(y)), "best": y}
    standings = compare_with_best(LabelledRows(y, codes), rankings)
    assert list(standings) == list(WITH_INTERVAL)
    for column in standings.values():
        assert list(column) == list(rankings)
        assert {one.best for one in column.values()} == {"best"}
        assert column["best"].below_best is None
        assert not column["best"].is_worse
        assert column["noise"].is_worse
        for name, standing in column.items():
            if name != "best":
                gap = column["best"].interval.estimate - standing.interval.estimate
                assert standing.below_best.difference == pytest.approx(gap)
                assert standing.is_worse == (standing.below_best.p_value < 0.05 / 3)
    expected = compare_auc(y, y, rankings["noise"], qid=codes)
    assert standings["auc"]["noise"].below_best == expected
    values = [
        [
            ndcg_score([2 ** y[codes == q] - 1], [s[codes == q]], k=10)
            for q in range(40)
            if q not in (3, 12)
        ]
        for s in (y, rankings["noise"])
    ]
    expected = compare_rankings(*values, n_resamples=1999, random_state=0)
    found = standings["ndcg_at_10"]["noise"].below_best
    assert (found.difference, found.p_value) == pytest.approx(
        (expected.difference, expected.p_value)
    )


@pytest.mark.nightly
def test_the_truly_best_ranking_is_rarely_called_worse():
    """Five rankings of the same quality: the error rate is shared among them."""
    rng, y = np.random.default_rng(0), np.repeat([0.0, 1.0], 50)
    wrong = np.zeros(5)
    for _ in range(300):
        column = compare_with_best(
            LabelledRows(y, None), {str(j): y + rng.normal(size=100) for j in range(5)}
        )["auc"]
        wrong += [standing.is_worse for standing in column.values()]
    assert wrong.max() / 300 < 0.05


def test_the_auc_needs_two_queries_in_every_fold():
    y, scores, codes = queries(n_queries=20)
    fold = (codes >= 13).astype(int)
    assert list(compute_intervals(LabelledRows(y, codes, fold), scores)) == list(WITH_INTERVAL)
    fold = (codes == 4).astype(int)
    rankings = {"one": scores, "two": -scores}
    for known in (LabelledRows(y, codes, fold), LabelledRows(y, codes, codes)):
        assert list(compute_intervals(known, scores)) == list(WITH_INTERVAL[1:])
        assert list(compare_with_best(known, rankings)) == list(WITH_INTERVAL[1:])


def test_no_star_without_an_estimate_of_the_error():
    y = np.repeat([0.0, 1.0], 10)
    column = compare_with_best(LabelledRows(y, None), {"right": y, "wrong": -y})["auc"]
    assert column["wrong"].below_best.difference == 1
    assert np.isnan(column["wrong"].below_best.p_value)
    assert not column["wrong"].is_worse


def test_folds_are_not_compared_with_each_other():
    y = np.tile([0.0, 1.0], 20)
    fold = np.repeat([0, 1], 20)
    scores = np.where(fold == 0, 2 * y + np.arange(40) % 3, 100 + y)
    found = compute_intervals(LabelledRows(y, None, fold), scores)["auc"]
    expected = auc_interval(y, scores, fold=fold)
    assert (found.estimate, found.low) == (expected.auc, expected.low)
    halves = [compute_metrics(y[fold == v], scores[fold == v], None)["auc"] for v in (0, 1)]
    assert found.estimate == pytest.approx(np.mean(halves))


# ---------------------------------------------------------------------------- what is printed


@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_help_tells_of_intervals(capsys, command):
    assert main([command, "--help"]) == 0
    assert f"over queries, from {MIN_INTERVAL_QUERIES} queries on, of AUC, " in words_of(capsys)


def test_compare_prints_intervals_over_rows(folder, capsys):
    write_rows()
    run(["compare", *BINARY, *TWO, "--json", "r.json"])
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    content = json.loads(Path("r.json").read_text())["results"]
    best = max(content, key=lambda name: content[name]["auc"]["estimate"])
    for name, figures in content.items():
        auc = figures["auc"]
        assert auc["estimate"] == pytest.approx(auc["mean"])
        low, high = (f"{end:.4f}"[1:] for end in auc["interval"])
        assert f"{low}–{high}" in output
        assert ("below_best" in auc) == (name != best)
        assert all("interval" not in figures[key] for key in KEYS[1:])
        if name != best:
            assert auc["below_best"]["best"] == best
            gap = content[best]["auc"]["estimate"] - auc["estimate"]
            assert auc["below_best"]["difference"] == pytest.approx(gap)
    words = " ".join(output.split())
    assert "Intervals: over the held-out rows, with the models as they are." in words
    assert "the truly best of a column gets a star in at most about 5 % of tables" in words
    assert words.endswith("No interval: R_4, and NDCG, AP and P@ of one list.")


def test_compare_prints_intervals_over_queries_and_marks_what_is_worse(folder, capsys):
    rng, frame = np.random.default_rng(0), write_rows(n=600, n_queries=40)
    # Two columns that say all together and little alone: a line finds it, stumps do not.
    frame["a"] = 20 * rng.normal(size=600)
    frame["b"] = frame["grade"] - frame["a"]
    frame.to_csv("rows.csv", index=False)
    run(["compare", *GRADED, *TWO, "--json", "r.json", "--param", "n_estimators=5"])
    output = capsys.readouterr().out
    assert max(map(len, output.splitlines())) <= 80
    results = json.loads(Path("r.json").read_text())["results"]
    (line,) = [line for line in output.splitlines() if line.count("–") and "RankBoost" in line]
    assert [results["RankBoost"][key]["below_best"]["is_worse"] for key in WITH_INTERVAL] == [
        True,
        True,
        True,
        True,
    ]
    assert line.count("*") == 4
    (line,) = [line for line in output.splitlines() if line.count("–") and "ListNet" in line]
    assert "*" not in line
    assert "Intervals: over the held-out queries" in " ".join(output.split())


def test_compare_says_why_there_are_no_intervals(folder, capsys):
    write_rows(n=27, n_queries=9)
    run(["compare", *GRADED, *TWO])
    words = words_of(capsys)
    assert words.endswith("No intervals: fewer than 10 queries with a relevant row.")
    assert "95 % interval" not in words
    run(["compare", *BINARY, *TWO])
    assert words_of(capsys).endswith(
        "No intervals: fewer than 10 rows of the rarer class, or than 5 in a fold."
    )


@pytest.mark.parametrize("columns", ["50", "66", "200"])
def test_no_number_is_cut_off_in_a_terminal_of_any_width(folder, capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    write_rows()
    run(["compare", *GRADED, *TWO, "--json", "r.json"])
    output = capsys.readouterr().out
    assert "…" not in output
    assert max(map(len, output.splitlines())) <= int(columns)
    for figures in json.loads(Path("r.json").read_text())["results"].values():
        for key in KEYS:
            assert f"{figures[key]['mean']:.4f}" in output
        for key in WITH_INTERVAL:
            low, high = figures[key]["interval"]
            assert f"{low:.4f}–{high:.4f}".replace("0.", ".") in output


def test_intervals_do_not_depend_on_the_number_of_jobs(folder, capsys):
    write_rows()
    for n_jobs in "12":
        run(["compare", *GRADED, *TWO, "--json", f"{n_jobs}.json", "--n-jobs", n_jobs])
    one, two = (json.loads(Path(f"{n}.json").read_text())["results"] for n in "12")
    for name, figures in one.items():
        assert {key: figures[key] for key in KEYS} == {key: two[name][key] for key in KEYS}


def train(argv):
    run(["train", *argv, "-o", "m.skops", "--param", "n_estimators=5"])


def test_evaluate_prints_intervals_over_queries(folder, capsys):
    data = make_queries(n_queries=10, rows_per_query=15, n_features=5, random_state=0)
    frame = pd.DataFrame(data.data).add_prefix("x").assign(grade=data.target, q=data.qid)
    frame.assign(y=0).to_csv("rows.csv", index=False)
    train(GRADED)
    capsys.readouterr()
    run(["evaluate", "m.skops", "rows.csv", "--json", "e.json"])
    output = capsys.readouterr().out
    results = json.loads(Path("e.json").read_text())["results"]
    words = " ".join(output.split())
    for key in WITH_INTERVAL:
        low, high = results[f"{key}_interval"]
        assert low <= results[key] <= high
        assert f"{results[key]:.4f} [{low:.4f}, {high:.4f}] " in words
    for metric in METRICS:
        assert metric.meaning in output  # in one line
    assert "[low, high]: 95 % interval over queries." in words
    assert max(map(len, output.splitlines())) <= 80


def test_evaluate_prints_an_interval_over_rows(folder, capsys):
    write_rows()
    train(BINARY)
    run(["evaluate", "m.skops", "rows.csv", "--json", "e.json"])
    results = json.loads(Path("e.json").read_text())["results"]
    assert list(results) == [*JSON_KEYS, "auc_interval"]
    words = words_of(capsys)
    assert "[low, high]: 95 % interval over rows." in words
    assert words.count("[") == 2  # the interval and its explanation


def test_evaluate_says_why_there_are_no_intervals(folder, capsys):
    write_rows(n=27, n_queries=9)
    train(GRADED)
    run(["evaluate", "m.skops", "rows.csv", "--json", "e.json"])
    assert list(json.loads(Path("e.json").read_text())["results"]) == JSON_KEYS
    words = words_of(capsys)
    assert "[" not in words
    assert words.endswith("No intervals: fewer than 10 queries with a relevant row.")


# ---------------------------------------------------------------------------- pictures


@pytest.fixture
def drawn(monkeypatch):
    """Keep the figures that are saved."""
    figures = []
    original = matplotlib.figure.Figure.savefig

    def savefig(self, *args, **options):
        figures.append(self)
        original(self, *args, **options)

    monkeypatch.setattr(matplotlib.figure.Figure, "savefig", savefig)
    return figures


@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_plots_are_written_in_three_formats(folder, capsys, command, suffix):
    write_rows("rows$1$.csv")
    argv = ["rows$1$.csv", *BINARY[1:]]
    train(argv)
    name = f"p{suffix}"
    words = {"compare": [*argv, *TWO], "evaluate": ["m.skops", "rows$1$.csv"]}[command]
    run([command, *words, "--plot", name])
    start = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}[suffix]
    assert Path(name).read_bytes().startswith(start)


def test_two_classes_are_drawn_as_roc_curves(folder, capsys, drawn):
    write_rows()
    run(["compare", *BINARY, *TWO, "--plot", "p.png", "--json", "r.json"])
    (figure,) = drawn
    top, whole = figure.axes
    assert (top.get_xlim()[1], whole.get_xlim()[1]) == (0.1, 1.0)
    assert len(top.lines) == len(whole.lines) == 3
    (legend,) = figure.legends
    results = json.loads(Path("r.json").read_text())["results"]
    for text, (name, figures) in zip(legend.get_texts(), results.items(), strict=True):
        # Weighted by the pairs of a fold; the folds are almost of one size.
        shown = float(text.get_text().removeprefix(f"{name} (AUC ").removesuffix(")"))
        assert shown == pytest.approx(figures["auc"]["mean"], abs=0.003)
    assert figure.get_suptitle().startswith("rows.csv: 150 rows")


def test_curves_that_begin_high_are_enlarged_upwards(folder, capsys, drawn):
    write_rows()
    easy = pd.read_csv("rows.csv")
    easy["a"] += 20 * easy["y"]
    easy.to_csv("rows.csv", index=False)
    run(["compare", *BINARY, *TWO, "--plot", "p.png"])
    top, whole = drawn[0].axes
    assert top.get_ylim()[0] > 0.5
    assert whole.get_ylim()[0] == 0


def test_queries_are_drawn_as_figures_with_intervals(folder, capsys, drawn):
    write_rows()
    run(["compare", *GRADED, *TWO, "--plot", "p.png", "--json", "r.json"])
    (figure,) = drawn
    results = json.loads(Path("r.json").read_text())["results"]
    assert [panel.get_title() for panel in figure.axes] == ["AUC", "NDCG@10", "AP", "P@10"]
    for panel, key in zip(figure.axes, WITH_INTERVAL, strict=True):
        bars, marks = panel.lines[0:-1:2], panel.lines[1:-1:2]
        for bar, mark, one in zip(bars, marks, results.values(), strict=True):
            assert list(bar.get_xdata()) == one[key]["interval"]
            assert list(mark.get_xdata()) == [one[key]["estimate"]]
            is_worse = one[key].get("below_best", {}).get("is_worse", False)
            assert (mark.get_markerfacecolor() == "white") == is_worse
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == list(results)


def test_few_queries_are_drawn_as_roc_curves(folder, capsys, drawn):
    write_rows(n=60, n_queries=6)
    run(["compare", *GRADED, *TWO, "--plot", "p.png"])
    assert len(drawn[0].axes) == 2
    assert drawn[0].get_suptitle().endswith("Positives: relevance above 0")


def test_two_grades_above_0_are_two_classes(folder, capsys, drawn):
    frame = write_rows()
    frame.assign(grade=1 + frame["y"]).to_csv("rows.csv", index=False)
    argv = [*GRADED[:5], "--drop", "y", "q"]
    run(["compare", *argv, *TWO, "--plot", "p.png"])
    train(argv)
    run(["evaluate", "m.skops", "rows.csv", "--plot", "e.png"])
    assert [len(figure.axes) for figure in drawn] == [2, 3]


def test_nothing_to_draw(folder, capsys):
    frame = write_rows(n=60, n_queries=6)
    frame.assign(grade=frame["grade"] + 1).to_csv("rows.csv", index=False)
    assert main(["compare", *GRADED, *TWO, "--plot", "p.png"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "rows.csv: --plot needs rows with a relevance above 0 and others" in captured.err


@pytest.mark.parametrize(("argv", "n_panels"), [(BINARY, 3), (GRADED, 1)])
def test_evaluate_draws_the_list_and_of_two_classes_the_curve(
    folder, capsys, drawn, argv, n_panels
):
    frame = write_rows()
    train(argv)
    run(["evaluate", "m.skops", "rows.csv", "--plot", "p.png"])
    (figure,) = drawn
    assert len(figure.axes) == n_panels
    precision, recall = figure.axes[0].lines[:2]
    assert recall.get_ydata()[-1] == 1
    if argv is BINARY:
        assert precision.get_ydata()[-1] == pytest.approx(frame["y"].mean())


def test_evaluate_cannot_draw_a_list_without_relevant_rows(folder, capsys):
    frame = write_rows()
    train(GRADED)
    frame.assign(grade=frame["grade"] - 5).to_csv("rows.csv", index=False)
    capsys.readouterr()
    assert main(["evaluate", "m.skops", "rows.csv", "--plot", "p.png"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "rows.csv: --plot needs a row with a relevance above 0" in captured.err
    assert not Path("p.png").exists()


def test_evaluate_keeps_files_without_force(folder, capsys):
    write_rows()
    train(BINARY)
    Path("p.png").write_text("the old one")
    assert main(["evaluate", "m.skops", "rows.csv", "--plot", "p.png"]) == 2
    assert "p.png: exists; add --force" in capsys.readouterr().err
    assert Path("p.png").read_text() == "the old one"


def test_intervals_hold_the_true_auc_of_a_model():
    """Rows are drawn again and again, the ranking stays."""
    rng, y = np.random.default_rng(0), np.repeat([0.0, 1.0], [80, 40])
    true, hits = norm.cdf(1 / np.sqrt(2)), 0
    for _ in range(300):
        found = compute_intervals(LabelledRows(y, None), y + rng.normal(size=120))["auc"]
        hits += found.low <= true <= found.high
    assert 0.91 < hits / 300 < 0.99
