"""The roles of columns: the target, which gives the relevance of rows, queries and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.cli._tables.columns import NUMBER, Column, Schema, check_columns
from sklearn_rank.cli._tables.errors import InputError, count, listing
from sklearn_rank.cli._tables.notation import PANDAS_MISSING, date_forms, numbers, written
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import Table

_CLEARLY_ON_TOP = frozenset(
    {"yes", "y", "true", "t", "1", "positive", "pos", "success", "relevant"}
    | {"bad", "fraud", "default", "malignant", "sick", "spam", "churn"}
    | {"ja", "oui", "si", "sí", "sì", "sim", "tak", "ano", "evet", "да", "はい", "是"}
)
"""Names of classes, in lower case, that nobody expects at the bottom of a list."""

_MANY_CLASSES, _COMMON = 20, 2 / 3


def check_names(table: Table, options: TableOptions) -> TableOptions:
    """Return the options with the columns that they name; all must be there, and differ."""
    has = set(table.frame.columns)
    target, query = options.target, options.qid
    if table.is_letor:
        target, query = target or "target", query or ("qid" if "qid" in has else None)
    if target is None:
        columns = listing(table.frame.columns)
        raise InputError(f"--target COL is needed; the columns of {table.path} are {columns}")
    many: dict[str, Any] = {
        name: _names(getattr(options, name), has) for name in ("drop", "keep", "category")
    }
    single: dict[str, Any] = {"target": target, "qid": query, "weight": options.weight}
    others = {"time": options.time, "group": options.group}  # which may have another role too
    named = {role: [name] for role, name in (single | others).items() if name} | many
    for role, names in named.items():
        check_columns(table, names, f"--{role}")
    roles = named.keys() - others.keys() - {"keep"}
    taken = [name for role in roles for name in set(named[role])]
    if len(set(taken)) < len(taken) or set(many["keep"]) & (set(taken) - set(many["category"])):
        several = "--target, --qid, --weight, --drop and --category must name different columns"
        raise InputError(f"{several}, and --keep none of the first four")
    if options.embargo and not options.time:
        raise InputError("--embargo needs --time, the column it is measured in")
    table.check_names(has - set(many["drop"]))
    return replace(options, **single, **many)


def _names(words: Sequence[str], columns: set[str]) -> list[str]:
    """Return the column names of words like "a,b"; a column may have a comma in its name."""
    names = [[word] if word in columns else word.split(",") for word in words]
    return [name if name in columns else name.strip() for part in names for name in part]


def features_of(table: Table, options: TableOptions, notes: list[str]) -> list[str]:
    """Return the columns without a role."""
    target = options.target or ""
    roles = {target, options.qid, options.weight, *options.drop}
    roles |= {"comment"} if table.is_letor else set()
    roles |= {options.time, options.group} - set(options.keep)
    features = [name for name in table.frame.columns if name not in roles]
    if options.qid is None and not table.is_letor and "qid" in features:
        notes.append("column 'qid' is used as a feature; --qid qid would make it the query")
    for name in features:
        if name.strip().casefold() == target.strip().casefold():
            notes.append(f"column {name!r} looks like the target {target!r}; --drop it if it is")
    return features


def role_column(table: Table, name: str) -> Column:
    """Return a column that is not a feature, in which ? and - are values."""
    return Column(table, name, [], PANDAS_MISSING)


def labelled_rows(table: Table, target: str, notes: list[str], *, skip: bool) -> Table:
    """Return the rows that have a target; without `skip` an InputError if others have none."""
    is_missing = role_column(table, target).texts.codes < 0
    if not is_missing.any():
        return table
    rows = count(int(is_missing.sum()), "row")
    if not skip or is_missing.all():
        raise table.error(target, f"is missing in {rows}; --skip-unlabelled leaves them out")
    notes.append(f"{table.path}: {rows} without a value of {target!r} left out")
    return table.rows(~is_missing)


def query_codes(table: Table, name: str | None) -> Indices | None:
    """Return codes of the queries in the order of appearance; None for one list."""
    if name is None:
        return None
    check_columns(table, [name], "the query")
    codes: Indices = role_column(table, name).texts.codes
    if (codes < 0).any():
        raise table.error(name, f"is missing in {count(int((codes < 0).sum()), 'row')}")
    return codes


def relevance(table: Table, schema: Schema, notes: list[str]) -> Any:
    """Return the grades of the rows, or 1 for the class on top, which none need have, else 0."""
    if schema.positive is None:
        column, when = Column(table, schema.target, notes), " for --relevance graded,"
        grades = column.values(NUMBER, schema.decimal, when)
        if np.isnan(grades).any():
            column.refuse(f"must hold numbers{when}", int(np.argmax(np.isnan(grades))))
        return grades
    texts = role_column(table, schema.target).texts
    classes = [*_classes_of(texts.values, schema.positive), None]  # the last for missing ones
    return np.array([name == schema.positive for name in classes], dtype=np.int64)[texts.codes]


def checked_relevance(table: Table, schema: Schema, qid: Indices | None, notes: list[str]) -> Any:
    """Return the relevance of the rows, of which two in one list must differ.

    One must be of the class on top; a note names classes that training lacked.
    """
    target, positive = schema.target, schema.positive
    if positive is not None:
        classes = dict.fromkeys(_classes_of(role_column(table, target).texts.values, positive))
        if positive not in classes:
            top = f"the class {positive!r} that the model puts on top"
            what = f"no row of column {target!r} is of {top}"
            raise InputError(f"{table.path}: {what}; the classes are {listing(classes, 10)}")
        new = [name for name in classes if schema.classes and name not in schema.classes]
        if new:
            what = f"the model never saw {listing(map(repr, new), 5)}"
            notes.append(f"column {target!r}: {what}; all but {positive!r} count as not on top")
    y = relevance(table, schema, notes)
    lists = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    if pd.Series(y).groupby(lists).nunique().max() < 2:
        where = "" if qid is None else f" within any query of {schema.qid!r}"
        raise table.error(target, f"has no two different values{where}: nothing to rank")
    return y


def row_weights(table: Table, schema: Schema) -> Floats | None:
    """Return the weights of the rows; None if all are one."""
    if schema.weight is None:
        return None
    check_columns(table, [schema.weight], "--weight")
    column = Column(table, schema.weight, [])
    values: Floats = column.values(NUMBER, schema.decimal, " to be --weight,")
    if not (values >= 0).all():
        column.refuse("must hold weights from 0 on,", int(np.argmin(values >= 0)))
    return values


def _classes_of(texts: list[str], positive: str | None = None) -> list[str]:
    """Return classes in the form of training, in which True may be 1: 1.0 is 1, TRUE is True."""
    names = {"true": "True", "false": "False"}
    if positive in {"0", "1"}:
        names = {"true": "1", "false": "0"}
    elif positive in names.values():
        names |= {"1": "True", "0": "False"}
    values = zip(texts, numbers(texts, "."), strict=True)
    plain = [text if np.isnan(value) else written(value) for text, value in values]
    return [names.get(name.casefold(), name) for name in plain]


def choose_classes(
    table: Table, target: str, positive: str | None, notes: list[str]
) -> tuple[list[str], str]:
    """Return the classes in ascending order, and the one to rank first."""
    column = role_column(table, target)
    classes = list(dict.fromkeys(_classes_of(column.texts.values)))
    is_text = bool(np.isnan(numbers(classes, ".")).any())
    classes.sort(key=str.casefold if is_text else float)
    if len(classes) == 1:
        raise table.error(target, f"has one class only ({classes[0]}); two are needed to rank")
    if positive is not None:
        given = _classes_of([positive.strip()])[0]
        alike = [name for name in classes if name.casefold() == given.casefold()]
        if given not in classes and len(alike) != 1:
            what = f"has no class of --positive {positive}; the classes are {listing(classes, 10)}"
            raise table.error(target, what)
        return classes, given if given in classes else alike[0]
    if len(classes) > 2:
        what = "classes" if is_text or len(classes) <= _MANY_CLASSES else "different numbers"
        what = "dates" if any(map(column.fits, date_forms(column.texts.values))) else what
        hint = "--relevance graded ranks by numbers, --positive VALUE one class against the rest"
        what = f"has {len(classes)} {what} ({listing(classes, 5)}), binary relevance needs two"
        raise table.error(target, f"{what}; {hint}")
    clear = [name for name in classes if name.casefold() in _CLEARLY_ON_TOP]
    top = clear[0] if is_text and len(clear) == 1 else classes[1]
    if is_text and (top != classes[1] or not clear):
        why = "by its name" if clear else "the later in the alphabet"
        share = float(np.mean(relevance(table, Schema({}, target, None, "binary", top), [])))
        other = classes[classes[0] == top]
        rarer = f"--positive {quote(other)} puts the rarer class there, {1 - share:.0%} of the rows"
        hint = "--positive chooses" if clear or share < _COMMON else rarer
        notes.append(f"class {top!r} is on top ({why}); {hint}")
    return classes, top
