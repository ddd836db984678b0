"""The quick tests many times, each in its own random order, several at once: do they always pass?

    python benchmarks/quick_runs.py --runs 60 --json docs/benchmarks/quick_runs.json
    python benchmarks/quick_runs.py --runs 3 --at-once 3

It needs pytest-randomly, of the extra ``dev``. The order and the numbers of a run are those of its
seed, and each runs in one process and in a copy of the tree. More at once than there are cores keep
all of them busy. A run goes on with an earlier report: it adds the seeds that are missing.
The table counts the commits that the runs are of.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from _harness import describe_machine
from _report import Report, Table, Verdict

ROOT = Path(__file__).resolve().parents[1]
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
PASSED = re.compile(r"(\d+) passed")
AT_MOST = 0


def run_once(seed: int) -> dict[str, Any]:
    """Run the quick tests in the order of a seed, in a copy of what git has."""
    words = [sys.executable, "-m", "pytest", "-m", "not slow", "-n", "0", "-q", "-p", "randomly"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), folder], check=True)
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True)
        environment = {**os.environ, "PYTHONPATH": folder}
        begin = time.monotonic()
        done = subprocess.run(
            [*words, f"--randomly-seed={seed}"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:  # a failure under load may never come again
        print(f"seed {seed}:", done.stdout[-20_000:], done.stderr[-2000:], file=sys.stderr)
    passed = PASSED.search(done.stdout)
    return {
        "commit": commit.strip(),
        "exit_code": done.returncode,
        "passed": int(passed[1]) if passed else 0,
        "failed": FAILED.findall(done.stdout),
        "seconds": round(time.monotonic() - begin, 1),
    }


def report_of(runs: dict[str, dict[str, Any]], machine: dict[str, Any], at_once: int) -> Report:
    """Return how many runs passed, and the tests that failed in the others."""
    bad = {seed: one for seed, one in runs.items() if one["exit_code"]}
    seconds = [one["seconds"] for one in runs.values()]
    table = Table(
        "Quick tests in random order",
        ["runs", "passed", "commits", "tests in each", "seconds, one process"],
        [
            [
                len(runs),
                len(runs) - len(bad),
                len({one["commit"] for one in runs.values()}),
                *spans(runs),
                f"{min(seconds):,.0f} to {max(seconds):,.0f}",
            ]
        ],
    )
    failed = Table(
        "Tests that failed",
        ["seed", "tests"],
        [[seed, ", ".join(one["failed"])] for seed, one in bad.items()],
    )
    return Report(
        "quick_runs",
        f"Up to {at_once} at once, each in one process and in the order of its seed.",
        machine,
        [table, *([failed] if bad else [])],
        [Verdict("runs with a failure", AT_MOST, len(bad))],
        runs=runs,
    )


def spans(runs: dict[str, dict[str, Any]]) -> list[str]:
    """Return the least and the most tests that ran, as one text."""
    counts = [one["passed"] + len(one["failed"]) for one in runs.values()]
    least, most = min(counts), max(counts)
    return [f"{least:,}" if least == most else f"{least:,} to {most:,}"]


def main() -> None:
    """Run the seeds that are missing, and report after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--at-once", type=int, default=2 * (os.cpu_count() or 1))
    parser.add_argument("--json", type=Path, help="write the report there after each run")
    options = parser.parse_args()
    runs: dict[str, dict[str, Any]] = {}
    if options.json is not None and options.json.exists():
        runs = json.loads(options.json.read_text(encoding="utf-8"))["runs"]
    machine = describe_machine("hypothesis", "pandas", "xgboost-cpu", "lightgbm")
    seeds = range(options.first, options.first + options.runs)
    missing = [seed for seed in seeds if str(seed) not in runs]
    with ThreadPoolExecutor(options.at_once) as executor:
        for seed, found in zip(missing, executor.map(run_once, missing), strict=True):
            runs[str(seed)] = found
            if options.json is not None:
                report_of(runs, machine, options.at_once).save(options.json)
    report_of(runs, machine, options.at_once).publish(options.json)


if __name__ == "__main__":
    main()
