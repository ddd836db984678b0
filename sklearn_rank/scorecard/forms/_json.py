"""A scorecard as a JSON document, and the checks of one that was edited by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from sklearn_rank.scorecard.card import ADVERSE, UNSEEN, Card
from sklearn_rank.scorecard.terms import Axis, Pair, Variable, plain

LARGEST_TOTAL = 2**31 - 1
"""Totals fit into the integers of every database."""

_FORMAT = "sklearn_rank.scorecard"
_VERSION = 2
"""2 has pairs, the bin of categories that are not named, `adverse` and `unseen`."""

_NOT_FINITE = "float"
"""Key of an object that stands for an infinite number or NaN among the details."""

Check = Callable[[Any, str], Any]
"""Takes a value and where it stands; returns it checked."""


def card_to_json(card: Card) -> str:
    """Return the card as a JSON document, from which `card_from_json` makes an equal one.

    Raises
    ------
    ValueError
        When the card has classes or categories that are neither strings nor numbers, or is
        not consistent in itself.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, card_from_json, card_to_json
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> text = card_to_json(card)
    >>> card_from_json(text).variables[0].points
    (-1, 2, 0)
    """
    for column in card.features:
        card.kind_of(column)  # raises an error for categories that are no texts or numbers
    document: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    document |= {key: _encoded(getattr(card, key)) for key in _CARD}
    document["risk"] = [dict(zip(_RISK, row, strict=True)) for row in document["risk"]]
    _card_of(document)  # a card that could not be loaded is not stored
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def card_from_json(text: str | bytes) -> Card:
    """Return the card of a JSON document, after checking every part of it.

    Raises
    ------
    ValueError
        With a sentence that says what is wrong with the document.

    Examples
    --------
    >>> from sklearn_rank.scorecard import card_from_json
    >>> card_from_json('{"format": "sklearn_rank.scorecard", "version": 3}')
    Traceback (most recent call last):
        ...
    ValueError: ... newer ... Got version 3.
    """
    if not isinstance(text, str | bytes):
        raise ValueError(
            f"The scorecard must be JSON as a string or bytes. Got {type(text).__name__}."
        )
    try:
        hooks: Any = {"parse_constant": _refused, "parse_int": _integer_of}
        return _card_of(json.loads(text, object_pairs_hook=_unique, **hooks))
    except json.JSONDecodeError as error:
        raise ValueError(f"The scorecard is not valid JSON: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"The scorecard is not text in UTF-8: {error}.") from error
    except RecursionError as error:
        raise ValueError("The scorecard is not valid: it is nested too deeply.") from error


# Writing -------------------------------------------------------------------------------


def _encoded(value: Any) -> Any:
    """Return a field as JSON has it; numbers that are not finite become objects."""
    value = plain(value)
    for kind, keys in ((Variable, _VARIABLE), (Pair, _PAIR), (Axis, _AXIS)):
        if isinstance(value, kind):
            return {key: _encoded(getattr(value, key)) for key in keys}
    if isinstance(value, float) and not math.isfinite(value):
        return {_NOT_FINITE: str(value)}
    if isinstance(value, dict):
        return {key: _encoded(one) for key, one in value.items()}
    return [_encoded(one) for one in value] if isinstance(value, list | tuple) else value


# Reading -------------------------------------------------------------------------------


def _fail(sentence: str) -> ValueError:
    return ValueError(f"The scorecard is not valid: {sentence}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a key that stands in it twice is an error."""
    for key in _repeated(key for key, _ in pairs):
        raise _fail(f"the document has the key {key!r} twice in one object")
    return dict(pairs)


def _refused(constant: str) -> Any:
    raise _fail(f"the document must have finite numbers only. Got {constant}")


def _integer_of(digits: str) -> int:
    """Return an integer; Python reads no more than some thousand digits."""
    try:
        return int(digits)
    except ValueError:
        raise _fail(f"the document has an integer of {len(digits)} digits") from None


def _shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _repeated(values: Iterable[Any]) -> list[Any]:
    """Return the values that were there before."""
    return [one for one, number in Counter(values).items() if number > 1]


def _check(
    is_so: Callable[[Any], Any], wanted: str, convert: Callable[[Any], Any] = lambda value: value
) -> Check:
    """Return the check that a value is as wanted."""

    def check(value: Any, place: str) -> Any:
        if not is_so(value):
            raise _fail(f"{place} must be {wanted}. Got {_shown(value)}")
        return convert(value)

    return check


def _object(fields: dict[str, Check]) -> Check:
    """Return the check of an object with these keys and no others, called by its name if any."""

    def check(value: Any, place: str) -> dict[str, Any]:
        _any_object(value, place)
        for key in fields:
            if key not in value:
                raise _fail(f"{place} lacks {key!r}")
        for key in value:
            if key not in fields:
                raise _fail(f"{place} has the unknown key {key!r}; known are {', '.join(fields)}")
        found: dict[str, Any] = {}
        for key, check_one in fields.items():
            owner = repr(found["name"]) if "name" in found else place
            found[key] = check_one(value[key], f"{key} of {owner}")
        return found

    return check


def _list(check: Check) -> Check:
    """Return the check of a list of such items."""

    def check_all(values: Any, place: str) -> tuple[Any, ...]:
        _any_list(values, place)
        return tuple(check(one, f"item {number} of {place}") for number, one in enumerate(values))

    return check_all


def _optional(check: Check) -> Check:
    return lambda value, place: None if value is None else check(value, place)


def _is_finite(value: Any) -> bool:
    """Whether a value is a finite number and no truth value."""
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)
    except (OverflowError, TypeError):
        return False


def _is_scalar(value: Any) -> bool:
    if isinstance(value, str | bool):
        return True
    return _is_finite(value) and (isinstance(value, float) or -(2**63) <= value < 2**63)


def _integer(least: int = -LARGEST_TOTAL) -> Check:
    def is_so(value: Any) -> bool:
        is_integer = isinstance(value, int) and not isinstance(value, bool)
        return is_integer and least <= value <= LARGEST_TOTAL

    return _check(is_so, f"an integer from {least} to {LARGEST_TOTAL}", int)


def _decoded(value: Any, place: str = "a detail") -> Any:
    """Return a detail, the counterpart of `_encoded`."""
    if isinstance(value, dict):
        if list(value) == [_NOT_FINITE]:
            return _any_infinite(value[_NOT_FINITE], place)
        return {key: _decoded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    return value if value is None or isinstance(value, bool | str) else _number(value, place)


_any_object = _check(lambda value: isinstance(value, dict), "an object")
_any_list = _check(lambda value: isinstance(value, list), "a list")
_any_infinite = _check(("inf", "-inf", "nan").__contains__, "one of inf, -inf and nan", float)
_text = _check(lambda value: isinstance(value, str) and value, "a string that is not empty")
_number = _check(_is_finite, "a finite number")
_float = _check(_is_finite, "a finite number", float)
_scalar = _check(_is_scalar, "a string, a number of at most 64 bits, true or false")


def _one_of(values: Sequence[str]) -> Check:
    listed = ", ".join(map(repr, values))
    return _check(lambda value: isinstance(value, str) and value in values, f"one of {listed}")


_AXIS = {
    "name": _text,
    "column": _integer(0),
    "thresholds": _list(_float),
    "special": _list(_float),
    "groups": _optional(_list(_list(_scalar))),
}
_TABLE = {"points": _list(_integer()), "counts": _list(_float), "events": _list(_float)}
_VARIABLE = _AXIS | _TABLE
_PAIR = {"first": _object(_AXIS), "second": _object(_AXIS)} | _TABLE
_RISK = dict.fromkeys(("total", "probability", "low", "high"), _number)
_CARD = {
    "classes": _list(_scalar),
    "intercept": _integer(),
    "cut": _integer(),
    "n_features": _integer(1),
    "feature_names": _optional(_list(_text)),
    "variables": _list(_object(_VARIABLE)),
    "pairs": _list(_object(_PAIR)),
    "adverse": _optional(_one_of(ADVERSE)),
    "unseen": _one_of(UNSEEN),
    "risk": _list(_object(_RISK)),
    "details": lambda value, place: _decoded(_any_object(value, place)),
}
"""The keys of a document, and the check of each value."""


def _card_of(document: Any) -> Card:
    """Return the card that a document describes."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _fail(f'the document must be an object with "format": "{_FORMAT}"')
    version = document.get("version")
    if isinstance(version, bool) or version not in range(1, _VERSION + 1):
        is_newer = isinstance(version, int | float) and version > _VERSION
        raise _fail(
            f"the document must be of version 1 to {_VERSION}, which this release reads"
            f"{'; a newer release wrote it' if is_newer else ''}. Got version {_shown(version)}"
        )
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise _fail(
            f"the document has half a character. Got {error.object[error.start]!r}"
        ) from None
    except TypeError as error:
        raise _fail(f"classes and details must be texts and numbers. {error}") from None
    fields = {key: document[key] for key in document if key not in ("format", "version")}
    if version == 1:
        fields = {**fields, "pairs": [], "adverse": None, "unseen": "neutral"}
    given = _object(_CARD)(fields, "the document")
    given["variables"] = tuple(Variable(**one) for one in given["variables"])
    given["pairs"] = tuple(
        Pair(**one | {key: Axis(**one[key]) for key in ("first", "second")})
        for one in given["pairs"]
    )
    given["risk"] = tuple(tuple(row.values()) for row in given["risk"])
    card = Card(**given)
    for is_so, sentence in _rules(card):
        if not is_so:
            raise _fail(sentence)
    return card


Rules = Iterator[tuple[bool, str]]
"""Whether a rule holds, and what to say where it does not."""


def _distinct(values: Iterable[Any], place: str) -> Rules:
    for one in _repeated(values):
        yield False, f"{place} must be distinct. {_shown(one)} is there twice"


def _rules(card: Card) -> Rules:
    """Yield what must hold between the fields of a card, the first ones first."""
    n_features, names = card.n_features, card.feature_names
    yield len(card.classes) == 2, f"classes must be two. Got {len(card.classes)}"
    yield from _distinct(card.classes, "classes")
    if names is not None:
        wanted = f"feature_names must be {n_features}, n_features"
        yield len(names) == n_features, f"{wanted}. Got {len(names)}"
        yield from _distinct(names, "feature_names")
    for term in card.terms:
        for axis in term.axes:
            yield from _rules_of_axis(axis, card)
        yield from _rules_of_table(term)
    yield from _distinct((one.column for one in card.variables), "columns of variables")
    yield from _distinct((one.name for one in card.variables), "names of variables")
    yield from _distinct((tuple(sorted(one.columns)) for one in card.pairs), "columns of pairs")
    yield from _rules_of_kinds(card)
    # A bound on the absolute totals and all their partial sums.
    ranges = (max(map(abs, one.points), default=0) for one in card.terms)
    largest = abs(card.intercept) + sum(ranges)
    yield largest <= LARGEST_TOTAL, f"the sum of the largest points must not exceed {LARGEST_TOTAL}"
    yield _increase([total for total, *_ in card.risk]), "the totals of risk must increase"
    for total, *shares in card.risk:
        wanted = "must have numbers from 0 to 1"
        yield all(0 <= one <= 1 for one in shares), f"the row of risk of the total {total} {wanted}"
        risk, low, high = shares
        wanted = f"the probability of the total {total} must be from low to high"
        yield low <= risk <= high, f"{wanted}. Got {risk}, {low} and {high}"
    for (_, before, *_), (total, risk, *_) in pairwise(card.risk):
        wanted = f"the probability of the total {total} must not be below that of the total before"
        yield before <= risk, f"{wanted}. Got {risk} after {before}"


def _increase(values: Sequence[float]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _rules_of_axis(one: Any, card: Card) -> Rules:
    """Yield what must hold between the bins of a feature and the card."""
    name, column = repr(one.name), one.column
    n_features, names = card.n_features, card.feature_names
    yield column < n_features, f"the column of {name} must be below {n_features}. Got {column}"
    known = one.name if names is None else names[column]
    yield known == one.name, f"column {column} is {known!r} in feature_names, not {name}"
    limits, groups = one.thresholds, one.groups or ()
    yield _increase(limits), f"thresholds of {name} must increase. Got {_shown(list(limits))}"
    is_of_one_kind = one.kind == "number" or not limits
    yield is_of_one_kind, f"{name} must have thresholds or groups of categories, not both"
    yield all(groups), f"a group of {name} must have a category"
    values = [*one.special, *chain(*groups)]
    yield from _distinct(values, f"special codes and categories of {name}")


def _rules_of_table(one: Variable | Pair) -> Rules:
    """Yield what must hold of the points and the weights of a term."""
    name, n_bins = repr(one.name), one.n_bins
    parts = [
        f"{axis.n_values} of bins of values, {len(axis.special)} of special codes, 1 of missing "
        f"values{'' if axis.groups is None else ' and 1 of any other category'}"
        for axis in one.axes
    ]
    wanted = f"{n_bins}: {', times '.join(parts)}"
    yield len(one.points) == n_bins, f"points of {name} must be {wanted}. Got {len(one.points)}"
    for key, weights in (("counts", one.counts), ("events", one.events)):
        right, least = len(weights) == n_bins, min(weights, default=0)
        is_none = not one.counts and not one.events
        yield right or is_none, f"{key} of {name} must be {n_bins} or none. Got {len(weights)}"
        yield least >= 0, f"{key} of {name} must not be negative. Got {least}"
    for count, events in zip(one.counts, one.events, strict=True):
        wanted = f"events of {name} must not exceed counts"
        yield events <= count * (1 + 1e-9), f"{wanted}. Got {events} of {count}"


def _rules_of_kinds(card: Card) -> Rules:
    """Yield what must hold between the terms that one feature is in."""
    for pair in card.pairs:
        wanted = f"the pair {pair.name!r} must have two features"
        yield pair.first.column != pair.second.column, f"{wanted}. Got one twice"
    for column, name in card.features.items():
        of_one = {axis.groups is None for axis in card.axes_of(column)}
        yield len(of_one) == 1, f"{name!r} must be numbers or categories in all terms. Got both"
        card.kind_of(column)
