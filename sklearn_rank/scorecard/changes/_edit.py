"""Changes that a person makes to a card, each with a line in its log."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.validation import Number, check_lengths, check_weight, is_upper_label
from sklearn_rank.scorecard._log import EDITS, OF_POINTS
from sklearn_rank.scorecard._owner import CardOwner
from sklearn_rank.scorecard.card import MADE_FOR, Card, fingerprint
from sklearn_rank.scorecard.fitting._scaling import nearest
from sklearn_rank.scorecard.forms._json import LARGEST_TOTAL, card_to_json
from sklearn_rank.scorecard.terms import NOT_SEEN, Pair, Variable, label_of, number_text

_POINTS = Number(-LARGEST_TOTAL, LARGEST_TOTAL, integer=True)


class EditsMixin(CardOwner):
    """The method that edits the card of a scorecard."""

    def edited(
        self,
        term: str,
        *,
        who: str,
        why: str,
        points: Mapping[Any, int] | None = None,
        merge: tuple[Any, Any] | None = None,
        threshold: tuple[float, float] | None = None,
        category: tuple[Any, Any] | None = None,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Return a scorecard with a change to one term, and a record of it in its log.

        Pass one of `points`, `merge`, `threshold` and `category`. The log is in
        ``card_.details["edits"]`` and so in JSON, on the page, in the text and in the workbook. The
        probabilities of the former points are no longer shown or predicted: `recalibrate` makes
        new ones. Totals, and what `predict` compares them with, need none.

        Parameters
        ----------
        term : str
            Name of a variable or a pair, one of `terms_`.
        who, why : str
            Who changes it and why, for the log.
        points : dict, default=None
            New points by bin: the number of the bin or its label; of a pair also two numbers.
        merge : (bin, bin), default=None
            Two neighbouring ranges, or two groups of categories, that become one. It has the mean
            of their points, weighted by the training rows and rounded.
        threshold : (float, float), default=None
            A threshold and where it moves to, between its neighbours.
        category : (value, bin), default=None
            A category and the group that it moves to.
        X : {array-like, data frame} of shape (n_samples, n_features), default=None
            The training rows, to count the bins of a moved threshold or category again. Without
            them the counts of the term are unknown from then on.
        y : array-like of shape (n_samples,), default=None
            Their classes, which X needs.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Their weights, which the counts are sums of, as in `fit`. None: each row counts once.

        Returns
        -------
        Scorecard
            A fitted scorecard. This one stays as it is.

        Raises
        ------
        ValueError
            When the term, a bin or a value is not on the card, when the change is not allowed, or
            when who or why is empty, or when X and y are not of the same rows.

        Examples
        --------
        >>> from sklearn_rank.datasets import make_credit
        >>> from sklearn_rank.scorecard import Scorecard
        >>> credit = make_credit(1000, random_state=0)
        >>> scorecard = Scorecard(p=1, random_state=0).fit(credit.data, credit.target)
        >>> name = scorecard.terms_[0]
        >>> found = scorecard.edited(name, points={0: 1}, who="A. Smith", why="policy 7")
        >>> found.card_.terms[0].points[0], found.card_.details["edits"][0]["who"]
        (1, 'A. Smith')
        """
        check_is_fitted(self)
        rows = None
        if (X is None) != (y is None):
            raise _fail(f"pass X and y, or neither. Got {'X' if y is None else 'y'} alone")
        if X is not None:
            event = is_upper_label("edited", y, self.classes_, sample_weight)
            rows = self._rows(X), event, check_weight(sample_weight, len(event))
            check_lengths(X=rows[0], y=event)
        found = copy(self)
        found.card_ = edited_card(
            self.card_,
            term,
            {"points": points, "merge": merge, "threshold": threshold, "category": category},
            {"who": who, "why": why},
            rows,
        )
        return found


def edited_card(
    card: Card, name: str, changes: dict[str, Any], signed: dict[str, str], rows: Any = None
) -> Card:
    """Return a card with one change to a term, and with its log.

    Parameters
    ----------
    card : Card
        The card; it stays as it is.
    name : str
        Name of the term.
    changes : dict
        "points", "merge", "threshold" and "category", all but one None.
    signed : dict of str to str
        "who" and "why".
    rows : (X, event, weight) or None
        Training rows to count again.
    """
    for key, text in signed.items():
        if not isinstance(text, str) or not text.strip():
            raise _fail(f"{key} must be text that is not empty. Got {text!r}")
    given = [key for key, one in changes.items() if one is not None]
    if len(given) != 1:
        raise _fail(f"one change at a time, of {', '.join(changes)}. Got {given or 'none'}")
    names = [one.name for one in card.terms]
    if name not in names:
        raise _fail(f"term must be one of {names}. Got {name!r}")
    number = names.index(name)
    term, text = _CHANGES[given[0]](card.terms[number], changes[given[0]])
    moved = given[0] in ("threshold", "category")
    if moved:
        term = replace(term, counts=(), events=())
    after = _with_term(card, number, term)
    if moved:
        after = _counted(after, number, rows)
    record = {
        **signed,
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "term": name,
        "change": text,
        "before": fingerprint(card),
        "after": fingerprint(after),
    }
    details = {key: one for key, one in after.details.items() if key not in OF_POINTS}
    details[EDITS] = [*details.get(EDITS, ()), record]
    if card.risk and not card.is_edited:
        details.setdefault(MADE_FOR, fingerprint(card))
    after = replace(after, details=details)
    card_to_json(after)  # which checks it
    return after


def _fail(sentence: str) -> ValueError:
    return ValueError(f"The card can't be edited: {sentence}.")


def _with_term(card: Card, number: int, term: Variable | Pair) -> Card:
    """Return a card with another term in a place."""
    terms = list(card.terms)
    terms[number] = term
    return card.with_terms(terms)


def _counted(card: Card, number: int, rows: Any) -> Card:
    """Return a card with the counts of a term on some rows, if there are any."""
    if rows is None:
        if card.unseen == "refuse":
            raise _fail(
                "with unseen='refuse' the card must know what training has not seen. Pass the "
                "training rows as X and y"
            )
        return card
    X, event, weight = rows
    term = card.terms[number]
    bins = replace(card, unseen="neutral").bins(X)[:, number]
    sums = [np.bincount(bins, one, term.n_bins).tolist() for one in (weight, weight * event)]
    known = replace(term, counts=tuple(sums[0]), events=tuple(sums[1]))
    return _with_term(card, number, known)


def _bin_of(term: Variable | Pair, given: Any) -> int:
    """Return the number of a bin, given by its number, its label or the numbers of a cell."""
    labels = [one.removesuffix(NOT_SEEN) for one in term.labels()]
    if isinstance(given, str) and given.removesuffix(NOT_SEEN) in labels:
        return labels.index(given.removesuffix(NOT_SEEN))
    if isinstance(term, Pair) and isinstance(given, tuple) and len(given) == 2:
        sizes = [axis.n_bins for axis in term.axes]
        if all(isinstance(i, int) and 0 <= i < n for i, n in zip(given, sizes, strict=True)):
            return int(given[0]) * sizes[1] + int(given[1])
    if Number(0, term.n_bins - 1, integer=True).allows(given):
        return int(given)
    raise _fail(
        f"{term.name!r} has {term.n_bins} bins, numbered from 0, with the labels {labels}. "
        f"Got {given!r}"
    )


def _variable(term: Variable | Pair, what: str) -> Variable:
    if not isinstance(term, Variable):
        raise _fail(f"{what} of a pair can't be changed, only its points. Got {term.name!r}")
    return term


def _points(term: Any, given: Any) -> tuple[Any, str]:
    """Return a term with other points, and the change in words."""
    if not isinstance(given, Mapping) or not given:
        raise _fail(f"points must be a dict of points by bin. Got {given!r}")
    points, labels, texts = list(term.points), term.labels(), []
    for key, value in given.items():
        number = _bin_of(term, key)
        if not _POINTS.allows(value):
            raise _fail(f"points must be integers. Got {value!r} for {key!r}")
        texts.append(f"points of '{labels[number]}' from {points[number]} to {int(value)}")
        points[number] = int(value)
    return replace(term, points=tuple(points)), "; ".join(texts)


def _merged(term: Any, given: Any) -> tuple[Any, str]:
    """Return a variable with two bins as one, and the change in words."""
    term = _variable(term, "bins")
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise _fail(f"merge must be two bins. Got {given!r}")
    first, second = sorted(_bin_of(term, one) for one in given)
    if second >= term.n_values or first == second or (term.groups is None and second != first + 1):
        raise _fail(
            f"merge must be two neighbouring ranges, or two groups of categories. Got {given!r} of "
            f"{term.name!r}"
        )
    labels = term.labels()
    weights = np.array([term.counts[one] if term.counts else 1.0 for one in (first, second)])
    both = [term.points[one] for one in (first, second)]
    mean = np.average(both, weights=weights if weights.any() else None)
    points = int(nearest(mean))

    def joined(values: tuple[float, ...], merged: float) -> tuple[Any, ...]:
        kept = [one for number, one in enumerate(values) if number != second]
        return tuple(merged if number == first else one for number, one in enumerate(kept))

    parts: dict[str, Any] = {"points": joined(term.points, points)}
    for key in ("counts", "events"):
        values = getattr(term, key)
        if values:
            parts[key] = joined(values, values[first] + values[second])
    if term.groups is None:
        parts["thresholds"] = term.thresholds[:first] + term.thresholds[first + 1 :]
    else:
        groups = [one for number, one in enumerate(term.groups) if number != second]
        groups[first] = term.groups[first] + term.groups[second]
        parts["groups"] = tuple(groups)
    text = f"'{labels[first]}' ({both[0]}) and '{labels[second]}' ({both[1]}) merged, with {points}"
    return replace(term, **parts), text


def _moved_threshold(term: Any, given: Any) -> tuple[Any, str]:
    """Return a variable with a threshold elsewhere, and the change in words."""
    term = _variable(term, "thresholds")
    if not isinstance(given, tuple | list) or len(given) != 2:
        raise _fail(f"threshold must be a threshold and where it moves to. Got {given!r}")
    old, new = given
    if old not in term.thresholds:
        raise _fail(f"{term.name!r} has the thresholds {list(term.thresholds)}. Got {old!r}")
    place = term.thresholds.index(old)
    ends = (-np.inf, *term.thresholds, np.inf)
    low, high = ends[place], ends[place + 2]
    if not Number(-np.inf, closed="neither").allows(new) or not low < new < high:
        raise _fail(f"the threshold {old!r} can move between {low} and {high}. Got {new!r}")
    thresholds = list(term.thresholds)
    thresholds[place] = float(new)
    text = f"threshold from {number_text(old)} to {number_text(new)}"
    return replace(term, thresholds=tuple(thresholds)), text


def _moved_category(term: Any, given: Any) -> tuple[Any, str]:
    """Return a variable with a category in another group, and the change in words."""
    term = _variable(term, "groups")
    if term.groups is None or not isinstance(given, tuple | list) or len(given) != 2:
        raise _fail(f"category must be a category and its new group. Got {given!r}")
    value, target = given[0], _bin_of(term, given[1])
    own = [number for number, one in enumerate(term.groups) if value in one]
    if not own or target >= term.n_values or target == own[0]:
        raise _fail(
            f"a category of {term.name!r} moves to another of its groups, {list(term.groups)}. "
            f"Got {given!r}"
        )
    labels, source = term.labels(), own[0]
    groups = [tuple(one for one in group if one != value) for group in term.groups]
    groups[target] = (*groups[target], value)
    points = list(term.points)
    if not groups[source]:
        del groups[source], points[source]
    text = f"{label_of(value)} from '{labels[source]}' to '{labels[target]}'"
    return replace(term, groups=tuple(groups), points=tuple(points), counts=(), events=()), text


_CHANGES = {
    "points": _points,
    "merge": _merged,
    "threshold": _moved_threshold,
    "category": _moved_category,
}
