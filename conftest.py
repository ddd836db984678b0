"""Three tiers of tests (CONTRIBUTING.md), and documentation examples that may lack their extra."""

import gc
import os

# Before anything imports NumPy: one process for each core leaves no core for the threads of BLAS.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")  # before anything imports matplotlib

import doctest
import subprocess
import sys
from functools import cache

import pytest

gc.disable()  # until the tests are collected: that makes many objects and no garbage


def pytest_addoption(parser, pluginmanager):
    parser.addoption("--slow", action="store_true", help="also run the tests marked slow")
    parser.addoption("--nightly", action="store_true", help="run every test, with new examples")
    if not pluginmanager.hasplugin("xdist"):  # not installed, or -p no:xdist: run in one process
        for option in ("--numprocesses", "--dist"):  # which pyproject.toml sets
            parser.addoption(option, help="without pytest-xdist: ignored")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    result = yield
    first_example()
    gc.freeze()  # what was collected stays to the end: no need to look there
    gc.enable()
    return result


def first_example():
    """Have Hypothesis make its generator of random numbers.

    It then asks who refers to it, which from Python 3.14 on is among what has been frozen.
    """
    from hypothesis import given, settings, strategies

    @settings(database=None, max_examples=1)
    @given(strategies.none())
    def draw(_):
        pass

    draw()


def pytest_collection_modifyitems(config, items):
    """Leave out the tiers that no option asks for; a test named on the command line always runs."""
    if config.getoption("nightly") or any("::" in argument for argument in config.args):
        return
    left_out = {"nightly"} if config.getoption("slow") else {"nightly", "slow"}
    skipped = [item for item in items if left_out & {mark.name for mark in item.iter_markers()}]
    config.hook.pytest_deselected(items=skipped)
    items[:] = [item for item in items if item not in set(skipped)]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip what needs a package that is not there, or an engine that does not load."""
    try:
        return (yield)
    except doctest.UnexpectedException as failure:
        error = failure.exc_info[1]
        missing = missing_package(error)
        if missing is not None:
            pytest.skip(f"the example needs {missing}")
        skip_without_engine(error)
        raise
    except ImportError as error:
        skip_without_engine(error)
        raise


def skip_without_engine(error):
    """Skip the test if this is the error of an engine, and the engine really does not load."""
    engine = getattr(error, "name", None) if isinstance(error, ImportError) else None
    if engine in ("lightgbm", "xgboost") and not loads(engine):
        pytest.skip(str(error))


@cache
def loads(package):
    """Say whether a new interpreter can import a package: in this one a test may have hidden it."""
    command = [sys.executable, "-c", f"import {package}"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def missing_package(error):
    """Return the name of the package that could not be imported, if it is not this one."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "").partition(".")[0]
            return None if package in ("", "sklearn_rank") else package
        error = error.__cause__
    return None
