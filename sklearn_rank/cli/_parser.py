"""The commands and their options.

A command is a function of a module of its own, imported when it runs: ``--help`` and a mistyped
option do not wait for scikit-learn and pandas.
"""

from __future__ import annotations

import difflib
import importlib
import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli._errors import InputError, listing

_RANKERS = ", ".join(sklearn_rank.__all__)
_DATA_HELP = (
    "DATA is a table: CSV (.csv, .tsv), Parquet (.parquet), Excel (.xlsx), JSON lines (.jsonl) or "
    "svmlight/LETOR (.txt, .svm, .letor); .gz is fine, and - is standard input. "
)
_METRICS = (
    "auc, tpr@a, pauc@a, ndcg@k, precision@k, recall@k, map, mrr, err, r_precision, push@p; "
    "default: auc,tpr@0.05, or auc,ndcg@10 with queries or grades"
)


def run(words: list[str]) -> None:
    """Parse the words of a command line and run the command."""
    if words[:2] == ["card", "export"]:
        words = ["card export", *words[2:]]
    try:
        with commands.make_context("sklearn-rank", words) as context:
            commands.invoke(context)
    except click.exceptions.Exit:  # --help and --version
        return
    except click.UsageError as error:
        raise InputError(_explain(error)) from error


def _explain(error: click.UsageError) -> str:
    """Return what is wrong with the words of a command line, and what is allowed."""
    command = error.ctx.info_name if error.ctx is not None else None
    if command is not None and isinstance(error, click.NoSuchOption):
        known = [name for one in error.ctx.command.params for name in one.opts if "--" in name]
        close = difflib.get_close_matches(error.option_name, known, n=1, cutoff=0.7)
        guess = f"did you mean {close[0]}? " if close else ""
        of = "" if command == "sklearn-rank" else f" of {command}"
        return (
            f"unknown option {error.option_name}{of}; {guess}the options are {listing(known, 99)}"
        )
    message = error.format_message().removesuffix(".")
    if "extra argument" in message:
        message += "; an option takes several values as a,b (--drop a,b) or when it is repeated"
    if "Missing command" in message or "No such command" in message:
        message = f"{message.partition('. ')[0]}; the commands are {listing(commands.commands)}"
    return message[0].lower() + message[1:]


@click.group(
    no_args_is_help=False, help="Rankers on your own table: compare them, train one, rank with it."
)
@click.version_option(sklearn_rank.__version__, message="sklearn-rank %(version)s")
def commands() -> None:
    """Do nothing before a command."""


def _command(function: str, name: str, text: str, *options: Callable[..., Any]) -> None:
    """Add a command that runs a function of the module of its name, without "-"."""

    def call(**values: Any) -> None:
        for key in ("model", "data", "validation", "card"):
            path = values.get(key)
            is_stdin = path == "-" and key == "data"
            if path is not None and not is_stdin and not os.path.exists(path):
                raise InputError(f"{path}: no such file")
        module, _, attribute = function.partition(".")
        home = importlib.import_module(f"sklearn_rank.cli.{module}")
        dataset = importlib.import_module("sklearn_rank.cli._dataset")
        fields = dataset.TableOptions.__dataclass_fields__
        table = dataset.TableOptions(**{key: values[key] for key in fields if key in values})
        getattr(home, attribute)(SimpleNamespace(**values, table=table))

    for option in reversed(options):
        call = option(call)
    commands.command(name, help=text)(call)


def _option(*names: str, **settings: Any) -> Callable[..., Any]:
    return click.option(*names, **{"metavar": "VALUE", **settings})


def _several(name: str, text: str, metavar: str = "COL,...") -> Callable[..., Any]:
    return click.option(name, multiple=True, metavar=metavar, help=text)


def _flag(name: str, text: str) -> Callable[..., Any]:
    return click.option(name, is_flag=True, help=text)


_READING = (
    _option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of numbers."),
    _option("--sep", help="What separates cells; default: found in the file."),
    _option("--encoding", metavar="NAME", help="Encoding of text, such as latin-1."),
    _flag("--skip-unlabelled", "Leave out rows without a target."),
)
_TABLE = (
    _option("--target", metavar="COL", help="Column that says what belongs on top."),
    _option("--qid", metavar="COL", help="Column with the query of each row; default: one list."),
    _option(
        "--weight",
        metavar="COL",
        help="Column of row weights for fitting, 2 being the row twice; metrics count every row "
        "once.",
    ),
    _option("--positive", help="Class that belongs on top; default: the greater."),
    _option(
        "--relevance",
        type=click.Choice(["binary", "graded"]),
        default="binary",
        metavar="KIND",
        help="binary (default): two classes; graded: numbers of which more is better.",
    ),
    _several("--drop", "Columns not to use."),
    _several("--keep", "Columns to use that would be left out, such as row numbers."),
    _several("--category", "Columns of numbers that are codes, not amounts."),
    *_READING,
    _option("--seed", metavar="N", type=click.IntRange(0), default=0, help="Random seed; 0."),
)
_FORCE = _flag("--force", "Overwrite files that exist.")
_DATA, _MODEL = click.argument("data"), click.argument("model")
_SEARCH = _several(
    "--search",
    "Parameters to choose by cross-validation in the training rows: p=1,4,16. Of the settings "
    "within one standard error of the best the first is taken. Repeat for further parameters.",
    "NAME=VALUE,...",
)
_METRIC_LIST = _several("--metrics", f"Of {_METRICS}.", "NAME,...")
_JSON = _option("--json", metavar="FILE", help="Also write every number (.json).")
_PLOT = _option("--plot", metavar="FILE", help="Also draw a picture (.png, .pdf, .svg).")

_command(
    "_commands.compare",
    "compare",
    "Cross-validate rankers beside logistic regression and HistGradientBoosting.\n\n"
    f"{_DATA_HELP}Without DATA: an example. Held-out metrics with 95 % intervals; a star marks "
    "what is worse than the best by more than noise.\n\n"
    "Example: sklearn-rank compare loans.csv --target default --positive yes",
    click.argument("data", required=False),
    *_TABLE,
    _several(
        "--rankers",
        f"Of {_RANKERS}; default: all but SmoothMarginRanker, ListNetLinear only with queries or "
        "grades, KernelPairwiseSGDRanker up to 5000 training rows, BoostedTreesRanker if XGBoost "
        "or LightGBM is installed.",
        "NAME,...",
    ),
    _several("--param", "Parameters, such as p=8, of every ranker that has them.", "NAME=VALUE"),
    _SEARCH,
    _METRIC_LIST,
    _option("--cv", metavar="K", type=click.IntRange(2), default=5, help="Number of folds; 5."),
    _option("--n-jobs", metavar="N", type=int, help="Folds to fit at once; -1: all cores."),
    _JSON,
    _PLOT,
    _FORCE,
)
_command(
    "_commands.train",
    "train",
    f"Fit a ranker to all rows and store it.\n\n{_DATA_HELP}\n\n"
    "Example: sklearn-rank train loans.csv --target default -o loans.skops",
    _DATA,
    *_TABLE,
    _option(
        "--ranker",
        metavar="NAME",
        default="PNormPushRanker",
        help=f"One of {_RANKERS}; default: PNormPushRanker.",
    ),
    _several("--param", "Parameters of the ranker, such as p=8.", "NAME=VALUE"),
    _SEARCH,
    _option("--metric", metavar="NAME", help="What --search looks at, a name as in compare."),
    _option(
        "--validation",
        metavar="FILE",
        help="Rows that decide when boosting stops; default: a tenth of DATA.",
    ),
    _option(
        "--calibrate",
        metavar="SHARE",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Share of the rows to hold out for rank --fdr, such as 0.25; they are not fitted to.",
    ),
    _option("-o", "--output", metavar="MODEL", required=True, help="Model file (.skops)."),
    _FORCE,
)
_command(
    "_rank.rank",
    "rank",
    f"Order the rows of a table, best first within each query.\n\n{_DATA_HELP}MODEL was written "
    "by train or card.\n\nExample: sklearn-rank rank loans.skops new.csv -o ranked.csv",
    _MODEL,
    _DATA,
    *_READING[:3],
    _option("--top", metavar="N", type=click.IntRange(1), help="Write the first N of each query."),
    _flag("--explain", "Add the columns that contribute most to each score, as reason_1 to 3."),
    _option(
        "--fdr",
        metavar="SHARE",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
        help="Add a column selected: the longest head with at most this expected share of false "
        "alarms. Needs train --calibrate or --calibration.",
    ),
    _option("--calibration", metavar="FILE", help="Labelled rows, none of them trained on."),
    _option(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="Table to write (.csv, .tsv, .parquet), or - for CSV on the terminal: the columns of "
        "DATA, score, and rank within the query.",
    ),
    _FORCE,
)
_command(
    "_commands.evaluate",
    "evaluate",
    f"Measure a model on rows whose target is known, with 95 % intervals.\n\n{_DATA_HELP}MODEL "
    "was written by train.\n\nExample: sklearn-rank evaluate loans.skops test.csv",
    _MODEL,
    _DATA,
    *_READING,
    _METRIC_LIST,
    _JSON,
    _PLOT,
    _FORCE,
)
_command(
    "_card.card",
    "card",
    f"Fit a scorecard, a table of points, print it and store it.\n\n{_DATA_HELP}\n\n"
    "Example: sklearn-rank card loans.csv --target default --max-terms 10 -o card.json",
    _DATA,
    *_TABLE,
    _option("--max-terms", metavar="N", type=click.IntRange(1), help="Most terms of the card; 10."),
    _option("--points", metavar="LOW:HIGH", help="Range of the points of a term; -5:5."),
    _several("--monotone", "Columns whose points only rise (1) or fall (-1).", "COL=1,..."),
    _several("--special", "Numbers that are codes, with points of their own.", "COL=-999,..."),
    _several("--param", "Further parameters of Scorecard or its ranker, as p=4.", "NAME=VALUE"),
    _option("-o", "--output", metavar="CARD", required=True, help="File of the card (.json)."),
    _FORCE,
)
_command(
    "_card.export",
    "card export",
    "Write a scorecard in another form.\n\n"
    "Example: sklearn-rank card export card.json --to sql -o card.sql",
    click.argument("card"),
    _option("--to", required=True, metavar="FORM", help="sql, pmml, csv, xlsx, html, text, onnx."),
    _option("-o", "--output", metavar="FILE", help="File to write; default: the terminal."),
    _FORCE,
)
