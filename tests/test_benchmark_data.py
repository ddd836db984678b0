"""benchmarks/_real_data.py: what OpenML's tables mean, which source wins, how folds are cut."""

import gzip
from pathlib import Path
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def real_data(scripts):
    return scripts("_real_data")


@pytest.fixture
def openml(monkeypatch):
    """Put tables in OpenML's place; what was asked for is kept."""

    def serve(frame):
        def fetch(name, **options):
            serve.asked = (name, options)
            if isinstance(frame, Exception):
                raise frame
            return SimpleNamespace(frame=frame)

        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)

    return serve


def shuffled_labels(n_first, first, n_second, second):
    labels = np.array([first] * n_first + [second] * n_second)
    return np.random.default_rng(0).permutation(labels)


def magic_table(n_h=6688):
    """Columns as in OpenML's version 1: colons, an ID, classes in alphabetical order."""
    names = ["fLength:", "fWidth:", "fSize:", "fConc:", "fConc1:", "fAsym:", "fM3Long:"]
    names += ["fM3Trans:", "fAlpha:", "fDist:"]
    labels = shuffled_labels(12332, "g", n_h, "h")
    frame = pd.DataFrame({name: np.full(len(labels), float(j)) for j, name in enumerate(names)})
    frame = frame[frame.columns[::-1]]
    frame.insert(0, "ID", np.arange(len(labels)))
    frame["class:"] = pd.Categorical(labels)
    return frame, labels


def test_magic_of_openml(real_data, openml):
    frame, labels = magic_table()
    openml(frame)
    X, y = real_data.load_two_classes("magic")
    assert openml.asked[0] == "MagicTelescope"
    assert openml.asked[1]["version"] == 1
    np.testing.assert_array_equal(X, np.tile(np.arange(10.0), (19020, 1)))
    np.testing.assert_array_equal(y, labels == "g")


def test_ionosphere_of_openml_has_bad_on_top(real_data, openml):
    labels = shuffled_labels(225, "g", 126, "b")
    frame = pd.DataFrame({f"a{j:02}": np.full(351, float(j)) for j in range(1, 35)})
    frame["class"] = pd.Categorical(labels)
    openml(frame)
    X, y = real_data.load_two_classes("ionosphere")
    np.testing.assert_array_equal(X[0, -5:], [30, 31, 32, 33, 34])
    np.testing.assert_array_equal(y, labels == "b")


@pytest.mark.parametrize("kind", [str, int, float])
def test_housing_of_openml_keeps_the_values_of_nominal_columns(real_data, openml, kind):
    chas = shuffled_labels(471, 0, 35, 1)
    names = ["CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX"]
    names += ["PTRATIO", "B", "LSTAT", "MEDV"]
    frame = pd.DataFrame({name: np.full(506, float(j)) for j, name in enumerate(names)})
    frame["CHAS"] = pd.Categorical([kind(one) for one in chas])
    frame["RAD"] = pd.Categorical(["24", "5"] * 253)
    openml(frame)
    X, y = real_data.load_two_classes("housing")
    assert X.shape == (506, 13)
    np.testing.assert_array_equal(
        X[:2], [[0, 1, 2, 4, 5, 6, 7, r, 9, 10, 11, 12, 13] for r in (24, 5)]
    )
    np.testing.assert_array_equal(y, chas)


def test_another_version_at_openml_is_refused(real_data, openml):
    frame, _ = magic_table(n_h=6687)
    openml(frame)
    with pytest.raises(ValueError, match=r"must have \(6688, 12332\) rows.*Got \(6687, 12332\)"):
        real_data.load_two_classes("magic")
    openml(frame.drop(columns="fAlpha:"))
    with pytest.raises(ValueError, match=r"no column \['fAlpha'\]"):
        real_data.load_two_classes("magic")


@pytest.mark.parametrize("error", [URLError("no route"), ImportError("needs pandas")])
def test_neither_folder_nor_openml(real_data, openml, tmp_path, error):
    openml(error)
    with pytest.raises(real_data.DataNotFoundError, match="--data DIR or SKLEARN_RANK_DATA"):
        real_data.load_two_classes("housing")
    with pytest.raises(real_data.DataNotFoundError, match=r"housing\.data is not there"):
        real_data.load_two_classes("housing", tmp_path)


@pytest.fixture
def write(tmp_path):
    def write(name, text):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())

    return write


def test_the_folder_comes_first(real_data, openml, write, tmp_path):
    openml(AssertionError("the file is there"))
    write("magic_gamma/magic04.data.gz", "1,2,3,4,5,6,7,8,9,10,g\n10,9,8,7,6,5,4,3,2,1,h\n")
    X, y = real_data.load_two_classes("magic", tmp_path)
    np.testing.assert_array_equal(X, [range(1, 11), range(10, 0, -1)])
    np.testing.assert_array_equal(y, [1, 0])

    write("boston_housing/housing.data", " 0.1 2 3 1 5 6 7 8 9 10 11 12 13 14\n")
    X, y = real_data.load_two_classes("housing", tmp_path)
    np.testing.assert_array_equal(X, [[0.1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14]])
    np.testing.assert_array_equal(y, [1])


def test_strange_files_are_refused(real_data, write, tmp_path):
    write("magic_gamma/magic04.data.gz", "1,2,3,4,5,6,7,8,9,10,g\n1,2,g\n")
    with pytest.raises(ValueError, match=r"row 2: must have 11 values\. Got 3"):
        real_data.load_two_classes("magic", tmp_path)
    write("magic_gamma/magic04.data.gz", "1,2,3,4,5,6,7,8,9,10,x\n")
    with pytest.raises(ValueError, match=r"class must be one of .* Got \['x'\]"):
        real_data.load_two_classes("magic", tmp_path)


def letor(qids):
    entries = " ".join(f"{j}:1" for j in range(1, 47))
    return "".join(f"1 qid:{qid} {entries}\n" for qid in qids)


def test_five_folds_are_cut_from_one(real_data, monkeypatch, write, tmp_path):
    monkeypatch.setattr(real_data, "MQ2008_LINES", (1, 2, 1))
    folder = real_data.MQ2008
    for part, qids in (("train", [1, 2, 2, 3]), ("vali", [4, 4]), ("test", [5])):
        write(f"{folder}/{part}.txt.gz", letor(qids))
    found = [[part.qid.tolist() for part in fold] for fold in real_data.load_mq2008(tmp_path)]
    assert found == [
        [[1, 2, 2, 3], [4, 4], [5]],
        [[2, 2, 3, 4, 4], [5], [1]],
        [[3, 4, 4, 5], [1], [2, 2]],
        [[4, 4, 5, 1], [2, 2], [3]],
        [[5, 1, 2, 2], [3], [4, 4]],
    ]
    write(f"{folder}/train.txt.gz", letor([1, 2, 2]))
    with pytest.raises(ValueError, match=r"must have 4 rows\. Got 3"):
        real_data.load_mq2008(tmp_path)


def test_query_lengths_in_files_of_their_own(real_data, write, tmp_path):
    folder = real_data.LIGHTGBM
    for name, packed in (("rank.train", ".gz"), ("rank.test", "")):
        write(f"{folder}/{name}{packed}", "1 3:0.5\n0 300:1\n2 1:1\n")
        write(f"{folder}/{name}.query", "1\n2\n")
    train, test = real_data.load_lightgbm(tmp_path)
    assert train.qid.tolist() == test.qid.tolist() == [0, 1, 1]
    assert train.data.shape == (3, 300)
    write(f"{folder}/rank.test.query", "4\n")
    with pytest.raises(ValueError, match=r"has 3 rows, rank\.test\.query 4"):
        real_data.load_lightgbm(tmp_path)
