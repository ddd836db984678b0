"""The command line, run in process: results, files left behind, and every kind of bad input."""

import gzip
import json
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from commands import FAST, fails, param, run
from libraries import need_extra
from rankers import RANKERS, cheap

import sklearn_rank
from sklearn_rank import PNormPushRanker
from sklearn_rank.cli import _rankers, main
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import ranking_scorer


def loans(n=120, seed=0):
    """Make a table with every kind of column: ids, numbers, text, booleans, missing values."""
    rng = np.random.default_rng(seed)
    age = rng.normal(40, 10, n).round(1)
    city = rng.choice(["Oslo", "Rome", "Lima"], n).astype(object)
    risk = age / 10 + 2.0 * (city == "Oslo") + rng.normal(size=n)
    owner = rng.choice([True, False], n).astype(object)
    income = rng.lognormal(10, 1, n).round()
    income[::7], city[::11], owner[::13] = np.nan, None, None
    return pd.DataFrame(
        {
            "id": [f"{i:05}x" for i in rng.permutation(n)],
            "age": age,
            "income": income,
            "city": city,
            "owner": owner,
            "branch": rng.integers(0, 12, n),
            "default": np.where(risk > np.median(risk), "yes", "no"),
            "grade": np.digitize(risk, np.quantile(risk, [0.5, 0.8])),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to an empty folder with two tables, so that messages hold short names."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    loans().to_csv("loans.csv", index=False)
    loans(seed=1).to_csv("new.csv", index=False)
    return tmp_path


@pytest.fixture
def model(folder, capsys):
    """Train a small model on loans.csv."""
    run(["train", "loans.csv", "--target", "default", "--drop", "grade", "-o", "m.skops", *FAST])
    capsys.readouterr()
    return "m.skops"


def write_letor(name, queries, n_features=None):
    rows = zip(queries.data, queries.target, queries.qid, strict=True)
    lines = []
    for i, (x, y, q) in enumerate(rows):
        entries = " ".join(f"{j}:{v:.6f}" for j, v in enumerate(x[:n_features], 1))
        lines.append(f"{y} qid:{q} {entries} # d{i}\n")
    content = "".join(lines).encode()
    Path(name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


# ---------------------------------------------------------------------------- compare


def test_json_holds_every_fold_and_is_reproducible(folder, capsys):
    argv = ["compare", "loans.csv", "--target", "default", "--qid", "branch", "--cv", "3"]
    argv += ["--rankers", "RankBoost", "-o", "r.json", *FAST]
    run(argv)
    content = json.loads(Path("r.json").read_text())
    assert content["positive"] == "yes"
    assert json.loads(content["key"]["param"]) == {"n_estimators": 5}
    assert content["n_queries"] == 12
    for name in ["RankBoost", "logistic regression"]:
        assert list(content["results"][name]) == ["auc", "ndcg@10"]
        for summary in content["results"][name].values():
            assert len(summary["folds"]) == 3
    run([*argv, "--force"])
    again = json.loads(Path("r.json").read_text())
    for key in ("auc", "ndcg@10"):
        assert again["results"]["RankBoost"][key] == content["results"]["RankBoost"][key]


BIG = ["compare", "big.csv", "--target", "default", "--cv", "3", *FAST]


@pytest.fixture
def square_rows(folder, monkeypatch):
    """Write a table with one training row too many for a kernel, and lower the limit to that."""
    loans()[["age", "income", "default"]].to_csv("big.csv", index=False)
    monkeypatch.setattr(_rankers, "MAX_QUADRATIC_ROWS", 79)


@pytest.mark.slow
def test_a_kernel_is_left_out_on_many_rows(square_rows, capsys, monkeypatch):
    run(BIG)
    captured = capsys.readouterr()
    assert "KernelPairwiseSGDRanker" not in captured.out
    assert (
        "note: KernelPairwiseSGDRanker skipped: slow with more than 79 training rows "
        "(list it in --rankers to run it)\n"
    ) in captured.err
    monkeypatch.setattr(_rankers, "MAX_QUADRATIC_ROWS", 80)
    run(BIG)
    captured = capsys.readouterr()
    assert "KernelPairwiseSGDRanker  0." in captured.out
    assert "slow with" not in captured.err


@pytest.mark.slow
def test_ids_and_crowded_text_columns_are_noted(folder, capsys):
    need_extra("skrub")
    table = loans()
    table["many"] = [f"v{i % 100}" for i in range(len(table))]
    table.to_csv("t.csv", index=False)
    run(["compare", "t.csv", "--target", "default", "--rankers", "RankBoost", "--cv", "2", *FAST])
    notes = capsys.readouterr().err.splitlines()
    assert notes == [
        "note: column 'id' is not used: its text, such as '00002x', differs in nearly every row, "
        "like an id (--keep id uses it)",
        "note: column 'many' has 100 distinct texts, such as 'v10', encoded by character n-grams; "
        "--drop many leaves it out",
        "note: column 'grade' alone orders the rows with an AUC of 1.0000: likely a leak of the "
        "target; --drop grade unless it is known when rows are ranked",
    ]


@pytest.mark.slow
def test_queries_reach_the_ranker_and_are_never_split(folder, capsys, monkeypatch):
    seen = []
    original = PNormPushRanker.fit

    def fit(self, X, y, *, qid=None, **more):
        seen.append(set(qid))
        return original(self, X, y, qid=qid, **more)

    monkeypatch.setattr(PNormPushRanker, "fit", fit)
    argv = ["compare", "loans.csv", "--target", "grade", "--relevance", "graded", "--cv", "3"]
    argv += ["--rankers", "PNormPushRanker", *FAST]
    run([*argv, "--qid", "branch", "--drop", "default,id"])
    assert len(seen) == 3
    left_out = [set(range(12)) - queries for queries in seen]
    assert set.union(*left_out) == set(range(12))
    assert sum(map(len, left_out)) == 12


# ---------------------------------------------------------------------------- train, rank, evaluate


@pytest.mark.parametrize("qid", [None, "branch"])
@pytest.mark.parametrize("relevance", ["binary", "graded"])
@pytest.mark.parametrize(
    ("ranker", "parameters"),
    [
        *((ranker.__name__, cheap(ranker, 5)) for ranker in RANKERS),
        ("KernelPairwiseSGDRanker", {"kernel": "linear", "alpha": 0.1}),
        ("KernelPairwiseSGDRanker", {"loss": "hinge", "batch_size": 20, "average": "true"}),
    ],
    ids=str,
)
def test_train_rank_evaluate(folder, capsys, ranker, parameters, relevance, qid):
    target = "default" if relevance == "binary" else "grade"
    argv = ["train", "loans.csv", "--target", target, "--relevance", relevance]
    if parameters:
        argv += param(*(f"{name}={value}" for name, value in parameters.items()))
    argv += ["--ranker", ranker, "--drop", "id,grade" if target == "default" else "id,default"]
    run([*argv, "-o", "m.skops", *(["--qid", qid] if qid else [])])
    run(["rank", "m.skops", "new.csv", "-o", "ranked.csv"])
    run(["evaluate", "m.skops", "new.csv", "-o", "e.json"])
    captured = capsys.readouterr()
    # Five rounds are too few for a positive smooth margin, which its ranker says, and random
    # steps seldom end before they have been taken.
    assert all(line.startswith(f"note: {ranker}: ") for line in captured.err.splitlines())
    assert (captured.err != "") == (ranker == "SmoothMarginRanker") or "batch_size" in parameters
    assert "m.skops: " in captured.out
    results = json.loads(Path("e.json").read_text())["results"]
    top = "ndcg@10" if qid or relevance == "graded" else "tpr@0.05"
    first_rows = [] if top == "ndcg@10" else ["precision@10", "recall@10"]
    assert list(results) == ["auc", top, *first_rows]
    assert "interval" in results["auc"]
    assert ("interval" in results[top]) == (qid is not None or relevance == "binary")

    ranked = pd.read_csv("ranked.csv")
    groups = ranked.groupby(qid) if qid else [(None, ranked)]
    for _, group in groups:
        assert (np.diff(group["score"]) <= 0).all()
        assert list(group["rank"]) == list(range(1, len(group) + 1))
        assert (np.diff(group.index) == 1).all()
    y = (ranked["default"] == "yes") if relevance == "binary" else ranked["grade"]
    codes = None if qid is None else ranked[qid].to_numpy()
    for name, found in results.items():
        expected = ranking_scorer(name).measure(y.to_numpy(float), ranked["score"], qid=codes)
        assert found["mean"] == pytest.approx(expected, abs=1e-12)
    assert results["auc"]["mean"] > 0.55


def test_ranking_keeps_the_cells_as_they_were(model, capsys):
    table = pd.read_csv("new.csv", dtype=str, keep_default_na=False)
    table["id"] = [f"{i:05}" for i in range(len(table))]  # 00007 is not the number 7
    table.drop(columns=["default", "grade"]).to_csv("new.csv", index=False)
    run(["rank", model, "new.csv", "-o", "ranked.csv"])
    ranked = pd.read_csv("ranked.csv", dtype=str, keep_default_na=False)
    assert list(ranked.columns) == [*table.columns.drop(["default", "grade"]), "score", "rank"]
    ranked = ranked.sort_values("id").reset_index(drop=True)
    pd.testing.assert_frame_equal(ranked[["id", "city"]], table[["id", "city"]])
    np.testing.assert_array_equal(pd.to_numeric(ranked["income"]), pd.to_numeric(table["income"]))


def test_rank_to_stdout_is_pure_csv(model, capsys):
    run(["rank", model, "new.csv", "-o", "ranked.csv"])
    capsys.readouterr()
    run(["rank", model, "new.csv"])
    assert capsys.readouterr().out == Path("ranked.csv").read_text()


@pytest.mark.parametrize(
    ("source", "out"), [("t.csv", "o.parquet"), ("t.tsv.gz", "o.tsv"), ("t.parquet", "o.csv.gz")]
)
def test_formats_give_the_same_scores(model, capsys, source, out):
    table = loans(seed=1).drop(columns="id")
    if source.endswith(".parquet"):
        table.to_parquet(source)
    else:
        table.to_csv(source, index=False, sep="\t" if ".tsv" in source else ",")
    run(["rank", model, source, "-o", out])
    run(["rank", model, "new.csv", "-o", "reference.csv"])
    separator = "\t" if ".tsv" in out else ","
    ranked = pd.read_parquet(out) if out.endswith(".parquet") else pd.read_csv(out, sep=separator)
    np.testing.assert_allclose(ranked["score"], pd.read_csv("reference.csv")["score"], rtol=1e-12)


def test_booleans_and_text_are_known_again_in_other_spellings(folder, capsys):
    rng = np.random.default_rng(0)
    flag, code = rng.random(60) < 0.5, rng.choice(["1", "2", "A"], 60)
    y = (flag ^ (rng.random(60) < 0.1)).astype(int)
    pd.DataFrame({"flag": flag, "code": code, "y": y}).to_csv("a.csv", index=False)
    run(["train", "a.csv", "--target", "y", "-o", "m.skops", *FAST])
    # Here the column looks numeric, and the booleans are written in capitals.
    pd.DataFrame({"flag": ["TRUE", "FALSE"], "code": ["1", "2"]}).to_csv("b.csv", index=False)
    capsys.readouterr()
    run(["rank", "m.skops", "b.csv", "-o", "-"])
    captured = capsys.readouterr()
    assert captured.err == ""
    assert captured.out.splitlines()[1].startswith("TRUE,1,")


def test_letor_files(folder, capsys):
    queries = make_queries(n_queries=20, rows_per_query=15, n_features=5, random_state=0)
    write_letor("train.txt.gz", queries)
    write_letor("test.svm", queries)
    argv = ["compare", "train.txt.gz", "--relevance", "graded", "--rankers", "RankBoost"]
    run([*argv, "--cv", "2", "-o", "c.json", *FAST])
    assert json.loads(Path("c.json").read_text())["n_queries"] == 20
    notes = capsys.readouterr().err.splitlines()
    assert notes == [
        "note: logistic regression predicts relevance > 0; the other baselines predict the grades",
        "note: the baselines ignore the queries",
    ]
    run(["train", "train.txt.gz", "--relevance", "graded", "-o", "m.skops", *FAST])
    run(["evaluate", "m.skops", "test.svm"])
    run(["rank", "m.skops", "test.svm", "-o", "o.csv"])
    assert "note: " not in capsys.readouterr().err
    ranked = pd.read_csv("o.csv")
    assert list(ranked.columns) == (
        ["target", "qid", "f1", "f2", "f3", "f4", "f5", "comment", "score", "rank"]
    )
    assert sorted(ranked["comment"]) == sorted(f"d{i}" for i in range(300))
    assert ranked["target"].dtype.kind == "i"


# ---------------------------------------------------------------------------- bad input


LINE = "compare loans.csv --target default"
COMPARE = LINE.split()
ALL_COMMANDS = "are card, card export, compare, evaluate, export, rank, train"
ONE_FAST = [*COMPARE[1:], "--cv", "2", "--rankers", "RankBoost", *FAST]
TRAIN = ["train", "loans.csv", "--target", "default", "-o", "out.skops"]


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        ([], [f"missing command; the commands {ALL_COMMANDS}"]),
        (["order"], ["'order'", "compare", "train", "rank", "evaluate"]),
        (["comprae"], ["did you mean 'compare'? the commands are card, card export"]),
        (["--fast"], ["o such option", "--fast", "--version"]),
        ([*COMPARE, "--folds", "3"], ["no such option '--folds'", "--cv", "--rankers"]),
        (["rank", "--tpo", "9"], ["'--tpo'; did you mean '--top'? the options are", "--sep"]),
        ("train loans.csv more.csv -o m.skops", ["got unexpected extra argument (more.csv)"]),
        (["train", "loans.csv"], ["missing option", "--output"]),
        ([*COMPARE, "--cv", "many"], ["'many' is not a valid integer range"]),
        ([*COMPARE, "--cv", "100"], ["--cv 100", "leaves only one target value in a fold"]),
        ([*COMPARE, "--cv", "13", "--qid", "branch"], ["--cv 13", "12"]),
        ([*COMPARE, "--n-jobs", "0"], ["--n-jobs", "0"]),
        ([*COMPARE, "--relevance", "ordinal"], ["'ordinal'", "binary", "graded"]),
        (f"{LINE} --rankers Boost", ["unknown ranker 'Boost'", "PNormPushRanker, RankBoost"]),
        ([*COMPARE, "-o", "r.txt"], ["r.txt", "must end in .json"]),
        ([*COMPARE, "--drop", "colour"], ["loans.csv: no column 'colour' for --drop", "age"]),
        ([*COMPARE, "--qid", "query"], ["no column 'query' for --qid", "branch"]),
        ([*COMPARE, "--qid", "default"], ["must name different columns"]),
        ([*COMPARE, "--drop", "default"], ["must name different columns"]),
        ([*COMPARE, "--positive", "maybe"], ["'maybe' (--positive); the classes are no, yes"]),
        (f"{LINE} --relevance graded", ["must hold numbers for --relevance graded", "row 1 holds"]),
        (
            ["compare", "loans.csv", "--target", "grade"],
            ["3 values (0, 1, 2)", "--relevance graded", "--positive VALUE"],
        ),
        (f"{LINE} --relevance graded --positive 2", ["--positive requires --relevance binary"]),
        (["compare", "loans.csv"], ["--target COL is required", "id, age, income, city"]),
        (
            ["compare", "loans.csv", "--target", "label"],
            ["loans.csv: no column 'label' for --target", "id, age, income, city, owner"],
        ),
        (["compare", "--target", "label"], ["--target requires DATA, the file with the columns"]),
        (["compare", "nowhere.csv", "--target", "y"], ["nowhere.csv: no such file"]),
        (["compare", ".", "--target", "y"], [".: "]),
        ([*TRAIN, "--ranker", "PNormPush"], ["'PNormPush'; did you mean 'PNormPushRanker'?"]),
        ([*TRAIN, "--param", "q=3"], ["q: not a parameter of PNorm", "n_estimators", " p,"]),
        ([*TRAIN, "--param", "pp=4"], ["did you mean 'p'? the parameters are"]),
        ([*TRAIN, "--param", "p"], ["--param p: must be NAME=VALUE"]),
        ([*TRAIN, "--param", "p=2", "--param", "p=3"], ["--param p=3: 'p' is given twice"]),
        (["train", "--drop", "a", "-o", "m.skops"], ["missing argument 'DATA'"]),
        ([*TRAIN, "--param", "relevance=graded"], ["relevance: not a parameter of"]),
        ([*TRAIN, "--param", "p=0.5"], ["PNormPushRanker", "'p'", "[1, inf]", "0.5"]),
        ([*TRAIN, "--param", "scoring=ndcg@x"], ["PNormPushRanker", "'scoring'", "ndcg@k"]),
        ([*TRAIN[:-1], "out.pkl"], ["out.pkl", "must end in .skops"]),
        (["rank", "none.skops", "loans.csv", "-o", "-"], ["none.skops: no such file"]),
        (["rank", "loans.csv", "loans.csv", "-o", "o.xlsx"], ["o.xlsx", ".csv", ".parquet"]),
        (["rank", *["loans.csv"] * 2, "-o", "loans.csv", "--force"], ["is an input of this com"]),
        (["rank", "loans.csv", "loans.csv", "-o", "-"], ["loans.csv: is not a model written by"]),
    ],
)
def test_bad_options(folder, capsys, argv, parts):
    message = fails(argv, capsys)
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("t.csv", "a,y\n1,0\n2,1,5\n", ["t.csv, line 3: has 3 cells"]),
        ("t.csv", "a,y\n1,0,7\n2,1,5\n", ["t.csv, line 1: has 2 cells, most lines have 3"]),
        ("t.csv", "y\n1\n0\n", ["no column is left to rank by"]),
        ("t.csv", "a,b,y\n" + "1,x,0\n1,x,1\n" * 30, ["nothing to rank by: every column is"]),
        ("t.csv", "a,b,y\n" + "1,2,0\n" * 9 + "2,2,1\n", ["--cv 5", "one target value"]),
        ("t.csv.gz", gzip.compress(b"a,y\n1,0\n" * 99, mtime=0)[:-9], ["t.csv.gz: ", "truncated"]),
        ("t.parquet", b"PAR1 it is not", ["t.parquet: is not a Parquet file"]),
        ("t.doc", "x", ["t.doc: unknown file type", ".csv", ".parquet", ".letor"]),
        ("t.gz", gzip.compress(b"a,b\n1,2\n", mtime=0), ["t.gz: unknown file type"]),
        ("t.svm", "a,y\n1,0\n", ["t.svm, line 1: "]),
        ("t.svm", "0 1:1\n1 1:2\n2 1:5\n", ["t.svm: column 'target' has 3 values (0, 1, 2)"]),
    ],
)
def test_bad_tables(folder, capsys, name, content, parts):
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    target = [] if ".csv" not in name else ["--target", "y"]
    message = fails(["compare", name, *target], capsys)
    for part in parts:
        assert part in message


def test_warnings_become_notes(folder, capsys, monkeypatch):
    original = PNormPushRanker.fit

    def fit(self, X, y, **more):
        warnings.warn("slow day\nreally", UserWarning, stacklevel=2)
        return original(self, X, y, **more)

    monkeypatch.setattr(PNormPushRanker, "fit", fit)
    run([*TRAIN, "--drop", "id,grade", *FAST])
    assert capsys.readouterr().err == "note: PNormPushRanker: slow day\n"
    run([*COMPARE, "--drop", "id,grade", "--rankers", "PNormPushRanker", "--cv", "3", *FAST])
    assert capsys.readouterr().err == "note: PNormPushRanker: slow day (in 3 of 3 folds)\n"


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        (lambda t: t.drop(columns="default"), ["no column 'default' for the model", "id, age"]),
        (lambda t: t.assign(default="no"), ["column 'default' has no row of class 'yes'"]),
        (lambda t: t.assign(default="yes"), ["only one distinct value"]),
    ],
)
def test_targets_that_evaluate_cannot_use(model, capsys, change, parts):
    change(loans()).to_csv("t.csv", index=False)
    message = fails(["evaluate", model, "t.csv"], capsys)
    for part in parts:
        assert part in message


def numbers(n=60, seed=0):
    """Make a table with a column x that says something about y."""
    rng = np.random.default_rng(seed)
    x = rng.permutation(n) * 37.5
    y = np.where(x + rng.normal(0, 300, n) > x.mean(), "yes", "no")
    return pd.DataFrame({"x": x, "other": rng.normal(size=n).round(2), "y": y})


NUMBERS = ["train", "t.csv", "--target", "y", "-o", "m.skops", *FAST]


def test_a_bad_cell_is_named_when_a_model_is_applied(folder, capsys):
    numbers().to_csv("t.csv", index=False)
    run(NUMBERS)
    capsys.readouterr()
    table = numbers(seed=1)
    table["x"] = table["x"].astype(str).where(table.index != 11, "abc")
    table.to_csv("t.csv", index=False)
    message = fails(["rank", "m.skops", "t.csv", "-o", "-"], capsys)
    assert "column 'x' must hold numbers, as it did in training, but row 12 holds 'abc'" in message


LATER = "(the last in alphabetical order)"


@pytest.mark.parametrize(
    ("below", "top", "noted"),
    [
        ("High", "Low", LATER),
        ("no", "Yes", ""),
        ("FALSE", "TRUE", ""),
        (1, 2, ""),
        ("ok", "fraud", "(judging by its name)"),
        ("good", "bad", "(judging by its name)"),
        ("stays", "Churn", "(judging by its name)"),
    ],
)
def test_which_class_is_on_top_is_noted(folder, capsys, below, top, noted):
    table = numbers()
    table.assign(y=np.where(table["y"] == "yes", top, below)).to_csv("t.csv", index=False)
    run(NUMBERS)
    captured, shown = capsys.readouterr(), str(top).replace("TRUE", "True")
    note = f"note: class {shown!r} is ranked first {noted}; --positive changes this\n"
    assert captured.err == (note if noted else "")
    assert f"rows in class {shown!r}, which should rank first" in " ".join(captured.out.split())
    run([*NUMBERS, "--force", "--positive", str(top)])
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_interrupting_the_start():
    code = """
import sys
class Finder:
    def find_spec(self, name, *rest):
        if name == "sklearn":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
from sklearn_rank.cli import main
sys.exit(main(["compare"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr == "sklearn-rank: interrupted; no file was left half-written\n"


@pytest.mark.parametrize("argv", ["--help", "--version", "compare --cv x", "compare none.csv"])
def test_quick_answers_do_not_wait_for_imports(argv):
    code = f"""
import sys
from sklearn_rank.cli import main
main({argv.split()})
slow = {{"numpy", "scipy", "sklearn", "pandas", "matplotlib", "skops"}}
print(sorted(set(sys.modules) & slow), file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[]"
    if argv == "--version":
        assert done.stdout == f"sklearn-rank {sklearn_rank.__version__}\n"


@pytest.mark.parametrize("module", ["pandas", "click", "skops.io"])
def test_missing_extra_is_named(folder, capsys, monkeypatch, module):
    # None in sys.modules is how Python says that a module cannot be imported.
    monkeypatch.setitem(sys.modules, module, None)
    argv = [*TRAIN, *FAST] if module == "skops.io" else ["compare", *ONE_FAST]
    before = sorted(Path().iterdir())
    assert main(argv) == 2
    assert sorted(Path().iterdir()) == before
    name = module.partition(".")[0]
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"sklearn-rank: error: This command requires {name}. "
        'Install it with: pip install "sklearn-rank[cli]"'
    )


# ---------------------------------------------------------------------------- model files


class Foreign:
    """A type that no model holds."""


def test_foreign_types_are_refused_by_name(folder, capsys):
    skops.io.dump({"format": "sklearn-rank model", "pipeline": Foreign()}, "m.skops")
    message = fails(["rank", "m.skops", "new.csv", "-o", "o.csv"], capsys)
    assert "m.skops: refused" in message
    assert f"{Foreign.__module__}.Foreign" in message


def test_files_that_are_not_our_models(model, capsys):
    argv = ["evaluate", "m.skops", "new.csv"]
    message = "m.skops: is not a model written by sklearn-rank train"
    for content in (b"not a zip file", Path(model).read_bytes()[:1000]):
        Path("m.skops").write_bytes(content)
        assert message in fails(argv, capsys)
    for name, text in (("readme.txt", "hello"), ("schema.json", "{not json")):
        with zipfile.ZipFile("m.skops", "w") as file:
            file.writestr(name, text)
        assert message in fails(argv, capsys)
    for stored in (PNormPushRanker(), {"format": "something else"}):
        skops.io.dump(stored, "m.skops")
        assert message in fails(argv, capsys)


def test_models_of_another_format_version(folder, capsys):
    content = {"format": "sklearn-rank model", "format_version": 99, "version": "9.9"}
    skops.io.dump(content, "m.skops")
    assert "written by sklearn-rank 9.9" in fails(["evaluate", "m.skops", "new.csv"], capsys)


# ---------------------------------------------------------------------------- files written


def test_existing_files_are_kept_without_force(model, capsys):
    for argv, name in [
        ([*TRAIN[:-1], "m.skops"], "m.skops"),
        (["rank", model, "new.csv", "-o", "kept.csv"], "kept.csv"),
        (["evaluate", model, "new.csv", "-o", "kept.json"], "kept.json"),
        ([*COMPARE, "-o", "kept.json"], "kept.json"),
    ]:
        if not name.startswith("m."):
            Path(name).write_text("keep me")
        before = Path(name).read_bytes()
        assert f"{name}: exists; add --force" in fails(argv, capsys)
        assert Path(name).read_bytes() == before
    run(["rank", model, "new.csv", "-o", "kept.csv", "--force"])
    assert Path("kept.csv").read_text().startswith("id,age")


def test_a_file_that_appears_meanwhile_is_kept(model, capsys, monkeypatch):
    original = pd.DataFrame.to_csv

    def to_csv(self, path, **options):
        Path("o.csv").write_text("somebody else's")
        original(self, path, **options)

    monkeypatch.setattr(pd.DataFrame, "to_csv", to_csv)
    assert main(["rank", model, "new.csv", "-o", "o.csv"]) == 2
    assert "o.csv: was created in the meantime" in capsys.readouterr().err
    assert Path("o.csv").read_text() == "somebody else's"
    assert not list(Path().glob(".o*"))


def test_full_disk_is_one_line(model, capsys, monkeypatch):
    def to_csv(self, path, **options):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(pd.DataFrame, "to_csv", to_csv)
    assert "No space left on device" in fails(["rank", model, "new.csv", "-o", "o.csv"], capsys)


def interrupted_write(path, *_, **__):
    with open(path, "w") as file:
        file.write("half")
    raise KeyboardInterrupt


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("command", ["train", "rank", "json"])
def test_interrupting_leaves_no_half_written_file(model, capsys, monkeypatch, command, force):
    argv, name = {
        "train": ([*TRAIN[:-1], "o.skops", *FAST], "o.skops"),
        "rank": (["rank", model, "new.csv", "-o", "o.csv"], "o.csv"),
        "json": (["evaluate", model, "new.csv", "-o", "o.json"], "o.json"),
    }[command]
    if force:
        Path(name).write_text("the old one")
        argv = [*argv, "--force"]
    before = sorted(Path().iterdir())

    with monkeypatch.context() as patch:
        patch.setattr("skops.io.dump", lambda _, path, **__: interrupted_write(path))
        patch.setattr(pd.DataFrame, "to_csv", lambda _, path, **__: interrupted_write(path))
        patch.setattr(Path, "write_text", lambda p, *_, **__: interrupted_write(p))
        assert main(argv) == 130
    assert capsys.readouterr().err.endswith("interrupted; no file was left half-written\n")
    assert sorted(Path().iterdir()) == before
    if force:
        assert Path(name).read_text() == "the old one"


# ---------------------------------------------------------------------------- the program


@pytest.mark.slow
def test_progress_is_shown_on_a_terminal_only(folder, capsys, monkeypatch):
    run(["compare", *ONE_FAST, "--drop", "id,grade"])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    run(["compare", *ONE_FAST, "--drop", "id,grade"])
    captured = capsys.readouterr()
    assert "cross-validating" in captured.err
    assert "cross-validating" not in captured.out


@pytest.mark.slow
def test_as_a_program(folder):
    command = [sys.executable, "-m", "sklearn_rank.cli", *COMPARE, "--cv", "2", *FAST]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert result.returncode == 0
    assert "PNormPushRanker" in result.stdout
    assert result.stderr.startswith(
        "note: column 'id' is not used: its text, such as '00002x', differs in"
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGPIPE convention")
def test_a_reader_that_leaves_early(model):
    loans(n=5000).drop(columns="id").to_csv("big.csv", index=False)
    command = [sys.executable, "-m", "sklearn_rank.cli", "rank", model, "big.csv", "-o", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
