"""Numbers quoted from papers: each is in one file, and stands where that file says, unaltered."""

import re
import shutil

import numpy as np
import pytest
from oracles import definitions as oracles
from printed import PAPERS, ROOT, number, numbers, step, texts

ENTRIES = {
    (paper, name): entry for paper, entries in PAPERS.items() for name, entry in entries.items()
}
QUOTES = [
    (paper, name, file, text)
    for (paper, name), entry in ENTRIES.items()
    for file, text in entry.get("quoted", [])
]
FIELDS = {"place", "value", "quoted", "columns", "rows"}
NUMBER = re.compile(r"(?<![\w.,])(?:\d[\d,]*)?(?:\.\d+|(?<=\d))(?:e\d+)?(?![\w.]?\d)")
PLACE = re.compile(r"\b(sec|Table|Theorem|Lemma|Corollary|Prop|Proposition|eq|Appendix)\b")
SCANNED = {
    "README.md": "",
    "CHANGELOG.md": "",
    "benchmarks": "*.py *.md",
    "docs": "*.md",
    "docs/guide": "*.md",
    "docs/examples": "*.py",
    "sklearn_rank": "**/*.py",
    "tests": "*.py",
}
MADE = {"docs/benchmarks.md"}
"""Made by a script from the file itself; `test_the_page_prints_the_tables` compares it."""


def numbers_in(text):
    """Return the numbers of a text as they stand, powers of ten after an e."""
    return NUMBER.findall(re.sub(r" \\cdot 10\^\{?(\d+)\}?", r"e\1", text))


def flat(text):
    """Return a text on one line, without the signs that begin a comment line."""
    return re.sub(r"\s+", " ", re.sub(r"^\s*#:? ", "", text, flags=re.M))


def altered(root, quotes):
    """Return the quotes that a tree of files has not, or in other digits than are printed."""
    found = []
    for paper, name, file, text in quotes:
        printed = map(plain, texts(ENTRIES[paper, name]))
        in_text = [plain(value) for value in numbers_in(text)]
        in_order = bool(in_text) and all(value in printed for value in in_text)
        if not in_order or flat(text) not in flat((root / file).read_text(encoding="utf-8")):
            found.append(f"{paper}, {name}: {file}: {text}")
    return found


def plain(value):
    """Return a number's digits without the signs that a writer may leave out."""
    return value.replace(",", "").lstrip("+-0") if "." in value else value.replace(",", "")


def files():
    """Yield the files in which a paper may be quoted, by name."""
    for folder, patterns in SCANNED.items():
        path = ROOT / folder
        found = [one for pattern in patterns.split() for one in path.glob(pattern)]
        for one in found or [path]:
            name = one.relative_to(ROOT).as_posix()
            if name not in MADE:
                yield name, one.read_text(encoding="utf-8")


def test_every_entry_says_where_it_is_printed():
    bibliography = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    for (paper, name), entry in ENTRIES.items():
        assert f"{{{paper}," in bibliography
        assert set(entry) <= FIELDS, name
        assert PLACE.search(entry["place"]), name
        assert ("value" in entry) != ("rows" in entry), name
        assert all(len(cells) == len(entry["columns"]) for cells in entry.get("rows", {}).values())
        assert all(np.isfinite(number(text)) for text in texts(entry)), name


def test_every_quote_has_the_printed_digits():
    assert len(QUOTES) >= 8
    assert altered(ROOT, QUOTES) == []


@pytest.mark.parametrize("quote", QUOTES, ids=lambda quote: " ".join(quote[1:3]))
def test_a_digit_that_is_altered_is_noticed(quote, tmp_path):
    """In the file that quotes it, and in the quote and the file alike."""
    _, _, file, text = quote
    digit = NUMBER.search(text).start()
    other = text[:digit] + str((int(text[digit]) + 1) % 10) + text[digit + 1 :]
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / file, tmp_path / file)
    assert altered(tmp_path, [quote]) == []
    here = flat((tmp_path / file).read_text(encoding="utf-8"))
    (tmp_path / file).write_text(here.replace(flat(text), flat(other)), encoding="utf-8")
    assert len(altered(tmp_path, [quote])) == 1
    assert len(altered(tmp_path, [(*quote[:3], other)])) == 1


def test_no_number_of_a_table_is_quoted_elsewhere():
    """Whoever quotes a cell says so in the file, or reads it from there."""
    cells = {
        plain(text)
        for entry in ENTRIES.values()
        for text in texts(entry)
        if "e" not in text and "." in text and len(plain(text).replace(".", "")) >= 4
    }
    assert len(cells) > 140
    allowed = {(file, plain(value)) for *_, file, text in QUOTES for value in numbers_in(text)}
    quoted = {(file, plain(value)) for file, text in files() for value in numbers_in(text)}
    assert {(file, value) for file, value in quoted if value in cells} <= allowed


# --- Table 1: from halved scores, to every digit -------------------------------------------

SWAPS = {"original": [], "swap_on_bottom": [0, 1], "swap_on_top": [5, 6]}


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
        value = oracles.rudin_risk(np.arange(1, 9) / 2, labels, 4, loss.replace("_", "-"))
        assert agrees(value, text)


@pytest.mark.parametrize("table", ["table_1", "table_2"])
def test_the_scores_as_given_do_not_give_the_table(table):
    """Hence the factor of a half."""
    cells = {
        "table_1": (np.arange(1, 9), "labels_8", 4, ("original", "exponential")),
        "table_2": (np.arange(14, 0, -1) / 14, "labels_14", 1, ("1", "exponential f1")),
    }
    scores, labels, p, (row, column) = cells[table]
    found = oracles.rudin_risk(scores, np.array(numbers("Rudin2009", labels)), p, "exponential")
    assert abs(found / numbers("Rudin2009", table)[row][column] - 1) > 0.01
