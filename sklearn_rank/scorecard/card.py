"""A scorecard as plain data: what it consists of, and how it scores rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

import numpy as np

from sklearn_rank._bins.categories import column_of
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import is_data_frame
from sklearn_rank.scorecard.terms import TIMES, Axis, Pair, Variable, plain

UNSEEN = ("neutral", "worst", "refuse")
"""What may be done with values that training has not seen."""

ADVERSE = ("high", "low")
"""The ends of the totals, of which one is bad."""

MADE_FOR = "risk_of_points"
"""The detail with the fingerprint of the points that the risk table was made for."""

EDITED = "Points or bins were edited after the risk table was made: it is left out."
"""What forms of a card say in place of its risk table."""


@dataclass(frozen=True, eq=False)
class Card:
    """A table of integer points.

    The total of a row is `intercept` plus the points of its bin of each variable and its cell of
    each pair. A total above `cut` means ``classes[1]``.

    Attributes
    ----------
    variables : tuple of Variable
        The features that are terms of their own.
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
    pairs : tuple of Pair
        The pairs of features that are terms.
    adverse : "high", "low" or None
        The bad end of the totals; None if unknown.
    unseen : "neutral", "worst" or "refuse"
        What is done with a value that training has not seen: its bin has neutral points, by which
        the mean risk of the training rows stays, or the worst of its term; or rows with one are
        not scored.

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
    pairs: tuple[Pair, ...] = ()
    adverse: str | None = None
    unseen: str = "neutral"

    @property
    def terms(self) -> tuple[Variable | Pair, ...]:
        """The variables, then the pairs."""
        return (*self.variables, *self.pairs)

    def with_terms(self, terms: Sequence[Any]) -> Card:
        """Return a card with others in place of its terms, as many variables first."""
        n = len(self.variables)
        return replace(self, variables=tuple(terms[:n]), pairs=tuple(terms[n:]))

    @property
    def features(self) -> dict[int, str]:
        """The column and the name of each feature that the card needs, by column."""
        axes = (axis for term in self.terms for axis in term.axes)
        return dict(sorted((axis.column, axis.name) for axis in axes))

    def axes_of(self, column: int) -> list[Axis]:
        """Return the bins of a feature in each term that has it."""
        axes = (axis for term in self.terms for axis in term.axes if axis.column == column)
        return [Axis(one.name, one.column, one.thresholds, one.special, one.groups) for one in axes]

    def kind_of(self, column: int) -> str:
        """Return the kind of values of a feature, as `Variable.kind`, of all terms together."""
        first, *others = self.axes_of(column)
        if first.groups is None:
            return first.kind
        groups = [group for one in (first, *others) for group in one.groups or ()]
        return replace(first, groups=tuple(groups)).kind

    @property
    def is_edited(self) -> bool:
        """Whether the risk table is known to be for other points or bins than the card has."""
        made_for = self.details.get(MADE_FOR)
        return bool(self.risk) and made_for is not None and made_for != fingerprint(self)

    @property
    def largest_points(self) -> int:
        """The largest absolute points of a bin, 0 without terms."""
        return max((abs(one) for term in self.terms for one in term.points), default=0)

    def column_name(self, axis: Any) -> str:
        """Return the name of the column of a variable, or an axis, in tables to score."""
        return f"x{axis.column}" if self.feature_names is None else str(axis.name)

    def term_name(self, term: Variable | Pair) -> str:
        """Return the name of a term, of the columns in tables to score."""
        return f" {TIMES} ".join(map(self.column_name, term.axes))

    def refused_bins(self, term: Variable | Pair) -> list[int]:
        """Return the bins of a term whose rows are not scored."""
        return term.unseen_bins() if self.unseen == "refuse" else []

    def bins(self, X: Any) -> Indices:
        """Return the bin of each row and term, shape (n_rows, n_terms).

        X is an array or a list of rows with the columns of training, or a data frame: where
        the card has names it looks the columns up by them, in any order, and needs only those
        of its terms.

        Raises
        ------
        ValueError
            When X lacks a column, or a row has a value that `unseen` refuses.
        """
        columns, n_rows = self.columns_of(X)
        bins = np.zeros((n_rows, len(self.terms)), dtype=np.intp)
        for number, term in enumerate(self.terms):
            bins[:, number] = term.bins(*(columns[one] for one in term.columns))
        self._refuse_unseen(bins)
        return bins

    def _refuse_unseen(self, bins: Indices) -> None:
        """Raise ValueError for a row with a value that training has not seen."""
        for number, term in enumerate(self.terms):
            rows = np.flatnonzero(np.isin(bins[:, number], self.refused_bins(term)))
            if len(rows):
                label = term.labels()[int(bins[rows[0], number])]
                raise ValueError(
                    f"The scorecard refuses values that training has not seen (unseen='refuse'). "
                    f"Row {rows[0]} of X has {self.term_name(term)!r}: {label}; rows like it: "
                    f"{len(rows)}."
                )

    def points(self, X: Any) -> Indices:
        """Return the points of each row and term, shape (n_rows, n_terms)."""
        return self.points_in(self.bins(X))

    def points_in(self, bins: Indices) -> Indices:
        """Return the points of the bins of some rows, as `bins` returns them."""
        points = np.zeros(bins.shape, dtype=np.intp)
        for number, term in enumerate(self.terms):
            points[:, number] = np.array(term.points, dtype=np.intp)[bins[:, number]]
        return points

    def totals(self, X: Any) -> Indices:
        """Return the total of each row."""
        return self.intercept + self.points(X).sum(axis=1)

    def columns_of(self, X: Any) -> tuple[dict[int, Values], int]:
        """Return the values of each feature on the card by its column, and the number of rows.

        X is as in `bins`.
        """
        names, features = [str(name) for name in getattr(X, "columns", ())], self.features
        is_by_name = bool(names) and self.feature_names is not None
        places = {column: column for column in features}
        if is_by_name:
            lacking = [name for name in features.values() if name not in names]
            if lacking:
                raise ValueError(
                    f"The scorecard needs the columns {lacking}, which X lacks. "
                    f"X has {_shortened(names)}."
                )
            places = {column: names.index(name) for column, name in features.items()}
        if not is_data_frame(X):
            X = np.asarray(X, dtype=None if hasattr(X, "dtype") else object)
        if len(X.shape) != 2:
            raise ValueError(f"X must be a table of two dimensions. Got shape {X.shape}.")
        if not is_by_name and X.shape[1] != self.n_features:
            raise ValueError(
                f"X has {X.shape[1]} features, but the scorecard is expecting {self.n_features} "
                "features as input."
            )
        found = {column: column_of(X, place)[:, 0] for column, place in places.items()}
        return found, int(X.shape[0])


def fingerprint(card: Card) -> str:
    """Return 16 hexadecimal digits that change with the intercept, the points and the bins.

    Cards store that of the points which their risk table was made for.
    """
    bins = []
    for term in card.terms:
        for axis in term.axes:
            ends = [list(map(float, one)) for one in (axis.thresholds, axis.special)]
            groups = [list(map(plain, group)) for group in axis.groups or ()]
            bins.append([axis.column, ends, groups])
        bins.append(list(map(int, term.points)))
    return sha256(repr([int(card.intercept), bins]).encode()).hexdigest()[:16]


def known_risk(card: Card) -> Floats:
    """Return the risk table, with the columns total, probability, low and high.

    Raises
    ------
    ValueError
        When the card has none, or was edited after it was made.
    """
    if not card.risk:
        raise ValueError("This scorecard has no risk table, and so no probabilities.")
    if card.is_edited:
        raise ValueError(
            "The risk table of this scorecard was made for other points or bins than it has now: "
            "the card was edited. Its totals are right; recalibrate it on rows with known classes "
            "(Scorecard.recalibrate) for new probabilities."
        )
    return np.array(card.risk, dtype=np.float64)


def probability(card: Card, totals: Sequence[int] | Indices) -> Floats:
    """Return the calibrated probability of ``classes[1]`` at each total.

    Between the totals of the risk table it is interpolated, and beyond them it is that of the
    nearest one.
    """
    table = known_risk(card)
    return np.interp(np.asarray(totals, dtype=np.float64), table[:, 0], table[:, 1])


def _shortened(names: Sequence[str], most: int = 20) -> str:
    """Return a list of names for a message, without those after the first ones."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{list(names[:most])}{more}"
