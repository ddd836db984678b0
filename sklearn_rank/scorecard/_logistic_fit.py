"""Logistic curves that do not fall, fitted to many weightings of the same points at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from sklearn_rank._core.protocols import Floats, Indices

_MOST_STEPS, _MOST_HALVINGS = 200, 30
_LONGEST_STEP = 3.0
_PRECISION = 1e-8

_NEAR = 0.01
"""Slopes up to this are near 0."""

SHARP = 2.0
"""How sharply a curve of more than two slopes bends at its knots."""


KNOTS: dict[int, tuple[float, ...]] = {
    1: (),
    2: (0.0,),
    4: (-1.0, 0.0, 1.0),
    6: (-2.0, -1.0, 0.0, 1.0, 2.0),
}
"""Where the slope of the log odds changes, by the number of slopes."""


def basis_of(z: Floats, n_slopes: int) -> Floats:
    """Return the functions of z whose sum is the log odds: 1, and one for each slope.

    That of a slope rises between its knots, smoothly, and is constant elsewhere (`RiskCurve`).
    """
    knots, constant = KNOTS[n_slopes], np.ones(len(z))
    if not knots:
        return np.column_stack([constant, z])
    sharp = SHARP if n_slopes > 2 else 1.0
    above = [np.logaddexp(0, sharp * (z - knot)) / sharp for knot in knots]
    below = -np.logaddexp(0, -sharp * (z - knots[0])) / sharp
    between = [here - following for here, following in pairwise(above)]
    return np.column_stack([constant, below, *between, above[-1]])


def targets(events: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return weight times target and weight of each point, with the targets of Platt.

    Parameters
    ----------
    events, others : ndarray of shape (n_weightings, n_points)
        Weight of the rows of the upper class and of the lower class.
    """
    above, below = events.sum(axis=1, keepdims=True), others.sum(axis=1, keepdims=True)
    return events * ((above + 1) / (above + 2)) + others / (below + 2), events + others


def fit_increasing(
    basis: Floats, wanted: Floats, weight: Floats, near: Floats | None = None
) -> Floats:
    r"""Return the coefficients of the greatest likelihood with slopes that are not negative.

    .. math:: \max_{c: c_j \ge 0, j \ge 1} \; \sum_i a_i L_i - w_i \log(1 + e^{L_i}),
        \qquad L = B c

    where a is `wanted` and w `weight`. The likelihood is concave. It is maximised by projected
    Newton steps: slopes that would become negative are 0.

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
    Platt, J. C. (1999). Probabilistic outputs for support vector machines. Bertsekas, D. P.
    (1982). Projected Newton methods for optimization problems with simple constraints.
    """
    coefficients = np.zeros((len(weight), basis.shape[1]))
    if near is None:
        share = wanted.sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
        coefficients[:, 0] = logit(share.clip(1e-9, 1 - 1e-9))
    else:
        coefficients[:] = near
    value = _likelihood(basis, wanted, weight, coefficients)
    left = np.arange(len(weight))
    for _ in range(_MOST_STEPS):
        if not len(left):
            break
        step = _newton_step(basis, wanted[left], weight[left], coefficients[left])
        after, value[left] = _halved(
            basis, wanted[left], weight[left], coefficients[left], step, value[left]
        )
        moved = np.abs(after - coefficients[left]).max(axis=1)
        coefficients[left] = after
        left = left[moved > _PRECISION]
    return coefficients


def _likelihood(basis: Floats, wanted: Floats, weight: Floats, coefficients: Floats) -> Floats:
    log_odds = coefficients @ basis.T
    return np.asarray((wanted * log_odds - weight * np.logaddexp(0, log_odds)).sum(axis=1))


def _newton_step(basis: Floats, wanted: Floats, weight: Floats, coefficients: Floats) -> Floats:
    """Return the step of each weighting to the maximum of a parabola, at most 3 long.

    A slope near 0 that is to fall goes by itself, so that the others find the best step for it at
    0: else a step cut off at 0 may lead down (Bertsekas, section 2).
    """
    size = basis.shape[1]
    chance = expit(coefficients @ basis.T)
    gradient = (wanted - weight * chance) @ basis
    products = (basis[:, :, np.newaxis] * basis[:, np.newaxis, :]).reshape(len(basis), -1)
    curvature = ((weight * chance * (1 - chance)) @ products).reshape(-1, size, size)
    # Coefficients that the points do not tell apart stay where they are.
    trace = np.trace(curvature, axis1=1, axis2=2)
    ridge = (1e-12 if size <= 3 else 1e-9) * trace + 1e-300
    curvature = curvature + ridge[:, np.newaxis, np.newaxis] * np.eye(size)
    is_near = (coefficients <= _NEAR) & (gradient <= 0)
    is_near[:, 0] = False
    is_free = ~is_near
    is_used = (is_free[:, :, np.newaxis] & is_free[:, np.newaxis, :]) | np.eye(size, dtype=bool)
    step = np.linalg.solve(curvature * is_used, gradient[:, :, np.newaxis])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP)))


def _halved(
    basis: Floats,
    wanted: Floats,
    weight: Floats,
    coefficients: Floats,
    step: Floats,
    before: Floats,
) -> tuple[Floats, Floats]:
    """Return where steps lead, halved until the likelihood does not fall, and the likelihood.

    Slopes that a step would make negative become 0.
    """
    after, value = coefficients.copy(), before.copy()
    left: Indices = np.arange(len(step))
    for number in range(_MOST_HALVINGS):
        tried = coefficients[left] + step[left] / 2**number
        tried[:, 1:] = np.maximum(tried[:, 1:], 0)
        reached = _likelihood(basis, wanted[left], weight[left], tried)
        is_good = reached >= before[left] - 1e-12 * np.abs(before[left])
        after[left[is_good]], value[left[is_good]] = tried[is_good], reached[is_good]
        left = left[~is_good]
        if not len(left):
            break
    return after, value
