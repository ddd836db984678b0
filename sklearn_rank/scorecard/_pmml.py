"""A scorecard in the Predictive Model Markup Language."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from sklearn_rank._release import __version__
from sklearn_rank.scorecard.card import Card, variables_alone
from sklearn_rank.scorecard.terms import Variable, number_text

_FIELDS = {
    "number": ("continuous", "double"),
    "float": ("continuous", "double"),
    "int": ("categorical", "integer"),
    "bool": ("categorical", "boolean"),
    "str": ("categorical", "string"),
}
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_N_REASONS = 4
_OPERATORS = {"=": "equal", "<=": "lessOrEqual"}


def to_pmml(card: Card, *, name: str = "score") -> str:
    """Return the card as a Scorecard element of PMML 4.4.

    The predicted value is the total. Fields are named after the features, or x0, x1, ... Reason
    codes are the names of the variables, ordered by the points lost compared with the largest
    points of each. The PMML reader decides the order of ties, and what the reason fields hold if
    fewer variables lose points.

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

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_pmml
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
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
    document = _element(None, "PMML", version="4.4", xmlns="http://www.dmg.org/PMML-4_4")
    header = _element(document, "Header")
    _element(header, "Application", name="sklearn_rank", version=__version__)
    fields = [(card.column_name(one), one.kind) for one in variables_alone(card, "to_pmml")]
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
        reasonCodeAlgorithm="pointsBelow",
        baselineMethod="max",
    )
    schema = _element(model, "MiningSchema")
    for field, _ in fields:
        # As it is: without a list of valid values nothing is invalid.
        _element(schema, "MiningField", name=field, invalidValueTreatment="asIs")
    _add_output(model, name, len(fields))
    characteristics = _element(model, "Characteristics")
    for variable, (field, kind) in zip(variables_alone(card, "to_pmml"), fields, strict=True):
        _add_characteristic(characteristics, variable, field, kind)
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
        _element(
            output,
            "OutputField",
            name=f"{name}_reason_{rank}",
            feature="reasonCode",
            rank=str(rank),
            optype="categorical",
            dataType="string",
        )


def _add_characteristic(parent: Any, variable: Variable, field: str, kind: str) -> None:
    """Add the points of a variable; the first attribute whose predicate holds counts."""
    points = list(map(int, variable.points))
    of_variable = _element(
        parent,
        "Characteristic",
        name=field,
        reasonCode=variable.name,
        baselineScore=str(max(points)),
    )

    def attribute(points: int) -> Any:
        return _element(of_variable, "Attribute", partialScore=str(points))

    def simple(parent: Any, operator: str, **value: str) -> None:
        _element(parent, "SimplePredicate", field=field, operator=operator, **value)

    simple(attribute(points[variable.missing]), "isMissing")
    cases, other = variable.cases()
    for operator, values, of_case in cases:
        place = attribute(of_case)
        if len(values) > 1:
            place = _element(place, "CompoundPredicate", booleanOperator="or")
        for value in values:
            simple(place, _OPERATORS[operator], value=_text_of(value, kind))
    _element(attribute(other), "True")


def _text_of(value: Any, kind: str) -> str:
    """Return a value as PMML writes it."""
    if kind in ("str", "bool"):
        return str(value) if kind == "str" else str(value).lower()
    return str(int(value)) if kind == "int" else number_text(value)
