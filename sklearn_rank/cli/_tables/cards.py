"""Cards as models of the rows of tables, which hold texts and not all the columns of a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn_rank.cli._tables.columns import BOOLEAN, Schema
from sklearn_rank.cli._tables.notation import written
from sklearn_rank.scorecard import Card
from sklearn_rank.scorecard.card import MADE_FOR

_TRUTH = {"true": ("true", "True", "TRUE", "1"), "false": ("false", "False", "FALSE", "0")}


def card_of_table(card: Card) -> Card:
    """Return the card for a table with only its columns, with totals as scores."""
    variables = []
    for column, variable in enumerate(card.variables):
        groups = variable.groups and tuple(map(_texts, variable.groups))
        variables.append(replace(variable, column=column, groups=groups))
    names = tuple(variable.name for variable in variables)
    return replace(
        card,
        variables=tuple(variables),
        n_features=len(names),
        feature_names=names,
        cut=0,
        details={key: value for key, value in card.details.items() if key != MADE_FOR},
    )


def in_all_forms(card: Card, schema: Schema) -> Card:
    """Return a card whose truth values have the forms of files and databases, too."""
    variables = list(card.variables)
    for place, variable in enumerate(variables):
        if schema.kinds[variable.name] == BOOLEAN and variable.groups:
            groups = [sum((_TRUTH.get(t, (t,)) for t in part), ()) for part in variable.groups]
            variables[place] = replace(variable, groups=tuple(groups))
    return replace(card, variables=tuple(variables))


def _texts(group: tuple[Any, ...]) -> tuple[str, ...]:
    """Return categories as the texts of a table, where a float may lack its decimal point."""
    floats = [value for value in group if isinstance(value, float)]
    return tuple(dict.fromkeys([*map(str, group), *map(written, floats)]))
