"""The README's Python examples run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_examples():
    assert len(BLOCKS) == 2


@pytest.mark.parametrize("block", BLOCKS, ids=["p", "queries"])
def test_example_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    assert re.search(r"\d\.\d", capsys.readouterr().out)
