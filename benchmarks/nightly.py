"""All tests with ``--nightly``, to their end: in as many runs as it takes.

    python benchmarks/nightly.py --seed 1 --minutes 60 --json docs/benchmarks/nightly.json

The seed is that of Hypothesis. A run goes on where the last one with this seed has stopped: tests
that passed are left out, and those that failed, or were running when time was over, are run again.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from _harness import describe_machine, with_scripts
from _report import Report, Table, Verdict
from _resumed_tests import DONE, known

ROOT = Path(__file__).resolve().parents[1]
OUTCOMES = ("passed", "skipped", "failed")


def run_tests(seed: int, minutes: float, notes: Path, given: list[str]) -> None:
    """Run the tests that `notes` lacks, until they end or the time is over."""
    words = ["--nightly", f"--hypothesis-seed={seed}", "-q", "-p", "_resumed_tests", *given]
    environment = with_scripts(**{DONE: str(notes)})
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, env=environment, start_new_session=True
    )
    try:
        child.wait(timeout=60 * minutes)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def planned() -> dict[str, int]:
    """Return the number of tests of each file."""
    words = [sys.executable, "-m", "pytest", "--nightly", "--collect-only", "-q", "-n", "0"]
    told = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return dict(Counter(line.partition("::")[0] for line in told.splitlines() if "::" in line))


def summed_up(run: dict[str, Any]) -> None:
    """Replace the tests of a file that all have passed or been skipped by their numbers."""
    for file, number in run["planned"].items():
        own = {name: one for name, one in run["tests"].items() if name.startswith(f"{file}::")}
        counts = Counter(one["outcome"] for one in own.values())
        if number and counts["passed"] + counts["skipped"] >= number:
            seconds = sum(one["seconds"] for one in own.values())
            run["files"][file] = {**dict(counts), "seconds": round(seconds, 1)}
            run["tests"] = {name: one for name, one in run["tests"].items() if name not in own}


def report_of(runs: dict[str, Any]) -> Report:
    """Return the report on the runs of every seed."""
    rows, failures = [], []
    for seed, run in runs.items():
        found = Counter(one["outcome"] for one in run["tests"].values())
        for file in run["files"].values():
            found.update({outcome: file.get(outcome, 0) for outcome in OUTCOMES})
        every = [*run["tests"].values(), *run["files"].values()]
        hours = sum(one["seconds"] for one in every) / 3600
        counts = [found[outcome] for outcome in OUTCOMES]
        rows.append([seed, sum(run["planned"].values()), sum(counts), *counts, f"{hours:.2f}"])
        failures += [
            [seed, test] for test, one in run["tests"].items() if one["outcome"] == "failed"
        ]
    columns = ["seed", "planned", "done", *OUTCOMES, "hours of one core"]
    tables = [Table("Tests with --nightly", columns, rows)]
    if failures:
        tables.append(Table("Failures", ["seed", "test"], failures))
    verdicts = [
        Verdict("nightly tests that failed", 0, len(failures)),
        Verdict("nightly tests not run", 0, sum(row[1] - row[2] for row in rows)),
    ]
    settings = "All tests, 2,000 random examples of each property."
    return Report("nightly", settings, describe_machine("hypothesis"), tables, verdicts, runs=runs)


def main() -> None:
    """Run tests, and report on all that were run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=1e5, help="stop after so many")
    parser.add_argument(
        "--json", type=Path, required=True, help="the report, which is gone on with"
    )
    parser.add_argument("tests", nargs="*", help="some of the tests planned; by default all")
    options = parser.parse_args()
    runs = Report.load(options.json).runs if options.json.exists() else {}
    run = runs.setdefault(str(options.seed), {"files": {}, "tests": {}})
    if not options.tests or "planned" not in run:  # some that are run again plan nothing
        run["planned"] = planned()
    notes = options.json.with_suffix(f".{options.seed}.jsonl").resolve()
    done = {**run["files"], **run["tests"]}.items()
    lines = [json.dumps({"test": name, **one}) + "\n" for name, one in done]
    notes.write_text("".join(lines), encoding="utf-8")
    notes.with_suffix(".txt").unlink(missing_ok=True)  # failures of an earlier run
    try:
        run_tests(options.seed, options.minutes, notes, options.tests)
    finally:
        run["tests"] = {
            name: {"outcome": one["outcome"], "seconds": round(one["seconds"], 2)}
            for name, one in known(notes).items()
            if name not in run["files"]
        }
        # Files that have more tests than before are run again.
        again = {name.partition("::")[0] for name in run["tests"]}
        run["files"] = {name: one for name, one in run["files"].items() if name not in again}
        notes.unlink()
        summed_up(run)
        report_of(runs).publish(options.json)


if __name__ == "__main__":
    main()
