"""The order of the cells of a grid: its sets, and the nearest monotone function."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import pairs as oracles

from sklearn_rank.models.cell_order import CellOrder

SIGN = st.sampled_from([-1, 0, 1])


@st.composite
def grids(draw, most=3):
    """Shape, numbers of ordinary bins and signs of a grid."""
    n_values = draw(st.integers(0, most)), draw(st.integers(0, most))
    more = draw(st.integers(1, 2)), draw(st.integers(0, 1))
    shape = n_values[0] + more[0], max(1, n_values[1] + more[1])
    return shape, n_values, (draw(SIGN), draw(SIGN))


@given(grids())
def test_a_cell_is_below_those_further_along_a_constrained_axis(grid):
    order = CellOrder.of_grid(*grid)
    np.testing.assert_array_equal(order.below, oracles.cells_below(*grid))


@given(grids(most=2), st.data())
def test_groups_in_a_circle_are_one(grid, data):
    order = CellOrder.of_grid(*grid)
    n_cells = len(order.below)
    group = np.array(data.draw(st.lists(st.integers(-1, 3), min_size=n_cells, max_size=n_cells)))
    group = np.where(group >= 0, np.searchsorted(np.unique(group[group >= 0]), group), -1)
    merged = order.without_circles(group)
    assert ((merged >= 0) == (group >= 0)).all()
    assert len({*merged.tolist()} - {-1}) == merged.max(initial=-1) + 1
    expected = oracles.equal_groups(order.below, group)
    together = merged[:, np.newaxis] == merged
    np.testing.assert_array_equal(together[group >= 0][:, group >= 0], expected)


def test_cells_of_no_group_are_in_no_circle():
    order = CellOrder.of_grid((2, 2), (2, 2), (1, -1))
    assert order.without_circles(np.full(4, -1)).tolist() == [-1] * 4


@given(grids(most=3), st.data())
def test_the_sets_make_up_exactly_the_monotone_functions(grid, data):
    order = CellOrder.of_grid(*grid)
    members, is_part = order.sets()
    below = order.below
    for upper in members[~is_part]:
        assert not (upper[:, np.newaxis] & below & ~upper).any()
    values = st.integers(-3, 3)
    n_cells = len(below)
    wanted = np.array(data.draw(st.lists(values, min_size=n_cells, max_size=n_cells)), dtype=float)
    found = order.nearest(wanted, np.ones(n_cells))
    assert oracles.distance_to_sums(members, is_part, found) < 1e-9


@given(grids(), st.data())
def test_the_nearest_function_is_the_projection(grid, data):
    order = CellOrder.of_grid(*grid)
    n_cells = len(order.below)
    numbers = st.floats(-2, 2).map(lambda one: round(one, 2))
    values = np.array(data.draw(st.lists(numbers, min_size=n_cells, max_size=n_cells)))
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=n_cells, max_size=n_cells)))
    found = order.nearest(values, weight.astype(float))
    assert (np.diff(found[np.array(np.nonzero(order.below))], axis=0) >= -1e-12).all()
    # Two conditions that only the projection on a cone meets.
    residual = weight * (values - found)
    assert residual @ found == pytest.approx(0, abs=1e-8)
    members, is_part = order.sets()
    assert (members[~is_part] @ residual <= 1e-8).all()
    np.testing.assert_allclose(members[is_part] @ residual, 0, atol=1e-8)


def test_a_full_grid_has_68_sets():
    members, is_part = CellOrder.of_grid((4, 4), (4, 4), (1, 1)).sets()
    assert (len(members), is_part.sum()) == (69, 1)
    members, is_part = CellOrder.of_grid((4, 4), (4, 4), (0, -1)).sets()
    assert (len(members), is_part.sum()) == (16, 4)
