"""Rows: the sample of distinct rows by hash, selections that are not copied, and equal rows."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from shared_fits import run_together

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.rows import DistinctRows, Rows, effective_rows, hash_rows
from sklearn_rank._core.selected import SelectedRows, as_matrix


def rows_of(drawn):
    """Return rows of one feature, with classes and weights."""
    number, y, weight = (np.array(one) for one in zip(*drawn, strict=True))
    return Rows(number[:, np.newaxis] / 3.0, y, None, weight)


def naive_sample(rows, size, by_class):
    """Return code -> weight, straight from the definition."""
    total = {}
    for one, y, w in zip(rows.row_hash, rows.y, rows.weight, strict=True):
        key = int(~one if by_class and y else one)
        total[key] = total.get(key, 0.0) + w
    return {one: total[one] for one in sorted(total)[:size]}


def as_dict(rows, sample, by_class):
    code = np.where(rows.y & by_class, ~rows.row_hash, rows.row_hash)
    found = dict(zip(code[sample[0]].tolist(), sample[1].tolist(), strict=True))
    assert len(found) == len(sample[0])  # distinct
    return found


DRAWN = st.tuples(st.integers(0, 39), st.booleans(), st.sampled_from([1.0, 2.0, 0.1, 50.0]))


@given(
    drawn=st.lists(DRAWN, min_size=1, max_size=60),
    size=st.integers(1, 45),
    by_class=st.booleans(),
    n=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_a_sample_has_the_smallest_hashes_in_any_order_on_any_processes(
    drawn, size, by_class, n, seed
):
    rows, random = rows_of(drawn), np.random.default_rng(seed)
    expected = naive_sample(rows, size, by_class)
    order = random.permutation(len(drawn))
    for some in (rows, rows.take(order)):
        found = as_dict(some, some.sample(size, by_class=by_class), by_class)
        assert found == pytest.approx(expected, rel=1e-12)
    where = random.integers(n, size=len(drawn))

    def run(collective):
        part = rows.take(np.flatnonzero(where == collective.rank))
        here = replace(part, collective=collective)
        return as_dict(here, here.sample(size, by_class=by_class), by_class)

    together = {}
    for part in run_together(n, run)[0]:
        for one, w in part.items():
            together[one] = together.get(one, 0.0) + w
    assert together == pytest.approx(expected, rel=1e-12)


# Selections --------------------------------------------------------------------------------

INDICES = st.lists(st.integers(-5, 4), min_size=5, max_size=9)
SLICES = st.builds(slice, st.integers(0, 2), st.sampled_from([None, 3, 5]), st.just(1))


@given(
    keys=st.lists(INDICES | SLICES | st.just(slice(None, None, 2)), max_size=3), kind=st.booleans()
)
def test_a_selection_of_selections_is_what_indexing_copies(keys, kind):
    rows = np.random.default_rng(0).normal(size=(5, 3))
    selected = SelectedRows(sparse.csr_array(rows) if kind else rows)
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


# DistinctRows ------------------------------------------------------------------------------


def weight_of_cells(rows, fold):
    found = {}
    for x, y, w, k in zip(rows.X[:, 0], rows.y, rows.weight, fold, strict=True):
        found[x, y, k] = found.get((x, y, k), 0.0) + w
    return found


@given(drawn=st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 4)), min_size=1),
       heavy=st.integers(1, 10**6), n_folds=st.integers(2, 5), seed=st.integers(0, 9))  # fmt: skip
def test_light_features_are_in_one_fold_and_heavy_ones_in_each_by_its_share(
    drawn, heavy, n_folds, seed
):
    rows = rows_of([(one, y, float(w)) for one, y, w in [*drawn, (99, True, heavy)]])
    parts, fold = DistinctRows(rows).folds(n_folds, seed)
    np.testing.assert_allclose(parts.total_weight, rows.total_weight, rtol=1e-12)
    np.testing.assert_array_equal(parts.weight % 1, 0)  # counts stay counts
    cells = weight_of_cells(parts, fold)
    for x in set(rows.X[:, 0]):
        share = {y: rows.weight[(rows.X[:, 0] == x) & (rows.y == y)].sum() for y in (False, True)}
        if sum(share.values()) <= 0.01 * rows.total_weight:
            assert len({k for one, _, k in cells if one == x}) == 1
            continue
        for y, w in share.items():
            of_fold = [cells.get((x, y, k), 0.0) for k in range(n_folds)]
            assert np.abs(np.array(of_fold) - w / n_folds).max() < 1


@given(drawn=st.lists(st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 9)), min_size=1),
       seed=st.integers(0, 9))  # fmt: skip
def test_weight_two_is_the_row_twice_in_each_fold(drawn, seed):
    rows = rows_of([(one, y, float(w)) for one, y, w in drawn])
    copies = rows_of([(one, y, 1.0) for one, y, w in drawn for _ in range(w)])
    copies = copies.take(np.random.default_rng(seed).permutation(len(copies.y)))
    found, expected = (weight_of_cells(*DistinctRows(one).folds(3, seed)) for one in (rows, copies))
    assert found == expected
    whole, _ = DistinctRows(copies).folds(3, seed)
    assert whole is copies  # rows of weight one are never divided


def test_weights_that_are_no_counts_are_shared_out():
    rows = rows_of(
        [(1, True, 0.3), (1, False, 0.6), *((k, k % 2 == 0, 1e-3) for k in range(2, 40))]
    )
    parts, fold = DistinctRows(rows).folds(4, 0)
    for y, w in ((True, 0.3), (False, 0.6)):
        some = (parts.X[:, 0] == 1 / 3) & (parts.y == y)
        np.testing.assert_allclose(np.bincount(fold[some], parts.weight[some]), w / 4, rtol=0.05)


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
