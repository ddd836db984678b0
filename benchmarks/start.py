"""What it takes until a ranker can be used: imports, the command's help, a comparison's rest.

    python benchmarks/start.py               # 20 processes of each, in turns: three minutes
    python benchmarks/start.py --repeats 3   # a quick look

The modules are compiled before: an installer does that, too.
"""

import argparse
import os
import resource
import sys
import time
from pathlib import Path
from statistics import median, quantiles
from subprocess import DEVNULL, PIPE, run
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
ADDED, HELPED, OUTSIDE = 0.06, 0.3, 3.0
ADD = f"""{BOOSTING}
import time
start = time.process_time()
from sklearn_rank import RankBoost
print(time.process_time() - start)
"""
"""What RankBoost adds, in one process: from one to the next scikit-learn's import varies more."""
COMPARISONS = 5
COMPARE = """
import sys, time
from sklearn_rank.cli import _crossval, main
fit_pipeline, seconds = _crossval.fit_pipeline, []
def timed(*given):
    start = time.process_time()
    try:
        return fit_pipeline(*given)
    finally:
        seconds.append(time.process_time() - start)
_crossval.fit_pipeline = timed
sys.exit(main(["compare"]) or print(time.process_time() - sum(seconds)))
"""
"""The comparison of the example; its last line is the processor's seconds outside fits."""


def start_process(arguments: list[str], output: int) -> str:
    """Run Python with some arguments and return what it prints, where that is kept."""
    one_thread = {f"{library}_NUM_THREADS": "1" for library in LIBRARIES}
    path = os.pathsep.join([str(PACKAGE.parent), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, **one_thread, "PYTHONPATH": path}
    command, kept = [sys.executable, *arguments], {"stdout": output, "stderr": DEVNULL}
    folder = PACKAGE.parent  # where Python looks first
    return run(command, cwd=folder, env=environment, check=True, text=True, **kept).stdout


def measure_process(arguments: list[str]) -> Record:
    """Return the seconds of a process, of the clock and of the processor."""
    before, start = children_seconds(), time.perf_counter()
    start_process(arguments, DEVNULL)
    return {"s": time.perf_counter() - start, "processor s": children_seconds() - before}


def children_seconds() -> float:
    """Return the processor's seconds of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(options: argparse.Namespace) -> Report:
    """Start the processes in turns; return times and targets."""
    machine = describe_machine()
    run([sys.executable, "-m", "compileall", "-q", str(PACKAGE)], check=True)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in CASES}
    added: list[float] = []
    for number in range(options.repeats + 1):
        for name, arguments in CASES.items():
            found = measure_process(arguments)
            if number:  # the first ones read from the disk
                runs[name].append(found)
        added.append(float(start_process(["-c", ADD], PIPE)))
    outside = [float(start_process(["-c", COMPARE], PIPE).split()[-1]) for _ in range(COMPARISONS)]

    def seconds(name: str) -> float:
        return median(one[options.clock] for one in runs[name])

    del added[0]
    verdicts = [
        Verdict(f"what RankBoost adds to the import of {SCIKIT_LEARN}", ADDED, median(added), "s"),
        Verdict("sklearn-rank --help", HELPED, seconds(HELP), "s"),
        Verdict("sklearn-rank compare, outside fits", OUTSIDE, median(outside), "s"),
    ]
    table = times_table("Processes", {name: medians(one) for name, one in runs.items()})
    settings = (
        f"Medians of {options.repeats} processes, in turns, one thread each; judged: "
        f"{'seconds of the clock' if options.clock == 's' else 'seconds of the processor'}."
    )
    if options.repeats > 1:
        low, _, high = quantiles(added, n=4)
        settings += f" RankBoost adds {low:.3f} to {high:.3f} s in the middle half of the turns."
    settings += (
        f" Outside the fits of its comparison the command takes {min(outside):.2f} to "
        f"{max(outside):.2f} s of the processor in {COMPARISONS} runs."
    )
    kept = {**runs, "added": added, "outside": outside}
    return Report("start", settings, machine, [table], verdicts, [], kept)


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
