"""The commands and their options, and the settings that are made of them.

A command is a function of a module of its own, imported when it runs: ``--help`` and a mistyped
option do not wait for scikit-learn and pandas.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli import _settings
from sklearn_rank.cli._errors import InputError, import_extra, listing
from sklearn_rank.cli._output import checked_output

# An option a line: names, metavar, help. No metavar: a flag; "..." at its end: repeatable.
_READING = """
--decimal MARK  Decimal mark of numbers, . or , (default: found in the file).
--sep MARK  What separates cells, such as ; or the word tab; default: found in the file.
--encoding NAME  Encoding of text, such as latin-1.
--skip-unlabelled  Leave out rows that need a target and have none.
"""
_TABLE = f"""
--target COL  Column that says what belongs on top.
--qid COL  Column with the query of each row; default: one list.
--weight COL  Column of row weights for fitting, 2 being the row twice; metrics count rows once.
--positive VALUE  Class that belongs on top; default: the one whose name
 says so (fraud, yes, 1, ...), else the greater, with a note.
--relevance KIND  binary (default): two classes; graded: numbers of which more is better.
--drop COL,...  Columns not to use.
--keep COL,...  Columns to use that would be left out, such as row numbers.
--category COL,...  Columns of numbers that are codes, not amounts.
{_READING}
--seed N  Random seed; default: 0.
"""
_SEARCH = """
--search NAME=VALUE,...  Choose parameters by folds of the training rows: p=1,4,16. Of the settings
 within one standard error of the best, the first is taken. Repeat it for other parameters.
"""
_METRICS = """
--metrics NAME,...  What to show: auc, tpr@a, pauc@a, ndcg@k, precision@k, recall@k, map, mrr, err,
 r_precision, push@p, where a is a share of the negatives (0.05), k a number of rows (10), and p the
 power of the push (4); default: auc,tpr@0.05, with queries or grades auc,ndcg@10.
--json FILE  Also write every number (.json).
--plot FILE  Also draw a picture (.png, .pdf, .svg).
"""

_FORCE = "--force  Overwrite files that exist."
_SHARE = {"type": click.FloatRange(0, 1, min_open=True, max_open=True)}
_KINDS: dict[str, dict[str, Any]] = {
    "--relevance": {"type": click.Choice(["binary", "graded"]), "default": "binary"},
    "--decimal": {"type": click.Choice([".", ","])},
    "--seed": {"type": click.IntRange(0), "default": 0},
    "--cv": {"type": click.IntRange(2), "default": 5},
    "--n-jobs": {"type": int},
    "--max-terms": {"type": click.IntRange(1), "default": 10},
    "--points": {"default": "-5:5"},
    "--top": {"type": click.IntRange(1)},
    "--fdr": _SHARE,
    "--calibrate": _SHARE,
    "--ranker": {"default": "PNormPushRanker"},
    "--to": {"required": True},
}
_PARSERS: dict[str, Callable[[Any], Any]] = {
    "--rankers": _settings.split,
    "--metrics": _settings.split,
    "--param": _settings.parse_param,
    "--search": _settings.parse_search,
    "--n-jobs": _settings.parse_n_jobs,
    "--points": _settings.parse_points,
    "--monotone": _settings.parse_by_column("--monotone"),
    "--special": _settings.parse_by_column("--special"),
}
_SUFFIXES = {"json": (".json",), "plot": (".png", ".pdf", ".svg")}
_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", "-")
_INPUTS = ("model", "data", "validation", "calibration", "card")
_DATA = (
    "DATA is a table: CSV (.csv, .tsv), Parquet (.parquet), Excel (.xlsx), JSON lines (.jsonl) or "
    "svmlight/LETOR (.txt, .svm, .letor); .gz is fine, and - is standard input."
)
_RANKERS = ", ".join(sklearn_rank.__all__)


@click.group(
    no_args_is_help=False,
    help="Rankers on your own table: compare them, train one, rank with it.",
)
@click.version_option(sklearn_rank.__version__, message="sklearn-rank %(version)s")
def commands() -> None:
    """Do nothing before a command."""


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
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        known = [name for one in error.ctx.command.params for name in one.opts if "--" in name]
        close = difflib.get_close_matches(error.option_name, known, n=1, cutoff=0.7)
        guess = f"did you mean {close[0]}? " if close else ""
        command = error.ctx.info_name
        option = error.option_name + ("" if command == "sklearn-rank" else f" of {command}")
        return f"unknown option {option}; {guess}the options are {listing(known, 99)}"
    message = error.format_message().removesuffix(".")
    if "extra argument" in message:
        message += "; an option takes several values as a,b (--drop a,b) or when it is repeated"
    if "Missing command" in message or "No such command" in message:
        message = f"{message.partition('. ')[0]}; the commands are {listing(commands.commands)}"
    return message[0].lower() + message[1:]


def _command(
    name: str, home: str, kind: type, arguments: str, text: str, options: str, *suffixes: str
) -> None:
    """Add a command: the function of its last word in the module `home` takes settings of a kind.

    `suffixes` are those of its output, in which "-" is the terminal.
    """

    def call(force: bool, **values: Any) -> None:
        inputs = {key: values[key] for key in _INPUTS if values.get(key) is not None}
        is_other = values.get("data") == "-" or values.get("cluster") is not None
        for key, path in inputs.items():
            if not (os.path.exists(path) or (key == "data" and is_other)):
                raise InputError(f"{path}: no such file")
        import_extra("pandas")  # imported by name at the top of modules
        for key, ends in {**_SUFFIXES, "output": suffixes}.items():
            if key in values:
                values[key] = checked_output(values[key], ends, inputs.values(), force=force)
        module = importlib.import_module(f"sklearn_rank.cli.{home}")
        getattr(module, name.rsplit(maxsplit=1)[-1])(_made(kind, values))

    lines = re.sub(r"\n ", " ", f"{options}\n{_FORCE}").splitlines()
    for line in reversed([line for line in lines if line]):
        call = _option(line)(call)
    for argument in reversed(arguments.split()):
        required = "[" not in argument
        call = click.argument(argument.strip("[]").lower(), required=required)(call)
    commands.command(name, help=text)(call)


def _option(line: str) -> Any:
    """Return the decorator for an option of a line of the tables above."""
    words, _, about = line.partition("  ")
    names = [word for word in words.split() if word[0] == "-"]
    metavar = words.split()[-1] if len(words.split()) > len(names) else None
    how: dict[str, Any] = {"is_flag": True} if metavar is None else {"metavar": metavar}
    how |= {"multiple": True} if words.endswith("...") else {}
    how |= {"required": "default" not in about} if "-o" in names else {}
    how |= _KINDS.get(names[-1], {})
    if names[-1] in _PARSERS:
        how["callback"] = lambda *given: _PARSERS[names[-1]](given[-1])
    return click.option(*names, help=about, **how)


def _made(kind: type, values: Mapping[str, Any]) -> Any:
    """Return settings of a kind; a field that holds settings is made of the same values."""
    given = {one.name: one.default for one in fields(kind)}
    given |= {name: _made(type(one), values) for name, one in given.items() if is_dataclass(one)}
    return kind(**given | {name: values[name] for name in given.keys() & values.keys()})


_command(
    "compare",
    "_compare",
    _settings.Compare,
    "[DATA]",
    "Cross-validate rankers beside logistic regression and HistGradientBoosting.\n\n"
    f"{_DATA} Without DATA: an example. Held-out metrics with 95 % intervals; a star marks "
    "what is worse than the best by more than noise.\n\n"
    "Example: sklearn-rank compare loans.csv --target late --positive yes",
    f"""{_TABLE}
--rankers NAME,...  Of {_RANKERS}; default: all but SmoothMarginRanker, ListNetLinear only with
 queries or grades, KernelPairwiseSGDRanker up to 2000 training rows, BoostedTreesRanker if XGBoost
 or LightGBM is installed.
--param NAME=VALUE...  Parameters, such as p=8, of every ranker that has them.
--cv K  Number of folds; default: 5.
--n-jobs N  Folds to fit at once; -1: all cores.
{_SEARCH}{_METRICS}""",
)
_command(
    "train",
    "_train",
    _settings.Train,
    "DATA",
    f"Fit a ranker to all rows and store it.\n\n{_DATA}\n\n"
    "Example: sklearn-rank train loans.csv --target late -o loans.skops",
    f"""{_TABLE}
--ranker NAME  One of {_RANKERS}; default: PNormPushRanker.
--param NAME=VALUE...  Parameters of the ranker, such as p=8.
{_SEARCH}
--metric NAME  What --search compares settings by: one name, of those of compare --metrics.
--validation FILE  Rows that decide when boosting stops.
--calibrate SHARE  Rows to hold out for rank --fdr, such as 0.25; they are not fitted to.
--cluster local|ADDRESS  Fit to Parquet files that memory can't hold, on Dask workers of this
 machine or of the scheduler at ADDRESS; DATA may be a pattern in quotes, 'data/*.parquet'.
-o --output MODEL  Model file (.skops).""",
    ".skops",
)
_command(
    "rank",
    "_rank",
    _settings.Rank,
    "MODEL DATA",
    f"Order the rows of a table, best first within each query.\n\n{_DATA} MODEL was written "
    "by train or card.\n\nExample: sklearn-rank rank loans.skops new.csv -o ranked.csv",
    f"""{_READING}
--top N  Write the first N rows of each list only.
--explain  Add what adds most to each score, or takes most from it, as reason_1 to reason_3.
--fdr SHARE  Add a column selected: the longest head with at most this expected share of false
 alarms. Needs train --calibrate, or --calibration.
--calibration FILE  Labelled rows, none of which the model was fitted to.
-o --output OUT  Table to write (.csv, .tsv, .parquet), or - for CSV on the terminal: the
 columns of DATA, score, and rank within the query.""",
    *_TABLE_SUFFIXES,
)
_command(
    "evaluate",
    "_compare",
    _settings.Evaluate,
    "MODEL DATA",
    f"Measure a model on rows whose target is known, with 95 % intervals.\n\n{_DATA} MODEL "
    "was written by train or card.\n\nExample: sklearn-rank evaluate loans.skops test.csv",
    f"{_READING}\n{_METRICS}",
)
_command(
    "card",
    "_cards",
    _settings.MakeCard,
    "DATA",
    f"Fit a scorecard, a table of points, print it and store it.\n\n{_DATA}\n\n"
    "Example: sklearn-rank card loans.csv --target late --max-terms 10 -o card.json",
    f"""{_TABLE}
--max-terms N  Most terms of the card; default: 10.
--points LOW:HIGH  Range of the points of a term; default: -5:5.
--monotone COL=1,...  Columns whose points only rise (1) or only fall (-1).
--special COL=-999,...  Numbers that are codes, which get points of their own.
--param NAME=VALUE...  Parameters of Scorecard or its ranker, such as p=4.
-o --output CARD  File of the card (.json).""",
    ".json",
)
_command(
    "card export",
    "_cards",
    _settings.ExportCard,
    "CARD",
    "Write a scorecard in another form.\n\n"
    "Example: sklearn-rank card export card.json --to sql -o card.sql",
    """--to FORM  sql, pmml, csv, xlsx, html, text, onnx.
-o --output FILE  File to write; default: the terminal.""",
    "",
    "-",
)
