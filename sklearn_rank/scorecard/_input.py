"""The rows that a card takes: tables with its own columns are enough."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._bins.categories import as_table
from sklearn_rank._core.validation import check_columns, is_data_frame, refuse_dates
from sklearn_rank.scorecard.card import Card


def checked_rows(scorecard: Any, X: Any) -> Any:
    """Return rows in a form that the card can score; errors are those of scikit-learn.

    A card of numbers alone whose ranker is known to have no categories reads X as numbers.
    """
    check_is_fitted(scorecard)
    if _takes_by_name(scorecard.card_, X):
        return X
    ranker = getattr(scorecard, "ranker_", None)
    if ranker is None or ranker.category_codes_ is not None:
        X = as_table(X)
        _check_names(scorecard, X)
        return X
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # as in a ranker's check
            rows = validate_data(
                scorecard, X, reset=False, dtype=np.float64, ensure_all_finite=False
            )
    except (TypeError, ValueError):
        if is_data_frame(X):
            _check_names(scorecard, X)
        check_columns(type(scorecard).__name__, X, "")
        raise
    refuse_dates(type(scorecard).__name__, X)
    return rows


def _takes_by_name(card: Card, X: Any) -> bool:
    """Whether X is a data frame whose columns the card finds by their names.

    It has each column of the card once; it may lack others and have further ones. But scikit-learn
    requires the order of training for a frame with all columns of training, and an error for one
    that shares none. A repeated column of the card raises ValueError.
    """
    if card.feature_names is None or not is_data_frame(X):
        return False
    n_columns = Counter(X.columns)
    training, names = list(card.feature_names), list(X.columns)
    is_shuffled = names != training and sorted(map(str, names)) == sorted(training)
    card_names = [variable.name for variable in card.variables]
    repeated = [name for name in card_names if n_columns[name] > 1]
    if repeated:
        raise ValueError(f"A scorecard needs unique column names. X has {repeated} more than once.")
    has_all = all(n_columns[name] for name in card_names)
    return has_all and not is_shuffled and not n_columns.keys().isdisjoint(training)


def _check_names(scorecard: Any, X: Any) -> None:
    """Raise scikit-learn's error for unexpected columns; add those that the card needs."""
    try:
        validate_data(scorecard, X, reset=False, skip_check_array=True)
    except ValueError as error:
        if not is_data_frame(X) or scorecard.card_.feature_names is None:
            raise
        raise ValueError(
            f"{str(error).rstrip()}\nThe scorecard needs {scorecard.variables_}; X may lack others."
        ) from error
