"""Cards as models of the rows of tables, which hold texts and not all the columns of a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn_rank.cli._tables.notation import written
from sklearn_rank.scorecard import Card
from sklearn_rank.scorecard.card import MADE_FOR


def card_of_table(card: Card) -> Card:
    """Return a card for a table of the columns on it, whose scores are its totals."""
    variables = tuple(
        replace(
            variable,
            column=column,
            groups=variable.groups and tuple(map(_texts, variable.groups)),
        )
        for column, variable in enumerate(card.variables)
    )
    names = tuple(variable.name for variable in variables)
    return replace(
        card,
        variables=variables,
        n_features=len(names),
        feature_names=names,
        cut=0,
        details={key: value for key, value in card.details.items() if key != MADE_FOR},
    )


def _texts(group: tuple[Any, ...]) -> tuple[str, ...]:
    """Return categories as the texts of a table, where a float may lack its decimal point."""
    floats = [value for value in group if isinstance(value, float)]
    return tuple(dict.fromkeys([*map(str, group), *map(written, floats)]))
