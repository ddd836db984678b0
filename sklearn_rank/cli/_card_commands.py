"""The options of the commands ``card`` and ``card export``."""

from __future__ import annotations

import click

from sklearn_rank.cli._command import DATA, FOLDS, TABLE, command, export_to
from sklearn_rank.cli._tables.options import option, split

_POSITIVE = click.IntRange(1)
_MONOTONE = "Force points to increase (1) or decrease (-1) with the column."


@command(
    "card",
    "_cards",
    (".json",),
    DATA,
    *TABLE,
    option("--max-terms", "N", "Maximum number of terms; default: 20.", default=20, type=_POSITIVE),
    option("--points", "LOW:HIGH", "Range of points per term; default: -5:5.", default="-5:5"),
    option("--monotone", "COL=1,...", _MONOTONE, split),
    option("--special", "COL=-999,...", "Special codes, each with its own points.", split),
    FOLDS["param"],
    option("-o --output", "CARD", "Scorecard file (.json).", required=True),
)
def _card() -> None:
    """Fit a scorecard (a table of points), print it and save it.

    Example: sklearn-rank card loans.csv --target late --max-terms 10 -o card.json
    """


@command(
    "card export",
    "_cards",
    ("", "-"),
    click.Argument(["card"]),
    *export_to("sql", "html", "text", "onnx"),
    option("--dialect", "NAME", "Dialect for --to sql, such as postgresql; default: sqlite."),
)
def _card_export() -> None:
    """Export a scorecard to another format.

    Example: sklearn-rank card export card.json --to sql -o card.sql
    """
