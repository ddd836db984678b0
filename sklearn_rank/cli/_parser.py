"""The command line: the options of each command, and the function that a command calls.

That is in a module of its own, imported when the command runs: ``--help`` and a mistyped option do
not wait for scikit-learn and pandas.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli._output import checked_output
from sklearn_rank.cli._tables.inputs import Folds, InputError, TableOptions, import_extra, listing

_RANKERS = ", ".join(sklearn_rank.__all__)
_TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", "-")
_PICTURES = (".png", ".svg", ".pdf")
_EPILOG = (
    "DATA is a table: CSV (.csv, .tsv), Parquet (.parquet), Excel (.xlsx), JSON lines (.jsonl) or "
    "svmlight/LETOR (.txt, .svm, .letor); text may be .gz. MODEL was written by train or card."
)


@click.group(
    no_args_is_help=False, help="Rankers on your own table: compare them, train one, rank with it."
)
@click.version_option(sklearn_rank.__version__, message="sklearn-rank %(version)s")
def commands() -> None:
    """Do nothing before a command."""


def run(words: list[str]) -> None:
    """Parse the words of a command line and run the command."""
    if words[:2] == ["card", "export"]:
        words = ["card export", *words[2:]]
    try:
        # An option whose value may be missing would take DATA for it.
        pairs = zip(words, [*words, ""][1:], strict=True)
        given = [f"{a}=" if a == "--best" and not b.endswith(".json") else a for a, b in pairs]
        with commands.make_context("sklearn-rank", given, obj=words) as context:
            commands.invoke(context)
    except click.exceptions.Exit:  # --help and --version
        return
    except click.UsageError as error:
        message = error.format_message().removesuffix(".")
        if isinstance(error, click.NoSuchOption) and error.ctx:
            known = [one.opts[-1] for one in error.ctx.command.params if "--" in one.opts[-1]]
            message += f"; the options are {listing(known, 99)}"
        if "command" in message:
            message = f"{message.partition('. ')[0]}; the commands are {listing(commands.commands)}"
        raise InputError(message[0].lower() + message[1:]) from error


def _call(home: str, suffixes: Iterable[str], *, force: bool, **given: Any) -> None:
    """Check the files of a command, then call the function of its last word in a module.

    `suffixes` are those of its output, in which "-" is the terminal.
    """
    inputs = [one for one in map(given.get, ("data", "model", "card", "best")) if one]
    for path in inputs:
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file")
    import_extra("pandas")  # imported by name at the top of modules
    for key, ends in (("output", suffixes), ("plot", _PICTURES)):
        if key in given:
            given[key] = checked_output(given[key], ends, inputs, force=force)
    for key, kind, option in (("table", TableOptions, "sep"), ("folds", Folds, "cv")):
        if option in given:
            names = given.keys() & kind.__dataclass_fields__.keys()
            given[key] = kind(**{name: given.pop(name) for name in names})
    name = click.get_current_context().info_name or ""
    module = importlib.import_module(f"sklearn_rank.cli.{home}")
    getattr(module, name.rpartition(" ")[2])(**given)


# The values of options ---------------------------------------------------------------------------


def _split(values: Iterable[str]) -> list[str]:
    """Return the values of an option that is repeated or has several, separated by commas."""
    return [part for value in values for part in value.split(",") if part]


def parse_value(text: str) -> Any:
    """Parse a value: none, true, false, a number, or else text."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return {"none": None, "true": True, "false": False}.get(text.lower(), text)


def _by_name(texts: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or name in found:
            what = f"{name!r} is given twice" if equals else "must read NAME=VALUE, such as p=8"
            raise InputError(f"--param {text}: {what}")
        found[name] = parse_value(value)
    return found


# The options -------------------------------------------------------------------------------------


def _option(names: str, metavar: str, about: str, parse: Any = None, **how: Any) -> click.Option:
    """Return an option: one whose metavar ends in points may be repeated."""
    if parse:
        how["callback"] = lambda context, option, value: parse(value)
    multiple = metavar.endswith("...")
    return click.Option(names.split(), metavar=metavar, help=about, multiple=multiple, **how)


def _flag(name: str, about: str) -> click.Option:
    return click.Option([name], is_flag=True, help=about)


def _output(metavar: str, about: str, *, required: bool = True) -> click.Option:
    return _option("-o --output", metavar, about, required=required)


def _forms(*names: str) -> click.Option:
    about = f"{', '.join(names)}."
    return _option("--to", "FORM", about, required=True, type=click.Choice(names))


_COUNT, _FROM_0, _FROM_2 = click.IntRange(1), click.IntRange(0), click.IntRange(2)
_EMBARGO: Any = {"type": click.FloatRange(0), "default": 0.0}
_KINDS: Any = {"type": click.Choice(["binary", "graded"]), "default": "binary"}
_METRICS = (
    "auc, tpr@a, pauc@a, ndcg@k, precision@k, recall@k, map, map@k, mrr, err, r_precision, push@p, "
    "where a is a share of the negatives (0.05), k a number of rows and p the power of the push."
)
_MAY_DATA = click.Argument(["data"], required=False)
_DATA, _MODEL, _CARD = (click.Argument([name]) for name in ("data", "model", "card"))
_FORCE = _flag("--force", "Overwrite files that exist.")
_TO_TERMINAL = _output("FILE", "File to write; default: the terminal.", required=False)
_FORMATS = click.Choice(["csv", "excel", "json", "letor", "parquet"])
_READING = (
    _option("--decimal", "MARK", "Decimal mark, . or ,; default: found.", type=click.Choice(".,")),
    _option("--sep", "MARK", "What separates cells, such as ; tab or blank; default: found."),
    _option("--encoding", "NAME", "Encoding of text, such as latin-1; default: UTF-8."),
    _option("--format", "NAME", f"Of {', '.join(_FORMATS.choices)}.", type=_FORMATS),
    _flag("--no-header", "The first line holds data; columns are called c1, c2, and so on."),
    _option("--missing", "VALUE...", "Text or number that means missing, such as unknown or -999."),
    _flag("--skip-unlabelled", "Leave out rows that need a target and have none."),
)
_TABLE = (
    _option("--target", "COL", "Column that says what belongs on top."),
    _option("--qid", "COL", "Column with the query of each row; default: one list."),
    _option("--weight", "COL", "Column of row weights for fitting; metrics count rows once."),
    _option("--positive", "VALUE", "Class on top; default: by its name (yes, 1), or the greater."),
    _option("--relevance", "KIND", "binary (default), or graded: more is better.", **_KINDS),
    _option("--drop", "COL,...", "Columns not to use."),
    _option("--keep", "COL,...", "Columns to use that would be left out, such as row numbers."),
    _option("--category", "COL,...", "Columns of numbers that are codes, not amounts."),
    _option("--time", "COL", "Dates or numbers: folds are periods. No feature without --keep."),
    _option("--embargo", "N", "Leave out rows up to N (days) before a period.", **_EMBARGO),
    _option("--group", "COL", "Customers or the like, whole in folds. No feature without --keep."),
    _option("--seed", "N", "Random seed; default: 0.", default=0, type=_FROM_0),
    *_READING,
)
_PARAM = _option("--param", "NAME=VALUE...", "Parameters of every ranker that has them.", _by_name)
_SHOWN = _option("--metrics", "NAME,...", _METRICS, _split)
_FOLDS = (
    _option("--rankers", "NAME,...", f"Of {_RANKERS}; default: those that suit the rows.", _split),
    _PARAM,
    _option("--cv", "K", "Number of folds; default: 5.", default=5, type=_FROM_2),
    _option("--n-jobs", "N", "Folds to fit at once; default: 1.", type=int, default=1),
    _SHOWN,
)
_RUN = _output("RUN", "File of every number (.json), of compare for --best.", required=False)


# The commands ------------------------------------------------------------------------------------

Described = Callable[[], None]


def _command(
    name: str, home: str, suffixes: Sequence[str], *params: click.Parameter
) -> Callable[[Described], Described]:
    """Return a decorator that makes a command of a docstring: it calls a function of `home`."""

    def add(described: Described) -> Described:
        call, params_of = partial(_call, home, suffixes), [*params, _FORCE]
        how = {"help": described.__doc__, "epilog": _EPILOG}
        commands.add_command(click.Command(name, params=params_of, callback=call, **how))
        return described

    return add


_PLOT = _option("--plot", "FILE", f"Draw the intervals ({', '.join(_PICTURES)}).")


@_command("compare", "_compare", (".json",), _MAY_DATA, *_TABLE, *_FOLDS, _RUN, _PLOT)
def _compare() -> None:
    """Cross-validate rankers beside the usual models as they come.

    Without DATA: an example. Held-out metrics with 95 % intervals; a star marks what is worse than
    the best by more than noise.

    Example: sklearn-rank compare loans.csv --target late --positive yes
    """


@_command(
    "train",
    "_compare",
    (".skops",),
    _DATA,
    *(*_TABLE, *_FOLDS),
    _option("--ranker", "NAME", f"Of {_RANKERS}, or a model that compare shows beside them."),
    _option(
        "--best", "[RUN]", "Fit what compare puts first, by folds or by the run of compare -o."
    ),
    _output("MODEL", "Model file (.skops)."),
)
def _train() -> None:
    """Fit a ranker to all rows and store it; default: PNormPushRanker.

    Example: sklearn-rank train loans.csv --target late -o loans.skops
    """


@_command(
    "rank",
    "_rank",
    _TABLES,
    _MODEL,
    _DATA,
    *_READING,
    _option("--top", "N", "Write the first N rows of each list only.", type=_COUNT),
    _flag("--explain", "Add what moves each score most, as reason_1 to reason_3."),
    _output("OUT", "Table to write (.csv, .tsv, .parquet), or - for CSV on the terminal."),
)
def _rank() -> None:
    """Order the rows of a table, best first within each query.

    It writes the columns of DATA, score, and rank within the query.

    Example: sklearn-rank rank loans.skops new.csv -o ranked.csv
    """


@_command("evaluate", "_compare", (".json",), _MODEL, _DATA, *_READING, _SHOWN, _RUN)
def _evaluate() -> None:
    """Measure a model on rows whose target is known, with 95 % intervals.

    Example: sklearn-rank evaluate loans.skops test.csv
    """


@_command(
    "export",
    "_rank",
    ("", "-"),
    _MODEL,
    _forms("ranklib", "xgboost", "linear"),
    _TO_TERMINAL,
)
def _export() -> None:
    """Write a model in a form that Elasticsearch or OpenSearch reads.

    Example: sklearn-rank export model.skops --to xgboost -o model.json

    Its features are those of the search engine: the table it was trained on must be of numbers,
    without missing values that the model has learned from. The linear form has no constant, which
    changes no order.
    """


@_command(
    "card",
    "_cards",
    (".json",),
    _DATA,
    *_TABLE,
    _option("--max-terms", "N", "Most terms of the card; default: 20.", default=20, type=_COUNT),
    _option("--points", "LOW:HIGH", "Range of points of a term.", default="-5:5"),
    _option("--monotone", "COL=1,...", "Points only rise (1) or only fall (-1).", _split),
    _option("--special", "COL=-999,...", "Codes, which get points of their own.", _split),
    _PARAM,
    _output("CARD", "File of the card (.json)."),
)
def _card() -> None:
    """Fit a scorecard, a table of points, print it and store it.

    Example: sklearn-rank card loans.csv --target late --max-terms 10 -o card.json
    """


@_command(
    "card export",
    "_cards",
    ("", "-"),
    _CARD,
    _forms("sql", "html", "text", "onnx"),
    _option("--dialect", "NAME", "Database of --to sql, such as postgresql; default: sqlite."),
    _TO_TERMINAL,
)
def _card_export() -> None:
    """Write a scorecard in another form.

    Example: sklearn-rank card export card.json --to sql -o card.sql
    """
