r"""Margins, steps and the F-skew (RudinSchapire2009).

Along a weak ranker h with values 0 and 1, :math:`d_+, d_-, d_0` are the shares of the exponential
mass of the pairs that h orders correctly, orders incorrectly and ties, and :math:`r = d_+ - d_-` is
its edge. The smooth margin is :math:`G = -\ln F / \|\lambda\|_1` with F the sum of
:math:`e^{-m}` over the pairs.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from sklearn_rank._core.protocols import PairShares
from sklearn_rank._core.validation import (
    Number,
    check_floats,
    check_lengths,
    check_relevance,
    check_weight,
)
from sklearn_rank.solvers.coordinate_descent import smooth_margin_root
from sklearn_rank.theory._checks import check_limit, checked


@checked(n_weak_rankers=Number(2, integer=True))
def margin_bound(
    n_rows: int, n_weak_rankers: int, theta: float, *, pair_share: float = 0.25, delta: float = 0.05
) -> float:
    r"""Bound the share of misranked pairs by the share of pairs with a small margin.

    With probability :math:`1 - \delta` over a sample of m rows, every convex combination f of the
    weak rankers satisfies

    .. math:: P(m \le 0) \le \hat P(m \le \theta) + \epsilon, \qquad \epsilon = \sqrt{
        \frac{4}{m E^2} \Bigl(\frac{8 \ln |H|}{\theta^2}
        \ln \frac{4 m E^2 \theta^2}{\ln |H|} + 2 \ln \frac{2}{\delta}\Bigr)}

    where P is over the pairs in the population and :math:`\hat P` over those of the sample.

    Parameters
    ----------
    n_rows : int in [1, inf)
        Number m of rows.
    n_weak_rankers : int in [2, inf)
        Number \|H\| of weak rankers, with values 0 and 1.
    theta : float in (0, inf)
        The margin :math:`\theta`.
    pair_share : float in (0, 0.5], default=0.25
        E, the probability that of two random rows the first belongs above the second: q (1 - q)
        for two classes with shares q and 1 - q, at most 1/2.
    delta : float in (0, 1), default=0.05
        Probability :math:`\delta` that the guarantee fails.

    Returns
    -------
    float
        :math:`\epsilon`; 1.0 (uninformative) if the formula gives more, and for
        :math:`4 m E^2 \theta^2 \le e^2 \ln |H|`, where its proof does not apply.

    References
    ----------
    RudinSchapire2009, Corollary 4.

    Examples
    --------
    >>> from sklearn_rank.theory import margin_bound
    >>> [round(margin_bound(m, 100, theta=0.25), 2) for m in (10**5, 10**6, 10**7)]
    [1.0, 0.55, 0.2]
    """
    log_size, n_pairs = math.log(n_weak_rankers), n_rows * pair_share**2
    ratio = 4 * n_pairs * theta**2 / log_size
    if ratio <= math.e**2:
        return 1.0
    log_terms = 8 * log_size / theta**2 * math.log(ratio) + 2 * math.log(2 / delta)
    return min(1.0, math.sqrt(4 / n_pairs * log_terms))


@checked()
def smooth_margin_step(right: float, wrong: float, smooth_margin: float) -> float:
    r"""Return the step of smooth margin ranking along a 0/1 weak ranker.

    .. math:: \alpha = \ln \frac{2 (1 - g) \, d_+}{g d_0 + \sqrt{g^2 d_0^2 + 4 (1 - g^2)
        \, d_+ d_-}} = \ln \frac{\sqrt{g^2 d_0^2 + 4 (1 - g^2) \, d_+ d_-} - g d_0}
        {2 (1 + g) \, d_-}

    the root of :math:`-\tau'(\alpha) = g \, \tau(\alpha)` with :math:`\tau(\alpha) = d_+
    e^{-\alpha} + d_- e^{\alpha} + d_0`, for a smooth margin g between 0 and the edge.

    Parameters
    ----------
    right, wrong : float in [0, 1]
        :math:`d_+` and :math:`d_-`, with a sum of at most 1; :math:`d_0` is the rest.
    smooth_margin : float in (0, 1)
        g, smaller than :math:`d_+ - d_-`.

    Returns
    -------
    float
        The step, positive; inf for :math:`d_+ = 1`.

    References
    ----------
    RudinSchapire2009, eq. 12 (the second form), eq. 11 (the condition).

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_margin_step
    >>> round(smooth_margin_step(0.6, 0.2, smooth_margin=0.1), 4)
    0.42
    """
    check_limit("smooth_margin_step", "wrong", wrong, 1 + 1e-12 - right, "1 - right")
    if smooth_margin >= right - wrong:
        raise ValueError(
            "The 'smooth_margin' parameter of smooth_margin_step must be smaller than "
            f"right - wrong. Got {smooth_margin!r} instead."
        )
    shares = PairShares(right, wrong, max(0.0, 1 - right - wrong))
    return smooth_margin_root(shares, smooth_margin)


@checked()
def tied_limit(edge: float) -> float:
    r"""Return the share of tied pairs below which `smooth_margin_gain` is guaranteed.

    .. math:: d_0 < \tfrac23 (1 - r) (1 - r^2)

    where r is the edge and :math:`d_0` the share. No larger limit holds as r tends to 0.

    Parameters
    ----------
    edge : float in [0, 1]
        The edge r.

    References
    ----------
    RudinSchapire2009, Theorem 7 (the condition on the tied share); derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import tied_limit
    >>> round(tied_limit(0.5), 4)
    0.25
    """
    return 2 / 3 * (1 - edge) * (1 - edge**2)


@checked()
def smooth_margin_gain(step: float, edge: float, smooth_margin: float, l1_norm: float) -> float:
    r"""Bound the increase of the smooth margin over a round from below.

    .. math:: g_{t+1} - g_t > \frac{\alpha_t (r_t - g_t)}{2 s_{t+1}}

    where :math:`\alpha_t` is the step, :math:`r_t` the edge and :math:`s_{t+1}` the l1 norm of the
    coefficients after the step, if the share of tied pairs is below `tied_limit`. Without the
    condition the smooth margin does not decrease.

    Parameters
    ----------
    step : float in [0, inf)
        :math:`\alpha_t`, see `smooth_margin_step`.
    edge : float in [0, 1]
        :math:`r_t`.
    smooth_margin : float in (0, 1)
        :math:`g_t`, at most the edge.
    l1_norm : float in (0, inf)
        :math:`s_{t+1}`.

    References
    ----------
    RudinSchapire2009, Theorem 7, eq. 9 (the increase).

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_margin_gain
    >>> round(smooth_margin_gain(0.5, edge=0.4, smooth_margin=0.1, l1_norm=2.0), 4)
    0.0375
    """
    check_limit("smooth_margin_gain", "smooth_margin", smooth_margin, edge, "the edge")
    return step * (edge - smooth_margin) / (2 * l1_norm)


def f_skew(
    y_true: ArrayLike, y_score: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    r"""Compute the F-skew, the difference of the exponential losses of two classes.

    .. math:: F_+ - F_-, \qquad F_+ = \sum_{i \in +} w_i e^{-f_i}, \quad
        F_- = \sum_{k \in -} w_k e^{f_k}

    AdaBoost minimises :math:`F_+ + F_-` and RankBoost :math:`F_+ F_-`; `balancing_offset` is the
    constant that makes the F-skew zero.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Two different numbers or booleans; the greater is the upper class.
    y_score : array-like of shape (n_samples,)
        Scores f, finite.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities w, not negative.

    Returns
    -------
    float
        The F-skew; positive if the loss of the positives is the larger one.

    References
    ----------
    RudinSchapire2009, sec. 5 (F-skew), Theorem 10 (the consequence of a vanishing F-skew).

    Examples
    --------
    >>> from math import exp
    >>> from sklearn_rank.theory import f_skew
    >>> abs(f_skew([1, 0, 0], [2.0, -1.0, 0.5]) - (exp(-2) - (exp(-1) + exp(0.5)))) < 1e-12
    True
    """
    y, scores = check_relevance(y_true, "y_true"), check_floats(y_score, "y_score")
    check_lengths(y_true=y, y_score=scores)
    if not np.isfinite(scores).all():
        raise ValueError("y_score contains NaN or infinity: f_skew needs finite scores.")
    weight = check_weight(sample_weight, len(y))
    levels = np.unique(y)
    if len(levels) != 2:
        raise ValueError(f"y_true of f_skew must have two different values. Got {len(levels)}.")
    has_weight = weight > 0  # 0 times infinity is NaN
    sign = np.where(y == levels[1], 1.0, -1.0)[has_weight]
    return float(sign @ (weight[has_weight] * np.exp(-sign * scores[has_weight])))


@checked()
def rankboost_loss(exponential_loss: float, f_skew: float) -> float:
    r"""Return RankBoost's loss from AdaBoost's loss and the F-skew.

    .. math:: \sum_{ik} e^{-(f_i - f_k)} = F_+ F_- = \frac{F^2 - (F_+ - F_-)^2}{4}, \qquad
        F = F_+ + F_-

    where F is AdaBoost's loss. Where the F-skew vanishes, both losses have the same minimum: the
    infimum of F over all offsets of a ranker is :math:`2 \sqrt{F_+ F_-}`.

    Parameters
    ----------
    exponential_loss : float in (0, inf)
        AdaBoost's loss F, the sum of :math:`e^{-y f}` over the rows.
    f_skew : float
        :math:`F_+ - F_-`, at most F in absolute value; see `f_skew`.

    References
    ----------
    RudinSchapire2009, Theorem 10 (one minimum); the identity is derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import rankboost_loss
    >>> rankboost_loss(5.0, f_skew=1.0) == 3.0 * 2.0
    True
    """
    if abs(f_skew) > exponential_loss:
        raise ValueError(
            "The 'f_skew' parameter of rankboost_loss must be at most the exponential loss in "
            f"absolute value. Got {f_skew!r} instead."
        )
    return (exponential_loss - f_skew) * (exponential_loss + f_skew) / 4


@checked()
def f_skew_bound(exponential_loss: float, best_loss: float) -> float:
    r"""Bound the F-skew of AdaBoost by its distance from its minimum.

    .. math:: |F_+ - F_-| \le \sqrt{F^2 - F_*^2}

    where F is AdaBoost's loss, :math:`F_+ + F_-`, and :math:`F_*` its infimum, if a constant is
    among the weak rankers. The F-skew vanishes as AdaBoost converges.

    Parameters
    ----------
    exponential_loss : float in (0, inf)
        F.
    best_loss : float in [0, inf)
        :math:`F_*`, at most F.

    Returns
    -------
    float
        The bound; attained by the best ranker with any constant added.

    References
    ----------
    RudinSchapire2009, Theorem 10 (its condition); derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import f_skew_bound
    >>> f_skew_bound(5.0, best_loss=3.0)
    4.0
    """
    check_limit("f_skew_bound", "best_loss", best_loss, exponential_loss, "the exponential loss")
    return math.sqrt((exponential_loss - best_loss) * (exponential_loss + best_loss))
