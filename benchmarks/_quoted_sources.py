"""The values that a registered quote is compared with: of reports, of tests, or computed."""

import ast
import functools
import json
import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

from _claims import lower, upper

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "docs" / "benchmarks"
PLACE = ("report", "table", "row", "column", "key", "n")
INHERITED = (*PLACE, "times", "how", "less", "per")
NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d[\d,]*)?(?:\.\d+|(?<=\d))(?:e-?\d+)?")
HOW: dict[str, Callable[[Sequence[float]], float]] = {
    "smallest": min,
    "largest": max,
    "mean": mean,
    "median": median,
    "sum": sum,
    "count": len,
    "ratio": lambda both: both[0] / both[1],
    "difference": lambda both: both[0] - both[1],
    "largest size": lambda some: max(map(abs, some)),
    "positive": lambda some: sum(one > 0 for one in some),
    "low": lower,
    "high": upper,
}
"""What makes one number of several; low and high are the ends of the 95 % interval of a mean."""


class SourceError(Exception):
    """The report, the table, the row, the column or the test does not exist."""


def values_of(entry: dict[str, Any], figures: Sequence[str]) -> list[tuple[float, dict[str, Any]]]:
    """Return the values of a quote's figures in their order, each with what says how to round."""
    if "test" in entry:
        known = _numbers_of_test(entry["test"])
        written = entry.get("written", figures)
        missing = [one for one in written if one not in known]
        if missing:
            raise SourceError(f"{entry['test']} does not hold {', '.join(missing)}")
        return [(float(one.replace(",", "")) * entry.get("times", 1), {}) for one in written]
    defaults = {key: entry[key] for key in INHERITED if key in entry}
    return [
        (value, source) for one in entry["of"] for value, source in _values(defaults | dict(one))
    ]


def _values(source: dict[str, Any]) -> list[tuple[float, dict[str, Any]]]:
    """Return the values of one source: numbers, less or per others one by one, then summed up."""
    if "computed" in source:
        return [(_computed(source["computed"]), source)]
    found = _numbers(source)
    for other, apply in (("less", operator.sub), ("per", operator.truediv)):
        if other in source:
            beside = _numbers({key: source[key] for key in PLACE if key in source} | source[other])
            if len(beside) == 1:
                beside *= len(found)
            found = [apply(one, two) for one, two in zip(found, beside, strict=True)]
    found = [value * source.get("times", 1) + source.get("plus", 0) for value in found]
    if not found:
        raise SourceError(f"nothing is found for {source}")
    if "how" in source:
        found = [HOW[source["how"]](found)]
    return [(value, source) for value in found]


def _computed(text: str) -> float:
    """Return the value of a sum or product of numbers."""
    if not re.fullmatch(r"[-+*/(). \de]+", text):
        raise SourceError(f"{text} is no sum or product of numbers")
    return float(eval(text))


def _numbers(source: dict[str, Any]) -> list[float]:
    """Return the numbers that a source names, in their order."""
    report = _report(source["report"])
    if "target" in source:
        found = [
            v["measured"] for v in report["verdicts"] if v["label"].startswith(source["target"])
        ]
        return [float(one) for one in found]
    if "key" in source:
        return _by_key(report, source["key"])
    anywhere = source["table"] == "*"
    cells = [
        cell
        for table in _tables(report, source["table"])
        if not anywhere or _has(table, source)
        for row in _rows(table, source.get("row", "*"))
        for cell in _cells(table, row, source["column"])
    ]
    return [value for cell in cells for value in _of_cell(cell, source.get("n", 0))]


@functools.cache
def _report(name: str) -> dict[str, Any]:
    path = REPORTS / f"{name}.json"
    if not path.exists():
        raise SourceError(f"there is no report {name}")
    return json.loads(path.read_text(encoding="utf-8"))


def _by_key(report: Any, key: Sequence[Any]) -> list[float]:
    """Return what stands below keys, of which "*" is all; lists are flattened."""
    found = [report]
    for one in key:
        if one == "*":
            found = [
                value
                for some in found
                for value in (some.values() if isinstance(some, dict) else some)
            ]
        else:
            found = [some[one] for some in found]
    return [float(one) for one in found]


def _has(table: dict[str, Any], source: dict[str, Any]) -> bool:
    """Return whether a table has the row and the columns that are asked for."""
    try:
        return all(
            _cells(table, row, source["column"]) for row in _rows(table, source.get("row", "*"))
        )
    except SourceError:
        return False


def _tables(report: dict[str, Any], title: str | Sequence[str]) -> list[dict[str, Any]]:
    titles = [title] if isinstance(title, str) else list(title)
    found = [
        table
        for one in titles
        for table in report["tables"]
        if one == "*" or table["title"].startswith(one)
    ]
    if len(found) < len(titles) or ("*" not in titles and len(found) > len(titles)):
        raise SourceError(f"{len(found)} tables of {report.get('name')} begin with {titles}")
    return found


def _rows(table: dict[str, Any], row: str | Sequence[Any]) -> list[list[Any]]:
    """Return the rows whose first cells are named; "*" is any, and a list of lists several."""
    if row == "*":
        return table["rows"]
    wanted = [row] if isinstance(row, str) or not isinstance(row[0], list) else row
    found = []
    for one in wanted:
        names = [one] if isinstance(one, str) else list(one)
        rows = [
            cells
            for cells in table["rows"]
            if all(
                name == "*" or str(cell) == str(name)
                for name, cell in zip(names, cells, strict=False)
            )
        ]
        if not rows:
            raise SourceError(f"{table['title']}: no row {names}")
        found += rows
    return found


def _cells(table: dict[str, Any], row: list[Any], column: str | Sequence[str]) -> list[Any]:
    names = [column] if isinstance(column, str) else list(column)
    missing = [name for name in names if name not in table["columns"]]
    if missing:
        raise SourceError(f"{table['title']}: no column {missing} of {table['columns']}")
    return [row[table["columns"].index(name)] for name in names]


def _of_cell(cell: Any, which: Any) -> list[float]:
    """Return a number of a cell by its place among them, those of several places, or all."""
    if isinstance(cell, int | float):
        return [float(cell)]
    found = [
        float(one.replace("−", "-").replace(",", "")) for one in NUMBER.findall(str(cell or ""))
    ]
    if which == "all":
        return found
    if isinstance(which, list):
        return [found[place] for place in which]
    return found[int(which) : int(which) + 1]


@functools.cache
def _numbers_of_test(name: str) -> frozenset[str]:
    """Return the numbers in the code of a test, "tests/test_x.py::test_y", as they are written."""
    path, _, function = name.partition("::")
    code = (ROOT / path).read_text(encoding="utf-8")
    for node in ast.parse(code).body:
        if getattr(node, "name", "") == function:
            return frozenset(NUMBER.findall(ast.get_source_segment(code, node) or ""))
    raise SourceError(f"there is no test {name}")
