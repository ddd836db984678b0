"""Run the command line in this process, in the current folder."""

from pathlib import Path

from sklearn_rank.cli import main

FAST = ["--param", "n_estimators=5"]


def words_of(command):
    """Return the words of a command that is a list, or a line without quotation marks."""
    return command.split() if isinstance(command, str) else command


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
