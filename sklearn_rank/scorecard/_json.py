"""A scorecard as a JSON document, and the checks of one that was edited by hand."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

from sklearn_rank.scorecard._cases import (
    LARGEST_TOTAL,
    common_kind,
    largest_total,
    plain,
)
from sklearn_rank.scorecard.card import Card, Variable

_FORMAT = "sklearn_rank.scorecard"
_VERSION = 1
_CARD = (
    "format",
    "version",
    "classes",
    "intercept",
    "cut",
    "n_features",
    "feature_names",
    "variables",
    "risk",
    "details",
)
_VARIABLE = (
    "name",
    "column",
    "thresholds",
    "special",
    "groups",
    "points",
    "counts",
    "events",
)
_RISK = ("total", "probability", "low", "high")
_NOT_FINITE = "float"
"""Key of an object that stands for an infinite number or NaN among the details."""


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
    document = {
        "format": _FORMAT,
        "version": _VERSION,
        "classes": _plain_list(card.classes),
        "intercept": plain(card.intercept),
        "cut": plain(card.cut),
        "n_features": plain(card.n_features),
        "feature_names": None if card.feature_names is None else _plain_list(card.feature_names),
        "variables": [_variable_fields(one) for one in card.variables],
        "risk": [dict(zip(_RISK, _plain_list(row), strict=True)) for row in card.risk],
        "details": _encoded(card.details),
    }
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
    >>> card_from_json('{"format": "sklearn_rank.scorecard", "version": 2}')
    Traceback (most recent call last):
        ...
    ValueError: ... of version 1, ... Got version 2.
    """
    if not isinstance(text, str | bytes):
        raise ValueError(
            f"The scorecard must be JSON as a string or bytes. Got {type(text).__name__}."
        )
    try:
        return _card_of(json.loads(text, **_HOOKS))
    except json.JSONDecodeError as error:
        raise ValueError(f"The scorecard is not valid JSON: {error}.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"The scorecard is not text in UTF-8: {error}.") from error
    except RecursionError as error:
        raise ValueError("The scorecard is not valid: it is nested too deeply.") from error


# Writing -------------------------------------------------------------------------------


def _plain_list(values: Iterable[Any]) -> list[Any]:
    return [plain(one) for one in values]


def _variable_fields(variable: Variable) -> dict[str, Any]:
    """Return the fields of a variable, lists in place of tuples."""
    groups = variable.groups
    return {
        "name": variable.name,
        "column": plain(variable.column),
        "thresholds": _plain_list(variable.thresholds),
        "special": _plain_list(variable.special),
        "groups": None if groups is None else [_plain_list(group) for group in groups],
        "points": _plain_list(variable.points),
        "counts": _plain_list(variable.counts),
        "events": _plain_list(variable.events),
    }


def _encoded(value: Any) -> Any:
    """Return a detail as JSON has it; numbers that are not finite become objects."""
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {_NOT_FINITE: str(value)}
    if isinstance(value, dict):
        return {key: _encoded(one) for key, one in value.items()}
    return [_encoded(one) for one in value] if isinstance(value, list | tuple) else value


# Reading -------------------------------------------------------------------------------


def _fail(place: str, wrong: str) -> ValueError:
    return ValueError(f"The scorecard is not valid: {place} {wrong}.")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON; a key that stands in it twice is an error."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise _fail("the document", f"has the key {twice!r} twice in one object")
    return found


def _refused(constant: str) -> Any:
    raise _fail("the document", f"must have finite numbers only. Got {constant}")


def _integer_of(digits: str) -> int:
    """Return an integer; Python reads no more than some thousand digits."""
    try:
        return int(digits)
    except ValueError:
        raise _fail("the document", f"has an integer of {len(digits)} digits") from None


_HOOKS: dict[str, Any] = {
    "object_pairs_hook": _unique,
    "parse_constant": _refused,
    "parse_int": _integer_of,
}


def _shown(value: Any) -> str:
    """Return a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _fields(value: Any, keys: tuple[str, ...], place: str) -> dict[str, Any]:
    """Return an object that has these keys and no others."""
    if not isinstance(value, dict):
        raise _fail(place, f"must be an object. Got {_shown(value)}")
    lacking = [key for key in keys if key not in value]
    if lacking:
        raise _fail(place, f"lacks {lacking[0]!r}")
    unknown = [key for key in value if key not in keys]
    if unknown:
        raise _fail(place, f"has the unknown key {unknown[0]!r}; known are {', '.join(keys)}")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _fail(place, f"must be a list. Got {_shown(value)}")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise _fail(place, f"must be a string that is not empty. Got {_shown(value)}")
    return _writable(value, place)


def _writable(value: Any, place: str) -> str:
    """Return a string that can be written to files."""
    if not isinstance(value, str):
        raise _fail(place, f"must be a string. Got {_shown(value)}")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise _fail(place, f"has half a character. Got {_shown(value)}") from None
    return value


def _integer(value: Any, place: str, least: int = -LARGEST_TOTAL) -> int:
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or not least <= value <= LARGEST_TOTAL:
        wanted = f"must be an integer from {least} to {LARGEST_TOTAL}"
        raise _fail(place, f"{wanted}. Got {_shown(value)}")
    return int(value)


def _number(value: Any, place: str) -> Any:
    """Return a finite number, an integer as an integer."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    try:
        is_finite = is_number and math.isfinite(float(value))
    except OverflowError:
        is_finite = False
    if not is_finite:
        raise _fail(place, f"must be a finite number. Got {_shown(value)}")
    return value


def _floats(values: Any, place: str) -> tuple[float, ...]:
    return tuple(float(_number(one, f"a number of {place}")) for one in _list(values, place))


def _scalar(value: Any, place: str) -> Any:
    """Return a class or a category: a string, a truth value or a finite number."""
    if isinstance(value, str):
        return _writable(value, place)
    if isinstance(value, bool):
        return value
    if not isinstance(value, int | float):
        raise _fail(place, f"must be a string, a number, true or false. Got {_shown(value)}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise _fail(place, f"must have at most 64 bits. Got {_shown(value)}")
    return _number(value, place)


def _distinct(values: Iterable[Any], place: str) -> None:
    seen = set()
    for one in values:
        if one in seen:
            raise _fail(place, f"must be distinct. {_shown(one)} is there twice")
        seen.add(one)


def _card_of(document: Any) -> Card:
    """Return the card that a document describes."""
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise _fail("the document", f'must be an object with "format": "{_FORMAT}"')
    version = document.get("version")
    if isinstance(version, bool) or version != _VERSION:
        raise _fail(
            "the document",
            f"must be of version {_VERSION}, which this release reads. Got version "
            f"{_shown(version)}",
        )
    given = _fields(document, _CARD, "the document")
    classes = tuple(_scalar(one, "a class") for one in _list(given["classes"], "classes"))
    if len(classes) != 2:
        raise _fail("classes", f"must be two. Got {len(classes)}")
    _distinct(classes, "classes")
    n_features = _integer(given["n_features"], "n_features", 1)
    names = _feature_names(given["feature_names"], n_features)
    variables = [
        _variable(one, f"variable {number}", n_features, names)
        for number, one in enumerate(_list(given["variables"], "variables"))
    ]
    _distinct((one.column for one in variables), "columns of variables")
    _distinct((one.name for one in variables), "names of variables")
    intercept = _integer(given["intercept"], "intercept")
    if largest_total(intercept, [one.points for one in variables]) > LARGEST_TOTAL:
        raise _fail("the sum of the largest points", f"must not exceed {LARGEST_TOTAL}")
    return Card(
        variables=tuple(variables),
        intercept=intercept,
        cut=_integer(given["cut"], "cut"),
        classes=(classes[0], classes[1]),
        n_features=n_features,
        feature_names=names,
        risk=_risk(given["risk"]),
        details=_details(given["details"]),
    )


def _feature_names(given: Any, n_features: int) -> tuple[str, ...] | None:
    """Return the names of all columns."""
    if given is None:
        return None
    names = tuple(_text(one, "a name of feature_names") for one in _list(given, "feature_names"))
    if len(names) != n_features:
        raise _fail("feature_names", f"must be {n_features}, n_features. Got {len(names)}")
    _distinct(names, "feature_names")
    return names


def _variable(given: Any, place: str, n_features: int, names: tuple[str, ...] | None) -> Variable:
    """Return a variable."""
    given = _fields(given, _VARIABLE, place)
    name = _text(given["name"], f"the name of {place}")
    column = _integer(given["column"], f"the column of {name!r}", 0)
    if column >= n_features:
        raise _fail(f"the column of {name!r}", f"must be below {n_features}. Got {column}")
    if names is not None and names[column] != name:
        raise _fail(f"column {column}", f"is {names[column]!r} in feature_names, not {name!r}")
    thresholds = _floats(given["thresholds"], f"thresholds of {name!r}")
    if any(low >= high for low, high in pairwise(thresholds)):
        raise _fail(f"thresholds of {name!r}", f"must increase. Got {_shown(list(thresholds))}")
    special = _floats(given["special"], f"special of {name!r}")
    groups = _groups(given["groups"], name, thresholds)
    _distinct(chain(special, *(groups or ())), f"special codes and categories of {name!r}")
    common_kind([*chain(*groups), *special] if groups else [], name)
    points = tuple(
        _integer(one, f"points of {name!r}")
        for one in _list(given["points"], f"points of {name!r}")
    )
    variable = Variable(name, column, points, thresholds, special, groups)
    n_bins = variable.n_values + len(special) + 1
    if len(points) != n_bins:
        raise _fail(
            f"points of {name!r}",
            f"must be {n_bins}: {variable.n_values} of bins of values, {len(special)} of special "
            f"codes and 1 of missing values. Got {len(points)}",
        )
    counts, events = _weights(given, name, n_bins)
    return Variable(name, column, points, thresholds, special, groups, counts, events)


def _groups(given: Any, name: str, thresholds: tuple[float, ...]) -> Any:
    """Return the groups of categories."""
    place = f"groups of {name!r}"
    if given is None:
        return None
    if thresholds:
        raise _fail(f"{name!r}", "must have thresholds or groups of categories, not both")
    groups = tuple(
        tuple(
            _scalar(one, f"a category of {name!r}") for one in _list(group, f"a group of {name!r}")
        )
        for group in _list(given, place)
    )
    if not all(groups):
        raise _fail(f"a group of {name!r}", "must have a category")
    return groups


def _weights(
    given: dict[str, Any], name: str, n_bins: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return counts and events, both of all bins or both empty."""
    counts = _floats(given["counts"], f"counts of {name!r}")
    events = _floats(given["events"], f"events of {name!r}")
    if not counts and not events:
        return counts, events
    for key, weights in (("counts", counts), ("events", events)):
        if len(weights) != n_bins:
            raise _fail(f"{key} of {name!r}", f"must be {n_bins} or none. Got {len(weights)}")
        if min(weights) < 0:
            raise _fail(f"{key} of {name!r}", f"must not be negative. Got {min(weights)}")
    for count, of_them in zip(counts, events, strict=True):
        if of_them > count * (1 + 1e-9):
            raise _fail(f"events of {name!r}", f"must not exceed counts. Got {of_them} of {count}")
    return counts, events


def _risk(given: Any) -> Any:
    """Return the rows of the risk table."""
    rows = []
    for one in _list(given, "risk"):
        row = _fields(one, _RISK, "a row of risk")
        rows.append(tuple(_number(row[key], f"{key} of a row of risk") for key in _RISK))
    if any(low[0] >= high[0] for low, high in pairwise(rows)):
        raise _fail("the totals of risk", "must increase")
    for total, *probabilities in rows:
        if not all(0 <= one <= 1 for one in probabilities):
            raise _fail(f"the row of risk of the total {total}", "must have numbers from 0 to 1")
    return tuple(rows)


def _details(given: Any) -> dict[str, Any]:
    """Return the details."""
    if not isinstance(given, dict):
        raise _fail("details", f"must be an object. Got {_shown(given)}")
    return {_writable(key, "a key of details"): _decoded(one) for key, one in given.items()}


def _decoded(value: Any) -> Any:
    """Return a detail, the counterpart of `_encoded`."""
    if isinstance(value, dict):
        if list(value) == [_NOT_FINITE]:
            name = value[_NOT_FINITE]
            if name not in ("inf", "-inf", "nan"):
                raise _fail("a detail", f"must be one of inf, -inf and nan. Got {_shown(name)}")
            return float(name)
        return {_writable(key, "a key of details"): _decoded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    if isinstance(value, str):
        return _writable(value, "a detail")
    return value if value is None or isinstance(value, bool) else _number(value, "a detail")
