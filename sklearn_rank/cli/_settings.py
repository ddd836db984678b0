"""The typed settings of the commands, and how the words of an option become a setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sklearn_rank.cli._errors import InputError
from sklearn_rank.cli._output import Output


@dataclass(frozen=True)
class Reading:
    """How the text of a file is read."""

    decimal: str | None = None
    sep: str | None = None
    encoding: str | None = None
    skip_unlabelled: bool = False


@dataclass(frozen=True)
class TableOptions:
    """A table to learn from, and the roles of its columns."""

    data: str | None = None
    target: str | None = None
    qid: str | None = None
    weight: str | None = None
    positive: str | None = None
    relevance: str = "binary"
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    category: Sequence[str] = ()
    reading: Reading = Reading()
    seed: int = 0


@dataclass(frozen=True)
class Shown:
    """The metrics to show, and the files to write them to."""

    metrics: Sequence[str] = ()
    json: Output | None = None
    plot: Output | None = None


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Settings of `compare`."""

    table: TableOptions = TableOptions()
    rankers: Sequence[str]
    param: Mapping[str, Any]
    search: Mapping[str, list[Any]]
    cv: int
    n_jobs: int | None
    shown: Shown = Shown()


@dataclass(frozen=True, kw_only=True)
class Train:
    """Settings of `train`."""

    table: TableOptions = TableOptions()
    ranker: str
    param: Mapping[str, Any]
    search: Mapping[str, list[Any]]
    metric: str | None
    validation: str | None
    calibrate: float | None
    cluster: str | None
    output: Output


@dataclass(frozen=True, kw_only=True)
class Rank:
    """Settings of `rank`; `output` is None for the terminal."""

    model: str
    data: str
    reading: Reading = Reading()
    top: int | None
    explain: bool
    fdr: float | None
    calibration: str | None
    output: Output | None


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """Settings of `evaluate`."""

    model: str
    data: str
    reading: Reading = Reading()
    shown: Shown = Shown()


@dataclass(frozen=True, kw_only=True)
class MakeCard:
    """Settings of `card`."""

    table: TableOptions = TableOptions()
    max_terms: int
    points: tuple[int, int]
    monotone: Mapping[str, list[float]]
    special: Mapping[str, list[float]]
    param: Mapping[str, Any]
    output: Output


@dataclass(frozen=True, kw_only=True)
class ExportCard:
    """Settings of `card export`; `output` is None for the terminal."""

    card: str
    to: str
    output: Output | None


def split(values: Iterable[str]) -> list[str]:
    """Return the values of an option that is repeated or has several, separated by commas."""
    return [part for value in values for part in value.split(",") if part]


def parse_param(texts: Iterable[str]) -> dict[str, Any]:
    """Parse texts of the form ``name=value``."""
    return {name: _value(text) for name, text in _by_name(texts, "--param").items()}


def parse_search(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Parse texts of the form ``name=value,value``."""
    given = _by_name(texts, "--search").items()
    return {name: [_value(one) for one in split([values])] for name, values in given}


def _by_name(texts: Iterable[str], option: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{option} {text}: must read NAME=VALUE, such as p=8")
        if name == "relevance":
            raise InputError(f"{option} {text}: use --relevance {value}")
        if name in found:
            raise InputError(f"{option} {text}: {name!r} is given twice")
        found[name] = value
    return found


def _value(text: str) -> Any:
    """Parse a value: none, true, false, a number, or else text."""
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def parse_n_jobs(value: int | None) -> int | None:
    """Return the number of jobs; 0 is none."""
    if value == 0:
        raise InputError("--n-jobs 0: must be a number of jobs, or -1 for all cores")
    return value


def parse_points(text: str) -> tuple[int, int]:
    """Parse ``low:high``."""
    try:
        low, high = map(int, text.split(":"))
    except ValueError:
        raise InputError(f"--points {text}: must read LOW:HIGH, as -5:5") from None
    return low, high


def parse_by_column(option: str) -> Callable[[Iterable[str]], dict[str, list[float]]]:
    """Return the parser of texts of the form ``column=number``."""

    def parse(texts: Iterable[str]) -> dict[str, list[float]]:
        found: dict[str, list[float]] = {}
        for text in split(texts):
            name, _, value = text.rpartition("=")
            try:
                found.setdefault(name, []).append(float(value))
            except ValueError:
                raise InputError(f"{option} {text}: must read COL=NUMBER") from None
        return found

    return parse
