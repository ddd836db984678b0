r"""Error bounds and learning rates of gradient descent for bipartite ranking (Chen2012).

:math:`f_\alpha` is the minimiser of :math:`\mathcal E(f) + \frac{\alpha}{2} \|f\|_K^2`, with
:math:`\mathcal E` the expected loss of a pair and :math:`\mathcal E_S` the mean over the pairs of m
positive and n negative rows. For a step with :math:`\eta_t (4 \kappa^2 M + \alpha) \le 1`,
Lemma 3.2 has

.. math:: \|f_{t+1} - f_\alpha\|_K^2 \le (1 - \eta_t \alpha) \|f_t - f_\alpha\|_K^2 +
    \eta_t^2 \|g_t\|_K^2 + 2 \eta_t \varphi_t, \qquad
    \varphi_t = (\mathcal E_S - \mathcal E)(f_\alpha) + (\mathcal E - \mathcal E_S)(f_t)

where :math:`g_t` is the gradient, the penalty included.
"""

from __future__ import annotations

import math

import numpy as np

from sklearn_rank._core.validation import Number, check_parameters
from sklearn_rank._pair_sums.margin_losses import as_margin_loss
from sklearn_rank.theory._checks import INSIDE, checked
from sklearn_rank.theory._chen import (
    GROWING_LOSS,
    Loss,
    check_gamma,
    growth_exponent,
    norm_bound,
    safe_step,
)


@checked()
def slope_lipschitz_bound(
    kappa: float,
    alpha: float,
    *,
    exponent: float,
    constant: float,
    slope_at_zero: float,
    near_zero: float,
) -> float:
    r"""Bound `slope_lipschitz_constant` of a loss by its growth.

    .. math:: M \le \sup_{0 < |t| \le 1} \frac{|\phi'_-(t) - \phi'_-(0)|}{|t|} + |\phi'(0)| +
        2^{q-1} C_0 \max\Bigl(1, \frac{4 \kappa^2 |\phi'(0)|}{\alpha}\Bigr)^{\max(q-2, 0)}

    where :math:`|\phi'_-(t)| \le C_0 (1 + |t|)^{q-1}` for all t. With B the bound at
    :math:`\alpha = 1`, :math:`1 + 4 \kappa^2 B` is a `step_divisor`.

    Parameters
    ----------
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.
    exponent : float in [1, inf)
        Growth exponent q of the loss.
    constant : float in (0, inf)
        Growth constant :math:`C_0` of the derivative.
    slope_at_zero, near_zero : float in [0, inf)
        :math:`|\phi'(0)|`, and the supremum over margins t up to 1.

    References
    ----------
    Chen2012, eq. (2.2) and eq. (3.37) (corrected).

    Examples
    --------
    Least squares, :math:`(1 - t)^2`, whose constant is 2:

    >>> from sklearn_rank.theory import slope_lipschitz_bound
    >>> slope_lipschitz_bound(1.0, 0.1, exponent=2, constant=2, slope_at_zero=2, near_zero=2)
    8.0
    """
    margin_ratio = max(1.0, 4 * kappa**2 * slope_at_zero / alpha)
    growth_term = 2 ** (exponent - 1) * constant * margin_ratio ** max(exponent - 2, 0)
    return float(near_zero + slope_at_zero + growth_term)


@checked(loss=GROWING_LOSS, theta=INSIDE)
def rate_exponent(
    loss: Loss, *, s: float, gamma: float, theta: float = 0.5, beta: float | None = None
) -> float:
    r"""Return the exponent of the convergence rate for the schedule of Theorem 2.1.

    .. math:: & \|f_T - f_\alpha\|_K^2 = O(N^{-a}), \qquad N = \frac{mn}{(m + n)^{3/2}},
        \\ & a = \min\{s \theta - s \gamma \min(q + 1, 2 q - 1),\; 1 - s \gamma (1 + q)\}

    and, if :math:`\|f_\alpha - f^*\|_K^2 = O(\alpha^\beta)` for a minimiser :math:`f^*` of the
    expected loss, :math:`\|f_T - f^*\|_K^2 = O(N^{-\min\{a,\, s \gamma \beta\}})`. For two classes
    of equal size N is the square root of their size, up to a factor.

    Parameters
    ----------
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    s : float in (0, inf)
        Exponent of the number of steps.
    gamma : float in (0, gamma_limit(loss, theta))
        Exponent of alpha.
    theta : float in (0, 1), default=0.5
        Exponent of the step, :math:`\eta_t = \eta_0 t^{-\theta}`.
    beta : float in (0, 1) or None, default=None
        Exponent of the approximation error; None for the distance to :math:`f_\alpha`.

    Returns
    -------
    float
        The exponent, below 1; zero or less means that the bound does not tend to zero.

    References
    ----------
    Chen2012, eq. (2.5) (a) and eq. (2.7) (with beta).

    Examples
    --------
    >>> from sklearn_rank.theory import rate_exponent
    >>> round(rate_exponent("logistic", s=1.0, gamma=0.1, theta=0.5), 3)
    0.4
    >>> round(rate_exponent("least_squares", s=2.0, gamma=0.1, theta=0.5, beta=0.5), 3)
    0.1
    """
    check_gamma("rate_exponent", loss, theta, gamma)
    q = growth_exponent(loss)
    exponent = min(s * theta - s * gamma * min(q + 1, 2 * q - 1), 1 - s * gamma * (1 + q))
    return exponent if beta is None else min(exponent, s * gamma * beta)


@checked(loss=GROWING_LOSS)
def sample_error_bound(
    n_pos: float, n_neg: float, loss: Loss, kappa: float, alpha: float, *, delta: float = 0.05
) -> float:
    r"""Bound the sample error of the difference of two expected losses.

    .. math:: \sup_{f, g} \; (\mathcal E_S - \mathcal E)(f) + (\mathcal E - \mathcal E_S)(g) \le
        8 L \kappa r \Bigl(\frac{1}{\sqrt m} + \frac{1}{\sqrt n}\Bigr) +
        M \sqrt{2 \Bigl(\frac1m + \frac1n\Bigr) \ln \frac1\delta}

    with probability at least :math:`1 - \delta`, over all f and g of norm at most r, the
    `norm_bound`; L and M are the maxima of :math:`|\phi'_-|` and :math:`\phi` at
    :math:`\pm 2 \kappa r`.

    Parameters
    ----------
    n_pos, n_neg : float in (0, inf)
        Numbers m and n of positive and of negative rows, drawn independently.
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.
    delta : float in (0, 1), default=0.05
        Probability that the bound fails.

    References
    ----------
    Chen2012, Lemma 3.5 and Lemma 3.6, eq. (3.19) (corrected).

    Examples
    --------
    >>> from sklearn_rank.theory import sample_error_bound
    >>> few, many = (sample_error_bound(n, n, "logistic", 1.0, 0.1) for n in (1000, 100_000))
    >>> round(few / many, 6)
    10.0
    """
    radius = norm_bound(loss, kappa, alpha)
    value, slope = as_margin_loss(loss).value_and_derivative(np.array([-2.0, 2.0]) * kappa * radius)
    mean_term = 8 * float(np.abs(slope).max()) * kappa * radius * (n_pos**-0.5 + n_neg**-0.5)
    deviation = math.sqrt(2 * (1 / n_pos + 1 / n_neg) * math.log(1 / delta))
    return mean_term + float(value.max()) * deviation


@checked(loss=GROWING_LOSS, theta=Number(0, 1))
def iterate_error_bound(
    n_pos: float,
    n_neg: float,
    loss: Loss,
    kappa: float,
    *,
    alpha: float,
    eta0: float,
    theta: float,
    max_iter: int,
    delta: float = 0.05,
) -> float:
    r"""Bound the squared distance of the last iterate from the regularised minimiser.

    With probability at least :math:`1 - \delta`, :math:`\|f_{T+1} - f_\alpha\|_K^2 \le D_{T+1}`,

    .. math:: D_{t+1} = (1 - \eta_t \alpha) D_t + \eta_t^2 (2 \kappa L + 2 \kappa |\phi'(0)|)^2 +
        2 \eta_t B, \qquad D_1 = \min\Bigl\{\frac{2 \phi(0)}{\alpha}, r^2\Bigr\}

    where B is the `sample_error_bound`, r the `norm_bound` and L the maximum of
    :math:`|\phi'_-|` at :math:`\pm 2 \kappa r`. With the parameters of `chen_schedule` it has the
    rate of `rate_exponent`.

    Parameters
    ----------
    n_pos, n_neg : float in (0, inf)
        Numbers of positive and of negative rows, drawn independently.
    loss : {"least_squares", "hinge", "squared_hinge", "logistic"} or MarginLoss
        Margin loss.
    kappa, alpha : float in (0, inf)
        Maximum of :math:`\sqrt{K(x, x)}`; strength of :math:`\frac{\alpha}{2} \|f\|_K^2`.
    eta0 : float in (0, safe_step(loss, kappa, alpha)]
        First step.
    theta : float in [0, 1]
        Exponent of the step, :math:`\eta_t = \eta_0 t^{-\theta}`.
    max_iter : int in [1, inf)
        Number T of steps.
    delta : float in (0, 1), default=0.05
        Probability that the bound fails.

    References
    ----------
    Chen2012, Prop. 3.8 and eq. (3.27) (corrected).

    Examples
    --------
    >>> from sklearn_rank.theory import iterate_error_bound
    >>> options = {"alpha": 0.5, "eta0": 0.5, "theta": 0.5, "max_iter": 1000}
    >>> few, many = (iterate_error_bound(n, n, "logistic", 1.0, **options) for n in (10**6, 10**8))
    >>> many < few
    True
    """
    error = sample_error_bound(n_pos, n_neg, loss, kappa, alpha, delta=delta)
    allowed = Number(0, safe_step(loss, kappa, alpha) * (1 + 1e-12), closed="right")
    check_parameters("iterate_error_bound", {"eta0": eta0}, {"eta0": allowed})
    phi, radius = as_margin_loss(loss), norm_bound(loss, kappa, alpha)
    max_slope = float(np.abs(phi.derivative(np.array([-2.0, 2.0]) * kappa * radius)).max())
    gradient = 2 * kappa * (max_slope + phi.slope_at_zero)
    distance = min(2 * float(phi.value(np.zeros(1))[0]) / alpha, radius**2)
    for t in range(1, max_iter + 1):  # Prop. 3.8, step by step
        eta = eta0 * t**-theta
        distance = (1 - eta * alpha) * distance + (eta * gradient) ** 2 + 2 * eta * error
    return distance
