"""Threads, signals and full disks: equal results, and nothing left behind."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from rankers import RANKERS, cheap

from sklearn_rank import RankBoost
from sklearn_rank._core import parallel as _parallel
from sklearn_rank.cli._output import Output
from sklearn_rank.scorecard import Scorecard

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Loky-backed parallel loops:UserWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = (X[:, 0] + RNG.normal(size=60) > 0).astype(int)
N_THREADS = 8

MODELS = {
    **{ranker.__name__: (ranker, cheap(ranker, 5)) for ranker in RANKERS},
    "Scorecard": (Scorecard, {"cv": 2, "max_terms": 2}),
}


def make(name, n_jobs=None):
    ranker, parameters = MODELS[name]
    mode = {} if ranker is Scorecard else {"relevance": "binary"}
    return ranker(random_state=0, n_jobs=n_jobs, **mode, **parameters)


def scores_of_fit(name, seed, n_jobs=None):
    """Return the scores of a model fitted to rows of its own."""
    rows = np.random.default_rng(seed).permutation(60)[:50]
    return make(name, n_jobs).fit(X[rows], Y[rows]).decision_function(X)


def in_threads(call, n_calls=N_THREADS):
    """Call with 0, 1, ... at once: all threads wait until the last one is ready."""
    ready = threading.Barrier(n_calls, timeout=60)

    def together(number):
        ready.wait()
        return call(number)

    with ThreadPoolExecutor(n_calls) as pool:
        return list(pool.map(together, range(n_calls)))


# Not a scorecard with n_jobs=2: joblib's processes can't be started by several threads at once.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_jobs"), [*((name, None) for name in MODELS), ("RankBoost", 2), ("ListNetLinear", 2)]
)
def test_fits_in_eight_threads_equal_fits_one_by_one(name, n_jobs, monkeypatch):
    expected = [scores_of_fit(name, seed) for seed in range(N_THREADS)]
    parallel = Parallel(n_jobs=N_THREADS, prefer="threads")
    found = parallel(delayed(scores_of_fit)(name, seed, n_jobs) for seed in range(N_THREADS))
    np.testing.assert_array_equal(found, expected)
    # Threads inside of each, even for few rows.
    monkeypatch.setattr(_parallel, "_MIN_PARALLEL_VALUES", 0)
    found = in_threads(lambda seed: scores_of_fit(name, seed, n_jobs))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", MODELS)
def test_predictions_in_eight_threads_equal_those_of_one(name):
    model = make(name).fit(X, Y).set_params(n_jobs=2)
    expected = model.decision_function(X)
    found = in_threads(lambda number: model.decision_function(X))
    np.testing.assert_array_equal(found, [expected] * N_THREADS)


# Ctrl-C -------------------------------------------------------------------------------------


def test_ctrl_c_while_threads_start_leaves_none(monkeypatch):
    """KeyboardInterrupt comes when the thread has been started, before it has work."""

    def start(thread):
        started(thread)
        raise KeyboardInterrupt

    def run():
        with _parallel.one_blas_thread(), _parallel.ThreadPool(2).running() as threads:
            return threads.map(lambda number: number, 2)

    before, started = set(threading.enumerate()), threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        run()
    monkeypatch.undo()
    for helper in set(threading.enumerate()) - before:
        helper.join(timeout=10)
        assert not helper.is_alive()
    assert run() == [0, 1]


# Files that can't be written ----------------------------------------------------------------


def test_ctrl_c_before_the_first_byte_leaves_no_file(tmp_path, monkeypatch):
    """The temporary file comes into being inside of the block that removes it."""

    def touch(path, *rest, **options):
        touched(path, *rest, **options)
        raise KeyboardInterrupt

    touched = Path.touch
    monkeypatch.setattr(Path, "touch", touch)
    with pytest.raises(KeyboardInterrupt), Output(tmp_path / "out.csv").writing():
        pytest.fail("the block must not start")
    assert list(tmp_path.iterdir()) == []


def test_a_write_that_fails_keeps_the_old_file(tmp_path):
    path = tmp_path / "out.json"
    path.write_text("old")
    with pytest.raises(OSError, match="No space"), Output(path, force=True).writing() as temporary:
        temporary.write_text("half")
        raise OSError(28, "No space left on device")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def command(folder, *argv, stdout=subprocess.PIPE, **options):
    return subprocess.run(
        [sys.executable, "-m", "sklearn_rank.cli", *argv],
        cwd=folder,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")
def test_a_folder_that_can_not_be_written_is_told_in_a_line(tmp_path):
    lines = [f"{x},{y}" for (x, *_), y in zip(X, Y, strict=True)]
    (tmp_path / "rows.csv").write_text("\n".join(["a,y", *lines]))
    (tmp_path / "closed").mkdir()
    (tmp_path / "closed").chmod(0o555)
    tmp_path.chmod(0o755)
    is_root = os.getuid() == 0  # permissions do not bind it
    folder = next((one for one in ("/proc/self", "/sys") if Path(one).is_dir()), None)
    if is_root and folder is None:
        pytest.skip("root may write everywhere here")
    model = f"{folder if is_root else 'closed'}/model.skops"
    argv = ["train", "rows.csv", "--target", "y", "-o", model, "--ranker", "RankBoost"]
    done = command(tmp_path, *argv)
    assert done.returncode == 2
    assert done.stderr.startswith("sklearn-rank: error: ")
    assert done.stderr.count("\n") == 1
    assert list((tmp_path / "closed").iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_to_a_full_disk_is_told_in_a_line(tmp_path, unbuffered):
    with open("/dev/full", "w") as full:
        environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
        done = command(tmp_path, "--help", stdout=full, env=environment)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_the_limit_of_blas_threads_is_lifted_after_an_interrupt(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankBoost, "_fit", interrupt)
    with pytest.raises(KeyboardInterrupt):
        RankBoost().fit(X, Y)
    assert not _parallel._BLOCKS
