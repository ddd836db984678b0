"""The target column: relevance of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.cli._errors import InputError, listing
from sklearn_rank.cli._numbers import numbers, written
from sklearn_rank.cli._tables import Table
from sklearn_rank.metrics import auc_score

_OBVIOUS = frozenset(
    {"yes", "y", "true", "t", "1", "positive", "pos", "success"}
    | {"bad", "fraud", "default", "malignant", "sick", "spam", "churn"}
)
"""Classes that are ranked first without a note."""
_MANY_CLASSES, _LEAK, _MIN_CLASS, _MAX_ROWS = 20, 0.995, 20, 20_000


def classes_of(texts: list[str], positive: str | None = None) -> list[str]:
    """Return classes in the form of training, in which True may be 1: 1.0 is 1, TRUE is True."""
    values = numbers(texts, ".")
    plain = [text if np.isnan(v) else written(v) for text, v in zip(texts, values, strict=True)]
    names = {"true": "True", "false": "False"}
    if positive in {"0", "1"}:
        names = {"true": "1", "false": "0"}
    elif positive in {"True", "False"}:
        names |= {"1": "True", "0": "False"}
    return [names.get(name.casefold(), name) for name in plain]


def distinct_classes(table: Table, target: str) -> list[str]:
    """Return the classes in ascending order."""
    classes = list(dict.fromkeys(classes_of(table.texts(target, pandas_only=True).values)))
    values = numbers(classes, ".")
    is_text = bool(np.isnan(values).any())
    return sorted(classes, key=str.casefold if is_text else float)


def choose_positive(table: Table, target: str, positive: str | None, notes: list[str]) -> str:
    """Return the class to rank first."""
    classes, start = distinct_classes(table, target), f"{table.path}: column {target!r} has"
    if len(classes) == 1:
        raise InputError(
            f"{start} one class only ({classes[0]}); two are needed to rank one above the other"
        )
    if positive is not None:
        given = classes_of([positive.strip()])[0]
        alike = [name for name in classes if name.casefold() == given.casefold()]
        if given not in classes and len(alike) != 1:
            raise InputError(
                f"{table.path}: --positive {positive} is no class of column {target!r}; "
                f"the classes are {listing(classes, 10)}"
            )
        return given if given in classes else alike[0]
    is_text = bool(np.isnan(numbers(classes, ".")).any())
    if len(classes) > 2:
        what = "classes" if is_text or len(classes) <= _MANY_CLASSES else "different numbers"
        if max(table.texts(target, pandas_only=True).date_forms().values(), default=0) == 1:
            what = "dates"
        raise InputError(
            f"{start} {len(classes)} {what} ({listing(classes, 5)}), binary relevance needs two; "
            "choose --relevance graded for numbers of which more is better, or --positive VALUE "
            "for one class against the rest"
        )
    if is_text and classes[1].casefold() not in _OBVIOUS:
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
    y = np.array([name == positive for name in classes], dtype=np.int64)[texts.codes]
    if not y.any():
        raise InputError(
            f"{table.path}: no row of column {target!r} is of the class {positive!r} that the "
            f"model puts on top; the classes are {listing(dict.fromkeys(classes), 10)}"
        )
    new = [name for name in dict.fromkeys(classes) if known is not None and name not in known]
    if new:
        notes.append(
            f"column {target!r}: the model never saw {listing(map(repr, new), 5)}; "
            f"all but {positive!r} count as not on top"
        )
    return y


def check_comparable(
    y: Values, qid: Values | None, target: str, query: str | None, path: str
) -> None:
    """Raise InputError if no query has rows of different relevance."""
    codes = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    lowest = np.full(codes.max() + 1, np.inf)
    np.minimum.at(lowest, codes, y)
    if (y > lowest[codes]).any():
        return
    where = "" if qid is None else f" within any query of {query!r}"
    raise InputError(f"{path}: {target!r} has no two different values{where}: nothing to rank")


def note_leaks(X: Any, y: Values, qid: Values | None, notes: list[str]) -> None:
    """Note features that alone order nearly all pairs of rows: they may tell the target."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:_MAX_ROWS]
    X, y, qid = X.iloc[rows], (y > y.min())[rows], None if qid is None else qid[rows]
    for name in X:
        for what, value, is_known in _views(X[name], y):
            counts = np.bincount(y[is_known], minlength=2)
            if counts.min() < _MIN_CLASS:
                continue
            codes = None if qid is None else qid[is_known]
            auc = auc_score(y[is_known], value[is_known], qid=codes)
            if max(auc, 1 - auc) > _LEAK:
                notes.append(
                    f"column {name!r} alone{what} orders the rows with an AUC of "
                    f"{max(auc, 1 - auc):.4f}: likely a leak of the target; --drop {name} unless "
                    "it is known when rows are to be ranked"
                )
                break


def _views(column: Any, y: Any) -> list[tuple[str, Floats, Any]]:
    """Return what a column tells: its value, or the target's rate of its category, and gaps."""
    is_known = column.notna().to_numpy()
    views = [(", by its missing values,", (~is_known).astype(float), np.ones(len(y), dtype=bool))]
    if column.dtype != "category":
        value = column.astype(np.int64 if column.dtype.kind == "M" else np.float64).to_numpy(float)
        return [("", value, is_known), *views]
    # The rate of a category is that of the other half of the rows.
    codes, half = column.cat.codes.to_numpy(), np.arange(len(y)) % 2
    rates = np.full(len(y), y.mean())
    for part in (0, 1):
        n = np.bincount(codes[is_known & (half != part)], minlength=codes.max() + 1)
        hits = np.bincount(codes[is_known & (half != part) & y], minlength=codes.max() + 1)
        own = is_known & (half == part)
        rate = np.where(n > 0, hits / np.maximum(n, 1), y.mean())
        rates[own] = rate[codes[own]]
    return [("", rates, is_known), *views]
