"""Rankers that learn from clicks, raw or weighted by estimated propensities, and from grades.

    python benchmarks/clicks.py --data DIR --store clicks.jsonl
    python benchmarks/clicks.py --data DIR --impressions 5000    # a quick look

MQ2008 and LightGBM's example, five parts whose queries test, one seed of the simulator each. Users
look at position k with the chance 1 / k or its square root, and click on a tenth of the rows of
grade 0 that they see. A large log has 100,000 impressions of two production rankers, each of 1 % of
the training queries as in Joachims et al. (2017), ten rows a list; a small one has 5,000. In a
pilot with production rankers of 5 % of the queries, raw clicks did as well as true grades, which
leaves nothing to correct.
"""

import argparse
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from math import isnan
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from _clicks_fits import (
    KINDS,
    LIGHTGBM_TREES,
    N_PARTS,
    OURS,
    RAW,
    TITLES,
    TRUE,
    WEIGHTED,
    XGBOOST,
    Cell,
    measure_cell,
)
from _harness import command_line, describe_machine
from _list_tables import measure_all
from _report import Cell as Shown
from _report import Report, Table, Verdict
from _stats import signed, upper

LARGE, SMALL = 100_000, 5_000
BIASES = {1.0: "1 / rank", 0.5: "sqrt(1 / rank)"}
CLOSED, LEAST_LOSS = 0.4, 0.003

Found = dict[Cell, dict[str, list[float]]]
"""For each cell the NDCG@10 of each test query (NaN: no relevant row) by "system: labels"."""


# --- measuring -----------------------------------------------------------------------------------


def measure(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure what is not in the store yet; return all records, part by part."""
    tasks = [
        (kind, data, eta, n, part)
        for kind in options.kinds
        for n, part, eta, data in product(options.impressions, range(N_PARTS), BIASES, TITLES)
    ]
    measured = measure_all(partial(measure_cell, options.data), tasks, options.store, 1)
    return list(measured.values())


def joined(records: Iterable[dict[str, Any]]) -> Found:
    """Return the figures of all kinds of systems by cell."""
    found: Found = {}
    for one in records:
        found.setdefault(Cell(*one["cell"]), {}).update(one["ndcg"])
    return found


# --- tables --------------------------------------------------------------------------------------


def paired(found: Found, cells: Iterable[Cell], one: str, other: str) -> list[float]:
    """Return the differences of two systems in the cells that have both.

    By query: a query that is in two cells, of two biases, counts once, with its mean.
    """
    by_query: dict[Any, list[float]] = {}
    for cell in cells:
        if one in found[cell] and other in found[cell]:
            values = zip(found[cell][one], found[cell][other], strict=True)
            for number, (a, b) in enumerate(values):
                if not isnan(a - b):
                    by_query.setdefault((cell.data, cell.part, number), []).append(a - b)
    return [fmean(values) for values in by_query.values()]


def mean_of(found: Found, cells: Iterable[Cell], system: str) -> float | None:
    """Return the mean over the queries of the cells; None where a cell lacks the system."""
    values: list[float] = []
    for cell in cells:
        if system not in found[cell]:
            return None
        values += [value for value in found[cell][system] if not isnan(value)]
    return fmean(values) if values else None


def has_gap(found: Found, cell: Cell, system: str) -> bool:
    """Whether true grades are better than raw clicks by more than two standard errors."""
    gap = paired(found, [cell], f"{system}: {TRUE}", f"{system}: {RAW}")
    return bool(gap) and fmean(gap) > 2 * stdev(gap) / len(gap) ** 0.5


def closed(found: Found, cells: Sequence[Cell], system: str) -> tuple[int, Any, Any]:
    """Return the cells with a gap, the share that weights close there, and their gain elsewhere."""
    gains: dict[bool, list[float]] = {True: [], False: []}
    gaps, n_wide = [], 0
    for cell in cells:
        wide = has_gap(found, cell, system)
        n_wide += wide
        gains[wide] += paired(found, [cell], f"{system}: {WEIGHTED}", f"{system}: {RAW}")
        if wide:
            gaps += paired(found, [cell], f"{system}: {TRUE}", f"{system}: {RAW}")
    share = sum(gains[True]) / sum(gaps) if n_wide else None
    return n_wide, share, fmean(gains[False]) if gains[False] else None


def table_of(found: Found, data: str, eta: float, n: int) -> Table:
    """Return what each system reaches on one data set with one bias."""
    cells = [cell for cell in found if cell[:3] == (data, eta, n)]
    rows: list[list[Shown]] = []
    for system in (*OURS, LIGHTGBM_TREES, XGBOOST):
        if mean_of(found, cells, f"{system}: {WEIGHTED}") is None:
            continue  # measured on some parts only, which have other queries
        means = [mean_of(found, cells, f"{system}: {of}") for of in (RAW, WEIGHTED, TRUE)]
        gain = paired(found, cells, f"{system}: {WEIGHTED}", f"{system}: {RAW}")
        gap = paired(found, cells, f"{system}: {TRUE}", f"{system}: {RAW}")
        share = f"{sum(gain) / sum(gap):.0%}" if gain and sum(gap) > 0 else None
        difference = signed(gain) if gain else None
        rows.append([system, *(m and f"{m:.4f}" for m in means), difference, share])
    title = f"{TITLES[data]}, bias {BIASES[eta]}, {n:,} impressions"
    columns = ["system", RAW, WEIGHTED, TRUE, "weights minus raw", "of the gap"]
    return Table(title, columns, rows)


def gaps_table(found: Found, n: int) -> Table:
    """Return the share of the gap that weights close, by ranker, where there is a gap."""
    cells = [cell for cell in found if cell.n_impressions == n]
    rows: list[list[Shown]] = []
    for system in OURS:
        n_wide, share, elsewhere = closed(found, cells, system)
        rows.append([system, n_wide, None if share is None else f"{share:.0%}", elsewhere])
    columns = ["ranker", "cells with a gap", "closed there", "weights minus raw elsewhere"]
    title = f"Share of the gap closed, {n:,} impressions, {len(cells)} cells"
    return Table(title, columns, rows)


# --- targets -------------------------------------------------------------------------------------


def targets(found: Found) -> list[Verdict]:
    """Return the targets, which are stated for large logs."""
    cells = [cell for cell in found if cell.n_impressions == LARGE]
    verdicts = []
    for system in OURS:
        n_wide, share, elsewhere = closed(found, cells, system)
        label = f"{system}, {n_wide} cells with a gap: share that weights close"
        verdicts.append(Verdict(label, CLOSED, share, at_least=True))
        label = f"{system}, {len(cells) - n_wide} other cells: weights minus raw clicks"
        verdicts.append(Verdict(label, -LEAST_LOSS, elsewhere, at_least=True))
    best = max(OURS, key=lambda one: mean_of(found, cells, f"{one}: {WEIGHTED}") or 0)
    for peer in (LIGHTGBM_TREES, XGBOOST):
        both = paired(found, cells, f"{best}: {WEIGHTED}", f"{peer}: {WEIGHTED}")
        n_cells = sum(f"{peer}: {WEIGHTED}" in found[cell] for cell in cells)
        label = f"best of ours ({best}) minus {peer}, {n_cells} of {len(cells)} cells: "
        words, figure = ("mean", fmean) if peer == LIGHTGBM_TREES else ("upper end", upper)
        measured = figure(both) if both else None
        verdicts.append(Verdict(label + words, 0.0, measured, at_least=True))
    return verdicts


def beside_peers(found: Found, n: int) -> Table:
    """Return what each of our rankers has more than the trees of others, paired by query."""
    cells = [cell for cell in found if cell.n_impressions == n]
    rows: list[list[Shown]] = []
    for system in OURS:
        row: list[Shown] = [system]
        for peer in (LIGHTGBM_TREES, XGBOOST):
            both = paired(found, cells, f"{system}: {WEIGHTED}", f"{peer}: {WEIGHTED}")
            row.append(signed(both) if both else None)
        rows.append(row)
    columns = ["ranker", "minus LightGBM, position", "minus XGBoost, lambdarank_unbiased"]
    counts = (sum(f"{p}: {WEIGHTED}" in found[c] for c in cells) for p in (LIGHTGBM_TREES, XGBOOST))
    note = "Cells that the others were measured on: {} and {} of {}.".format(*counts, len(cells))
    return Table(f"Weights beside others, {n:,} impressions", columns, rows, note)


def report_of(records: list[dict[str, Any]]) -> Report:
    """Return tables and targets of all records."""
    found = joined(records)
    numbers = sorted({cell.n_impressions for cell in found}, reverse=True)
    tables = [gaps_table(found, n) for n in numbers]
    tables += [beside_peers(found, n) for n in numbers]
    tables += [table_of(found, data, eta, n) for n, data, eta in product(numbers, TITLES, BIASES)]
    off = [one["off"] for one in records if one["kind"] == "ours" and one["cell"][2] == LARGE]
    notes = [
        "A gap counts where training on true grades is better than on raw clicks by more than two "
        "standard errors in a cell, paired by query. Weights are those of "
        "`click_pairs` with estimated propensities, raw clicks the same with propensities of 1; "
        "ListNetLinear has clicks over propensities as odds. For LightGBM and XGBoost the column "
        "is `position` and `lambdarank_unbiased`."
    ]
    if off:
        notes.append(
            f"Largest relative error of a propensity at ranks 2 to 10, of {len(off)} large logs: "
            f"{sorted(off)[len(off) // 2]:.3f} on the median, {max(off):.3f} at most."
        )
    settings = (
        "NDCG@10 on test queries, five parts, a log each; two production rankers on the true "
        "grades of 1 % of the training queries, ten rows a list, 10 % noise; 100 rounds, "
        "otherwise defaults, nothing searched; differences with 95 % intervals, by query."
    )
    machine = describe_machine("xgboost", "xgboost-cpu", "lightgbm")
    return Report("clicks", settings, machine, tables, targets(found), notes)


def main() -> None:
    """Run the benchmark."""
    parser = command_line(__doc__, data=True)
    add = parser.add_argument
    add("--impressions", type=int, nargs="+", default=[LARGE, SMALL], help="impressions of a log")
    add("--kinds", nargs="+", default=KINDS, choices=KINDS, help="whose systems are measured")
    add("--store", type=Path, metavar="FILE", help="keep figures there, and go on from them")
    options = parser.parse_args()
    report_of(measure(options)).publish(options.json)


if __name__ == "__main__":
    main()
