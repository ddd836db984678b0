"""A command: the options that it takes, and the function that it calls.

That is in a module of its own, imported when the command runs: ``--help`` and a mistyped option do
not wait for scikit-learn and pandas.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import click

import sklearn_rank
from sklearn_rank.cli._output import checked_output
from sklearn_rank.cli._tables.inputs import InputError, import_extra
from sklearn_rank.cli._tables.options import Folds, TableOptions, option, options_of

PICTURES = (".png", ".svg", ".pdf")
_INPUTS = {
    "data": "DATA is a table: CSV (.csv, .tsv), Parquet (.parquet), Excel (.xlsx), JSON lines "
    "(.jsonl) or svmlight/LETOR (.txt, .svm, .letor); text files may be compressed (.gz).",
    "model": "MODEL is a file saved by train; rank and evaluate also take one saved by card.",
}
DATA, TABLE = click.Argument(["data"]), options_of(TableOptions)
FOLDS = {str(param.name): param for param in options_of(Folds)}
_FORCE = option("--force", "", "Overwrite existing files.")


@click.group(no_args_is_help=False)
@click.version_option(sklearn_rank.__version__, message="sklearn-rank %(version)s")
def commands() -> None:
    """Rank the rows of your own table: compare rankers, train one, rank with it."""


def _call(home: str, suffixes: Iterable[str], *, force: bool, **options: Any) -> None:
    """Check the files of a command, then call the function of its last word in a module.

    `suffixes` are those of its output, in which "-" is the terminal.
    """
    inputs = [path for path in map(options.get, ("data", "model", "card", "best")) if path]
    for path in inputs:
        if not os.path.exists(path):
            raise InputError(f"{path}: no such file")
    import_extra("pandas")  # imported by name at the top of modules
    for key, ends in (("output", suffixes), ("plot", PICTURES)):
        if key in options:
            options[key] = checked_output(options[key], ends, inputs, force=force)
    for key, kind, sign in (("table", TableOptions, "sep"), ("folds", Folds, "cv")):
        if sign in options:
            names = options.keys() & kind.__dataclass_fields__.keys()
            options[key] = kind(**{name: options.pop(name) for name in names})
    name = click.get_current_context().info_name or ""
    module = importlib.import_module(f"sklearn_rank.cli.{home}")
    getattr(module, name.rpartition(" ")[2])(**options)


def export_to(*forms: str) -> list[click.Option]:
    """Return the options of an export: its form and its file."""
    to = option("--to", "FORMAT", f"{', '.join(forms)}.", required=True, type=click.Choice(forms))
    return [to, option("-o --output", "FILE", "Output file; default: standard output.")]


def command(
    name: str, home: str, suffixes: Sequence[str], *params: click.Parameter
) -> Callable[[Callable[[], None]], click.Command]:
    """Return a decorator that makes a command from a docstring; it calls a function of `home`."""

    def add(described: Callable[[], None]) -> click.Command:
        epilog = " ".join(_INPUTS[param.name] for param in params if param.name in _INPUTS)
        how: Any = {"params": [*params, _FORCE], "help": described.__doc__, "epilog": epilog}
        return commands.command(name, **how)(partial(_call, home, suffixes))

    return add
