"""The target column: relevance of the rows, and features that give it away."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Indices, Values
from sklearn_rank._validation import CLEARLY_ON_TOP
from sklearn_rank.cli._errors import InputError, import_extra, listing
from sklearn_rank.cli._numbers import numbers, written
from sklearn_rank.cli._tables import Table
from sklearn_rank.metrics import auc_score

_MANY_CLASSES, _LEAK, _MIN_CLASS, _MAX_ROWS = 20, 0.995, 20, 20_000


def classes_of(texts: list[str], positive: str | None = None) -> list[str]:
    """Return classes in the form of training, in which True may be 1: 1.0 is 1, TRUE is True."""
    names = {"true": "True", "false": "False"}
    if positive in {"0", "1"}:
        names = {"true": "1", "false": "0"}
    elif positive in names.values():
        names |= {"1": "True", "0": "False"}
    values = zip(texts, numbers(texts, "."), strict=True)
    plain = [text if np.isnan(value) else written(value) for text, value in values]
    return [names.get(name.casefold(), name) for name in plain]


def distinct_classes(table: Table, target: str) -> list[str]:
    """Return the classes in ascending order."""
    classes = list(dict.fromkeys(classes_of(table.texts(target, pandas_only=True).values)))
    is_text = bool(np.isnan(numbers(classes, ".")).any())
    return sorted(classes, key=str.casefold if is_text else float)


def choose_positive(table: Table, target: str, positive: str | None, notes: list[str]) -> str:
    """Return the class to rank first."""
    classes, start = distinct_classes(table, target), f"{table.path}: column {target!r} has"
    is_text = bool(np.isnan(numbers(classes, ".")).any())
    if len(classes) == 1:
        raise InputError(
            f"{start} one class only ({classes[0]}); two are needed to rank one above the other"
        )
    if positive is not None:
        given = classes_of([positive.strip()])[0]
        alike = [name for name in classes if name.casefold() == given.casefold()]
        if given not in classes and len(alike) != 1:
            raise InputError(
                f"{table.path}: --positive {positive} is no class of column {target!r}; the "
                f"classes are {listing(classes, 10)}"
            )
        return given if given in classes else alike[0]
    if len(classes) > 2:
        forms = table.texts(target, pandas_only=True).date_forms()
        what = "classes" if is_text or len(classes) <= _MANY_CLASSES else "different numbers"
        raise InputError(
            f"{start} {len(classes)} {'dates' if 1 in forms.values() else what} "
            f"({listing(classes, 5)}), binary relevance needs two; choose --relevance graded for "
            "numbers of which more is better, or --positive VALUE for one class against the rest"
        )
    if is_text and classes[1].casefold() not in CLEARLY_ON_TOP:
        notes.append(
            f"class {classes[1]!r} is on top (the later in the alphabet); --positive chooses"
        )
    return classes[1]


def binary_target(
    table: Table, target: str, positive: str, known: list[str] | None, notes: list[str]
) -> Indices:
    """Return 1 for the rows of the positive class and 0 for all others."""
    texts = table.texts(target, pandas_only=True)
    classes = classes_of(texts.values, positive)
    new = [name for name in dict.fromkeys(classes) if known and name not in known]
    if positive not in classes:
        raise InputError(
            f"{table.path}: no row of column {target!r} is of the class {positive!r} that the "
            f"model puts on top; the classes are {listing(dict.fromkeys(classes), 10)}"
        )
    if new:
        notes.append(
            f"column {target!r}: the model never saw {listing(map(repr, new), 5)}; all but "
            f"{positive!r} count as not on top"
        )
    return np.array([name == positive for name in classes], dtype=np.int64)[texts.codes]


def check_comparable(
    y: Values, qid: Values | None, names: tuple[str, str | None], path: str
) -> None:
    """Raise InputError if no query has rows of different relevance; `names` are the columns."""
    codes = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    if import_extra("pandas").Series(y).groupby(codes).nunique().max() < 2:
        where = "" if qid is None else f" within any query of {names[1]!r}"
        raise InputError(
            f"{path}: {names[0]!r} has no two different values{where}: nothing to rank"
        )


def note_leaks(X: Any, y: Values, qid: Values | None, notes: list[str]) -> None:
    """Note features that alone order nearly all pairs of rows: they may tell the target."""
    pandas = import_extra("pandas")
    rows = np.random.default_rng(0).permutation(len(y))[:_MAX_ROWS]
    top, half = pandas.Series(y > y.min())[rows], np.arange(len(rows)) % 2 == 0
    for name in X:
        column = value = X[name].iloc[rows]
        if column.dtype == "category":  # the rate of a category is that of the other half
            parts = [
                top[part].groupby(column[part].astype(object)).mean() for part in (~half, half)
            ]
            value = (
                column.astype(object).map(parts[0]).where(half, column.astype(object).map(parts[1]))
            )
        elif column.dtype.kind == "M":
            value = column.astype(np.int64).where(column.notna())
        views = {"": value.astype(float), ", by its missing values,": column.isna().astype(float)}
        for how, score in views.items():
            known = score.notna().to_numpy()
            if np.bincount(top[known], minlength=2).min() < _MIN_CLASS:
                continue
            auc = auc_score(top[known], score[known], qid=None if qid is None else qid[rows][known])
            if max(auc, 1 - auc) > _LEAK:
                notes.append(
                    f"column {name!r} alone{how} orders the rows with an AUC of "
                    f"{max(auc, 1 - auc):.4f}: likely a leak of the target; --drop {name} unless "
                    "it is known when rows are to be ranked"
                )
                break
