"""Whether p changes little for rich classes of models (Rudin2009, sec. 9.1): linear to deep trees.

    python benchmarks/claim_rich_classes.py --data DIR --plot rich_classes.png
    python benchmarks/claim_rich_classes.py --quick

From one coefficient per feature to trees of depth 6, the models rank the training rows better and
better. `limited_classes.py` has the numbers of stumps in between.
"""

import warnings
from collections.abc import Callable
from functools import partial
from statistics import mean
from typing import Any

from _claims import LOOKS, bars, conclude, legend_below, new_figure, parse_claim, save_figure
from _harness import describe_machine
from _real_data import load_each, load_table
from _report import Cell, Report, Table, Verdict
from _stats import upper, with_half
from limited_classes import TITLES, TOP_SHARE

SETS = ("magic", "digit8", "credit")
POWERS, MOST_ROWS, N_TREES = (1, 4, 16), 2_000, 60
DEPTHS = (2, 4, 6)
LITTLE = 0.01
"""Change of the top, as a share of the positives, up to which it is little."""


Model = Callable[[float], Any]


def linear(p: float) -> Any:
    """Return a ranker with one coefficient for each feature."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler

    from sklearn_rank import PNormPushRanker

    whole_steps = {"learning_rate": 1, "n_estimators": 200, "tol": 0}
    ranker = PNormPushRanker(p=p, weak_ranker="feature", **whole_steps)
    return make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler(clip=True), ranker)


def stumps(number: int) -> Model:
    """Return what makes a ranker of so many stumps."""
    from sklearn_rank import PNormPushRanker

    whole_steps = {"learning_rate": 1, "n_estimators": number, "tol": 0}
    return lambda p: PNormPushRanker(p=p, n_jobs=1, **whole_steps)


def trees(depth: int) -> Model:
    """Return what makes a ranker of boosted trees of a depth."""
    from sklearn_rank import BoostedTreesRanker

    size = {"n_estimators": N_TREES, "max_depth": depth, "max_leaf_nodes": 2**depth}
    plain = {"loss": "logistic", "reg_lambda": None, "min_child_weight": None}
    plain |= {"engine": "lightgbm", "learning_rate": 0.1, "subsample": 1.0, "colsample": 1.0}
    return lambda p: BoostedTreesRanker(p=p, n_jobs=1, **size, **plain)


def models() -> dict[str, Model]:
    """Return what makes each model, from the poorest class to the richest."""
    found: dict[str, Model] = {"linear": linear, "10 stumps": stumps(10), "200 stumps": stumps(200)}
    return found | {f"trees of depth {depth}": trees(depth) for depth in DEPTHS}


def as_numbers(X: Any) -> Any:
    """Return features as an array of numbers; of a table, its columns of numbers."""
    import numpy as np

    if hasattr(X, "select_dtypes"):
        X = X.select_dtypes("number")
    return np.asarray(X, dtype=float)


def measure(X: Any, y: Any, names: list[str], repeats: int) -> dict[Any, dict[str, list[float]]]:
    """Return AUC and top, on training and on new rows, of each split; key: model, p."""
    from sklearn.model_selection import train_test_split

    from sklearn_rank.metrics import auc_score, partial_auc_score

    known, found = models(), {}
    for split in range(repeats):
        size = min(int(0.6 * len(y)), MOST_ROWS)
        train, test, y_train, y_test = train_test_split(
            X, y, train_size=size, stratify=y, random_state=split
        )
        for name in names:
            for p in POWERS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = known[name](p).fit(train, y_train)
                of = found.setdefault((name, p), {})
                for rows, features, labels in (("train", train, y_train), ("test", test, y_test)):
                    scores = model.decision_function(features)
                    top = partial_auc_score(labels, scores, max_fpr=TOP_SHARE)
                    of.setdefault(f"{rows} AUC", []).append(auc_score(labels, scores))
                    of.setdefault(f"{rows} top", []).append(top)
    return found


def gains(found: Any, name: str, what: str, p: float) -> list[float]:
    """Return what a power adds to p = 1, for each split."""
    return [a - b for a, b in zip(found[name, p][what], found[name, 1][what], strict=True)]


def table_of(title: str, found: Any, names: list[str]) -> Table:
    """Return the figures of p = 1, and what the largest p adds."""
    rows: list[list[Cell]] = []
    for name in names:
        of = found[name, 1]
        row: list[Cell] = [name, mean(of["train AUC"]), mean(of["test AUC"]), mean(of["test top"])]
        for what in ("train top", "test top", "test AUC"):
            row.append(with_half(gains(found, name, what, POWERS[-1]), "+.3f"))
        rows.append(row)
    columns = ["model", "training AUC, p=1", "AUC, p=1", "top, p=1"]
    columns += [f"{what}, p={POWERS[-1]}" for what in ("training top", "top", "AUC")]
    return Table(title, columns, rows)


def verdicts_of(found: dict[str, Any], richest: str) -> list[Verdict]:
    """Return how much the largest p changes the tops of the richest class."""
    verdicts = []
    for name, figures in found.items():
        for what, words in (("train top", "training rows"), ("test top", "new rows")):
            change = gains(figures, richest, what, POWERS[-1])
            most = max(upper(change), upper([-one for one in change]))
            label = "change of the top, far end of its interval"
            label += f", {richest}, {TITLES[name]}, {words}"
            verdicts.append(Verdict(label, LITTLE, most))
    return verdicts


def draw(found: dict[str, Any], names: list[str], path: Any) -> None:
    """Draw what p adds to the top and to the AUC of new rows, a column for each data set."""
    figure, grid = new_figure(2, 7.5, n_rows=len(found), sharex=True, sharey="col")
    for column, what in zip(grid.T, ("top", "AUC"), strict=True):
        for axes, (name, figures) in zip(column, found.items(), strict=True):
            axes.set(xscale="log", title=f"{what}, {TITLES[name]}")
            axes.title.set_fontsize("small")
            for number, model in enumerate(names):
                columns = [gains(figures, model, f"test {what}", p) for p in POWERS]
                aside = 1.06 ** (number - len(names) / 2)  # so that no interval hides another
                x = [p * aside for p in POWERS]
                bars(axes, x, columns, label=model, **LOOKS[number])
            axes.axhline(0, color="0.6", linewidth=1, linestyle="-")
            axes.set_xticks(POWERS, [str(p) for p in POWERS])
            axes.minorticks_off()
        column[-1].set_xlabel("p")
    figure.supylabel("difference to p = 1", fontsize="medium")
    legend_below(figure, grid[0, 0], 2)
    save_figure(figure, path)


def main() -> None:
    """Measure and report."""
    options = parse_claim(__doc__, 4, data=True)
    sets = ("cancer",) if options.quick else SETS
    names = ["linear", "trees of depth 6"] if options.quick else list(models())
    tables, notes = load_each(load_table, sets, options.data)
    found = {
        name: measure(as_numbers(X), y, names, options.repeats) for name, (X, y) in tables.items()
    }
    settings = (
        f"{options.repeats} splits, 60 % of the rows, at most {MOST_ROWS:,}, for training; "
        f"{N_TREES} trees. Top: mean share of the positives found over the first 5 % of the "
        "negatives. Columns of the largest p: paired differences to p = 1 with 95 % intervals. Set "
        "before the run: on a data set the claim holds if the interval of the change of the top "
        f"lies within {LITTLE} of zero for the deepest trees, fails if it lies outside, and is "
        "open otherwise."
    )
    tables = [table_of(TITLES[name], figures, names) for name, figures in found.items()]
    verdicts = verdicts_of(found, names[-1])
    machine = describe_machine("lightgbm", "xgboost")
    report = Report("claim_rich_classes", settings, machine, tables, verdicts, notes)
    conclude(options, report, partial(draw, found, names))


if __name__ == "__main__":
    main()
