"""Fits of many systems on one list, in turns, each in a process of its own; and their tables."""

import importlib.util
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median, stdev
from tempfile import TemporaryDirectory

from _harness import Record, run_in_process
from _lists_systems import ALL, LARGEST
from _report import Cell, Table

TASK = Path(__file__).with_name("_one_list.py")

PEERS = ("xgboost", "lightgbm", "hist_gb")
"""The boosting libraries whose fastest is what the time of others is divided by."""

HALF_OF_MAGIC = 9_510

ONCE_ABOVE = 10.0
"""Seconds of a fit above which it is not repeated."""

Fits = dict[str, list[Record]]
"""The fits of each system; the last one of a system may be {"error": why there is none}."""

# Two-sided 95 % points of Student's t, by degrees of freedom; the parent imports no SciPy.
T_95 = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179)


def say(words: str) -> None:
    """Print progress."""
    print(words, file=sys.stderr, flush=True)


class DataError(RuntimeError):
    """The rows of a part could not be written."""


@contextmanager
def rows_of(task: str, *arguments):
    """Write the rows of a task of `_one_list.py`; yield their folder."""
    with TemporaryDirectory(prefix="peers_") as scratch:
        done = run_in_process(TASK, [task, scratch, *arguments], threads=1)
        if "error" in done:
            raise DataError(done["error"])
        yield scratch


def generated(rows: int, seed: int, held_out: int | None = None):
    """Write generated rows, and test rows that all seeds share."""
    return rows_of("generated", rows, held_out or max(rows, 100_000), seed)


def magic(seed: int, data: Path | None):
    """Write random halves of MAGIC."""
    return rows_of("magic", seed, *([data] if data else []))


# --- fits in turns -------------------------------------------------------------------------------


def fit_in_turns(
    repeats: Mapping[str, int], folder: str, options, reasons: Mapping[str, str]
) -> Fits:
    """Fit the systems so many times, in turns; those with a reason are left out."""
    fits: Fits = {name: [{"error": reasons[name]}] if name in reasons else [] for name in repeats}
    for name in repeats:
        module = ALL[name].module
        if importlib.util.find_spec(module) is None:
            fits[name] = [{"error": f"{module} is not installed"}]
    for turn in range(max(repeats.values())):
        for name, most in repeats.items():
            if turn >= most or (fits[name] and not worth_repeating(fits[name][-1])):
                continue
            say(f"  turn {turn + 1}: {ALL[name].label}")
            task = ["fit", folder, name, options.threads]
            done = run_in_process(TASK, task, threads=options.threads, timeout=options.seconds)
            fits[name].append(done)
    return fits


def worth_repeating(fit: Record) -> bool:
    """Whether a fit came to an end, and soon."""
    return "error" not in fit and fit["s"] < ONCE_ABOVE


def medians(fits: Fits) -> dict[str, Record]:
    """Return the medians of each system that never failed, and its fastest and slowest fit."""
    found = {}
    for name, runs in fits.items():
        if not runs or "error" in runs[-1]:
            continue
        found[name] = {
            key: None if runs[0][key] is None else median(run[key] for run in runs)
            for key in runs[0]
        }
        seconds = [run["s"] for run in runs]
        found[name].update(fastest=min(seconds), slowest=max(seconds), runs=len(runs))
    return found


def reasons_to_leave_out(names: Iterable[str], rows: int, smaller: Fits, options) -> dict[str, str]:
    """Return why systems are not fitted to so many rows, given the fits to fewer."""
    reasons = {}
    for name in names:
        if rows > LARGEST.get(name, rows):
            reasons[name] = f"not run above {LARGEST[name]:,} rows"
        elif smaller.get(name):
            last = smaller[name][-1]
            if last.get("error", "").startswith(("not done", "not run")):
                reasons[name] = "not run: too slow with fewer rows"
            elif "s" in last and last["s"] * rows / last["rows"] > options.seconds:
                reasons[name] = f"not run: {last['s']:.0f} s with {last['rows']:,} rows"
    return reasons


# --- tables --------------------------------------------------------------------------------------

COLUMNS = ["system", "fit s", "min - max", "/ fastest", "extra MB", "predict s", "AUC", "top", "n"]


def table_of(title: str, fits: Fits, peers: Sequence[str] = PEERS, note: str = "") -> Table:
    """Return a line for each system; "/ fastest" is the fit time over the fastest peer's."""
    found = medians(fits)
    fastest = fastest_fit(found, peers)
    rows: list[list[Cell]] = []
    for name in fits:
        label, one = ALL[name].label, found.get(name)
        if one is None:
            rows.append([label, *[None] * (len(COLUMNS) - 1), reason(fits[name])])
            continue
        rows.append(
            [
                label,
                one["s"],
                f"{one['fastest']:.3g} - {one['slowest']:.3g}",
                None if fastest is None else one["s"] / fastest,
                one["extra_mb"],
                one["predict_s"],
                f"{one['auc']:.4f}",
                f"{one['top']:.4f}",
                one["runs"],
                "",
            ]
        )
    return Table(title, [*COLUMNS, "remark"], rows, note)


def fastest_fit(found: Mapping[str, Record], peers: Sequence[str] = PEERS) -> float | None:
    """Return the median fit time of the fastest peer."""
    return min((found[name]["s"] for name in peers if name in found), default=None)


def reason(runs: list[Record]) -> str:
    """Return why a system has no figures, without the name of the exception."""
    error = runs[-1]["error"] if runs else "not run"
    head, _, rest = error.partition(": ")
    return rest if rest and "." in head and " " not in head else error


def standard_error(values: Sequence[float], ratio: float = 0.0) -> float:
    """Return the standard error of a mean, the root of the variance times 1 / n + ratio.

    Of random splits that share rows, `ratio` is that of rows tested to rows trained on (Nadeau and
    Bengio, 2003).
    """
    return stdev(values) * math.sqrt(1 / len(values) + ratio)


def interval(differences: Sequence[float], ratio: float = 0.0) -> tuple[float, float] | None:
    """Return a 95 % interval for the mean of paired differences, by Student's t.

    `ratio` is that of `standard_error`.
    """
    n = len(differences)
    if n < 2:
        return None
    point = T_95[n - 2] if n - 2 < len(T_95) else 1.96 + 2.6 / (n - 1)
    half = point * standard_error(differences, ratio)
    return mean(differences) - half, mean(differences) + half


def signed(differences: Sequence[float], ratio: float = 0.0) -> str:
    """Return a mean difference and its `interval`, as text."""
    between = interval(differences, ratio)
    words = f"{mean(differences):+.4f}"
    return words if between is None else f"{words} ({between[0]:+.4f} to {between[1]:+.4f})"
