"""The option --cluster of train: the model of one machine, and everything that is refused."""

import sys
from dataclasses import replace
from itertools import pairwise

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from commands import fails
from distributed import Client, LocalCluster

from sklearn_rank import PNormPushRanker
from sklearn_rank.cli import _cluster, _rankers, main
from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.dataset import training_data
from sklearn_rank.cli._tables.options import TableOptions

PARTS = "parts/*.parquet"
pytestmark = [
    # Sockets and loops of a cluster that is closed end in threads of its own.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

BASIC = ["--target", "late", "--drop", "day,city", "-o", "m.skops"]
# One machine leaves rows out for early stopping, a cluster never does.
FAST = ["--param", "n_estimators=8", "--param", "n_iter_no_change=none"]


def loans(n=400, seed=0):
    """Make a table with row numbers, missing values, categories, texts and dates."""
    rng = np.random.default_rng(seed)
    income, rate = rng.lognormal(10, 1, n).round(), rng.integers(1, 9, n)
    kind = pd.Categorical(rng.choice(["car", "home", "boat"], n), ["boat", "car", "home", "never"])
    risk = rate + 3.0 * (kind == "boat") + 2 * rng.normal(size=n)
    income[rng.random(n) < 0.1] = np.nan
    kind[rng.random(n) < 0.1] = None
    return pd.DataFrame(
        {
            "number": np.arange(n),
            "income": income,
            "rate": rate,
            "kind": kind,
            "owner": rng.random(n) < 0.5,
            "weight": rng.integers(1, 4, n),
            "branch": [f"b{one}" for one in np.sort(rng.integers(0, 12, n))],
            "city": rng.choice(["Oslo", "Rome"], n),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "late": np.where(risk > np.median(risk), "yes", "no"),
            "grade": np.digitize(risk, np.quantile(risk, [0.5, 0.8])),
        }
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Go to a folder with a table in one file and in three, one of a few rows."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "parts").mkdir()
    write(loans())
    return tmp_path


def write(frame):
    """Write a table; the second part is small, and some queries are in two parts."""
    frame.to_parquet("all.parquet")
    places = [0, 205, 230, len(frame)]
    for number, (start, end) in enumerate(pairwise(places)):
        frame.iloc[start:end].to_parquet(f"parts/{number}.parquet")


@pytest.fixture(scope="module")
def address():
    """Start two workers in this process."""
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False}
    with LocalCluster(
        **options, protocol="tcp://", host="127.0.0.1", dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster.scheduler_address


def scores(model):
    assert main(["rank", model, "all.parquet", "-o", "r.csv", "--force"]) == 0
    return pd.read_csv("r.csv").sort_values("number")["score"].to_numpy()


# ---------------------------------------------------------------------------- models


SETTINGS = {
    "weights": ["--ranker", "RankBoost", "--weight", "weight", "--drop", "branch,grade", *FAST],
    "push": ["--param", "p=4", "--drop", "branch,grade,weight", *FAST],
    "text as category": ["--drop", "branch,grade,weight", "--category", "rate", *FAST],
    "queries": ["--ranker", "RankBoost", "--qid", "branch", "--drop", "grade,weight", *FAST],
    "linear": ["--ranker", "ListNetLinear", "--qid", "branch", "--drop", "grade,weight"],
}


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_the_model_is_that_of_one_machine(folder, capsys, address, setting):
    assert main(["train", "all.parquet", *BASIC, *setting]) == 0
    expected, of_one = scores("m.skops"), load_model("m.skops", [])
    capsys.readouterr()
    assert main(["train", PARTS, *BASIC, *setting, "--force", "--cluster", address]) == 0
    printed = capsys.readouterr()
    assert "fitted on parts/*.parquet: 400 rows" in printed.out
    assert "'number' is not used" in printed.err
    model = load_model("m.skops", [])
    schema = replace(model.schema, summaries=of_one.schema.summaries)
    assert schema == of_one.schema
    assert len(set(schema.rows)) == 256
    check_pooled(model.schema.summaries, of_one.schema.summaries)
    assert type(model.pipeline[-1]) is type(of_one.pipeline[-1])
    tolerance = 1e-4 if "ListNetLinear" in setting else 1e-9
    np.testing.assert_allclose(scores("m.skops"), expected, atol=tolerance * np.ptp(expected))
    assert main(["evaluate", "m.skops", "all.parquet"]) == 0
    noted = capsys.readouterr().err
    assert "100% of the rows are rows that the model was trained on" in noted
    assert "differ" not in noted


def check_pooled(found, expected):
    """Summaries from those of the parts, whose bins are hundredths of their rows."""
    assert list(found) == list(expected)
    for name, one in expected.items():
        shares = [np.cumsum(each["counts"]) for each in (found[name], one)]
        if name in {"income"}:
            assert abs(shares[0] - shares[1]).max() <= 0.01 * 400 + 1
            np.testing.assert_allclose(found[name]["cuts"], one["cuts"], rtol=0.2)
        else:
            assert found[name] == one


@pytest.mark.slow
def test_workers_of_this_machine(folder, capsys):
    drop = ["--drop", "branch,weight,late"]
    argv = [*BASIC[2:], *drop, "--target", "grade", "--relevance", "graded", *FAST]
    argv += ["--ranker", "RankBoost"]
    assert main(["train", "all.parquet", *argv]) == 0
    expected = scores("m.skops")
    assert main(["train", PARTS, *argv, "--force", "--cluster", "local"]) == 0
    np.testing.assert_allclose(scores("m.skops"), expected, rtol=1e-9)


def test_rows_without_a_target(folder, capsys, address):
    frame = loans()
    frame.loc[::10, "late"] = None
    write(frame)
    argv = [*BASIC, "--drop", "branch,grade,weight", *FAST]
    cluster = [PARTS, *argv, "--cluster", address]
    assert "40 rows without a value of 'late'; --skip-unlabelled" in fails(
        ["train", *cluster], capsys
    )
    assert main(["train", "all.parquet", *argv, "--skip-unlabelled"]) == 0
    expected = scores("m.skops")
    assert main(["train", *cluster, "--skip-unlabelled", "--force"]) == 0
    np.testing.assert_allclose(scores("m.skops"), expected, rtol=1e-9)


@pytest.mark.parametrize("model", [PNormPushRanker(), PNormPushRanker(solver="lbfgs")])
def test_encoders_are_those_of_all_rows(folder, model):
    options = TableOptions("all.parquet", target="late", drop=["day", "city", "branch"])
    data = training_data(options, [])
    expected = _rankers.pipeline_for(model, data.schema)[:-1].fit(data.X)
    parts = dd.read_parquet("parts").to_delayed()
    source = _cluster._Source("parts", options)
    features = [name for name in loans() if name not in {"late", "day", "city", "branch"}]
    digests = [source.digest(part.compute(), features, {"kind", "owner"}) for part in parts]
    schema, X = _cluster._schema(digests, source, "any", [])
    assert schema == replace(data.schema, rows=(), summaries={})
    pipeline = _rankers.pipeline_for(model, schema)
    _cluster._fit_encoders(pipeline, X, parts, source, schema)
    found = pipeline[:-1]
    assert list(found.get_feature_names_out()) == list(expected.get_feature_names_out())
    np.testing.assert_allclose(found.transform(data.X), expected.transform(data.X), rtol=1e-9)


# ---------------------------------------------------------------------------- refusals


REFUSED = {
    "search": (["--search", "p=1,4"], "--search does not go with --cluster"),
    "validation": (["--validation", "all.parquet"], "--validation does not go with --cluster"),
    "calibration": (["--calibrate", "0.2"], "--calibrate does not go with --cluster"),
    "early stopping": (["--param", "n_iter_no_change=5"], "n_iter_no_change=5"),
    "power": (["--param", "p=inf", "--param", "solver=lbfgs"], "p=inf"),
    "one list": (["--ranker", "ListNetLinear"], "qid=None: its loss is a sum over queries"),
    "column": (["--drop", "foo"], "no column 'foo' for --drop"),
}


@pytest.mark.parametrize(("words", "part"), REFUSED.values(), ids=REFUSED)
def test_what_a_cluster_refuses(folder, capsys, words, part):
    assert part in fails(["train", PARTS, *BASIC, *words, "--cluster", "local"], capsys)


def test_columns_of_other_types_are_named(folder, capsys):
    argv = [PARTS, "--target", "late", "--drop", "branch", "-o", "m.skops", "--cluster", "local"]
    message = fails(["train", *argv], capsys)
    assert "takes columns of numbers and categories only, not 'city' (string), 'day'" in message


def test_files_that_are_not_there_or_not_parquet(folder, capsys):
    end = [*BASIC, "--cluster", "local"]
    assert "none*.parquet: no such file" in fails(["train", "none*.parquet", *end], capsys)
    loans().to_csv("loans.csv")
    assert "loans.csv: --cluster reads Parquet files only" in fails(
        ["train", "loans.csv", *end], capsys
    )


def test_too_many_categories_are_named(folder):
    frame = loans()
    frame["kind"] = pd.Categorical([f"k{i % 50}" for i in range(len(frame))])
    write(frame)
    options = TableOptions("parts", target="late")
    parts = dd.read_parquet("parts").to_delayed()
    source = _cluster._Source("parts", options)
    digests = [source.digest(part.compute(), ["kind", "rate"], {"kind"}) for part in parts]
    with pytest.raises(_cluster.InputError, match="'kind' has more than the 40 categories"):
        _cluster._schema(digests, source, "RankBoost", [])


def test_dask_may_be_missing(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    message = fails(["train", PARTS, *BASIC, "--cluster", "local"], capsys)
    assert 'pip install "sklearn-rank[dask]"' in message


def test_no_scheduler_at_the_address(folder, capsys, monkeypatch):
    monkeypatch.setattr(_cluster, "_SECONDS", 1)
    argv = [PARTS, *BASIC, "--drop", "branch", "--cluster", "tcp://127.0.0.1:9"]
    assert "--cluster tcp://127.0.0.1:9: no scheduler answers" in fails(["train", *argv], capsys)


def test_nothing_is_left_running(folder, capsys, address):
    frame = loans().assign(late="yes")
    write(frame)
    argv = [PARTS, *BASIC, "--drop", "branch", "--cluster", address]
    assert "has one class only" in fails(["train", *argv], capsys)
    with Client(address) as client:
        assert not any(client.processing().values())
