"""Searches of parameters on one list: choice by validation, test rows scored once, in pairs."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import mean

from _harness import Record, run_in_process
from _lists_fits import TASK, DataError, generated, magic, say, signed
from _lists_systems import ALL
from _report import Cell, Table

HELD_OUT = 200_000

QUALITY = ("auc", "top")

Searches = dict[str, list[Record]]
"""What each system's search found on each data set of one kind."""


@dataclass(frozen=True)
class Kind:
    """Data sets of one kind: how many, how one is written, and the rows a choice sees.

    `ratio` is that of `interval`: of rows tested to rows trained on, where sets share rows.
    """

    title: str
    n_sets: int
    write: Callable[[int], AbstractContextManager[str]]
    most_rows: int
    ratio: float = 0.0


def generated_kind(rows: int, n_sets: int, most_rows: int) -> Kind:
    """Return training rows of different seeds, and the same test rows for all."""
    title = f"{rows:,} generated rows" + (
        f", chosen on {most_rows:,} of them" if rows > most_rows else ""
    )
    return Kind(title, n_sets, lambda seed: generated(rows, seed, HELD_OUT), most_rows)


def magic_kind(options, n_sets: int | None = None) -> Kind:
    """Return random halves of MAGIC."""
    return Kind(
        "MAGIC", n_sets or options.splits, lambda seed: magic(seed, options.data), 1_000_000, 1.0
    )


def search_all(kinds: Sequence[Kind], names: Sequence[str], options) -> Iterator:
    """Yield each kind with what the systems' searches found, or with why there are none.

    Nothing is timed here: as many searches run side by side as there are threads.
    """
    for kind in kinds:
        found: Searches = {name: [] for name in names}
        try:
            for seed in range(kind.n_sets):
                say(f"search: {kind.title}, set {seed + 1} of {kind.n_sets}")
                with kind.write(seed) as folder, ThreadPoolExecutor(options.threads) as pool:
                    tasks = [["search", folder, name, 1, kind.most_rows] for name in names]
                    done = pool.map(lambda task: run_in_process(TASK, task, threads=1), tasks)
                    for name, record in zip(names, done, strict=True):
                        found[name].append(record)
        except DataError as error:
            yield kind, str(error)
            continue
        yield kind, found


def search_table(kind: Kind, found: Searches, ours: str) -> Table:
    """Return the quality of each system, and of ours minus it on the same sets."""
    rows: list[list[Cell]] = []
    for name, runs in found.items():
        label = ALL[name].label
        errors = [run["error"] for run in runs if "error" in run]
        if errors:
            rows.append([label, *[None] * 4, errors[-1]])
            continue
        cells = [f"{mean(run[key] for run in runs):.4f}" for key in QUALITY]
        gains = [lead(found, ours, name, key) for key in QUALITY]
        other = [signed(one, kind.ratio) if one else "" for one in gains]
        rows.append([label, *cells, *other, chosen(runs, ALL[name].grid)])
    leads = [f"{measure}, {ALL[ours].label} - it" for measure in ("AUC", "top")]
    columns = ["system", "AUC", "top", *leads, "chosen"]
    return Table(f"{kind.title}, {kind.n_sets} sets: after a search", columns, rows)


def lead(found: Searches, ours: str, name: str, key: str = "auc") -> list[float]:
    """Return by how much ours is ahead on each set; nothing for itself or after an error."""
    pairs = list(zip(found[ours], found[name], strict=True))
    if name == ours or any("error" in run for pair in pairs for run in pair):
        return []
    return [one[key] - other[key] for one, other in pairs]


def chosen(runs: list[Record], grid) -> str:
    """Return the values chosen, from the smallest to the largest, for each parameter."""
    parts = []
    for key in grid:
        values = sorted({run[key] for run in runs})
        parts.append(f"{key} {' '.join(f'{value:g}' for value in values)}")
    return "; ".join(parts)


def mean_lead(found: Searches, ours: str, name: str) -> float | None:
    """Return by how much ours is ahead in AUC on average; None where there is no figure."""
    ahead = lead(found, ours, name)
    return mean(ahead) if ahead else None
