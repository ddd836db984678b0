"""Run the command line in this process, in the current folder."""

from importlib import import_module
from pathlib import Path

import pytest

from sklearn_rank.cli import main

FAST = ["--param", "n_estimators=5"]


def words_of(command):
    """Return the words of a command that is a list, or a line without quotation marks."""
    return command.split() if isinstance(command, str) else command


def need(package):
    """Skip a test where a package can't be loaded: skrub makes a folder in the home folder."""
    try:
        import_module(package)
    except (ImportError, OSError) as error:
        pytest.skip(f"{package} can't be loaded: {error}")


def run(command, *more):
    """Run what must succeed."""
    assert main([*words_of(command), *more]) == 0


def param(*texts):
    return [word for text in texts for word in ("--param", text)]


def fails(command, capsys):
    """Run what must fail and leave no file; return the one line that says why."""
    before = sorted(Path().iterdir())
    capsys.readouterr()
    assert main(words_of(command)) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("sklearn-rank: error: ")
    assert captured.err.count("\n") == 1
    assert captured.err.endswith("\n")
    assert sorted(Path().iterdir()) == before
    return captured.err
