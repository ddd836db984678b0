"""The command line: options and commands, made of the classes of settings and their docstrings.

A command is a function of a module of its own, imported when it runs: ``--help`` and a mistyped
option do not wait for scikit-learn and pandas.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli import _settings
from sklearn_rank.cli._output import checked_output
from sklearn_rank.cli._tables.errors import InputError, import_extra, listing

_ARGUMENTS = ("data", "model", "card")
_INPUTS = (*_ARGUMENTS, "validation", "calibration")


def _by(parse: Callable[[Any], Any]) -> dict[str, Any]:
    """Return the keyword by which click parses an option with a function."""
    return {"callback": lambda context, option, given: parse(given)}


_SHARE = {"type": click.FloatRange(0, 1, min_open=True, max_open=True)}
_KINDS: dict[str, dict[str, Any]] = {
    "relevance": {"type": click.Choice(["binary", "graded"]), "default": "binary"},
    "decimal": {"type": click.Choice([".", ","])},
    "seed": {"type": click.IntRange(0), "default": 0},
    "name": {"default": "model"},
    "cv": {"type": click.IntRange(2), "default": 5},
    "repeats": {"type": click.IntRange(1), "default": 1},
    "embargo": {"type": click.FloatRange(0), "default": 0.0},
    "n_jobs": {"type": int, **_by(_settings.parse_n_jobs)},
    "max_terms": {"type": click.IntRange(1), "default": 10},
    "points": {"default": "-5:5", **_by(_settings.parse_points)},
    "top": {"type": click.IntRange(1)},
    "fdr": _SHARE,
    "calibrate": _SHARE,
    "rankers": _by(_settings.split),
    "metrics": _by(_settings.split),
    "param": _by(_settings.parse_param),
    "search": _by(_settings.parse_search),
    "monotone": _by(partial(_settings.parse_by_column, "--monotone")),
    "special": _by(partial(_settings.parse_by_column, "--special")),
}
_NEEDED = {(_settings.Rank, "output"), (_settings.ExportCard, "to"), (_settings.ExportModel, "to")}
_SUFFIXES = {"json": (".json",), "plot": (".png", ".pdf", ".svg")}
_TABLES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz", "-")
_TEXTS = {
    "data": "DATA is a table: CSV (.csv, .tsv), Parquet (.parquet), Excel (.xlsx), JSON lines "
    "(.jsonl) or svmlight/LETOR (.txt, .svm, .letor); text may be .gz, and - is standard input.",
    "model": "MODEL was written by train or card.",
    "rankers": ", ".join(sklearn_rank.__all__),
}


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
        raise InputError(_explain(error)) from error


def _explain(error: click.UsageError) -> str:
    """Return the message on a wrong word of a command line, and on those allowed."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        known = [name for one in error.ctx.command.params for name in one.opts if "--" in name]
        guess = f"did you mean {error.possibilities[0]}? " if error.possibilities else ""
        command = error.ctx.info_name
        option = error.option_name + ("" if command == "sklearn-rank" else f" of {command}")
        return f"unknown option {option}; {guess}the options are {listing(known, 99)}"
    message = error.format_message().removesuffix(".")
    if "extra argument" in message:
        message += "; an option takes several values as a,b (--drop a,b) or when it is repeated"
    if "Missing command" in message or "No such command" in message:
        message = f"{message.partition('. ')[0]}; the commands are {listing(commands.commands)}"
    return message[0].lower() + message[1:]


def _command(name: str, home: str, kind: type, *suffixes: str) -> None:
    """Add a command: the function of its last word in the module `home` takes settings of a kind.

    `suffixes` are those of its output, in which "-" is the terminal.
    """

    def call(force: bool, **values: Any) -> None:
        inputs = {key: values[key] for key in _INPUTS if values.get(key) is not None}
        inputs |= {"best": values["best"]} if values.get("best") else {}
        for key, path in inputs.items():
            if not (os.path.exists(path) or (key == "data" and path == "-")):
                raise InputError(f"{path}: no such file")
        import_extra("pandas")  # imported by name at the top of modules
        for key, ends in {**_SUFFIXES, "output": suffixes}.items():
            if key in values:
                values[key] = checked_output(values[key], ends, inputs.values(), force=force)
        module = importlib.import_module(f"sklearn_rank.cli.{home}")
        getattr(module, name.rsplit(maxsplit=1)[-1])(_made(kind, values))

    about, _ = _described(kind)
    force = click.Option(["--force"], is_flag=True, help="Overwrite files that exist.")
    params = sorted([*_params(kind), force], key=lambda one: isinstance(one, click.Option))
    params[0].required = kind is not _settings.Compare  # which has an example
    commands.add_command(click.Command(name, callback=call, params=params, help=about))


def _described(kind: type) -> tuple[str, dict[str, tuple[str, str]]]:
    """Return the docstring of settings without its options, and metavar and help of these."""
    # Python -OO keeps the options, without help.
    text = inspect.cleandoc(kind.__doc__ or "").format(**_TEXTS)
    about, *lines = re.split(r"\n--", re.sub(r"\n    +", " ", text))
    options = {}
    for line in lines:
        words, _, what = line.partition("  ")
        name, _, metavar = words.partition(" ")
        options[name] = (metavar, what.strip())
    return about.strip(), options


def _params(kind: type) -> Iterator[click.Parameter]:
    """Yield the arguments and options of settings, those of shared ones in their place."""
    described = _described(kind)[1]
    for one in fields(kind):
        name, form = one.name.replace("_", "-"), str(one.type)
        if is_dataclass(one.default):
            yield from _params(type(one.default))
        elif one.name in _ARGUMENTS:
            yield click.Argument([one.name])
        else:
            metavar, about = described.get(name, (None, None))
            how: dict[str, Any] = {"is_flag": True} if form == "bool" else {"metavar": metavar}
            how["multiple"] = form.startswith(("Sequence", "Mapping"))
            how |= _KINDS.get(one.name, {})
            is_needed = form == "Output" or (kind, name) in _NEEDED
            names = ["-o"] * (name == "output") + [f"--{name}"]
            yield click.Option(names, help=about, required=is_needed, **how)


def _made(kind: type, values: Mapping[str, Any]) -> Any:
    """Return settings of a kind; a field that holds settings is made of the same values."""
    given = {one.name: one.default for one in fields(kind)}
    given |= {name: _made(type(one), values) for name, one in given.items() if is_dataclass(one)}
    return kind(**given | {name: values[name] for name in given.keys() & values.keys()})


_command("compare", "_compare", _settings.Compare, ".json", "-")
_command("train", "_train", _settings.Train, ".skops")
_command("rank", "_rank", _settings.Rank, *_TABLES)
_command("evaluate", "_compare", _settings.Evaluate)
_command("export", "_export", _settings.ExportModel, "", "-")
_command("card", "_cards", _settings.MakeCard, ".json")
_command("card export", "_cards", _settings.ExportCard, "", "-")
