"""Parts of the command line, each alone: options, refusals, and what is held."""

from __future__ import annotations

import json
import re
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from commands import FAST, fails, run

from sklearn_rank.cli import _contest, _parser, _store
from sklearn_rank.cli._output import Output, checked_output, write_json
from sklearn_rank.cli._tables.inputs import InputError
from sklearn_rank.cli._tables.options import Folds, TableOptions, parse_value

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Go to an empty folder with a table of two classes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    a, b = RNG.normal(size=(2, 240))
    late = a + RNG.normal(size=240) > 0.8
    frame = pd.DataFrame({"a": a, "b": b, "late": late.astype(int), "day": np.arange(240)})
    frame.to_csv("rows.csv", index=False)
    return frame


BASIC = ["rows.csv", "--target", "late", "--drop", "day"]


# ---------------------------------------------------------------------------- options


def test_the_help_of_a_command_names_all_that_it_takes():
    command = _parser.commands.commands["train"]
    text = " ".join(command.get_help(click.Context(command)).split())
    about = "Fit a ranker (default: PNormPushRanker) to all rows and save it"
    assert text.startswith(f"Usage: [OPTIONS] DATA {about}")
    assert "DATA is a table: CSV" in text
    assert re.search(r"-o, --output MODEL .*?\[required\]", text)
    for name in ("--target COL", "--decimal MARK", "--cv K", "--best [RUN]", "--force"):
        assert name in text


def test_options_say_their_defaults():
    for command in _parser.commands.commands.values():
        for one in command.params:
            said = re.search(r"default: ([\d.]+)\.?$", getattr(one, "help", None) or "")
            if said:
                assert float(said[1]) == one.default


def test_outputs_that_can_not_be_written():
    Path("old.csv").touch()
    Path("f.csv").mkdir()
    for name, message in (
        ("f.csv", "f.csv: is a folder"),
        ("none/o.csv", "none/o.csv: there is no folder none"),
        ("old.csv", "old.csv: exists; add --force to overwrite it"),
        ("rows.csv", "rows.csv: is an input of this command and will not be overwritten"),
        ("o.json", "o.json: the output file name must end in .csv or .tsv"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            checked_output(name, (".csv", ".tsv", "-"), ["rows.csv"], force=False)
    assert checked_output("-", (".csv", "-"), [], force=False) is None
    assert checked_output(None, (".csv",), [], force=False) is None
    assert checked_output("old.csv", (".csv",), [], force=True) == Output(Path("old.csv"), True)
    with pytest.raises(InputError, match="must end in"):
        checked_output("-", (".csv",), [], force=False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("rank m.skops rows.csv -o o.csv --top 0", "'--top': 0 is not in the range x>=1"),
        ("compare rows.csv --target late --cv 1", "'--cv': 1 is not in the range x>=2"),
        ("compare rows.csv --target late --seed -1", "'--seed': -1 is not in the range x>=0"),
        ("card rows.csv --target late -o c.json --max-terms 0", "'--max-terms': 0 is not in"),
        ("train rows.csv --target late -o m.skops --cv 3", "--cv requires --best"),
        ("train rows.csv --target late -o m.skops --n-jobs 2", "--n-jobs requires --best"),
        ("train rows.csv --target late -o m.skops --metrics auc", "--metrics requires --best"),
    ],
)
def test_ranges_and_options_that_go_with_others(words, message, capsys):
    if words.startswith("rank"):
        Path("m.skops").touch()
    assert message in fails(words, capsys)


def test_a_format_may_be_named(capsys):
    Path("rows.csv").rename("rows.dump")
    words = ["rows.dump", "--target", "late", "-o", "m.skops", *FAST]
    assert "--format NAME sets the type" in fails(["train", *words], capsys)
    assert "is not a Parquet file" in fails(["train", *words, "--format", "parquet"], capsys)
    run(["train", *words, "--format", "csv"])


def test_sql_of_a_dialect(capsys):
    run(["card", *BASIC, "-o", "c.json"])
    for dialect, quoted in (("sqlite", '"a"'), ("mysql", "`a`")):
        capsys.readouterr()
        run(["card", "export", "c.json", "--to", "sql", "--dialect", dialect])
        assert quoted in capsys.readouterr().out
    words = ["card", "export", "c.json", "--dialect", "mysql"]
    assert "--dialect requires --to sql" in fails([*words, "--to", "text"], capsys)
    words[-1] = "access"
    assert "must be one of sqlite, postgresql" in fails([*words, "--to", "sql"], capsys)


def test_metrics_that_the_command_does_not_have(capsys):
    message = fails(["compare", *BASIC, "--metrics", "foo"], capsys)
    assert "--metrics foo: must be one of auc, map, map@k" in message
    assert "function" not in message


# ---------------------------------------------------------------------------- texts and refusals


def test_a_column_that_is_no_feature_is_named_with_its_first_value(capsys):
    words = [*BASIC, "-o", "c.json", "--special", "none=-9,-8"]
    message = fails(["card", *words], capsys)
    assert "--special none=-9: the features are " in message


def test_a_table_of_dates_has_no_card(capsys):
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=60), "late": [0, 1] * 30})
    frame.to_csv("dates.csv", index=False)
    message = fails(["card", "dates.csv", "--target", "late", "-o", "c.json"], capsys)
    assert "dates.csv: a card can use none of the columns" in message


def test_the_footnote_says_what_was_held_out(capsys):
    run(["compare", *BASIC, "--rankers", "RankBoost", "--cv", "2", *FAST])
    assert "2-fold cross-validation. [low, high]" in capsys.readouterr().out
    words = ["rows.csv", "--target", "late", "--time", "day", "--rankers", "RankBoost", *FAST]
    run(["compare", *words, "--cv", "2", "-o", "r.json"])
    out = capsys.readouterr().out
    assert "2 test periods, each after its training rows." in out
    assert len(json.loads(Path("r.json").read_text())["results"]["RankBoost"]["auc"]["folds"]) == 2


def test_only_classes_of_this_package_are_trusted():
    assert _store._is_trusted("sklearn_rank.estimators.rank_boost.RankBoost")
    assert not _store._is_trusted("sklearn_rank.cli._store.load_model")  # a function
    assert not _store._is_trusted("sklearn_rank.cli._store.Path")  # another package's
    assert not _store._is_trusted("sklearn_rank.cli._store.none")


# ---------------------------------------------------------------------------- columns and contests


def contest_of():
    table = TableOptions("rows.csv", target="late", drop=["day"])
    folds = Folds(cv=2, rankers=["RankBoost"], param={"n_estimators": 3})
    return _contest.hold(table, folds, [])


def test_values_of_parameters_are_words_numbers_or_texts():
    texts = ["none", "True", "FALSE", "3", "-2.5", "1e-3", "inf", "auto", ""]
    found = [parse_value(text) for text in texts]
    assert found == [None, True, False, 3, -2.5, 0.001, np.inf, "auto", ""]
    assert [type(one) for one in found[1:4]] == [bool, bool, int]


def test_the_stored_run_is_read_as_it_was():
    contest = contest_of()
    write_json(Output(Path("run.json")), _contest.record(contest))
    found = _contest._read("run.json", contest.folds, contest.data)
    assert found.seconds == contest.results.seconds
    for name, one in contest.results.scores.items():
        np.testing.assert_array_equal(found.scores[name], one)
