"""What every benchmark needs: clocks, memory, separate processes, and a description of the machine.

Nothing large is imported here. On Linux a child's high-water mark of memory starts at its parent's,
so a parent that imports little does not hide what a child's fit takes.
"""

import argparse
import importlib
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import linear_regression, median
from typing import Any

LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMEXPR")

Record = dict[str, Any]
"""What one run of one case measured."""


def timed(call: Callable[[], Any], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the seconds a call takes, of the wall clock or of another one."""
    started = clock()
    call()
    return clock() - started


def take_turns(
    calls: Mapping[str, Callable[[], Any]],
    repeats: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time the calls in turns, after one of each that does not count.

    A slow minute of the machine then hits them all.
    """
    for call in calls.values():
        call()
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            seconds[name].append(timed(call, clock))
    return seconds


def medians(records: Sequence[Record]) -> Record:
    """Return the median of each figure, and how the seconds "s" spread, over the repeats.

    A figure that the system does not tell (None) stays None.
    """
    found: Record = {}
    for key, first in records[0].items():
        values = [record[key] for record in records]
        middle = None if None in values else median(values)
        found[key] = int(middle) if isinstance(first, int) else middle
    seconds = [record["s"] for record in records]
    return {**found, "s_min": min(seconds), "s_max": max(seconds), "runs": len(seconds)}


def growth(rows: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the slope of log time over log rows by least squares; 1 means proportional."""
    return linear_regression([math.log(n) for n in rows], [math.log(s) for s in seconds]).slope


# --- memory --------------------------------------------------------------------------------------


def peak_bytes() -> int:
    """Return the largest resident size this process ever had (Linux and macOS)."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def watch(call: Callable[[], Any]) -> Record:
    """Return a call's seconds and the megabytes it needed beyond what was resident before.

    Counted from what is resident now, not from the mark: had an import needed more for a moment,
    the mark would hide the first part of what the call takes. macOS tells the mark only.
    """
    pages = Path("/proc/self/statm")
    if pages.exists():
        before = int(pages.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    else:
        before = peak_bytes()
    seconds = timed(call)
    return {"s": seconds, "extra_mb": (peak_bytes() - before) / 1e6}


# --- processes -----------------------------------------------------------------------------------


def in_process(task: str, *arguments: Any, threads: int, timeout: float | None = None) -> Record:
    """Call a function of a script in a new process; return its result, or {"error": why not}.

    `task` is "script:function"; arguments and result are passed on as JSON. `threads` is what
    OpenMP and the BLAS libraries may use; `timeout` ends the process after so many seconds.
    """
    command = [sys.executable, __file__, task, json.dumps(arguments, default=str)]
    limits = {f"{library}_NUM_THREADS": str(threads) for library in LIBRARIES}
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **limits},
            capture_output=True,
            text=True,
            check=False,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"not done after {timeout:.0f} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"error": lines[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def in_processes(task: str, cases: Iterable[Sequence[Any]], at_a_time: int) -> list[Record]:
    """Return the results of `in_process` for the arguments of each case, one thread each."""
    with ThreadPoolExecutor(at_a_time) as pool:
        return list(pool.map(lambda case: in_process(task, *case, threads=1), cases))


# --- the command line ----------------------------------------------------------------------------


def command_line(
    about: str, *, quick: str | None = None, data: bool = False
) -> argparse.ArgumentParser:
    """Return a parser with --json, and with --quick and --data where the script has them."""
    parser = argparse.ArgumentParser(description=about.strip().partition("\n")[0])
    add = parser.add_argument
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    if quick:
        add("--quick", action="store_true", help=quick)
    if data:
        words = "folder of the data sets, see _real_data.py (default: SKLEARN_RANK_DATA)"
        folder = os.environ.get("SKLEARN_RANK_DATA")
        add("--data", type=Path, metavar="DIR", default=folder, help=words)
    return parser


# --- the machine ---------------------------------------------------------------------------------


def describe_machine(*packages: str) -> Record:
    """Return what the figures depend on: processor, load, and versions (these packages' too)."""
    versions = {"python": platform.python_version()}
    for package in ("sklearn-rank", "scikit-learn", "numpy", "scipy", "joblib", *packages):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    processor = next(names, platform.processor() or platform.machine())
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": processor,
        "cpu_count": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "versions": versions,
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # few rounds or iterations are no concern here
    task, words = sys.argv[1:]
    script, _, function = task.partition(":")
    print(json.dumps(getattr(importlib.import_module(script), function)(*json.loads(words))))
