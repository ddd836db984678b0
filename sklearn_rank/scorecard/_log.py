"""The log of the changes that people have made to a card."""

from __future__ import annotations

from typing import Any

from sklearn_rank.scorecard.card import Card

EDITS = "edits"
"""The detail with the log: a list of records, oldest first."""


def edit_texts(card: Card) -> list[str]:
    """Return the records of the log in words, oldest first."""
    return [_text(one) for one in card.details.get(EDITS, ())]


def other_details(card: Card) -> dict[str, Any]:
    """Return the details without the log."""
    return {key: one for key, one in card.details.items() if key != EDITS}


def _text(record: Any) -> str:
    if not isinstance(record, dict):
        return str(record)
    known = {"when": "", "who": "", "term": "", "change": "", "why": "", **record}
    return f"{known['when']}, {known['who']}: {known['term']}, {known['change']} ({known['why']})"
