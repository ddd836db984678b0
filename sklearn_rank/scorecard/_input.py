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
    """Return rows that the card of a scorecard can score; errors are those of scikit-learn.

    A card of numbers alone whose ranker is known to have no categories reads X as numbers.
    """
    check_is_fitted(scorecard)
    card = scorecard.card_
    if _takes_by_name(card, X):
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

    It has those of the card, each once; others of the training rows may be missing, and further
    ones are not looked at. Of a frame with all columns of training scikit-learn demands their
    order, and of one that shares none that it is refused. A column of the card that is there twice
    raises ValueError.
    """
    if card.feature_names is None or not is_data_frame(X):
        return False
    number = Counter(X.columns)
    training, names = list(card.feature_names), list(X.columns)
    is_shuffled = names != training and sorted(map(str, names)) == sorted(training)
    wanted = [variable.name for variable in card.variables]
    twice = [name for name in wanted if number[name] > 1]
    if twice:
        raise ValueError(f"A scorecard needs unique column names. X has {twice} more than once.")
    has_all = all(number[name] for name in wanted)
    return has_all and not is_shuffled and not number.keys().isdisjoint(training)


def _check_names(scorecard: Any, X: Any) -> None:
    """Raise scikit-learn's error for other columns, and say which ones the card needs."""
    try:
        validate_data(scorecard, X, reset=False, skip_check_array=True)
    except ValueError as error:
        if not is_data_frame(X) or scorecard.card_.feature_names is None:
            raise
        text = str(error).rstrip()
        raise ValueError(
            f"{text}\nThe scorecard needs {scorecard.variables_}; X may lack others."
        ) from error
