"""What it takes until a ranker can be used: imports, and the command's help.

    python benchmarks/start.py               # 20 processes of each, in turns: two minutes
    python benchmarks/start.py --repeats 3   # a quick look

The modules are compiled before: an installer does that, too.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, run
from typing import Any

from _harness import LIBRARIES, Record, describe_machine, medians
from _report import Report, Verdict, times_table

PACKAGE = Path(__file__).resolve().parents[1] / "sklearn_rank"
BOOSTING = "from sklearn.ensemble import HistGradientBoostingClassifier"
SCIKIT_LEARN, BOTH, HELP = "HistGradientBoosting", "HistGradientBoosting, RankBoost", "help"
CASES = {
    SCIKIT_LEARN: ["-c", BOOSTING],
    BOTH: ["-c", f"{BOOSTING}; from sklearn_rank import RankBoost"],
    HELP: ["-m", "sklearn_rank.cli", "--help"],
}
ADDED, HELPED = 0.06, 0.3


def measure_process(arguments: list[str]) -> Record:
    """Return the seconds of a process, of the clock and of the processor."""
    one_thread = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **one_thread, "PYTHONPATH": path}
    before, start = os.times(), time.perf_counter()
    run([sys.executable, *arguments], check=True, stdout=DEVNULL, env=environment)
    seconds, after = time.perf_counter() - start, os.times()
    busy = after.children_user + after.children_system
    return {"s": seconds, "processor s": busy - before.children_user - before.children_system}


def measure(options: argparse.Namespace) -> Report:
    """Start the processes in turns; return times and targets."""
    machine = describe_machine()
    run([sys.executable, "-m", "compileall", "-q", str(PACKAGE)], check=True)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in CASES}
    for number in range(options.repeats + 1):
        for name, arguments in CASES.items():
            found = measure_process(arguments)
            if number:  # the first ones read from the disk
                runs[name].append(found)

    def seconds(name: str) -> float:
        return median(one[options.clock] for one in runs[name])

    added = seconds(BOTH) - seconds(SCIKIT_LEARN)
    verdicts = [
        Verdict("what RankBoost adds to the import of HistGradientBoosting", ADDED, added, "s"),
        Verdict("sklearn-rank --help", HELPED, seconds(HELP), "s"),
    ]
    table = times_table("Processes", {name: medians(one) for name, one in runs.items()})
    settings = (
        f"Medians of {options.repeats} processes, in turns, one thread each; judged: "
        f"{'seconds of the clock' if options.clock == 's' else 'seconds of the processor'}."
    )
    return Report("start", settings, machine, [table], verdicts, [], runs)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("--repeats", type=int, default=20, help="processes of each (default 20)")
    add(
        "--clock",
        choices=("s", "processor s"),
        default="s",
        help="what is judged: seconds, or those of the processor where others use it too",
    )
    add("--json", type=Path, metavar="FILE", help="write the report there as well")
    options = parser.parse_args()
    if options.repeats < 1:
        parser.error("at least one process is needed")
    measure(options).publish(options.json)


if __name__ == "__main__":
    main()
