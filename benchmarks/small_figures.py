"""Figures of the pages that no other benchmark measures: each part takes seconds to minutes.

    python benchmarks/small_figures.py --data DIR --json docs/benchmarks/small_figures.json
    python benchmarks/small_figures.py --data DIR --json FILE --part stopping pairs

Parts that are not named keep the tables that FILE has. `quoted_figures/` says which sentence each
figure stands in.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import mean, median

import numpy as np
from _harness import (
    describe_machine,
    peak_bytes,
    resident_bytes,
    run_in_process,
    timed,
    watch,
)
from _list_tables import TABLES, split_of
from _real_data import add_data_option
from _report import Report, Table
from sklearn.model_selection import train_test_split

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.metrics import (
    auc_score,
    ks_interval,
    partial_auc_score,
    tpr_at_fpr_score,
)
from sklearn_rank.models import Stumps

MOST_ROWS = 8_000
SMALLER = [name for name in TABLES if name not in ("adult", "magic")]
N_MEMORY, N_FEATURES = 1_000_000, 20
WITH_ONNX = 3
"""Rankers that are scored in onnxruntime as well."""


def auc_of(model, parts):
    """Return the AUC of test rows."""
    X, X_test, y, y_test = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few rows of the rarer class to stop early
        model.fit(X[:MOST_ROWS], y[:MOST_ROWS])
    return auc_score(y_test, model.decision_function(X_test))


def stopping(folder):
    """Early stopping minus all rounds, AUC of new rows, by table."""
    systems = {
        "RankBoost": (5, RankBoost),
        "trees, 200 rounds": (1, lambda **of: BoostedTreesRanker(engine="lightgbm", **of)),
        "trees, 600 rounds": (
            1,
            lambda **of: BoostedTreesRanker(engine="lightgbm", n_estimators=600, **of),
        ),
    }
    rows = []
    for name, (n_splits, model) in systems.items():
        gains = []
        for table in SMALLER:
            found = []
            for number in range(n_splits):
                parts = split_of(table, folder, number)
                whole = auc_of(model(random_state=0), parts)
                found.append(auc_of(model(random_state=0, n_iter_no_change=10), parts) - whole)
            gains.append(mean(found))
        rows.append([name, len(SMALLER), n_splits, mean(gains), min(gains), max(gains)])
    columns = ["model", "tables", "splits", "mean", "smallest", "largest"]
    return Table("Early stopping minus all rounds, AUC", columns, rows)


def pairs(folder):
    """Pairs of features of stumps on MAGIC, one split."""
    X, X_test, y, y_test = split_of("magic", folder, 0)
    rows = []
    for n_pairs in (0, 5):
        ranker = RankBoost(n_estimators=300, weak_ranker=Stumps(max_pairs=n_pairs)).fit(X, y)
        scores = ranker.decision_function(X_test)
        top = partial_auc_score(y_test, scores, max_fpr=0.05)
        rows.append([n_pairs, auc_score(y_test, scores), top])
    return Table("Pairs of features, MAGIC, 300 rounds", ["pairs", "AUC", "pAUC5"], rows)


def small_lists(folder):
    """Pairwise losses in trees of XGBoost beside its log-loss, halves of breast cancer."""
    from sklearn.datasets import load_breast_cancer
    from xgboost import XGBClassifier

    X, y = load_breast_cancer(return_X_y=True)
    y = (y == 0).astype(int)
    sizes = {"n_estimators": 200, "max_depth": 4, "learning_rate": 0.1, "n_jobs": 1}
    ours = {**sizes, "engine": "xgboost", "subsample": 1.0, "colsample": 1.0, "reg_lambda": 1.0}
    systems = {
        "log-loss": XGBClassifier(**sizes),
        "logistic, least 1": BoostedTreesRanker(loss="logistic", min_child_weight=1.0, **ours),
        "logistic, least .1": BoostedTreesRanker(loss="logistic", min_child_weight=0.1, **ours),
        "logistic, none": BoostedTreesRanker(loss="logistic", min_child_weight=0.0, **ours),
        "exponential, least 1": BoostedTreesRanker(
            loss="exponential", min_child_weight=1.0, **ours
        ),
    }
    found: dict[str, list[float]] = {name: [] for name in systems}
    for seed in range(12):
        train, test = train_test_split(
            np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed
        )
        for name, model in systems.items():
            model.fit(X[train], y[train])
            raw = {"output_margin": True} if name == "log-loss" else {}
            scores = model.predict(X[test], **raw) if raw else model.decision_function(X[test])
            found[name].append(auc_score(y[test], scores))
    log_loss = np.array(found["log-loss"])
    rows = [
        [name, mean(values), float((np.array(values) - log_loss).mean())]
        for name, values in found.items()
    ]
    columns = ["objective", "AUC", "minus log-loss"]
    return Table("Trees on halves of breast cancer, 12 splits", columns, rows)


MEMORY_CASES = ("one list", "queries", "one list, early stopping", "queries, early stopping")


def memory(folder):
    """Peak memory of a fit of trees, in sizes of X, each in a process of its own."""
    rows = []
    for case in MEMORY_CASES:
        row = [case]
        for engine in ("lightgbm", "xgboost"):
            found = run_in_process(__file__, ["--memory", case, engine], threads=1)
            row.append(found["extra_mb"] * 1e6 / (8 * N_MEMORY * N_FEATURES))
        rows.append(row)
    title = "Peak memory of a fit of a million rows of 20 features, in sizes of X"
    return Table(title, ["rows", "LightGBM", "XGBoost"], rows)


def memory_of(case, engine):
    """Return what a fit needs beyond what was resident before."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_MEMORY, N_FEATURES))
    raw = X[:, 0] + rng.standard_normal(N_MEMORY)
    is_list = case.startswith("one list")
    y = (raw > 0).astype(int) if is_list else np.digitize(raw, [-1, 0, 1, 2])
    qid = {} if is_list else {"qid": np.arange(N_MEMORY) // 100}
    del raw
    stops = {"n_iter_no_change": 10} if "stopping" in case else {}
    relevance = "binary" if is_list else "graded"
    sizes = {"n_estimators": 20, "n_jobs": 1, "random_state": 0}
    ranker = BoostedTreesRanker(engine=engine, relevance=relevance, **sizes, **stops)
    ranker_of_few = BoostedTreesRanker(engine=engine, relevance="binary", **sizes)
    ranker_of_few.fit(X[:1000], np.arange(1000) % 2)  # imports the engine
    return watch(lambda: ranker.fit(X, y, **qid))


FILE_CASES = ("one list, 20", "queries, 20", "one list, 50", "queries, 50")


def files(folder):
    """Trees from Parquet files beside `fit` to what pandas reads of them, each in a process."""
    rows = []
    for case in FILE_CASES:
        n_features = int(case.rpartition(" ")[2])
        with tempfile.TemporaryDirectory() as parquet:
            write_rows(case.startswith("queries"), n_features, Path(parquet))
            row = [case]
            for way in ("files", "rows", "worker"):
                found = run_in_process(__file__, ["--fit", way, case, parquet], threads=1)
                if "error" in found:
                    raise RuntimeError(found["error"])
                row += [found["extra_mb"] * 1e6 / (8 * N_MEMORY * n_features), found["cpu"]]
        rows.append(row)
    ways = ("fit_files", "fit", "DaskRanker, one worker")
    columns = ["rows", *(cell for way in ways for cell in (way, f"{way}: processor s"))]
    title = "Trees of a million rows in Parquet files, 20 rounds: memory in sizes of X"
    return Table(title, columns, rows)


def write_rows(has_queries, n_features, folder):
    """Write a million rows to ten files, in one list or in queries of 100 rows."""
    import pandas as pd

    rng = np.random.default_rng(0)
    for number in range(10):
        X = rng.standard_normal((N_MEMORY // 10, n_features))
        raw = X[:, 0] + rng.standard_normal(len(X))
        y = np.digitize(raw, [-1, 0, 1, 2]) if has_queries else (raw > 0).astype(int)
        frame = pd.DataFrame(X).add_prefix("x").assign(target=y)
        if has_queries:
            frame["query"] = np.arange(len(X)) // 100 + number * 1000
        frame.to_parquet(folder / f"{number}.parquet")


def fit_of(way, case, folder):
    """Return memory and processor time of a fit to files, by itself or to what pandas reads."""
    import pandas as pd

    has_queries = case.startswith("queries")
    relevance = "graded" if has_queries else "binary"
    sizes = {"engine": "xgboost", "n_estimators": 20, "n_jobs": 1, "random_state": 0}
    ranker = BoostedTreesRanker(relevance=relevance, **sizes)
    few = pd.read_parquet(Path(folder) / "0.parquet").head(1000)
    BoostedTreesRanker(**sizes).fit(few.to_numpy()[:, :2], np.arange(1000) % 2)  # imports
    qid = {"qid": "query"} if has_queries else {}
    if way == "worker":
        return fit_of_worker(ranker, Path(folder), qid)

    def of_rows():
        table = pd.read_parquet(folder)
        rows = {"qid": table.pop("query")} if has_queries else {}
        y = table.pop("target")
        ranker.fit(table, y, **rows)

    started = time.process_time()
    fit = of_rows if way == "rows" else lambda: ranker.fit_files(folder, target="target", **qid)
    return {**watch(fit), "cpu": time.process_time() - started}


def fit_of_worker(ranker, folder, qid):
    """Return memory and processor time of one worker of a cluster that fits the ranker."""
    import dask.dataframe as dd
    import pandas as pd
    from distributed import Client, LocalCluster

    from sklearn_rank.dask import DaskRanker

    def fit(files):
        table = dd.read_parquet(files)
        y, queries = table["target"], {name: table[column] for name, column in qid.items()}
        X = table[[name for name in table.columns if name.startswith("x")]]
        DaskRanker(ranker, client=client).fit(X, y, **queries)

    one = {"n_workers": 1, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(host="127.0.0.1", **one) as workers, Client(workers) as client:
        with tempfile.TemporaryDirectory() as few:  # imports
            table = pd.read_parquet(folder / "0.parquet").head(1000)
            table.to_parquet(Path(few) / "0.parquet")
            fit(few)
        before, started = sum(client.run(resident_bytes).values()), cpu_of(client)
        fit(str(folder))
        used = sum(client.run(peak_bytes).values()) - before
        return {"extra_mb": used / 1e6, "cpu": cpu_of(client) - started}


def cpu_of(client):
    """Return the processor time of a cluster's workers."""
    return sum(client.run(time.process_time).values())


def one_row(folder):
    """Milliseconds of one row, processor time, in Python and in onnxruntime."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 20))
    y = (X[:, 0] + rng.standard_normal(2_000) > 0).astype(int)
    rankers = {
        "RankBoost": RankBoost(),
        "PNormPushRanker": PNormPushRanker(weak_ranker="feature"),
        "BoostedTreesRanker": BoostedTreesRanker(),
        "BoostedTreesRanker, XGBoost": BoostedTreesRanker(engine="xgboost"),
        "SmoothMarginRanker": SmoothMarginRanker(),
        "ListNetLinear": ListNetLinear(relevance="binary"),
        "KernelPairwiseSGDRanker, linear": KernelPairwiseSGDRanker(kernel="linear"),
    }
    for kernel in ("rbf", "poly", "sigmoid", "laplacian", "cosine"):
        ranker = KernelPairwiseSGDRanker(kernel=kernel, max_iter=5)
        rankers[f"KernelPairwiseSGDRanker, {kernel}, 300 rows"] = ranker
    rows = []
    for name, ranker in rankers.items():
        n = 300 if name.endswith("300 rows") else len(X)
        with warnings.catch_warnings(action="ignore"):  # five steps are not to converge
            ranker.fit(X[:n], y[:n])
        calls: list[Callable[[], object]] = [lambda ranker=ranker: ranker.decision_function(X[:1])]
        if len(rows) < WITH_ONNX:
            calls.append(onnx_call(ranker, X[:1]))
        found = [1e3 * seconds_of(call) for call in calls]
        rows.append([name, *found, *[None] * (2 - len(found))])
    booster = rankers["BoostedTreesRanker, XGBoost"].booster_
    booster.set_param({"nthread": 1})
    alone = seconds_of(lambda: booster.inplace_predict(X[:1], predict_type="margin"))
    rows.append(["XGBoost's own call", 1e3 * alone, None])
    columns = ["ranker", "decision_function", "onnxruntime"]
    return Table("Milliseconds of one row", columns, rows)


def onnx_call(ranker, row):
    """Return a function that scores a row in onnxruntime, on one thread."""
    import onnxruntime
    from skl2onnx import to_onnx

    import sklearn_rank.export.onnx  # noqa: F401, registers the rankers

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    graph = to_onnx(ranker, row).SerializeToString()
    session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: row}
    return lambda: session.run(None, feed)


def many_rows(folder):
    """Processor time of a million rows by 100 stumps, as a multiple of LightGBM's."""
    from lightgbm import LGBMClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_MEMORY, N_FEATURES))
    n = 20_000
    y = (X[:n, 0] + X[:n, 1] / 2 + rng.standard_normal(n) > 0).astype(int)
    ours = RankBoost(n_estimators=100, learning_rate=1, max_bins=64, n_jobs=1).fit(X[:n], y)
    sizes = {"n_estimators": 100, "num_leaves": 2, "max_bin": 64, "n_jobs": 1, "verbose": -1}
    theirs = LGBMClassifier(**sizes).fit(X[:n], y)
    calls = (lambda: ours.decision_function(X), lambda: theirs.predict(X, raw_score=True))
    ratios, seconds = [], []
    for number in range(16):
        own, other = (timed(call, time.process_time) for call in calls)
        if number:
            ratios.append(own / other)
            seconds.append(own)
    row = [median(seconds), median(ratios), min(ratios), max(ratios)]
    columns = ["seconds", "/ LightGBM", "smallest", "largest"]
    return Table("A million rows by 100 stumps", columns, [row])


def seconds_of(call, repeats=300):
    """Return the median time of a call."""
    call()
    return median(timed(call, time.process_time) for _ in range(repeats))


def credit(folder):
    """Shares of `make_credit`."""
    from sklearn_rank.datasets import make_credit

    table = make_credit(100_000, random_state=0)
    month = np.asarray(table.data.get("month", table.month))
    online = (table.data["channel"] == "online").to_numpy()
    first, last = online[month == month.min()].mean(), online[month == month.max()].mean()
    rows = [
        ["in default", float(np.mean(table.target))],
        ["online, first month", float(first)],
        ["online, last month", float(last)],
    ]
    return Table("Shares of make_credit, 100,000 rows", ["share", "value"], rows)


def coverage(folder):
    """Coverage of the interval of the Kolmogorov-Smirnov distance, normal scores."""
    from scipy.stats import norm

    rows = []
    for n_relevant in (20, 200):
        for distance in (0.5, 1.0, 2.0):
            true, rng, held = 2 * norm.cdf(distance / 2) - 1, np.random.default_rng(0), 0
            y = np.repeat([1, 0], [n_relevant, 10 * n_relevant])
            for _ in range(400):
                found = ks_interval(y, rng.standard_normal(len(y)) + distance * y)
                held += found.low <= true <= found.high
            rows.append([n_relevant, distance, held / 400])
    columns = ["relevant rows", "distance of the means", "held"]
    return Table("Intervals of the Kolmogorov-Smirnov distance, 95 %", columns, rows)


def cards(folder):
    """Cards of ten terms with p = 4 minus p = 1, by table, three splits."""
    from sklearn_rank.scorecard import Scorecard

    rows = []
    for table in TABLES:
        gains = []
        for number in range(3):
            X, X_test, y, y_test = split_of(table, folder, number)
            values = []
            for p in (4, 1):
                card = Scorecard(p=p, max_pairs=0, random_state=0)
                scores = card.fit(X[:MOST_ROWS], y[:MOST_ROWS]).decision_function(X_test)
                top = tpr_at_fpr_score(y_test, scores, max_fpr=0.05)
                values.append([auc_score(y_test, scores), top])
            gains.append(np.subtract(*values))
        rows.append([table, *(float(one) for one in np.mean(gains, axis=0))])
    means = np.mean([row[1:] for row in rows], axis=0)
    rows.append(["mean", *(float(one) for one in means)])
    return Table("Cards of ten terms, p = 4 minus p = 1", ["table", "AUC", "first 5 %"], rows)


PARTS = {
    one.__name__: one
    for one in (
        *(stopping, pairs, small_lists, memory, files, one_row, many_rows),
        *(credit, coverage, cards),
    )
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    add_data_option(parser)
    options = parser.parse_args()
    if options.memory:
        print(json.dumps(memory_of(*options.memory)))
        return
    if options.fit:
        print(json.dumps(fit_of(*options.fit)))
        return
    known = {}
    if options.json is not None and options.json.exists():
        known = {table.title: table for table in Report.load(options.json).tables}
    for name in options.part:
        found = PARTS[name](options.data)
        known[found.title] = found
        machine = describe_machine("lightgbm", "xgboost", "onnxruntime")
        report = Report("small_figures", SETTINGS, machine, list(known.values()))
        report.publish(options.json)


SETTINGS = "Single figures of the pages, one thread; each table says what it is of."


if __name__ == "__main__":
    main()
