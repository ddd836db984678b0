"""The README's commands are the whole ones, and its Python examples run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
LINKS = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)


def test_there_are_examples():
    assert len(BLOCKS) == 2


def test_the_second_command_runs_all_tests():
    commands = re.findall(r"^pip install .*", TEXT, re.M)
    assert commands[1] == 'pip install -e ".[test]" && pytest'


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=["p", "queries"])
def test_example_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    # Each example ends with the area under the curve of a model that has learned something.
    assert 0.7 < float(re.findall(r"\d\.\d+", capsys.readouterr().out)[-1]) <= 1


def test_links_lead_to_files():
    assert len(LINKS) > 5
    assert [link for link in LINKS if not (README.parent / link).exists()] == []


def test_every_folder_and_every_page_is_named():
    folders = {path.parent.relative_to(ROOT) for path in ROOT.glob("sklearn_rank/*/__init__.py")}
    assert [folder for folder in sorted(folders) if f"`{folder.as_posix()}/`" not in TEXT] == []
    lists = {"docs/index.md", "docs/guide/index.md", "docs/bibliography.md", "docs/changelog.md"}
    pages = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("docs/*.md", "docs/guide/*.md")
        for path in ROOT.glob(pattern)
    }
    assert sorted(pages - lists - set(LINKS) - {"docs/README.md"}) == []
