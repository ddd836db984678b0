"""Fully corrective boosting by definition: dense columns, a general solver."""

import math

import numpy as np
from scipy.optimize import minimize

from oracles import definitions as oracles


def longest_step(y, qid=None, w=None, p=1.0, push="top"):
    """The largest absolute coefficient: the closed-form step at d+ = 1, d- = 0."""
    e = oracles.smoothing(y, qid, w)
    return math.log((1 + e) / e) / ((1.0 if push == "ir" else p) + 1)


def refit(columns, y, qid=None, w=None, p=1.0, push="top", loss="exponential", alpha=0.0):
    """Return the coefficients and the value at the minimum over all of them, within the bound."""
    longest, n_columns = longest_step(y, qid, w, p, push), columns.shape[1]

    def function(c):
        value, gradient, _ = oracles.posed(columns @ c, y, qid, w, p, push, loss)
        return value + alpha / 2 * c @ c, columns.T @ gradient + alpha * c

    if n_columns == 0:
        return np.zeros(0), function(np.zeros(0))[0]
    c, value = np.zeros(n_columns), math.inf
    while True:  # a run may stop early: a bound that is near leaves its line search no room
        how = {"method": "L-BFGS-B", "options": {"ftol": 1e-14, "gtol": 1e-10, "maxiter": 2000}}
        bounds = [(-longest, longest)] * n_columns
        found = minimize(function, c, jac=True, bounds=bounds, **how)
        if not found.fun < value:
            return c, value
        c, value = found.x, found.fun


def others(X, columns, w=None):
    """Return the stumps that are none of some columns, nor one minus one of them."""
    return [
        one
        for one in oracles.stumps(X, w)
        if not any((one.h == h).all() or (one.h == 1 - h).all() for h in columns.T)
    ]


def best_of(candidates, f, y, qid=None, w=None, p=1.0, push="top", slack=1e-5, **options):
    """Return the candidates whose gain at the scores f is the largest, up to some slack."""
    gains = oracles.candidate_scores(candidates, f, y, qid, w, p, push, **options)
    least = max(gains, default=0.0) * (1 - slack) - slack
    return [one for one, gain in zip(candidates, gains, strict=True) if gain >= least]
