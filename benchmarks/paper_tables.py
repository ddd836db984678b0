"""Tables 3, 4 and 5 and figures 5, 6 and 7 of C. Rudin, "The P-Norm Push" (JMLR 10, 2009).

    python benchmarks/paper_tables.py --data DIR                    # some minutes
    python benchmarks/paper_tables.py --data DIR --json tables.json --figures pictures

DIR (or SKLEARN_RANK_DATA) is described in _real_data.py; a set that is not there comes from OpenML.
What is known of the paper's protocol and what is not: README.md beside this file.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from _harness import describe_machine
from _real_data import DataNotFoundError, add_data_option, load_two_classes
from _report import Report, Table, Verdict
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from sklearn_rank import PNormPushRanker
from sklearn_rank.metrics import (
    auc_score,
    p_norm_push_loss,
    reciprocal_log_rank_sum,
    reciprocal_rank_sum,
)

ROUNDS = 100
SETTINGS = {
    **{f"p = {p}": {"p": p} for p in (1, 2, 4, 8, 16, 64)},
    "IR": {"push": "ir"},
}
SMALL, LARGE = ("p = 1", "p = 2"), ("p = 8", "p = 16", "p = 64", "IR")
DRAWN = ("p = 1", "p = 4", "p = 64", "IR")
ABSENT = "–"


@dataclass(frozen=True)
class Measure:
    """A column of the paper's tables: how to measure, and what the paper leads one to expect."""

    of: Callable[[np.ndarray, np.ndarray], float]
    greater_is_better: bool
    expected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Printed:
    """A value of the paper, and how far from it we may be: by itself, or as a share of it."""

    value: float
    absolute: float | None = None
    relative: float | None = None


def _push_loss(p):
    return partial(p_norm_push_loss, p=p, normalize=False)


MEASURES = {
    "AUC": Measure(auc_score, True, SMALL),
    "R_2": Measure(_push_loss(2), False),
    "R_4": Measure(_push_loss(4), False),
    "R_8": Measure(_push_loss(8), False, LARGE),
    "R_16": Measure(_push_loss(16), False, LARGE),
    "DCG": Measure(reciprocal_log_rank_sum, True, LARGE),
    "AveR": Measure(reciprocal_rank_sum, True, LARGE),
}


@dataclass(frozen=True)
class Experiment:
    """A table of the paper and the figure that goes with it."""

    table: int
    figure: int
    title: str
    data: str
    protocol: str
    n_last_features: int | None = None
    n_train: int | None = None
    """None: three folds."""
    left_end: float = 0.2
    """Share of the negatives in the figure's second panel."""
    printed: dict[tuple[str, str], Printed] = field(default_factory=dict)
    quoted_auc: float | None = None
    """An AUC of which only the table is known, not the column."""

    def load(self, folder):
        """Return the features that count and the labels."""
        X, y = load_two_classes(self.data, folder)
        return X if self.n_last_features is None else X[:, -self.n_last_features :], y

    def parts(self, y, seed):
        """Return a list of (train, test): one random split."""
        rng = np.random.default_rng([seed, self.table])
        if self.n_train is None:
            folds = StratifiedKFold(3, shuffle=True, random_state=int(rng.integers(2**31)))
            return list(folds.split(y[:, np.newaxis], y))
        rows = rng.permutation(len(y))
        return [(rows[: self.n_train], rows[self.n_train :])]


# The paper's text was not at hand: these printed values are second-hand, the others are left out.
EXPERIMENTS = [
    Experiment(
        3,
        5,
        "MAGIC gamma telescope",
        "magic",
        "1000 random rows train, the others test; gamma is the positive class",
        n_train=1000,
        left_end=0.1,
        printed={
            ("AUC", "p = 1"): Printed(0.837, absolute=0.01),
            ("R_2", "p = 1"): Printed(6.5e10, relative=0.05),
            ("R_4", "p = 1"): Printed(4.1e18, relative=0.15),
            ("R_8", "p = 1"): Printed(3.8e34),
        },
    ),
    Experiment(
        4,
        6,
        "Ionosphere",
        "ionosphere",
        'the last five features; three stratified folds, means over them; "bad" is the '
        "positive class",
        n_last_features=5,
        quoted_auc=0.680,
    ),
    Experiment(
        5,
        7,
        "Boston housing",
        "housing",
        "CHAS is the label, the other 13 columns are the features; three stratified folds, means "
        "over them",
    ),
]


def fit_scores(setting, X, y, train, test):
    """Return scores of the test rows."""
    ranker = PNormPushRanker(weak_ranker="feature", n_estimators=ROUNDS, tol=0, **SETTINGS[setting])
    return make_pipeline(MinMaxScaler(), ranker).fit(X[train], y[train]).decision_function(X[test])


def measure_split(X, y, parts):
    """Return means over the parts, an array of settings and measures."""
    values = np.empty((len(parts), len(SETTINGS), len(MEASURES)))
    for number, (train, test) in enumerate(parts):
        for row, setting in enumerate(SETTINGS):
            scores = fit_scores(setting, X, y, train, test)
            values[number, row] = [one.of(y[test], scores) for one in MEASURES.values()]
    return values.mean(axis=0)


def measure_all(experiment, X, y, options):
    """Return an array of splits, settings and measures."""
    seeds = range(options.seed, options.seed + options.splits)
    job = joblib.delayed(measure_split)
    return np.array(
        joblib.Parallel(n_jobs=options.jobs)(job(X, y, experiment.parts(y, s)) for s in seeds)
    )


def show(mean, deviation):
    """Write both with two digits of the deviation, large numbers with one exponent."""
    size = max(mean, deviation)
    exponent = math.floor(math.log10(size)) if size >= 1e5 else 0
    mean, deviation = mean / 10.0**exponent, deviation / 10.0**exponent
    digits = max(0, 1 - math.floor(math.log10(deviation))) if deviation > 0 else 3
    text = f"{mean:.{digits}f} ± {deviation:.{digits}f}"
    return f"({text})e{exponent}" if exponent else text


def show_printed(printed):
    """Write a printed value as the paper does."""
    if printed is None:
        return ABSENT
    mantissa, exponent = f"{printed.value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}" if printed.value >= 1e5 else f"{printed.value:.3f}"


def best_settings(values, greater_is_better):
    """Return the index of the best setting along the last axis."""
    return (values if greater_is_better else -values).argmax(axis=-1)


def trend_cells(measure, mine):
    """Return the best setting, the expected ones, whether it is one of them, and how often."""
    names, mean = list(SETTINGS), mine.mean(axis=0)
    best = best_settings(mean, measure.greater_is_better)
    if not measure.expected:
        return [names[best], ABSENT, ABSENT, ABSENT]
    expected = np.isin(names, measure.expected)
    champions = []
    for group in (np.flatnonzero(expected), np.flatnonzero(~expected)):
        champions.append(mine[:, group[best_settings(mean[group], measure.greater_is_better)]])
    gap = champions[0] - champions[1]
    by = show(abs(gap.mean()), gap.std(ddof=1) / math.sqrt(len(gap)))
    verdict = f"{'yes' if expected[best] else 'no'}, by {by}"
    n_hold = expected[best_settings(mine, measure.greater_is_better)].sum()
    kind = "small p" if measure.expected == SMALL else "large p or IR"
    return [names[best], kind, verdict, f"{n_hold} of {len(mine)}"]


def table(experiment, values):
    """Return the table: ours, then what is printed, for each measure."""
    names = list(SETTINGS)
    rows = []
    for column, (name, measure) in enumerate(MEASURES.items()):
        mine = values[:, :, column]
        mean, deviation = mine.mean(axis=0), mine.std(axis=0, ddof=1)
        cells = [show(*both) for both in zip(mean, deviation, strict=True)]
        rows.append([name, "ours", *cells, *trend_cells(measure, mine)])
        printed = [experiment.printed.get((name, one)) for one in names]
        if any(printed):
            rows.append([name, "printed", *map(show_printed, printed), *[""] * 4])
    title = f"Table {experiment.table}: {experiment.title}"
    columns = ["measure", "", *names, "best", "expected", "holds", "splits"]
    notes = [f"{experiment.protocol[0].upper()}{experiment.protocol[1:]}."]
    notes += [] if experiment.printed else ["No printed value was at hand."]
    if experiment.quoted_auc is not None:
        notes.append(quoted_line(experiment, values[:, :, list(MEASURES).index("AUC")]))
    return Table(title, columns, rows, " ".join(notes))


def verdicts(experiment, values):
    """Return how far each printed value is that has a limit, and whether the trends hold."""
    found = []
    for (name, setting), printed in experiment.printed.items():
        mine = values[:, list(SETTINGS).index(setting), list(MEASURES).index(name)].mean()
        label = f"Table {experiment.table}, {name}, {setting}: off the printed value"
        if printed.absolute is not None:
            found.append(Verdict(label, printed.absolute, abs(mine - printed.value)))
        elif printed.relative is not None:
            share = 100 * abs(mine / printed.value - 1)
            found.append(Verdict(label, 100 * printed.relative, share, "%"))
    trends = [one for one in MEASURES.values() if one.expected]
    columns = [list(MEASURES.values()).index(one) for one in trends]
    n_hold = sum(
        holds(one, values[:, :, column].mean(axis=0))
        for one, column in zip(trends, columns, strict=True)
    )
    label = f"Table {experiment.table}: measures whose best setting is where expected"
    return [*found, Verdict(label, len(trends), n_hold, f"of {len(trends)}", at_least=True)]


def holds(measure, mean):
    """Whether the best setting is one of the expected."""
    return list(SETTINGS)[best_settings(mean, measure.greater_is_better)] in measure.expected


def quoted_line(experiment, auc):
    """Return a line that compares the quoted AUC with the largest mean."""
    best = auc.mean(axis=0).argmax()
    off = experiment.quoted_auc - auc[:, best].mean()
    side = "above" if off > 0 else "below"
    return (
        f"An AUC of {experiment.quoted_auc:.3f} is quoted from the paper's table without its "
        f"column, so it is in no cell. It lies {abs(off):.3f} {side} the largest mean here, that "
        f"of {list(SETTINGS)[best]}: {abs(off) / auc[:, best].std(ddof=1):.1f} standard deviations "
        "over splits."
    )


def settings_line(options):
    """Return what holds for all tables."""
    return (
        f"Mean ± standard deviation over {options.splits} random splits (seed {options.seed}). "
        f"Features scaled to [0, 1] on the training rows, {ROUNDS} rounds, either sign, steepest "
        "edge. R_p: the raw sum of the p-th powers of the negatives' heights, ties counted as "
        "errors, on the test rows. DCG: sum of 1 / ln(1 + rank) of the positives; AveR: sum of "
        "their reciprocal ranks."
    )


COLUMNS = (
    "Printed: what the paper prints, quoted at second hand; – is a value that was not at hand, "
    "not one that the paper leaves out. Expected: where the best setting should be, small p "
    f"({', '.join(SMALL)}) or large p or IR ({', '.join(LARGE)}); holds: whether the best mean is "
    "there, and by how much the best of those means and the best of the others differ, ± the "
    "standard error of that difference; splits: in how many splits the best is there."
)


def draw(experiment, X, y, seed, folder):
    """Draw ROC curves of the first split, whole and left end; folds count as queries."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from sklearn_rank.plotting import TopROCDisplay

    parts = experiment.parts(y, seed)
    rows = np.concatenate([test for _, test in parts])
    fold = np.repeat(np.arange(len(parts)), [len(test) for _, test in parts])
    figure, (whole, left) = plt.subplots(1, 2, figsize=(10, 5), layout="constrained")
    for setting in DRAWN:
        scores = np.concatenate([fit_scores(setting, X, y, *part) for part in parts])
        display = TopROCDisplay.from_predictions(
            y[rows], scores, qid=fold, name=setting, max_fpr=1.0, ax=whole
        )
        display.plot(left, max_fpr=experiment.left_end)
    left.get_legend().remove()
    left.set_title(f"the first {100 * experiment.left_end:g} %", loc="left", fontsize="medium")
    path = folder / f"figure_{experiment.figure}_{experiment.data}.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tables", type=int, nargs="+", default=[3, 4, 5], choices=(3, 4, 5))
    parser.add_argument("--splits", type=int, default=40, help="at least 2 (default: 40)")
    parser.add_argument("--seed", type=int, default=0, help="of the first split (default: 0)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the report there as well")
    parser.add_argument("--figures", type=Path, metavar="DIR", help="draws the ROC curves there")
    add_data_option(parser)
    options = parser.parse_args(arguments)
    if options.splits < 2:
        parser.error(f"--splits must be at least 2, got {options.splits}")
    if options.seed < 0:
        parser.error(f"--seed must be at least 0, got {options.seed}")
    return options


def main(arguments=None):
    options = parse(arguments)
    machine = describe_machine()
    tables, judged, runs = [], [], {}
    for experiment in (one for one in EXPERIMENTS if one.table in options.tables):
        try:
            X, y = experiment.load(options.data)
        except DataNotFoundError as error:
            raise SystemExit(f"Table {experiment.table}: {error}") from error
        values = measure_all(experiment, X, y, options)
        tables.append(table(experiment, values))
        judged += verdicts(experiment, values)
        runs[experiment.table] = values.tolist()
        if options.figures is not None:
            options.figures.mkdir(parents=True, exist_ok=True)
            print(draw(experiment, X, y, options.seed, options.figures))
    report = Report(
        "paper_tables", settings_line(options), machine, tables, judged, [COLUMNS], runs
    )
    report.publish(options.json)


if __name__ == "__main__":
    main()
