"""Features, target and queries from a table and the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sklearn.datasets import load_breast_cancer

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.cli._columns import (
    BOOLEAN,
    CATEGORY,
    NUMBER,
    Schema,
    check_columns,
    choose_features,
    feature_frame,
    note_absent_features,
    note_unseen,
    query_codes,
    row_weights,
)
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import numbers_from_text
from sklearn_rank.cli._tables import Table, read_table
from sklearn_rank.cli._target import (
    as_written,
    binary_target,
    check_comparable,
    choose_positive,
    distinct_classes,
    graded_target,
    note_new_classes,
)
from sklearn_rank.datasets import make_queries

_MAX_KNOWN_CLASSES = 100
"""Maximum number of classes that a model stores to detect new ones."""


@dataclass(frozen=True)
class TableOptions:
    """The options of the commands that read a table."""

    data: str | None = None
    target: str | None = None
    qid: str | None = None
    weight: str | None = None
    positive: str | None = None
    relevance: str = "binary"
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    category: Sequence[str] = ()
    decimal: str | None = None
    sep: str | None = None
    encoding: str | None = None
    skip_unlabelled: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Dataset:
    """Features, target, query codes and weights (None: ones) of a table.

    Attributes
    ----------
    X : DataFrame
        Numbers are float64, dates datetime64, categories and booleans of dtype "category"; NaN
        or NaT is missing.
    y : ndarray or None
        Relevance of the rows; None for rows to rank.
    qid : ndarray or None
        Query codes in the order of appearance; None for one list.
    schema : Schema
        How the columns are read.
    name : str
        The data in a word, for titles.
    weight : ndarray or None
        Weights of the rows; None for ones.
    table : Table
        The table as read.
    """

    X: Any
    y: Any
    qid: Indices | None
    schema: Schema
    name: str
    weight: Floats | None = None
    table: Any = None

    def summary(self) -> str:
        """Return one line on the size of the data and the meaning of the target."""
        parts = [f"{self.name}: {count(len(self.y), 'row')}", count(self.X.shape[1], "column")]
        if self.qid is not None:
            parts.append(count(self.qid.max() + 1, "query"))
        if self.schema.relevance == "binary":
            rows = count(int(self.y.sum()), "row")
            parts.append(f"{rows} of class {self.schema.positive!r} on top")
        else:
            parts.append(f"relevance from {as_written(self.y.min())} to {as_written(self.y.max())}")
        return ", ".join(parts)


def training_data(options: TableOptions, notes: list[str]) -> Dataset:
    """Read the table of the options; `notes` says which columns are not used."""
    if options.data is None:
        return _sample_data(options, notes)
    # Categories are read as text, as when the model is applied: 007 is not 7.
    table = read_table(options.data, lambda name: name not in options.category)
    return _from_table(table, options, notes)


def validation_data(path: str, data: Dataset, options: TableOptions, notes: list[str]) -> Dataset:
    """Read labelled rows, besides `data`, that are read in the same way, with their weights."""
    other = model_data(path, data.schema, options, notes, labelled=True)
    return replace(other, weight=row_weights(other.table, data.schema.weight))


def model_data(
    path: str, schema: Schema, options: TableOptions, notes: list[str], *, labelled: bool
) -> Dataset:
    """Read a table in the way of a stored model."""
    typed = {*schema.columns_of(NUMBER, BOOLEAN), schema.target}
    table = read_table(path, typed.__contains__, keep_text=True)
    note_absent_features(table, schema, notes)
    table = numbers_from_text(table, schema.columns_of(NUMBER), notes, required=True)
    if labelled:
        data = _labelled_data(table, schema, notes)
    else:
        qid = query_codes(table, schema.qid)
        data = Dataset(feature_frame(table, schema), None, qid, schema, table.path, table=table)
    note_unseen(data.X, schema, notes)
    return data


def _labelled_data(table: Table, schema: Schema, notes: list[str]) -> Dataset:
    """Return the rows of a table that has the target column of `schema`."""
    check_columns(table, [schema.target], "the target")
    column = table.frame[schema.target]
    y: Values
    if schema.positive is None:
        y = graded_target(column, table.path)
    else:
        y = binary_target(column, schema.positive, table.path)
        if not y.any():
            raise InputError(
                f"{table.path}: no row of column {schema.target!r} is of the class "
                f"{schema.positive!r} that the model puts on top; the classes are "
                f"{listing(dict.fromkeys(map(as_written, column.unique())), 10)}"
            )
        note_new_classes(column, schema.positive, schema.classes, notes)
    qid = query_codes(table, schema.qid)
    check_comparable(y, qid, schema.target, schema.qid, table.path)
    return Dataset(feature_frame(table, schema), y, qid, schema, table.path, table=table)


def _from_table(table: Table, options: TableOptions, notes: list[str]) -> Dataset:
    target, query = _named_columns(table, options)
    single = [name for name in (target, query, options.weight) if name]
    reserved = {*single, *options.drop}
    if table.is_letor:
        reserved.add("comment")
    elif query is None and "qid" in table.frame.columns and "qid" not in reserved:
        notes.append("column 'qid' is used as a feature; --qid qid would make it the query")
    features = [name for name in table.frame.columns if name not in reserved]
    notes += [
        f"column {name!r} looks like the target {target!r}; --drop it if it is"
        for name in features
        if name.strip().casefold() == target.strip().casefold()
    ]
    undeclared = [name for name in features if name not in options.category]
    table = numbers_from_text(table, undeclared, notes, required=False)
    positive = _positive(table, target, options, notes)
    schema = Schema(
        kinds=choose_features(table, reserved, notes, options.category),
        target=target,
        qid=query,
        relevance=options.relevance,
        positive=positive,
        is_letor=table.is_letor,
        classes=None if positive is None else _few_classes(table.frame[target]),
        weight=options.weight,
    )
    data = _labelled_data(table, schema, notes)
    known = {
        name: list(data.X[name].cat.categories) for name in schema.columns_of(BOOLEAN, CATEGORY)
    }
    schema = replace(schema, categories=known)
    return replace(data, schema=schema, weight=row_weights(table, options.weight))


def _named_columns(table: Table, options: TableOptions) -> tuple[str, str | None]:
    """Check the column names of the options; return those of the target and the query."""
    target = options.target
    if target is None and table.is_letor:
        target = "target"
    if target is None:
        raise InputError(
            f"--target COL is needed; the columns of {table.path} are "
            f"{listing(table.frame.columns)}"
        )
    check_columns(table, [target], "--target")
    query = options.qid
    if query is None and table.is_letor and "qid" in table.frame.columns:
        query = "qid"
    check_columns(table, [query] if query else [], "--qid")
    check_columns(table, options.drop, "--drop")
    check_columns(table, options.category, "--category")
    check_columns(table, [options.weight] if options.weight else [], "--weight")
    single = [name for name in (target, query, options.weight) if name]
    named = [*single, *set(options.drop), *set(options.category)]
    if len(set(named)) < len(named):
        raise InputError(
            "--target, --qid, --weight, --drop and --category must name different columns"
        )
    return target, query


def _positive(table: Table, target: str, options: TableOptions, notes: list[str]) -> str | None:
    if options.relevance == "binary":
        return choose_positive(table.frame[target], options.positive, table.path, notes)
    if options.positive is not None:
        raise InputError("--positive belongs to --relevance binary; graded uses the numbers")
    return None


def _few_classes(column: Any) -> list[str] | None:
    classes = distinct_classes(column)
    return classes if len(classes) <= _MAX_KNOWN_CLASSES else None


def _sample_data(options: TableOptions, notes: list[str]) -> Dataset:
    """Return a built-in data set."""
    for option in ("target", "qid", "weight", "drop", "category"):
        if getattr(options, option):
            raise InputError(f"--{option} needs DATA, the file that has the columns, before it")
    pandas = import_extra("pandas")
    if options.relevance == "binary":
        cancer = load_breast_cancer(as_frame=True)
        frame = cancer.data.assign(diagnosis=cancer.target_names[cancer.target])
        name, target, query = "breast cancer (scikit-learn)", "diagnosis", None
    else:
        queries = make_queries(n_queries=60, rows_per_query=40, random_state=options.seed)
        names = [f"f{j}" for j in range(1, queries.data.shape[1] + 1)]
        frame = pandas.DataFrame(queries.data, columns=names)
        frame = frame.assign(relevance=queries.target, query=queries.qid)
        name, target, query = "generated queries", "relevance", "query"
    given = replace(options, target=target, qid=query)
    return _from_table(Table(frame, name), given, notes)
