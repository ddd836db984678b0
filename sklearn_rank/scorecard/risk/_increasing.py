"""Logistic curves that do not fall, fitted to many weightings of the same points at once."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.special import expit, logit

from sklearn_rank._protocols import Floats, Indices

_MOST_STEPS, _MOST_HALVINGS = 60, 12
_LONGEST_STEP = 3.0
_PRECISION = 1e-8


def basis_of(z: Floats, n_slopes: int) -> Floats:
    """Return the functions of z whose sum is the log odds: 1, and one for each slope."""
    one = np.ones(len(z))
    if n_slopes == 1:
        return np.column_stack([one, z])
    return np.column_stack([one, -np.logaddexp(0, -z), np.logaddexp(0, z)])


def targets(events: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return weight times target and weight of each point, with the targets of Platt.

    Parameters
    ----------
    events, others : ndarray of shape (n_weightings, n_points)
        Weight of the rows of the upper class and of the lower class.
    """
    above, below = (one.sum(axis=1, keepdims=True) for one in (events, others))
    return events * (above + 1) / (above + 2) + others / (below + 2), events + others


def fit_increasing(
    basis: Floats, wanted: Floats, weight: Floats, near: Floats | None = None
) -> Floats:
    r"""Return the coefficients of the greatest likelihood with slopes that are not negative.

    .. math:: \max_{c: c_j \ge 0, j \ge 1} \; \sum_i a_i L_i - w_i \log(1 + e^{L_i}),
        \qquad L = B c

    where a is `wanted` and w `weight`. The likelihood is concave: where a slope of the free
    maximum is negative the answer is the best one with some slopes zero.

    Parameters
    ----------
    basis : ndarray of shape (n_points, n_coefficients)
        B; the first column is constant.
    wanted, weight : ndarray of shape (n_weightings, n_points)
        As `targets` returns them.
    near : ndarray of shape (n_coefficients,), default=None
        Where to start; None: a constant.

    Returns
    -------
    ndarray of shape (n_weightings, n_coefficients)
        One row for each weighting.

    References
    ----------
    Platt, J. C. (1999). Probabilistic outputs for support vector machines.
    """
    n_slopes = basis.shape[1] - 1
    found = _maximise(basis, wanted, weight, near)
    left = np.flatnonzero((found[:, 1:] < 0).any(axis=1))
    best = np.full(len(left), -np.inf)
    for size in reversed(range(n_slopes)):
        for slopes in combinations(range(1, n_slopes + 1), size):
            some = [0, *slopes]
            tried = np.zeros((len(left), n_slopes + 1))
            tried[:, some] = _maximise(basis[:, some], wanted[left], weight[left], None)
            value = _likelihood(basis, wanted[left], weight[left], tried)
            is_better = (tried[:, 1:] >= 0).all(axis=1) & (value > best)
            found[left[is_better]] = tried[is_better]
            best[is_better] = value[is_better]
    return found


def _likelihood(basis: Floats, wanted: Floats, weight: Floats, coefficients: Floats) -> Floats:
    log_odds = coefficients @ basis.T
    return np.asarray((wanted * log_odds - weight * np.logaddexp(0, log_odds)).sum(axis=1))


def _maximise(basis: Floats, wanted: Floats, weight: Floats, near: Floats | None) -> Floats:
    """Return the coefficients of the greatest likelihood, by Newton steps that are halved."""
    size = basis.shape[1]
    found = np.zeros((len(weight), size))
    if near is None:
        share = wanted.sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
        found[:, 0] = logit(share.clip(1e-9, 1 - 1e-9))
    else:
        found[:] = near
    value = _likelihood(basis, wanted, weight, found)
    left = np.arange(len(weight))
    for _ in range(_MOST_STEPS):
        if not len(left):
            break
        step = _newton_step(basis, wanted[left], weight[left], found[left])
        taken = _halved(basis, wanted[left], weight[left], found[left], step, value[left])
        found[left], value[left] = found[left] + taken[0], taken[1]
        left = left[np.abs(step).max(axis=1) > _PRECISION]
    return found


def _newton_step(basis: Floats, wanted: Floats, weight: Floats, found: Floats) -> Floats:
    """Return the step of each weighting to the maximum of a parabola, at most 3 long."""
    size = basis.shape[1]
    chance = expit(found @ basis.T)
    gradient = (wanted - weight * chance) @ basis
    products = (basis[:, :, np.newaxis] * basis[:, np.newaxis, :]).reshape(len(basis), -1)
    curvature = ((weight * chance * (1 - chance)) @ products).reshape(-1, size, size)
    # Coefficients that the points do not tell apart stay where they are.
    trace = np.trace(curvature, axis1=1, axis2=2)
    ridge = 1e-12 * trace + 1e-300
    curvature = curvature + ridge[:, np.newaxis, np.newaxis] * np.eye(size)
    step = np.linalg.solve(curvature, gradient[:, :, np.newaxis])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP)))


def _halved(
    basis: Floats, wanted: Floats, weight: Floats, found: Floats, step: Floats, before: Floats
) -> tuple[Floats, Floats]:
    """Return steps halved until the likelihood does not fall, and the likelihood after them."""
    step, value = step.copy(), before.copy()
    left: Indices = np.arange(len(step))
    for _ in range(_MOST_HALVINGS):
        tried = _likelihood(basis, wanted[left], weight[left], found[left] + step[left])
        is_good = tried >= before[left] - 1e-12 * np.abs(before[left])
        value[left[is_good]] = tried[is_good]
        left = left[~is_good]
        if not len(left):
            break
        step[left] /= 2
    step[left] = 0
    return step, value
