"""Which columns of a table name its rows, and which measure them."""

import numpy as np
import pandas as pd
import pytest
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from sklearn_rank.cli._tables.columns import _OF_CODES, _OF_NUMBERS, _words, choose_kinds
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.cli._tables.reading import Table

N = 400
RNG = np.random.default_rng(0)


def chosen(keep=(), **columns):
    """Return the kinds of columns, read from a file, and the notes."""
    text = pd.DataFrame({"z": RNG.normal(size=N), **columns}).astype(str)
    table = Table(text, "t.csv", "text")
    return choose_kinds(table, list(columns), TableOptions(keep=keep))[0], table.notes


IDS = {
    "one twice": {"claim": [f"C{max(i, 1):06}" for i in RNG.permutation(N)]},
    "sevens falling": {"v": -7 * np.arange(N)},
    "CustomerID": {"CustomerID": RNG.permutation(N)},
    "customerid": {"customerid": RNG.choice(10**9, N)},
    "CLIENTNUM": {"CLIENTNUM": RNG.choice(10**9, N)},
    "Kontonummer": {"Kontonummer": RNG.choice(10**8, N)},
    "with missing ones": {"id": np.where(RNG.random(N) < 0.2, np.nan, RNG.choice(10**8, N))},
    "bigint ids": {"customer_id": RNG.integers(10**17, 10**18, N)},
    "bigint ids, some missing": {
        "user_id": [None if i % 9 == 0 else str(10**18 + 7**20 * i % 10**17) for i in range(N)]
    },
    "ids of 128 bits": {"id": [2**127 + 7**30 * i % 2**120 for i in range(N)]},
    "bigints in order": {"v": 10**17 + 3 * np.arange(N)},
    "names of people": {"name": [f"Li Smith{chr(97 + i % 26)}{i}" for i in range(N)]},
}


@pytest.mark.parametrize("name", IDS)
def test_ids_are_no_features_unless_they_are_kept(name):
    if "128" in name and int(pd.__version__.partition(".")[0]) < 3:
        pytest.skip("older pandas leaves integers beyond 64 bits text")
    columns = {"other": RNG.normal(size=N), **IDS[name]}
    (column,) = IDS[name]
    kinds, notes = chosen(**columns)
    assert list(kinds) == ["other"]
    assert notes[0].startswith(f"column {column!r} is not used: ")
    assert notes[0].endswith(f"(--keep {column} uses it)")
    assert list(chosen(keep=[column], **columns)[0]) == ["other", column]


OWNERS = ["customer", "client", "user", "loan", "member", "account", "policy", "order", "emp"]


@given(
    owner=st.sampled_from(OWNERS),
    end=st.sampled_from(["id", "no", "num", "_id", "_id_curr", "nr"]),
    write=st.sampled_from([str, str.upper, str.capitalize]),
)
def test_names_of_ids_are_often_one_word(owner, end, write):
    name = write(owner + end)
    assert _OF_NUMBERS.search(_words(name))
    assert _OF_CODES.search(_words(name)) or "id" not in end


@pytest.mark.parametrize("name", ["n° client", "num_contrat", "ref", "顧客ID"])
def test_names_of_ids_of_other_languages(name):
    kinds, notes = chosen(**{"z1": RNG.normal(size=N), name: RNG.choice(10**6, N, replace=False)})
    assert list(kinds) == ["z1"]
    assert "its name is typical of ids" in notes[0]


@given(
    start=st.sampled_from(["", "is_", "total ", "amount"]),
    word=st.sampled_from(["paid", "valid", "humid", "covid", "bid", "fluid", "void", "acid"]),
)
def test_other_words_end_like_ids(start, word):
    if start != "amount" or word in ("paid", "valid", "humid", "fluid"):
        assert not _OF_NUMBERS.search(_words(start + word))


def test_few_integers_of_nine_digits_may_be_ids():
    kinds, notes = chosen(v=[-1, *RNG.choice(2**31, N - 1)])
    assert kinds == {"v": "number"}
    assert "contains long integers, like ids" in notes[0]


MEASURES = {
    "seconds of a day": lambda rng: rng.integers(0, 86_400, N),
    "times since 1970": lambda rng: 1_700_000_000 + rng.integers(0, 10**7, N),
    "cents": lambda rng: (100 * rng.lognormal(7, 1, N)).astype(int),
    "prices": lambda rng: rng.uniform(10**5, 10**6, N).round(2),
    "houses": lambda rng: rng.lognormal(12.5, 0.5, N).astype(int),
    "balances": lambda rng: rng.normal(0, 10**5, N).astype(int),
    "sorted ages": lambda rng: np.sort(rng.integers(18, 90, N)),
    "sorted counts": lambda rng: np.sort(rng.poisson(N / 3, N)),
    "sorted draws": lambda rng: np.sort(rng.integers(0, N, N)),
    "nanoseconds since 1970": lambda rng: 1_700_000_000 * 10**9 + rng.integers(0, 10**16, N),
    "large floats": lambda rng: 1e20 * rng.lognormal(0, 1, N),
    "floats beyond all": lambda rng: rng.choice([-1, 1], N) * rng.uniform(1e300, 1e308, N),
    "sorted sparse draws": lambda rng: np.sort(rng.integers(0, 100 * N, N)),
}


LONG = ("times since 1970", "nanoseconds since 1970")


@pytest.mark.parametrize("name", MEASURES)
def test_measures_are_features(name):
    for seed in range(20):
        values = MEASURES[name](np.random.default_rng(seed))
        kinds, notes = chosen(v=values)
        assert kinds == {"v": "number"}
        long = "contains long integers, like ids, but is read as numbers; --category v"
        assert all(long in note for note in notes)
        assert bool(notes) == (name in LONG)


def test_a_card_takes_no_variable_of_many_categories(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x, city = RNG.normal(size=N), RNG.integers(0, 60, N)
    y = RNG.random(N) < 1 / (1 + np.exp(1 - 2 * x))
    frame = pd.DataFrame(
        {"city": [f"place{k}" for k in city], "x": x, "y": np.where(y, "yes", "no")}
    )
    frame.to_csv("t.csv", index=False)
    run(["card", "t.csv", "--target", "y", "--max-terms", "4", "-o", "c.json"])
    captured = capsys.readouterr()
    assert "cannot use columns with more than 40 categories; skipped: city" in captured.err
    assert "place" not in captured.out
    assert len(captured.out.splitlines()) < 75
