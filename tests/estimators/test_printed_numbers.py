"""Numbers that papers print: each has its place, and those of small examples are ours."""

import re

import numpy as np
import pytest
from oracles import metrics as oracles
from printed import PAPERS, ROOT, number, numbers, step, texts

PLACE = re.compile(r"\b(sec|Table|Theorem|Lemma|Corollary|Prop|Proposition|eq|Appendix)\b")


def test_every_entry_says_where_it_is_printed():
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    for paper, entries in PAPERS.items():
        assert f"{{{paper}," in bibliography
        for name, entry in entries.items():
            assert set(entry) <= {"place", "value", "columns", "rows"}, name
            assert PLACE.search(entry["place"]), name
            assert ("value" in entry) != ("rows" in entry), name
            rows = entry.get("rows", {}).values()
            assert all(len(cells) == len(entry["columns"]) for cells in rows)
            assert all(np.isfinite(number(text)) for text in texts(entry)), name


# --- Table 1: from halved scores, to every digit -------------------------------------------

SWAPS = {"original": [], "swap_on_bottom": [0, 1], "swap_on_top": [5, 6]}


def risk(scores, labels, p, loss):
    return oracles.push_loss(labels, scores, p, loss=loss, normalize=False)


def agrees(value, text):
    """Whether a value rounds to what is printed."""
    return abs(value - number(text)) <= step(text) / 2 * (1 + 1e-9)


@pytest.mark.parametrize("swap", SWAPS)
def test_table_1(swap):
    labels = np.array(numbers("Rudin2009", "labels_8"))
    pair = SWAPS[swap]
    labels[pair] = labels[pair[::-1]]
    table = PAPERS["Rudin2009"]["table_1"]
    for loss, text in zip(table["columns"], table["rows"][swap], strict=True):
        value = risk(np.arange(1, 9) / 2, labels, 4, loss)
        assert agrees(value, text)


@pytest.mark.parametrize("table", ["table_1", "table_2"])
def test_the_scores_as_given_do_not_give_the_table(table):
    """Hence the factor of a half."""
    cells = {
        "table_1": (np.arange(1, 9), "labels_8", 4, ("original", "exponential")),
        "table_2": (np.arange(14, 0, -1) / 14, "labels_14", 1, ("1", "exponential f1")),
    }
    scores, labels, p, (row, column) = cells[table]
    found = risk(scores, numbers("Rudin2009", labels), p, "exponential")
    assert abs(found / numbers("Rudin2009", table)[row][column] - 1) > 0.01
