"""Slow, obvious definitions of what pairs of features are."""

from itertools import combinations, product

import numpy as np
from scipy.optimize import nnls


def bins_of_rows(bins, X):
    """Return the bin of each row, cell by cell."""
    found = []
    for row in X:
        i = int(bins.first(row[[bins.features[0]]])[0])
        j = int(bins.second(row[[bins.features[1]]])[0])
        group = int(bins.categories[i * bins.second.n_bins + j])
        found.append(group if group >= 0 else max(bins.categories.max(), -1) + 1)
    return found


def gain_of_cuts(sums, cuts, gain):
    """Return the gain of the groups of places between cuts."""
    total = 0.0
    for part in np.split(np.arange(sums.shape[1]), np.asarray(cuts, dtype=int)):
        for column in range(sums.shape[2]):
            g, h = sums[0, part, column].sum(), sums[1, part, column].sum()
            total += g**2 / (h + gain.ridge) - gain.noise if h > 0 else 0.0
    return total


def best_cut_gain(sums, weight, most, gain):
    """Return the largest gain of any cuts into groups that are heavy enough; None without one."""
    n, best = sums.shape[1], None
    for size in range(most):
        for cuts in combinations(range(1, n), size):
            if all(part.sum() >= gain.least for part in np.split(weight, cuts)):
                value = gain_of_cuts(sums, cuts, gain)
                best = value if best is None else max(best, value)
    return best


def kinds_of_cells(shape, n_values):
    """Return for each cell what it is of: (None, None) of ordinary values, else which others."""
    return [
        (i if i >= n_values[0] else None, j if j >= n_values[1] else None)
        for i in range(shape[0])
        for j in range(shape[1])
    ]


def table_gain(one, other, y):
    """Return the gain of second order of a table, at equal scores."""
    g, gain = np.mean(y) - y, 0.0
    for i in np.unique(one):
        for j in np.unique(other):
            rows = (one == i) & (other == j)
            gain += g[rows].sum() ** 2 / max(1, rows.sum())
    return gain


def sum_of_tables(ranker, X):
    """Return the scores of a fitted ranker without its offset, table by table."""
    scores = np.zeros(len(X))
    for step in ranker.step_functions_:
        scores += [step.values[int(step.bins(np.array([x]))[0])] for x in X[:, step.feature]]
    for pair in ranker.pair_functions_:
        grid = pair.grid
        for row, x in enumerate(X):
            i = int(pair.bins.first(x[[pair.features[0]]])[0])
            j = int(pair.bins.second(x[[pair.features[1]]])[0])
            scores[row] += grid[i, j]
    return scores


def number_of_single_rules(ranker):
    """Return the number of different rules on single features with a coefficient."""
    rules = ranker.weak_rankers_
    first, net = rules.net_coefficients(ranker.estimator_weights_)
    return sum(
        rules.feature[one] not in rules.pairs and c != 0 for one, c in zip(first, net, strict=True)
    )


def cells_below(shape, n_values, signs):
    """Return which cells may not add more than which others, cell by cell."""
    cells = [(i, j) for i in range(shape[0]) for j in range(shape[1])]

    def goes_up(one, other, axis):
        both = one[axis], other[axis]
        if both[0] == both[1]:
            return True
        return max(both) < n_values[axis] and signs[axis] * (both[1] - both[0]) > 0

    return np.array([[all(goes_up(a, b, axis) for axis in (0, 1)) for b in cells] for a in cells])


def equal_groups(below, group):
    """Return which grouped cells must be equal: each is reached from the other."""
    cells = np.flatnonzero(group >= 0)

    def reached(start):
        found, left = {start}, [start]
        while left:
            one = left.pop()
            for other in cells.tolist():
                if other not in found and (below[one, other] or group[one] == group[other]):
                    found.add(other)
                    left.append(other)
        return found

    by_cell = {cell: reached(cell) for cell in cells.tolist()}
    return np.array([[b in by_cell[a] and a in by_cell[b] for b in cells] for a in cells]).reshape(
        len(cells), len(cells)
    )


def distance_to_sums(members, is_part, values):
    """Return how far values are from the sums of sets, of which only parts may be subtracted."""
    columns = np.concatenate([members, -members[is_part].astype(float)]).T
    return nnls(columns, values)[1]


def monotone_gain(sums, n_values, gain):
    """Return the gain of a table of cells that stays monotone, by least squares."""
    shape, signs = sums.shape[1:], gain.limits.signs
    order = cells_below(shape, n_values, signs)
    levels = sum(
        abs(sign) * np.expand_dims(level, 1 - axis)
        for axis, (sign, level) in enumerate(zip(signs, gain.limits.levels, strict=True))
    )
    levels = np.broadcast_to(levels, shape).ravel()
    first, weight = sums[0].ravel(), sums[1].ravel() + gain.ridge
    # All sets that hold, with each cell, all cells above it.
    masks = np.array(list(product([False, True], repeat=len(first))))
    has_all_above = ~(masks[:, :, None] & order & ~masks[:, None, :]).any(axis=(1, 2))
    columns = np.concatenate([masks[has_all_above], -np.ones((1, len(first)))]).astype(float)
    root = np.sqrt(weight)
    values = columns.T @ nnls(columns.T * root[:, None], root * (levels - first / weight))[0]
    before, after = weight * (first / weight) ** 2, weight * (levels - first / weight - values) ** 2
    return np.where(sums[1].ravel() > 0, before - after - gain.noise, 0.0).sum()
