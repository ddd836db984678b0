r"""Bounds of the p-norm push (Rudin2009).

In all functions one list has I rows of the upper class and K rows of the lower class. The height
of a lower row k is the number of upper rows without a higher score,
:math:`h_k = \sum_i 1[f_i \le f_k]`, and :math:`R_{\max} = \max_k h_k`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import Described, Number
from sklearn_rank.theory._checks import checked

_EPSILON = Number(0, 1, closed="right")
_LOG_LARGEST = math.log(np.finfo(float).max)


@checked(price=Described("a callable", callable))
def price_bounds(
    price: Callable[[float], float], max_height: float, n_below: int
) -> tuple[float, float, float]:
    r"""Bound the sum of the prices of all heights by the maximum height.

    .. math:: K g\Bigl(\frac{R_{\max}}{K}\Bigr) \le g(R_{\max}) + (K - 1) \, g(0)
        \le \sum_k g(h_k) \le K g(R_{\max})

    where g is the price, for example :math:`g(h) = h^p`. Losses of at least the zero-one loss have
    a larger sum, so both lower bounds also hold for the objectives.

    Parameters
    ----------
    price : callable
        The price g of a height: convex, increasing and not negative.
    max_height : float in [0, inf)
        The maximum height :math:`R_{\max}`, see `max_height_loss`.
    n_below : int in [1, inf)
        Number K of lower rows.

    Returns
    -------
    tuple of three floats
        The lower bound of the theorem; the greatest one, attained when all heights but one are
        zero; the upper bound, attained when all heights are equal.

    References
    ----------
    Rudin2009, Theorem 1 (first and last term), sec. 2 (price); the middle is derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import price_bounds
    >>> price_bounds(lambda height: height**4, max_height=2, n_below=4)
    (0.25, 16, 64)
    """
    at_maximum = price(max_height)
    weakest = n_below * price(max_height / n_below)
    return weakest, at_maximum + (n_below - 1) * price(0), n_below * at_maximum


@checked(p=Number(1))
def max_height_bounds(push_loss: float, n_below: int, p: float) -> tuple[float, float]:
    r"""Bound the loss of the worst lower row by the p-norm push loss.

    .. math:: R_p \le \max_k s_k \le K^{1/p} R_p, \qquad
        R_p = \Bigl(\frac1K \sum_k s_k^p\Bigr)^{1/p}

    where :math:`s_k` is the mean loss of lower row k over the upper rows. The upper bound is at
    most :math:`1 + \epsilon` times the lower one from :math:`p = \ln K / \ln(1 + \epsilon)` on.

    Parameters
    ----------
    push_loss : float in [0, inf)
        :math:`R_p`: `p_norm_push_loss` without weights, of any of its losses.
    n_below : int in [1, inf)
        Number K of lower rows.
    p : float in [1, inf]
        The power.

    Returns
    -------
    tuple of two floats
        The lower and the upper bound. Both are attained: when all :math:`s_k` are equal, and
        when all but one are zero.

    References
    ----------
    Rudin2009, sec. 2 (the limit for large p), sec. 9.2 (norms are equivalent).

    Examples
    --------
    >>> from sklearn_rank.theory import max_height_bounds
    >>> [round(max_height_bounds(0.5, 1000, p)[1], 2) for p in (4, 16, 64)]
    [2.81, 0.77, 0.56]
    """
    return push_loss, n_below ** (1 / p) * push_loss


@checked(epsilon=_EPSILON)
def push_tail_bound(
    epsilon: float,
    p: float,
    n_above: int,
    n_below: int,
    *,
    log_cover: float = 0.0,
    min_risk: float = 0.0,
) -> float:
    r"""Bound the probability that any ranker's push loss far exceeds that on the sample.

    .. math:: & P\bigl(\exists f \in F: R_p(f) \ge \hat R_{p, \theta}(f) + \epsilon\bigr)
        \\ & \le 2 N \Bigl( \exp\Bigl[-2 K \max\Bigl\{\frac{\epsilon^2}{16} \, \rho^{2 (p - 1)},
        \Bigl(\frac{\epsilon}{4}\Bigr)^{2 p}\Bigr\}\Bigr] +
        \exp\Bigl[-\frac{\epsilon^2}{8} I + \ln K\Bigr] \Bigr)

    where :math:`R_p` is the normalised push loss with the zero-one loss in the whole population,
    :math:`\hat R_{p, \theta}` the same on a sample of I upper and K lower rows with the margin
    :math:`\theta` (`p_norm_push_loss` with ``margin``), N the covering number of the class F
    of rankers in the maximum norm at radius :math:`\epsilon \theta / 8` with centres in F, and
    :math:`\rho` a lower bound on :math:`R_p` of all of them.

    Parameters
    ----------
    epsilon : float in (0, 1]
        Excess :math:`\epsilon` over the loss on the sample.
    p : float in [1, inf)
        The power.
    n_above, n_below : int in [1, inf)
        Numbers I of upper and K of lower rows.
    log_cover : float in [0, inf), default=0.0
        Natural logarithm of N, see `combination_cover`; 0 for a ranker chosen in advance.
    min_risk : float in [0, 1], default=0.0
        :math:`\rho`; a lower bound on :math:`R_1`, which is 1 - AUC, serves for every p.

    Returns
    -------
    float
        The bound; above 1 it is uninformative.

    References
    ----------
    Rudin2009, Theorem 2 (no lower bound on the risk), Theorem 3.

    Examples
    --------
    >>> from sklearn_rank.theory import push_tail_bound
    >>> rows = {"n_above": 10_000, "n_below": 10_000}
    >>> [f"{push_tail_bound(0.2, p, **rows):.0e}" for p in (1, 1.5)]
    ['4e-18', '2e-01']
    >>> f"{push_tail_bound(0.2, 2, **rows, min_risk=0.3):.0e}"
    '2e-02'
    """
    # The exponents of Theorem 3 and of Theorem 2, which needs no lower bound of the risk.
    squared = max(epsilon**2 / 16 * min_risk ** (2 * (p - 1)), (epsilon / 4) ** (2 * p))
    upper_term = _log_upper_term(epsilon, n_above, n_below)
    log_bound = math.log(2) + log_cover + float(np.logaddexp(-2 * n_below * squared, upper_term))
    return math.exp(log_bound) if log_bound < _LOG_LARGEST else math.inf


def _log_upper_term(epsilon: float, n_above: int, n_below: int) -> float:
    """Return the exponent of the term of Theorem 3 for the upper rows, which has no p."""
    return -(epsilon**2) / 8 * n_above + math.log(n_below)


@checked(epsilon=_EPSILON)
def largest_p(
    epsilon: float,
    n_above: int,
    n_below: int,
    *,
    delta: float = 0.05,
    log_cover: float = 0.0,
    min_risk: float = 0.0,
) -> float:
    r"""Return the largest p for which the sample is large enough for Theorems 2 and 3.

    .. math:: p = \max\Bigl\{\frac{\ln x}{2 \ln(\epsilon / 4)}, \;
        1 + \frac{\ln(16 x / \epsilon^2)}{2 \ln \rho}\Bigr\}, \qquad
        x = \frac{1}{2K} \ln \frac{2 N}{\delta - 2 N K e^{-\epsilon^2 I / 8}}

    the solution of ``push_tail_bound(...) = delta``, with its symbols; without the second term
    for :math:`\rho = 0`.

    Parameters
    ----------
    epsilon : float in (0, 1]
        Excess :math:`\epsilon` over the loss on the sample.
    n_above, n_below : int in [1, inf)
        Numbers I of upper and K of lower rows.
    delta : float in (0, 1), default=0.05
        Probability :math:`\delta` that the guarantee fails.
    log_cover : float in [0, inf), default=0.0
        Natural logarithm of N, see `combination_cover`; 0 for a ranker chosen in advance.
    min_risk : float in [0, 1], default=0.0
        Lower bound :math:`\rho` on 1 - AUC of every ranker of the class in the population.

    Returns
    -------
    float
        The largest p; 0.0 if p = 1 needs more rows, inf for :math:`\rho = 1`.

    References
    ----------
    Rudin2009, Theorem 2, Theorem 3 (the bounds); solved for p here.

    Examples
    --------
    >>> from sklearn_rank.theory import largest_p
    >>> [round(largest_p(0.2, n, n), 2) for n in (10_000, 100_000, 1_000_000)]
    [1.44, 1.82, 2.2]
    >>> [round(largest_p(0.2, n, n, min_risk=0.16), 2) for n in (10_000, 100_000, 1_000_000)]
    [1.71, 2.34, 2.97]
    """
    log_2n, log_delta = math.log(2) + log_cover, math.log(delta)
    # The share of delta that the upper term takes, and the logarithm of the rest.
    log_share = log_2n + _log_upper_term(epsilon, n_above, n_below) - log_delta
    if log_share >= 0:
        return 0.0
    log_rest = log_delta + math.log1p(-math.exp(log_share))
    x = (log_2n - log_rest) / (2 * n_below)
    excess = math.log(16 * x / epsilon**2)
    if excess > 0:  # p = 1 needs more rows
        return 0.0
    without_risk = math.log(x) / (2 * math.log(epsilon / 4))
    if min_risk == 1:
        return math.inf
    with_risk = 1 + excess / (2 * math.log(min_risk)) if min_risk > 0 else 1.0
    return max(without_risk, with_risk)


@checked()
def combination_cover(radius: float, n_weak_rankers: int, *, max_norm: float = 1.0) -> float:
    r"""Bound the natural logarithm of the covering number of combinations of weak rankers.

    .. math:: \ln N(F, r) \le n \ln\Bigl(1 + \frac{2 W}{r}\Bigr), \qquad
        F = \Bigl\{\sum_j \lambda_j h_j: \|\lambda\|_1 \le W\Bigr\}

    and 0 for :math:`r \ge W`, where the zero ranker is a cover. The cover is in the maximum norm
    over all rows, with centres in F, for n weak rankers :math:`h_j` with values in [0, 1].

    Parameters
    ----------
    radius : float in (0, inf)
        Radius r, in units of score; for `push_tail_bound` :math:`\epsilon \theta / 8`.
    n_weak_rankers : int in [1, inf)
        Number n of weak rankers.
    max_norm : float in (0, inf), default=1.0
        Maximum l1 norm W of the coefficients.

    References
    ----------
    Rudin2009, sec. 4 (the covering number that its bounds need); derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import combination_cover
    >>> round(combination_cover(0.2 * 0.1 / 8, n_weak_rankers=10), 1)
    66.9
    """
    if radius >= max_norm:
        return 0.0
    return n_weak_rankers * math.log1p(2 * max_norm / radius)


@checked()
def push_distance(a: ArrayLike, b: ArrayLike, p: float) -> float:
    r"""Compute the Bregman distance dual to the p-norm push.

    .. math:: B(a, b) = \sum_{ik} a_{ik} \ln \frac{a_{ik} \, B_k^{(p - 1) / p}}
        {b_{ik} \, A_k^{(p - 1) / p}} - \frac1p \sum_{ik} (a_{ik} - b_{ik}), \qquad
        A_k = \sum_i a_{ik}, \; B_k = \sum_i b_{ik}

    It is zero only for a = b. With the pair masses
    :math:`q_{ik} = e^{-m_{ik}} (\sum_{i'} e^{-m_{i'k}})^{p - 1}` of the margins m of a linear
    combination of weak rankers, and :math:`q^*` those at the infimum of the push
    :math:`R_p = \sum_k (\sum_i e^{-m_{ik}})^p`,

    .. math:: \frac{R_p - R_p^*}{p} = B(q^*, q)

    so :math:`q^*` is unique, and so are the margins where they stay finite.

    Parameters
    ----------
    a, b : array-like of shape (n_above, n_below)
        Not negative.
    p : float in [1, inf)
        The power.

    Returns
    -------
    float
        The distance, not negative; inf where b is zero and a is not.

    References
    ----------
    Rudin2009, Theorem 4 (uniqueness), eq. (13) (the distance), Theorem 10 (the identity).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.theory import push_distance
    >>> push_distance([[1.0], [3.0]], [[1.0], [3.0]], p=4)
    0.0
    >>> round(push_distance([[1.0], [3.0]], [[2.0], [2.0]], p=1), 4)
    0.5232
    """
    a, b = _pair_masses("a", a), _pair_masses("b", b)
    if a.shape != b.shape:
        raise ValueError(
            "The 'b' parameter of push_distance must have the shape of 'a', "
            f"{a.shape}. Got {b.shape} instead."
        )
    if np.any((b == 0) & (a > 0)):
        return math.inf
    pair_term = xlogy(a, a).sum() - xlogy(a, b).sum()
    a_sums, b_sums = a.sum(axis=0), b.sum(axis=0)  # A_k, B_k
    sum_term = xlogy(a_sums, a_sums).sum() - xlogy(a_sums, b_sums).sum()
    return float(pair_term - (p - 1) / p * sum_term - (a_sums - b_sums).sum() / p)


def _pair_masses(name: str, values: ArrayLike) -> Floats:
    masses = np.asarray(values, dtype=float)
    if masses.ndim != 2 or not np.all((masses >= 0) & np.isfinite(masses)):
        raise ValueError(
            f"The {name!r} parameter of push_distance must be a matrix of finite numbers that "
            f"are not negative. Got {values!r} instead."
        )
    return masses


@checked()
def ir_push_bounds(ir_push: float, n_above: int) -> tuple[float, float]:
    r"""Bound AveR and DCG from below by the IR push.

    .. math:: \sum_i \frac{1}{\mathrm{rank}_i} \ge I \exp\Bigl(-\frac{J + \ln I!}{I}\Bigr),
        \qquad \sum_i \frac{1}{\ln(1 + \mathrm{rank}_i)} \ge \frac{I^2}{J + \ln (I + 1)!}

    where J is the IR push of one list of two classes, :math:`J = \sum_i \ln(1 + \sum_k
    e^{-(f_i - f_k)})`, and the ranks are those of the upper rows.

    Parameters
    ----------
    ir_push : float in [0, inf)
        J, see `InformationRetrievalPush`, or with reverse heights for the inner sum.
    n_above : int in [1, inf)
        Number I of upper rows.

    Returns
    -------
    tuple of two floats
        Lower bounds on `reciprocal_rank_sum` and on `reciprocal_log_rank_sum`.

    References
    ----------
    Rudin2009, eq. (2) (the IR push), sec. 7 (AveR, DCG); the bounds are derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import ir_push_bounds
    >>> [round(bound, 2) for bound in ir_push_bounds(3.0, n_above=10)]
    [1.64, 4.88]
    """
    harmonic = n_above * math.exp(-(ir_push + float(gammaln(n_above + 1))) / n_above)
    return harmonic, n_above**2 / (ir_push + float(gammaln(n_above + 2)))
