"""Linear ListNet: speed beside the two BLAS passes it can't do without, and real query sets.

    python benchmarks/bench_listnet.py                   # 1e6 x 46 rows, about a minute
    python benchmarks/bench_listnet.py --rows 20000      # a quick look
    python benchmarks/bench_listnet.py --data DIR        # query sets as well

DIR (or SKLEARN_RANK_DATA) holds the folders letor_mq2008_fold1 and letor_ohsumed_s123 that
_real_data.py describes; one that is not there is left out.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

from _real_data import (  # noqa: PLC2701
    MQ2008,
    OHSUMED,
    add_data_option,
    load_mq2008,
    load_ohsumed,
)

N_FEATURES = 46
ALPHAS = [10.0**k for k in range(-5, 2)]
KINDS = {
    "many": "queries of 50 to 150 rows",
    "one": "one query",
}

# The parent imports nothing large: see bench_boosting.py.


def generate(n_rows, kind, seed=0):
    """Return X, y and qid: grades 0 to 4 that follow a linear score with noise."""
    import numpy as np

    rng = np.random.default_rng(seed)
    if kind == "one":
        qid = np.zeros(n_rows, dtype=np.int64)
    else:
        lengths = rng.integers(50, 151, n_rows // 50 + 1)
        lengths = lengths[: int(np.searchsorted(lengths.cumsum(), n_rows)) + 1]
        qid = np.repeat(np.arange(len(lengths)), lengths)[:n_rows]
    X = np.empty((n_rows, N_FEATURES))
    for start in range(0, n_rows, 100_000):
        X[start : start + 100_000] = rng.standard_normal(X[start : start + 100_000].shape)
    utility = X @ np.linspace(0.5, -0.5, N_FEATURES) + 2 * rng.standard_normal(n_rows)
    return X, np.searchsorted([0, 2, 3, 4], utility).astype(float), qid


def peak_memory():
    """Return the largest resident size of this process in bytes, or NaN."""
    try:
        import resource
    except ImportError:  # Windows
        return math.nan
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def resident_memory():
    """Return the resident size of this process in bytes; its largest where that is not told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_memory()
    return pages * os.sysconf("SC_PAGE_SIZE")


def time_gradient(n_rows, kind, repeats):
    """Time value and gradient, on one thread, and the two passes, on all, in turns."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    from sklearn_rank._parallel import Crew  # noqa: PLC2701
    from sklearn_rank.estimators._linear import LinearListwise  # noqa: PLC2701
    from sklearn_rank.objectives import CrossEntropy, Lists

    X, y, qid = generate(n_rows, kind)
    lists = Lists.from_codes(qid, n_rows)
    objective = LinearListwise(X, CrossEntropy(lists, y, np.ones(n_rows)), Crew(1))
    w, g = np.linspace(-0.1, 0.1, N_FEATURES), np.linspace(-1, 1, n_rows)

    def two_passes():
        return X @ w, X.T @ g

    times = {"gradient": [], "passes": []}
    for _ in range(repeats + 1):  # the first round warms up
        start = time.perf_counter()
        two_passes()
        times["passes"].append(time.perf_counter() - start)
        with threadpool_limits(limits=1, user_api="blas"):  # as in a fit
            start = time.perf_counter()
            objective(w)
            times["gradient"].append(time.perf_counter() - start)
    return {name: seconds[1:] for name, seconds in times.items()}


def time_fit(n_rows, kind, repeats):
    """Time fits to a gradient of 1e-6 of its start; memory of the first."""
    from sklearn_rank import ListNetLinear

    X, y, qid = generate(n_rows, kind)
    ListNetLinear().fit(X[:1000], y[:1000], qid=qid[:1000])
    before = resident_memory()
    seconds, extra = [], math.nan
    for number in range(repeats):
        start = time.perf_counter()
        model = ListNetLinear(tol=1e-6).fit(X, y, qid=qid)
        seconds.append(time.perf_counter() - start)
        if number == 0:
            extra = peak_memory() - before
    return {
        "fit": seconds,
        "n_iter": model.n_iter_,
        "extra_bytes": extra,
        "data_bytes": X.nbytes,
        "auc": model.score(X, y, qid=qid),
    }


def ranking_figures(y, scores, qid):
    """Return mean NDCG@10 (gain 2^y - 1) and MAP over queries with a relevant row.

    Tied rows: the mean over their orders (NDCG), one threshold for all (MAP).
    """
    import numpy as np
    from sklearn.metrics import average_precision_score, ndcg_score

    figures = []
    for query in np.unique(qid):
        rows = qid == query
        if y[rows].max() > 0:
            ndcg = ndcg_score([2.0 ** y[rows] - 1], [scores[rows]], k=10)
            figures.append((ndcg, average_precision_score(y[rows] > 0, scores[rows])))
    return np.mean(figures, axis=0)


def bench_mq2008(folder):
    """Choose the strength on the validation file, by NDCG@10, and test once."""
    import numpy as np

    from sklearn_rank import ListNetLinear

    train, valid, test = load_mq2008(folder)[0]
    for options in ({}, {"penalty": "l1"}):
        found = []
        for alpha in ALPHAS:
            model = ListNetLinear(alpha=alpha, max_iter=5000, **options)
            start = time.perf_counter()
            model.fit(train.data, train.target, qid=train.qid)
            seconds = time.perf_counter() - start
            figures = ranking_figures(valid.target, model.predict(valid.data), valid.qid)
            found.append((figures[0], alpha, model, seconds))
        _, alpha, model, seconds = max(found, key=lambda one: one[:2])
        ndcg, precision = ranking_figures(test.target, model.predict(test.data), test.qid)
        print(
            f"  MQ2008 fold 1, {model.penalty}: alpha {alpha:g} chosen on the validation file; "
            f"test NDCG@10 {ndcg:.4f}, MAP {precision:.4f}; fit {seconds:.3f} s, {model.n_iter_} "
            f"iterations, {np.count_nonzero(model.coef_)} of 46 features"
        )


def bench_ohsumed(folder):
    """Three folds: two subsets train, with the strength chosen inside, the third tests."""
    import numpy as np
    from sklearn.model_selection import GroupKFold

    from sklearn_rank import ListNetLinear
    from sklearn_rank.preprocessing import QueryMinMaxScaler

    results = []
    for number, (training, test) in enumerate(load_ohsumed(folder), start=1):
        y, qid = training.target, training.qid
        X = QueryMinMaxScaler().fit_transform(training.data, qid=qid)
        inner = []
        for alpha in ALPHAS:
            figures = []
            for train, valid in GroupKFold(3).split(X, groups=qid):
                model = ListNetLinear(alpha=alpha, max_iter=5000)
                model.fit(X[train], y[train], qid=qid[train])
                figures.append(ranking_figures(y[valid], model.predict(X[valid]), qid[valid])[0])
            inner.append((np.mean(figures), alpha))
        alpha = max(inner)[1]
        model = ListNetLinear(alpha=alpha, max_iter=5000).fit(X, y, qid=qid)
        rows = QueryMinMaxScaler().fit_transform(test.data, qid=test.qid)
        results.append(ranking_figures(test.target, model.predict(rows), test.qid))
        print(
            f"  OHSUMED, test S{number}: alpha {alpha:g}; NDCG@10 {results[-1][0]:.4f}, MAP "
            f"{results[-1][1]:.4f}"
        )
    ndcg, precision = np.mean(results, axis=0)
    print(f"  OHSUMED, mean of three folds: NDCG@10 {ndcg:.4f}, MAP {precision:.4f}")


CHILDREN = {"gradient": time_gradient, "fit": time_fit}


def in_child(task, n_rows, kind, repeats):
    """Run one task in a process of its own."""
    command = [sys.executable, __file__, "--child", task, str(n_rows), kind, str(repeats)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout)


def verdict(value, limit):
    return f"{value:.2f} ({'reached' if value <= limit else 'MISSED'}: at most {limit:g})"


def exponent(small, large, ratio):
    return math.log(median(large) / median(small)) / math.log(ratio)


def report_speed(n_rows, repeats):
    tenth = n_rows // 10
    for kind, words in KINDS.items():
        print(f"\n{n_rows:,} rows x {N_FEATURES} features, {words}")
        large = in_child("gradient", n_rows, kind, repeats)
        gradient, passes = median(large["gradient"]), median(large["passes"])
        ratio = gradient / passes
        print(
            f"  value and gradient {gradient * 1e3:.1f} ms, two BLAS passes {passes * 1e3:.1f} ms; "
            f"ratio {verdict(ratio, 1.1) if kind == 'many' else f'{ratio:.2f}'}"
        )
        fit = in_child("fit", n_rows, kind, max(repeats // 3, 1))
        print(
            f"  fit to 1e-6 of the first gradient: {median(fit['fit']):.2f} s, {fit['n_iter']} "
            f"iterations; extra memory {fit['extra_bytes'] / 1e6:.0f} MB beside "
            f"{fit['data_bytes'] / 1e6:.0f} MB of data; AUC {fit['auc']:.4f}"
        )
        small = in_child("gradient", tenth, kind, repeats)
        growth = exponent(small["gradient"], large["gradient"], n_rows / tenth)
        print(f"  growth exponent of value and gradient: {verdict(growth, 1.05)}")
        small_fit = in_child("fit", tenth, kind, max(repeats // 3, 1))
        growth = exponent(small_fit["fit"], fit["fit"], n_rows / tenth)
        print(
            f"  growth exponent of the fit: {verdict(growth, 1.05)}, {small_fit['n_iter']} "
            f"iterations at {tenth:,} rows"
        )


def main():
    if sys.argv[1:2] == ["--child"]:
        task, n_rows, kind, repeats = sys.argv[2:]
        print(json.dumps(CHILDREN[task](int(n_rows), kind, int(repeats))))
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    add_data_option(parser)
    options = parser.parse_args()
    if hasattr(os, "getloadavg"):
        print(f"load before the run: {os.getloadavg()[0]:.2f}")
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    report_speed(options.rows, options.repeats)
    if options.data is None:
        print("\nNo --data: no query sets.")
        return
    print("\nQuery sets; queries without a relevant row are skipped")
    for name, bench in {MQ2008: bench_mq2008, OHSUMED: bench_ohsumed}.items():
        if (options.data / name).is_dir():
            bench(options.data)
        else:
            print(f"  {name}: not there")


if __name__ == "__main__":
    main()
