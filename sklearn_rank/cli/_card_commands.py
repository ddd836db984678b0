"""The options of the commands ``card`` and ``card export``."""

from __future__ import annotations

import click

from sklearn_rank.cli._command import DATA, FOLDS, TABLE, command, export_to
from sklearn_rank.cli._tables.options import option, split


@command(
    "card",
    "_cards",
    (".json",),
    DATA,
    *TABLE,
    option(
        "--max-terms",
        "N",
        "Most terms of the card; default: 20.",
        default=20,
        type=click.IntRange(1),
    ),
    option("--points", "LOW:HIGH", "Range of points of a term.", default="-5:5"),
    option("--monotone", "COL=1,...", "Points only rise (1) or only fall (-1).", split),
    option("--special", "COL=-999,...", "Codes, which get points of their own.", split),
    FOLDS["param"],
    option("-o --output", "CARD", "File of the card (.json).", required=True),
)
def _card() -> None:
    """Fit a scorecard, a table of points, print it and store it.

    Example: sklearn-rank card loans.csv --target late --max-terms 10 -o card.json
    """


@command(
    "card export",
    "_cards",
    ("", "-"),
    click.Argument(["card"]),
    *export_to("sql", "html", "text", "onnx"),
    option("--dialect", "NAME", "Database of --to sql, such as postgresql; default: sqlite."),
)
def _card_export() -> None:
    """Write a scorecard in another form.

    Example: sklearn-rank card export card.json --to sql -o card.sql
    """
