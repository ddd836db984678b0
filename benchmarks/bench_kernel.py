"""The kernel ranker: a step, linear fits beside other libraries, kernels larger than memory.

    python benchmarks/bench_kernel.py                      # 1e6 rows, some minutes
    python benchmarks/bench_kernel.py --only step linear   # some of the parts
    python benchmarks/bench_kernel.py --rows 50000 --kernel-rows 2000 --repeats 2    # a quick look

Every case has processes of its own:

- ``step``: a gradient step of a kernel ranker, beside one product with the kernel matrix;
- ``linear``: linear rankers fitted to the optimum, beside scikit-survival and scikit-learn
  (`_linear_fits.py`); the cases take turns;
- ``kernel``: a kernel matrix several times larger than the memory it may take;
- ``nystroem``: a linear ranker after an approximation of the kernel.
"""

import argparse
import importlib.util
import json
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from _harness import Record, describe_machine, medians, peak_bytes, run_in_process, timed, watch
from _linear_fits import ALPHA, LINEAR_FITS, TOL
from _report import Report, Verdict, judged, times_table

FULL_ROWS, FULL_KERNEL_ROWS = 1_000_000, 20_000
TIMES = 3
"""A step takes milliseconds where a fit takes seconds: more of them are timed."""

EQUAL = 1e-9
"""Objectives that differ by no more than this share count as equal."""

FEW_STEPS, MANY_STEPS, PRODUCTS = 10, 60, 20
WORKING_MEMORY = 1024
MIB = 1 << 20

Lines = Mapping[str, Record]
"""The medians of each line of a table."""

FILES = ("X", "y")


# --- in the child --------------------------------------------------------------------------------


def load(options: argparse.Namespace, part: str) -> tuple[Any, Any]:
    """Return the rows of one part."""
    import numpy as np

    X, y = (np.load(options.folder / f"{name}_{part}.npy") for name in FILES)
    return X, y


def write(options: argparse.Namespace) -> Record:
    """Write the rows of each part."""
    from _data import write_two_classes

    for part in options.only:
        n_rows = PARTS[part].n_rows(options)
        write_two_classes(*(options.folder / f"{name}_{part}.npy" for name in FILES), n_rows)
    return {}


def fit_and_watch(model: Any, X: Any, y: Any) -> Record:
    """Fit a model; return time, and the largest resident memory of this process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations on purpose
        found = watch(lambda: model.fit(X, y))
    extra, peak = found["extra_mb"], peak_bytes()
    return {
        "rows": X.shape[0],
        "s": found["s"],
        "peak MiB": None if peak is None else peak / MIB,
        "of it during the fit": None if extra is None else extra * 1e6 / MIB,
    }


def run_step(options: argparse.Namespace) -> Record:
    """Time a gradient step: the difference of fits with many and few steps on a known kernel."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load(options, "step")
    kernel, c = rbf_kernel(X), np.random.default_rng(0).standard_normal(len(y))

    def fit(n_steps):
        ranker = KernelPairwiseSGDRanker(
            kernel="precomputed", solver="gd", alpha=ALPHA, tol=0, max_iter=n_steps
        )
        ranker.fit(kernel, y)

    def products():
        return [timed(lambda: kernel @ c) for _ in range(PRODUCTS)]

    fit(1)
    lines: Record = {"K @ c": [], "step": []}
    for _ in range(TIMES * options.repeats):
        few, before = timed(lambda: fit(FEW_STEPS)), products()
        many, after = timed(lambda: fit(MANY_STEPS)), products()
        step = (many - few) / (MANY_STEPS - FEW_STEPS)
        lines["K @ c"].append({"rows": len(y), "s": median(before + after)})
        lines["step"].append({"rows": len(y), "s": step})
    return lines


def run_linear(name: str) -> Callable[[argparse.Namespace], Record]:
    """Return the case of one linear fit, on rows with mean 0 and standard deviation 1."""

    def run(options: argparse.Namespace) -> Record:
        X, y = load(options, "linear")
        X -= X.mean(axis=0)
        X /= X.std(axis=0)
        return {name: [{"rows": len(y), **LINEAR_FITS[name].fit(X, y)}]}

    return run


def run_kernel(options: argparse.Namespace) -> Record:
    """Fit a few iterations with a kernel matrix that does not fit into the working memory."""
    import sklearn

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load(options, "kernel")
    ranker = KernelPairwiseSGDRanker(
        kernel="rbf", solver="lbfgs", alpha=ALPHA, tol=0, max_iter=options.kernel_steps
    )
    with sklearn.config_context(working_memory=WORKING_MEMORY):
        record = fit_and_watch(ranker, X, y)
    return {"kernel": [{**record, "iterations": ranker.n_iter_}]}


def run_nystroem(options: argparse.Namespace) -> Record:
    """Fit a linear ranker on an approximation of the kernel."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load(options, "nystroem")
    model = make_pipeline(
        Nystroem(n_components=100, random_state=0),
        KernelPairwiseSGDRanker(kernel="linear", solver="lbfgs", alpha=ALPHA),
    )
    record = fit_and_watch(model, X, y)
    return {"nystroem": [{**record, "iterations": model[-1].n_iter_}]}


# --- parts and targets ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A table: its title, the rows it reads, its cases, and the line others are divided by."""

    title: str
    n_rows: Callable[[argparse.Namespace], int]
    cases: tuple[str, ...]
    beside: str | None = None


PARTS = {
    "step": Part(
        "a step of solver='gd', rbf kernel kept", lambda o: o.kernel_rows // 4, ("step",), "K @ c"
    ),
    "linear": Part(
        f"linear rankers to a gradient of {TOL:g}, 20 features",
        lambda o: o.rows // 10,
        tuple(LINEAR_FITS),
        "logistic",
    ),
    "kernel": Part(
        f"rbf kernel, working_memory={WORKING_MEMORY}", lambda o: o.kernel_rows, ("kernel",)
    ),
    "nystroem": Part(
        "Nystroem(n_components=100), then a linear ranker", lambda o: o.rows, ("nystroem",)
    ),
}

CHILDREN: dict[str, Callable[[argparse.Namespace], Record]] = {
    "write": write,
    "step": run_step,
    "kernel": run_kernel,
    "nystroem": run_nystroem,
    **{name: run_linear(name) for name in LINEAR_FITS},
}


def judge(found: Lines, only: list[str]) -> Iterator[Verdict]:
    """Yield the targets of the parts that ran."""

    def ratio(line: str, other: str) -> Callable[[], float]:
        return lambda: found[line]["s"] / found[other]["s"]

    def excess() -> float:
        return found["squared_hinge"]["objective"] / found["FastSurvivalSVM"]["objective"] - 1

    if "step" in only:
        yield judged("step of gd / K @ c", 1.3, ratio("step", "K @ c"), unit="x")
    if "linear" in only:
        for line, other, limit in (
            ("squared_hinge", "FastSurvivalSVM", 0.1),
            ("logistic", "FastSurvivalSVM", 0.1),
            ("logistic", "LogisticRegression", 2.0),
        ):
            name = line.replace("_", " ")
            yield judged(f"{name} fit / {other}", limit, ratio(line, other), unit="x")
        yield judged("objective above FastSurvivalSVM's (share)", EQUAL, excess)
    if "kernel" in only:
        yield judged(
            "peak memory of the kernel fit", 2048, lambda: found["kernel"]["peak MiB"], unit="MiB"
        )


# --- in the parent -------------------------------------------------------------------------------


def run_cases(
    options: argparse.Namespace, arguments: list[str]
) -> tuple[dict[str, list[Record]], dict[str, str]]:
    """Run the cases in turns; return the records of each line, and why cases have none."""
    lines: dict[str, list[Record]] = defaultdict(list)
    errors: dict[str, str] = {}
    names = [name for part in options.only for name in PARTS[part].cases]
    most = dict.fromkeys(names, 1)  # the steps repeat by themselves, the large fits run once
    for name, fit in LINEAR_FITS.items():
        most[name] = options.slow_repeats if fit.slow else options.repeats
        if importlib.util.find_spec(fit.module) is None:
            errors[name] = f"{fit.module} is not installed"
    with tempfile.TemporaryDirectory(prefix="bench_kernel_") as folder:

        def run(name: str) -> Record:
            child = [*arguments, "--child", name, "--folder", folder]
            return run_in_process(__file__, child, threads=options.threads)

        if "error" in (written := run("write")):
            raise SystemExit(f"the data could not be written: {written['error']}")
        for repeat in range(max(most.values())):
            for name in names:
                if name in errors or repeat >= most[name]:
                    continue
                print(f"run {repeat + 1} of {most[name]}: {name}", file=sys.stderr, flush=True)
                found = run(name)
                if "error" in found:
                    errors[name] = found["error"]
                    continue
                for line, records in found.items():
                    lines[line] += records
    return lines, errors


def measure(options: argparse.Namespace, arguments: list[str]) -> Report:
    """Run all cases; return tables and targets."""
    machine = describe_machine("scikit-survival")
    runs, errors = run_cases(options, arguments)
    found = {line: medians(records) for line, records in runs.items()}
    tables = []
    for part in (PARTS[name] for name in options.only):
        own = (*part.cases, part.beside)
        lines = {line: found[line] for line in found if line in own}
        if lines:
            tables.append(times_table(part.title, lines, part.beside))
    notes = [f"{name}: {error}" for name, error in errors.items()]
    if (options.rows, options.kernel_rows) != (FULL_ROWS, FULL_KERNEL_ROWS):
        notes.append(f"The targets are stated for {FULL_ROWS:,} and {FULL_KERNEL_ROWS:,} rows.")
    settings = (
        f"Up to {options.rows:,} rows; kernel of {options.kernel_rows:,} rows, "
        f"{options.kernel_steps} iterations; threads of linear algebra: {options.threads}."
    )
    verdicts = list(judge(found, options.only))
    return Report("kernel", settings, machine, tables, verdicts, notes, dict(runs))


def parse_arguments(arguments: list[str]) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--rows", type=int, default=FULL_ROWS, help="most rows (default 1e6)")
    add(
        "--kernel-rows",
        type=int,
        default=FULL_KERNEL_ROWS,
        help="rows of the large kernel matrix (default 20000); a step is timed at a quarter",
    )
    add("--kernel-steps", type=int, default=3, help="iterations with it (default 3)")
    add(
        "--repeats",
        type=int,
        default=5,
        help=f"linear fits of each case (default 5); steps are timed {TIMES} times as often",
    )
    add(
        "--threads",
        type=int,
        default=2,
        help="threads of linear algebra (default 2); 1 where the processors are busy",
    )
    add("--slow-repeats", type=int, default=1, help="fits of FastSurvivalSVM; 0 leaves it out")
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART", help="some parts")
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    add("--child", choices=CHILDREN, help=argparse.SUPPRESS)
    add("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rows < 10_000 or options.kernel_rows < 400:
        parser.error("at least 10000 rows and 400 kernel rows are needed")
    if min(options.repeats, options.kernel_steps, options.threads) < 1 or options.slow_repeats < 0:
        parser.error("at least one repeat, one step and one thread are needed")
    return options


def main() -> None:
    """Run the benchmark, or one case of it."""
    options = parse_arguments(sys.argv[1:])
    if options.child:
        print(json.dumps(CHILDREN[options.child](options)))
    else:
        measure(options, sys.argv[1:]).publish(options.json)


if __name__ == "__main__":
    main()
