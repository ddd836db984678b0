"""The command line: its words become a command, and its options, which call a function."""

from __future__ import annotations

import click

from sklearn_rank.cli import _card_commands  # noqa: F401 - adds the commands of cards
from sklearn_rank.cli._command import DATA, FOLDS, PICTURES, TABLE, command, commands, export_to
from sklearn_rank.cli._tables.inputs import InputError, choices
from sklearn_rank.cli._tables.options import RANKERS, Reading, option, options_of

__all__ = ["commands", "run"]

READING, MODEL = options_of(Reading), click.Argument(["model"])
_MAY_DATA = click.Argument(["data"], required=False)
_TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", "-")
_RUN = option("-o --output", "RUN", "Save all results (.json).")
_PLOT = option("--plot", "FILE", f"Save a plot of the intervals ({', '.join(PICTURES)}).")
_RANKER = option("--ranker", "NAME", f"One of {RANKERS}, or another model listed by compare.")
_BEST = option("--best", "[RUN]", "Fit the model ranked first by compare; reuse RUN of compare -o.")
_FITTED = option("-o --output", "MODEL", "Model file (.skops).", required=True)
_TOP = option("--top", "N", "Write only the first N rows of each query.", type=click.IntRange(1))
_REASONS = option("--explain", "", "Add reason_1 to reason_3: the features that contribute most.")
_RANKED = option("-o --output", "OUT", "Table (.csv, .tsv, .parquet); default or -: print CSV.")


def run(words: list[str]) -> None:
    """Parse the words of a command line and run the command."""
    if words[:2] == ["card", "export"]:
        words = ["card export", *words[2:]]
    try:
        # An option whose value may be missing would take DATA for it.
        pairs = zip(words, [*words, ""][1:], strict=True)
        arguments = [f"{a}=" if a == "--best" and not b.endswith(".json") else a for a, b in pairs]
        with commands.make_context("sklearn-rank", arguments, obj=words) as context:
            commands.invoke(context)
    except click.exceptions.Exit:  # --help and --version
        return
    except click.UsageError as error:
        message = error.format_message().removesuffix(".")
        if isinstance(error, click.NoSuchOption) and error.ctx:
            options = [o for p in error.ctx.command.params for o in p.opts if o.startswith("--")]
            known = choices("options", error.option_name, options, 99)
            message = f"no such option {error.option_name!r}; {known}"
        elif "command" in message:
            known = choices("commands", "".join(words[:1]), sorted(commands.commands))
            message = f"{message.partition('. ')[0]}; {known}"
        raise InputError(message[0].lower() + message[1:]) from error


@command("compare", "_compare", (".json",), _MAY_DATA, *TABLE, *FOLDS.values(), _RUN, _PLOT)
def _compare() -> None:
    """Cross-validate rankers alongside standard models with their default settings.

    Without DATA, uses an example data set. Prints held-out metrics with 95 % intervals; a star
    marks models significantly worse than the best.

    Example: sklearn-rank compare loans.csv --target late --positive yes
    """


@command("train", "_compare", (".skops",), DATA, *TABLE, *FOLDS.values(), _RANKER, _BEST, _FITTED)
def _train() -> None:
    """Fit a ranker (default: PNormPushRanker) to all rows and save it.

    Example: sklearn-rank train loans.csv --target late -o loans.skops
    """


@command("rank", "_rank", _TABLES, MODEL, DATA, *READING, _TOP, _REASONS, _RANKED)
def _rank() -> None:
    """Order the rows of a table, best first within each query.

    Writes the columns of DATA, plus the score and the rank within the query.

    Example: sklearn-rank rank loans.skops new.csv -o ranked.csv
    """


@command("evaluate", "_compare", (".json",), MODEL, DATA, *READING, FOLDS["metrics"], _RUN)
def _evaluate() -> None:
    """Evaluate a model on rows with a known target, with 95 % intervals.

    Example: sklearn-rank evaluate loans.skops test.csv
    """


@command("export", "_rank", ("", "-"), MODEL, *export_to("ranklib", "xgboost", "linear"))
def _export() -> None:
    """Export a model to a format that Elasticsearch or OpenSearch reads.

    Example: sklearn-rank export model.skops --to xgboost -o model.json

    The model's features must be the search engine's features: train on a purely numeric table,
    without missing values that the model learns from. The linear format omits the constant, which
    does not affect the ranking.
    """
