"""What a card says of itself: the log of changes by hand, the path of the search, the details."""

from __future__ import annotations

from typing import Any

from sklearn_rank.scorecard.card import Card

EDITS = "edits"
"""The detail with the log: a list of records, oldest first."""

SEARCH = "search"
"""The detail with the path of the search: a list of records, see `Scorecard.search_`."""

WEIGHTS = "weights"
"""The detail that says which rows have weights: counts are then sums of these."""

OF_POINTS = {"training_loss_of_the_card", "held_out_auc", "held_out_ks", "held_out_pauc_5"}
"""The details that other points make untrue."""

_RECORD = {"parameter", "value", "score", "error", "n_folds", "chosen"}
"""What a record of the search has."""

_NAMES = {
    "min_bin_size": "smallest bin, share of the rows",
    "max_pairs": "most pairs of variables",
    "n_terms": "most terms",
    "alpha": "ridge (alpha)",
    "smallest_bin": "smallest bin, share of the rows",
    "most_pairs": "most pairs of variables",
    "most_terms": "most terms",
    "monotone": "directions of variables",
    "training_loss_of_the_ranker": "training loss before rounding",
    "training_loss_of_the_card": "training loss of the points",
    "training_rows_of_the_upper_class": "training rows with the event",
    "base_rate": "share of the event in training",
    "queries": "compared within queries only",
    "lowest_points": "least points allowed",
    "highest_points": "greatest points allowed",
    "risk_rows": "probabilities estimated from",
    "risk_curve": "curve of the probabilities",
    "risk_interval": "intervals of the probabilities",
    "risk_scatter": "scatter of rows about the curve, in log odds",
    "risk_of_points": "fingerprint of the points that the probabilities belong to",
    "fingerprint_of_the_data": "fingerprint of the training rows",
    "held_out_auc": "AUC of rows held out",
    "held_out_ks": "Kolmogorov-Smirnov distance of rows held out",
    "held_out_pauc_5": "area up to 5 % of the negatives, rows held out",
}


def detail_name(key: Any) -> str:
    """Return the name of a detail in plain words."""
    return _NAMES.get(key, str(key).replace("_", " "))


def search_path(card: Card) -> list[dict[str, Any]]:
    """Return the records of the search for the settings, in the order of trial."""
    path = card.details.get(SEARCH, ())
    known = [one for one in path if isinstance(one, dict)] if isinstance(path, list) else []
    return [one for one in known if one.keys() >= _RECORD]


def edit_texts(card: Card) -> list[str]:
    """Return the records of the log in words, oldest first."""
    return [_text(one) for one in card.details.get(EDITS, ())]


def other_details(card: Card) -> dict[str, Any]:
    """Return the details without the log and the search, which have a place of their own.

    Sums of weights have a name that says so.
    """
    of = "sum of weights of " if WEIGHTS in card.details else ""
    others = {key: one for key, one in card.details.items() if key not in (EDITS, SEARCH)}
    return {of * ("training_rows" in key) + key: one for key, one in others.items()}


def _text(record: Any) -> str:
    if not isinstance(record, dict):
        return str(record)
    known = {"when": "", "who": "", "term": "", "change": "", "why": "", **record}
    return f"{known['when']}, {known['who']}: {known['term']}, {known['change']} ({known['why']})"
