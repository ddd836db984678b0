"""Tables and verdicts of the part `letor`: nothing is measured here."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

from _harness import Record
from _letor_systems import SYSTEMS
from _real_data import LIGHTGBM, MQ2008, OHSUMED
from _report import Cell, Table, Verdict, judged

TITLES = {MQ2008: "MQ2008", OHSUMED: "OHSUMED", LIGHTGBM: "LightGBM's example"}
METRICS = ("NDCG@1", "NDCG@5", "NDCG@10", "MAP")
MAIN = "NDCG@10"
OURS, OTHERS = "ours (best on validation)", "others (best on validation)"
FOLD_1_TARGET = 0.72
TIMED_FOLDS = 3


@dataclass(frozen=True)
class Fold:
    """One fold of one data set."""

    data: str
    number: int

    @property
    def title(self) -> str:
        return f"{TITLES[self.data]} fold {self.number + 1}"

    @property
    def is_timed(self) -> bool:
        return self.data == MQ2008 and self.number < TIMED_FOLDS

    @property
    def folder(self) -> str:
        return f"{self.data}-{self.number}"


Found = dict[Fold, dict[str, Record]]
"""For each fold: what each system chose and how it ranks, by label."""

Times = dict[str, dict[Fold, Record]]
"""For each system, by label: the timed fit of each fold."""


def records_of(data: str, found: Found) -> list[dict[str, Record]]:
    """Return the folds of a data set."""
    return [records for fold, records in found.items() if fold.data == data]


def pooled(records: Sequence[dict[str, Record]], label: str, metric: str) -> list[Any]:
    """Return a system's values of all test queries; KeyError where it failed in a fold."""
    return [value for record in records for value in record[label]["test"][metric]]


def mean(values: Sequence[Any]) -> float:
    """Return the mean over the queries that have a value."""
    return fmean(value for value in values if value is not None)


def first_error(records: Sequence[Record]) -> str:
    return next(record["error"] for record in records if "error" in record)


def fixed(value: float) -> str:
    return f"{value:.4f}"


# --- quality -------------------------------------------------------------------------------------


def quality_table(data: str, found: Found, differences: Record) -> Table:
    """Return the means over all test queries of a data set."""
    records = records_of(data, found)
    rows: list[list[Cell]] = []
    for label in (*SYSTEMS, OURS, OTHERS):
        try:
            figures = [mean(pooled(records, label, metric)) for metric in METRICS]
        except KeyError:
            rows.append([label, *[None] * 5, first_error([record[label] for record in records])])
            continue
        figures.append(fmean(record[label]["validation"] for record in records))
        rows.append([label, *map(fixed, figures), interval(differences.get(f"{data}/{label}"))])
    return Table(
        f"{TITLES[data]}, {len(records)} fold{'s' * (len(records) > 1)}",
        ["system", *METRICS, "validation NDCG@10", "ours (best) minus it, NDCG@10"],
        rows,
        queries_in_words(records) + best_in_words(records),
    )


def interval(difference: Record | None) -> str:
    if difference is None:
        return "–"
    return f"{difference['difference']:+.4f} [{difference['low']:+.4f}, {difference['high']:+.4f}]"


def queries_in_words(records: Sequence[dict[str, Record]]) -> str:
    """Count the test queries, as any system that ran everywhere has seen them."""
    for label in SYSTEMS:
        try:
            values = pooled(records, label, MAIN)
        except KeyError:
            continue
        skipped = values.count(None)
        return f"{len(values)} test queries, {skipped} of them skipped: no relevant row. "
    return ""


def best_in_words(records: Sequence[dict[str, Record]]) -> str:
    """Say which systems are behind the two best ones, fold by fold."""
    return " ".join(
        f"{name}: {'; '.join(record[label].get('system', 'none') for record in records)}."
        for name, label in (("Ours", OURS), ("Others", OTHERS))
    )


def folds_table(found: Found) -> Table:
    """Return NDCG@10 of each fold of MQ2008."""
    records = records_of(MQ2008, found)
    rows: list[list[Cell]] = []
    for label in (*SYSTEMS, OURS, OTHERS):
        tests = [record[label].get("test") for record in records]
        rows.append([label, *(fixed(mean(test[MAIN])) if test else None for test in tests)])
    heads = [f"fold {fold.number + 1}" for fold in found if fold.data == MQ2008]
    return Table("MQ2008: test NDCG@10 of each fold", ["system", *heads], rows)


# --- fits ----------------------------------------------------------------------------------------


def flat(runs: dict[Fold, Record], key: str) -> list[Any]:
    """Return one figure of all fits of a system; KeyError where one failed."""
    return [run[key] for run in runs.values()]


def median_seconds(runs: dict[Fold, Record]) -> float | None:
    """Return the median fit time over folds; None where a fit failed or there is none."""
    if not runs or any("error" in run for run in runs.values()):
        return None
    return median(flat(runs, "s"))


def best_runs(found: Found, times: Times, label: str) -> dict[Fold, Record]:
    """Return the fits of what is best on validation, fold by fold; KeyError where there is none."""
    return {
        fold: times[records[label]["system"]][fold]
        for fold, records in found.items()
        if fold.is_timed
    }


def times_table(found: Found, times: Times, threads: int) -> Table:
    """Return seconds and memory of the chosen configurations."""
    rows: list[list[Cell]] = []
    for label in (*SYSTEMS, OURS, OTHERS):
        try:
            runs = times[label] if label in SYSTEMS else best_runs(found, times, label)
            seconds, memory = flat(runs, "s"), flat(runs, "extra_mb")
        except KeyError:
            rows.append([label, None, "no fit, or one that failed", None])
            continue
        extra = None if None in memory else round(median(memory))
        rows.append([label, median(seconds), f"{min(seconds):.2f}–{max(seconds):.2f}", extra])
    return Table(
        f"MQ2008: fits of the chosen configurations, up to {TIMED_FOLDS} folds, {threads} threads",
        ["system", "seconds", "fastest–slowest", "extra MB"],
        rows,
    )


def same_again(found: Found, times: Times) -> str:
    """Say how far the timed fits are from the ones that were chosen."""
    gaps = [
        (abs(run[MAIN] - mean(found[fold][label]["test"][MAIN])), label)
        for label, runs in times.items()
        for fold, run in runs.items()
        if "error" not in run
    ]
    if not gaps:
        return "No fit was timed."
    most, label = max(gaps)
    return (
        "The timed fits, with more threads and only the rounds that were chosen, differ from those "
        f"chosen by at most {most:.4f} in the NDCG@10 of a fold ({label})."
    )


# --- targets -------------------------------------------------------------------------------------


def verdicts(found: Found, times: Times, differences: Record) -> list[Verdict]:
    """Return the targets on MQ2008."""
    others = [label for label, system in SYSTEMS.items() if not system.ours]
    ends = {
        label: differences[f"{MQ2008}/{label}"]["high"]
        for label in (*others, OTHERS)
        if f"{MQ2008}/{label}" in differences
    }
    closest = min(ends, key=lambda label: ends[label]) if ends else "none ran"

    def fold_1() -> float:
        return mean(found[Fold(MQ2008, 0)][OURS]["test"][MAIN])

    def times_of_fastest() -> float:
        seconds = (
            median_seconds(times.get(label, {})) for label in others if SYSTEMS[label].boosting
        )
        fastest = min((one for one in seconds if one is not None), default=None)
        if fastest is None:
            raise KeyError("no other boosting was timed")
        return median(flat(best_runs(found, times, OURS), "s")) / fastest

    return [
        Verdict(
            f"MQ2008 NDCG@10, ours minus another: lowest upper end of {len(ends)} intervals "
            f"({closest})",
            0.0,
            ends.get(closest),
            at_least=True,
        ),
        judged("MQ2008 fold 1: NDCG@10 of ours", FOLD_1_TARGET, fold_1, at_least=True),
        judged("MQ2008: our fit time over the fastest other boosting's", 1.0, times_of_fastest),
    ]
