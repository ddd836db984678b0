"""The README's Python examples run as they stand."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.M | re.S)


def test_there_are_examples():
    assert len(BLOCKS) == 3


@pytest.mark.parametrize("block", BLOCKS, ids=["p", "queries", "pair losses"])
def test_example_runs(block, capsys):
    exec(compile(block, str(README), "exec"), {})
    # Each example ends with the area under the curve of a model that has learned something.
    assert 0.7 < float(re.findall(r"\d\.\d+", capsys.readouterr().out)[-1]) <= 1
