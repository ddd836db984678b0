"""Logistic curves that do not fall, fitted to many weightings of the same points at once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.special import expit, logit

from sklearn_rank._core.protocols import Floats, Indices

_MOST_STEPS, _MOST_HALVINGS = 200, 30
"""Newton steps of a fit, of which few need more than ten; halvings of a step, to 1e-9 of it."""

_LONGEST_STEP = 3.0
"""Greatest change of a coefficient in one step: Newton steps overshoot where classes separate."""

_PRECISION = 1e-8
"""Greatest change of a coefficient in the last step."""

_NEAR = 0.01
"""Greatest slope that counts as near its bound 0 (epsilon of Bertsekas)."""

SHARP = 2.0
"""Factor c of curves with more than two slopes: the bends of neighbouring knots stay apart."""

KNOTS: dict[int, tuple[float, ...]] = {
    1: (),
    2: (0.0,),
    4: (-1.0, 0.0, 1.0),
    6: (-2.0, -1.0, 0.0, 1.0, 2.0),
}
"""Knots k_j, in standard deviations of the total, by the number of slopes."""


def basis_of(z: Floats, n_slopes: int) -> Floats:
    """Return the basis functions of z: 1 and, for each slope, a smooth ramp between its knots."""
    knots, constant = KNOTS[n_slopes], np.ones(len(z))
    if not knots:
        return np.column_stack([constant, z])
    sharpness = SHARP if n_slopes > 2 else 1.0
    ramps = [np.logaddexp(0, sharpness * (z - knot)) / sharpness for knot in knots]
    # The columns of b_1, b_2, ..., b_K in the equation of `RiskCurve`.
    first_column = -np.logaddexp(0, -sharpness * (z - knots[0])) / sharpness
    middle_columns = [ramp - next_ramp for ramp, next_ramp in pairwise(ramps)]
    return np.column_stack([constant, first_column, *middle_columns, ramps[-1]])


def targets(events: Floats, others: Floats) -> tuple[Floats, Floats]:
    """Return each point's weight times its target, and its weight, with Platt's targets.

    Parameters
    ----------
    events, others : ndarray of shape (n_weightings, n_points)
        Weight of the rows of the upper class and of the lower class.
    """
    n_events, n_others = events.sum(axis=1, keepdims=True), others.sum(axis=1, keepdims=True)
    return events * ((n_events + 1) / (n_events + 2)) + others / (n_others + 2), events + others


def fit_increasing(
    basis: Floats, target: Floats, weight: Floats, start: Floats | None = None
) -> Floats:
    r"""Return the maximum likelihood coefficients with non-negative slopes.

    .. math:: \max_{c: c_j \ge 0, j \ge 1} \; \sum_i a_i L_i - w_i \log(1 + e^{L_i}),
        \qquad L = B c

    where a is `target` and w `weight`. The likelihood is concave. It is maximised by projected
    Newton steps: slopes that would become negative are 0.

    Parameters
    ----------
    basis : ndarray of shape (n_points, n_coefficients)
        B; the first column is constant.
    target, weight : ndarray of shape (n_weightings, n_points)
        As `targets` returns them.
    start : ndarray of shape (n_coefficients,), default=None
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
    if start is None:
        share = target.sum(axis=1) / np.maximum(weight.sum(axis=1), 1e-300)
        coefficients[:, 0] = logit(share.clip(1e-9, 1 - 1e-9))
    else:
        coefficients[:] = start
    value = _likelihood(basis, target, weight, coefficients)
    active = np.arange(len(weight))  # weightings that have not converged
    for _ in range(_MOST_STEPS):
        if not len(active):
            break
        data = basis, target[active], weight[active]
        step = _newton_step(*data, coefficients[active])
        updated, value[active] = _halved(*data, coefficients[active], step, value[active])
        change = np.abs(updated - coefficients[active]).max(axis=1)
        coefficients[active] = updated
        active = active[change > _PRECISION]
    return coefficients


def _likelihood(basis: Floats, target: Floats, weight: Floats, coefficients: Floats) -> Floats:
    log_odds = coefficients @ basis.T
    return np.asarray((target * log_odds - weight * np.logaddexp(0, log_odds)).sum(axis=1))


def _newton_step(basis: Floats, target: Floats, weight: Floats, coefficients: Floats) -> Floats:
    """Return the Newton step of each weighting, at most 3 long.

    A slope near 0 with a negative derivative takes a step of its own, and the others the Newton
    step without it: else a step cut off at 0 may lower the likelihood (Bertsekas, section 2).
    """
    size = basis.shape[1]
    probability = expit(coefficients @ basis.T)
    gradient = (target - weight * probability) @ basis
    products = (basis[:, :, np.newaxis] * basis[:, np.newaxis, :]).reshape(len(basis), -1)
    curvature = ((weight * probability * (1 - probability)) @ products).reshape(-1, size, size)
    # The ridge makes the matrix regular where columns of the basis agree at all points.
    trace = np.trace(curvature, axis1=1, axis2=2)
    ridge = (1e-12 if size <= 3 else 1e-9) * trace + 1e-300
    curvature = curvature + ridge[:, np.newaxis, np.newaxis] * np.eye(size)
    is_free = (coefficients > _NEAR) | (gradient > 0)
    is_free[:, 0] = True  # the constant has no bound
    is_used = (is_free[:, :, np.newaxis] & is_free[:, np.newaxis, :]) | np.eye(size, dtype=bool)
    step = np.linalg.solve(curvature * is_used, gradient[:, :, np.newaxis])[:, :, 0]
    longest = np.abs(step).max(axis=1, keepdims=True)
    return np.asarray(step * np.minimum(1, _LONGEST_STEP / np.maximum(longest, _LONGEST_STEP)))


def _halved(
    basis: Floats,
    target: Floats,
    weight: Floats,
    coefficients: Floats,
    step: Floats,
    likelihoods: Floats,
) -> tuple[Floats, Floats]:
    """Halve steps until the likelihood does not fall; return coefficients and likelihood.

    Slopes that a step would make negative become 0.
    """
    updated, value = coefficients.copy(), likelihoods.copy()
    active: Indices = np.arange(len(step))
    for halvings in range(_MOST_HALVINGS):
        candidate = coefficients[active] + step[active] / 2**halvings
        candidate[:, 1:] = np.maximum(candidate[:, 1:], 0)
        likelihood = _likelihood(basis, target[active], weight[active], candidate)
        # At the maximum rounding errors may lower the likelihood of an exact step.
        is_improved = likelihood >= likelihoods[active] - 1e-12 * np.abs(likelihoods[active])
        improved = active[is_improved]
        updated[improved], value[improved] = candidate[is_improved], likelihood[is_improved]
        active = active[~is_improved]
        if not len(active):
            break
    return updated, value
