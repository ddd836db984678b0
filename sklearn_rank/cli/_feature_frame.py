"""The features: columns of numbers, dates and categories as pipelines take them."""

from __future__ import annotations

import re
from dataclasses import replace
from shlex import quote
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._protocols import Values
from sklearn_rank.cli._columns import AS_WRITTEN, DATE, NUMBER, Column, Schema
from sklearn_rank.cli._errors import InputError, count, listing
from sklearn_rank.cli._numbers import MISSING
from sklearn_rank.cli._tables import Table
from sklearn_rank.metrics import auc_score

_FEW_CATEGORIES, _SOME_ROWS = 40, 20  # unseen ones among many are an error from some rows on
_LEAK, _MIN_CLASS, _MAX_ROWS = 0.995, 20, 20_000


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
            column.note(f": {texts} is read as missing; --category {quote(name)} keeps it")
    return pd.DataFrame(X)


def check_known(X: Any, schema: Schema, path: str, notes: list[str]) -> None:
    """Note values that did not occur in training; if no others occur, raise InputError."""
    for name in schema.kinds:
        column, known = X[name].dropna(), schema.categories.get(name, [])
        new = ~column.isin(known)
        if not len(column):
            notes.append(f"column {name!r} is missing in every row")
        elif known and new.all() and (len(known) <= _FEW_CATEGORIES or len(new) >= _SOME_ROWS):
            what = f"it holds {column.iloc[0]!r}, in training {listing(map(repr, known), 5)}"
            raise InputError(
                f"{path}: no row of column {name!r} has a value that occurred in training; {what}"
            )
        elif known and new.any():
            rows = count(int(new.sum()), "row")
            notes.append(f"column {name!r}: {rows} with values that training never saw")


def note_leaks(X: Any, y: Values, qid: Values | None, notes: list[str]) -> None:
    """Note features that alone order nearly all pairs of rows: they may tell the target."""
    rows = np.random.default_rng(0).permutation(len(y))[:_MAX_ROWS]
    top = pd.Series(y > y.min())[rows]
    for name in X:
        column = X[name].iloc[rows]
        views = {"": _as_score(column, top), ", by its missing values,": column.isna()}
        for how, score in views.items():
            known = score.notna().to_numpy()
            if np.bincount(top[known], minlength=2).min() < _MIN_CLASS:
                continue
            queries = None if qid is None else qid[rows][known]
            found = auc_score(top[known], score[known].astype(float), qid=queries)
            auc = max(found, 1 - found)
            if auc > _LEAK:
                what = f"column {name!r} alone{how} orders the rows with an AUC of {auc:.4f}"
                hint = f"--drop {name} unless it is known when rows are to be ranked"
                notes.append(f"{what}: likely a leak of the target; {hint}")
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
