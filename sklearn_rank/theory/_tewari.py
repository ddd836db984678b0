"""Constants, step sizes and excess loss bounds of Tewari2015.

In all functions a query has m rows, n queries are drawn independently, scores are linear with
coefficients of norm at most W, and rows have norm at most R.
"""

from __future__ import annotations

import math

from sklearn_rank._core.protocols import require
from sklearn_rank._core.validation import Choice
from sklearn_rank.objectives import LISTWISE_LOSSES, ListwiseLoss
from sklearn_rank.objectives.listwise import as_listwise_loss
from sklearn_rank.theory._checks import checked

_Loss = str | ListwiseLoss
_LOSSES = Choice((*LISTWISE_LOSSES, "rank_svm"), "a ListwiseLoss", ListwiseLoss)


@checked(loss=_LOSSES)
def lipschitz_constant(
    loss: _Loss, *, sigma: float = 1.0, max_relevance: float = 1, n_rows: int = 2
) -> float:
    r"""Return the Lipschitz constant of a loss with respect to the maximum norm of the scores.

    .. math:: |\phi(s, y) - \phi(s', y)| \le G \, \|s - s'\|_\infty, \qquad
        G = \sup_s \|\nabla_s \phi(s, y)\|_1

    =============== ===================================== ========================
    loss            G                                     source
    =============== ===================================== ========================
    "cross_entropy" 2                                     Prop. 1
    "smoothed_dcg"  :math:`2 (2^{y_{max}} - 1) / \sigma`  Prop. 2
    "rank_svm"      :math:`\lfloor m^2 / 2 \rfloor`       sec. 3.3: :math:`O(m^2)`
    =============== ===================================== ========================

    Parameters
    ----------
    loss : {"cross_entropy", "smoothed_dcg", "rank_svm"} or ListwiseLoss
        The loss of one query. "rank_svm" is the sum of the hinge loss over pairs.
    sigma : float in (0, inf), default=1.0
        Scale of the scores in "smoothed_dcg".
    max_relevance : float in [0, 1022], default=1
        Maximum relevance, for "smoothed_dcg".
    n_rows : int in [1, inf), default=2
        Length m of the list, for "rank_svm".

    References
    ----------
    Tewari2015, Prop. 1, Prop. 2 and sec. 3.3.

    Examples
    --------
    >>> from sklearn_rank.theory import lipschitz_constant
    >>> lipschitz_constant("cross_entropy")
    2.0
    >>> lipschitz_constant("rank_svm", n_rows=1000)
    500000.0
    """
    if loss == "rank_svm":
        return float(int(n_rows) ** 2 // 2)
    return _constant(loss, "lipschitz", sigma, max_relevance)


@checked(loss=_LOSSES)
def smoothness_constant(loss: _Loss, *, sigma: float = 1.0, max_relevance: float = 1) -> float:
    r"""Return the Lipschitz constant of the gradient of a loss.

    .. math:: \|\nabla_s \phi(s, y) - \nabla_s \phi(s', y)\|_1 \le H \, \|s - s'\|_\infty

    =============== ======================================= ============
    loss            H                                       source
    =============== ======================================= ============
    "cross_entropy" 2                                       Prop. 1
    "smoothed_dcg"  :math:`2 (2^{y_{max}} - 1) / \sigma^2`  derived here
    "rank_svm"      inf: the hinge has a kink
    =============== ======================================= ============

    Parameters
    ----------
    loss : {"cross_entropy", "smoothed_dcg", "rank_svm"} or ListwiseLoss
        The loss of one query.
    sigma : float in (0, inf), default=1.0
        Scale of the scores in "smoothed_dcg".
    max_relevance : float in [0, 1022], default=1
        Maximum relevance, for "smoothed_dcg".

    References
    ----------
    Tewari2015, Prop. 1 (cross-entropy); derived here (smoothed DCG).

    Examples
    --------
    >>> from sklearn_rank.theory import smoothness_constant
    >>> smoothness_constant("cross_entropy")
    2.0
    >>> smoothness_constant("smoothed_dcg", max_relevance=2, sigma=0.5)
    24.0
    """
    return math.inf if loss == "rank_svm" else _constant(loss, "smoothness", sigma, max_relevance)


def _constant(loss: _Loss, name: str, sigma: float, max_relevance: float) -> float:
    """Return a constant of a listwise loss by the name of its method."""
    method = require(as_listwise_loss(loss, sigma), name, "The theory of Tewari2015")
    return float(method(max_relevance))


@checked()
def ogd_step(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Return the step size of online gradient descent for which `ogd_bound` holds.

    .. math:: \eta = \frac{W}{G R \sqrt{2 n}}

    It is the ``eta0="auto"`` of `sklearn_rank.ListNetLinear` with ``solver="ogd"``.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries, one step each.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Theorem 5; sec. 5 (the regret that this step minimises).

    Examples
    --------
    >>> from sklearn_rank.theory import ogd_step
    >>> ogd_step(50, max_norm=2, row_norm=1)
    0.1
    """
    return max_norm / (lipschitz * row_norm * math.sqrt(2 * n_queries))


@checked()
def ogd_bound(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Bound the expected excess loss of online gradient descent for convex losses.

    .. math:: E \, L(\bar w) - \min_{\|w\|_2 \le W} L(w) \le G W R \sqrt{\frac2n}

    where L is the expected loss of a query and :math:`\bar w` the averaged iterate
    :math:`\tfrac1n \sum_t w_t` of one pass over n independent queries from :math:`w_1 = 0`,
    with the step size of `ogd_step`.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Theorem 5.

    Examples
    --------
    >>> from sklearn_rank.theory import ogd_bound
    >>> ogd_bound(200, max_norm=1, row_norm=1)
    0.2
    """
    return lipschitz * max_norm * row_norm * math.sqrt(2 / n_queries)


@checked()
def erm_alpha(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Return the strength of the ridge for which `erm_bound` holds.

    .. math:: \alpha = \frac{2 G R}{W \sqrt n}

    It is the `alpha` of `sklearn_rank.ListNetLinear` with ``max_norm=W``.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Theorem 6 (the order; the constant is derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import erm_alpha
    >>> erm_alpha(1600, max_norm=1, row_norm=1)
    0.1
    """
    return 2 * lipschitz * row_norm / (max_norm * math.sqrt(n_queries))


@checked()
def erm_bound(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Bound the expected excess loss of the regularised minimiser for convex losses.

    .. math:: E \, L(\hat w_\alpha) - \min_{\|w\|_2 \le W} L(w) \le \frac{2 G W R}{\sqrt n},
        \qquad \hat w_\alpha = \arg\min_{\|w\|_2 \le W}
        \frac{\alpha}{2} \|w\|_2^2 + \hat L(w)

    where :math:`\hat L` is the mean loss of n independent queries, L the expected loss of a query
    and :math:`\alpha` the strength of `erm_alpha`.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Theorem 6 and eq. (3), with a constant derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import erm_bound
    >>> erm_bound(1600, max_norm=1, row_norm=1)
    0.1
    """
    return 2 * lipschitz * max_norm * row_norm / math.sqrt(n_queries)


@checked()
def smooth_ogd_step(
    n_queries: int, *, max_norm: float, row_norm: float, best_loss: float, smoothness: float = 2.0
) -> float:
    r"""Return the step size of online gradient descent that minimises the bound for smooth losses.

    .. math:: \eta = \frac{1}{b + \sqrt{b^2 + 2 n b L^* / W^2}}, \qquad b = H R^2

    where :math:`L^* = \min_{\|w\|_2 \le W} L(w)` must be known or estimated, for losses that are
    not negative. `sklearn_rank.ListNetLinear` takes it as ``eta0`` with ``theta=0``,
    ``solver="ogd"`` and ``max_iter=1``.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries, one step each.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    best_loss : float in [0, inf)
        :math:`L^*`.
    smoothness : float in (0, inf), default=2.0
        H; by default the `smoothness_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, eq. (7), with 4 H replaced by H as derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_ogd_step
    >>> smooth_ogd_step(100, max_norm=1, row_norm=1, best_loss=0)
    0.25
    """
    b = smoothness * row_norm**2
    return 1 / (b + math.sqrt(b**2 + 2 * n_queries * b * best_loss / max_norm**2))


@checked()
def smooth_ogd_bound(
    n_queries: int, *, max_norm: float, row_norm: float, best_loss: float, smoothness: float = 2.0
) -> float:
    r"""Bound the expected excess loss of online gradient descent for smooth losses.

    .. math:: E \, L(\bar w) - L^* \le 2 a + 2 \sqrt{a^2 + a L^*}, \qquad
        a = \frac{H W^2 R^2}{2 n}

    with the step size of `smooth_ogd_step`, for losses that are convex and not negative.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    best_loss : float in [0, inf)
        Minimum expected loss :math:`L^*` over :math:`\|w\|_2 \le W`.
    smoothness : float in (0, inf), default=2.0
        H; by default the `smoothness_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, eq. (8), which is two to four times as large; derived here.

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_ogd_bound
    >>> smooth_ogd_bound(100, max_norm=1, row_norm=1, best_loss=0)
    0.04
    """
    a = smoothness * row_norm**2 * max_norm**2 / (2 * n_queries)
    return 2 * a + 2 * math.sqrt(a**2 + a * best_loss)
