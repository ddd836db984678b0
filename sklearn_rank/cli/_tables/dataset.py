"""The data set of a table: the one way from a file to features, target, queries and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank.cli._tables import columns, notation
from sklearn_rank.cli._tables.columns import NUMBER, Column, Schema, check_columns
from sklearn_rank.cli._tables.dates import read_numbers
from sklearn_rank.cli._tables.inputs import InputError, count, listing, noting
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import LETOR, Table, read_table
from sklearn_rank.inspection import column_notes, column_summaries, drift_notes
from sklearn_rank.metrics.held_out import have_pair

_CLEARLY_ON_TOP = frozenset(
    {"yes", "y", "true", "t", "1", "positive", "pos", "success", "relevant"}
    | {"bad", "fraud", "default", "malignant", "sick", "spam", "churn"}
    | {"ja", "oui", "si", "sí", "sì", "sim", "tak", "ano", "evet", "да", "はい", "是"}
)
"""Names of classes, in lower case, that clearly belong at the top of a list."""

_MISSING_OUTSIDE_FEATURES = notation.PANDAS_MISSING  # of other columns ? and - are values
_FEW = 0.1  # share of numbers that are no dates, up to which those of --time are meant as dates
_STORY = "three kinds of defaulters; only those who never pay can be ranked at the top"


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features, target, query codes and weights of a table."""

    X: Any  # float64, datetime64 without zone, "category" of texts; NaN or NaT is missing
    y: Any  # relevance of the rows; None for rows to rank
    qid: Indices | None  # query codes in the order of appearance; None for one list
    schema: Schema
    table: Table  # as read
    weight: Floats | None = None  # None for ones
    time: Any = None  # of the rows, which folds are to respect
    group: Indices | None = None  # of the rows, whole in folds
    embargo: float = 0.0
    seed: int = 0

    @property
    def has_grades(self) -> bool:
        """Whether rows have queries or grades."""
        return self.qid is not None or self.schema.relevance == "graded"

    def summary(self) -> str:
        """Return one line on the size of the data and the meaning of the target."""
        parts = [count(self.X.shape[0], "row"), count(self.X.shape[1], "column")]
        if self.qid is not None:
            parts.append(count(self.qid.max() + 1, "query"))
        if self.schema.relevance == "binary":
            rows = count(int(self.y.sum()), "row")
            parts.append(f"{rows} in class {self.schema.positive!r}, which should rank first")
        else:
            low, high = map(notation.written, (self.y.min(), self.y.max()))
            parts.append(f"relevance from {low} to {high}")
        return f"{self.table.path}: {listing(parts)}"

    def take(self, rows: Indices) -> Dataset:
        """Return some of the rows."""
        columns = {role: getattr(self, role) for role in ("y", "qid", "weight", "time", "group")}
        taken = {role: cells[rows] for role, cells in columns.items() if cells is not None}
        return replace(self, X=self.X.iloc[rows], **taken)


def training_data(options: TableOptions, notes: list[str]) -> Dataset:
    """Read the table of the options; `notes` says which columns are not used."""
    table = read_table(options, notes) if options.data else _example(options, notes)
    target = options.target if options.data else "defaults"
    options = _checked_roles(table, replace(options, target=target))
    target = options.target or ""
    table = _labelled_rows(table, target, skip=options.skip_unlabelled)
    features = _features(table, options)
    kinds, formats, decimal = columns.choose_kinds(table, features, options)
    classes, positive = _choose_classes(table, target, options)
    roles = target, options.qid, options.relevance, positive, classes, options.weight
    schema = Schema(kinds, *roles, decimal, missing=options.missing, formats=formats)
    X, qid = feature_frame(table, schema), _codes(table, options.qid)
    if X.nunique(dropna=False).max() < 2:
        raise InputError(f"{table.path}: nothing to rank by: every column is constant")
    y = _relevance(table, schema, qid)
    for note in column_notes(X, y, qid=qid):
        notes.append(str(note).replace("leave it out", f"--drop {quote(str(note.columns[0]))}"))
    categories = {name: list(X[name].cat.categories) for name in X.select_dtypes("category")}
    learned: Any = {"categories": categories, "summaries": column_summaries(X)}
    schema = replace(schema, zero_based=table.zero_based, **learned)
    weight = _numbers(table, options.weight, decimal, " of 0 or more for --weight,", 0)
    of_rows = weight, _times(table, options, schema), _codes(table, options.group)
    return Dataset(X, y, qid, schema, table, *of_rows, options.embargo, options.seed)


def model_data(
    options: TableOptions, schema: Schema, notes: list[str], *, labelled: bool
) -> Dataset:
    """Read a table in the same way as the training table."""
    missing = [*schema.missing, *options.missing]
    table = read_table(replace(options, missing=missing, zero_based=schema.zero_based), notes)
    if options.decimal is not None:  # for all numbers
        mark, forms = options.decimal, schema.formats
        formats = {k: mark + form[1:] if form[0] in ".," else form for k, form in forms.items()}
        schema = replace(schema, decimal=mark, formats=formats)
    if labelled:
        table = _labelled_rows(table, schema.target, skip=options.skip_unlabelled)
    X = feature_frame(table, schema, ", as it did in training,")
    qid = _codes(table, schema.qid)
    y = _relevance(table, schema, qid) if labelled else None
    with noting(notes, "the model is damaged", (Exception,)):  # its file may hold anything
        _compare_with_training(X, table, schema)
    return Dataset(X, y, qid, schema, table)


def _example(options: TableOptions, notes: list[str]) -> Table:
    """Return generated data."""
    from sklearn_rank.datasets import make_credit

    for option in ("target", "qid", "weight", "drop", "keep", "category", "time", "group"):
        if getattr(options, option) or options.relevance == "graded":
            raise InputError(f"--{option} requires DATA, the file with the columns")
    credit = make_credit(5000, random_state=options.seed)
    frame = credit.data.assign(defaults=np.where(credit.target == 1, "yes", "no"))
    return Table(frame, f"generated loan applications ({_STORY})", notes=notes)


# The roles of columns ----------------------------------------------------------------------------


def _checked_roles(table: Table, options: TableOptions) -> TableOptions:
    """Return the options with the columns that they name; all must be there, and differ."""
    columns = set(table.frame.columns)
    if table.kind == LETOR:
        qid = options.qid or ("qid" if "qid" in columns else None)
        options = replace(options, target=options.target or "target", qid=qid)
    if options.target is None:
        names = listing(table.frame.columns)
        raise InputError(f"--target COL is required; the columns of {table.path} are {names}")
    single, several = ("target", "qid", "weight", "time", "group"), ("drop", "keep", "category")
    lists: Any = {role: _names(getattr(options, role), columns) for role in several}
    named = {role: [name] for role in single if (name := getattr(options, role))} | lists
    for role, names in named.items():
        check_columns(table, names, f"--{role}")
    exclusive = ("target", "qid", "weight", "drop", "category")
    taken = [name for role in exclusive for name in {*named.get(role, ())}]
    if len({*taken}) < len(taken) or ({*lists["keep"]} - {*lists["category"]}) & {*taken}:
        what = "--target, --qid, --weight, --drop and --category must name different columns"
        raise InputError(f"{what}, --keep none of the first four columns")
    if options.embargo and not options.time:
        raise InputError("--embargo requires --time")
    return replace(options, **lists)


def _names(words: Sequence[str], columns: set[str]) -> list[str]:
    """Return the column names of words like "a,b"; a column may have a comma in its name."""
    names = [[word] if word in columns else word.split(",") for word in words]
    return [name if name in columns else name.strip() for part in names for name in part]


def _features(table: Table, options: TableOptions) -> list[str]:
    """Return the columns without a role."""
    roles = {options.target, options.qid, options.weight, *options.drop}
    roles |= {"comment"} if table.kind == LETOR else set()
    roles |= {options.time, options.group} - set(options.keep)
    features = [name for name in table.frame.columns if name not in roles]
    if options.qid is None and table.kind != LETOR and "qid" in features:
        table.notes.append("column 'qid' is used as a feature; --qid qid makes it the query")
    return features


def _labelled_rows(table: Table, target: str, *, skip: bool) -> Table:
    """Return the rows with a target; without `skip`, raise InputError if some have none."""
    is_missing = Column(table, target, _MISSING_OUTSIDE_FEATURES).texts[1] < 0
    if not is_missing.any():
        return table
    rows = count(int(is_missing.sum()), "row")
    if not skip or is_missing.all():
        raise table.error(target, f"is missing in {rows}; --skip-unlabelled skips them")
    table.notes.append(f"{table.path}: skipped {rows} without a value of {target!r}")
    return replace(table, frame=table.frame[~is_missing].reset_index(drop=True))


def _codes(table: Table, name: str | None) -> Indices | None:
    """Return codes of queries or groups in the order of appearance; None without a column."""
    if name is None:
        return None
    codes: Indices = Column(table, name, _MISSING_OUTSIDE_FEATURES).texts[1]
    if (codes < 0).any():
        raise table.error(name, f"is missing in {count(int((codes < 0).sum()), 'row')}")
    return codes


def _numbers(
    table: Table, name: str | None, mark: str, when: str, least: float = -np.inf
) -> Floats | None:
    """Return the numbers of a column with a role, none of them missing; None if name is None."""
    if name is None:
        return None
    column = Column(table, name)
    forms = [*map(column.parsed.amount_form, (mark, *".,")), notation.SECONDS]
    form = next(filter(column.fits, forms), forms[0]) if column.is_text else ""
    values: Floats = column.values(NUMBER, form, when)
    if not (values >= least).all():
        column.refuse(f"must hold numbers{when}", int(np.argmin(values >= least)))
    return values


def _times(table: Table, roles: TableOptions, schema: Schema) -> Values | None:
    """Return the numbers or dates of --time, read in the same way as a feature."""
    name = roles.time
    if name is None:
        return None
    kinds, formats, _ = columns.choose_kinds(table, [name], replace(roles, keep=[name]))
    times = feature_frame(table, replace(schema, kinds=kinds, formats=formats))[name]
    if kinds[name] not in (NUMBER, columns.DATE) or times.isna().any():
        raise table.error(name, "must hold a date or a number in every row for --time")
    values: Values = np.asarray(times)
    dates = read_numbers(values) if kinds[name] == NUMBER else values
    is_other, column = np.isnat(dates), Column(table, name)
    if dates is values or is_other.mean() > _FEW:
        return values
    if is_other.any():
        column.refuse("looks like dates without separators in most rows,", int(is_other.argmax()))
    column.note(f": {values[0]:.0f} is read as {pd.Timestamp(dates[0]):%d %B %Y}")
    return dates


# The target --------------------------------------------------------------------------------------


def _relevance(table: Table, schema: Schema, qid: Indices | None) -> Any:
    """Return the grades of the rows, or 1 for the class on top and 0 for others.

    At least two rows of some list must differ; a note names classes that did not occur in training.
    """
    target, positive = schema.target, schema.positive
    if positive is None:
        y: Any = _numbers(table, target, schema.decimal, " for --relevance graded,")
    else:
        texts, codes, _ = Column(table, target, _MISSING_OUTSIDE_FEATURES).texts
        classes = columns.matched(texts, schema.classes or [positive])
        if positive not in classes:
            what = f"column {target!r} has no row of class {positive!r}, which should rank first"
            raise InputError(f"{table.path}: {what}; the classes are {listing({*classes}, 10)}")
        new = [name for name in {*classes} if schema.classes and name not in schema.classes]
        if new:
            what = f"{listing(map(repr, new), 5)} did not occur in training, and counts as negative"
            table.notes.append(f"column {target!r}: {what}")
        y = np.array([name == positive for name in classes], dtype=np.int64)[codes]
    if not have_pair(y, qid):
        where = "" if qid is None else f" within each query of {schema.qid!r}"
        raise table.error(target, f"has only one distinct value{where}: nothing to rank")
    return y


def _choose_classes(
    table: Table, target: str, options: TableOptions
) -> tuple[list[str] | None, str | None]:
    """Return the classes in ascending order, and the one to rank first; None if graded."""
    positive = options.positive
    if options.relevance == "graded":
        if positive is not None:
            raise InputError("--positive requires --relevance binary")
        return None, None
    texts = Column(table, target, _MISSING_OUTSIDE_FEATURES).texts[0]
    classes = list(dict.fromkeys(map(columns.plain_text, texts)))
    numbers = dict(zip(classes, notation.numbers(classes, "."), strict=True))
    is_text = any(map(np.isnan, numbers.values()))
    classes.sort(key=str.casefold if is_text else numbers.__getitem__)
    if len(classes) == 1:
        raise table.error(target, f"has only one class ({classes[0]}); ranking requires two")
    if positive is not None:
        top = columns.matched([positive], classes)[0]
        alike = [name for name in classes if name.casefold() == top.strip().casefold()]
        if top not in classes and len(alike) != 1:
            what = f"has no class {positive!r} (--positive); the classes are {listing(classes, 10)}"
            raise table.error(target, what)
        return classes, top if top in classes else alike[0]
    if len(classes) > 2:
        hint = "--relevance graded ranks by number, --positive VALUE ranks one class first"
        what = f"has {len(classes)} values ({listing(classes, 5)}); binary relevance requires two"
        raise table.error(target, f"{what}; {hint}")
    clear = [name for name in classes if name.casefold() in _CLEARLY_ON_TOP]
    top = clear[0] if is_text and len(clear) == 1 else classes[1]
    if is_text and (top != classes[1] or not clear):
        why = "judging by its name" if clear else "the last in alphabetical order"
        table.notes.append(f"class {top!r} is ranked first ({why}); --positive changes this")
    return classes, top


# The features ------------------------------------------------------------------------------------


def feature_frame(table: Table, schema: Schema, when: str = ",") -> Any:
    """Return the features as pipelines take them; errors say `when` a column held numbers."""
    lost = [name for name in schema.kinds if name not in table.frame.columns]
    if lost and table.kind == LETOR and schema.zero_based != "auto":  # as that of training
        table.notes.append(f"features that do not occur, and are read as 0: {listing(lost, 10)}")
        table = replace(table, frame=table.frame.assign(**dict.fromkeys(lost, 0.0)))
    check_columns(table, list(schema.kinds), "the model")
    X = {}
    for name, kind in schema.kinds.items():
        form = schema.formats.get(name, "")
        missing = frozenset({""}) if form == notation.AS_WRITTEN else notation.MISSING
        column = Column(table, name, missing)
        if kind in (NUMBER, columns.DATE):
            X[name] = column.values(kind, form or (schema.decimal if kind == NUMBER else ""), when)
        else:
            X[name] = column.categories(kind, schema.categories.get(name, ()))
        # NA or None may be a category, and is no number.
        usual = () if kind == columns.CATEGORY else notation.PANDAS_MISSING
        texts = [repr(t) for t in column.texts[2] if t not in usual] if column.is_text else []
        if texts:
            hint = f"; --category {quote(name)} keeps it" if when == "," else ""
            column.note(f": {' and '.join(texts)} is read as missing{hint}")
    return pd.DataFrame(X)


def _compare_with_training(X: Any, table: Table, schema: Schema) -> None:
    """Note what training did not have: missing cells, categories, another distribution.

    If no row has a category of training, raise InputError.
    """
    for name in schema.kinds:
        column, categories = X[name].dropna(), schema.categories.get(name, [])
        new, n_missing = column[~column.isin(categories)], len(X) - len(column)
        if categories and len(new) == len(column) >= 20:  # in fewer rows it may be chance
            what = f"holds no value that occurred in training, but {new.iloc[0]!r}; "
            raise table.error(name, f"{what}training had {listing(map(repr, categories), 5)}")
        if categories and len(new):
            what = f"{count(len(new), 'row')} with values that did not occur in training"
            values = listing(map(repr, new.unique()), 3)
            what += f" ({values}; it had {listing(map(repr, categories), 3)})"
            table.notes.append(f"column {name!r}: {what}")
        summary = schema.summaries.get(name, {"counts": [len(X)]})  # the last: missing cells
        was_complete = summary["counts"][-1] == 0
        if n_missing and (was_complete or not len(column)):
            where = ", but never in training" if was_complete else ", which are all"
            table.notes.append(f"column {name!r} is missing in {count(n_missing, 'row')}{where}")
    if schema.qid is None:  # rows of a query are no independent draws
        table.notes.extend(map(str, drift_notes(schema.summaries, X)))
