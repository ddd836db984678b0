"""Rows: the sample of distinct rows by hash and weight, and selections that are not copied."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from shared_fits import run_together

from sklearn_rank._core import sample
from sklearn_rank._core.distinct import (
    Dealing,
    distinct_rows,
    divide_among_folds,
    effective_rows,
    hash_rows,
    weight_before,
)
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sample import priority_sample
from sklearn_rank._core.selected import Selection, as_matrix
from sklearn_rank._core.sums import Sums

CODES = np.random.default_rng(0).integers(1 << 64, size=40, dtype=np.uint64)


def naive_sample(code, weight, size):
    """Return code -> weight that it stands for, straight from the definition."""
    total = {}
    for one, w in zip(code.tolist(), weight.tolist(), strict=True):
        total[one] = total.get(one, 0.0) + w
    number = {one: ((one >> 12) + 0.5) / 2.0**52 / w for one, w in total.items()}
    by_number = sorted(number, key=number.get)
    left_out = [number[one] for one in by_number[size:]]
    least = 1 / left_out[0] if left_out else 0.0
    return {one: max(total[one], least) for one in by_number[:size]}


def as_dict(code, sample):
    rows, weight = sample
    found = dict(zip(code[rows].tolist(), weight.tolist(), strict=True))
    assert len(found) == len(rows)  # distinct
    return found


rows_of_codes = st.lists(
    st.tuples(st.integers(0, 39), st.sampled_from([1.0, 2.0, 0.1, 50.0, 2.0**-300, 2.0**200])),
    max_size=60,
)


@given(drawn=rows_of_codes, size=st.integers(1, 45), seed=st.integers(0, 99))
def test_a_sample_is_that_of_the_definition_in_any_order(drawn, size, seed):
    code = CODES[[number for number, _ in drawn]]
    weight = np.array([w for _, w in drawn])
    expected = naive_sample(code, weight, size)
    found = as_dict(code, priority_sample(code, weight, size))
    assert found == pytest.approx(expected, rel=1e-12)
    order = np.random.default_rng(seed).permutation(len(code))
    shuffled = as_dict(code[order], priority_sample(code[order], weight[order], size))
    assert shuffled == pytest.approx(expected, rel=1e-12)


@given(drawn=rows_of_codes, size=st.integers(1, 45), n=st.integers(2, 4), seed=st.integers(0, 99))
def test_processes_take_one_sample(drawn, size, n, seed):
    code = CODES[[number for number, _ in drawn]]
    weight = np.array([w for _, w in drawn])
    where = np.random.default_rng(seed).integers(n, size=len(code))

    def run(collective):
        here = where == collective.rank
        return as_dict(
            code[here], priority_sample(code[here], weight[here], size, Sums(collective))
        )

    parts, n_messages = run_together(n, run)
    together = {one: w for part in parts for one, w in part.items()}
    assert len(together) == sum(map(len, parts))  # each row on one process
    assert together == pytest.approx(naive_sample(code, weight, size), rel=1e-12)
    assert n_messages == 5


def test_processes_with_many_rows_sort_only_those_that_may_be_in_the_sample(monkeypatch):
    """A sort of all takes more memory, which a fit to many rows may not have."""
    monkeypatch.setattr(sample, "_N_SLOTS", 1 << 14)  # a table that counts beside few rows only
    rng = np.random.default_rng(0)
    n_rows, size = 400_000, 1000
    code = rng.integers(1 << 64, size=n_rows // 2, dtype=np.uint64)[
        rng.integers(n_rows // 2, size=n_rows)
    ]
    weight = rng.pareto(2.0, n_rows) + 0.1

    share = [np.flatnonzero(np.arange(n_rows) % 20 > 0), np.arange(0, n_rows, 20)]
    own = [(code[rows], weight[rows]) for rows in share]

    def run(collective):
        return priority_sample(*own[collective.rank], size, Sums(collective))

    tracemalloc.start()
    try:
        parts, _ = run_together(2, run)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    together = as_dict(own[0][0], parts[0]) | as_dict(own[1][0], parts[1])
    alone = as_dict(code, priority_sample(code, weight, size))
    assert together == pytest.approx(alone, rel=1e-12)
    assert peak < 27 * n_rows  # 23; with a sort of all 31


@given(seed=st.integers(0, 1000), size=st.integers(1, 30))
def test_weight_two_is_the_row_twice_and_heavy_rows_are_in(seed, size):
    rng = np.random.default_rng(seed)
    code = rng.integers(1 << 64, size=30, dtype=np.uint64)
    copies = rng.integers(1, 4, 30)
    twice = np.repeat(code, copies)
    expected = as_dict(twice, priority_sample(twice, np.ones(len(twice)), size))
    found = as_dict(code, priority_sample(code, copies.astype(float), size))
    assert found == expected
    heavy = np.where(np.arange(30) == 7, 1e6, 1.0)
    assert as_dict(code, priority_sample(code, heavy, size))[int(code[7])] == 1e6


def test_few_distinct_rows_are_all_taken_with_their_own_weights():
    code = np.repeat(CODES, 3)
    rows, weight = priority_sample(code, np.full(120, 0.5), 40)
    np.testing.assert_array_equal(np.sort(rows // 3), np.arange(40))
    np.testing.assert_array_equal(weight, 1.5)
    assert len(priority_sample(code, np.full(120, 0.5), 39)[0]) == 39


@pytest.mark.parametrize("shape", [None, 1.1])
def test_sums_of_a_sample_are_near_those_of_the_rows(shape):
    """Also with Pareto weights, and with features of few digits."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60_000, 12)).astype(float)
    X[:, 0] = rng.normal(size=60_000)
    weight = np.ones(60_000) if shape is None else rng.pareto(shape, 60_000) + 1
    rows, stands_for = priority_sample(hash_rows(X), weight, 4096)
    assert len(rows) == 4096
    for level in (-1.0, 0.0, 1.5):
        share = weight @ (X[:, 0] > level) / weight.sum()
        found = stands_for @ (X[rows, 0] > level) / weight.sum()
        assert found == pytest.approx(share, abs=5 * np.sqrt(share / 4096))
    np.testing.assert_allclose(
        stands_for @ X[rows, 1:] / weight.sum(), weight @ X[:, 1:] / weight.sum(), atol=0.08
    )


# Selections --------------------------------------------------------------------------------

INDICES = st.lists(st.integers(-5, 4), min_size=5, max_size=9)
SLICES = st.builds(slice, st.integers(0, 2), st.sampled_from([None, 3, 5]), st.just(1))


@given(
    keys=st.lists(INDICES | SLICES | st.just(slice(None, None, 2)), max_size=3), kind=st.booleans()
)
def test_a_selection_of_selections_is_what_indexing_copies(keys, kind):
    rows = np.random.default_rng(0).normal(size=(5, 3))
    selected = Selection(sparse.csr_array(rows) if kind else rows)
    for key in keys:
        if isinstance(key, list) and len(rows) < 5:
            return
        place = np.array(key) if isinstance(key, list) else key
        rows, selected = rows[place], selected[place]
    assert selected.shape == rows.shape
    found = as_matrix(selected)
    np.testing.assert_array_equal(found.toarray() if kind else found, rows)
    np.testing.assert_array_equal(hash_rows(selected), hash_rows(rows.copy()))
    if not kind:
        np.testing.assert_array_equal(selected[:, 1], rows[:, 1])


def test_parts_are_the_rows_in_order(monkeypatch):
    monkeypatch.setattr("sklearn_rank._core.selected._BLOCK_VALUES", 7)
    X, order = np.arange(30.0).reshape(10, 3), np.array([3, 1, 4, 1, 5, 9, 2])
    parts = list(Selection(X)[order].parts())
    assert [len(part) for part in parts] == [2, 2, 2, 1]
    np.testing.assert_array_equal(np.concatenate(parts), X[order])
    assert list(Selection(X[:0]).parts()) == []
    assert Selection(X).copied() is X  # all rows are no copy


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12), st.data())
def test_small_integers_are_sorted_like_other_numbers(levels, data):
    y = np.array(levels, dtype=float)
    qid = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(y), max_size=len(y))))
    for other in (y + 0.5, y * 1e6):
        as_integers = Preferences.from_labels(y, qid, np.ones(len(y)))
        as_numbers = Preferences.from_labels(other, qid, np.ones(len(y)))
        np.testing.assert_array_equal(as_integers.order, as_numbers.order)
        np.testing.assert_array_equal(as_integers.segments.start, as_numbers.segments.start)
        np.testing.assert_array_equal(as_integers.queries.start, as_numbers.queries.start)


# Copies of rows dealt among folds ----------------------------------------------------------


def naive_division(place, weight, copies, fold):
    """Return the weight of each row in each fold: its copies one by one, each of weight one."""
    left = [sorted(fold[sum(copies[:one]) : sum(copies[: one + 1])]) for one in range(len(copies))]
    found = np.zeros((len(place), max(fold) + 1))
    for row, one in enumerate(place):
        if copies[one] == 1:
            found[row, left[one][0]] += weight[row]
        else:
            for _ in range(int(weight[row])):
                found[row, left[one].pop(0)] += 1
    return found


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.booleans(), st.integers(1, 4)), min_size=1),
    seed=st.integers(0, 99),
)
def test_rows_are_divided_as_their_copies_are_dealt(rows, seed):
    code, is_upper, weight = (np.array(one) for one in zip(*rows, strict=True))
    cells, place = np.unique(np.column_stack([code, is_upper]), axis=0, return_inverse=True)
    place, weight = place.ravel(), weight.astype(float)
    total = np.bincount(place, weight)
    copies = Dealing.of(cells[:, 0].astype(np.uint64), cells[:, 1], total).copies
    for (one, other), n, heavy in zip(cells.tolist(), copies, total, strict=True):
        is_dealt = [one, 1 - other] in cells.tolist() and weight[
            code == one
        ].sum() > 0.01 * total.sum()
        assert n == (heavy if is_dealt else 1)
    fold = np.random.default_rng(seed).integers(0, 3, copies.sum())
    parts = divide_among_folds(place, weight, weight_before(place, weight), total, copies, fold)
    found = np.zeros((len(place), fold.max() + 1))
    for row, part, number in zip(*parts, strict=True):
        assert found[row, number] == 0
        assert part > 0
        found[row, number] = part
    np.testing.assert_array_equal(found, naive_division(place, weight, copies, fold))


def test_many_copies_are_dealt_by_the_lot():
    code = np.array([1, 1, 2], dtype=np.uint64)
    copies = Dealing.of(code, np.array([1.0, 0, 1]), np.array([3e6, 1e6, 5e6])).copies
    assert copies.tolist() == [750_000, 250_000, 1]
    fold = np.arange(copies.sum()) % 4
    place = np.arange(3)
    _, weight, _ = divide_among_folds(
        place, np.array([3e6, 1e6, 5e6]), np.zeros(3), np.array([3e6, 1e6, 5e6]), copies, fold
    )
    assert weight.tolist() == [750_000.0] * 4 + [250_000.0] * 4 + [5e6]
    # Several rows a copy, and yet whole ones: other weights would be no counts.
    total = np.array([3_333_333.0, 1_234_567.0, 5_000_001.0])
    copies = Dealing.of(code, np.array([1.0, 0, 1]), total).copies
    fold = np.arange(copies.sum()) % 7
    row, weight, _ = divide_among_folds(place, total, np.zeros(3), total, copies, fold)
    assert len(weight) == 15
    np.testing.assert_array_equal(weight, np.floor(weight))
    np.testing.assert_array_equal(np.bincount(row, weight), total)


def test_whole_weights_are_counts_and_others_an_effective_number():
    for weight, n in (
        ([0.0, 3.0, 1.0], 4),
        ([0.25] * 8, 8),
        ([2.5] * 8, 8),
        ([1e-320] * 8, 8),
        ([0.5, 1.5, 0.0], 4 / 2.5),
        ([50.5, 151.5], 4 / 2.5),
        ([0.0, 0.0], 0),
    ):
        assert effective_rows(np.array(weight)) == pytest.approx(n)


@given(st.integers(0, 99), st.sampled_from([1.0, 50.0, 1e-6]))
def test_the_same_features_are_in_one_fold_unless_they_are_heavy(seed, scale):
    random = np.random.default_rng(seed)
    X, y = np.append(np.arange(200) % 100, [100] * 50)[:, np.newaxis], random.random(250) < 0.5
    data = Rows(X.astype(float), y, None, np.full(250, scale))
    rows, total, _, place = distinct_rows(data.code, y, None, data.weight)
    dealing = Dealing.of(data.code[rows], y[rows], total, np.bincount(place))
    folds = random.integers(0, 5, dealing.copies.sum())
    parts, fold = data.divided(place, total, dealing, folds)
    for value in range(100):
        assert len(set(fold[parts.X[:, 0] == value])) == 1
    assert len(set(fold[parts.X[:, 0] == 100])) == 5
    np.testing.assert_allclose(np.bincount(parts.position, parts.weight), scale, rtol=1e-9)
