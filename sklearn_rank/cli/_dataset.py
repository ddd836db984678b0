"""Features, target and queries from a table and the options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.cli._columns import (
    NUMBER,
    Column,
    Schema,
    check_columns,
    check_known,
    choose_features,
    feature_frame,
)
from sklearn_rank.cli._errors import InputError, count, import_extra, listing
from sklearn_rank.cli._numbers import written
from sklearn_rank.cli._tables import Table, read_table
from sklearn_rank.cli._target import binary_target, choose_classes, note_leaks, role_column
from sklearn_rank.datasets import make_credit, make_queries

_MAX_KNOWN_CLASSES = 100  # that a model stores to detect new ones
_STORY = "three kinds of bad payers, of whom only those who never pay can be found at the top"


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
        table = read_table(options.data, notes, options.sep, options.encoding)
    options = check_names(table, options)
    table = _labelled_rows(table, options.target or "target", options, notes)
    schema, X = read_features(table, options, features_of(table, options, notes), notes)
    data = _dataset(table, schema, X, notes, labelled=True)
    note_leaks(X, data.y, data.qid, notes)
    return replace(data, weight=weights_of(table, schema))


def read_features(
    table: Table, options: TableOptions, features: Sequence[str], notes: list[str]
) -> tuple[Schema, Any]:
    """Return the schema of a training table, and the features."""
    kinds, formats, decimal = choose_features(
        table, features, notes, options.keep, options.category, options.decimal
    )
    target = options.target or "target"
    positive, classes = None, None
    if options.relevance == "binary":
        classes, positive = choose_classes(table, target, options.positive, notes)
        classes = classes if len(classes) <= _MAX_KNOWN_CLASSES else None
    elif options.positive is not None:
        raise InputError("--positive belongs to --relevance binary; graded uses the numbers")
    schema = Schema(
        kinds, target, options.qid, options.relevance, positive, table.is_letor, classes
    )
    schema = replace(schema, weight=options.weight, decimal=decimal, formats=formats)
    X = feature_frame(table, schema, notes)
    known = {name: list(X[name].cat.categories) for name in X.select_dtypes("category")}
    return replace(schema, categories=known), X


def features_of(table: Table, options: TableOptions, notes: list[str]) -> list[str]:
    """Return the columns without a role."""
    target = options.target or ""
    roles = {target, options.qid, options.weight, *options.drop, *(["comment"] * table.is_letor)}
    features = [name for name in table.frame.columns if name not in roles]
    if options.qid is None and not table.is_letor and "qid" in features:
        notes.append("column 'qid' is used as a feature; --qid qid would make it the query")
    notes += [
        f"column {name!r} looks like the target {target!r}; --drop it if it is"
        for name in features
        if name.strip().casefold() == target.strip().casefold()
    ]
    return features


def validation_data(path: str, data: Dataset, options: TableOptions, notes: list[str]) -> Dataset:
    """Read labelled rows, with their weights, as those of `data` were read."""
    other = model_data(path, data.schema, options, notes, labelled=True)
    return replace(other, weight=weights_of(other.table, data.schema))


def model_data(
    path: str, schema: Schema, options: TableOptions, notes: list[str], *, labelled: bool
) -> Dataset:
    """Read a table as that of the training was read."""
    table, mark = read_table(path, notes, options.sep, options.encoding), options.decimal
    if mark is not None:
        names = [name for name in schema.columns_of(NUMBER) if name in table.frame]
        read = {name: mark for name in names if Column(table, name, notes).fits(mark)}
        schema = replace(schema, decimal=mark, formats={**schema.formats, **read})
    if labelled:
        check_columns(table, [schema.target], "the target")
        table = _labelled_rows(table, schema.target, options, notes)
    X = feature_frame(table, schema, notes, ", as it did in training,")
    check_known(X, schema, table.path, notes)
    return _dataset(table, schema, X, notes, labelled=labelled)


def _dataset(table: Table, schema: Schema, X: Any, notes: list[str], *, labelled: bool) -> Dataset:
    qid: Any = None
    if schema.qid is not None:
        check_columns(table, [schema.qid], "the query")
        qid = role_column(table, schema.qid).texts.codes
        if (qid < 0).any():
            raise table.error(schema.qid, f"is missing in {count(int((qid < 0).sum()), 'row')}")
    y: Any = None
    if labelled:
        if schema.positive is None:
            column = Column(table, schema.target, notes)
            y = column.values(NUMBER, schema.decimal, " for --relevance graded,")
        else:
            y = binary_target(table, schema.target, schema.positive, schema.classes, notes)
        lists = np.zeros(len(y), dtype=np.intp) if qid is None else qid
        if import_extra("pandas").Series(y).groupby(lists).nunique().max() < 2:
            where = "" if qid is None else f" within any query of {schema.qid!r}"
            raise table.error(schema.target, f"has no two different values{where}: nothing to rank")
    numbers = {name: X[name] for name in schema.columns_of(NUMBER)}
    table = replace(table, frame=table.frame.assign(**numbers))
    return Dataset(X, y, qid, schema, table.path, table=table)


def weights_of(table: Table, schema: Schema) -> Floats | None:
    """Return the weights of the rows; None if all are one."""
    if schema.weight is None:
        return None
    check_columns(table, [schema.weight], "--weight")
    column = Column(table, schema.weight, [])
    values: Floats = column.values(NUMBER, schema.decimal, " to be --weight,")
    if not (values >= 0).all():
        column.refuse("must hold weights from 0 on,", int(np.argmin(values >= 0)))
    return values


def _labelled_rows(table: Table, target: str, options: TableOptions, notes: list[str]) -> Table:
    is_missing = role_column(table, target).texts.codes < 0
    if not is_missing.any():
        return table
    rows = count(int(is_missing.sum()), "row")
    if not options.skip_unlabelled or is_missing.all():
        raise table.error(target, f"is missing in {rows}; --skip-unlabelled leaves them out")
    notes.append(f"{table.path}: {rows} without a value of {target!r} left out")
    return table.rows(~is_missing)


def check_names(table: Table, options: TableOptions) -> TableOptions:
    """Return the options with the columns that they name; all must be there, and differ."""
    has = set(table.frame.columns)
    target, query = options.target, options.qid
    if table.is_letor:
        target, query = target or "target", query or ("qid" if "qid" in has else None)
    if target is None:
        columns = listing(table.frame.columns)
        raise InputError(f"--target COL is needed; the columns of {table.path} are {columns}")
    many = {name: _split(getattr(options, name), has) for name in ("drop", "keep", "category")}
    single = {"target": target, "qid": query, "weight": options.weight}
    named = {role: [name] for role, name in single.items() if name} | many
    for role, names in named.items():
        check_columns(table, names, f"--{role}")
    taken = [name for role, names in named.items() if role != "keep" for name in set(names)]
    if len(set(taken)) < len(taken) or set(many["keep"]) & (set(taken) - set(many["category"])):
        several = "--target, --qid, --weight, --drop and --category must name different columns"
        raise InputError(f"{several}, and --keep none of the first four")
    drop, keep, category = many.values()
    return replace(options, target=target, qid=query, drop=drop, keep=keep, category=category)


def _split(words: Sequence[str], columns: set[str]) -> list[str]:
    """Return the column names of words like "a,b"; a column may have a comma in its name."""
    names = [[word] if word in columns else word.split(",") for word in words]
    return [name if name in columns else name.strip() for part in names for name in part]


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
    frame = import_extra("pandas").DataFrame(queries.data, columns=names)
    frame = frame.assign(relevance=queries.target, query=queries.qid)
    return Table(frame, "generated queries"), replace(options, target="relevance", qid="query")
