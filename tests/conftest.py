"""What every test shares: how many examples Hypothesis draws, and restored settings."""

import importlib
import os
import random
import sys
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import settings

# The first draws the same examples on every run, so a failure can be repeated from its log alone;
# the second draws new ones each night, and its log ends with the seed that repeats them.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=20)
settings.register_profile(
    "nightly", deadline=None, derandomize=False, max_examples=2000, print_blob=True
)


def profile_of(config):
    """Return the profile of the tests that are run; the environment can name another one."""
    tier = "nightly" if config.getoption("nightly") else "default"
    return os.environ.get("HYPOTHESIS_PROFILE", tier)


@pytest.hookimpl(tryfirst=True)  # before Hypothesis reads its seed
def pytest_configure(config):
    settings.load_profile(profile_of(config))  # before test modules read settings.default
    if not settings.default.derandomize and config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = random.SystemRandom().getrandbits(32)


def pytest_terminal_summary(terminalreporter, config):
    if not settings.default.derandomize:
        seed = config.getoption("hypothesis_seed")
        terminalreporter.write_line(f"The examples are those of --hypothesis-seed={seed}")


@pytest.fixture(autouse=True)
def restore_sklearn_config():
    """Undo what a test does to scikit-learn's global settings, metadata routing above all."""
    import sklearn  # not above: the process that hands out the tests needs no scikit-learn

    before = sklearn.get_config()
    yield
    sklearn.set_config(**before)


@cache
def generators_of(module):
    """Return the random generators of a module of tests, with their states after its import."""
    import numpy as np  # not above: see `restore_sklearn_config`

    found = [one for one in vars(module).values() if isinstance(one, np.random.Generator)]
    return [(one, one.bit_generator.state) for one in found]


@pytest.hookimpl(tryfirst=True)
def pytest_fixture_setup():
    """Seed what `random_state=None` draws from: a fixture is the same whichever test is first."""
    import numpy as np

    np.random.seed(0)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order(request):
    """Start the module's generators anew: numbers of a test do not depend on those before it."""
    for generator, state in generators_of(request.module):
        generator.bit_generator.state = state


@pytest.fixture(autouse=True, scope="module")
def stop_worker_processes():
    """Stop the processes that joblib keeps for a next call.

    They end by themselves after five minutes, and a call just then may wait for ever.
    """
    yield
    loky = sys.modules.get("joblib.externals.loky.reusable_executor")
    if loky is not None and loky._executor is not None:
        loky._executor.shutdown(wait=True, kill_workers=True)


@pytest.fixture
def scripts(monkeypatch):
    """Import a script of the benchmarks by its name."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "benchmarks")
    return importlib.import_module


@pytest.fixture
def seen(monkeypatch):
    """What early stopping trains on and what it holds out, filled by the next fit."""
    from sklearn_rank.estimators._boosting import rounds_ranker as _rounds_ranker

    seen = SimpleNamespace()

    def spy(data, fraction, seed):
        seen.all = data
        seen.train, seen.held_out = split(data, fraction, seed)
        return seen.train, seen.held_out

    split = _rounds_ranker.split_validation
    monkeypatch.setattr(_rounds_ranker, "split_validation", spy)
    return seen
