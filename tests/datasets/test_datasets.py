"""Reading svmlight/LETOR files, faults included, and generating queries and loan applications."""

import gzip
import io
import sys
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import rankdata
from sklearn.datasets import dump_svmlight_file

from sklearn_rank.datasets import load_letor, make_credit, make_queries
from sklearn_rank.datasets._credit import CATEGORIES, MONOTONIC, hazards_of

LETOR = (
    b"# a heading\n"
    b"2 qid:7 1:0.5 2:1 3:0 #docid = a\n"
    b"\n"
    b"0 qid:7 1:0.25 2:0 3:0 # docid = b\r\n"
    b"1 qid:3 1:1e-3 2:nan 3:-4\n"
)


@pytest.fixture
def write(tmp_path):
    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


@pytest.mark.parametrize("name", ["data.txt", "data.txt.gz", "no_suffix"])
@pytest.mark.parametrize("packed", [False, True])
def test_reads_letor_whatever_its_name(write, name, packed):
    queries = load_letor(write(gzip.compress(LETOR) if packed else LETOR, name))
    assert isinstance(queries.data, np.ndarray)
    np.testing.assert_array_equal(queries.data, [[0.5, 1, 0], [0.25, 0, 0], [1e-3, np.nan, -4]])
    np.testing.assert_array_equal(queries.target, [2, 0, 1])
    np.testing.assert_array_equal(queries.qid, [7, 7, 3])
    assert "comments" not in queries


def test_comments(write):
    queries = load_letor(write(LETOR), return_comments=True)
    assert queries.comments == ["docid = a", "docid = b", ""]


def test_no_qid(write):
    assert load_letor(write(b"1 1:0.5\n0 1:2\n")).qid is None


@pytest.mark.parametrize("beside", ["data.txt.gz.query", "data.txt.query", "data.txt.group"])
def test_queries_in_a_file_beside(write, beside):
    path = write(gzip.compress(b"1 1:0.5\n0 1:2\n2 1:1\n"), "data.txt.gz")
    write(b"2\n1\n", beside)
    np.testing.assert_array_equal(load_letor(path).qid, [1, 1, 2])
    write(b"2\n2\n", beside)
    with pytest.raises(ValueError, match=r"its queries have 4 rows, but .* has 3"):
        load_letor(path)
    write(b"two\n", beside)
    with pytest.raises(ValueError, match="must hold the number of rows of each query"):
        load_letor(path)


def test_mostly_empty_files_stay_sparse(write):
    queries = load_letor(write(b"1 1:0.5\n0 7:2\n1\n"))
    assert sparse.issparse(queries.data)
    assert queries.data.format == "csr"
    np.testing.assert_array_equal(queries.data.toarray(), [[0.5] + [0] * 6, [0] * 6 + [2], [0] * 7])


def test_written_zeros_count_as_entries(write):
    assert isinstance(load_letor(write(b"1 1:0 2:0 3:5\n0 1:0 2:0 3:0\n")).data, np.ndarray)


def test_index_zero_means_counting_from_zero(write):
    np.testing.assert_array_equal(
        load_letor(write(b"1 0:5 1:6\n0 0:7 1:8\n")).data, [[5, 6], [7, 8]]
    )


def test_zero_based(write):
    """A part of a data set is read as another part was, whichever indices it has."""
    first, second = write(b"1 0:5 2:6\n0 1:7 2:1\n", "a"), write(b"1 1:3 2:4\n0 1:1 2:2\n", "b")
    assert load_letor(first).zero_based is True
    assert load_letor(second).zero_based is False
    np.testing.assert_array_equal(load_letor(second).data, [[3, 4], [1, 2]])
    for zero_based, data in ((True, [[0, 3, 4], [0, 1, 2]]), (False, [[3, 4], [1, 2]])):
        read = load_letor(second, zero_based=zero_based)
        np.testing.assert_array_equal(read.data, data)
        assert read.zero_based is zero_based
        width = len(data[0])
        wide = load_letor(second, zero_based=zero_based, n_features=width + 1).data
        np.testing.assert_array_equal(wide, np.pad(data, [(0, 0), (0, 1)]))
        message = rf"n_features was set to {width - 1}, .* {width} features"
        with pytest.raises(ValueError, match=message):
            load_letor(second, zero_based=zero_based, n_features=width - 1)
    with pytest.raises(ValueError, match=r"a: has the index 0, where .* \(zero_based=False\)"):
        load_letor(first, zero_based=False)
    with pytest.raises(ValueError, match=r"zero_based must be 'auto', True or False\. Got 'no'"):
        load_letor(first, zero_based="no")


@pytest.mark.parametrize("zero_based", ["auto", True, False])
def test_rows_without_entries(write, zero_based):
    assert load_letor(write(b"1\n0\n"), zero_based=zero_based).data.shape == (2, 1)


def test_round_trip_through_scikit_learns_writer(tmp_path):
    queries = make_queries(n_queries=5, rows_per_query=7, random_state=0)
    file = io.BytesIO()
    dump_svmlight_file(queries.data, queries.target, file, query_id=queries.qid, zero_based=False)
    path = tmp_path / "q.txt"
    path.write_bytes(file.getvalue())
    read = load_letor(path)
    np.testing.assert_allclose(read.data, queries.data, rtol=1e-12)
    np.testing.assert_array_equal(read.target, queries.target)
    np.testing.assert_array_equal(read.qid, queries.qid)


@pytest.mark.parametrize(
    ("bad_line", "reason"),
    [
        (b"1 qid:1 1:0.5 2:", "could not convert string to float"),
        (b"1 qid:1 1:0.5 2", "need more than 1 value"),
        (b"1 qid:1 -1:0.5", "Invalid index -1"),
        (b"1 qid:1 2:0.5 1:3", "should be sorted and unique"),
        (b"1 qid:1 99999999999:3", "too large to convert"),
        (b"1 qid:1.5 1:1", "invalid literal for int()"),
        (b"1 qid:99999999999999999999 1:1", "too large to convert"),
        (b"1 1:1", "has no qid, unlike the lines above"),
        (b"nan qid:1 1:1", "relevance must be a finite number"),
        (b"\xff\xfe qid:1 1:1", "Got '\\\\xff\\\\xfe"),
        (b"x" * 100, "Got '" + "x" * 60 + "'"),
    ],
)
@pytest.mark.parametrize("end", [b"", b"\n", b"\n1 qid:1 1:1\n"])
def test_malformed_line_is_named(write, bad_line, reason, end):
    path = write(b"# heading\n0 qid:1 1:1 2:2\n\n" + bad_line + end)
    with pytest.raises(ValueError) as caught:
        load_letor(path)
    message = str(caught.value)
    assert message.startswith(f"{path}, line 4: ")
    assert reason in message
    assert "\n" not in message


def test_qid_on_some_lines_only(write):
    with pytest.raises(ValueError, match=r"data\.txt, line 2: has a qid, unlike the lines above"):
        load_letor(write(b"1 1:1\n0 qid:1 1:2\n"))


@pytest.mark.parametrize("content", [b"", b"\n\n", b"# only a comment\n"])
def test_no_rows(write, content):
    with pytest.raises(ValueError, match=r"data\.txt: holds no rows"):
        load_letor(write(content))


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_letor(tmp_path / "nowhere.txt")


def test_file_cut_between_two_entries(write):
    with pytest.raises(ValueError, match=r"line 3: .* truncated in this row: it has 2 entries"):
        load_letor(write(b"1 qid:1 1:1 2:2 3:3\n0 qid:1 1:1 2:2 3:3\n1 qid:1 1:1 2:2"))


def test_short_last_row_is_fine_where_rows_differ_or_the_line_ends(write):
    assert load_letor(write(b"1 1:1 2:2\n0 1:1\n1 2:2")).data.shape == (3, 2)
    assert load_letor(write(b"1 1:1 2:2\n0 1:1 2:2\n1 1:1\n")).data.shape == (3, 2)


@pytest.mark.parametrize("kept", [3, 12, 60, -5])
def test_truncated_gzip(write, kept):
    rows = [b"%d qid:%d 1:%d 2:%d\n" % (i % 2, i // 7, i * i, i % 13) for i in range(200)]
    path = write(gzip.compress(b"".join(rows))[:kept], "data.txt.gz")
    with pytest.raises(ValueError, match=r"data\.txt\.gz, line \d+: the gzip data is trunc"):
        load_letor(path)


def test_damaged_gzip(write):
    packed = bytearray(gzip.compress(LETOR * 50))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(ValueError, match=r"line \d+"):
        load_letor(write(bytes(packed), "data.txt.gz"))


@given(cut=st.integers(1, len(LETOR) - 1), flip=st.integers(0, 255), place=st.integers(0, 10**6))
def test_any_damage_gives_rows_or_a_named_line(tmp_path_factory, cut, flip, place):
    damaged = bytearray(LETOR[:cut])
    damaged[place % cut] ^= flip
    path = tmp_path_factory.mktemp("letor") / "data.txt"
    path.write_bytes(bytes(damaged))
    try:
        queries = load_letor(path)
    except ValueError as error:
        assert str(error).startswith(str(path))
        assert "line" in str(error) or "holds no rows" in str(error)
    else:
        assert len(queries.target) == queries.data.shape[0] >= 1
        assert queries.qid is None or len(queries.qid) == len(queries.target)


def test_make_queries_shapes_and_grades():
    queries = make_queries(
        n_queries=50, rows_per_query=20, n_features=4, n_grades=4, random_state=3
    )
    assert queries.data.shape == (1000, 4)
    np.testing.assert_array_equal(queries.qid, np.repeat(np.arange(50), 20))
    np.testing.assert_array_equal(np.bincount(queries.target), [500, 250, 125, 125])


def test_make_queries_is_reproducible():
    first, second = make_queries(random_state=5), make_queries(random_state=5)
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.target, second.target)
    assert not np.array_equal(first.data, make_queries(random_state=6).data)


def test_make_queries_compare_inside_a_query():
    queries = make_queries(n_queries=100, random_state=0)
    x, y = queries.data[:, 0], queries.target
    centres = np.bincount(queries.qid, weights=x)[queries.qid] / 25
    inside = np.corrcoef(x - centres, y)[0, 1]
    assert inside > 0.2
    assert abs(np.corrcoef(centres, y)[0, 1]) < 0.1 < inside


@pytest.mark.parametrize(
    ("name", "value", "least"),
    [("n_queries", 0, 1), ("rows_per_query", 2.5, 1), ("n_features", 1, 2), ("n_grades", True, 2)],
)
def test_make_queries_refuses(name, value, least):
    with pytest.raises(ValueError, match=rf"'{name}' parameter .* int in \[{least}, inf\)"):
        make_queries(**{name: value})


# Loan applications --------------------------------------------------------------------------


@cache
def credit():
    return make_credit(20_000, random_state=0)


def hazards(data):
    """Return the probabilities of the three kinds of bad payers, shape (3, n_rows)."""
    return np.array(hazards_of({name: data[name].to_numpy() for name in data}))


def test_credit_is_what_it_says():
    found = credit()
    assert found.data.shape == (20_000, 15)
    assert list(found.data.columns) == found.feature_names
    assert {name: tuple(found.data[name].cat.categories) for name in CATEGORIES} == CATEGORIES
    assert found.categorical_features == list(CATEGORIES)
    assert 0.05 < found.target.mean() < 0.08
    np.testing.assert_array_equal(found.target, found.kind != "paid")
    assert set(found.monotonic_cst) | set(found.special_values) <= set(found.feature_names)
    assert all(name in found.DESCR for name in [*found.feature_names, "group", "month"])
    missing = found.data.isna().mean()
    assert list(missing[missing > 0].index) == ["income", "enquiries_6m", "months_employed"]
    for name, codes in found.special_values.items():
        values = found.data[name]
        assert all(0.02 < (values == code).mean() < 0.9 for code in codes)
        assert values[~values.isin(codes)].min() >= 0


def test_credit_is_reproducible():
    first, second = make_credit(50, random_state=3), make_credit(50, random_state=3)
    assert first.data.equals(second.data)
    np.testing.assert_array_equal(first.kind, second.kind)
    assert not first.data.equals(make_credit(50, random_state=4).data)
    assert make_credit(1, random_state=0).data.shape == (1, 15)


def test_the_true_probability_of_credit():
    found = credit()
    np.testing.assert_allclose(found.probability, 1 - np.prod(1 - hazards(found.data), axis=0))
    tenth = np.argsort(found.probability).reshape(10, -1)
    expected = found.probability[tenth].mean(axis=1)
    error = np.sqrt(expected * (1 - expected) / tenth.shape[1])
    assert (np.abs(found.target[tenth].mean(axis=1) - expected) < 4 * error).all()


@pytest.mark.parametrize("name", MONOTONIC)
def test_the_risk_of_credit_is_monotone(name):
    """Also between values that no application has; codes and missing values stay as they are."""
    found = credit()
    data = found.data.iloc[:300].copy()
    ordinary = data[name].notna() & ~data[name].isin(found.special_values.get(name, []))
    values = found.data[name][found.data[name] >= 0]
    risks = []
    for value in np.quantile(values, np.linspace(0, 1, 12)):
        data.loc[ordinary, name] = value
        risks.append(hazards(data))
    steps = np.diff(risks, axis=0) * found.monotonic_cst[name]
    assert steps.min() >= -1e-12
    assert steps.max() > 1e-4


def test_where_the_kinds_of_bad_payers_are():
    """Half of those who never pay are in the first 3 %, of the overstretched in the first 15 %."""
    found = credit()
    place = rankdata(-found.probability) / len(found.target)
    median = {kind: np.median(place[found.kind == kind]) for kind in np.unique(found.kind)}
    assert median["never_pays"] < 0.03
    assert 0.08 < median["overstretched"] < 0.15
    assert 0.4 < median["life_event"] < median["paid"] < 0.55
    share = {kind: (found.kind == kind).mean() / found.target.mean() for kind in median}
    assert 0.15 < share["never_pays"] < 0.3
    assert 0.4 < share["overstretched"] < 0.6
    assert 0.2 < share["life_event"] < 0.35


def test_missing_values_and_codes_of_credit_tell_something():
    data, y = credit().data, credit().target
    assert y[data["income"].isna()].mean() > 1.5 * y.mean()
    np.testing.assert_array_equal(data["income"].isna(), data["debt_to_income"] == -998)
    late = data["months_since_delinquency"]
    rate = {code: y[late == code].mean() for code in (-999, -998)}
    assert rate[-999] < min(rate[-998], y[late >= 0].mean())
    no_file = data["enquiries_6m"].isna()
    assert (late[no_file] == -998).all()
    assert (data["utilisation"][no_file] == -999).all()


def test_months_and_groups_of_credit_change_the_features_alone():
    found = credit()
    online = found.data["channel"] == "online"
    assert online[found.month >= 18].mean() > online[found.month < 6].mean() + 0.15
    income = found.data["income"]
    assert income[found.group == "B"].median() < 0.95 * income[found.group == "A"].median()
    assert set(found.month) == set(range(24))


def test_credit_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"make_credit requires pandas\..* pip install"):
        make_credit(10)


@pytest.mark.parametrize("n_samples", [0, 2.5, True, None, "10"])
def test_make_credit_refuses(n_samples):
    with pytest.raises(ValueError, match=r"'n_samples' parameter of make_credit .* \[1, inf\)"):
        make_credit(n_samples)
