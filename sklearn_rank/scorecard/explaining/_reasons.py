"""Why a total is not better: the terms that lose most points, and their texts for a letter."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    Number,
    check_floats,
    check_parameters,
    is_missing,
)
from sklearn_rank.scorecard._adverse import adverse_end, best_bins, best_points, points_lost
from sklearn_rank.scorecard._owner import CardOwner
from sklearn_rank.scorecard._texts import Texts
from sklearn_rank.scorecard.card import Card, probability
from sklearn_rank.scorecard.terms import plain

OWNER = "reasons"
_FORMAT = "sklearn_rank.reasons"
_VERSION = 1
_ROUNDING = 1e-9
_ALLOWED: dict[str, Constraint] = {
    "k": Number(1, integer=True),
    "form": Choice(("names", "table", "json")),
}


@dataclass(frozen=True)
class Reason:
    """A term that loses a row points.

    Attributes
    ----------
    row : int
        Position of the row, from 0.
    rank : int
        1 for the term that loses most.
    term : str
        Its name.
    text : str
        The sentence for a letter; the name where none is given.
    values : dict of str to object
        The values of the row by feature, two of a pair; None if missing.
    bin : str
        Label of the bin that the row is in.
    points : int
        Its points.
    points_lost : float
        How much worse they are than those that they are compared with.
    best_bin : str
        Label of the best attainable bin of the term.
    best_points : int
        Its points.
    """

    row: int
    rank: int
    term: str
    text: str
    values: dict[str, Any]
    bin: str
    points: int
    points_lost: float
    best_bin: str
    best_points: int


def reference_points(card: Card, against: Any) -> Floats:
    """Return the points that those of each term are compared with."""
    if isinstance(against, str) and against == "best":
        return best_points(card, OWNER).astype(np.float64)
    if isinstance(against, str) and against == "mean":
        if not all(sum(one.counts) > 0 for one in card.terms):
            raise ValueError("against='mean' needs the counts of the bins, which this card lacks.")
        means = [np.average(one.points, weights=one.counts) for one in card.terms]
        return np.array(means, dtype=np.float64)
    if Number(-np.inf, closed="neither").allows(against):
        return np.full(len(card.terms), float(against))
    if np.ndim(against) == 1 and len(against) == len(card.terms):
        found = check_floats(against, "against")
        if np.isfinite(found).all():
            return found
    raise ValueError(
        f"against must be 'best', 'mean', a finite float or {len(card.terms)} of them, one for "
        f"each term. Got {against!r}."
    )


def most_lost(lost: Floats, k: int) -> Indices:
    """Return the numbers of the k terms that lose most, most first; -1 where none is left.

    Terms that lose the same come in the order of the card.
    """
    order = np.argsort(-np.round(lost, 9), axis=1, kind="stable")[:, :k]
    found = np.full((len(lost), k), -1)
    is_lost = np.take_along_axis(lost, order, axis=1) > _ROUNDING
    found[:, : order.shape[1]] = np.where(is_lost, order, -1)
    return found


@dataclass(frozen=True, eq=False)
class Letters:
    """The reasons of some rows.

    Attributes
    ----------
    card : Card
        The scorecard.
    columns : dict of int to ndarray
        The values of the rows by column.
    bins : ndarray of shape (n_rows, n_terms)
        Their bins.
    chosen : ndarray of shape (n_rows, k)
        The numbers of the terms; -1 for none.
    lost : ndarray of shape (n_rows, n_terms)
        Points lost.
    texts : Texts
        The sentences.
    """

    card: Card
    columns: dict[int, Values]
    bins: Indices
    chosen: Indices
    lost: Floats
    texts: Texts

    @classmethod
    def of(cls, card: Card, X: Any, k: int, against: Any, texts: Any) -> Letters:
        """Return the reasons of checked rows."""
        reference, bins = reference_points(card, against), card.bins(X)
        lost = points_lost(card, card.points_in(bins), reference, OWNER)
        columns, _ = card.columns_of(X)
        return cls(card, columns, bins, most_lost(lost, k), lost, Texts(OWNER, card, texts))

    def names(self) -> Values:
        """Return the texts in an array of shape (n_rows, k); None where no reason is left."""
        found = np.full(self.chosen.shape, None, dtype=object)
        for number, term in enumerate(self.card.terms):
            texts = [self.texts.of(term.name, label) for label in term.labels()]
            rows, ranks = np.nonzero(self.chosen == number)
            found[rows, ranks] = np.array(texts, dtype=object)[self.bins[rows, number]]
        return found

    def reasons(self) -> list[list[Reason]]:
        """Return the reasons of each row, most points lost first."""
        labels = [term.labels() for term in self.card.terms]
        best = best_bins(self.card, OWNER)
        return [
            [
                self._reason(row, rank, number, labels[number], best[number])
                for rank, number in enumerate(chosen, 1)
                if number >= 0
            ]
            for row, chosen in enumerate(self.chosen.tolist())
        ]

    def _reason(self, row: int, rank: int, number: int, labels: list[str], best: int) -> Reason:
        term = self.card.terms[number]
        own = int(self.bins[row, number])
        return Reason(
            row=row,
            rank=rank,
            term=term.name,
            text=self.texts.of(term.name, labels[own]),
            values={one.name: _shown(self.columns[one.column][row]) for one in term.axes},
            bin=labels[own],
            points=int(term.points[own]),
            points_lost=float(self.lost[row, number]),
            best_bin=labels[best],
            best_points=int(term.points[best]),
        )

    def table(self) -> Any:
        """Return the reasons as a pandas DataFrame."""
        pandas = import_extra("pandas", "cli", "form='table' of reasons")
        lines = [asdict(one) for reasons in self.reasons() for one in reasons]
        return pandas.DataFrame(lines, columns=list(Reason.__dataclass_fields__))

    def json(self, against: Any) -> str:
        """Return the reasons as a JSON document, with the total and the risk of each row."""
        card = self.card
        totals = card.intercept + card.points_in(self.bins).sum(axis=1)
        has_risk = card.risk and not card.is_edited
        risk = probability(card, totals).tolist() if has_risk else [None] * len(totals)
        rows = zip(totals.tolist(), risk, self.reasons(), strict=True)
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "adverse": adverse_end(card, OWNER),
            "upper_class": plain(card.classes[1]),
            "lowest_total": int(card.intercept + sum(min(one.points) for one in card.terms)),
            "highest_total": int(card.intercept + sum(max(one.points) for one in card.terms)),
            "against": against if isinstance(against, str) else np.asarray(against).tolist(),
            "rows": [
                {
                    "row": row,
                    "total": total,
                    "risk": chance,
                    "reasons": [_line(asdict(one)) for one in reasons],
                }
                for row, (total, chance, reasons) in enumerate(rows)
            ],
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _shown(value: Any) -> Any:
    """Return a value of a row as a Python object; None if it is missing."""
    return None if is_missing(value) else plain(value)


def _line(reason: dict[str, Any]) -> dict[str, Any]:
    """Return a reason as JSON has it, within its row."""
    values = {name: _as_json(value) for name, value in reason["values"].items()}
    return {key: one for key, one in (reason | {"values": values}).items() if key != "row"}


def _as_json(value: Any) -> Any:
    """Return a value as JSON has it; numbers that are not finite become strings."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, str | int | float | None) else str(value)


class ReasonsMixin(CardOwner):
    """The method of a scorecard that says why the totals of rows are not better."""

    def reasons(
        self, X: Any, k: int = 4, against: Any = "best", *, texts: Any = None, form: str = "names"
    ) -> Any:
        """Return the terms that lose each row the most points: why its total is not better.

        A term loses the distance from its points to the best attainable ones of the term: to the
        smallest where high totals are bad, else to the largest. `adverse` says which end is bad.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.
        k : int in [1, inf), default=4
            Number of reasons.
        against : {"best", "mean"}, float or array-like of shape (n_terms,), default="best"
            The points to compare with: the best ones of the term (of bins that training rows
            were in), their mean over the training rows, a number such as 0, or one for each term,
            such as the mean of ``points_of`` over approved rows.
        texts : dict or None, default=None
            Sentences for a letter, by term or by (term, label of a bin). Where both are given that
            of the bin is taken, and where none is the name of the term. Features of training that
            are not on the card are allowed.
        form : {"names", "table", "json"}, default="names"
            "names": the texts. "table": a pandas DataFrame with a row for each reason, and columns
            row (position, from 0), rank, term, text, values (of the row, by feature; two of a
            pair), bin, points, points_lost, best_bin and best_points (of the best attainable bin).
            "json": a document for another system (see Notes).

        Returns
        -------
        ndarray of object of shape (n_samples, k), DataFrame or str
            Most points lost first; ties are in the order of the card. In the array None if fewer
            terms lose points.

        Raises
        ------
        ValueError
            When a parameter is not as described, or it is unknown which end of the totals is bad.

        Notes
        -----
        The JSON document has "format" ("sklearn_rank.reasons"), "version" (1), "adverse" ("high"
        or "low"), "upper_class" (what high totals mean), "lowest_total" and "highest_total" (what
        the points of the card can sum up to), "against", and "rows": a list of objects with "row",
        "total", "risk" (null without a risk table for these points) and "reasons", objects with the
        columns of the table but "row". Missing values are null, infinite ones "inf" and "-inf".

        Examples
        --------
        >>> from sklearn_rank.datasets import make_credit
        >>> from sklearn_rank.scorecard import Scorecard
        >>> credit = make_credit(1000, random_state=0)
        >>> scorecard = Scorecard(p=1, max_terms=4, adverse="high")
        >>> scorecard = scorecard.fit(credit.data, credit.target)
        >>> texts = {"utilisation": "Credit lines are used to a large part"}
        >>> reasons = scorecard.reasons(credit.data, texts=texts, form="table")
        >>> set(reasons["term"]) <= set(scorecard.terms_)
        True
        """
        check_parameters(OWNER, {"k": k, "form": form}, _ALLOWED)
        letters = Letters.of(self._fitted_card(), self._rows(X), int(k), against, texts)
        if form == "names":
            return letters.names()
        return letters.table() if form == "table" else letters.json(against)
