"""The pages of the documentation run as they stand, from top to bottom, in an empty folder.

A block of Python and lines of the command line (``$ sklearn-rank ...``) are run; a ``text`` block
that follows must hold what they print, where ``...`` stands for anything.
"""

import doctest
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
import sklearn
from threadpoolctl import threadpool_info

from sklearn_rank.cli import main
from sklearn_rank.cli._parser import commands

DOCS = Path(__file__).parents[1] / "docs"
PACKAGE = DOCS.parent / "sklearn_rank"
BLOCK = re.compile(r"^```(python|console|text)\n(.*?)^```", re.M | re.S)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
KERNEL = "SkylakeX"
"""With this kernel of OpenBLAS the pages were printed."""
PAGES = sorted(
    page for page in (*DOCS.glob("*.md"), *DOCS.glob("guide/*.md")) if page.name != "README.md"
)


def run_block(kind, code, namespace, page):
    if kind == "python":
        exec(compile(code, str(page), "exec"), namespace)
        return
    for line in code.replace("\\\n", " ").splitlines():
        assert line.startswith("$ sklearn-rank "), line
        assert main(shlex.split(line)[2:]) in (None, 0), line


def same(printed, expected):
    """Whether a block holds what is printed; numbers only nearly with other kernels of OpenBLAS.

    The kernel, which OpenBLAS chooses by the processor, decides how sums round, and trees
    amplify that.
    """
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    if doctest.OutputChecker().check_output(expected, printed, flags):
        return True
    return KERNEL not in kernels() and nearly_same(printed, expected)


def kernels():
    return {library.get("architecture") for library in threadpool_info()}


def nearly_same(printed, expected):
    """Whether all but numbers is equal, and they differ by at most five of their last digit."""
    words = " ".join(expected.split())
    pattern = re.escape(NUMBER.sub("#", words)).replace(r"\.\.\.", ".*?")
    pattern = pattern.replace(r"\#", f"({NUMBER.pattern})")
    found = re.fullmatch(pattern, " ".join(printed.split()))
    return found is not None and all(map(is_near, found.groups(), NUMBER.findall(words)))


def is_near(number, other):
    return abs(float(number) - float(other)) < 5.5 * 0.1 ** len(other.partition(".")[2])


def test_numbers_that_are_near():
    page = "AUC   0.731 [-0.003]\n  ... s, 71 %"
    assert nearly_same("AUC 0.736 [-0.008] 1.2 s, 66 %", page)
    assert nearly_same("AUC 0.726 [0.002]\n12 s, 76 %", page)
    others = ["AUC 0.737 [-0.003] 1 s, 71 %", "AUC 0.731 [-0.003] 1 s, 77 %"]
    others.append("MAP 0.731 [-0.003] 1 s, 71 %")
    assert not any(nearly_same(printed, page) for printed in others)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_runs(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setitem(sys.modules, "catboost", None)  # no extra for users brings it
    namespace, printed = {}, ""
    with sklearn.config_context():  # a page may switch metadata routing on
        for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")):
            if kind == "text":
                assert same(printed, code), f"printed:\n{printed}\nthe page has:\n{code}"
            else:
                capsys.readouterr()
                run_block(kind, code, namespace, page)
                printed = capsys.readouterr().out


def test_the_page_of_the_command_line_has_every_command_and_real_notes():
    page = (DOCS / "command_line.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^```\{command\} (.+)", page, re.M)) == set(commands.commands)
    code = "".join(file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py"))
    notes = re.findall(r"^\| `([^`]+)`", page.partition("| the note says")[2], re.M)
    assert len(notes) > 5
    assert [words for words in notes if words not in code] == []


def test_the_page_of_the_installation_has_every_extra():
    page = (DOCS / "installation.md").read_text(encoding="utf-8")
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    table = "".join(re.findall(r"^\| (`.*?) \|", page, re.M))
    assert set(re.findall(r"`([\w-]+)`", table)) == set(extras)


def test_there_are_pages_and_they_hold_code():
    blocks = [BLOCK.findall(page.read_text(encoding="utf-8")) for page in PAGES]
    assert len(PAGES) >= 10
    assert sum(map(len, blocks)) >= 10


def test_text_that_differs_is_noticed():
    assert same("AUC  0.91\n", "AUC 0.91\n")
    assert same("AUC 0.91 in 3 s\n", "AUC 0.91 in ... s\n")
    assert not same("AUC 0.91\n", "MAP 0.91\n")
    assert not same("AUC 0.91\n", "AUC 0.97\n")
    assert same("AUC 0.91\n", "AUC 0.92\n") == (KERNEL not in kernels())
