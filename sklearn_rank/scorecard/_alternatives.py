"""Rankers that must do without one step or one variable of another."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from sklearn_rank._protocols import Floats
from sklearn_rank.bins.binned_features import Binning
from sklearn_rank.bins.categories import as_table, with_columns
from sklearn_rank.models import as_model
from sklearn_rank.rows import Rows
from sklearn_rank.scorecard.card import Card


def exchanged(ranker: Any, data: Rows, X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield unfitted rankers and rows: one for each step of a fitted ranker, and each variable.

    The ranker of a step has all thresholds of the variable but that one. The rows of a variable
    lack its values.
    """
    steps = ranker.step_functions_
    settings = ranker.stump_settings()
    for step in steps:
        known = _grid(ranker, data, settings, step.feature)
        for threshold in step.bins.thresholds:
            left = known[known != threshold]
            if len(left) < len(known) and len(left):
                given = {**settings["thresholds"], step.feature: left.tolist()}
                yield set_stumps(clone(ranker), thresholds=given), X
    for step in steps:
        yield clone(ranker), _without(X, step.feature)


def set_stumps(ranker: Any, **parameters: Any) -> Any:
    """Set parameters of the stumps of a booster, which may be a name, and return the booster."""
    stumps = clone(as_model(ranker.weak_ranker))
    return ranker.set_params(weak_ranker=stumps.set_params(**parameters))


def outline(card: Card) -> tuple[Any, ...]:
    """Return a key that equal cards share: intercept, bins and points."""
    return card.intercept, *(
        (one.points, *((axis.column, axis.thresholds, axis.groups) for axis in one.axes))
        for one in card.terms
    )


def _grid(ranker: Any, data: Rows, settings: dict[str, Any], feature: int) -> Floats:
    """Return the thresholds that a search may use for a feature."""
    if feature in settings["thresholds"]:
        return np.array(settings["thresholds"][feature], dtype=np.float64)
    special = {0: np.array(settings["special_values"].get(feature, []))}
    rows = replace(data, X=data.X[:, [feature]])
    return Binning(settings["max_bins"], special=special).find(rows)[0].thresholds


def _without(X: Any, feature: int) -> Any:
    """Return rows with missing values in a column."""
    X = as_table(X)
    return with_columns(X, {feature: np.full(len(X), np.nan)})
