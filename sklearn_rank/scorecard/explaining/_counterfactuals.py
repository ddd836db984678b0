"""The fewest changes of a row that bring its total to a given one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Indices
from sklearn_rank._core.validation import Choice, Constraint, Number, check_parameters
from sklearn_rank.scorecard._adverse import adverse_end
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.terms import Axis

_ALLOWED: dict[str, Constraint] = {
    "total": Number(-np.inf, closed="neither"),
    "end": Choice(("auto", "high", "low")),
    "max_changes": Number(1, integer=True, other=(None,)),
}

State = tuple[int, tuple[int, ...], int]
"""Number of changes, options of the features that later terms need, and total so far."""

Path = tuple[Any, ...]
"""The options chosen so far: the last one, and those before it."""

Options = list[list[tuple[int, ...]]]
"""Of each feature that may change its bins, first the present one."""


@dataclass(frozen=True)
class Change:
    """A variable and the bin that it moves to.

    Attributes
    ----------
    variable : str
        Its name.
    present : str
        How its bin reads now.
    bin : str
        How the bin reads that it moves to: a range, or categories of which any will do.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Change
    >>> Change("debt", present="> 900", bin="<= 900").bin
    '<= 900'
    """

    variable: str
    present: str
    bin: str


@dataclass(frozen=True)
class Counterfactual:
    """The fewest changes that bring a row to a total.

    Attributes
    ----------
    total : int
        Its total now.
    reached : int
        Its total after the changes.
    changes : tuple of Change
        In the order of the columns; none where the total is reached already.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Change, Counterfactual
    >>> found = Counterfactual(-1, 3, (Change("debt", present="> 900", bin="<= 900"),))
    >>> found.reached - found.total
    4
    """

    total: int
    reached: int
    changes: tuple[Change, ...]


def counterfactuals(
    scorecard: Any,
    X: Any,
    may_change: Iterable[str],
    *,
    total: float,
    end: str = "auto",
    max_changes: int | None = None,
) -> list[Counterfactual | None]:
    r"""Return the fewest changes of variables that bring each row to a total.

    .. math:: \min_{z} \bigl(\#\{j \in M : z_j \neq b_j\},\; |T(z) - t|\bigr)
        \quad \text{with} \quad T(z) \ge t, \quad z_j = b_j \text{ for } j \notin M

    where :math:`b_j` is the bin of variable j, z the bins after the changes, M the variables that
    may change, T the total and t the one to reach; of equally few changes those with the total
    nearest to t are taken. With ``end="low"`` the total must be at most t. The minimum is exact,
    pairs included: it is found by dynamic programming over the variables, with the total so far
    and the bins that later pairs need as the state.

    Variables move to ranges and to categories that the card names, not to missing values or special
    codes. What may change, and how, is for a person to say: the result is a property of the card,
    not of the world.

    Parameters
    ----------
    scorecard : Scorecard
        A fitted scorecard.
    X : {array-like, data frame} of shape (n_samples, n_features)
        The rows.
    may_change : iterable of str
        Names of the variables that may change, of ``scorecard.variables_``.
    total : float
        The total to reach.
    end : {"auto", "high", "low"}, default="auto"
        "high": a total of at least `total`. "low": of at most it. "auto": away from the end that
        the card says is adverse.
    max_changes : int in [1, inf) or None, default=None
        Most changes. None: any number.

    Returns
    -------
    list of Counterfactual or None
        One for each row; None where the total can't be reached.

    Raises
    ------
    ValueError
        When the card does not need a variable, or with ``end="auto"`` does not know which end is
        adverse.

    References
    ----------
    Wachter2018 (counterfactual explanations).

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json, counterfactuals
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> debt = Variable("debt", 1, points=(3, 1, 0, 0), thresholds=(100.0, 900.0))
    >>> card = Card((age, debt), 0, 0, ("bad", "good"), 2, ("age", "debt"))
    >>> row = pd.DataFrame({"age": [25], "debt": [2000.0]})
    >>> found = counterfactuals(
    ...     Scorecard.from_json(card_to_json(card)), row, ["debt"], total=0, end="high"
    ... )[0]
    >>> found.total, found.reached, found.changes
    (-1, 0, (Change(variable='debt', present='> 900', bin='> 100 and <= 900'),))
    """
    check_is_fitted(scorecard)
    given = {"total": total, "end": end, "max_changes": max_changes}
    check_parameters("counterfactuals", given, _ALLOWED)
    card: Card = scorecard.card_
    names = {name: j for j, name in card.features.items()}
    if isinstance(may_change, str) or not set(may_change := list(may_change)) <= names.keys():
        raise ValueError(
            f"may_change of counterfactuals must be names of variables of the card, {list(names)}. "
            f"Got {may_change!r}."
        )
    if end == "auto":
        end = "low" if adverse_end(card, "counterfactuals") == "high" else "high"
    sign = 1 if end == "high" else -1
    features = [_Feature.of(card, j) for j in sorted(names[one] for one in set(may_change))]
    search = _Search(card, features, sign, float(total), max_changes or len(features))
    return [search.run(row) for row in scorecard.bins_of(X)]


@dataclass(frozen=True, eq=False)
class _Feature:
    """A variable that may change.

    Attributes
    ----------
    column : int
        Its column.
    labels : list of str
        How the bins read that it can move to: ranges between the thresholds of all its terms, or
        categories that all its terms treat alike.
    bins : list of tuple of int
        Of each, the bin on each axis that the card has of the variable.
    axes : list of Axis
        These axes.
    """

    column: int
    labels: list[str]
    bins: list[tuple[int, ...]]
    axes: list[Axis]

    @classmethod
    def of(cls, card: Card, column: int) -> _Feature:
        axes = card.axes_of(column)
        first = axes[0]
        if first.groups is None:
            ends = sorted({one for axis in axes for one in axis.thresholds})
            bins = [
                tuple(int(np.searchsorted(axis.thresholds, one)) for axis in axes)
                for one in (*ends, np.inf)
            ]
            merged = Axis(first.name, column, tuple(ends))
        else:
            values = dict.fromkeys(chain(*(group for one in axes for group in one.groups or ())))
            rows = np.array(list(values), dtype=object)
            groups: dict[tuple[int, ...], list[Any]] = {}
            for value, *of_axes in zip(values, *(axis.bins(rows) for axis in axes), strict=True):
                groups.setdefault(tuple(map(int, of_axes)), []).append(value)
            bins, listed = list(groups), tuple(map(tuple, groups.values()))
            merged = Axis(first.name, column, groups=listed)
        labels = [one.label for one in merged.places()[: len(bins)]]
        return cls(column, labels, bins, axes)

    def present(self, bins: tuple[int, ...]) -> str:
        """Return how the present bins read."""
        if bins in self.bins:
            return self.labels[self.bins.index(bins)]
        places = (axis.places()[one].label for axis, one in zip(self.axes, bins, strict=True))
        return " and ".join(dict.fromkeys(places))


@dataclass(frozen=True, eq=False)
class _Search:
    """Dynamic programming over the variables that may change.

    Attributes
    ----------
    card : Card
        The card.
    features : list of _Feature
        Those that may change, by column.
    sign : int
        1 for totals of at least `target`, -1 for totals of at most it.
    target : float
        The total to reach.
    most : int
        Most changes.
    """

    card: Card
    features: list[_Feature]
    sign: int
    target: float
    most: int

    @cached_property
    def places(self) -> dict[int, int]:
        """The number of each feature that may change, by column."""
        return {feature.column: number for number, feature in enumerate(self.features)}

    def run(self, cells: Indices) -> Counterfactual | None:
        """Return the best changes of a row, whose bins by term are given."""
        present = self._present(cells)
        options = [
            [own, *(one for one in feature.bins if one != own)]
            for feature, own in zip(self.features, present, strict=True)
        ]
        due: list[list[int]] = [[] for _ in self.features]
        total = before = self.card.intercept
        for number, term in enumerate(self.card.terms):
            points = int(term.points[cells[number]])
            before += points
            last = max((self.places[j] for j in term.columns if j in self.places), default=None)
            if last is None:
                total += points
            else:
                due[last].append(number)
        states: dict[State, Path] = {(0, (), total): ()}
        for number in range(len(self.features)):
            states = self._step(number, states, options, due[number], cells)
        best = self._best(states)
        if best is None:
            return None
        (_, _, reached), path = best
        chosen: list[int] = []
        while path:
            choice, path = path
            chosen.append(choice)
        changes = tuple(
            Change(
                self.card.features[feature.column],
                feature.present(own),
                feature.labels[feature.bins.index(options[number][choice])],
            )
            for number, (feature, own, choice) in enumerate(
                zip(self.features, present, reversed(chosen), strict=True)
            )
            if choice
        )
        return Counterfactual(before, reached, changes)

    def _present(self, cells: Indices) -> list[tuple[int, ...]]:
        """Return the bins of each variable on all its axes."""
        found: dict[int, list[int]] = {feature.column: [] for feature in self.features}
        for number, term in enumerate(self.card.terms):
            bins = np.unravel_index(int(cells[number]), [axis.n_bins for axis in term.axes])
            for axis, one in zip(term.axes, bins, strict=True):
                if axis.column in found:
                    found[axis.column].append(int(one))
        return [tuple(one) for one in found.values()]

    def _step(
        self,
        number: int,
        states: dict[State, Path],
        options: Options,
        due: list[int],
        cells: Indices,
    ) -> dict[State, Path]:
        """Return the states after one more variable has been given a bin."""
        before, after = self._kept(number - 1), self._kept(number)
        found: dict[State, Path] = {}
        for (n_changes, kept, total), path in states.items():
            known = dict(zip(before, kept, strict=True))
            for choice in range(len(options[number])):
                if n_changes + (choice > 0) > self.most:
                    break
                known[number] = choice
                sums = total + sum(self._points(one, known, options, cells) for one in due)
                state = (n_changes + (choice > 0), tuple(known[one] for one in after), sums)
                found.setdefault(state, (choice, path))
        return found

    def _kept(self, number: int) -> list[int]:
        """Return the variables up to a number that a pair with a later one needs."""
        places, columns = self.places, [pair.columns for pair in self.card.pairs]
        pairs = [{places[j] for j in of_pair if j in places} for of_pair in columns]
        numbers = range(number + 1)
        return [one for one in numbers if any({one} < two and max(two) > number for two in pairs)]

    def _points(self, number: int, known: dict[int, int], options: Options, cells: Indices) -> int:
        """Return the points of a term, given the options of its variables that may change."""
        term = self.card.terms[number]
        sizes = [axis.n_bins for axis in term.axes]
        bins = list(map(int, np.unravel_index(int(cells[number]), sizes)))
        for place, axis in enumerate(term.axes):
            if axis.column in self.places:
                feature = self.places[axis.column]
                # The axes of a variable are in the order of the terms that have it.
                order = sum(axis.column in one.columns for one in self.card.terms[:number])
                bins[place] = options[feature][known[feature]][order]
        return int(term.points[int(np.ravel_multi_index(bins, sizes))])

    def _best(self, states: dict[State, Path]) -> tuple[State, Path] | None:
        """Return the state with fewest changes, then the nearest total, of those that reach it."""
        there = [
            (state[0], self.sign * (state[2] - self.target), state, path)
            for state, path in states.items()
            if self.sign * (state[2] - self.target) >= 0
        ]
        if not there:
            return None
        *_, state, path = min(there, key=lambda one: one[:2])
        return state, path
