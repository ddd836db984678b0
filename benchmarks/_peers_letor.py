"""The part of `peers.py` on query data: ours and what users of other libraries would take.

Nothing large is imported here: see `_harness.py`.
"""

import json
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from _harness import Record, run_in_process
from _letor_systems import BUDGET, ROUNDS, SYSTEMS
from _letor_tables import (
    MAIN,
    OTHERS,
    OURS,
    TITLES,
    Fold,
    Found,
    Times,
    folds_table,
    pooled,
    quality_table,
    records_of,
    same_again,
    times_table,
    verdicts,
)
from _real_data import LIGHTGBM, MQ2008, OHSUMED
from _report import PartResult

CHILD = Path(__file__).with_name("_letor_child.py")
FOLDS = {MQ2008: 5, OHSUMED: 3, LIGHTGBM: 1}

NOTES = [
    f"Query data: every system has {BUDGET} configurations, listed in `_letor_systems.py`; those "
    f"that go round by round have four settings and three numbers of rounds, {ROUNDS} but for our "
    "trees. The one of the highest mean NDCG@10 on the validation queries is taken, without "
    "another fit, and scores the test queries once. (Best on validation) is, in each fold, the "
    "system whose chosen configuration has the highest validation NDCG@10. No choice sees a test "
    "query of its fold.",
    "Gains are 2^y - 1, tied rows count as the mean over their orders, queries without a relevant "
    "row are skipped; MAP takes every grade above 0 as relevant. Figures are means over all test "
    "queries of all folds. Differences are paired query by query, with 95 % BCa bootstrap "
    "intervals over queries; these do not count that the choices themselves vary.",
    "The fit of a chosen configuration has a process of its own, with import and data outside the "
    "clock; one of each system takes its turn in each of the first folds of MQ2008. Seconds and "
    "memory are the medians over these, the fastest and the slowest fit stand beside them.",
    "Left out: `SmoothMarginRanker`, which on data that can't be ranked without error takes the "
    "steps of `RankBoost`, and scikit-survival's `FastSurvivalSVM`, which knows no queries.",
]


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def choose_all(folds: Sequence[Fold], options: Any, work: Path) -> Found:
    """Let every system choose in every fold, as many folds at a time as there are threads."""

    def choose(fold: Fold) -> dict[str, Record]:
        started = time.perf_counter()
        arguments = ["choose", options.data, fold.data, fold.number, work / fold.folder]
        records = run_in_process(CHILD, arguments, threads=1)
        say(f"  {fold.title}: chosen in {time.perf_counter() - started:.0f} s")
        if "error" in records:
            records = {label: {"error": records["error"]} for label in SYSTEMS}
        return records

    # The longest first: LightGBM's example has the most features.
    longest_first = sorted(folds, key=lambda fold: fold.data != LIGHTGBM)
    with ThreadPoolExecutor(options.threads) as pool:
        done = dict(zip(longest_first, pool.map(choose, longest_first), strict=True))
    found = {fold: done[fold] for fold in folds}
    for records in found.values():
        records[OURS] = best_on_validation(records, ours=True)
        records[OTHERS] = best_on_validation(records, ours=False)
    return found


def best_on_validation(records: dict[str, Record], *, ours: bool) -> Record:
    """Return the record of the system that ranks the validation queries best."""
    able = [
        label
        for label, system in SYSTEMS.items()
        if system.ours == ours and "error" not in records[label]
    ]
    if not able:
        return {"error": "no system ran"}
    best = max(able, key=lambda label: records[label]["validation"])
    return {**records[best], "system": best}


def time_fits(found: Found, options: Any, work: Path) -> Times:
    """Fit what was chosen on MQ2008 in processes of their own, in turns."""
    times: Times = {}
    for fold, records in found.items():
        if not fold.is_timed:
            continue
        say(f"  {fold.title}: fit times")
        for label in SYSTEMS:
            if "error" in records[label]:
                continue
            choice = json.dumps([label, records[label]["parameters"]])
            arguments = ["fit", work / fold.folder, choice]
            run = run_in_process(CHILD, arguments, threads=options.threads)
            times.setdefault(label, {})[fold] = run
    return times


def compare(found: Found, work: Path) -> Record:
    """Return our best's differences from every other system, by data set and label."""
    pairs = {}
    for data in {fold.data: None for fold in found}:
        records = records_of(data, found)
        for label in (*SYSTEMS, OTHERS):
            try:
                pair = [pooled(records, OURS, MAIN), pooled(records, label, MAIN)]
            except KeyError:
                continue
            pairs[f"{data}/{label}"] = pair
    file = work / "pairs.json"
    file.write_text(json.dumps(pairs), encoding="utf-8")
    return run_in_process(CHILD, ["compare", file], threads=1)


def folds_of(options: Any) -> tuple[list[Fold], list[str]]:
    """Return the folds to run, and what is missing in words."""
    if options.data is None:
        return [], ["Query data: not measured, no folder was given (--data DIR, _real_data.py)."]
    folds, missing = [], []
    for data, n_folds in FOLDS.items():
        if not (Path(options.data) / data).is_dir():
            missing.append(f"{TITLES[data]}: not measured, {data} is not in the folder.")
        elif not options.quick:
            folds += [Fold(data, number) for number in range(n_folds)]
        elif data == MQ2008:
            folds.append(Fold(data, 0))
    return folds, missing


def run(options: Any) -> PartResult:
    """Measure and judge.

    Parameters
    ----------
    options : namespace
        ``data``, the folder or None; ``threads``; ``quick``, whether to run only the first
        fold of MQ2008.
    """
    folds, missing = folds_of(options)
    if not folds:
        return PartResult([], notes=missing)
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        say(f"Query data: {len(SYSTEMS)} systems choose in {len(folds)} folds")
        found = choose_all(folds, options, work)
        times = time_fits(found, options, work)
        differences = compare(found, work)
    result = report(found, times, differences, options.threads)
    result.notes += missing
    return result


def report(found: Found, times: Times, differences: Record, threads: int) -> PartResult:
    """Return tables, verdicts and every single figure."""
    tables = [quality_table(data, found, differences) for data in FOLDS if records_of(data, found)]
    runs = {
        "chosen": {fold.folder: records for fold, records in found.items()},
        "fits": {
            label: {fold.folder: run for fold, run in runs.items()} for label, runs in times.items()
        },
        "differences": differences,
    }
    if not records_of(MQ2008, found):
        return PartResult(tables, [], NOTES.copy(), runs)
    tables += [folds_table(found), times_table(found, times, threads)]
    notes = [*NOTES, same_again(found, times)]
    return PartResult(tables, verdicts(found, times, differences), notes, runs)
