"""Whether the length of the lists matters to linear ListNet (Tewari2015), from 5 to 10,000 rows.

    python benchmarks/claim_lists.py --plot lists.png
    python benchmarks/claim_lists.py --quick

Rows lie on the unit sphere. Two ways to grade a list, both with a linear utility: each row has its
own grade, the rounded utility plus noise; or a single row is relevant, drawn by the softmax of the
utilities. A longer list has more grades, but never more than one choice.
"""

from functools import partial
from typing import Any

import numpy as np
from _claims import bars, conclude, legend_below, new_figure, parse_claim, save_figure
from _harness import describe_machine, growth
from _report import Cell, Report, Table, Verdict
from _stats import lower, upper, with_half

N_FEATURES, MAX_NORM = 5, 5.0
LENGTHS = (5, 20, 100, 1_000, 10_000)
LONG = 100
"""Length from which on the slope is fitted: shorter lists do not yet have the limit's targets."""

N_LISTS = (10, 40)
N_NEW = {5: 4_000, 20: 4_000, 100: 2_000, 1_000: 400, 10_000: 100}
"""New lists for each length, on which risks are compared."""

ALONE = 30.0
"""Relevance of the chosen row: the softmax of the relevances leaves nothing to the others."""

MOST_GROWTH = 0.05
"""Slope of the logarithm of the excess risk over that of the length above which the claim fails."""

ROUNDING = 1e-9
"""Smallest excess risk: the least risk is found to the tolerance of the solver only."""

GRADINGS = {"grades": "a grade for each row", "choice": "one relevant row"}


def make_lists(
    grading: str, n_lists: int, length: int, rng: Any, *, expected: bool = False
) -> tuple[Any, Any, Any]:
    """Return features, relevance and list of each row.

    Instead of the choice, `expected` gives the utilities: the softmax of these is its distribution.
    """
    direction = np.linspace(1, 0, N_FEATURES)
    direction *= 0.8 * MAX_NORM / np.linalg.norm(direction)
    X = rng.standard_normal((n_lists * length, N_FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    utility = X @ direction
    if grading == "grades":
        y = np.round(np.clip(utility + rng.standard_normal(len(X)), 0, 4))
    elif expected:
        y = utility
    else:
        noisy = (utility + rng.gumbel(size=len(X))).reshape(n_lists, length)
        y = ALONE * (np.arange(length) == noisy.argmax(axis=1)[:, np.newaxis]).ravel()
    return X, y, np.repeat(np.arange(n_lists), length)


def risk(coefficients: Any, X: Any, y: Any, length: int) -> float:
    """Return the mean cross-entropy of lists of one length."""
    from scipy.special import log_softmax, softmax

    log_share = log_softmax((X @ coefficients).reshape(-1, length), axis=1)
    return float(-(softmax(y.reshape(-1, length), axis=1) * log_share).sum(axis=1).mean())


def rankers() -> dict[str, Any]:
    """Return one pass of online descent with the step of Theorem 5, and the minimum."""
    from sklearn_rank import ListNetLinear

    fixed = partial(ListNetLinear, penalty=None, max_norm=MAX_NORM)
    return {"one pass of descent": fixed(solver="ogd", max_iter=1), "minimum": fixed(tol=1e-4)}


def measure(lengths: Any, repeats: int) -> dict[Any, list[float]]:
    """Return excess risks; key: grading, ranker, number of lists, length."""
    found: dict[Any, list[float]] = {}
    for length in lengths:
        for grading in GRADINGS:
            rng = np.random.default_rng([length, len(grading)])
            X_new, y_new, qid_new = make_lists(grading, N_NEW[length], length, rng, expected=True)
            best = rankers()["minimum"].fit(X_new, y_new, qid=qid_new).coef_
            least = risk(best, X_new, y_new, length)
            for n_lists in N_LISTS * repeats:
                X, y, qid = make_lists(grading, n_lists, length, rng)
                for name, ranker in rankers().items():
                    loss = risk(ranker.fit(X, y, qid=qid).coef_, X_new, y_new, length)
                    excess = max(loss - least, ROUNDING)
                    found.setdefault((grading, name, n_lists, length), []).append(excess)
            print(f"{grading}, {length} rows done", flush=True)
    return found


def slopes(found: Any, grading: str, name: str, n_lists: int, lengths: Any) -> list[float]:
    """Return the slope of the log of the excess risk over that of the length, for each repeat."""
    long = [length for length in lengths if length >= LONG]
    columns = [found[grading, name, n_lists, length] for length in long]
    return [growth(long, values) for values in zip(*columns, strict=True)]


def table_of(found: Any, grading: str, lengths: Any) -> Table:
    """Return the excess risk at each length, and its slope."""
    rows: list[list[Cell]] = []
    for name in rankers():
        for n_lists in N_LISTS:
            cells = [with_half(found[grading, name, n_lists, length]) for length in lengths]
            slope = with_half(slopes(found, grading, name, n_lists, lengths), "+.3f")
            rows.append([name, n_lists, *cells, slope])
    heads = [f"{length:,} rows" for length in lengths]
    columns = ["ranker", "lists", *heads, f"slope from {LONG} rows"]
    return Table(f"Excess risk, {GRADINGS[grading]}", columns, rows)


def verdicts_of(found: Any, lengths: Any) -> list[Verdict]:
    """Return whether an excess risk grows with the length, and the largest share of the bound."""
    from sklearn_rank.theory import ogd_bound

    verdicts = []
    for grading, words in GRADINGS.items():
        for name in rankers():
            least = max(lower(slopes(found, grading, name, n, lengths)) for n in N_LISTS)
            label = f"lower end of the slope's 95 % interval, {words}, {name}"
            verdicts.append(Verdict(label, MOST_GROWTH, least))
    shares = [
        upper(values) / ogd_bound(n, max_norm=MAX_NORM, row_norm=1.0)
        for (_, name, n, _), values in found.items()
        if name == "one pass of descent"
    ]
    return [*verdicts, Verdict("largest excess risk of descent / bound", 1.0, max(shares))]


def draw(found: Any, lengths: Any, path: Any) -> None:
    """Draw the excess risk against the length, one panel for each grading."""
    figure, grid = new_figure(1, 6.5, n_rows=2, sharex=True, sharey=True)
    for axes, (grading, words) in zip(grid.flat, GRADINGS.items(), strict=True):
        axes.set(xscale="log", yscale="log", title=words.capitalize())
        for name in rankers():
            for n_lists in N_LISTS:
                columns = [found[grading, name, n_lists, length] for length in lengths]
                bars(axes, lengths, columns, label=f"{name}, {n_lists} lists")
        axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
        axes.minorticks_off()
    grid[-1, 0].set_xlabel("rows of a list")
    figure.supylabel("excess risk (nats)", fontsize="medium")
    legend_below(figure, grid[0, 0], 2)
    save_figure(figure, path)


def main() -> None:
    """Measure and report."""
    options = parse_claim(__doc__, 6)
    lengths = (5, 100, 1_000) if options.quick else LENGTHS
    found = measure(lengths, options.repeats)
    settings = (
        f"{options.repeats} samples of lists of each length, {N_FEATURES} features; means with "
        "95 % intervals. Set before the run: the claim fails where the lower end of the interval "
        f"of the slope (log excess risk over log length, from {LONG} rows on) is above "
        f"{MOST_GROWTH}, or an excess risk of descent above its bound."
    )
    tables = [table_of(found, grading, lengths) for grading in GRADINGS]
    verdicts = verdicts_of(found, lengths)
    report = Report("claim_lists", settings, describe_machine(), tables, verdicts)
    conclude(options, report, partial(draw, found, lengths))


if __name__ == "__main__":
    main()
