"""A scorecard as a JSON document, and the checks of one that was edited by hand."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

from sklearn_rank._core.validation import Number
from sklearn_rank.scorecard.card import MADE_FOR, Card, Variable, plain

LARGEST_TOTAL = 2**31 - 1
"""Totals fit into the integers of every database."""

_FORMAT = "sklearn_rank.scorecard"
_VERSION = 3

_NOT_FINITE = "float"
"""Key of an object that stands for an infinite number or NaN among the details."""

Check = Callable[[Any, str], Any]
"""Takes a value and its path in the document; returns it checked."""


def card_to_json(card: Card) -> str:
    """Return the card as a JSON document, which `card_from_json` reads back.

    Parameters
    ----------
    card : Card
        The scorecard.

    Returns
    -------
    str
        The document.

    Raises
    ------
    ValueError
        If the card has classes or categories that are neither strings nor numbers, or is
        inconsistent.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, card_from_json, card_to_json
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> text = card_to_json(card)
    >>> card_from_json(text).variables[0].points
    (-1, 2, 0)
    """
    document: dict[str, Any] = {"format": _FORMAT, "version": _VERSION}
    document |= {key: _encoded(getattr(card, key)) for key in _CARD}
    document["risk"] = [dict(zip(_RISK, row, strict=True)) for row in document["risk"]]
    _card_of(document)  # a card that could not be loaded is not stored
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def card_from_json(text: str | bytes) -> Card:
    """Return the card of a JSON document, after checking every part of it.

    Parameters
    ----------
    text : str or bytes
        The document.

    Returns
    -------
    Card
        The scorecard.

    Raises
    ------
    ValueError
        If the document is invalid; the message says what is wrong.

    Examples
    --------
    >>> from sklearn_rank.scorecard import card_from_json
    >>> card_from_json('{"format": "sklearn_rank.scorecard", "version": 9}')
    Traceback (most recent call last):
        ...
    ValueError: ... must be of version 3, which this release reads. Got version 9.
    """
    if not isinstance(text, str | bytes):
        raise ValueError(
            f"The scorecard must be JSON as a string or bytes. Got {type(text).__name__}."
        )
    try:
        hooks: Any = {"parse_constant": _refuse_constant, "parse_int": _integer_of}
        return _card_of(json.loads(text, object_pairs_hook=_unique, **hooks))
    except json.JSONDecodeError as error:
        raise ValueError(f"The scorecard is not valid JSON: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"The scorecard is not text in UTF-8: {error}.") from error
    except RecursionError as error:
        raise ValueError("The scorecard is not valid: it is nested too deeply.") from error


def _encoded(value: Any) -> Any:
    """Convert a field for JSON; numbers that are not finite become objects."""
    value = plain(value)
    if isinstance(value, Variable):
        return {key: _encoded(getattr(value, key)) for key in _VARIABLE}
    if isinstance(value, float) and not math.isfinite(value):
        return {_NOT_FINITE: str(value)}
    if isinstance(value, dict):
        return {key: _encoded(item) for key, item in value.items()}
    return [_encoded(item) for item in value] if isinstance(value, list | tuple) else value


def _card_of(document: Any) -> Card:
    """Return the card that a document describes."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _fail(f'the document must be an object with "format": "{_FORMAT}"')
    version = document.get("version")
    if isinstance(version, bool) or version != _VERSION:
        raise _fail(
            f"the document must be of version {_VERSION}, which this release reads. "
            f"Got version {_shortened(version)}"
        )
    try:
        json.dumps(document, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise _fail(
            f"the document contains an unpaired surrogate. Got {error.object[error.start]!r}"
        ) from None
    except TypeError as error:
        raise _fail(f"classes and details must be texts and numbers. {error}") from None
    fields = {key: document[key] for key in document if key not in ("format", "version")}
    checked = _object(_CARD)(fields, "the document")
    checked["variables"] = tuple(Variable(**fields) for fields in checked["variables"])
    checked["risk"] = tuple(tuple(row.values()) for row in checked["risk"])
    card = Card(**checked)
    for is_met, sentence in chain(_rules(card), _rules_of_risk(card)):
        if not is_met:
            raise _fail(sentence)
    return card


# Checks of values ------------------------------------------------------------------------------


def _fail(sentence: str) -> ValueError:
    return ValueError(f"The scorecard is not valid: {sentence}.")


def _shortened(value: Any) -> str:
    """Return a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object; raise an error if a key is duplicated."""
    for key in _duplicates(key for key, _ in pairs):
        raise _fail(f"the document has the key {key!r} twice in one object")
    return dict(pairs)


def _refuse_constant(constant: str) -> Any:
    raise _fail(f"the document must have finite numbers only. Got {constant}")


def _integer_of(digits: str) -> int:
    """Parse an integer; Python does not parse more than a few thousand digits."""
    try:
        return int(digits)
    except ValueError:
        raise _fail(f"the document has an integer of {len(digits)} digits") from None


def _check(
    is_valid: Callable[[Any], Any], wanted: str, convert: Callable[[Any], Any] = lambda value: value
) -> Check:
    """Return a check that a value meets a requirement."""

    def check(value: Any, path: str) -> Any:
        if not is_valid(value):
            raise _fail(f"{path} must be {wanted}. Got {_shortened(value)}")
        return convert(value)

    return check


def _object(fields: dict[str, Check]) -> Check:
    """Return a check for an object with exactly these keys; errors use its name if it has one."""

    def check(value: Any, path: str) -> dict[str, Any]:
        _any_object(value, path)
        for key in fields:
            if key not in value:
                raise _fail(f"{path} lacks {key!r}")
        for key in value:
            if key not in fields:
                raise _fail(f"{path} has the unknown key {key!r}; known are {', '.join(fields)}")
        checked: dict[str, Any] = {}
        for key, check_field in fields.items():
            owner = repr(checked["name"]) if "name" in checked else path
            checked[key] = check_field(value[key], f"{key} of {owner}")
        return checked

    return check


def _list(check: Check) -> Check:
    """Return a check for a list whose items pass a check."""

    def check_all(values: Any, path: str) -> tuple[Any, ...]:
        _any_list(values, path)
        return tuple(check(value, f"item {index} of {path}") for index, value in enumerate(values))

    return check_all


def _optional(check: Check) -> Check:
    return lambda value, path: None if value is None else check(value, path)


def _is_finite(value: Any) -> bool:
    """Whether a value is a finite number, not a Boolean."""
    try:
        return not isinstance(value, bool | str) and math.isfinite(value)
    except (OverflowError, TypeError):
        return False


def _is_scalar(value: Any) -> bool:
    if isinstance(value, str | bool):
        return True
    return _is_finite(value) and (isinstance(value, float) or -(2**63) <= value < 2**63)


def _integer(minimum: int = -LARGEST_TOTAL) -> Check:
    allowed = Number(minimum, LARGEST_TOTAL, integer=True)
    return _check(allowed.allows, f"an integer from {minimum} to {LARGEST_TOTAL}", int)


def _decoded(value: Any, path: str = "a detail") -> Any:
    """Decode a detail: the inverse of `_encoded`."""
    if isinstance(value, dict):
        if list(value) == [_NOT_FINITE]:
            return _any_infinite(value[_NOT_FINITE], path)
        return {key: _decoded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_decoded(item) for item in value]
    return value if value is None or isinstance(value, bool | str) else _number(value, path)


_any_object = _check(lambda value: isinstance(value, dict), "an object")
_any_list = _check(lambda value: isinstance(value, list), "a list")
_any_infinite = _check(("inf", "-inf", "nan").__contains__, "one of inf, -inf and nan", float)
_text = _check(lambda value: isinstance(value, str) and value, "a string that is not empty")
_number = _check(_is_finite, "a finite number")
_float = _check(_is_finite, "a finite number", float)
_scalar = _check(_is_scalar, "a string, a number of at most 64 bits, true or false")

_VARIABLE = {
    "name": _text,
    "column": _integer(0),
    "points": _list(_integer()),
    "thresholds": _list(_float),
    "special": _list(_float),
    "groups": _optional(_list(_list(_scalar))),
    "counts": _list(_float),
    "events": _list(_float),
}
_RISK = dict.fromkeys(("total", "probability", "low", "high"), _number)
_CARD = {
    "classes": _list(_scalar),
    "intercept": _integer(),
    "cut": _integer(),
    "n_features": _integer(1),
    "feature_names": _optional(_list(_text)),
    "variables": _list(_object(_VARIABLE)),
    "risk": _list(_object(_RISK)),
    "details": lambda value, path: _decoded(_any_object(value, path)),
}
"""The keys of a document, and the check of each value."""


# Rules between values ----------------------------------------------------------------------------


Rules = Iterator[tuple[bool, str]]
"""Whether a rule holds, and the error where it does not."""


def _duplicates(values: Iterable[Any]) -> list[Any]:
    """Return the values that occur more than once."""
    return [value for value, count in Counter(values).items() if count > 1]


def _distinct(values: Iterable[Any], path: str) -> Rules:
    for value in _duplicates(values):
        yield False, f"{path} must be distinct. {_shortened(value)} is there twice"


def _is_increasing(values: Sequence[float]) -> bool:
    return all(low < high for low, high in pairwise(values))


def _rules(card: Card) -> Rules:
    """Yield the rules that the fields of a card must satisfy, the basic ones first."""
    n_features, names = card.n_features, card.feature_names
    yield len(card.classes) == 2, f"classes must be two. Got {len(card.classes)}"
    yield from _distinct(card.classes, "classes")
    if names is not None:
        message = f"feature_names must be {n_features}, n_features"
        yield len(names) == n_features, f"{message}. Got {len(names)}"
        yield from _distinct(names, "feature_names")
    for variable in card.variables:
        yield from _rules_of_variable(variable, card)
    yield from _distinct((variable.column for variable in card.variables), "columns of variables")
    yield from _distinct((variable.name for variable in card.variables), "names of variables")
    # A bound on the absolute totals and all their partial sums.
    points = [variable.points for variable in card.variables]
    bound = abs(card.intercept) + sum(max(map(abs, table)) for table in points)
    yield bound <= LARGEST_TOTAL, f"the sum of the largest points must not exceed {LARGEST_TOTAL}"


def _rules_of_variable(variable: Variable, card: Card) -> Rules:
    """Yield the rules that the fields of a variable must satisfy."""
    name, column, n_features = repr(variable.name), variable.column, card.n_features
    yield column < n_features, f"the column of {name} must be below {n_features}. Got {column}"
    expected = variable.name if card.feature_names is None else card.feature_names[column]
    message = f"column {column} is {expected!r} in feature_names, not {name}"
    yield expected == variable.name, message
    thresholds, groups = variable.thresholds, variable.groups
    message = f"thresholds of {name} must increase. Got {_shortened(list(thresholds))}"
    yield _is_increasing(thresholds), message
    has_one_kind = variable.kind == "number" or not thresholds
    yield has_one_kind, f"{name} must have thresholds or groups of categories, not both"
    yield all(groups or ()), f"a group of {name} must have a category"
    values = [*variable.special, *chain(*(groups or ()))]
    yield from _distinct(values, f"special codes and categories of {name}")
    n_bins, n_points = variable.n_bins, len(variable.points)
    message = (
        f"{n_bins}: {variable.n_values} of bins of values, {len(variable.special)} of special "
        f"codes, 1 of missing values{'' if groups is None else ' and 1 of any other category'}"
    )
    yield n_points == n_bins, f"points of {name} must be {message}. Got {n_points}"
    for key, weights in (("counts", variable.counts), ("events", variable.events)):
        smallest, has_none = min(weights, default=0), not variable.counts and not variable.events
        is_complete = len(weights) == n_bins or has_none
        yield is_complete, f"{key} of {name} must be {n_bins} or none. Got {len(weights)}"
        yield smallest >= 0, f"{key} of {name} must not be negative. Got {smallest}"
    for count, events in zip(variable.counts, variable.events, strict=True):
        message = f"events of {name} must not exceed counts"
        yield events <= count * (1 + 1e-9), f"{message}. Got {events} of {count}"


def _rules_of_risk(card: Card) -> Rules:
    """Yield the rules that the risk table must satisfy."""
    fingerprint = card.fingerprint()
    yield _is_increasing([total for total, *_ in card.risk]), "the totals of risk must increase"
    for total, risk, low, high in card.risk:
        message = f"the row of risk of the total {total} must have numbers from 0 to 1"
        yield min(risk, low, high) >= 0 and max(risk, low, high) <= 1, message
        message = f"the probability of the total {total} must be from low to high"
        yield low <= risk <= high, f"{message}. Got {risk}, {low} and {high}"
    for (_, last_risk, *_), (total, risk, *_) in pairwise(card.risk):
        message = f"the probability of the total {total} must not be below that of the total before"
        yield last_risk <= risk, f"{message}. Got {risk} after {last_risk}"
    is_same = not card.risk or card.details.get(MADE_FOR, fingerprint) == fingerprint
    message = "the risk table was made for other points or bins than the card has now"
    yield is_same, f'{message}. Set "risk" to [] to use the card without probabilities'
