"""Cards of the default size against those of FasterRisk and optbinning, on ten tables.

    python benchmarks/cards.py --data DIR --store FILE
    python benchmarks/cards.py --quick                                # breast cancer only

The size of a card is its number of steps: the lines of its table with points other than zero if one
bin of each variable has none. FasterRisk chooses among 0/1 columns: steps at the nine deciles of
each variable, each category, and "missing"; on the two large tables it takes too long. optbinning's
card has the variables of greatest information value, as many as five bins each allow; its points
are not rounded. FasterRisk 0.1.10 requires packages of 2022 but runs with current ones, except that
NumPy must be below 2.3: `pip install --no-deps fasterrisk`. Systems that are not installed are
skipped.
"""

from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from statistics import mean

import numpy as np
from _harness import command_line, describe_machine
from _list_tables import TABLES, figures_of, measure_all, split_of
from _report import Report, Table, Verdict

SIZE, BINS, SPLITS = 20, 5, 2
LARGE, METRICS = ("adult", "magic"), ("AUC", "pauc@0.05")


def sklearn_rank(X, y, X_test):
    """Return the totals of our card."""
    from sklearn_rank.scorecard import Scorecard

    return Scorecard(max_terms=SIZE, random_state=0).fit(X, y).decision_function(X_test)


def steps_of(X, train):
    """Return 0/1 columns: steps at the deciles of training rows, categories, "missing"."""
    columns = []
    for name, x in train.items():
        if x.dtype == "category":
            columns += [X[name] == level for level in x.cat.categories]
        else:
            cuts = x.quantile(np.arange(0.1, 1, 0.1), interpolation="lower")
            columns += [X[name] <= cut for cut in cuts]
        columns.append(X[name].isna())
    return np.column_stack(columns).astype(float)


def fasterrisk(X, y, X_test):
    """Return the totals of FasterRisk's card with the least logistic loss."""
    from fasterrisk.fasterrisk import RiskScoreOptimizer

    columns = steps_of(X, X)
    used = np.unique(columns, axis=1, return_index=True)[1]
    used = used[np.ptp(columns[:, used], axis=0) > 0]
    search = RiskScoreOptimizer(columns[:, used], np.where(y, 1.0, -1.0), SIZE)
    search.optimize()
    return steps_of(X_test, X)[:, used] @ search.get_models(0)[2]


def optbinning(X, y, X_test):
    """Return the totals of optbinning's card."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    objects = dict.fromkeys(X.select_dtypes("category"), object)  # which it takes for categories
    most = {"iv": {"strategy": "highest", "top": SIZE // (BINS - 1)}}
    binning = BinningProcess(list(X), max_n_bins=BINS, selection_criteria=most)
    card = Scorecard(binning, LogisticRegression(max_iter=1000))
    return card.fit(X.astype(objects), y, metric_missing="empirical").score(X_test.astype(objects))


def fit(system, table, split, *, folder):
    """Measure one card on held-out rows."""
    X, X_test, y, y_test = split_of(table, folder, split)
    return figures_of(y_test, globals()[system](X, y, X_test))


def main():
    """Measure, and compare with the better of the others on each table."""
    parser = command_line(__doc__, quick="breast cancer only", data=True)
    parser.add_argument("--store", type=Path, metavar="FILE", help="keep fits, go on from them")
    options = parser.parse_args()
    names = filter(find_spec, ("sklearn_rank", "optbinning", "fasterrisk"))
    keys = product(["cancer"] if options.quick else TABLES, names, range(SPLITS))
    tasks = [(n, t, s) for t, n, s in keys if n != "fasterrisk" or t not in LARGE]
    runs = measure_all(partial(fit, folder=options.data), tasks, options.store, 1)
    rows, by_table = [], {}
    for name, table in dict.fromkeys(task[:2] for task in tasks):
        splits = [run for task, run in runs.items() if task[:2] == (name, table)]
        means = [mean(run[metric] for run in splits) for metric in METRICS]
        by_table.setdefault(table, []).append(means)
        rows.append([table, name, *(f"{value:.4f}" for value in means)])
    compared = [cards for cards in by_table.values() if len(cards) > 1]
    gains = [[own - max(others) for own, *others in zip(*cards, strict=True)] for cards in compared]
    label = "our card minus the better of the others on each table: mean"
    measured = zip(METRICS, map(mean, zip(*gains, strict=True)), strict=False)  # no gains: none
    verdicts = [Verdict(f"{label} {m}", 0, round(gain, 5), at_least=True) for m, gain in measured]
    cards = Table(f"Cards of {SIZE} steps", ["table", "system", *METRICS], rows)
    machine = describe_machine("optbinning", "fasterrisk")
    about = f"{SPLITS} splits of 60 and 40 % of each table."
    Report("cards", about, machine, [cards], verdicts).publish(options.json)


if __name__ == "__main__":
    main()
