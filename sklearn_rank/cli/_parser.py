"""The options of each command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import sklearn_rank
from sklearn_rank.cli._errors import InputError, listing

_DATA_HELP = (
    "CSV (.csv, .tsv), Parquet (.parquet) or svmlight/LETOR (.txt, .svm, .letor) file; "
    ".gz is fine, and - is standard input. A LETOR file has the columns target, qid, f1, f2, ..."
)
_RANKERS = ", ".join(sklearn_rank.__all__)
_MANY_VALUES = ("--category", "--drop", "--param", "--rankers")
"""Options that take any number of values."""


class _Parser(argparse.ArgumentParser):
    """An argument parser that raises InputError and records the names of its options."""

    def __init__(self, **kwargs: Any) -> None:
        self.option_names: list[str] = []  # before --help is added
        super().__init__(**{"allow_abbrev": False, **kwargs})

    def add_argument(self, *args: Any, **kwargs: Any) -> argparse.Action:
        action = super().add_argument(*args, **kwargs)
        self.option_names += action.option_strings[-1:]
        return action

    def error(self, message: str) -> NoReturn:
        if message.endswith("required: DATA"):
            message += f"; put DATA before {listing(_MANY_VALUES)}"
        raise InputError(message)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = _Parser(
        prog="sklearn-rank",
        description="Rankers on your own table: cross-validate them, train one, rank with it.",
    )
    version = getattr(sklearn_rank, "__version__", "unknown")
    parser.add_argument("--version", action="version", version=f"sklearn-rank {version}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    parsers = {
        "compare": _add_compare(commands),
        "train": _add_train(commands),
        "rank": _add_rank(commands),
        "evaluate": _add_evaluate(commands),
    }
    words = list(sys.argv[1:] if argv is None else argv)
    options, unknown = parser.parse_known_args(_move_data_to_front(words))
    if options.command is None:
        if unknown:
            raise InputError(
                f"unknown option {unknown[0]}; the options are {listing(parser.option_names)}"
            )
        raise InputError(f"a command is needed: {listing(parsers)} (or --help)")
    if unknown:
        allowed = listing(parsers[options.command].option_names, at_most=99)
        kind = "option" if unknown[0].startswith("-") else "argument"
        raise InputError(f"unknown {kind} {unknown[0]} of {options.command}; it takes {allowed}")
    return options


def _move_data_to_front(words: list[str]) -> list[str]:
    """Move a file that an option took as its last value to the front: --drop a b table.csv."""
    for start, word in enumerate(words):
        if word in _MANY_VALUES:
            rest = words[start + 1 :]
            end = next((i for i, w in enumerate(rest) if w.startswith("-")), len(rest))
            last = start + end
            if end > 1 and os.path.isfile(words[last]) and "=" not in words[last]:
                return [words[0], words[last], *words[1:last], *words[last + 1 :]]
    return words


def _add_command(commands: Any, name: str, summary: str, example: str) -> _Parser:
    parser: _Parser = commands.add_parser(
        name,
        help=summary,
        description=summary[0].upper() + summary[1:] + ".",
        epilog=f"example: {example}",
    )
    return parser


def _add_table_options(parser: _Parser) -> None:
    add = parser.add_argument
    add("--target", metavar="COL", help="column that says what belongs on top")
    add("--qid", metavar="COL", help="column with the query of each row; default: one list")
    add(
        "--weight",
        metavar="COL",
        help="column of row weights for fitting, 2 being the row twice; metrics count every row "
        "once",
    )
    add("--positive", metavar="VALUE", help="class that belongs on top; default: the greater")
    add(
        "--relevance",
        choices=["binary", "graded"],
        default="binary",
        help="two classes, or numbers of which more is better; default: binary",
    )
    many: dict[str, Any] = {"metavar": "COL", "nargs": "+", "action": "extend", "default": []}
    add("--drop", help="columns not to use", **many)
    add("--category", help="columns of numbers that are codes, not amounts", **many)
    add("--seed", metavar="N", type=_integer(0), default=0, help="random seed; default: 0")


def _add_param(parser: _Parser, text: str) -> None:
    how: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
    parser.add_argument("--param", metavar="NAME=VALUE", help=text, **how)


def _add_force(parser: _Parser) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite files that exist")


def _add_compare(commands: Any) -> _Parser:
    parser = _add_command(
        commands,
        "compare",
        "cross-validate rankers beside classifiers",
        "sklearn-rank compare loans.csv --target default --positive yes",
    )
    parser.description = (
        f"{parser.description} The classifiers are logistic regression and, with "
        "BoostedTreesRanker, that of its engine, XGBoost or LightGBM. Held-out metrics with "
        "95 % intervals: over queries, from 10 queries on, of AUC, NDCG@10, AP and P@10; over "
        "rows, in one list, of the AUC. A star marks what is worse than the best by more than "
        "noise."
    )
    add = parser.add_argument
    add(
        "data",
        metavar="DATA",
        nargs="?",
        help=f"{_DATA_HELP} Without DATA: a set that comes with scikit-learn, or is generated.",
    )
    _add_table_options(parser)
    add(
        "--rankers",
        metavar="NAME",
        nargs="+",
        action="extend",
        help=f"of {_RANKERS}; default: every one, but KernelPairwiseSGDRanker only up to 5000 "
        "training rows, and BoostedTreesRanker only if XGBoost or LightGBM is installed",
    )
    _add_param(parser, "parameters, such as p=8, of every ranker that has them")
    add("--cv", metavar="K", type=_integer(2), default=5, help="number of folds; default: 5")
    add("--n-jobs", metavar="N", type=_n_jobs, help="folds to fit at once; -1: all cores")
    add("--json", metavar="FILE", help="also write folds, intervals and differences (.json)")
    add(
        "--plot",
        metavar="FILE",
        help="also draw the ROC curves of two classes, the left end enlarged, or, with queries "
        "or grades, the metrics with their intervals (.png, .pdf, .svg)",
    )
    _add_force(parser)
    return parser


def _add_train(commands: Any) -> _Parser:
    parser = _add_command(
        commands,
        "train",
        "fit a ranker on all rows and store it",
        "sklearn-rank train loans.csv --target default -o loans.skops",
    )
    add = parser.add_argument
    add("data", metavar="DATA", help=_DATA_HELP)
    _add_table_options(parser)
    add(
        "--ranker",
        metavar="NAME",
        default="PNormPushRanker",
        help=f"one of {_RANKERS}; default: %(default)s",
    )
    _add_param(parser, "parameters of the ranker, such as p=8")
    add("-o", "--output", metavar="MODEL", required=True, help="model file (.skops)")
    _add_force(parser)
    return parser


def _add_rank(commands: Any) -> _Parser:
    parser = _add_command(
        commands,
        "rank",
        "order the rows of a table, best first within each query",
        "sklearn-rank rank loans.skops new.csv -o ranked.csv",
    )
    add = parser.add_argument
    add("model", metavar="MODEL", help="file written by train")
    add("data", metavar="DATA", help=_DATA_HELP)
    add(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="table to write (.csv, .tsv, .parquet), or - for CSV on the terminal: the "
        "columns of DATA, score, and rank within the query",
    )
    _add_force(parser)
    return parser


def _add_evaluate(commands: Any) -> _Parser:
    parser = _add_command(
        commands,
        "evaluate",
        "measure a model on rows whose target is known",
        "sklearn-rank evaluate loans.skops test.csv",
    )
    parser.description = (
        f"{parser.description} With 95 % intervals: over queries, from 10 queries on, of AUC, "
        "NDCG@10, AP and P@10; over rows, in one list, of the AUC."
    )
    parser.add_argument("model", metavar="MODEL", help="file written by train")
    parser.add_argument("data", metavar="DATA", help=_DATA_HELP)
    parser.add_argument("--json", metavar="FILE", help="also write metrics and intervals (.json)")
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="also draw the labels down the list with precision and recall and, of two classes, "
        "the ROC curve with its left end enlarged (.png, .pdf, .svg)",
    )
    _add_force(parser)
    return parser


def _integer(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = _int_or_none(text)
        if value is None or value < least:
            raise argparse.ArgumentTypeError(f"must be an integer >= {least}, got {text!r}")
        return value

    return parse


def _n_jobs(text: str) -> int:
    value = _int_or_none(text)
    if not value:
        raise argparse.ArgumentTypeError(f"must be an integer other than 0, got {text!r}")
    return value


def _int_or_none(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None
