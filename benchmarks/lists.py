"""The list that a stranger gets: what comes without tuning, on ten tables and on queries.

    python benchmarks/lists.py --data DIR
    python benchmarks/lists.py --quick                                # breast cancer, two splits

Parts: `models`, rankers and classifiers with the defaults of their libraries on four tables (the
page `as_they_come`); `ensemble`, RankingEnsemble beside its best member and the best of five peers;
`compare`, what the command line puts first and then trains, beside two baselines; `queries`,
RankingEnsemble on graded queries.

Five splits of 60 and 40 %; differences are paired over the splits, with the variance of Nadeau and
Bengio (2003) and Holm's procedure over the tables.
"""

from collections import Counter
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

from _harness import command_line, describe_machine
from _list_ensembles import (
    BESIDE,
    BEST_MEMBER,
    BEST_PEER,
    ENSEMBLE,
    ESTIMATED,
    FIRST,
    HISTOGRAMS,
    LETOR,
    LOGISTIC,
    MODELS,
    SEARCHED,
    fit_compare,
    fit_ensemble,
    fit_models,
    fit_queries,
)
from _list_tables import (
    METRICS,
    RATIO,
    TABLES,
    Found,
    differences,
    load_table,
    measure_all,
    significantly_below,
)
from _real_data import load_each
from _report import Cell, PartResult, Report, Table, Verdict
from _stats import lower, standard_error, upper

WORDS = {"AUC": "AUC", "pauc@0.05": "pAUC", "tpr@0.05": "first 5 %", "average precision": "AP"}


def difference_table(title: str, found: Found, one: str, other: str, note: str = "") -> Table:
    """Return the mean difference of each metric on each table, with its standard error."""
    rows: list[list[Cell]] = []
    for table, systems in found.items():
        cells = [differences(systems[one], systems[other], metric) for metric in METRICS]
        rows.append([table, *(f"{mean(c):+.4f} ({standard_error(c, RATIO):.4f})" for c in cells)])
    means = [f"{overall(found, one, other, metric):+.4f}" for metric in METRICS]
    return Table(title, ["table", *WORDS.values()], [*rows, ["mean", *means]], note)


def names_table(title: str, found: Found, *systems: str) -> Table:
    """Return which model a system was on each table, and in how many splits."""
    rows: list[list[Cell]] = []
    for table, by in found.items():
        counts = [Counter(one["name"] for one in by[system]).most_common() for system in systems]
        rows.append([table, *("; ".join(f"{n} x {name}" for name, n in one) for one in counts)])
    return Table(title, ["table", *systems], rows)


def overall(found: Found, one: str, other: str, metric: str) -> float:
    """Return the mean over the tables of the mean difference over the splits."""
    return mean(
        mean(differences(systems[one], systems[other], metric)) for systems in found.values()
    )


def below_anywhere(found: Found, one: str, other: str) -> Verdict:
    """Return the verdict that one system is nowhere significantly below another one."""
    below = [
        f"{metric} on {table}"
        for metric in METRICS
        for table in significantly_below(
            {name: differences(by[one], by[other], metric) for name, by in found.items()}
        )
    ]
    words = f" ({', '.join(below)})" if below else ""
    return Verdict(f"{one} significantly below {other}: tables{words}", 0, len(below))


def at_least(found: Found, one: str, other: str, limits: dict[str, float]) -> list[Verdict]:
    """Return the verdicts that mean differences reach limits."""
    return [
        Verdict(
            f"{one} minus {other}: mean {metric}",
            limit,
            round(overall(found, one, other, metric), 5),
            at_least=True,
        )
        for metric, limit in limits.items()
    ]


def report_ensemble(found: Found) -> PartResult:
    """Compare an ensemble with what could have been chosen instead, and with its own estimate."""
    tables = [
        difference_table(
            f"{ENSEMBLE} minus {other}, chosen by the same folds", found, ENSEMBLE, other
        )
        for other in (BEST_PEER, BEST_MEMBER)
    ]
    title = "What the best peer and the best member were, and in how many splits"
    tables.append(names_table(title, found, BEST_PEER, BEST_MEMBER))
    won = sum(
        mean(differences(by[ENSEMBLE], by[BEST_PEER], "AUC")) >= 0.0005 for by in found.values()
    )
    verdicts = [
        *at_least(found, ENSEMBLE, BEST_PEER, {"AUC": 0.005, "pauc@0.05": 0.007}),
        Verdict(f"{ENSEMBLE} better than {BEST_PEER} in AUC: tables", 7, won, at_least=True),
        below_anywhere(found, ENSEMBLE, BEST_PEER),
        *at_least(
            found, ENSEMBLE, BEST_MEMBER, {"AUC": 0.001, "pauc@0.05": 0.007, "tpr@0.05": 0.007}
        ),
    ]
    for (key, metric), share in zip(ESTIMATED.items(), (0.9, 0.85), strict=True):
        inside = mean(_is_inside(one, key) for by in found.values() for one in by[ENSEMBLE])
        label = f"estimate of {metric} within 1.96 errors of the test rows: share of splits"
        verdicts.append(Verdict(label, share, round(inside, 3), at_least=True))
    return PartResult(tables, verdicts)


def _is_inside(figures, key: str) -> bool:
    (estimate, error), (test, test_error) = (
        figures[part][key] for part in ("estimate", "test errors")
    )
    return abs(estimate - test) <= 1.96 * (error**2 + test_error**2) ** 0.5


def report_compare(found: Found) -> PartResult:
    """Compare what the command line puts first with two baselines."""
    tables = [names_table("What compare puts first, in how many splits", found, FIRST)]
    verdicts = []
    for other in (HISTOGRAMS, LOGISTIC):
        tables.append(difference_table(f"{FIRST} minus {other}", found, FIRST, other))
        verdicts.append(below_anywhere(found, FIRST, other))
    gains = []
    for by in found.values():
        aucs = {name: mean(one["AUC"] for one in runs) for name, runs in by.items()}
        gains.append(aucs[FIRST] - max(aucs[HISTOGRAMS], aucs[LOGISTIC]))
    label = f"{FIRST} minus the better of the two on each table: mean AUC"
    verdicts.append(Verdict(label, 0.004, round(mean(gains), 5), at_least=True))
    return PartResult(tables, verdicts)


def report_queries(found: Found) -> PartResult:
    """Compare an ensemble with its best member on graded queries."""
    rows: list[list[Cell]] = []
    gains = []
    for data, by in found.items():
        ours, best = (mean(one["NDCG@10"] for one in by[name]) for name in (ENSEMBLE, BEST_MEMBER))
        names = ", ".join(dict.fromkeys(one["name"] for one in by[BEST_MEMBER]))
        rows.append([data, f"{ours:.4f}", f"{best:.4f}", names])
        gains.append(ours - best)
    table = Table("NDCG@10 of test queries", ["data", ENSEMBLE, BEST_MEMBER, "which is"], rows)
    label = f"{ENSEMBLE} minus {BEST_MEMBER}: mean NDCG@10 of the sets"
    return PartResult([table], [Verdict(label, 0.0, round(mean(gains), 5), at_least=True)])


def report_models(found: Found) -> PartResult:
    """Compare many models with HistGradientBoosting; the best first 5 % comes first."""
    tables = []
    for table, by in found.items():
        rows: list[list[Cell]] = []
        for system in sorted(by, key=lambda one: -mean(run["tpr@0.05"] for run in by[one])):
            points = [100 * one for one in differences(by[system], by[BESIDE], "tpr@0.05")]
            words = "–"
            if system != BESIDE:
                low, high = lower(points, RATIO), upper(points, RATIO)
                words = f"{mean(points):+.1f} [{low:+.1f}, {high:+.1f}]"
            first, auc = (mean(run[metric] for run in by[system]) for metric in ("tpr@0.05", "AUC"))
            rows.append([system, f"{first:.3f}", words, f"{auc:.3f}"])
        columns = ["model", "first 5 %", f"points more than {BESIDE}", "AUC"]
        tables.append(Table(f"{table}, {len(by[BESIDE])} splits", columns, rows))
    searched = (f"{name}: {values}" for name, values in SEARCHED.items())
    note = f"Searched by the partial AUC of three folds: {'; '.join(searched)}."
    return PartResult(tables, notes=[note])


PARTS = {
    "models": (fit_models, report_models),
    "ensemble": (fit_ensemble, report_ensemble),
    "compare": (fit_compare, report_compare),
    "queries": (fit_queries, report_queries),
}


def measure(name: str, options: Any) -> PartResult:
    """Measure one part and compare."""
    fit, report = PARTS[name]
    path = options.store and options.store.with_suffix(f".{name}.jsonl")
    known = MODELS if name == "models" else TABLES
    tables = [table for table in options.tables if table in known]
    sets = LETOR if name == "queries" else dict.fromkeys(tables, options.splits)
    tasks = [(table, split) for table, number in sets.items() for split in range(number)]
    runs = measure_all(partial(fit, folder=options.data), tasks, path, options.processes)
    found: Found = {}
    for (table, _), systems in runs.items():
        for system, figures in systems.items():
            found.setdefault(table, {}).setdefault(system, []).append(figures)
    return report(found)


def parse_arguments() -> Any:
    """Read the command line."""
    parser = command_line(__doc__, quick="breast cancer, two splits", data=True)
    add = parser.add_argument
    add("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts (default: all)")
    every = list(dict.fromkeys((*TABLES, *MODELS)))
    add("--tables", nargs="+", choices=every, default=every, help="tables (default: all)")
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
    there, notes = load_each(load_table, options.tables, options.data)
    options.tables = list(there)
    if "queries" in options.only and (options.quick or options.data is None):
        options.only.remove("queries")
        notes.append("queries: they need the data folder, and more than half a minute")
    parts = [measure(name, options) for name in options.only]
    settings = (
        f"{options.splits} splits of 60 and 40 % of each table; differences with their standard "
        "errors, paired over the splits (Nadeau and Bengio, 2003); significance: two-sided 5 %, "
        "Holm's procedure over the tables of a metric. pAUC: mean share of the positives found "
        "over the first 5 % of the negatives; first 5 %: the share found there."
    )
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    parts = [PartResult([], notes=notes), *parts]
    Report.of_parts("lists", settings, machine, parts).publish(options.json)


if __name__ == "__main__":
    main()
