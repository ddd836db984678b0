"""The options of commands on tables: each is a field, with its line in the help."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli._tables.inputs import InputError

RANKERS = ", ".join(sklearn_rank.__all__)
_METRICS = (
    "Any of auc, tpr@a, pauc@a, ndcg@k, precision@k, recall@k, map, map@k, mrr, err, r_precision, "
    "push@p; a is a share of the negatives (such as 0.05), k a number of rows, p a power."
)
_POSITIVE = "Class to rank first; default: guessed from the class names, else the larger value."
_GROUP = "Column of groups, such as customers, to keep in one fold; also a feature with --keep."
_RANKERS = f"Rankers to compare, any of {RANKERS}; default: depends on the data."
_FORMATS = click.Choice(["csv", "excel", "json", "letor", "parquet"])


# The values of options ---------------------------------------------------------------------------


def split(values: Iterable[str]) -> list[str]:
    """Return the values of an option that may be repeated or given a comma-separated list."""
    return [part for value in values for part in value.split(",") if part]


def parse_value(text: str) -> Any:
    """Parse a value: none, true, false, a number, or else text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


def _by_name(texts: Iterable[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in values:
            what = f"{name!r} is given twice" if equals else "must be NAME=VALUE, such as p=8"
            raise InputError(f"--param {text}: {what}")
        values[name] = parse_value(value)
    return values


# Options and fields ------------------------------------------------------------------------------


def option(names: str, metavar: str, about: str, parse: Any = None, **how: Any) -> click.Option:
    """Return an option: without a metavar, a flag; with a metavar that ends in ..., repeatable."""
    if parse:
        how["callback"] = lambda context, option, value: parse(value)
    kind = {"multiple": metavar.endswith("..."), "is_flag": not metavar}
    return click.Option(names.split(), metavar=metavar or None, help=about, **kind, **how)


def _field(
    metavar: str, about: str, default: Any = None, kind: Any = None, parse: Any = None
) -> Any:
    """Return a field of a dataclass with the arguments of its option."""
    metadata = {"metavar": metavar, "about": about, "type": kind, "parse": parse}
    if parse:
        return field(default_factory=partial(parse, ()), metadata=metadata)
    return field(default=default, metadata=metadata | {"default": default})


def options_of(kind: type) -> list[click.Option]:
    """Return the options of a dataclass, in the order of its fields."""
    named = {f"--{item.name.replace('_', '-')}": item.metadata for item in fields(kind)}
    return [option(name, **metadata) for name, metadata in named.items() if metadata]


_KINDS, _FROM_0, _FROM_2 = click.Choice(["binary", "graded"]), click.IntRange(0), click.IntRange(2)
_DAYS, _MARKS = click.FloatRange(0), click.Choice(".,")


@dataclass(frozen=True)
class Roles:
    """A table, and in training the roles of its columns."""

    data: str | None = None
    target: str | None = _field("COL", "Target column.")
    qid: str | None = _field("COL", "Column of query ids; default: one list.")
    weight: str | None = _field("COL", "Column of row weights, used in fitting but not in metrics.")
    positive: str | None = _field("VALUE", _POSITIVE)
    relevance: str = _field("KIND", "binary (default) or graded: more is better.", "binary", _KINDS)
    drop: Sequence[str] = _field("COL,...", "Columns to ignore.", ())
    keep: Sequence[str] = _field("COL,...", "Columns to use even if they look like ids.", ())
    category: Sequence[str] = _field("COL,...", "Numeric columns to treat as categories.", ())
    time: str | None = _field("COL", "Time column: folds are periods; also a feature with --keep.")
    embargo: float = _field("N", "Do not train on the last N (days) before a period.", 0.0, _DAYS)
    group: str | None = _field("COL", _GROUP)
    seed: int = _field("N", "Random seed; default: 0.", 0, _FROM_0)


@dataclass(frozen=True)
class Reading:
    """How the text of a table is read."""

    decimal: str | None = _field("MARK", 'Decimal mark, "." or ","; else detected.', None, _MARKS)
    sep: str | None = _field("MARK", 'Cell separator: ";", tab, blank, ...; default: detected.')
    encoding: str | None = _field("NAME", "Text encoding, such as latin-1; default: UTF-8.")
    format: str | None = _field("NAME", f"One of {', '.join(_FORMATS.choices)}.", None, _FORMATS)
    no_header: bool = _field("", "The first line is data; columns are named c1, c2, ...", False)
    missing: Sequence[str] = _field("VALUE...", "Value that means missing, such as -999.", ())
    skip_unlabelled: bool = _field("", "Skip rows without a target.", False)
    zero_based: Any = "auto"  # where the indices of a LETOR file start, as in `load_letor`


@dataclass(frozen=True)
class TableOptions(Reading, Roles):
    """A table, how its text is read, and in training the roles of its columns."""


@dataclass(frozen=True)
class Folds:
    """What is compared, and how."""

    rankers: Sequence[str] = _field("NAME,...", _RANKERS, parse=split)
    param: Mapping[str, Any] = _field("NAME=VALUE...", "Set a ranker parameter.", parse=_by_name)
    cv: int = _field("K", "Number of folds; default: 5.", 5, _FROM_2)
    n_jobs: int = _field("N", "Number of folds to fit in parallel; default: 1.", 1, click.INT)
    metrics: Sequence[str] = _field("NAME,...", _METRICS, parse=split)
