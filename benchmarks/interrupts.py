"""Ctrl-C, a killed process and a full disk at random moments: what is left behind.

    python benchmarks/interrupts.py --trials 50 --json docs/benchmarks/interrupts.json
    python benchmarks/interrupts.py --quick

Fits and searches are interrupted by SIGINT inside one process, commands by a signal to a child
process, at moments drawn uniformly from the time that the work takes. Counted are the runs that
were interrupted, and among all of them those that leave a thread or a process, a changed model, or
a file besides the whole old or the whole new one. All moments come from `--seed`.
"""

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

ROWS = 400
SEARCH_JOBS = 2
PATIENCE = 20.0
"""Seconds that threads and processes have to end."""


@contextmanager
def ctrl_c_interrupts() -> Iterator[None]:
    """Handle SIGINT as Python does in a terminal: a background job of a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted(work: Callable[[], object], moment: float) -> bool:
    """Run something that SIGINT reaches after some seconds; return whether it was interrupted."""

    def strike() -> None:
        time.sleep(moment)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=strike)
    done = False
    with ctrl_c_interrupts():
        try:
            helper.start()
            work()
            done = True
            helper.join()
            time.sleep(0.2)  # the signal is handled between two steps of the main thread
        except KeyboardInterrupt:
            pass
        helper.join()
    return not done


def threads_left(before: set[threading.Thread]) -> int:
    """Return how many threads more there are than before, after a while."""
    end = time.monotonic() + PATIENCE
    while (left := set(threading.enumerate()) - before) and time.monotonic() < end:
        time.sleep(0.05)
    return len(left)


def children() -> list[int]:
    """Return the child processes of this process that run, without multiprocessing's tracker."""
    import psutil

    found = []
    for child in psutil.Process().children(recursive=True):
        try:
            running = child.status() != psutil.STATUS_ZOMBIE
            if running and "resource_tracker" not in " ".join(child.cmdline()):
                found.append(child.pid)
        except psutil.Error:  # it has ended meanwhile
            continue
    return found


def children_left(before: set[int]) -> int:
    """Return how many child processes run after a while that did not run before."""
    end = time.monotonic() + PATIENCE
    while (left := set(children()) - before) and time.monotonic() < end:
        time.sleep(0.1)
    return len(left)


def models() -> dict[str, object]:
    """Return unfitted models whose fits take about as long as a few signals."""
    import sklearn_rank
    from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker
    from sklearn_rank.scorecard import Scorecard

    made = {}
    for name in sklearn_rank.__all__:
        ranker = getattr(sklearn_rank, name)
        rounds = {"n_estimators": 40} if "n_estimators" in ranker._get_param_names() else {}
        made[name] = ranker(relevance="binary", n_jobs=2, random_state=0, **rounds)
    made["KernelPairwiseSGDRanker"] = KernelPairwiseSGDRanker(n_jobs=2, max_iter=50)
    made["LightGBM"] = BoostedTreesRanker(engine="lightgbm", n_estimators=40, random_state=0)
    made["Scorecard"] = Scorecard(p=2, cv=2, max_terms=3, random_state=0)
    return made


def draw_rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(ROWS, 4))
    return X, (X[:, 0] + rng.normal(size=ROWS) > 0).astype(int)


def fit_trials(n_trials: int, seed: int) -> Counter:
    """Interrupt second fits; count what is left."""
    from sklearn_rank._core import parallel as _parallel

    _parallel._WORTHWHILE = 0  # threads even for few rows
    rng, found = np.random.default_rng(seed), Counter()
    fitted, seconds = {}, {}
    (X, y), (X2, y2) = draw_rows(0), draw_rows(1)
    for name, model in models().items():
        fitted[name] = model.fit(X2, y2)
        start = time.monotonic()
        model.fit(X, y)
        seconds[name] = time.monotonic() - start
    threads = set(threading.enumerate())
    for number in range(n_trials):
        name = list(fitted)[number % len(fitted)]
        model = fitted[name].fit(X, y)
        before, scores = dict(vars(model)), model.decision_function(X)
        stopped = interrupted(lambda m=model: m.fit(X2, y2), rng.uniform(0, seconds[name]))
        found["runs"] += 1
        found["interrupted"] += stopped
        is_whole = vars(model).keys() == before.keys()
        same = is_whole and np.array_equal(model.decision_function(X), scores)
        found["model changed"] += stopped and not same
        found["threads left"] += threads_left(threads)
    return found


def is_fitted(model: object) -> bool:
    """Whether a model is fitted; `GridSearchCV` puts an unfitted one in its place to refit it."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def search_trials(n_trials: int, seed: int) -> Counter:
    """Interrupt second searches; count what is left."""
    from joblib.externals.loky import get_reusable_executor
    from sklearn.model_selection import GridSearchCV

    from sklearn_rank import RankBoost

    rng, found, before = np.random.default_rng(seed), Counter(), set(children())
    (X, y), (X2, y2) = draw_rows(0), draw_rows(1)
    grid = {"n_estimators": [10, 40], "learning_rate": [0.5, 1.0]}
    for n_jobs in (1, SEARCH_JOBS):
        search = GridSearchCV(RankBoost(), grid, cv=3, n_jobs=n_jobs).fit(X, y)
        start = time.monotonic()
        search.fit(X, y)
        seconds = time.monotonic() - start
        scores = search.decision_function(X)
        for _ in range(n_trials // 2):
            stopped = interrupted(lambda s=search: s.fit(X2, y2), rng.uniform(0, seconds))
            found["runs"] += 1
            found["interrupted"] += stopped
            lost = not is_fitted(search.best_estimator_)
            found["lost in scikit-learn's refit"] += lost
            changed = lost or not np.array_equal(search.decision_function(X), scores)
            found["model changed"] += stopped and changed and not lost
            if changed:
                scores = search.fit(X, y).decision_function(X)
            get_reusable_executor(max_workers=SEARCH_JOBS).shutdown(wait=True, kill_workers=True)
            found["processes left"] += children_left(before)
    return found


TRAIN = ["train", "rows.csv", "--target", "y", "-o", "model.skops", "--force", "--ranker"]


def start(argv: list[str], folder: Path, **options: object) -> subprocess.Popen:
    """Start a command of the package in a process group of its own."""
    with ctrl_c_interrupts():  # a child would ignore what this process ignores
        return subprocess.Popen(
            [sys.executable, "-m", "sklearn_rank.cli", *argv],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        )


def write_rows(folder: Path) -> None:
    """Write the table that commands read."""
    import pandas as pd

    X, y = draw_rows(0)
    pd.DataFrame(X, columns=list("abcd")).assign(y=y).to_csv(folder / "rows.csv", index=False)


@cache
def trained() -> tuple[bytes, float]:
    """Return the bytes of a model of the table, and the seconds that training it took."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder)
        import_module("sklearn_rank.cli._train")  # files of modules are in memory from now on
        begin = time.monotonic()
        subprocess.run(
            [sys.executable, "-m", "sklearn_rank.cli", *TRAIN, "RankBoost"],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        seconds = time.monotonic() - begin
        return (folder / "model.skops").read_bytes(), seconds


def prepare(folder: Path) -> tuple[bytes, float]:
    """Write a table and a model; return the model's bytes and the seconds that training takes."""
    model, seconds = trained()
    write_rows(folder)
    (folder / "model.skops").write_bytes(model)
    return model, seconds


def command_trials(n_trials: int, seed: int, sign: signal.Signals) -> Counter:
    """Send a signal to commands that overwrite a model; count what is left."""
    from sklearn_rank.cli._store import load_model

    rng, found = np.random.default_rng(seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, seconds = prepare(folder)
        model = folder / "model.skops"
        for _ in range(n_trials):
            model.write_bytes(old)
            child = start([*TRAIN, "PNormPushRanker"], folder)
            try:
                child.wait(timeout=rng.uniform(0, 1.1 * seconds))
            except subprocess.TimeoutExpired:
                child.send_signal(sign)
            said = child.communicate()[1].decode()
            found["runs"] += 1
            found["interrupted"] += child.returncode != 0
            found["told in a line"] += "interrupted; no file" in said
            if model.read_bytes() != old:
                load_model(str(model), [])  # raises unless it is a whole one
                found["new model"] += 1
            temporary = set(os.listdir(folder)) - {"rows.csv", "model.skops"}
            found["files left"] += len(temporary)
            for one in temporary:
                (folder / one).unlink()
            found["processes left"] += group_runs(child.pid)
    return found


def group_runs(group: int) -> bool:
    """Whether a process of a group still runs."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def full_disk_trials(n_trials: int, seed: int) -> Counter:
    """Let writing fail at random sizes of the file; count what is left."""
    rng, found = np.random.default_rng(seed), Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, _ = prepare(folder)
        model = folder / "model.skops"
        for limit in rng.integers(0, len(old), n_trials).tolist():

            def confine(limit: int = limit) -> None:
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # a failed write instead
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

            child = start([*TRAIN, "RankBoost"], folder, preexec_fn=confine)
            said = child.communicate()[1].decode()
            found["runs"] += 1
            found["refused"] += child.returncode == 2
            found["told in a line"] += said.count("\n") == 1 and "error" in said
            found["model changed"] += model.read_bytes() != old
            found["files left"] += len(set(os.listdir(folder)) - {"rows.csv", "model.skops"})
    return found


def run(n_trials: int, seed: int) -> dict[str, Counter]:
    """Return the counts of each kind of trial."""
    warnings.simplefilter("ignore")
    return {
        "fits, SIGINT": fit_trials(n_trials, seed),
        "searches, SIGINT": search_trials(n_trials, seed),
        "commands, SIGINT": command_trials(n_trials, seed, signal.SIGINT),
        "commands, SIGKILL": command_trials(n_trials, seed, signal.SIGKILL),
        "commands, full disk": full_disk_trials(max(4, n_trials // 5), seed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="four trials of each kind")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    found = run(4 if options.quick else options.trials, options.seed)
    for name, counts in found.items():
        print(f"{name}: " + ", ".join(f"{key} {count}" for key, count in counts.items()))
    if options.json:
        content = {"seed": options.seed, "counts": found}
        options.json.write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
