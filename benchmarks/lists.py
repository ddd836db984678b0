"""Ranking without tuning: every system with its defaults, on ten tables and on queries.

    python benchmarks/lists.py --data DIR --store FILE
    python benchmarks/lists.py --quick                                # breast cancer, two splits

Every ranker, the ensemble and what the command line puts first, against classifiers of other
libraries, each with its defaults; on graded queries the ensemble against its best member.

Five splits of 60 and 40 %; differences are paired over the splits, with the variance of Nadeau and
Bengio (2003) and Holm's procedure over the tables. Where CatBoost or AutoGluon is in an environment
of its own, run the script there with `--systems` and the same `--store`.
"""

from collections import Counter
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from _default_systems import (
    AUTOGLUON,
    CATBOOST,
    ENSEMBLE,
    ESTIMATED,
    FIRST,
    HISTOGRAMS,
    LEFT_OUT,
    LETOR,
    LIGHTGBM_TREES,
    TREES,
    fit_queries,
    fit_system,
    systems,
)
from _harness import command_line, describe_machine
from _list_tables import (
    METRICS,
    RATIO,
    TABLES,
    differences,
    load_table,
    measure_all,
    significantly_below,
    stored,
)
from _real_data import load_each
from _report import Cell, PartResult, Report, Table, Verdict
from _stats import standard_error, with_half

HEADS = {"AUC": "AUC", "pauc@0.05": "pAUC", "tpr@0.05": "first 5 %", "average precision": "AP"}

Runs = dict[str, dict[str, dict[int, dict[str, Any]]]]
"""Figures by system, table and split."""


def paired(runs: Runs, system: str, other: str, metric: str) -> dict[str, list[float]]:
    """Return a system minus another one, by table, for the splits that both were fitted to."""
    by_table = {}
    for table, splits in runs.get(system, {}).items():
        beside = runs.get(other, {}).get(table, {})
        both = sorted(splits.keys() & beside.keys())
        if both:
            ours, theirs = [splits[k] for k in both], [beside[k] for k in both]
            by_table[table] = differences(ours, theirs, metric)
    return by_table


def overall(runs: Runs, system: str, other: str, metric: str) -> float | None:
    """Return the mean over the tables of the mean difference over the splits."""
    by_table = paired(runs, system, other, metric)
    return mean(map(mean, by_table.values())) if by_table else None


def all_systems(runs: Runs, beside: str) -> Table:
    """Return a line for each system: its difference from one of them, and its seconds."""
    rows: list[list[Cell]] = []
    for system, by_table in runs.items():
        cells: list[Cell] = []
        for metric in METRICS:
            means = [mean(values) for values in paired(runs, system, beside, metric).values()]
            ahead = sum(value > 0 for value in means)
            cells.append(f"{with_half(means, '+.4f')} ({ahead} of {len(means)})" if means else None)
        seconds = mean(mean(run["s"] for run in splits.values()) for splits in by_table.values())
        rows.append([system, *cells, f"{seconds:.2f}"])
    rows.sort(key=lambda row: -(overall(runs, str(row[0]), beside, "AUC") or 0.0))
    columns = ["system", *HEADS.values(), "processor s"]
    note = (
        "±: half of the 95 % interval over the tables. In brackets the tables on which the system "
        "is ahead, of those it was fitted to."
    )
    return Table(f"Every system minus {beside}, mean over the tables", columns, rows, note)


def difference_table(runs: Runs, system: str, other: str) -> Table:
    """Return the mean difference of each metric on each table, with its standard error."""
    by_metric = {metric: paired(runs, system, other, metric) for metric in METRICS}
    rows: list[list[Cell]] = []
    for table in by_metric["AUC"]:
        cells = [by_metric[metric][table] for metric in METRICS]
        errors = (f" ({standard_error(c, RATIO):.4f})" if len(c) > 1 else "" for c in cells)
        rows.append([table, *(f"{mean(c):+.4f}{e}" for c, e in zip(cells, errors, strict=True))])
    means = [f"{overall(runs, system, other, metric) or 0.0:+.4f}" for metric in METRICS]
    columns = ["table", *HEADS.values()]
    return Table(f"{system} minus {other}", columns, [*rows, ["mean", *means]])


def at_least(runs: Runs, system: str, other: str, limits: dict[str, float]) -> list[Verdict]:
    """Return the verdicts that mean differences reach limits, and that none is surely below."""
    verdicts = []
    for metric, limit in limits.items():
        measured = overall(runs, system, other, metric)
        measured = measured if measured is None else round(measured, 5)
        label = f"{system} minus {other}: mean {HEADS[metric]}"
        verdicts.append(Verdict(label, limit, measured, at_least=True))
    below = [
        f"{HEADS[metric]} on {table}"
        for metric in METRICS
        for table in significantly_below(paired(runs, system, other, metric))
    ]
    words = f" ({', '.join(below)})" if below else ""
    n_below = len(below) if paired(runs, system, other, "AUC") else None
    label = f"{system} significantly below {other}: tables{words}"
    return [*verdicts, Verdict(label, 0, n_below)]


def first_of_compare(runs: Runs) -> PartResult:
    """Return what `compare` put first, and by how much it beats the better of two baselines."""
    rows: list[list[Cell]] = []
    gains: list[float] = []
    for table, splits in runs.get(FIRST, {}).items():
        counts = Counter(run["name"] for run in splits.values()).most_common()
        rows.append([table, "; ".join(f"{number} x {name}" for name, number in counts)])
        gain = [paired(runs, FIRST, other, "AUC").get(table) for other in (CATBOOST, HISTOGRAMS)]
        if all(gain):
            gains.append(min(mean(values) for values in gain if values))
    tables = [Table("What compare puts first, in how many splits", ["table", FIRST], rows)]
    measured = round(mean(gains), 5) if gains else None
    label = f"{FIRST} minus the better of {CATBOOST} and {HISTOGRAMS} on each table: mean AUC"
    return PartResult(tables, [Verdict(label, 0.003, measured, at_least=True)])


def estimates_hold(runs: Runs) -> list[Verdict]:
    """Return the shares of splits in which the ensemble's own estimate agrees with test rows."""
    verdicts = []
    fits = [run for splits in runs.get(ENSEMBLE, {}).values() for run in splits.values()]
    for (key, metric), share in zip(ESTIMATED.items(), (0.9, 0.85), strict=True):
        pairs = [(run["estimate"][key], run["test errors"][key]) for run in fits]
        inside = [abs(a - b) <= 1.96 * (e**2 + f**2) ** 0.5 for (a, e), (b, f) in pairs]
        label = f"estimate of {HEADS[metric]} within 1.96 errors of the test rows: share of splits"
        measured = round(mean(inside), 3) if inside else None
        verdicts.append(Verdict(label, share, measured, at_least=True))
    return verdicts


def report_defaults(runs: Runs) -> PartResult:
    """Compare every system with CatBoost, the strongest library as it comes."""
    against = [(ENSEMBLE, CATBOOST), (ENSEMBLE, AUTOGLUON), (TREES, CATBOOST)]
    against += [(TREES, LIGHTGBM_TREES), (FIRST, CATBOOST), (FIRST, HISTOGRAMS)]
    tables = [all_systems(runs, CATBOOST if CATBOOST in runs else HISTOGRAMS)]
    tables += [difference_table(runs, *both) for both in against if paired(runs, *both, "AUC")]
    chosen = first_of_compare(runs)
    verdicts = [
        *at_least(runs, ENSEMBLE, CATBOOST, {"AUC": 0.004, "pauc@0.05": 0.012}),
        *at_least(runs, ENSEMBLE, AUTOGLUON, {"AUC": 0.0, "pauc@0.05": 0.005}),
        *at_least(runs, TREES, CATBOOST, {"AUC": -0.001, "pauc@0.05": 0.0}),
        *at_least(
            runs, TREES, LIGHTGBM_TREES, dict(zip(METRICS, (0.003, 0.007, 0, 0.007), strict=True))
        ),
        *chosen.verdicts,
        *estimates_hold(runs),
    ]
    return PartResult([*tables, *chosen.tables], verdicts)


def report_queries(runs: dict[tuple[Any, ...], Any]) -> PartResult:
    """Compare an ensemble with its best member on graded queries."""
    rows: list[list[Cell]] = []
    gains = []
    for data in dict.fromkeys(name for name, _ in runs):
        folds = [run for (name, _), run in runs.items() if name == data]
        ours, best = (mean(run[key] for run in folds) for key in ("ensemble", "best member"))
        names = ", ".join(dict.fromkeys(run["name"] for run in folds))
        rows.append([data, f"{ours:.4f}", f"{best:.4f}", names])
        gains.append(ours - best)
    title, columns = "NDCG@10 of test queries", ["data", ENSEMBLE, "best member", "which is"]
    label = f"{ENSEMBLE} minus its best member: mean NDCG@10 of the sets"
    verdict = Verdict(label, 0.0, round(mean(gains), 5), at_least=True)
    return PartResult([Table(title, columns, rows)], [verdict])


def measure(options: Any) -> list[PartResult]:
    """Measure what is missing in the store, and compare all that is there."""
    tasks = [
        (name, table, split)
        for split in range(options.splits)
        for table in options.tables
        for name in options.systems or systems()
        if table not in LEFT_OUT.get(name, ())
    ]
    fit = partial(fit_system, folder=options.data)
    fits = measure_all(fit, tasks, options.store, options.processes)
    runs: Runs = {}
    for (name, table, split), figures in {**stored(options.store), **fits}.items():
        runs.setdefault(name, {}).setdefault(table, {})[split] = figures
    parts = [report_defaults(runs)]
    if options.quick or options.data is None:
        return [*parts, PartResult([], notes=["Queries need the data folder, and minutes."])]
    path = options.store and options.store.with_suffix(".queries.jsonl")
    folds = [(data, fold) for data, number in LETOR.items() for fold in range(number)]
    if options.systems:
        folds = list(stored(path))
    found = measure_all(partial(fit_queries, folder=options.data), folds, path, options.processes)
    return [*parts, report_queries(found)] if found else parts


def parse_arguments() -> Any:
    """Read the command line."""
    parser = command_line(__doc__, quick="breast cancer, two splits", data=True)
    add = parser.add_argument
    add("--systems", nargs="+", choices=systems(), metavar="NAME", help="default: all installed")
    add("--tables", nargs="+", choices=TABLES, default=list(TABLES), help="tables (default: all)")
    add("--splits", type=int, default=5, help="splits of each table (default: 5)")
    add("--processes", type=int, default=1, help="fits at a time (default: 1)")
    add("--store", type=Path, metavar="FILE", help="keep fits there, and go on from them")
    options = parser.parse_args()
    if options.quick:
        options.tables, options.splits = ["cancer"], 2
    return options


def main() -> None:
    """Measure and report."""
    options = parse_arguments()
    tables, notes = load_each(load_table, options.tables, options.data)
    options.tables = list(tables)
    settings = (
        f"{options.splits} splits of 60 and 40 % of each table, defaults of each library, one "
        "thread (AutoGluon: best_quality, two threads for 150 s); differences paired over the "
        "splits, standard errors by Nadeau and Bengio (2003); significance: two-sided 5 %, Holm's "
        "procedure over the tables of a metric. pAUC: mean share of the positives found over the "
        "first 5 % of the negatives; first 5 %: the share found there; AP: average precision. "
        "Processor seconds: of fit and scores."
    )
    machine = describe_machine("xgboost", "lightgbm", "catboost", "autogluon.tabular")
    parts = [PartResult([], notes=notes), *measure(options)]
    Report.of_parts("lists", settings, machine, parts).publish(options.json)


if __name__ == "__main__":
    main()
