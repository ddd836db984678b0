"""Files that fuzzing found, and a few hundred generated ones: a result, or one line and code 2."""

import importlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sklearn_rank.cli import main
from sklearn_rank.cli._dataset import TableOptions, training_data
from sklearn_rank.cli._errors import InputError, one_line, show_notes
from sklearn_rank.cli._tables import read_table

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    """Return the fuzzing scripts by name."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


def run(words, capsys):
    """Return the code of a command and its line on stderr, which must be one if it refuses."""
    code = main(list(map(str, words)))
    text = capsys.readouterr().err
    if code:
        assert code == 2
        assert text.startswith("sklearn-rank: error: ")
        assert text.endswith("\n")
        assert text[:-1].isprintable()
    return code, text


# Reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\n c", "a b c"),
        ("a\0\x1b[2Jb", r"a\x00\x1b[2Jb"),
        ("\ud800é", r"\ud800é"),
        ("\u202eb", r"\u202eb"),
    ],
)
def test_messages_show_what_a_terminal_would_obey(text, shown):
    assert one_line(text) == shown


def test_messages_are_of_limited_length():
    line = one_line(5000 * "name, " + "the end")
    assert len(line) < 1000
    assert line.endswith("the end")


def test_notes_are_lines(capsys):
    show_notes(["column 'a\0\nb' is not used"])
    assert capsys.readouterr().err == "note: column 'a\\x00 b' is not used\n"


def test_names_of_control_characters(tmp_path, capsys):
    path = tmp_path / "table.csv"
    path.write_bytes(b"\x1b[2Ja,b\nx,1\nz,0\n")
    code, line = run(["train", path, "--target", "y", "-o", tmp_path / "m.skops"], capsys)
    assert code == 2
    assert r"\x1b[2Ja" in line


def test_dates_that_pipelines_cannot_hold(tmp_path):
    path = tmp_path / "table.parquet"
    far = np.array([0, 2**50] * 6, dtype="datetime64[s]")
    pd.DataFrame({"day": far, "y": [0, 1] * 6}).to_parquet(path)
    with pytest.raises(InputError, match="column 'day' holds dates that microseconds in 64 bits"):
        training_data(TableOptions(data=str(path), target="y"), [])


def test_infinite_values_are_no_row_numbers(tmp_path):
    path = tmp_path / "table.parquet"
    values = [*range(10), np.inf, np.inf]
    pd.DataFrame({"x": values, "y": [0, 1] * 6}).to_parquet(path)
    with pytest.raises(InputError, match="'x' holds infinite values"):
        training_data(TableOptions(data=str(path), target="y"), [])


def test_a_large_index_is_one_column(tmp_path):
    path = tmp_path / "table.svm"
    path.write_text("0 1:1 2147483646:2\n1 1:2\n1 3:3\n")
    table = read_table(str(path), [], None, None)
    assert list(table.frame) == ["target", "f1", "f3", "f2147483646"]
    np.testing.assert_array_equal(table.frame.iloc[:, 1:], [[1, 0, 2], [2, 0, 0], [0, 3, 0]])


def test_a_sparse_file_whose_table_would_be_zeros(tmp_path):
    path = tmp_path / "table.svm"
    path.write_text("".join(f"{i % 2} {i + 1}:1\n" for i in range(2100)))
    with pytest.raises(InputError, match="2100 rows x 2100 columns, of which 2100 cells are"):
        read_table(str(path), [], None, None)


def test_a_cell_without_end(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(f"a,y\n{'x' * 200_000},1\nb,0\n")
    with pytest.raises(InputError, match="line 2: a cell has more than 131072 characters"):
        read_table(str(path), [], None, None)


def test_json_nested_deeply(tmp_path):
    path = tmp_path / "table.json"
    path.write_text('[{"a": ' + "[" * 100_000)
    with pytest.raises(InputError, match="nested too deeply"):
        read_table(str(path), [], None, None)


@pytest.mark.parametrize(
    ("part", "n_cases"), [("damaged", 15), ("generated", 30), ("strategies", 4)]
)
def test_fuzzed_tables(scripts, tmp_path, part, n_cases):
    fuzzing, readers = scripts("_fuzzing"), scripts("fuzz_readers")
    kinds = Counter()
    for number in range(n_cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        call, n_bytes = fuzzing.make_case(readers.CASES[part], part, 1, number, folder)
        found = fuzzing.run_guarded(call, n_bytes, limits=False)
        kinds[found["kind"]] += 1
        assert found["kind"] in (fuzzing.RESULT, fuzzing.REFUSED), found["detail"]
    assert kinds[fuzzing.REFUSED] > 0


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_fuzzed_tables_through_train_and_rank(scripts, tmp_path, number):
    fuzzing, readers = scripts("_fuzzing"), scripts("fuzz_readers")
    part = "train and rank"
    found = fuzzing.run_guarded(
        *fuzzing.make_case(readers.CASES[part], part, 1, number, tmp_path), limits=False
    )
    assert found["kind"] in (fuzzing.RESULT, fuzzing.REFUSED), found["detail"]
