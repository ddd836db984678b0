"""A start and a metric for L-BFGS, from some pairs drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.sparse import issparse

from sklearn_rank._core.arrays import Ability, Floats, Matrix, blocks

if TYPE_CHECKING:
    from sklearn_rank.solvers.function_space import KernelProblem

_ROWS_PER_PAIR, _FEWEST_PAIRS, _MOST_PAIRS = 4, 4096, 32_768
"""Rows for each drawn pair; with fewer pairs a fit is fast anyway, and more add little."""

_PAIRS_PER_FEATURE, _MOST_FEATURES = 64, 200
"""Minimum of pairs for each feature, and maximum of features, for a full matrix."""

_BLOCK = 4096
"""Pairs whose weighted differences are copied at a time."""

_NEWTON_STEPS, _HALVINGS, _NEWTON_TOL = 20, 20, 1e-5
"""Maximum of steps, and of halvings of a step; relative decrease of the last one."""


class Guide(NamedTuple):
    r"""An approximate minimum, and the second derivatives H there.

    Attributes
    ----------
    minimum : ndarray of shape (n_features,) or None
        The minimum over the drawn pairs; None where only the diagonal of H is known.
    solve : callable
        Maps the lines of an array by the inverse of H.
    """

    minimum: Floats | None
    solve: Callable[[Floats], Floats]


def drawn_guide(problem: KernelProblem) -> Guide | None:
    r"""Return the minimum over a sample of the pairs; None with too few pairs, or abilities.

    With d the differences of the features of m drawn pairs, Newton's method minimises

    .. math:: \frac1m \sum_j \phi(d_j \cdot w) + \frac\alpha2 \|w\|^2

    which has the minimum and second derivatives of all pairs, up to the error of the sample.
    A fit that begins there needs a third of the passes over X, or less where features are
    correlated or have different scales. The minimum over all pairs does not depend on it.
    """
    model: Ability = problem.model
    rows, loss = problem.preferences, problem.loss
    n_pairs = min(rows.n_rows // _ROWS_PER_PAIR, _MOST_PAIRS)
    loss = loss.with_curvature() if hasattr(loss, "with_curvature") else loss
    has_methods = hasattr(model, "differences") and hasattr(loss, "second_derivative")
    if not has_methods or rows.collective is not None or n_pairs < _FEWEST_PAIRS:
        return None
    differences = model.differences(*rows.draws()(n_pairs, np.random.RandomState(0)))
    is_wide = model.n_coordinates > min(_MOST_FEATURES, n_pairs // _PAIRS_PER_FEATURE)
    make_guide = _diagonal if is_wide else _newton
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no guide
        return make_guide(differences, loss, problem.alpha)


def _diagonal(differences: Matrix, loss: Ability, alpha: float) -> Guide | None:
    """Return the diagonal of the second derivatives at zero coefficients."""
    if issparse(differences):
        square = np.asarray(differences.multiply(differences).sum(axis=0)).ravel()
    else:
        square = np.einsum("ij,ij->j", differences, differences)
    second_derivative = float(loss.second_derivative(np.zeros(1))[0])
    curvature = second_derivative * square / differences.shape[0] + alpha
    return Guide(None, lambda lines: lines / curvature) if np.isfinite(curvature).all() else None


def _newton(differences: Matrix, loss: Ability, alpha: float) -> Guide | None:
    """Return the minimum by Newton's method, and the derivatives there; None on overflow."""
    d: Floats = differences.toarray() if issparse(differences) else differences
    w, margin = np.zeros(d.shape[1]), np.zeros(len(d))
    for _ in range(_NEWTON_STEPS):
        losses, slopes = loss.value_and_derivative(margin)
        value = losses.mean() + alpha / 2 * (w @ w)
        second = loss.second_derivative(margin)[:, None]
        hessian = sum((d[pairs] * second[pairs]).T @ d[pairs] for pairs in blocks(len(d), _BLOCK))
        try:
            cholesky = cho_factor(hessian / len(d) + alpha * np.eye(len(w)))
        except (LinAlgError, ValueError):  # not positive definite, or not finite
            return None
        step = cho_solve(cholesky, -(slopes @ d / len(d) + alpha * w))
        margin_change = d @ step
        for fraction in 0.5 ** np.arange(_HALVINGS):
            new_w, new_margin = w + fraction * step, margin + fraction * margin_change
            decrease = value - loss.value(new_margin).mean() - alpha / 2 * (new_w @ new_w)
            if decrease >= 0:
                break
        else:
            break
        w, margin = new_w, new_margin
        if decrease <= _NEWTON_TOL * value:
            break
    return Guide(w, lambda lines: cho_solve(cholesky, lines.T).T) if np.isfinite(w).all() else None
