"""The README's Python examples run as they stand, and its links lead to files."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.M | re.S)
LINKS = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)


def test_there_are_two_examples():
    assert len(BLOCKS) == 2


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS, ids=["p", "queries"])
def test_example_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    # Each example ends with the area under the curve of a model that has learned something.
    assert 0.7 < float(re.findall(r"\d\.\d+", capsys.readouterr().out)[-1]) <= 1


def test_links_lead_to_files():
    assert len(LINKS) > 5
    assert [link for link in LINKS if not (README.parent / link).exists()] == []
