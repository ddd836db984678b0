"""The effect of p on small and large models: the top of the list against the number of stumps.

    python benchmarks/limited_classes.py --data DIR
    python benchmarks/limited_classes.py --quick                      # half a minute

Each model is `PNormPushRanker` with 5 to 200 rounds of stumps. All powers are fitted to the same
splits, so that differences are paired. Top is the mean share of the positives that are found over
the first 5 % of the negatives.
"""

import warnings
from statistics import mean

from _harness import command_line, describe_machine
from _real_data import load_each, load_table
from _report import Cell, Report, Table
from _stats import with_half

ROUNDS, POWERS = (5, 10, 20, 50, 200), (1, 4, 16)
TITLES = {
    "magic": "MAGIC",
    "ionosphere": "Ionosphere",
    "housing": "Boston housing",
    "cancer": "breast cancer",
    "digit8": "digits, 8 against the rest",
    "credit": "generated credit table",
}
TOP_SHARE, TEST_SHARE = 0.05, 0.4

Figures = dict[tuple[int, int], list[tuple[float, float]]]
"""For each number of rounds and power: AUC and top of each split."""


def measure(X, y, n_splits: int, rounds: tuple[int, ...]) -> Figures:
    """Fit and score every model on every split."""
    from sklearn.model_selection import train_test_split

    from sklearn_rank import PNormPushRanker
    from sklearn_rank.metrics import auc_score, partial_auc_score

    found: Figures = {(size, p): [] for size in rounds for p in POWERS}
    for split in range(n_splits):
        train, test, y_train, y_test = train_test_split(
            X, y, test_size=TEST_SHARE, stratify=y, random_state=split
        )
        for p in POWERS:
            whole_steps = {"learning_rate": 1, "n_estimators": max(rounds), "tol": 0}
            model = PNormPushRanker(p=p, n_jobs=1, **whole_steps)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(train, y_train)
            for number, scores in enumerate(model.staged_decision_function(test), start=1):
                if number in rounds:
                    top = partial_auc_score(y_test, scores, max_fpr=TOP_SHARE)
                    found[number, p].append((auc_score(y_test, scores), top))
    return found


def table_of(title: str, found: Figures, rounds: tuple[int, ...]) -> Table:
    """Return the figures of p = 1, and what larger powers add."""
    rows: list[list[Cell]] = []
    for size in rounds:
        row: list[Cell] = [size, *(mean(column) for column in zip(*found[size, 1], strict=True))]
        for p in POWERS[1:]:
            for measure_number in (1, 0):
                pairs = zip(found[size, p], found[size, 1], strict=True)
                gains = [a[measure_number] - b[measure_number] for a, b in pairs]
                row.append(with_half(gains, "+.3f", TEST_SHARE / (1 - TEST_SHARE)))
        rows.append(row)
    columns = ["stumps", "AUC, p=1", "top, p=1"]
    columns += [f"{what}, p={p}" for p in POWERS[1:] for what in ("top", "AUC")]
    return Table(title, columns, rows)


def main() -> None:
    """Measure and report."""
    quick = "breast cancer, two splits, at most 20 stumps"
    parser = command_line(__doc__, quick=quick, data=True)
    parser.add_argument("--splits", type=int, default=10, help="of each data set (default 10)")
    options = parser.parse_args()
    sets, rounds = (["cancer"], ROUNDS[:3]) if options.quick else (TITLES, ROUNDS)
    options.splits = 2 if options.quick else options.splits
    rows, notes = load_each(load_table, sets, options.data)
    found = {name: measure(X, y, options.splits, rounds) for name, (X, y) in rows.items()}
    tables = [table_of(TITLES[name], figures, rounds) for name, figures in found.items()]
    settings = (
        f"{options.splits} splits, 60 % of the rows for training. Top: mean share of the positives "
        "found over the first 5 % of the negatives. Columns of p = 4 and 16: paired difference to "
        "p = 1 and half of its 95 % interval, which allows for rows that the splits share (Nadeau "
        "and Bengio, 2003)."
    )
    report = Report("limited_classes", settings, describe_machine(), tables, notes=notes)
    report.publish(options.json)


if __name__ == "__main__":
    main()
