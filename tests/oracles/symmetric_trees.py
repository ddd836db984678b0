"""Symmetric trees by their definition: loops over features, cuts, leaves, steps and sets."""

from itertools import combinations
from math import comb, sqrt

import numpy as np

PRIOR_ROWS, SINGLE_LEVELS, HEAVY_SHARE = 3.0, 64, 0.01
STEPS, HALVINGS, SWEEPS = 5, 10, 20


def multiples(weight, uniform, share):
    """By how much each row counts in the choice of splits: those not drawn do not."""
    is_heavy = weight > HEAVY_SHARE * sum(weight)
    return np.where(is_heavy, 1.0, np.where(uniform < share, 1 / share, 0.0))


def cuts(feature, codes, gradient, weight, is_other):
    """Yield the bins that go right, in the order of the noise, and whether they have an order.

    Rows that do not choose the splits tell the order of many categories. Missing values are the
    last bin; where training rows have none they are on neither side.
    """
    levels, missing = list(range(feature.missing)), feature.missing
    has_missing, is_category = missing in codes, feature.categories is not None
    if is_category and len(levels) <= SINGLE_LEVELS:
        yield from (({k}, False) for k in levels + [missing] * has_missing)
        return
    if is_category:
        sums = [[x[is_other & (codes == k)].sum() for x in (gradient, weight)] for k in levels]
        levels.sort(key=lambda k: sums[k][0] / (sums[k][1] + PRIOR_ROWS))
    for with_missing in ([missing], []) if has_missing else ([],):
        for k in range(1, len(levels)):
            yield {*levels[k:], *with_missing}, True
        if with_missing:
            yield {missing}, False


def cosine(gradient, weight, leaf, right, sign):
    """The cosine of the gradient and the tree; children in the wrong order are pooled."""
    product = square = 0.0
    for number in np.unique(leaf):
        sides = [(leaf == number) & (right == side) for side in (False, True)]
        G, N = ([x[side].sum() for side in sides] for x in (gradient, weight))
        mean = [g / (n + PRIOR_ROWS) for g, n in zip(G, N, strict=True)]
        if sign * (mean[1] - mean[0]) > 0:  # values fall as mean gradients rise
            mean = [sum(G) / (sum(N) + PRIOR_ROWS)] * 2
        for g, n, m in zip(G, N, mean, strict=True):
            product, square = product + g * m, square + n * m * m
    return product / sqrt(square) if square > 0 else 0.0


def scored_cuts(bins, codes, gradient, weight, counts, leaf, sign):
    """Return feature, bins that go right and score of every cut of a level."""
    table, is_other = [], (counts == 0) | (counts > 0).all()
    for j, feature in enumerate(bins):
        for right, has_order in cuts(feature, codes[j], gradient, weight, is_other):
            goes_right = np.isin(codes[j], list(right))
            sums = counts * gradient, counts * weight, leaf, goes_right
            table.append((j, right, cosine(*sums, sign[j] if has_order else 0)))
    return table


def chains(splits, sign):
    """Return constraint and leaves, in the order of its values, of each constrained feature."""
    places, found = [1 << k for k in range(len(splits))][::-1], []
    for feature in dict.fromkeys(split.feature for split in splits):
        if sign[feature] == 0:
            continue
        is_own = [split.feature == feature for split in splits]
        own = [(places[k], splits[k].goes_right) for k in np.flatnonzero(is_own)]
        n_values = len(own[0][1]) - 1
        path = dict.fromkeys(sum(p for p, right in own if right[k]) for k in range(n_values))
        rest = [n for n in range(1 << len(splits)) if not any(n & p for p, _ in own)]
        found.append((sign[feature], [[n + step for step in path] for n in rest]))
    return found


def isotonic(values, weight):
    """Pool adjacent violators."""
    blocks = []
    for value, mass in zip(values, weight, strict=True):
        blocks.append([value, mass, 1])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (a, m, k), (b, n, i) = blocks[-2:]
            mean = (m * a + n * b) / (m + n) if m + n > 0 else (a + b) / 2
            blocks[-2:] = [[mean, m + n, k + i]]
    return np.repeat([block[0] for block in blocks], [block[2] for block in blocks])


def ordered(values, weight, chains):
    """Isotonic regression along each feature in turn, at last the running maximum."""
    values = np.array(values)
    for _ in range(SWEEPS):
        for sign, paths in chains:
            for path in paths:
                values[path] = sign * isotonic(sign * values[path], weight[path])
    for sign, paths in chains:
        for path in paths:
            values[path] = sign * np.maximum.accumulate(sign * values[path])
    return values


def leaf_values(descent, leaf, n_leaves, ridge, chains, ordered=ordered):
    """Damped Newton steps; one that raises the objective is halved."""
    values, objective, (gradient, curvature) = np.zeros(n_leaves), descent.value, descent.gradient()
    for _ in range(STEPS):
        rows = [leaf == number for number in range(n_leaves)]
        G, H = (np.array([x[r].sum(dtype=float) for r in rows]) for x in (gradient, curvature))
        step = np.array([-g / (h + ridge) if h + ridge > 0 else 0.0 for g, h in np.c_[G, H]])
        if chains:
            step = ordered(values + step, H + ridge, chains) - values
        for _ in range(HALVINGS):
            value, *derivatives = descent.gradient_at(descent.scores + (values + step)[leaf])
            if value <= objective:
                break
            step = step / 2
        else:
            break
        values, objective, (gradient, curvature) = values + step, value, derivatives
    return values


def path(trees, tree, x):
    """Return whether a row goes right at each level of a stored tree."""
    bits = []
    for level, j in enumerate(trees.feature[tree]):
        threshold, codes = trees.threshold[tree, level], trees.goes_right[tree, level]
        if j < 0:
            bits.append(False)
        elif np.isnan(x[j]):
            bits.append(trees.missing_right[tree, level])
        else:
            bits.append(codes[int(x[j])] if np.isnan(threshold) else x[j] > threshold)
    return [int(bit) for bit in bits]


def expected(value, weight, features, bits, players):
    """The value of a tree where a row follows its players, and else both ways by weight."""
    if not len(features):
        return value[0]
    sides = zip(np.split(value, 2), np.split(weight, 2), strict=True)
    below = [expected(*side, features[1:], bits[1:], players) for side in sides]
    if features[0] in players:
        return below[bits[0]]
    share = weight[len(weight) // 2 :].sum() / weight.sum() if weight.sum() > 0 else 0.5
    return (1 - share) * below[0] + share * below[1]


def shapley_values(trees, x):
    """Return the Shapley values of a row, the expectation last."""
    out = np.zeros(len(x) + 1)
    for tree, features in enumerate(trees.feature.tolist()):
        known = trees.value[tree], trees.weight[tree], features, path(trees, tree, x)
        out[-1] += expected(*known, ())
        for j, size in ((j, size) for j in range(len(x)) for size in range(len(x))):
            for others in combinations([k for k in range(len(x)) if k != j], size):
                gain = expected(*known, (*others, j)) - expected(*known, others)
                out[j] += gain / (len(x) * comb(len(x) - 1, size))
    return out
