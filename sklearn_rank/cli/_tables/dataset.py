"""The data set of a table: the one way from a file to features, target, queries and weights."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank.cli._tables.columns import AS_WRITTEN, DATE, NUMBER, Column, Schema, check_columns
from sklearn_rank.cli._tables.errors import InputError, count, listing, noting
from sklearn_rank.cli._tables.kinds import FEW_VALUES, choose_kinds
from sklearn_rank.cli._tables.notation import MISSING, written
from sklearn_rank.cli._tables.options import Reading, TableOptions
from sklearn_rank.cli._tables.reading import Table, read_table
from sklearn_rank.cli._tables.roles import (
    check_names,
    checked_relevance,
    choose_classes,
    features_of,
    labelled_rows,
    query_codes,
    row_weights,
)
from sklearn_rank.datasets import make_credit, make_queries
from sklearn_rank.inspection import column_notes, column_summaries, drift_notes

_MAX_KNOWN_CLASSES = 100  # that a model stores to detect new ones
_SOME_ROWS = 20  # from which on unseen categories are an error even where there are many
_STORY = "three kinds of bad payers, of whom only those who never pay can be found at the top"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, target, query codes and weights of a table."""

    X: Any  # float64, datetime64 without zone, "category" of texts; NaN or NaT is missing
    y: Any  # relevance of the rows; None for rows to rank
    qid: Indices | None  # query codes in the order of appearance; None for one list
    schema: Schema
    name: str  # of the data, for titles
    weight: Floats | None = None  # None for ones
    table: Any = None  # as read
    time: Any = None  # of the rows, which folds are to respect
    group: Indices | None = None  # of the rows, whole in folds
    embargo: float = 0.0
    seed: int = 0

    @property
    def has_own_folds(self) -> bool:
        """Whether rows held out must be later ones, or of other groups."""
        return self.time is not None or self.group is not None

    def summary(self) -> str:
        """Return one line on the size of the data and the meaning of the target."""
        parts = [f"{self.name}: {count(len(self.X), 'row')}", count(self.X.shape[1], "column")]
        if self.qid is not None:
            parts.append(count(self.qid.max() + 1, "query"))
        if self.schema.relevance == "binary":
            rows = count(int(self.y.sum()), "row")
            parts.append(f"{rows} of class {self.schema.positive!r} on top")
        else:
            parts.append(f"relevance from {written(self.y.min())} to {written(self.y.max())}")
        return ", ".join(parts)

    def take(self, rows: Indices) -> Dataset:
        """Return some of the rows."""
        parts = {key: getattr(self, key) for key in ("y", "qid", "weight", "time", "group")}
        parts = {key: None if one is None else one[rows] for key, one in parts.items()}
        return replace(self, X=self.X.iloc[rows], **parts)


def training_data(options: TableOptions, notes: list[str]) -> Dataset:
    """Read the table of the options; `notes` says which columns are not used."""
    if options.data is None:
        table, options = _example(options)
    else:
        table = read_table(options.data, options.reading, notes)
    roles = check_names(table, options)
    skip = options.reading.skip_unlabelled
    table = labelled_rows(table, roles.target or "", notes, skip=skip)
    if table.is_letor and roles.qid and roles.relevance == "binary" and roles.positive is None:
        grades = sorted(set(table.frame["target"]))
        if len(grades) > 2 and roles.target == "target":
            ends = f"{grades[0]:g} to {grades[-1]:g}"
            notes.append(f"relevance {ends} is graded, as with --relevance graded")
            roles = replace(roles, relevance="graded")
    schema = choose_schema(table, roles, features_of(table, roles, notes), notes)
    data = _dataset(table, schema, notes, ",", labelled=True, weighted=True)
    for note in column_notes(data.X, data.y, qid=data.qid):
        hint = f"--drop {quote(str(note.columns[0]))}"
        notes.append(str(note).replace("leave it out", hint))
    data = replace(data, time=_times(table, roles, schema, notes), embargo=roles.embargo)
    data = replace(data, group=query_codes(table, roles.group), seed=options.seed)
    known = {name: list(data.X[name].cat.categories) for name in data.X.select_dtypes("category")}
    schema = replace(schema, categories=known, summaries=column_summaries(data.X))
    return replace(data, schema=schema)


def _times(table: Table, roles: TableOptions, schema: Schema, notes: list[str]) -> Values | None:
    """Return numbers or dates of --time, read as a feature is, but not one unless it is kept."""
    name = roles.time
    if name is None:
        return None
    told = [] if name in roles.keep else notes
    kinds, formats, _ = choose_kinds(table, [name], replace(roles, keep=[name]), told)
    times = feature_frame(table, replace(schema, kinds=kinds, formats=formats), told)[name]
    if kinds[name] not in (NUMBER, DATE) or times.isna().any():
        raise table.error(name, "must hold a date or a number in every row for --time")
    return np.asarray(times)


def choose_schema(
    table: Table, roles: TableOptions, features: list[str], notes: list[str]
) -> Schema:
    """Return how the columns of a training table are read."""
    kinds, formats, decimal = choose_kinds(table, features, roles, notes)
    target, positive, classes = roles.target or "", None, None
    if roles.relevance == "binary":
        classes, positive = choose_classes(table, target, roles.positive, notes)
        classes = classes if len(classes) <= _MAX_KNOWN_CLASSES else None
    elif roles.positive is not None:
        raise InputError("--positive belongs to --relevance binary; graded uses the numbers")
    schema = Schema(kinds, target, roles.qid, roles.relevance, positive, table.is_letor, classes)
    how: dict[str, Any] = {"missing": list(roles.reading.missing), "zero_based": table.zero_based}
    return replace(schema, weight=roles.weight, decimal=decimal, formats=formats, **how)


def model_data(
    path: str,
    schema: Schema,
    reading: Reading,
    notes: list[str],
    *,
    labelled: bool,
    weighted: bool = False,
) -> Dataset:
    """Read a table as that of the training was read."""
    reading = replace(reading, missing=[*schema.missing, *reading.missing])
    table, mark = read_table(path, reading, notes, schema.zero_based), reading.decimal
    table.check_names([*schema.kinds, schema.target, schema.qid, schema.weight])
    if mark is not None:
        names = [name for name in schema.columns_of(NUMBER) if name in table.frame]
        read = {name: mark for name in names if Column(table, name, notes).fits(mark)}
        schema = replace(schema, decimal=mark, formats={**schema.formats, **read})
    if labelled:
        check_columns(table, [schema.target], "the target")
        table = labelled_rows(table, schema.target, notes, skip=reading.skip_unlabelled)
    when = ", as it did in training,"
    data = _dataset(table, schema, notes, when, labelled=labelled, weighted=weighted)
    check_known(data.X, schema, table.path, notes)
    if schema.qid is None:  # rows of a query are no independent draws
        filled = {k: one for k, one in schema.summaries.items() if data.X[k].notna().any()}
        with noting(notes, "the model is damaged", (Exception,)):  # its file may hold anything
            notes += map(str, drift_notes(filled, data.X))  # the others are noted as missing
    return data


def _dataset(
    table: Table, schema: Schema, notes: list[str], when: str, *, labelled: bool, weighted: bool
) -> Dataset:
    qid = query_codes(table, schema.qid)
    y = checked_relevance(table, schema, qid, notes) if labelled else None
    weight = row_weights(table, schema) if weighted else None
    X = feature_frame(table, schema, notes, when)
    return Dataset(X, y, qid, schema, table.path, weight, table)


def _example(options: TableOptions) -> tuple[Table, TableOptions]:
    """Return generated data and the options that name its columns."""
    for option in ("target", "qid", "weight", "drop", "keep", "category", "time", "group"):
        if getattr(options, option):
            raise InputError(f"--{option} needs DATA, the file that has the columns, before it")
    if options.relevance == "binary":
        credit = make_credit(5000, random_state=options.seed)
        frame = credit.data.assign(defaults=np.where(credit.target == 1, "yes", "no"))
        name = f"generated loan applications ({_STORY})"
        return Table(frame, name), replace(options, target="defaults")
    queries = make_queries(n_queries=60, rows_per_query=40, random_state=options.seed)
    names = [f"f{j}" for j in range(1, queries.data.shape[1] + 1)]
    frame = pd.DataFrame(queries.data, columns=names)
    frame = frame.assign(relevance=queries.target, query=queries.qid)
    return Table(frame, "generated queries"), replace(options, target="relevance", qid="query")


def feature_frame(table: Table, schema: Schema, notes: list[str], when: str = ",") -> Any:
    """Return the features as pipelines take them; errors say `when` a column held numbers."""
    lost = [name for name in schema.kinds if name not in table.frame.columns]
    absent = [name for name in lost if re.fullmatch(r"f\d+", name)]
    if absent and table.is_letor and schema.is_letor:
        notes.append(f"features that never occur and count as 0: {listing(absent, 10)}")
        table = replace(table, frame=table.frame.assign(**dict.fromkeys(absent, 0.0)))
        lost = [name for name in lost if name not in absent]
    if lost:
        what = f"lacks {len(lost)} of the columns that the model needs: {listing(lost, 10)}"
        raise InputError(f"{table.path}: {what}")
    X = {}
    for name, kind in schema.kinds.items():
        form = schema.formats.get(name, "")
        column = Column(table, name, notes, frozenset({""}) if form == AS_WRITTEN else MISSING)
        if kind == NUMBER:
            X[name] = column.values(kind, form or schema.decimal, when)
        else:
            X[name] = column.values(kind, form, when) if kind == DATE else column.categories(kind)
        if column.is_text and column.texts.unusual:
            texts = " and ".join(map(repr, column.texts.unusual))
            hint = f"; --category {quote(name)} keeps it" if when == "," else ""
            column.note(f": {texts} is read as missing{hint}")
    return pd.DataFrame(X)


def check_known(X: Any, schema: Schema, path: str, notes: list[str]) -> None:
    """Note values that did not occur in training; if no others occur, raise InputError."""
    for name in schema.kinds:
        column, known = X[name].dropna(), schema.categories.get(name, [])
        new = ~column.isin(known)
        if not len(column):
            notes.append(f"column {name!r} is missing in every row")
        elif known and new.all() and (len(known) <= FEW_VALUES or len(new) >= _SOME_ROWS):
            what = f"it holds {column.iloc[0]!r}, in training {listing(map(repr, known), 5)}"
            raise InputError(
                f"{path}: no row of column {name!r} has a value that occurred in training; {what}"
            )
        elif known and new.any():
            rows = count(int(new.sum()), "row")
            notes.append(f"column {name!r}: {rows} with values that training never saw")
