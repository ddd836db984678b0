"""Which engine is found, and what is said of one that can't be used."""

import subprocess
import sys
from types import ModuleType

import numpy as np
import pytest

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.engines import registry
from sklearn_rank.engines.registry import LIBRARIES, get_engine
from sklearn_rank.engines.stored_booster import StoredBooster

LIBGOMP = "libgomp.so.1: cannot open shared object file: No such file or directory"


@pytest.fixture
def importing(monkeypatch):
    """Return a function that sets what the import of an engine raises, or that it succeeds."""
    answers, imported = {}, []

    def import_module(name):
        imported.append(name)
        if answers.get(name) is not None:
            raise answers[name]
        return ModuleType(name)

    monkeypatch.setattr(registry.importlib, "import_module", import_module)
    registry._loaded.cache_clear()
    yield lambda **raised: answers.update(raised) or imported
    registry._loaded.cache_clear()


def absent(name):
    return ModuleNotFoundError(f"No module named '{name}'", name=name)


def test_auto_takes_the_first_and_imports_no_other(importing):
    imported = importing()
    assert get_engine("auto", "x").name == "symmetric"
    assert imported == []
    assert get_engine("auto", "x", needs_library=True).name == "lightgbm"
    assert imported == ["lightgbm"]  # two OpenMP runtimes in one process can be one too many


def test_auto_takes_what_there_is(importing):
    importing(lightgbm=absent("lightgbm"))
    assert get_engine("auto", "x", needs_library=True).name == "xgboost"


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_engine_that_is_not_installed(importing, name):
    importing(**{name: absent(name)})
    X, y = np.arange(4.0)[:, np.newaxis], [0, 0, 1, 1]
    with pytest.raises(ImportError) as caught:
        BoostedTreesRanker(engine=name).fit(X, y)
    assert str(caught.value) == (
        f"engine={name!r} of BoostedTreesRanker can't be used: {name} is not installed "
        f'(pip install "sklearn-rank[{name}]")'
    )


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(LIBGOMP), f"{LIBGOMP} (on Debian and Ubuntu: apt install libgomp1)"),
        (
            ValueError("\nThe library could not be loaded.\nLikely cause: libgomp.so"),
            "The library could not be loaded. (on Debian and Ubuntu: apt install libgomp1)",
        ),
        (ImportError("DLL load failed", name="lightgbm"), "DLL load failed"),
        (absent("scipy"), "No module named 'scipy'"),
        (RuntimeError("cannot find the library file"), "cannot find the library file"),
        (AttributeError(), "AttributeError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_an_engine_that_cannot_be_loaded(importing, error, reason):
    importing(lightgbm=error, xgboost=absent("xgboost"))
    with pytest.raises(ImportError) as caught:
        get_engine("auto", "a ranker", needs_library=True)
    assert str(caught.value) == (
        "engine='auto' of a ranker can't be used: lightgbm is installed but can't be loaded: "
        f'{reason}; xgboost is not installed (pip install "sklearn-rank[xgboost]")'
    )


def test_a_stored_model_names_no_module_to_import(importing):
    imported = importing()
    with pytest.raises(ValueError, match="Got 'antigravity' instead"):
        _ = StoredBooster("antigravity", b"").loaded(1)
    assert imported == []


@pytest.mark.slow
def test_a_fit_needs_no_library():
    script = """
import sys
from sklearn_rank import BoostedTreesRanker
BoostedTreesRanker(n_estimators=1).fit([[0.0], [1.0]], [0, 1])
print(len({"xgboost", "lightgbm"} & set(sys.modules)))
"""
    assert subprocess.check_output([sys.executable, "-c", script]) == b"0\n"
