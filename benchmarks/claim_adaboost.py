"""Whether AdaBoost ranks as well as RankBoost once its F-skew vanishes (RudinSchapire2009).

    python benchmarks/claim_adaboost.py --data DIR --plot adaboost.png
    python benchmarks/claim_adaboost.py --quick

Both boost the same stumps, one per feature, at its median, so hardly any list can be ranked without
error and both have a finite minimum. The claim is about AdaBoost with the constant among its weak
classifiers, and about training rows; AdaBoost without the constant, and new rows, are shown for
comparison.
"""

from collections.abc import Iterator
from functools import partial
from statistics import mean
from typing import Any

import numpy as np
from _claims import bars, conclude, legend_below, new_figure, parse_claim, save_figure
from _harness import describe_machine
from _real_data import load_each, load_table
from _report import Cell, Report, Table, Verdict
from _stats import half_width, with_half
from limited_classes import TITLES

SETS = ("magic", "ionosphere", "housing", "cancer", "digit8")
MOST_ROWS = 2_000
ROUNDS = (1, 3, 10, 30, 100, 300, 1_000, 3_000)
MOST_DIFFERENCE, SMALL_SKEW = 0.002, 1e-3
KINDS = {True: "with the constant", False: "without the constant"}


def in_halves(train: Any, test: Any) -> tuple[Any, Any]:
    """Return whether each feature is above its training median; constant features are left out.

    Where the median is the maximum, the edge is the mean.
    """
    keep = train.min(axis=0) < train.max(axis=0)
    train, test = train[:, keep], test[:, keep]
    edges = np.median(train, axis=0)
    edges = np.where(edges < train.max(axis=0), edges, train.mean(axis=0))
    return train > edges, test > edges


def adaboost(
    train: Any, y: Any, test: Any, n_rounds: int, *, constant: bool
) -> Iterator[tuple[Any, Any, float]]:
    """Yield training scores, test scores and the F-skew over F after each round.

    A round adds the stump, of either sign, or the constant with the largest edge, with the step
    that minimises the exponential loss along it.
    """
    label = np.where(y, 1.0, -1.0)
    weak, new_weak = (np.where(X, 1.0, -1.0) for X in (train, test))
    if constant:
        weak, new_weak = (np.column_stack([h, np.ones(len(h))]) for h in (weak, new_weak))
    scores, new_scores = np.zeros(len(weak)), np.zeros(len(new_weak))
    mass = np.full(len(weak), 1 / len(weak))
    for _ in range(n_rounds):
        edges = (label * mass) @ weak
        best = int(np.argmax(np.abs(edges)))
        step = np.arctanh(np.clip(edges[best], -1 + 1e-12, 1 - 1e-12))
        scores, new_scores = scores + step * weak[:, best], new_scores + step * new_weak[:, best]
        logs = -label * scores
        mass = np.exp(logs - logs.max())
        mass /= mass.sum()
        yield scores, new_scores, float((label * mass).sum())


def rank_boost(train: Any, y: Any, test: Any, n_rounds: int) -> Iterator[tuple[Any, Any]]:
    """Yield training and test scores of RankBoost after each round."""
    import warnings

    from sklearn_rank import RankBoost

    model = RankBoost(n_estimators=n_rounds, learning_rate=1, tol=0, n_jobs=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(train, y)
    stages = (model.staged_decision_function(X) for X in (train, test))
    last = None
    for last in zip(*stages, strict=True):
        yield last
    # A fit ends early at a minimum: the later rounds have the same scores.
    for _ in range(n_rounds - model.n_iter_):
        yield last


def log_pairs(y: Any, scores: Any) -> float:
    """Return the logarithm of the mean over pairs of exp(-(f_i - f_k))."""
    from scipy.special import logsumexp

    positive, negative = -scores[y], scores[~y]
    counts = len(positive), len(negative)
    return float(logsumexp(positive, b=1 / counts[0]) + logsumexp(negative, b=1 / counts[1]))


def one_split(X: Any, y: Any, split: int, rounds: Any) -> dict[Any, dict[str, float]]:
    """Return what AdaBoost of either kind lacks beside RankBoost; key: kind, round."""
    from sklearn.model_selection import train_test_split

    from sklearn_rank.metrics import auc_score

    size = min(int(0.6 * len(y)), MOST_ROWS)
    train, test, y_train, y_test = train_test_split(
        X, y == 1, train_size=size, stratify=y, random_state=split
    )
    train, test = in_halves(train, test)
    ours = dict(enumerate(rank_boost(train, y_train, test, max(rounds)), start=1))
    found = {}
    for kind in KINDS:
        theirs = adaboost(train, y_train, test, max(rounds), constant=kind)
        for number, (scores, new_scores, skew) in enumerate(theirs, start=1):
            if number not in rounds:
                continue
            auc = auc_score(y_train, ours[number][0])
            found[kind, number] = {
                "auc": auc,
                "train": auc_score(y_train, scores) - auc,
                "test": auc_score(y_test, new_scores) - auc_score(y_test, ours[number][1]),
                "skew": abs(skew),
                "loss": log_pairs(y_train, scores) - log_pairs(y_train, ours[number][0]),
            }
    return found


def table_of(found: Any, rounds: Any) -> Table:
    """Return the figures of the last round."""
    rows: list[list[Cell]] = []
    for name, splits in found.items():
        for kind, words in KINDS.items():
            of = {
                what: [split[kind, rounds[-1]][what] for split in splits]
                for what in ("auc", "train", "test", "skew", "loss")
            }
            differences = (with_half(of[what], "+.4f") for what in ("train", "test", "loss"))
            rows.append([TITLES[name], words, max(of["skew"]), mean(of["auc"]), *differences])
    columns = ["data", "AdaBoost", "largest F-skew / F", "RankBoost's training AUC"]
    columns += ["difference, training", "difference, new rows", "log of the ratio of pair losses"]
    return Table(f"AdaBoost minus RankBoost after {rounds[-1]:,} rounds", columns, rows)


def farthest(values: list[float]) -> float:
    """Return how far from zero the 95 % interval of a mean reaches."""
    return abs(mean(values)) + half_width(values)


def verdicts_of(found: Any, rounds: Any) -> list[Verdict]:
    """Return how far the training AUCs with the constant may differ."""
    verdicts = []
    for name, splits in found.items():
        last = [split[True, rounds[-1]] for split in splits]
        label = f"F-skew / F after {rounds[-1]:,} rounds, {TITLES[name]}"
        verdicts.append(Verdict(label, SMALL_SKEW, max(one["skew"] for one in last)))
        label = f"difference of the training AUC, far end of its interval, {TITLES[name]}"
        verdicts.append(Verdict(label, MOST_DIFFERENCE, farthest([one["train"] for one in last])))
    return verdicts


def draw(found: Any, rounds: Any, path: Any) -> None:
    """Draw the F-skew and the differences of the training AUC against the rounds."""
    figure, grid = new_figure(1, 8.0, n_rows=3, sharex=True)
    panels = grid[:, 0]
    panels[0].set(yscale="log", title="|F-skew| / F, with constant")
    for name, splits in found.items():
        shown = zip(panels, (True, True, False), ("skew", "train", "train"), strict=True)
        for axes, kind, what in shown:
            columns = [[split[kind, number][what] for split in splits] for number in rounds]
            bars(axes, rounds, columns, label=TITLES[name])
    panels[1].set(title="Training AUC, with constant", ylabel="AdaBoost - RankBoost")
    panels[2].set(title="Training AUC, without", ylabel="AdaBoost - RankBoost", xlabel="rounds")
    panels[2].sharey(panels[1])
    for axes in panels:
        axes.set(xscale="log")
    for axes in panels[1:]:
        axes.axhline(0, color="0.6", linewidth=1, linestyle="-")
    legend_below(figure, panels[0], 2)
    save_figure(figure, path)


def main() -> None:
    """Measure and report."""
    options = parse_claim(__doc__, 5, data=True)
    names, rounds = (("cancer",), ROUNDS[:5]) if options.quick else (SETS, ROUNDS)
    tables, notes = load_each(load_table, names, options.data)
    found = {
        name: [one_split(X, y, split, rounds) for split in range(options.repeats)]
        for name, (X, y) in tables.items()
    }
    settings = (
        f"{options.repeats} splits, 60 % of the rows, at most {MOST_ROWS:,}, for training; "
        "a stump for each feature, at its median; means with 95 % intervals. Set before the run: "
        f"where the F-skew falls below {SMALL_SKEW} of F, the claim holds if the interval of the "
        f"difference of the training AUC lies within {MOST_DIFFERENCE} of zero, fails if it lies "
        "outside, and is open otherwise."
    )
    tables, verdicts = [table_of(found, rounds)], verdicts_of(found, rounds)
    report = Report("claim_adaboost", settings, describe_machine(), tables, verdicts, notes)
    conclude(options, report, partial(draw, found, rounds))


if __name__ == "__main__":
    main()
