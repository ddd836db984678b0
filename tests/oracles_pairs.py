"""Slow, obvious definitions of what pairs of features are."""

from itertools import combinations

import numpy as np


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
