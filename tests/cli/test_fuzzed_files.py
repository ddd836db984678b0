"""Files that fuzzing found, and a few hundred generated ones: a result, or one line and code 2."""

import importlib
import json
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from libraries import need

from sklearn_rank.cli import main
from sklearn_rank.cli._output import show_notes
from sklearn_rank.cli._tables.columns import Schema
from sklearn_rank.cli._tables.dataset import training_data
from sklearn_rank.cli._tables.inputs import InputError, one_line
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import read_table

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


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


def run_case(fuzzing, script, part, number, folder):
    call, n_bytes = fuzzing.make_case(script.PARTS[part].case, part, 1, number, folder)
    found = fuzzing.run_guarded(call, n_bytes, limits=False)
    assert found["kind"] in (fuzzing.RESULT, fuzzing.REFUSED), found["detail"]
    return found["kind"]


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


def test_notes_are_lines(capsys):
    show_notes(["column 'a\0\nb' is not used"])
    assert capsys.readouterr().err == "note: column 'a\\x00 b' is not used\n"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array([0, 2**50] * 6, dtype="datetime64[s]"), "holds dates or durations too long"),
        (np.array([0, 2**50] * 6, dtype="timedelta64[ms]"), "holds dates or durations too long"),
        ([*range(10), np.inf, np.inf], "must hold finite .*row 11"),  # these are no row numbers
    ],
    ids=["dates", "durations", "infinite"],
)
def test_values_that_are_too_large(tmp_path, values, message):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"x": values, "y": [0, 1] * 6}).to_parquet(path)
    with pytest.raises(InputError, match=f"column 'x' {message}"):
        training_data(TableOptions(data=str(path), target="y"), [])


def test_a_large_index_is_one_column(tmp_path):
    path = tmp_path / "table.svm"
    path.write_text("0 1:1 2147483646:2\n1 1:2\n1 3:3\n")
    table = read_table(TableOptions(str(path)), [])
    assert list(table.frame) == ["target", "f1", "f3", "f2147483646"]
    np.testing.assert_array_equal(table.frame.iloc[:, 1:], [[1, 0, 2], [2, 0, 0], [0, 3, 0]])


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("csv", f"a,y\n{'x' * 200_000},1\nb,0\n", "line 2: a quotation mark is misplaced .*131072"),
        ("json", '[{"a": ' + "[" * 100_000, "is not JSON .*recursion"),
    ],
    ids=["long cell", "deep"],
)
def test_files_that_would_fill_the_memory(tmp_path, kind, text, message):
    path = tmp_path / f"table.{kind}"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_table(TableOptions(str(path)), [])


@pytest.mark.parametrize(
    ("part", "n_cases"),
    [
        ("damaged", 15),
        ("generated", 15),
        pytest.param("train and rank", 10, marks=pytest.mark.slow),
    ],
)
def test_fuzzed_tables(scripts, tmp_path, part, n_cases):
    fuzzing, readers = scripts("robustness._fuzzing"), scripts("robustness.fuzz_readers")
    kinds = Counter()
    for number in range(n_cases):
        folder = tmp_path / str(number)
        folder.mkdir()
        kinds[run_case(fuzzing, readers, part, number, folder)] += 1
    assert kinds[fuzzing.REFUSED] > 0


# Models ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def models():
    """Return the script, whose good models are fitted once."""
    need("lightgbm")
    need("xgboost")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCHMARKS)
        found = importlib.import_module("robustness.fuzz_models")
        found.good_models()
        return found


@pytest.mark.slow
@pytest.mark.parametrize("part", ["bytes", "contents", "cards"])
def test_fuzzed_models(models, scripts, tmp_path, part):
    fuzzing = scripts("robustness._fuzzing")
    for number in range(20):
        folder = tmp_path / str(number)
        folder.mkdir()
        run_case(fuzzing, models, part, number, folder)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(12))
def test_a_planted_callable_is_refused_and_does_not_run(models, tmp_path, capsys, number):
    marker, path, rows = tmp_path / "marker", tmp_path / "m.skops", tmp_path / "t.csv"
    content, rows_of_model = models.good_models()
    rows.write_bytes(rows_of_model)
    members = models._members(content["PNormPushRanker"])
    tree = json.loads(members["schema.json"])
    tree["content"]["more"] = models.planted_node(number, marker)
    path.write_bytes(models._archive({**members, "schema.json": json.dumps(tree).encode()}))
    code, line = run(["rank", path, rows, "-o", tmp_path / "o.csv"], capsys)
    assert code == 2
    assert "types that no sklearn-rank model uses" in line or "is damaged" in line
    assert not marker.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kinds", {"x": "colour"}),
        ("kinds", {}),
        ("formats", {"x": "%Q"}),
        ("decimal", "x"),
        ("formats", ["%"]),
    ],
)
def test_schemas_that_no_training_gives(field, value):
    good = Schema({"x": "number"}, "y", None, "binary", "yes", classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"must map|are unknown"):
        replace(good, **{field: value})


@pytest.mark.slow
def test_an_archive_that_unpacks_to_gigabytes(tmp_path, capsys):
    path, rows = tmp_path / "m.skops", tmp_path / "t.csv"
    rows.write_text("x\n1\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b" " * 2**22)
    code, line = run(["rank", path, rows, "-o", tmp_path / "o.csv"], capsys)
    assert code == 2
    assert "would unpack to 4194304 bytes" in line


@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_csv_beyond_the_range_of_floats(tmp_path, sign):
    path = tmp_path / "table.csv"
    lines = [f"{sign + '9' * 400 if k == 7 else k},{k * 7 % 5},{k % 2}" for k in range(60)]
    path.write_text("\n".join(["x,z,y", *lines]))
    with pytest.raises(InputError, match="column 'x' must hold finite numbers, but row 8 holds"):
        training_data(TableOptions(data=str(path), target="y"), [])
