"""A scorecard as plain data: what it consists of, and how it scores rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from sklearn_rank._bins.categories import column_of
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import is_data_frame
from sklearn_rank.scorecard.terms import Bin, Variable, plain

MADE_FOR = "risk_of_points"
"""The detail with the fingerprint of the points that the risk table was made for."""


@dataclass(frozen=True, eq=False)
class Card:
    """A table of integer points.

    The total of a row is `intercept` plus the points of its bin of each variable. A total above
    `cut` means ``classes[1]``.

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
        Further statements of the card: training loss of the ranker and of the card, p, number
        of rows, scaling, version (numbers, strings and None only).

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> job = Variable("job", 1, points=(3, 0), groups=(("clerk", "smith"),))
    >>> card = Card((age, job), 1, 0, ("bad", "good"), 2, ("age", "job"))
    >>> card.points([[40, "clerk"], [20, "pilot"]])
    array([[ 2,  3],
           [-1,  0]])
    >>> card.totals([[40, "clerk"], [20, "pilot"]])
    array([6, 0])
    """

    variables: tuple[Variable, ...]
    intercept: int
    cut: int
    classes: tuple[Any, Any]
    n_features: int
    feature_names: tuple[str, ...] | None = None
    risk: tuple[tuple[float, float, float, float], ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def bins(self, X: Any) -> Indices:
        """Return the bin of each row and variable, shape (n_rows, n_variables).

        X is an array or a list of rows with the columns of training, or a data frame: where
        the card has names it looks the columns up by them, in any order, and needs only those
        of its variables. ValueError when X lacks a column.
        """
        columns, n_rows = self._columns_of(X)
        bins = np.zeros((n_rows, len(self.variables)), dtype=np.intp)
        for number, (variable, values) in enumerate(zip(self.variables, columns, strict=True)):
            bins[:, number] = variable.bins(values)
        return bins

    def points(self, X: Any) -> Indices:
        """Return the points of each row and variable, shape (n_rows, n_variables)."""
        bins = self.bins(X)
        for number, variable in enumerate(self.variables):
            bins[:, number] = np.array(variable.points, dtype=np.intp)[bins[:, number]]
        return bins

    def totals(self, X: Any) -> Indices:
        """Return the total of each row."""
        return self.intercept + self.points(X).sum(axis=1)

    def probability(self, totals: Sequence[int] | Indices) -> Floats:
        """Return the calibrated probability of ``classes[1]`` at each total.

        Between the totals of the risk table it is interpolated, and beyond them it is that of
        the nearest one. ValueError when the card has no risk table.
        """
        table = self.risk_table()
        return np.interp(np.asarray(totals, dtype=np.float64), table[:, 0], table[:, 1])

    def risk_table(self) -> Floats:
        """Return the risk table, with the columns total, probability, low and high."""
        if not self.risk:
            raise ValueError("This scorecard has no risk table, and so no probabilities.")
        return np.array(self.risk, dtype=np.float64)

    def column_name(self, variable: Variable) -> str:
        """Return the name of the column of a variable in tables to score."""
        return f"x{variable.column}" if self.feature_names is None else variable.name

    def lines(self) -> list[tuple[str, list[Bin]]]:
        """Return the intercept and the bins of each variable, with their names."""
        first = self.variables[0] if self.variables else None
        count = float(sum(first.counts)) if first and first.counts else np.nan
        events = float(sum(first.events)) if first and first.counts else np.nan
        intercept = Bin("", "intercept", points=int(self.intercept), count=count, events=events)
        return [
            ("intercept", [intercept]),
            *((self.column_name(variable), variable.listed()) for variable in self.variables),
        ]

    def fingerprint(self) -> str:
        """Return 16 hexadecimal digits that change with the intercept, the points and the bins.

        Cards store that of the points which their risk table was made for.
        """
        bins = []
        for variable in self.variables:
            ends = [list(map(float, ends)) for ends in (variable.thresholds, variable.special)]
            groups = [list(map(plain, group)) for group in variable.groups or ()]
            bins.append([variable.column, ends, groups, list(map(int, variable.points))])
        return sha256(repr([int(self.intercept), bins]).encode()).hexdigest()[:16]

    def _columns_of(self, X: Any) -> tuple[list[Values], int]:
        """Return the values of each variable, and the number of rows."""
        names = [str(name) for name in getattr(X, "columns", ())]
        places = [variable.column for variable in self.variables]
        is_by_name = bool(names) and self.feature_names is not None
        if is_by_name:
            wanted = [variable.name for variable in self.variables]
            lacking = [name for name in wanted if name not in names]
            if lacking:
                raise ValueError(
                    f"The scorecard needs the columns {lacking}, which X lacks. "
                    f"X has {_shortened(names)}."
                )
            places = [names.index(name) for name in wanted]
        if not is_data_frame(X):
            X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of two dimensions. Got shape {X.shape}.")
        if not is_by_name and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the scorecard is expecting {self.n_features} "
                "features as input."
            )
        return [column_of(X, place)[:, 0] for place in places], int(X.shape[0])


def _shortened(names: Sequence[str], most: int = 20) -> str:
    """Return a list of names for a message, without those after the first ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{list(names[:most])}{more}"
