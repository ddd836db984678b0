"""Rows with the totals of a card, for the acceptance test of another system."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.validation import SEED, Number, check_parameters, is_missing
from sklearn_rank.scorecard.card import Card, probability
from sklearn_rank.scorecard.terms import Bin

Named = tuple[str, Any]
"""What a value is, and the value."""

_UNSEEN_TEXT = "not seen in training"


def test_rows(
    card: Card, *, n_typical: int = 20, infinite: bool = False, random_state: Any = 0
) -> Any:
    """Return rows with their totals, for the acceptance test of a system that runs the card.

    There is a row for each threshold and the next number above it, each range, special code and
    category, a missing value and one that training has not seen, of each feature, while the others
    are typical; for each cell of each pair; and for `n_typical` rows whose bins are drawn with
    the counts of training.

    Parameters
    ----------
    card : Card
        The scorecard.
    n_typical : int in [0, inf), default=20
        Number of rows that are drawn.
    infinite : bool, default=False
        Whether there are rows with infinite numbers, which lie in the outermost ranges.
    random_state : int, RandomState or None, default=0
        Draws the rows.

    Returns
    -------
    pandas DataFrame
        Columns test_case (what the row is for), the features that the card needs, expected_total,
        and expected_risk if the card has a risk table. Both are empty where ``unseen="refuse"``
        refuses the row. ``to_csv(index=False)`` writes numbers that are read back exactly.

    Raises
    ------
    ImportError
        Without pandas.
    ValueError
        When a parameter is not as described.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, test_rows
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> test_rows(card, n_typical=0)[["test_case", "age", "expected_total"]].head(3)
            test_case   age  expected_total
    0         typical  28.5               0
    1     age at 29.5  29.5               0
    2  age above 29.5  29.5               3
    """
    check_parameters(
        "test_rows",
        {"n_typical": n_typical, "random_state": random_state},
        {"n_typical": Number(0, integer=True), "random_state": SEED},
    )
    pandas = import_extra("pandas", "cli", "test_rows")
    values = {column: _values(card, column, infinite) for column in card.features}
    typical = {column: _typical(card, column) for column in card.features}
    cases = [("typical", typical)]
    for column, named in values.items():
        cases += [(case, {**typical, column: value}) for case, value in named]
    cases += [(case, {**typical, **cell}) for case, cell in _cells(card)]
    cases += _drawn(card, int(n_typical), np.random.default_rng(_seed(random_state)))
    rows = np.zeros((len(cases), card.n_features), dtype=object)
    for number, (_, row) in enumerate(cases):
        for column, value in row.items():
            rows[number, column] = value
    return pandas.DataFrame(_columns(card, [case for case, _ in cases], rows))


test_rows.__test__ = False  # type: ignore[attr-defined]  # it is no test of pytest


def _seed(random_state: Any) -> Any:
    """Return the seed of a generator; of an old one it is drawn."""
    is_old = isinstance(random_state, np.random.RandomState)
    return random_state.randint(2**31 - 1) if is_old else random_state


def _columns(card: Card, cases: list[str], rows: Values) -> dict[str, Any]:
    """Return the columns of the table."""
    scored = replace(card, unseen="neutral")
    bins, totals = scored.bins(rows), scored.totals(rows)
    is_refused = np.zeros(len(rows), dtype=bool)
    if card.unseen == "refuse":
        for number, term in enumerate(card.terms):
            is_refused |= np.isin(bins[:, number], term.unseen_bins())
    table: dict[str, Any] = {"test_case": cases}
    for column in card.features:
        name = card.column_name(card.axes_of(column)[0])
        is_number = card.kind_of(column) == "number"
        table[name] = rows[:, column].astype(float) if is_number else rows[:, column]
    table["expected_total"] = np.where(is_refused, np.nan, totals) if is_refused.any() else totals
    if card.risk and not card.is_edited:
        table["expected_risk"] = np.where(is_refused, np.nan, probability(card, totals))
    return table


def _of_bin(card: Card, one: Bin, axis: Any) -> Any:
    """Return a value in a bin; None if there is none."""
    if one.kind == "other":
        return _unseen(card, axis.column)
    if one.kind == "range":
        return _inside(one.above, one.up_to, axis.special)
    if one.kind in ("special", "categories"):
        return one.values[0]
    return np.nan if one.kind == "missing" and axis.groups is None else None


def _inside(above: float | None, up_to: float | None, special: tuple[float, ...]) -> float:
    """Return a number in a range that is no special code; not its end where there is another."""
    if above is None and up_to is None:
        found = 0.0
    elif above is None or up_to is None:
        end = above if up_to is None else up_to
        assert end is not None
        far = end + (1.0 if up_to is None else -1.0) * max(1.0, abs(end) / 1024)
        found = far if math.isfinite(far) else end
    else:
        found = above / 2 + up_to / 2
    low = -math.inf if above is None else above
    high = math.inf if up_to is None else up_to
    if not low < found <= high:
        found = math.nextafter(low, math.inf) if high == math.inf else high
    while found in special:
        found = math.nextafter(found, low)
    return found


def _unseen(card: Card, column: int) -> Any:
    """Return a category that no term names; None if there is none."""
    known = {one for axis in card.axes_of(column) for group in axis.groups or () for one in group}
    known |= {one for axis in card.axes_of(column) for one in axis.special}
    kind = card.kind_of(column)
    if kind == "bool":
        return next((one for one in (False, True) if one not in known), None)
    if kind == "str":
        text = _UNSEEN_TEXT
        while text in known:
            text += "!"
        return text
    low, high = min(known, default=0), max(known, default=0)
    if kind == "int":
        return high + 1 if high < 2**62 else low - 1
    above = math.nextafter(high, math.inf)
    return above if math.isfinite(above) else math.nextafter(low, -math.inf)


def _values(card: Card, column: int, infinite: bool) -> Iterator[Named]:
    """Yield the values of a feature that a system may take for others, those of all its terms."""
    seen: set[Any] = set()
    for axis in card.axes_of(column):
        for case, value in _values_of_axis(axis, card, infinite):
            key = "missing" if is_missing(value) else (type(value), value)
            if key not in seen:
                seen.add(key)
                yield f"{card.column_name(axis)} {case}", value


def _values_of_axis(axis: Any, card: Card, infinite: bool) -> Iterator[Named]:
    for one in axis.thresholds:
        yield f"at {one:g}", one
        beyond = math.nextafter(one, math.inf)
        if math.isfinite(beyond):
            yield f"above {one:g}", beyond
    for one in axis.places():
        if one.kind == "categories":
            for value in one.values:
                yield f"is {value}", value
        elif one.kind != "other":
            yield one.label, _of_bin(card, one, axis)
        elif (value := _of_bin(card, one, axis)) is not None:
            yield "not seen", value
    if infinite and axis.groups is None:
        yield "infinite", math.inf
        yield "minus infinite", -math.inf


def _typical(card: Card, column: int) -> Any:
    """Return a value in the bin of a feature with the most training rows."""
    term = next(one for one in card.terms if column in one.columns)
    place = term.columns.index(column)
    axis: Any = term.axes[place]
    counts: Floats = np.array(term.counts or np.zeros(term.n_bins))
    if len(term.axes) == 2:
        counts = counts.reshape([one.n_bins for one in term.axes]).sum(axis=1 - place)
    bins = [one for one in axis.places() if one.kind != "other"]
    return _of_bin(card, bins[int(np.argmax(counts[: len(bins)]))], axis)


def _cells(card: Card) -> Iterator[tuple[str, dict[int, Any]]]:
    """Yield a row for each cell of each pair."""
    for pair in card.pairs:
        for bins in product(*(axis.places() for axis in pair.axes)):
            placed = zip(pair.axes, bins, strict=True)
            row = {axis.column: _of_bin(card, one, axis) for axis, one in placed}
            names = map(card.column_name, pair.axes)
            texts = (f"{name}: {one.label}" for name, one in zip(names, bins, strict=True))
            yield "; ".join(texts), row


def _drawn(
    card: Card, n_rows: int, rng: np.random.Generator
) -> Iterator[tuple[str, dict[int, Any]]]:
    """Yield rows whose bins are drawn with the counts of training; evenly without counts."""
    for number in range(n_rows):
        row: dict[int, Any] = {}
        for term in card.terms:
            weights = np.array(term.counts or np.ones(term.n_bins))
            share = weights / weights.sum() if weights.sum() else None
            drawn = term.listed()[int(rng.choice(term.n_bins, p=share))]
            for axis, one in zip(term.axes, drawn.parts or (drawn,), strict=True):
                row.setdefault(axis.column, _of_bin(card, one, axis))
        yield f"drawn {number + 1}", row
