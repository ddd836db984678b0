"""What a release holds: every module can be imported, and the versions agree everywhere."""

import importlib
import pkgutil
import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import sklearn_rank

ROOT = Path(__file__).parents[1]
OF_EXTRAS = {
    "click",
    "dask",
    "distributed",
    "jinja2",
    "matplotlib",
    "onnx",
    "pandas",
    "skl2onnx",
    "skops",
}


def test_modules_can_be_imported():
    walk = pkgutil.walk_packages(sklearn_rank.__path__, "sklearn_rank.", onerror=lambda _: None)
    names = [found.name for found in walk if not found.name.endswith("__main__")]
    assert len(names) > 200
    for name in names:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in OF_EXTRAS, f"{name}: {error}"


def test_the_marker_of_types_is_there():
    assert (files("sklearn_rank") / "py.typed").is_file()


@pytest.mark.parametrize("name", ["page.html", "card.html", "report.html", "style.css"])
def test_the_templates_are_there(name):
    assert (files("sklearn_rank.scorecard.pages") / "templates" / name).is_file()


def versions():
    """Return the version by where it is written."""
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    says = re.compile(r"This is version (\d+\.\d+\.\d+)")
    pages = ("README.md", "docs/installation.md")
    return {
        "pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
            "project"
        ]["version"],
        "CITATION.cff": re.search(r"^version: (\S+)$", cff, re.M)[1],
        "CHANGELOG.md": re.search(r"^## \[(\d[^\]]*)\]", changes, re.M)[1],
    } | {name: says.search((ROOT / name).read_text(encoding="utf-8"))[1] for name in pages}


@pytest.mark.parametrize("place", versions())
def test_versions_agree(place):
    assert versions()[place] == sklearn_rank.__version__


def test_the_release_has_one_date():
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.search(r"^date-released: (\S+)$", cff, re.M)[1]
    assert f"## [{sklearn_rank.__version__}] - {released}" in changes
