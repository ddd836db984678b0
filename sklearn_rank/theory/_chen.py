r"""Constants and schedule of gradient descent for bipartite ranking (Chen2012).

The descent is :math:`f_1 = 0` and, over the pairs of m positive and n negative rows (eq. 1.5),

.. math:: f_{t+1} = (1 - \eta_t \alpha) f_t - \frac{\eta_t}{mn} \sum_{ik}
    \phi'_-(f_t(x_i) - f_t(x_k)) (K_{x_i} - K_{x_k}), \qquad \eta_t = \eta_0 t^{-\theta}

where the paper's lambda is alpha, of the penalty :math:`\frac{\alpha}{2} \|f\|_K^2`, and the
least-squares loss is :math:`(1 - t)^2`. The guide has the corrections and the derivations.
"""

from __future__ import annotations

import math
from typing import Any

from sklearn_rank._core.protocols import require
from sklearn_rank._core.validation import Choice, Number, check_parameters
from sklearn_rank._pair_sums.margin_losses import (
    MARGIN_LOSS_CHOICE,
    MARGIN_LOSSES,
    MarginLoss,
    as_margin_loss,
)
from sklearn_rank.theory._checks import checked

Loss = str | MarginLoss

_GROWING = tuple(name for name, loss in MARGIN_LOSSES.items() if hasattr(loss, "growth"))
GROWING_LOSS = Choice(_GROWING, "a MarginLoss with growth", MarginLoss)
_THETA = Number(0, 1, closed="left")


@checked(loss=GROWING_LOSS)
def growth_exponent(loss: Loss) -> int:
    r"""Return the exponent q of the polynomial growth of a margin loss.

    .. math:: |\phi'_-(t)| \le C (1 + |t|^{q-1}) \quad \text{for all } t

    where :math:`\phi'_-` is the left derivative of the loss with respect to the margin t, and q
    the smallest number, at least 1, for which a constant C exists.

    Parameters
    ----------
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss. The exponential loss has no q.

    Returns
    -------
    int
        1 for hinge and logistic, 2 for least squares and squared hinge.

    References
    ----------
    Chen2012, eq. (2.1) (q); Table 1.

    Examples
    --------
    >>> from sklearn_rank.theory import growth_exponent
    >>> growth_exponent("hinge"), growth_exponent("least_squares")
    (1, 2)
    """
    return _growth("growth_exponent", loss)[0]


@checked(loss=GROWING_LOSS)
def growth_constant(loss: Loss) -> int:
    r"""Return the constant of the polynomial growth of a margin loss.

    .. math:: |\phi(t)| \le C_0 (1 + |t|)^q, \qquad |\phi'_-(t)| \le C_0 (1 + |t|)^{q-1}
        \quad \text{for all } t

    where q is the `growth_exponent` and :math:`C_0` the smallest constant.

    Parameters
    ----------
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.

    Returns
    -------
    int
        1 for hinge and logistic, 2 for least squares and squared hinge.

    References
    ----------
    Chen2012, eq. (2.1); Table 1 (corrected).

    Examples
    --------
    >>> from sklearn_rank.theory import growth_constant
    >>> growth_constant("hinge"), growth_constant("least_squares")
    (1, 2)
    """
    return _growth("growth_constant", loss)[1]


def _growth(owner: str, loss: Loss) -> tuple[int, int]:
    """Return the growth exponent and the growth constant of a loss."""
    return require(as_margin_loss(loss, owner), "growth", owner)


@checked(loss=GROWING_LOSS, theta=_THETA)
def gamma_limit(loss: Loss, theta: float) -> float:
    r"""Return the supremum of the exponents gamma that Theorem 2.1 allows.

    .. math:: \gamma < \frac{1 - \theta}{\max(q - 1, 1)}

    where theta is the exponent of the step and q the `growth_exponent` of the loss: only then
    does :math:`\prod_t (1 - \eta_t \alpha)`, the influence of the initial value, tend to 0.

    Parameters
    ----------
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    theta : float in [0, 1)
        Exponent of the step, :math:`\eta_t = \eta_0 t^{-\theta}`.

    References
    ----------
    Chen2012, Theorem 2.1 (the condition, corrected).

    Examples
    --------
    >>> from sklearn_rank.theory import gamma_limit
    >>> gamma_limit("logistic", theta=0.25)
    0.75
    """
    return (1 - theta) / max(_growth("gamma_limit", loss)[0] - 1, 1)


@checked(loss=MARGIN_LOSS_CHOICE)
def slope_lipschitz_constant(loss: Loss, kappa: float, alpha: float) -> float:
    r"""Return the local Lipschitz constant of the derivative of a loss.

    .. math:: M = \sup_{0 < |t| \le R} \frac{|\phi'_-(t) - \phi'_-(0)|}{|t|}, \qquad
        R = \frac{4 \kappa^2 |\phi'(0)|}{\alpha}

    where R is the maximum margin of a function within `norm_bound`: :math:`2 \kappa` times it.

    Parameters
    ----------
    loss : {"exponential", "least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss; an object needs `local_lipschitz`.
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.

    Returns
    -------
    float
        2 for least squares and squared hinge, 1/4 for logistic and 1 for hinge, for every R;
        :math:`(e^R - 1) / R` for exponential, or inf when that is too large for a float.

    References
    ----------
    Chen2012, eq. (3.7) (M).

    Examples
    --------
    >>> from sklearn_rank.theory import slope_lipschitz_constant
    >>> slope_lipschitz_constant("least_squares", kappa=1.0, alpha=0.1)
    2.0
    """
    radius = 2 * kappa * norm_bound(loss, kappa, alpha)
    return _local_lipschitz(loss, radius)


@checked(loss=MARGIN_LOSS_CHOICE)
def norm_bound(loss: Loss, kappa: float, alpha: float) -> float:
    r"""Return a bound on the norm of every iterate of the descent, and of the minimiser.

    .. math:: \|f_t\|_K \le \frac{2 \kappa |\phi'(0)|}{\alpha} \quad \text{for all } t

    where the steps are at most `safe_step`.

    Parameters
    ----------
    loss : {"exponential", "least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss; an object needs `local_lipschitz`.
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.

    Returns
    -------
    float
        The bound, positive. A margin is at most :math:`2 \kappa` times as large.

    References
    ----------
    Chen2012, Lemma 3.4 (the bound).

    Examples
    --------
    >>> from sklearn_rank.theory import norm_bound
    >>> norm_bound("logistic", kappa=1.0, alpha=0.25)
    4.0
    """
    return 2 * kappa * abs(float(as_margin_loss(loss).slope_at_zero)) / alpha


@checked(loss=MARGIN_LOSS_CHOICE)
def safe_step(loss: Loss, kappa: float, alpha: float) -> float:
    r"""Return the maximum first step for which the descent stays within `norm_bound`.

    .. math:: \eta_0 = \frac{1}{4 \kappa^2 M + \alpha}

    where M is the `slope_lipschitz_constant`. Later steps :math:`\eta_0 t^{-\theta}` are smaller.

    Parameters
    ----------
    loss : {"exponential", "least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss; an object needs `local_lipschitz`.
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.

    References
    ----------
    Chen2012, Lemma 3.4 (the condition).

    Examples
    --------
    >>> from sklearn_rank.theory import safe_step
    >>> safe_step("least_squares", kappa=0.5, alpha=0.5)
    0.4
    """
    divisor = 4 * kappa * kappa * slope_lipschitz_constant(loss, kappa, alpha) + alpha
    if math.isinf(divisor):
        raise ValueError(
            f"The 'alpha' parameter of safe_step must be larger with loss={loss!r} and "
            f"kappa={kappa!r}: the Lipschitz constant is too large for a float, so no step "
            f"is safe. Got {alpha!r} instead."
        )
    return 1 / divisor


@checked(loss=GROWING_LOSS)
def step_divisor(loss: Loss, kappa: float) -> float:
    r"""Return the divisor of the first step of Theorem 2.1, valid for every alpha up to 1.

    .. math:: \Delta_* = 4 \kappa^2 \sup_{0 < \alpha \le 1} M_\alpha + 1, \qquad
        \eta_0 = \frac{\alpha^{\max(q - 2, 0)}}{\Delta_*}

    where :math:`M_\alpha` is the `slope_lipschitz_constant`: the smallest divisor with which the
    step is at most `safe_step`. The losses here have :math:`q \le 2`, hence a step of
    :math:`1 / \Delta_*`.

    Parameters
    ----------
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    kappa : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}` over the rows.

    Returns
    -------
    float
        :math:`8 \kappa^2 + 1` for least squares and squared hinge, :math:`4 \kappa^2 + 1` for
        hinge, :math:`\kappa^2 + 1` for logistic.

    References
    ----------
    Chen2012, Theorem 2.1 and eq. (2.3) (the divisor), Lemma 3.4 (the condition).

    Examples
    --------
    >>> from sklearn_rank.theory import step_divisor
    >>> step_divisor("least_squares", kappa=1.0)
    9.0
    >>> step_divisor("logistic", kappa=1.0)
    2.0
    """
    # As alpha tends to 0 the bound on the margins tends to infinity.
    return 4 * kappa * kappa * _local_lipschitz(loss, math.inf) + 1


def _local_lipschitz(loss: Loss, radius: float) -> float:
    return float(require(as_margin_loss(loss), "local_lipschitz", "Chen2012's step")(radius))


@checked(loss=GROWING_LOSS, theta=_THETA)
def chen_schedule(
    n_pos: float,
    n_neg: float,
    loss: Loss,
    kappa: float,
    *,
    s: float,
    gamma: float,
    theta: float = 0.5,
) -> dict[str, Any]:
    r"""Return parameters of `KernelPairwiseSGDRanker` for which Theorem 2.1 bounds its error.

    .. math:: T = \Bigl\lceil \Bigl(\frac{mn}{(m + n)^{3/2}}\Bigr)^s \Bigr\rceil, \qquad
        \alpha = T^{-\gamma}, \qquad \eta_0 = \frac{\alpha^{\max(q - 2, 0)}}{\Delta_*}

    where m and n are the numbers of positive and negative rows of one list, T is the number of
    steps, q the `growth_exponent` and :math:`\Delta_*` the `step_divisor` of the loss.

    Parameters
    ----------
    n_pos, n_neg : float in (0, inf)
        Total weight of the positive and of the negative rows; their numbers without weights.
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    kappa : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}` over the rows: 1 for the rbf kernel.
    s : float in (0, inf)
        Exponent of the number of steps: 2 takes n/16 steps for two classes of n/2 rows.
    gamma : float in (0, (1 - theta) / max(q - 1, 1))
        Exponent of alpha, below `gamma_limit`.
    theta : float in [0, 1), default=0.5
        Exponent of the step, :math:`\eta_t = \eta_0 t^{-\theta}`.

    Returns
    -------
    dict
        ``loss``, ``max_iter`` (T), ``alpha``, ``eta0``, ``theta``, ``tol`` (0) and ``solver``.

    References
    ----------
    Chen2012, Theorem 2.1 (with the corrections of `gamma_limit` and `step_divisor`).

    Examples
    --------
    >>> from sklearn_rank.theory import chen_schedule
    >>> schedule = chen_schedule(1000, 1000, "least_squares", 1.0, s=2, gamma=0.25)
    >>> schedule["max_iter"], round(schedule["alpha"], 4), round(schedule["eta0"], 4)
    (125, 0.2991, 0.1111)
    """
    check_gamma("chen_schedule", loss, theta, gamma)
    total = float(n_pos) + float(n_neg)
    n_effective = n_pos / total * (n_neg / math.sqrt(total))  # products of weights could overflow
    try:
        steps = float(n_effective) ** float(s)
    except OverflowError as error:
        raise ValueError(
            f"The 's' parameter of chen_schedule must be smaller for n_pos={n_pos!r} and "
            f"n_neg={n_neg!r}: the number of steps is too large for a float. Got {s!r} instead."
        ) from error
    # Up to rounding: 125.00000000000001 is 125 steps.
    n_steps = max(math.ceil(steps * (1 - 1e-12)), 1)
    alpha = n_steps ** -float(gamma)
    eta0 = alpha ** max(growth_exponent(loss) - 2, 0) / step_divisor(loss, kappa)
    parameters = {"loss": loss, "max_iter": n_steps, "alpha": alpha, "eta0": eta0}
    return parameters | {"theta": theta, "tol": 0.0, "solver": "gd"}


def check_gamma(owner: str, loss: Loss, theta: float, gamma: float) -> None:
    """Raise ValueError for an exponent gamma that Theorem 2.1 does not allow."""
    exponents = Number(0, gamma_limit(loss, theta), closed="neither")
    check_parameters(owner, {"gamma": gamma}, {"gamma": exponents})
