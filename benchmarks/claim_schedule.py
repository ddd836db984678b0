"""The rate of gradient descent's schedule for ranking (Chen2012), on a distribution that is known.

    python benchmarks/claim_schedule.py --plot schedule.png
    python benchmarks/claim_schedule.py --quick

Both classes are distributions on 40 points of [0, 1]: the expected risk of a function, its minimum
over all functions and the minimiser with a penalty are sums and linear systems. A sample is drawn
as counts of the points, and `KernelPairwiseSGDRanker` is fitted to the points with the counts as
weights.
"""

from functools import partial
from statistics import mean
from typing import Any, NamedTuple

import numpy as np
from _claims import bars, conclude, new_figure, parse_claim, save_figure
from _harness import describe_machine, growth
from _report import Cell, Report, Table, Verdict
from _stats import upper, with_half

N_POINTS, WIDTH = 40, 0.15
SIZES = (100, 300, 1_000, 3_000, 10_000, 30_000)
"""Rows of each class, m = n."""

ASYMPTOTIC = 1_000
"""Rows of each class from which on the slope is fitted."""

POSITIVES, NEGATIVES = 1_000, (1_000, 10_000, 100_000)
SETTINGS = ((2.0, 0.05, 0.5), (2.0, 0.10, 0.5), (2.0, 0.15, 0.5))
"""s, gamma and theta of the schedule."""


class Problem(NamedTuple):
    """A distribution of two classes on points, and the kernel between the points."""

    points: Any
    positive: Any
    negative: Any
    kernel: Any

    @property
    def curvature(self) -> Any:
        """The matrix A of the risk 1 - 2 (p - q)' f + f' A f."""
        p, q = self.positive, self.negative
        return np.diag(p) + np.diag(q) - np.outer(p, q) - np.outer(q, p)

    def risk(self, scores: Any) -> float:
        """Return the expected least-squares loss of a pair."""
        linear = 2 * (self.positive - self.negative) @ scores
        return float(1 - linear + scores @ self.curvature @ scores)

    def least_risk(self) -> float:
        """Return the smallest risk of all functions."""
        gap = self.positive - self.negative
        return self.risk(np.linalg.lstsq(self.curvature, gap, rcond=None)[0])

    def penalised(self, alpha: float) -> Any:
        """Return the coefficients that minimise risk + alpha / 2 times the squared norm."""
        system = 2 * self.curvature @ self.kernel + alpha * np.eye(len(self.points))
        return np.linalg.solve(system, 2 * (self.positive - self.negative))


def make_problem() -> Problem:
    """Return the distribution of the benchmark."""
    x = np.linspace(0, 1, N_POINTS)
    positive = 0.3 + x + 0.5 * np.sin(7 * x) ** 2
    kernel = np.exp(-((x[:, np.newaxis] - x) ** 2) / (2 * WIDTH**2))
    return Problem(x, positive / positive.sum(), np.full(N_POINTS, 1 / N_POINTS), kernel)


def rate(s: float, gamma: float, theta: float) -> float:
    """Return the exponent of (2.5) for least squares, q = 2."""
    return min(s * theta - 3 * s * gamma, 1 - 3 * s * gamma)


def size_of(m: int, n: int) -> float:
    """Return the size of the sample in the theorem's sense."""
    return m * n / (m + n) ** 1.5


def fit(problem: Problem, counts: Any, parameters: dict[str, Any]) -> Any:
    """Return the coefficients, one for each point, of a fit to counts of both classes."""
    import warnings

    from sklearn_rank import KernelPairwiseSGDRanker

    used = counts > 0
    X = np.concatenate([problem.points, problem.points])[used, np.newaxis]
    y = np.repeat([1, 0], N_POINTS)[used]
    model = KernelPairwiseSGDRanker(kernel="rbf", gamma=1 / (2 * WIDTH**2), **parameters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the schedule's number of steps is meant to be final
        model.fit(X, y, sample_weight=counts[used].astype(float))
    place = np.flatnonzero(used)[model.fit_rows_] % N_POINTS
    return np.bincount(place, model.dual_coef_, N_POINTS)


def try_schedule(problem: Problem, counts: Any, m: int, n: int, setting: Any) -> dict[str, float]:
    """Return the squared distance to the penalised minimiser, and the excess risk."""
    from sklearn_rank.theory import chen_schedule

    s, gamma, theta = setting
    schedule = chen_schedule(m, n, "least_squares", 1.0, s=s, gamma=gamma, theta=theta)
    coefficients = fit(problem, counts, schedule)
    off = coefficients - problem.penalised(schedule["alpha"])
    return {
        "distance": float(off @ problem.kernel @ off),
        "excess": problem.risk(problem.kernel @ coefficients) - problem.least_risk(),
        "steps": schedule["max_iter"],
    }


def try_minimum(problem: Problem, counts: Any) -> float:
    """Return the excess risk of the minimum with a penalty of 1 / (number of rows)."""
    parameters = {"loss": "least_squares", "alpha": 1 / float(counts.sum()), "tol": 1e-6}
    coefficients = fit(problem, counts, parameters)
    return problem.risk(problem.kernel @ coefficients) - problem.least_risk()


def measure(sizes: Any, negatives: Any, repeats: int) -> dict[str, Any]:
    """Fit every schedule to samples of every size; key: setting or "minimum", m, n."""
    problem, found = make_problem(), {}
    pairs = [*((size, size) for size in sizes), *((POSITIVES, n) for n in negatives)]
    for m, n in dict.fromkeys(pairs):
        for repeat in range(repeats):
            rng = np.random.default_rng([repeat, m, n])
            drawn = rng.multinomial(m, problem.positive), rng.multinomial(n, problem.negative)
            counts = np.concatenate(drawn)
            for setting in SETTINGS:
                one = try_schedule(problem, counts, m, n, setting)
                found.setdefault((setting, m, n), []).append(one)
            minimum = {"excess": try_minimum(problem, counts)}
            found.setdefault(("minimum", m, n), []).append(minimum)
        print(f"m={m} n={n} done", flush=True)
    return found


def column(found: dict[str, Any], key: Any, what: str) -> list[float]:
    """Return one figure of all repeats."""
    return [one[what] for one in found[key]]


def slopes(found: dict[str, Any], setting: Any, sizes: Any, what: str) -> list[float]:
    """Return the slope over the logarithm of the size for each repeat, over the large sizes."""
    large = [size for size in sizes if size >= ASYMPTOTIC]
    columns = [column(found, (setting, size, size), what) for size in large]
    x = [size_of(size, size) for size in large]
    return [growth(x, values) for values in zip(*columns, strict=True)]


def name_of(setting: Any) -> str:
    """Return a setting as text."""
    return f"γ = {setting[1]:g}"


def tables_of(found: dict[str, Any], sizes: Any, negatives: Any) -> list[Table]:
    """Return slopes, and the excess risk of balanced and of unbalanced samples."""
    rates: list[list[Cell]] = []
    for setting in SETTINGS:
        both = [
            with_half(slopes(found, setting, sizes, what), ".2f") for what in ("distance", "excess")
        ]
        rates.append([name_of(setting), -rate(*setting), *both])
    columns = ["s = 2, θ = 1/2", "slope by (2.5)", "slope of the distance", "of the excess risk"]
    tables = [Table("Slopes over mn / (m + n)^1.5", columns, rates)]
    kinds = [*SETTINGS, "minimum"]
    for title, pairs in (
        ("Excess risk, m = n", [(size, size) for size in sizes]),
        ("Excess risk, m = 1,000", [(POSITIVES, n) for n in negatives]),
    ):
        rows: list[list[Cell]] = [
            [n, *(with_half(column(found, (kind, m, n), "excess")) for kind in kinds)]
            for m, n in pairs
        ]
        names = [*(name_of(setting) for setting in SETTINGS), "minimum, α = 1 / (m + n)"]
        tables.append(Table(title, ["negative rows", *names], rows))
    return tables


def verdicts_of(found: dict[str, Any], sizes: Any) -> list[Verdict]:
    """Return whether the distance falls at least as fast as the theorem says."""
    return [
        Verdict(
            f"upper end of the slope's 95 % interval, {name_of(setting)}",
            -rate(*setting),
            upper(slopes(found, setting, sizes, "distance")),
        )
        for setting in SETTINGS
    ]


def draw(found: dict[str, Any], sizes: Any, negatives: Any, path: Any) -> None:
    """Draw the distance with the slopes of the theorem, and both excess risks."""
    figure, [[left], [middle], [right]] = new_figure(1, 9.0, n_rows=3)
    for axes in (left, middle, right):
        axes.set(xscale="log", yscale="log")
    x = [size_of(size, size) for size in sizes]
    for setting in SETTINGS:
        columns = [column(found, (setting, size, size), "distance") for size in sizes]
        color = bars(left, x, columns, linestyle="", label=name_of(setting))[0].get_color()
        start = mean(columns[-1]) * x[-1] ** rate(*setting)
        left.plot(x, [start * one ** -rate(*setting) for one in x], color=color, linestyle="--")
    left.set(title="Squared distance to $f_\\lambda$", xlabel="size, $mn / (m + n)^{3/2}$")
    for axes, pairs, title in (
        (middle, [(size, size) for size in sizes], "Excess risk, $m = n$"),
        (right, [(POSITIVES, n) for n in negatives], "Excess risk, $m = 1{,}000$"),
    ):
        for kind in [*SETTINGS, "minimum"]:
            columns = [column(found, (kind, *pair), "excess") for pair in pairs]
            label = "minimum" if kind == "minimum" else name_of(kind)
            bars(axes, [n for _, n in pairs], columns, label=label)
        axes.set(title=title, xlabel="negative rows $n$")
    left.plot([], [], color="0.4", linestyle="--", label="slope by (2.5)")
    ticks = [x[0], x[len(x) // 2], x[-1]]
    left.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
    left.minorticks_off()
    right.set_ylim(middle.get_ylim())
    left.legend(fontsize="small")
    right.legend(fontsize="small", loc="lower right")
    save_figure(figure, path)


def main() -> None:
    """Measure and report."""
    options = parse_claim(__doc__, 8)
    sizes = (1_000, 3_000) if options.quick else SIZES
    negatives = NEGATIVES[:2] if options.quick else NEGATIVES
    found = measure(sizes, negatives, options.repeats)
    settings = (
        f"{options.repeats} samples of each size, least-squares loss, rbf kernel; means with 95 % "
        f"intervals. Slopes: from {ASYMPTOTIC:,} rows of each class on. Set before the run: the "
        "claim fails where the interval of the slope of the squared distance reaches above that "
        "of (2.5)."
    )
    tables = tables_of(found, sizes, negatives)
    verdicts = verdicts_of(found, sizes)
    report = Report("claim_schedule", settings, describe_machine(), tables, verdicts)
    conclude(options, report, partial(draw, found, sizes, negatives))


if __name__ == "__main__":
    main()
