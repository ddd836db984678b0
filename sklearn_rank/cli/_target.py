"""The target column: relevance of the rows, and features that give it away."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Indices, Values
from sklearn_rank._validation import CLEARLY_ON_TOP
from sklearn_rank.cli._columns import Column
from sklearn_rank.cli._errors import InputError, import_extra, listing
from sklearn_rank.cli._numbers import PANDAS_MISSING, date_forms, numbers, written
from sklearn_rank.cli._tables import Table
from sklearn_rank.metrics import auc_score

_MANY_CLASSES, _LEAK, _MIN_CLASS, _MAX_ROWS = 20, 0.995, 20, 20_000


def role_column(table: Table, name: str) -> Column:
    """Return a column that is not a feature, in which ? and - are values."""
    return Column(table, name, [], PANDAS_MISSING)


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
        return classes, _given_class(table, target, positive, classes)
    if len(classes) > 2:
        what = "classes" if is_text or len(classes) <= _MANY_CLASSES else "different numbers"
        what = "dates" if any(map(column.fits, date_forms(column.texts.values))) else what
        hint = "--relevance graded ranks by numbers, --positive VALUE one class against the rest"
        what = f"has {len(classes)} {what} ({listing(classes, 5)}), binary relevance needs two"
        raise table.error(target, f"{what}; {hint}")
    clear = [name for name in classes if name.casefold() in CLEARLY_ON_TOP]
    top = clear[0] if is_text and len(clear) == 1 else classes[1]
    if is_text and top != classes[1]:
        notes.append(f"class {top!r} is on top (by its name); --positive chooses")
    elif is_text and not clear:
        notes.append(f"class {top!r} is on top (the later in the alphabet); --positive chooses")
    return classes, top


def _given_class(table: Table, target: str, positive: str, classes: list[str]) -> str:
    given = _classes_of([positive.strip()])[0]
    alike = [name for name in classes if name.casefold() == given.casefold()]
    if given not in classes and len(alike) != 1:
        what = f"has no class of --positive {positive}; the classes are {listing(classes, 10)}"
        raise table.error(target, what)
    return given if given in classes else alike[0]


def binary_target(
    table: Table, target: str, positive: str, known: list[str] | None, notes: list[str]
) -> Indices:
    """Return 1 for the rows of the positive class and 0 for all others."""
    texts = role_column(table, target).texts
    classes = _classes_of(texts.values, positive)
    new = [name for name in dict.fromkeys(classes) if known and name not in known]
    if positive not in classes:
        what = f"is of the class {positive!r} that the model puts on top"
        found = listing(dict.fromkeys(classes), 10)
        raise InputError(
            f"{table.path}: no row of column {target!r} {what}; the classes are {found}"
        )
    if new:
        what = f"the model never saw {listing(map(repr, new), 5)}"
        notes.append(f"column {target!r}: {what}; all but {positive!r} count as not on top")
    return rows_of_class(table, target, positive)


def rows_of_class(table: Table, target: str, positive: str) -> Indices:
    """Return 1 for the rows of a class, of which there may be none, and 0 for all others."""
    texts = role_column(table, target).texts
    classes = [*_classes_of(texts.values, positive), None]  # the last for missing ones
    return np.array([name == positive for name in classes], dtype=np.int64)[texts.codes]


def note_leaks(X: Any, y: Values, qid: Values | None, notes: list[str]) -> None:
    """Note features that alone order nearly all pairs of rows: they may tell the target."""
    rows = np.random.default_rng(0).permutation(len(y))[:_MAX_ROWS]
    top = import_extra("pandas").Series(y > y.min())[rows]
    for name in X:
        column = X[name].iloc[rows]
        views = {"": _as_score(column, top), ", by its missing values,": column.isna()}
        for how, score in views.items():
            known = score.notna().to_numpy()
            if np.bincount(top[known], minlength=2).min() < _MIN_CLASS:
                continue
            queries = None if qid is None else qid[rows][known]
            auc = auc_score(top[known], score[known].astype(float), qid=queries)
            if max(auc, 1 - auc) > _LEAK:
                what = f"orders the rows with an AUC of {max(auc, 1 - auc):.4f}"
                hint = f"--drop {name} unless it is known when rows are to be ranked"
                notes.append(
                    f"column {name!r} alone{how} {what}: likely a leak of the target; {hint}"
                )
                break


def _as_score(column: Any, top: Any) -> Any:
    """Return a feature as a score; a category scores its rate of `top` in the other half."""
    if column.dtype.kind == "M":
        return column.astype(np.int64).where(column.notna())
    if column.dtype != "category":
        return column
    texts, half = column.astype(object), np.arange(len(column)) % 2 == 0
    rates = [texts.map(top[part].groupby(texts[part]).mean()) for part in (~half, half)]
    return rates[0].where(half, rates[1])
