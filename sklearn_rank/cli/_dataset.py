"""The data set of a table: the one way from a file to features, target, queries and weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli import _roles
from sklearn_rank.cli._columns import NUMBER, Column, Schema, check_columns, choose_kinds
from sklearn_rank.cli._errors import InputError, count
from sklearn_rank.cli._feature_frame import check_known, feature_frame, note_leaks
from sklearn_rank.cli._numbers import written
from sklearn_rank.cli._settings import Reading, TableOptions
from sklearn_rank.cli._tables import Table, read_table
from sklearn_rank.datasets import make_credit, make_queries

_MAX_KNOWN_CLASSES = 100  # that a model stores to detect new ones
_STORY = "three kinds of bad payers, of whom only those who never pay can be found at the top"


@dataclass(frozen=True)
class Dataset:
    """Features, target, query codes and weights of a table."""

    X: Any  # float64, datetime64 without zone, "category" of texts; NaN or NaT is missing
    y: Any  # relevance of the rows; None for rows to rank
    qid: Indices | None  # query codes in the order of appearance; None for one list
    schema: Schema
    name: str  # of the data, for titles
    weight: Floats | None = None  # None for ones
    table: Any = None  # as read, with numbers as floats

    def summary(self) -> str:
        """Return one line on the size of the data and the meaning of the target."""
        parts = [f"{self.name}: {count(len(self.X), 'row')}", count(self.X.shape[1], "column")]
        if self.qid is not None:
            parts.append(count(self.qid.max() + 1, "query"))
        if self.y is None:
            pass
        elif self.schema.relevance == "binary":
            rows = count(int(self.y.sum()), "row")
            parts.append(f"{rows} of class {self.schema.positive!r} on top")
        else:
            parts.append(f"relevance from {written(self.y.min())} to {written(self.y.max())}")
        return ", ".join(parts)


def training_data(options: TableOptions, notes: list[str]) -> Dataset:
    """Read the table of the options; `notes` says which columns are not used."""
    if options.data is None:
        table, options = _example(options)
    else:
        table = read_table(options.data, options.reading, notes)
    roles = _roles.check_names(table, options)
    skip = options.reading.skip_unlabelled
    table = _roles.labelled_rows(table, roles.target or "", notes, skip=skip)
    schema = choose_schema(table, roles, _roles.features_of(table, roles, notes), notes)
    data = _dataset(table, schema, notes, labelled=True, weighted=True)
    note_leaks(data.X, data.y, data.qid, notes)
    return replace(data, schema=with_categories(schema, data.X))


def choose_schema(
    table: Table, roles: TableOptions, features: list[str], notes: list[str]
) -> Schema:
    """Return how the columns of a training table are read."""
    kinds, formats, decimal = choose_kinds(table, features, roles, notes)
    target = roles.target or ""
    positive, classes = None, None
    if roles.relevance == "binary":
        classes, positive = _roles.choose_classes(table, target, roles.positive, notes)
        classes = classes if len(classes) <= _MAX_KNOWN_CLASSES else None
    elif roles.positive is not None:
        raise InputError("--positive belongs to --relevance binary; graded uses the numbers")
    how = table.is_letor, classes, roles.weight, decimal
    return Schema(kinds, target, roles.qid, roles.relevance, positive, *how, formats=formats)


def with_categories(schema: Schema, X: Any) -> Schema:
    """Return a schema with the categories of the features."""
    known = {name: list(X[name].cat.categories) for name in X.select_dtypes("category")}
    return replace(schema, categories=known)


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
    table, mark = read_table(path, reading, notes), reading.decimal
    if mark is not None:
        names = [name for name in schema.columns_of(NUMBER) if name in table.frame]
        read = {name: mark for name in names if Column(table, name, notes).fits(mark)}
        schema = replace(schema, decimal=mark, formats={**schema.formats, **read})
    if labelled:
        check_columns(table, [schema.target], "the target")
        table = _roles.labelled_rows(table, schema.target, notes, skip=reading.skip_unlabelled)
    when = ", as it did in training,"
    data = _dataset(table, schema, notes, when, labelled=labelled, weighted=weighted)
    check_known(data.X, schema, table.path, notes)
    return data


def _dataset(
    table: Table,
    schema: Schema,
    notes: list[str],
    when: str = ",",
    *,
    labelled: bool,
    weighted: bool,
) -> Dataset:
    qid = _roles.queries(table, schema.qid)
    y = _roles.checked_relevance(table, schema, qid, notes) if labelled else None
    weight = _roles.weights(table, schema) if weighted else None
    X = feature_frame(table, schema, notes, when)
    numbers = {name: X[name] for name in schema.columns_of(NUMBER)}
    table = replace(table, frame=table.frame.assign(**numbers))
    return Dataset(X, y, qid, schema, table.path, weight, table)


def _example(options: TableOptions) -> tuple[Table, TableOptions]:
    """Return generated data and the options that name its columns."""
    for option in ("target", "qid", "weight", "drop", "keep", "category"):
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
