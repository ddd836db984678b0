"""Sums over all pairs, and the kernel ranker that rests on them: time, error and memory.

Every part runs in processes of its own. Within a part the things compared take turns, so that a
slow minute of the machine hits them all, and medians over the repeats are reported. Targets are
printed beside what was measured, reached or not.

    python benchmarks/bench_pairs.py                       # 1e6 rows, some minutes
    python benchmarks/bench_pairs.py --only sums scores    # some of the parts
    python benchmarks/bench_pairs.py --rows 50000 --kernel-rows 2000 --repeats 2    # a quick look

The parts:

- ``sums``: value and gradient of each loss over all pairs, beside a stable argsort of the scores;
- ``error``: the logistic sums beside the same sums taken pair by pair;
- ``scores``: the logistic sums for scores of different distributions;
- ``step``: a gradient step of a kernel ranker, beside one product with the kernel matrix;
- ``linear``: linear rankers fitted to the optimum, beside scikit-survival and scikit-learn;
- ``kernel``: a kernel matrix several times larger than the memory it may take;
- ``nystroem``: a linear ranker after an approximation of the kernel.
"""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench_boosting import describe_machine, peak_bytes, resident_bytes

FULL_ROWS, FULL_KERNEL_ROWS = 1_000_000, 20_000
LOSSES = ("logistic", "hinge", "squared_hinge", "least_squares", "exponential")
POSITIVE_SHARE = 0.3
TENTH = ", a tenth"
ERROR_ROWS = 10_000
TIMES = 3
"""Sums and steps take milliseconds where a fit takes seconds: more of them are timed."""

ALPHA = 1e-3
TOL = 1e-6
"""The linear rankers stop when the gradient is this share of that at zero."""

EQUAL = 1e-9
"""Objectives that differ by no more than this share count as equal."""

FEW_STEPS, MANY_STEPS, PRODUCTS = 10, 60, 20
WORKING_MEMORY = 1024
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")
MIB = 1 << 20

# The parent imports nothing large. On Linux a child's high-water mark of memory starts at its
# parent's, and a heavy parent would hide what the child's fit takes.

Record = dict[str, Any]
"""What was measured in one repeat: seconds as "s", and whatever else there is to tell."""

Lines = dict[str, list[Record]]
"""The records of each line of the table, one for each repeat."""


# --- in the child: sums over pairs ---------------------------------------------------------------


def timed(call: Callable[[], Any]) -> float:
    """Return the seconds a call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def take_turns(calls: dict[str, Callable[[], Any]], repeats: int, **about: Any) -> Lines:
    """Time the calls in turns, after one of each that does not count."""
    for call in calls.values():
        call()
    lines = defaultdict(list)
    for _ in range(repeats):
        for name, call in calls.items():
            lines[name].append({**about, "s": timed(call)})
    return dict(lines)


def draw_labels(n_rows: int) -> Any:
    """Return random labels."""
    import numpy as np

    return np.random.default_rng(0).random(n_rows) < POSITIVE_SHARE


def draw_scores(name: str, n_rows: int) -> Any:
    """Return scores of one of the distributions, without regard to the labels."""
    import numpy as np

    rng = np.random.default_rng(1)
    kind, _, size = name.rpartition(" ")
    if kind == "uniform +-":
        return rng.uniform(-float(size), float(size), n_rows)
    if kind == "normal, sd":
        return float(size) * rng.standard_normal(n_rows)
    if name == "cauchy cubed":
        return rng.standard_cauchy(n_rows) ** 3
    scores = 3 * rng.standard_normal(n_rows)
    if kind == "one outlier at":
        scores[0] = float(size)
    else:
        scores += float(size) * rng.integers(0, 2, n_rows)
    return scores


SPREAD_OUT = "normal, sd 30"
OTHER_SCORES = (
    "normal, sd 3",
    "one outlier at 1e6",
    "clusters at 0 and 1e6",
    "uniform +- 1e3",
    "uniform +- 1e4",
    "uniform +- 1e5",
    "uniform +- 1e6",
    "cauchy cubed",
)


def pair_sum(loss: str, y: Any, scores: Any) -> Callable[[], Any]:
    """Return a call that sums over all pairs, prepared as in a fit: labels are sorted once."""
    import numpy as np

    from sklearn_rank.objectives import PairLoss
    from sklearn_rank.preferences import Preferences

    preferences = Preferences.from_labels(y.astype(float), None, np.ones(len(y)))
    pair_loss, scores = PairLoss(preferences, loss), scores[preferences.order]
    return lambda: pair_loss.value_and_gradient(scores)


def run_sums(options: argparse.Namespace) -> Lines:
    """Time the sums of each loss at all rows and at a tenth of them."""
    import numpy as np

    from sklearn_rank.objectives import pair_loss_and_gradient

    lines: Lines = {}
    for suffix, n_rows in (("", options.rows), (TENTH, options.rows // 10)):
        y, scores = draw_labels(n_rows), draw_scores("normal, sd 3", n_rows)
        calls = {"argsort": partial(np.argsort, scores, kind="stable")}
        calls |= {loss: pair_sum(loss, y, scores) for loss in LOSSES}
        calls["pair_loss_and_gradient, logistic"] = partial(pair_loss_and_gradient, y, scores)
        found = take_turns(calls, TIMES * options.repeats, rows=n_rows)
        lines |= {name + suffix: records for name, records in found.items()}
    return lines


def run_scores(options: argparse.Namespace) -> Lines:
    """Time the logistic sums for each distribution of scores."""
    y = draw_labels(options.rows)
    calls = {
        name: pair_sum("logistic", y, draw_scores(name, options.rows))
        for name in (SPREAD_OUT, *OTHER_SCORES)
    }
    return take_turns(calls, TIMES * options.repeats, rows=options.rows)


def pair_by_pair(y: Any, scores: Any) -> tuple[float, Any]:
    """Return the logistic loss of all pairs and its gradient, visiting every pair."""
    import numpy as np
    from scipy.special import expit

    f, g = scores[y], scores[~y]
    value, upper, lower = 0.0, np.empty_like(f), np.zeros_like(g)
    for start in range(0, len(f), 100):
        rows = slice(start, start + 100)
        margin = f[rows, np.newaxis] - g
        value += math.fsum(np.logaddexp(0.0, -margin).sum(axis=1))
        slope = -expit(-margin)
        upper[rows] = slope.sum(axis=1)
        lower -= slope.sum(axis=0)
    gradient = np.empty_like(scores)
    gradient[y], gradient[~y] = upper, lower
    return value, gradient


def run_error(_options: argparse.Namespace) -> Lines:
    """Compare the logistic sums with those taken pair by pair."""
    import numpy as np

    from sklearn_rank.objectives import pair_loss_and_gradient

    n_rows = ERROR_ROWS
    y, scores = draw_labels(n_rows), draw_scores("normal, sd 3", n_rows)
    started = time.perf_counter()
    value, gradient = pair_loss_and_gradient(y, scores)
    seconds = time.perf_counter() - started
    exact_value, exact_gradient = pair_by_pair(y, scores)
    wrong = np.abs(gradient - exact_gradient)
    n_positive = int(y.sum())
    of_row = np.where(y, n_rows - n_positive, n_positive)
    n_pairs = n_positive * (n_rows - n_positive)
    record = {
        "rows": n_rows,
        "s": seconds,
        "value": abs(value - exact_value) / n_pairs,
        "gradient": float(wrong.max()) / n_pairs,
        "gradient, of the row's pairs": float((wrong / of_row).max()),
    }
    return {"logistic": [record]}


# --- in the child: fits --------------------------------------------------------------------------


def load(part: str, options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the rows of one part."""
    import numpy as np

    return np.load(options.folder / f"X_{part}.npy"), np.load(options.folder / f"y_{part}.npy")


def fit_and_watch(model: Any, X: Any, y: Any) -> Record:
    """Fit a model; return time, and the largest resident memory of this process."""
    before = resident_bytes() or peak_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations on purpose
        seconds = timed(lambda: model.fit(X, y))
    peak = peak_bytes()
    return {
        "rows": X.shape[0],
        "s": seconds,
        "peak MiB": None if peak is None else peak / MIB,
        "of it during the fit": None if peak is None else (peak - before) / MIB,
    }


def run_step(options: argparse.Namespace) -> Lines:
    """Time a gradient step: the difference of fits with many and few steps on a known kernel."""
    import numpy as np
    from sklearn.metrics.pairwise import rbf_kernel

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load("step", options)
    kernel, c = rbf_kernel(X), np.random.default_rng(0).standard_normal(len(y))

    def fit(n_steps):
        ranker = KernelPairwiseSGDRanker(
            kernel="precomputed", solver="gd", alpha=ALPHA, tol=0, max_iter=n_steps
        )
        ranker.fit(kernel, y)

    def products():
        return [timed(lambda: kernel @ c) for _ in range(PRODUCTS)]

    fit(1)
    lines: Lines = {"K @ c": [], "step": []}
    for _ in range(TIMES * options.repeats):
        few, before = timed(lambda: fit(FEW_STEPS)), products()
        many, after = timed(lambda: fit(MANY_STEPS)), products()
        step = (many - few) / (MANY_STEPS - FEW_STEPS)
        lines["K @ c"].append({"rows": len(y), "s": median(before + after)})
        lines["step"].append({"rows": len(y), "s": step})
    return lines


def load_standardised(options: argparse.Namespace) -> tuple[Any, Any]:
    """Return the rows of the linear part, with mean 0 and standard deviation 1."""
    X, y = load("linear", options)
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    return X, y


def pair_objective(loss: str, X: Any, y: Any, coef: Any) -> tuple[float, float]:
    """Return mean pair loss + ALPHA / 2 * ||coef||^2, and the norm of its gradient."""
    import numpy as np

    from sklearn_rank.objectives import pair_loss_and_gradient

    n_pairs = float(y.sum()) * float((y == 0).sum())
    value, gradient = pair_loss_and_gradient(y, X @ coef, loss=loss)
    gradient = X.T @ gradient / n_pairs + ALPHA * coef
    return value / n_pairs + ALPHA / 2 * float(coef @ coef), float(np.linalg.norm(gradient))


def describe_solution(loss: str, X: Any, y: Any, coef: Any) -> Record:
    """Return the objective, and the gradient as a share of that at zero."""
    value, gradient = pair_objective(loss, X, y, coef)
    return {"objective": value, "gradient": gradient / pair_objective(loss, X, y, 0 * coef)[1]}


def run_linear_ranker(loss: str, options: argparse.Namespace) -> list[Record]:
    """Fit a linear ranker to the optimum."""
    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load_standardised(options)
    ranker = KernelPairwiseSGDRanker(
        kernel="linear", solver="lbfgs", loss=loss, alpha=ALPHA, tol=TOL
    )
    seconds = timed(lambda: ranker.fit(X, y))
    solution = describe_solution(loss, X, y, ranker.coef_)
    return [{"rows": len(y), "s": seconds, "iterations": ranker.n_iter_, **solution}]


def run_linear_logistic(options: argparse.Namespace) -> Lines:
    """Fit with the logistic loss."""
    return {"logistic": run_linear_ranker("logistic", options)}


def run_linear_squared_hinge(options: argparse.Namespace) -> Lines:
    """Fit with the squared hinge loss."""
    return {"squared_hinge": run_linear_ranker("squared_hinge", options)}


def run_fast_survival_svm(options: argparse.Namespace) -> Lines:
    """Fit scikit-survival's linear ranking SVM, with its own tolerance, to the same pairs.

    It minimises 0.5 ||w||^2 + a / 2 * (sum over pairs of (1 - m)_+^2). Divided by a P / 2, P the
    number of pairs, that is the mean over pairs + 1 / (a P) * ||w||^2: the objective here when
    a = 2 / (ALPHA P). The two then differ by the factor ALPHA, and "off" is by how much its own
    minimum, times ALPHA, differs from the objective evaluated here at its solution.

    Its coefficients, unlike its `predict`, grow with time: positives get the longer one, and
    each row has its event. It breaks ties of time at random, and so would compare rows of one
    class; its trees can count ties, so it is given them.
    """
    import numpy as np
    from sksurv.svm import FastSurvivalSVM
    from sksurv.util import Surv

    class WithTies(FastSurvivalSVM):
        def _fit(self, X, time, event, samples_order):
            time = time[samples_order]
            ranks = np.unique(time, return_inverse=True)[1]
            optimizer = self._create_optimizer(X[samples_order], (time, ranks), event)
            return optimizer.run(tol=self.tol, options={"maxiter": self.max_iter, "disp": False})

    X, y = load_standardised(options)
    n_pairs = float(y.sum()) * float((y == 0).sum())
    survival = Surv.from_arrays(np.ones(len(y), dtype=bool), 1.0 + y)
    model = WithTies(alpha=2 / (ALPHA * n_pairs), rank_ratio=1.0, random_state=0)
    seconds = timed(lambda: model.fit(X, survival))
    solution = describe_solution("squared_hinge", X, y, model.coef_)
    off = abs(ALPHA * model.optimizer_result_.fun / solution["objective"] - 1)
    record = {"rows": len(y), "s": seconds, "iterations": model.n_iter_, **solution, "off": off}
    return {"FastSurvivalSVM": [record]}


def run_logistic_regression(options: argparse.Namespace) -> Lines:
    """Fit scikit-learn's logistic regression, default solver.

    It minimises the mean loss of rows + ||w||^2 / (2 C n): the ridge here when C = 1 / (ALPHA n).
    It stops when no entry of the gradient is above `tol`: the share TOL of the largest at zero.
    """
    import numpy as np
    from scipy.special import expit
    from sklearn.linear_model import LogisticRegression

    def gradient(coef, intercept):
        wrong = expit(X @ coef + intercept) - y
        return np.append(X.T @ wrong / len(y) + ALPHA * coef, wrong.mean())

    X, y = load_standardised(options)
    at_zero = gradient(np.zeros(X.shape[1]), 0.0)
    tol = TOL * float(np.abs(at_zero).max())
    model = LogisticRegression(C=1 / (ALPHA * len(y)), tol=tol, max_iter=1000)
    seconds = timed(lambda: model.fit(X, y))
    left = gradient(model.coef_[0], model.intercept_[0])
    share = float(np.linalg.norm(left) / np.linalg.norm(at_zero))
    record = {"rows": len(y), "s": seconds, "iterations": int(model.n_iter_[0]), "gradient": share}
    return {"LogisticRegression": [record]}


def run_kernel(options: argparse.Namespace) -> Lines:
    """Fit a few iterations with a kernel matrix that does not fit into the working memory."""
    import sklearn

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load("kernel", options)
    ranker = KernelPairwiseSGDRanker(
        kernel="rbf", solver="lbfgs", alpha=ALPHA, tol=0, max_iter=options.kernel_steps
    )
    with sklearn.config_context(working_memory=WORKING_MEMORY):
        record = fit_and_watch(ranker, X, y)
    return {"kernel": [{**record, "iterations": ranker.n_iter_}]}


def run_nystroem(options: argparse.Namespace) -> Lines:
    """Fit a linear ranker on an approximation of the kernel."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.pipeline import make_pipeline

    from sklearn_rank import KernelPairwiseSGDRanker

    X, y = load("nystroem", options)
    model = make_pipeline(
        Nystroem(n_components=100, random_state=0),
        KernelPairwiseSGDRanker(kernel="linear", solver="lbfgs", alpha=ALPHA),
    )
    record = fit_and_watch(model, X, y)
    return {"nystroem": [{**record, "iterations": model[-1].n_iter_}]}


# --- parts, cases and targets --------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """What one process runs. It repeats by itself unless `turns` says that the parent does."""

    part: str
    run: Callable[[argparse.Namespace], Lines]
    module: str = "sklearn_rank"
    turns: bool = False
    slow: bool = False


CASES = {
    "sums": Case("sums", run_sums),
    "error": Case("error", run_error),
    "scores": Case("scores", run_scores),
    "step": Case("step", run_step),
    "linear_logistic": Case("linear", run_linear_logistic, turns=True),
    "linear_squared_hinge": Case("linear", run_linear_squared_hinge, turns=True),
    "logistic_regression": Case("linear", run_logistic_regression, "sklearn", turns=True),
    "fast_survival_svm": Case("linear", run_fast_survival_svm, "sksurv", turns=True, slow=True),
    "kernel": Case("kernel", run_kernel),
    "nystroem": Case("nystroem", run_nystroem),
}


@dataclass(frozen=True)
class Part:
    """A table: its title, the line that the others are divided by, and the rows it reads."""

    title: str
    beside: str | None = None
    n_rows: Callable[[argparse.Namespace], int] | None = None


PARTS = {
    "sums": Part("value and gradient over all pairs, normal scores of sd 3", "argsort"),
    "error": Part("error beside the sums pair by pair, share of the total pair weight"),
    "scores": Part("logistic sums by distribution of scores", SPREAD_OUT),
    "step": Part("a step of solver='gd', rbf kernel kept", "K @ c", lambda o: o.kernel_rows // 4),
    "linear": Part(
        f"linear rankers to a gradient of {TOL:g}, 20 features",
        "logistic",
        lambda o: o.rows // 10,
    ),
    "kernel": Part(f"rbf kernel, working_memory={WORKING_MEMORY}", n_rows=lambda o: o.kernel_rows),
    "nystroem": Part("Nystroem(n_components=100), then a linear ranker", n_rows=lambda o: o.rows),
}

Medians = dict[str, dict[str, Record]]


@dataclass(frozen=True)
class Target:
    """A figure to reach: a function of the medians of one part, and the most it may be."""

    part: str
    label: str
    measure: Callable[[dict[str, Record]], float | None]
    at_most: float
    unit: str = ""


def ratio(line: str, other: str) -> Callable[[dict[str, Record]], float]:
    """Return the function that divides the times of two lines."""
    return lambda found: found[line]["s"] / found[other]["s"]


def figure(line: str, column: str) -> Callable[[dict[str, Record]], float | None]:
    """Return the function that looks up a figure."""
    return lambda found: found[line][column]


def growth(loss: str) -> Callable[[dict[str, Record]], float]:
    """Return the slope of log time over log rows, from a tenth of the rows to all of them."""

    def slope(found):
        large, small = found[loss], found[loss + TENTH]
        return math.log(large["s"] / small["s"]) / math.log(large["rows"] / small["rows"])

    return slope


def excess(found: dict[str, Record]) -> float:
    """Return by what share the objective is above that of FastSurvivalSVM."""
    return found["squared_hinge"]["objective"] / found["FastSurvivalSVM"]["objective"] - 1


TARGETS = [
    Target("sums", "logistic sums / argsort", ratio("logistic", "argsort"), 0.4, "x"),
    Target("sums", "hinge sums / argsort", ratio("hinge", "argsort"), 1.0, "x"),
    *(Target("sums", f"growth exponent, {loss}", growth(loss), 1.1) for loss in LOSSES),
    Target("error", "error of the value", figure("logistic", "value"), 1e-12),
    Target("error", "error of the gradient", figure("logistic", "gradient"), 1e-12),
    *(
        Target("scores", f"{name} / {SPREAD_OUT}", ratio(name, SPREAD_OUT), 3, "x")
        for name in OTHER_SCORES
    ),
    Target("step", "step of gd / K @ c", ratio("step", "K @ c"), 1.3, "x"),
    Target(
        "linear",
        "squared hinge fit / FastSurvivalSVM",
        ratio("squared_hinge", "FastSurvivalSVM"),
        0.1,
        "x",
    ),
    Target(
        "linear", "logistic fit / FastSurvivalSVM", ratio("logistic", "FastSurvivalSVM"), 0.1, "x"
    ),
    Target("linear", "objective above FastSurvivalSVM's (share)", excess, EQUAL),
    Target(
        "linear",
        "logistic fit / LogisticRegression",
        ratio("logistic", "LogisticRegression"),
        2.0,
        "x",
    ),
    Target("kernel", "peak memory of the kernel fit", figure("kernel", "peak MiB"), 2048, "MiB"),
]


# --- in the parent: the schedule and the tables --------------------------------------------------


def run_case(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run one case in a new process; return its lines, or the last line of its error."""
    command = [sys.executable, __file__, "--child", name, "--folder", str(folder)]
    for option in ("rows", "repeats", "kernel_rows", "kernel_steps"):
        command += [f"--{option.replace('_', '-')}", str(getattr(options, option))]
    threads = {f"{library}_NUM_THREADS": str(options.threads) for library in LIBRARIES}
    done = subprocess.run(
        command,
        env={**os.environ, **threads},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": lines[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def write_data(folder: Path, n_rows: dict[str, int]) -> None:
    """Write the rows of each part that reads some, in another process."""
    code = (
        "import json, sys; from pathlib import Path; from _data import write_two_classes as write\n"
        "folder = Path(sys.argv[1])\n"
        "for part, n in json.loads(sys.argv[2]).items():\n"
        "    write(folder / f'X_{part}.npy', folder / f'y_{part}.npy', n)\n"
    )
    command = [sys.executable, "-c", code, str(folder), json.dumps(n_rows)]
    subprocess.run(command, check=True, cwd=Path(__file__).resolve().parent)


def measure(options: argparse.Namespace) -> tuple[dict[str, Lines], dict[str, str]]:
    """Run the cases; return the lines of each part, and why cases have none."""
    names = [name for name, case in CASES.items() if case.part in options.only]
    parts: dict[str, Lines] = {part: defaultdict(list) for part in options.only}
    errors = {
        name: f"{CASES[name].module} is not installed"
        for name in names
        if importlib.util.find_spec(CASES[name].module) is None
    }
    with tempfile.TemporaryDirectory(prefix="bench_pairs_") as scratch:
        folder = Path(scratch)
        reading = {part: PARTS[part].n_rows for part in options.only if PARTS[part].n_rows}
        write_data(folder, {part: n_rows(options) for part, n_rows in reading.items()})
        for repeat in range(options.repeats):
            for name in names:
                case = CASES[name]
                most = options.slow_repeats if case.slow else options.repeats if case.turns else 1
                if name in errors or repeat >= most:
                    continue
                print(f"repeat {repeat + 1} of {most}: {name}", file=sys.stderr, flush=True)
                result = run_case(name, options, folder)
                if "error" in result:
                    errors[name] = result["error"]
                    continue
                for line, records in result.items():
                    parts[case.part][line] += records
    return parts, errors


def summarise(parts: dict[str, Lines]) -> Medians:
    """Return the medians of each line, with the fastest and the slowest run."""
    medians: Medians = {}
    for part, lines in parts.items():
        medians[part] = {}
        for line, records in lines.items():
            found = {
                key: None if value is None else median(record[key] for record in records)
                for key, value in records[0].items()
            }
            times = [record["s"] for record in records]
            found.update(s_min=min(times), s_max=max(times), runs=len(times))
            medians[part][line] = found
    return medians


def judge(medians: Medians) -> list[dict[str, Any]]:
    """Return for each target of the parts that ran what was measured and whether it was reached."""
    verdicts = []
    for target in TARGETS:
        if target.part not in medians:
            continue
        try:
            value = target.measure(medians[target.part])
        except KeyError:
            value = None
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


def print_part(part: Part, lines: dict[str, Record]) -> None:
    """Print the table of one part."""
    print(f"\n{part.title}")
    header = f"  {'case':42} {'rows':>9} {'seconds':>9} {'(min - max)':>19} {'runs':>5}"
    beside = lines.get(part.beside) if part.beside else None
    print(header + (f"  / {part.beside}" if beside else ""))
    shown = {"rows", "s", "s_min", "s_max", "runs"}
    for name, found in lines.items():
        spread = f"({found['s_min']:.4f} - {found['s_max']:.4f})"
        line = f"  {name:42} {found['rows']:9,.0f} {found['s']:9.4f} {spread:>19} {found['runs']:5}"
        if beside:
            line += f" {found['s'] / beside['s']:7.2f}"
        print(line)
        more = {key: value for key, value in found.items() if key not in shown}
        if more:
            texts = (f"{key} {'?' if v is None else format(v, '.7g')}" for key, v in more.items())
            print("      " + ", ".join(texts))


def print_report(report: dict[str, Any]) -> None:
    """Print the tables, the targets, and what they were measured on."""
    for part, lines in report["medians"].items():
        if lines:
            print_part(PARTS[part], lines)
    for name, error in report["errors"].items():
        print(f"\n{name}: {error}")

    print(f"\n{'target':42} {'at most':>9} {'measured':>9}")
    for verdict in report["targets"]:
        value = "" if verdict["measured"] is None else f"{verdict['measured']:.3g}"
        if verdict["measured"] is not None and 1000 <= verdict["measured"] < 1e6:
            value = f"{verdict['measured']:.0f}"
        limit = f"{verdict['at_most']:g} {verdict['unit']}".strip()
        print(f"{verdict['target']:42} {limit:>9} {value:>9}  {verdict['verdict']}")
    if (report["rows"], report["kernel_rows"]) != (FULL_ROWS, FULL_KERNEL_ROWS):
        print(f"The targets are stated for {FULL_ROWS:,} and {FULL_KERNEL_ROWS:,} rows.")

    machine = report["machine"]
    print(f"\n{machine['processor']}, {machine['cpu_count']} CPUs, {machine['system']}")
    print(f"threads of linear algebra: {report['threads']}")
    if machine["load_before"] is not None:
        print(f"load average before the run: {machine['load_before']:.2f}")
    print(", ".join(f"{name} {version}" for name, version in machine["versions"].items()))


def describe() -> dict[str, Any]:
    """Return what the figures depend on: processor, load, and versions."""
    machine = describe_machine()
    versions = machine["versions"]
    kept = {"python", "sklearn-rank", "scikit-learn", "numpy", "scipy"}
    machine["versions"] = {name: versions[name] for name in versions if name in kept}
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        machine["versions"]["scikit-survival"] = importlib.metadata.version("scikit-survival")
    return machine


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=FULL_ROWS, help="most rows (default 1e6)")
    parser.add_argument(
        "--kernel-rows",
        type=int,
        default=FULL_KERNEL_ROWS,
        help="rows of the large kernel matrix (default 20000); a step is timed at a quarter",
    )
    parser.add_argument(
        "--kernel-steps", type=int, default=3, help="iterations with it (default 3)"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=5,
        help=f"fits of each case (default 5); sums and steps are timed {TIMES} times as often",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        help="threads of linear algebra (default 2); 1 where the processors are busy",
    )
    parser.add_argument(
        "--slow-repeats", type=int, default=1, help="fits of FastSurvivalSVM; 0 leaves it out"
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=PARTS,
        default=list(PARTS),
        metavar="PART",
        help=f"among: {', '.join(PARTS)}",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every run there as well")
    parser.add_argument("--child", choices=CASES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.rows < 10_000 or options.kernel_rows < 400:
        parser.error("at least 10000 rows and 400 kernel rows are needed")
    if min(options.repeats, options.kernel_steps, options.threads) < 1 or options.slow_repeats < 0:
        parser.error("at least one repeat, one step and one thread are needed")
    return options


def main(arguments: list[str] | None = None) -> None:
    """Run the benchmark, or one case of it."""
    options = parse_arguments(arguments)
    if options.child:
        print(json.dumps(CASES[options.child].run(options)))
        return
    machine = describe()
    parts, errors = measure(options)
    medians = summarise(parts)
    report = {
        "rows": options.rows,
        "kernel_rows": options.kernel_rows,
        "kernel_steps": options.kernel_steps,
        "threads": options.threads,
        "machine": machine,
        "parts": parts,
        "errors": errors,
        "medians": medians,
        "targets": judge(medians),
    }
    print_report(report)
    if options.json:
        options.json.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
