"""Boosted rankers beside depth-1 boosting elsewhere: fit time, memory, AUC and prediction time.

Every fit runs in a process of its own, so that no library profits from memory or threads another
one left behind. The cases take turns, so that a slow minute of the machine hits them all, and the
medians over the repeats are reported. Targets are printed beside what was measured, reached or not.

    python benchmarks/bench_boosting.py                  # 1e6 rows, a few minutes
    python benchmarks/bench_boosting.py --rows 20000     # a quick look
"""

import argparse
import importlib.metadata
import importlib.util
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROUNDS = 100
BINS = 64
THREADS = 2
FULL_ROWS = 1_000_000

# The parent imports nothing large. On Linux a child's high-water mark of memory starts at its
# parent's, and a heavy parent would hide what the child's fit takes.


@dataclass(frozen=True)
class Case:
    """One estimator to time: how to build it, what to score with, and on which rows."""

    label: str
    module: str
    build: Callable[[], Any]
    score: Callable[[Any, Any], Any]
    train: str = "train"
    one_group: bool = False
    slow: bool = False


def _rankboost():
    from sklearn_rank import RankBoost

    return RankBoost(n_estimators=ROUNDS, max_bins=BINS, n_jobs=THREADS, tol=0)


def _pnorm64():
    from sklearn_rank import PNormPushRanker

    return PNormPushRanker(p=64, n_estimators=ROUNDS, max_bins=BINS, n_jobs=THREADS, tol=0)


def _lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=ROUNDS,
        num_leaves=2,
        max_depth=1,
        max_bin=BINS - 1,  # LightGBM keeps one more bin for missing values
        n_jobs=THREADS,
        verbosity=-1,
    )


def _xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(
        n_estimators=ROUNDS, tree_method="hist", max_depth=1, max_bin=BINS, n_jobs=THREADS
    )


def _hist_gradient_boosting():
    from sklearn.ensemble import HistGradientBoostingClassifier

    # The number of threads comes from OMP_NUM_THREADS.
    return HistGradientBoostingClassifier(
        max_iter=ROUNDS, max_depth=1, max_bins=BINS, early_stopping=False
    )


def _xgboost_pairwise():
    from xgboost import XGBRanker

    return XGBRanker(
        objective="rank:pairwise",
        lambdarank_pair_method="mean",
        n_estimators=ROUNDS,
        tree_method="hist",
        max_depth=1,
        max_bin=BINS,
        n_jobs=THREADS,
    )


def _decision(model, X):
    return model.decision_function(X)


def _margin(model, X):
    return model.predict(X, output_margin=True)


def _raw(model, X):
    return model.predict(X, raw_score=True)


CASES = {
    "rankboost": Case("RankBoost", "sklearn_rank", _rankboost, _decision),
    "pnorm64": Case("PNormPushRanker p=64", "sklearn_rank", _pnorm64, _decision),
    "rankboost_tenth": Case(
        "RankBoost, a tenth of the rows", "sklearn_rank", _rankboost, _decision, train="tenth"
    ),
    "lightgbm": Case("LightGBM binary, depth 1", "lightgbm", _lightgbm, _raw),
    "xgboost": Case("XGBoost binary, depth 1", "xgboost", _xgboost, _margin),
    "hist_gb": Case("HistGradientBoosting, depth 1", "sklearn", _hist_gradient_boosting, _decision),
    "xgboost_pairwise": Case(
        "XGBoost rank:pairwise, depth 1",
        "xgboost",
        _xgboost_pairwise,
        _margin,
        one_group=True,
        slow=True,
    ),
}


@dataclass(frozen=True)
class Target:
    """A figure to reach: a function of the cases' medians, and the most it may be."""

    label: str
    cases: tuple[str, ...]
    measure: Callable[..., float | None]
    at_most: float
    unit: str = "x"


def _fit_ratio(mine, other):
    return mine["fit_s"] / other["fit_s"]


def _predict_ratio(mine, other):
    return mine["predict_s"] / other["predict_s"]


def _memory(mine):
    return mine["extra_mb"]  # None where the system does not tell


def _growth(large, small):
    rows = math.log(large["rows"] / small["rows"])
    return math.log(large["fit_s"] / small["fit_s"]) / rows


TARGETS = [
    Target("fit time, RankBoost / LightGBM", ("rankboost", "lightgbm"), _fit_ratio, 0.45),
    Target("fit time, RankBoost / XGBoost", ("rankboost", "xgboost"), _fit_ratio, 0.45),
    Target(
        "fit time, RankBoost / XGBoost rank:pairwise",
        ("rankboost", "xgboost_pairwise"),
        _fit_ratio,
        0.05,
    ),
    Target("peak extra memory of RankBoost's fit", ("rankboost",), _memory, 150.0, "MB"),
    Target("peak extra memory of PNormPushRanker's fit", ("pnorm64",), _memory, 150.0, "MB"),
    Target(
        "growth exponent of RankBoost's fit", ("rankboost", "rankboost_tenth"), _growth, 1.05, ""
    ),
    Target("fit time, p=64 / p=1", ("pnorm64", "rankboost"), _fit_ratio, 1.1),
    Target("predict time, RankBoost / LightGBM", ("rankboost", "lightgbm"), _predict_ratio, 1.0),
]


# --- in the child: one fit -----------------------------------------------------------------------


def peak_bytes() -> int | None:
    """Return the largest resident size this process ever had."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def resident_bytes() -> int | None:
    """Return the resident size of this process now, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def run_child(name: str, folder: Path) -> dict[str, Any]:
    """Fit one case once and return what it took."""
    import numpy as np
    from sklearn.metrics import roc_auc_score

    case = CASES[name]
    model = case.build()
    # np.load reads a file straight into its array: no temporary raises the mark before the fit.
    X = np.load(folder / f"X_{case.train}.npy")
    y = np.load(folder / f"y_{case.train}.npy")
    extra = {"qid": np.zeros(len(y), dtype=np.int64)} if case.one_group else {}

    # Counted from what is resident now, not from the mark: had an import needed more for a moment,
    # the mark would hide the first part of what the fit takes.
    before = resident_bytes() or peak_bytes()
    started = time.perf_counter()
    model.fit(X, y, **extra)
    fit_s = time.perf_counter() - started
    peak = peak_bytes()
    extra_mb = None if peak is None else (peak - before) / 1e6

    n_rows = len(y)
    del X, y
    X = np.load(folder / "X_test.npy")
    y = np.load(folder / "y_test.npy")
    started = time.perf_counter()
    scores = case.score(model, X)
    predict_s = time.perf_counter() - started
    return {
        "rows": n_rows,
        "fit_s": fit_s,
        "extra_mb": extra_mb,
        "predict_s": predict_s,
        "auc": float(roc_auc_score(y, scores)),
    }


# --- in the parent: the schedule and the table ---------------------------------------------------


def child_environment() -> dict[str, str]:
    """Return the environment of a fit: two threads for everything that reads it from there."""
    threads = {f"{library}_NUM_THREADS": str(THREADS) for library in ("OMP", "OPENBLAS", "MKL")}
    return {**os.environ, **threads}


def run_case(name: str, folder: Path) -> dict[str, Any]:
    """Fit one case in a new process; return its figures, or the last line of its error."""
    command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
    done = subprocess.run(
        command, env=child_environment(), capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": lines[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def write_data(folder: Path, rows: int) -> None:
    """Write all training rows, a tenth of them, and the held-out rows, in another process."""
    code = (
        "import sys; from pathlib import Path; from _data import write_two_classes as write\n"
        "folder, rows = Path(sys.argv[1]), int(sys.argv[2])\n"
        "for name, n, seed in (('train', rows, 0), ('tenth', rows // 10, 0), ('test', rows, 1)):\n"
        "    write(folder / f'X_{name}.npy', folder / f'y_{name}.npy', n, seed=seed)\n"
    )
    command = [sys.executable, "-c", code, str(folder), str(rows)]
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parent)


def measure(names: list[str], rows: int, repeats: int, slow_repeats: int) -> dict[str, Any]:
    """Run the cases in turns; return per case the list of its runs, or why there are none."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    errors: dict[str, str] = {}
    for name in names:
        if importlib.util.find_spec(CASES[name].module) is None:
            errors[name] = f"{CASES[name].module} is not installed"
    with tempfile.TemporaryDirectory(prefix="bench_boosting_") as scratch:
        folder = Path(scratch)
        write_data(folder, rows)
        for repeat in range(repeats):
            for name in names:
                if name in errors or (CASES[name].slow and repeat >= slow_repeats):
                    continue
                print(f"repeat {repeat + 1} of {repeats}: {CASES[name].label}", file=sys.stderr)
                result = run_case(name, folder)
                if "error" in result:
                    errors[name] = result["error"]
                else:
                    runs[name].append(result)
    return {name: {"runs": runs[name], "error": errors.get(name)} for name in names}


def summarise(measured: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the medians of each case that ran without error."""
    medians = {}
    for name, result in measured.items():
        if result["error"] is None and result["runs"]:
            runs = result["runs"]
            medians[name] = {
                key: None if runs[0][key] is None else median(run[key] for run in runs)
                for key in runs[0]
            }
            fits = [run["fit_s"] for run in runs]
            medians[name].update(fit_s_min=min(fits), fit_s_max=max(fits), repeats=len(runs))
    return medians


def judge(medians: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return for each target what was measured and whether it was reached."""
    verdicts = []
    for target in TARGETS:
        value = None
        if all(name in medians for name in target.cases):
            value = target.measure(*(medians[name] for name in target.cases))
        if value is None:
            verdict = "not measured"
        else:
            verdict = "reached" if value <= target.at_most else "falls short"
        verdicts.append(
            {
                "target": target.label,
                "at_most": target.at_most,
                "unit": target.unit,
                "measured": value,
                "verdict": verdict,
            }
        )
    return verdicts


def describe_machine() -> dict[str, Any]:
    """Return what the figures depend on: processor, load, and versions."""
    packages = ["sklearn-rank", "scikit-learn", "numpy", "scipy", "joblib", "lightgbm"]
    packages += ["xgboost", "xgboost-cpu"]
    versions = {"python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                processor = line.partition(":")[2].strip()
                break
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor,
        "cpu_count": os.cpu_count(),
        "load_before": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": versions,
    }


def print_report(report: dict[str, Any]) -> None:
    """Print the table of cases, the targets, and what they were measured on."""
    rows = report["rows"]
    print(f"\n{rows:,} x 20 rows, {ROUNDS} rounds, {BINS} bins, {THREADS} threads; medians\n")
    header = f"{'case':32} {'rows':>9} {'fit s':>8} {'(min - max)':>17} {'extra MB':>9}"
    print(f"{header} {'predict s':>10} {'AUC':>7} {'runs':>5}")
    for name, result in report["cases"].items():
        line = f"{CASES[name].label:32} "
        found = report["medians"].get(name)
        if found is None:
            print(line + (result["error"] or "not run"))
            continue
        spread = f"({found['fit_s_min']:.3f} - {found['fit_s_max']:.3f})"
        memory = "?" if found["extra_mb"] is None else f"{found['extra_mb']:.0f}"
        print(
            f"{line}{found['rows']:9,.0f} {found['fit_s']:8.3f} {spread:>17} {memory:>9}"
            f" {found['predict_s']:10.4f} {found['auc']:7.4f} {found['repeats']:5}"
        )

    print(f"\n{'target':44} {'at most':>9} {'measured':>9}")
    for verdict in report["targets"]:
        value = "" if verdict["measured"] is None else f"{verdict['measured']:.3f}"
        limit = f"{verdict['at_most']:g} {verdict['unit']}".strip()
        print(f"{verdict['target']:44} {limit:>9} {value:>9}  {verdict['verdict']}")
    if rows != FULL_ROWS:
        print(f"The targets are stated for {FULL_ROWS:,} rows; this run had {rows:,}.")

    machine = report["machine"]
    print(f"\n{machine['processor']}, {machine['cpu_count']} CPUs, {machine['system']}")
    if machine["load_before"] is not None:
        print(f"load average before the run: {machine['load_before']:.2f}")
    print(", ".join(f"{name} {version}" for name, version in machine["versions"].items()))


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FULL_ROWS, help="training rows (default 1e6)")
    parser.add_argument("--repeats", type=int, default=5, help="fits of each case (default 5)")
    parser.add_argument(
        "--slow-repeats", type=int, default=1, help="fits of rank:pairwise; 0 leaves it out"
    )
    parser.add_argument(
        "--only", nargs="+", choices=CASES, metavar="CASE", help=f"among: {', '.join(CASES)}"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run there as well")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rows < 1000 or options.repeats < 1 or options.slow_repeats < 0:
        parser.error("at least 1000 rows and one repeat are needed")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark, or one fit of it."""
    options = parse_arguments(arguments)
    if options.child:
        print(json.dumps(run_child(options.child, options.folder)))
        return
    machine = describe_machine()
    names = options.only or list(CASES)
    measured = measure(names, options.rows, options.repeats, options.slow_repeats)
    medians = summarise(measured)
    report = {
        "rows": options.rows,
        "rounds": ROUNDS,
        "bins": BINS,
        "threads": THREADS,
        "machine": machine,
        "cases": measured,
        "medians": medians,
        "targets": judge(medians),
    }
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
