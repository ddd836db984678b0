"""What a release holds: every module can be imported, and the versions agree everywhere."""

import importlib
import pkgutil
import re
from importlib.resources import files
from pathlib import Path

import sklearn_rank

ROOT = Path(__file__).parents[1]
OF_EXTRAS = {"click", "dask", "distributed", "jinja2", "matplotlib"}
OF_EXTRAS |= {"onnx", "pandas", "skl2onnx", "skops"}


def test_modules_can_be_imported():
    walk = pkgutil.walk_packages(sklearn_rank.__path__, "sklearn_rank.", onerror=lambda _: None)
    names = [found.name for found in walk if not found.name.endswith("__main__")]
    assert len(names) > 100
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in OF_EXTRAS, f"{name}: {error}"


def test_the_marker_of_types_is_there():
    assert (files("sklearn_rank") / "py.typed").is_file()


def versions():
    """Return the version by the file that states it."""
    patterns = {
        "pyproject.toml": r'^version = "(.+)"$',
        "CITATION.cff": r"^version: (\S+)$",
        "README.md": r"This is version (\S+):",
        "docs/installation.md": r"This is version (\S+):",
    }
    return {
        file: re.search(pattern, (ROOT / file).read_text(encoding="utf-8"), re.M)[1]
        for file, pattern in patterns.items()
    }


def test_versions_agree():
    assert set(versions().values()) == {sklearn_rank.__version__}


def test_the_changelog_begins_with_this_version():
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(\d[^\]]*)\]", changes, re.M)[1]
    assert newest == sklearn_rank.__version__.partition(".dev")[0]
