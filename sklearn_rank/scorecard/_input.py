"""The rows that a card takes: tables with its own columns are enough."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sklearn_rank._bins.categories import as_table
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import check_columns, is_data_frame, refuse_dates
from sklearn_rank.scorecard.card import Card


def takes_by_name(card: Card, X: Any) -> bool:
    """Whether X is a data frame whose columns the card finds by their names.

    It has those of the card, each once; others of the training rows may be missing, and further
    ones are not looked at. Of a frame with all columns of training scikit-learn demands their
    order, and of one that shares none that it is refused. A column of the card that is there twice
    raises ValueError.
    """
    if card.feature_names is None or not is_data_frame(X):
        return False
    number = Counter(X.columns)
    known, names = list(card.feature_names), list(X.columns)
    is_shuffled = names != known and sorted(map(str, names)) == sorted(known)
    twice = [name for name in card.features.values() if number[name] > 1]
    if twice:
        raise ValueError(f"A scorecard needs unique column names. X has {twice} more than once.")
    has_all = all(number[name] for name in card.features.values())
    return has_all and not is_shuffled and not number.keys().isdisjoint(known)


def checked_rows(scorecard: Any, X: Any, has_categories: bool) -> Any:
    """Return rows that the card of a scorecard can score; errors are those of scikit-learn."""
    card, owner = scorecard.card_, type(scorecard).__name__
    if takes_by_name(card, X):
        return X
    if has_categories:
        X = as_table(X)
        _check_names(scorecard, X)
        return X
    try:
        rows = _numbers(scorecard, X)
    except (TypeError, ValueError):
        if is_data_frame(X):
            _check_names(scorecard, X)
        check_columns(owner, X, "")
        raise
    refuse_dates(owner, X)
    return rows


def _numbers(scorecard: Any, X: Any) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):  # as in a ranker's check
        rows: Floats = validate_data(
            scorecard, X, reset=False, dtype=np.float64, ensure_all_finite=False
        )
    return rows


def _check_names(scorecard: Any, X: Any) -> None:
    """Raise scikit-learn's error for other columns, and say which ones the card needs."""
    try:
        validate_data(scorecard, X, reset=False, skip_check_array=True)
    except ValueError as error:
        names = list(scorecard.card_.features.values())
        if not is_data_frame(X) or scorecard.card_.feature_names is None:
            raise
        text = str(error).rstrip()
        raise ValueError(f"{text}\nThe scorecard needs {names}; X may lack others.") from error
