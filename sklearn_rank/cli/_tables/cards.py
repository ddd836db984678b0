"""Cards as models of the rows of tables, which hold texts and not all the columns of a card."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sklearn_rank.cli._tables.notation import written
from sklearn_rank.scorecard import Card


def card_of_table(card: Card) -> Card:
    """Return a card for a table of the columns on it, whose scores are its totals."""
    names = tuple(card.features.values())

    def of_table(axis: Any) -> Any:
        groups = axis.groups and tuple(map(_texts, axis.groups))
        return replace(axis, column=names.index(axis.name), groups=groups)

    return replace(
        card,
        variables=tuple(map(of_table, card.variables)),
        pairs=tuple(
            replace(one, first=of_table(one.first), second=of_table(one.second))
            for one in card.pairs
        ),
        n_features=len(names),
        feature_names=names,
        cut=0,
    )


def _texts(group: tuple[Any, ...]) -> tuple[str, ...]:
    """Return categories as the texts of a table, where a float may lack its decimal point."""
    floats = [one for one in group if isinstance(one, float)]
    return tuple(dict.fromkeys([*map(str, group), *map(written, floats)]))
