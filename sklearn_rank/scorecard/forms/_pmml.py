"""A scorecard in the Predictive Model Markup Language."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from sklearn_rank._core.release import __version__
from sklearn_rank.scorecard._adverse import adverse_end, best_points
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.terms import Pair, Variable, number_text

_FIELDS = {
    "number": ("continuous", "double"),
    "float": ("continuous", "double"),
    "int": ("categorical", "integer"),
    "bool": ("categorical", "boolean"),
    "str": ("categorical", "string"),
}
_Predicate = tuple[str, list[Any], dict[str, str]]
"""The tag of an element, its predicates and its attributes."""

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_N_REASONS = 4
_OPERATORS = {"=": "equal", "<=": "lessOrEqual"}

_ALWAYS: _Predicate = ("True", [], {})


def to_pmml(card: Card, *, name: str = "score") -> str:
    """Return the card as a Scorecard element of PMML 4.4.

    The predicted value is the total. Fields are named after the features, or x0, x1, ... Reason
    codes are the names of the terms, ordered by the points lost compared with the best attainable
    ones of each: the smallest where high totals are bad, else the largest. The PMML reader decides
    the order of ties, and what the reason fields hold if fewer terms lose points.

    A Characteristic of a pair has predicates of two fields, joined by "and"; the document says
    in words that those of one Characteristic refer to one field, but its schema and the readers
    that we know (PyPMML, with the evaluator of PMML4S) take them. For a row with a value that
    ``unseen="refuse"`` refuses no Attribute of a Characteristic holds, so that the result is
    invalid: PyPMML raises an error.

    Parameters
    ----------
    card : Card
        The scorecard.
    name : str, default="score"
        Name of the output field of the total.

    Returns
    -------
    str
        The document.

    Raises
    ------
    ValueError
        When it is unknown which end of the totals is bad, when the card has no term, and for
        characters that XML cannot hold.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_pmml
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",), adverse="low")
    >>> print(to_pmml(card).partition("<Characteristics>")[2].partition("</Characteristics>")[0])
    <BLANKLINE>
          <Characteristic name="age" reasonCode="age" baselineScore="2">
            <Attribute partialScore="0">
              <SimplePredicate field="age" operator="isMissing" />
            </Attribute>
            <Attribute partialScore="-1">
              <SimplePredicate field="age" operator="lessOrEqual" value="29.5" />
            </Attribute>
            <Attribute partialScore="2">
              <True />
            </Attribute>
          </Characteristic>
    <BLANKLINE>
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"The name of to_pmml must be a string with a character. Got {name!r}.")
    if not card.terms:
        raise ValueError("A Scorecard of PMML needs a variable, and this card has none.")
    is_high = adverse_end(card, "to_pmml") == "high"
    document = _element(None, "PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    header = _element(document, "Header")
    _element(header, "Application", name="sklearn_rank", version=__version__)
    axes = {axis.column: axis for term in card.terms for axis in term.axes}
    fields = [(card.column_name(one), card.kind_of(column)) for column, one in axes.items()]
    dictionary = _element(document, "DataDictionary", numberOfFields=str(len(fields)))
    for field, kind in fields:
        optype, data_type = _FIELDS[kind]
        _element(dictionary, "DataField", name=field, optype=optype, dataType=data_type)
    model = _element(
        document,
        "Scorecard",
        modelName="scorecard",
        functionName="regression",
        initialScore=str(int(card.intercept)),
        useReasonCodes="true",
        reasonCodeAlgorithm="pointsAbove" if is_high else "pointsBelow",
        baselineMethod="min" if is_high else "max",
    )
    schema = _element(model, "MiningSchema")
    for field, _ in fields:
        # As it is: without a list of valid values nothing is invalid.
        _element(schema, "MiningField", name=field, invalidValueTreatment="asIs")
    _add_output(model, name, len(card.terms))
    characteristics = _element(model, "Characteristics")
    for term, best in zip(card.terms, best_points(card, "to_pmml").tolist(), strict=True):
        _add_characteristic(characteristics, card, term, best)
    ElementTree.indent(document)
    declaration = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return declaration + ElementTree.tostring(document, encoding="unicode") + "\n"


def _element(parent: Any, tag: str, **attributes: str) -> Any:
    """Return a new element, the last one of its parent."""
    for value in attributes.values():
        if _NO_XML.search(value):
            raise ValueError(f"XML cannot hold all characters of {value!r}.")
    if parent is None:
        return ElementTree.Element(tag, attributes)
    return ElementTree.SubElement(parent, tag, attributes)


def _add_output(model: Any, name: str, n_variables: int) -> None:
    """Declare the total and the reasons."""
    output = _element(model, "Output")
    kind = {"optype": "continuous", "dataType": "integer"}
    _element(output, "OutputField", name=name, feature="predictedValue", **kind)
    for rank in range(1, min(_N_REASONS, n_variables) + 1):
        reason = f"{name}_reason_{rank}"
        number = {"rank": str(rank), "optype": "categorical", "dataType": "string"}
        _element(output, "OutputField", name=reason, feature="reasonCode", **number)


def _add_characteristic(parent: Any, card: Card, term: Variable | Pair, best: int) -> None:
    """Add the points of a term; the first attribute whose predicate holds counts."""
    points = list(map(int, term.points))
    named = {"name": card.term_name(term), "reasonCode": term.name}
    of_term = _element(parent, "Characteristic", **named, baselineScore=str(best))
    for number, predicate in _attributes(card, term):
        _write(_element(of_term, "Attribute", partialScore=str(points[number])), predicate)
    if not len(of_term):
        _write(_element(of_term, "Attribute", partialScore="0"), ("False", [], {}))


def _attributes(card: Card, term: Variable | Pair) -> list[tuple[int, _Predicate]]:
    """Return the bins that are scored, in the order in which they are tried."""
    refused = set(card.refused_bins(term))
    first, *others = term.axes
    if not others:
        return _predicates(card, first, refused)
    (second,) = others
    width = second.n_bins
    rows, columns = range(first.n_bins), range(width)
    no_rows = {i for i in rows if all(i * width + j in refused for j in columns)}
    no_columns = {j for j in columns if all(i * width + j in refused for i in rows)}
    return [
        (i * width + j, _all_of([row, column]))
        for i, row in _predicates(card, first, no_rows)
        for j, column in _predicates(card, second, no_columns)
    ]


def _predicates(card: Card, axis: Any, refused: set[int]) -> list[tuple[int, _Predicate]]:
    """Return the bins of a feature but those refused, and what holds for none of these."""
    field, kind = card.column_name(axis), card.kind_of(axis.column)

    def simple(operator: str, *values: Any) -> _Predicate:
        attributes = {"field": field, "operator": operator}
        if values:
            attributes["value"] = _text_of(values[0], kind)
        return "SimplePredicate", [], attributes

    cases, other = axis.cases()
    found, guards = [], []
    if axis.missing not in refused:
        found.append((axis.missing, simple("isMissing")))
    for operator, values, number in cases:
        if number in refused:
            guards += [simple("notEqual", one) for one in values]
            continue
        listed = [simple(_OPERATORS[operator], one) for one in values]
        alone = listed[0] if len(listed) == 1 else _compound("or", listed)
        found.append((number, _all_of([*guards, alone]) if operator == "<=" else alone))
    if other not in refused:
        if axis.missing in refused:
            guards.append(simple("isNotMissing"))
        found.append((other, _all_of(guards)))
    return found


def _compound(operator: str, parts: list[_Predicate]) -> _Predicate:
    return "CompoundPredicate", parts, {"booleanOperator": operator}


def _all_of(parts: list[_Predicate]) -> _Predicate:
    """Return the predicate that all of some hold."""
    needed: list[_Predicate] = []
    for one in parts:
        tag, inside, attributes = one
        is_all = tag == "CompoundPredicate" and attributes["booleanOperator"] == "and"
        needed += inside if is_all else [one] if tag != "True" else []
    return _compound("and", needed) if len(needed) > 1 else [*needed, _ALWAYS][0]


def _write(parent: Any, predicate: _Predicate) -> None:
    """Add a predicate to an element."""
    tag, parts, attributes = predicate
    element = _element(parent, tag, **attributes)
    for part in parts:
        _write(element, part)


def _text_of(value: Any, kind: str) -> str:
    """Return a value as PMML writes it."""
    if kind in ("str", "bool"):
        return str(value) if kind == "str" else str(value).lower()
    return str(int(value)) if kind == "int" else number_text(value)
