"""Slow, obvious definitions of the risk curve of scorecards and of its bootstrap interval."""

import math

import numpy as np
from scipy.optimize import brentq, minimize

KNOTS = {2: [0], 4: [-1, 0, 1], 6: [-2, -1, 0, 1, 2]}


def log_odds(coefficients, z):
    """The log odds of a curve at one z."""
    a, *b = coefficients
    if len(b) == 1:
        return a + b[0] * z
    k, sharp = KNOTS[len(b)], 1 if len(b) == 2 else 2

    def bend(u):
        return math.log1p(math.exp(sharp * u)) / sharp

    found = a - b[0] * bend(k[0] - z) + b[-1] * bend(z - k[-1])
    for j in range(1, len(k)):
        found += b[j] * (bend(z - k[j - 1]) - bend(z - k[j]))
    return found


def likelihood(coefficients, z, events, others):
    """The likelihood of a curve with the targets of Platt, row by row."""
    upper, lower = sum(events), sum(others)
    total = 0.0
    for one, event, other in zip(z, events, others, strict=True):
        odds = log_odds(coefficients, one)
        of_upper = -np.logaddexp(0, -odds)
        of_lower = -np.logaddexp(0, odds)
        target = (upper + 1) / (upper + 2)
        total += event * (target * of_upper + (1 - target) * of_lower)
        target = 1 / (lower + 2)
        total += other * (target * of_upper + (1 - target) * of_lower)
    return total


def criterion(coefficients, z, events, others):
    """The Akaike criterion of a curve, row by row."""
    value = 2 * len(coefficients)
    for one, event, other in zip(z, events, others, strict=True):
        odds = log_odds(coefficients, one)
        value -= 2 * (event * -np.logaddexp(0, -odds) + other * -np.logaddexp(0, odds))
    return value


def greatest(z, events, others, n_slopes):
    """The coefficients of the greatest likelihood, by a general method from several starts."""
    size = sum(events) + sum(others)
    found = [
        minimize(
            lambda one: -likelihood(one, z, events, others) / size,
            [start, *[slope] * n_slopes],
            bounds=[(-30, 30), *[(0, 30)] * n_slopes],
            method="L-BFGS-B",
            options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 2000},
        )
        for start in (-1.0, 1.0)
        for slope in (0.2, 1.0)
    ]
    return min(found, key=lambda one: one.fun).x


def bootstrap_log_odds(z, events, others, n_slopes, at, n_redrawn, seed):
    """The quantiles of the log odds at one z over curves of redrawn rows, one after another."""
    random = np.random.RandomState(seed)
    uppers = [[random.poisson(one) for one in events] for _ in range(n_redrawn)]
    lowers = [[random.poisson(one) for one in others] for _ in range(n_redrawn)]
    base = log_odds(greatest(z, events, others, n_slopes), at)
    changes = [
        log_odds(greatest(z, *redrawn, n_slopes), at) - base
        for redrawn in zip(uppers, lowers, strict=True)
    ]
    return np.quantile(changes, [0.025, 0.975])


def scatter(observed, expected, variance, grid):
    """The root of the posterior mean of a squared scatter, each value of the grid alike before."""
    weights = []
    for tau in grid:
        density = 1.0
        for o, e, v in zip(observed, expected, variance, strict=True):
            spread = tau**2 + 1 / v
            density *= math.exp(-(((o - e) / v) ** 2) / spread / 2) / math.sqrt(spread)
        weights.append(density)
    mean = sum(w * tau**2 for w, tau in zip(weights, grid, strict=True)) / sum(weights)
    return math.sqrt(mean)


def cut(risk):
    """The largest integer total with an interpolated risk of at most one half."""
    totals, chance = [row[0] for row in risk], [row[1] for row in risk]
    found = [
        one
        for one in range(int(totals[0]), int(totals[-1]) + 1)
        if np.interp(one, totals, chance) <= 0.5
    ]
    return max(found, default=int(totals[0]) - 1)


def bands(totals, least):
    """The number of the band of each row: neighbouring totals with at least so many rows."""
    values, counts = np.unique(totals, return_counts=True)
    band, number, held = {}, 0, 0
    for value, count in zip(values, counts, strict=True):
        band[value] = number
        held += count
        if held >= least:
            number, held = number + 1, 0
    last = max(number - 1, 0)  # too few rows are left: they belong to the band before
    return np.array([min(band[value], last) for value in totals])


def neutral(chance, totals, own, weight):
    """The points that leave the mean risk as it is when all rows have them in place of theirs."""
    wanted = np.average(chance(totals), weights=weight)

    def excess(points):
        return np.average(chance(totals - own + points), weights=weight) - wanted

    return brentq(excess, own.min() - 1e-9, own.max() + 1e-9, xtol=1e-10)
