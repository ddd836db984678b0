"""The README's examples run as printed and print what is printed; its links lead to files."""

import re
from pathlib import Path

import pytest
import sklearn

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", TEXT, re.M | re.S)
LINKS = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)


@pytest.mark.slow
def test_examples_print_what_is_printed(capsys):
    assert len(EXAMPLES) == TEXT.count("```python") == 3
    names = {}
    with sklearn.config_context():  # one of the examples turns metadata routing on
        for source, printed in EXAMPLES:
            exec(compile(source, str(README), "exec"), names)
            assert capsys.readouterr().out == printed


def test_links_lead_to_files():
    assert len(LINKS) > 5
    assert [link for link in LINKS if not (README.parent / link).exists()] == []


def test_the_size_of_a_front_page():
    assert 80 <= TEXT.count("\n") <= 120
    assert len(TEXT.encode()) <= 7_000
