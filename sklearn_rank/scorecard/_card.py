"""A scorecard as plain data: what it consists of, and how it scores rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values


@dataclass(frozen=True, eq=False)
class Variable:
    """A feature on the card, its bins and their points.

    Bins are numbered: first those of ordinary values, then one for each special code, last
    that of missing values, to which categories that the card doesn't name belong too.

    Attributes
    ----------
    name : str
        Name of the feature.
    column : int
        Its position in X.
    points : tuple of int
        Points of each bin.
    thresholds : tuple of float
        Increasing; bins are ``(-inf, t_1], (t_1, t_2], ..., (t_n, inf)``. Empty for
        categories.
    special : tuple of float
        Values with a bin of their own.
    groups : tuple of tuple or None
        The categories (str, int, float or bool) of each bin; None for numbers.
    counts, events : tuple of float
        Weight of the training rows in each bin, and of those in ``classes[1]``.
    """

    name: str
    column: int
    points: tuple[int, ...]
    thresholds: tuple[float, ...] = ()
    special: tuple[float, ...] = ()
    groups: tuple[tuple[Any, ...], ...] | None = None
    counts: tuple[float, ...] = ()
    events: tuple[float, ...] = ()

    @property
    def n_values(self) -> int:
        """Number of bins of ordinary values."""
        return len(self.thresholds) + 1 if self.groups is None else len(self.groups)

    def labels(self) -> list[str]:
        """Return how each bin reads on the card."""
        raise NotImplementedError  # contract: H3 writes this

    def bins(self, x: Values) -> Indices:
        """Return the bin of each value, numbers or categories; NaN and None are missing."""
        raise NotImplementedError  # contract: H3 writes this


@dataclass(frozen=True, eq=False)
class Card:
    """A table of integer points.

    The total of a row is `intercept` plus the points of the bins that its values are in. A
    total above `cut` means ``classes[1]``.

    Attributes
    ----------
    variables : tuple of Variable
        The features on the card.
    intercept : int
        Points of every row.
    cut : int
        A greater total means ``classes[1]``; 0 without scaling.
    classes : tuple
        The two classes; high totals mean the second.
    n_features : int
        Number of columns of the training X.
    feature_names : tuple of str or None
        All columns of the training X, where it had names.
    risk : tuple of tuple
        Rows ``(total, probability, low, high)`` of the risk table, by increasing total.
    details : dict
        What the card states besides: training loss of the ranker and of the card, p, number
        of rows, scaling, version (numbers, strings and None only).
    """

    variables: tuple[Variable, ...]
    intercept: int
    cut: int
    classes: tuple[Any, Any]
    n_features: int
    feature_names: tuple[str, ...] | None = None
    risk: tuple[tuple[float, float, float, float], ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def points(self, X: Any) -> Indices:
        """Return the points of each row and variable, shape (n_rows, n_variables)."""
        raise NotImplementedError  # contract: H3 writes this

    def totals(self, X: Any) -> Indices:
        """Return the total of each row."""
        return self.intercept + self.points(X).sum(axis=1)


def probability(card: Card, totals: Sequence[int]) -> Floats:
    """Return the calibrated probability of ``classes[1]`` at each total."""
    raise NotImplementedError  # contract: H3 writes this


__all__ = ["Card", "Variable", "np", "probability"]
