"""What the papers print: `benchmarks/printed_numbers.toml`, read."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAPERS = tomllib.loads((ROOT / "benchmarks" / "printed_numbers.toml").read_text(encoding="utf-8"))


def number(text):
    """Return the value of a number as it is printed."""
    return float(text.replace(",", ""))


def step(text):
    """Return the value of one unit in the last digit that is printed."""
    digits, _, power = text.replace(",", "").partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def numbers(paper, name):
    """Return the values of an entry, a list; those of a table by row and column."""
    entry = PAPERS[paper][name]
    if "rows" not in entry:
        return [number(text) for text in texts(entry)]
    return {
        row: dict(zip(entry["columns"], map(number, cells), strict=True))
        for row, cells in entry["rows"].items()
    }


def texts(entry):
    """Return all that an entry says is printed, as a list."""
    if "rows" in entry:
        return [text for cells in entry["rows"].values() for text in cells]
    return [entry["value"]] if isinstance(entry["value"], str) else entry["value"]
