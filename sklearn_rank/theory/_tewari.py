"""Constants, step sizes and generalisation bounds of Tewari2015.

Where a docstring says *derived here*, it gives the derivation, and the constant may be larger
or smaller than the printed one.

In all functions a query has m rows, n queries are drawn independently, scores are linear with
coefficients of norm at most W, and rows have norm at most R.
"""

from __future__ import annotations

import math

from sklearn_rank._validation import Choice, Constraint, Number, check_parameters

_POSITIVE = Number(0, closed="neither")
_NOT_NEGATIVE = Number(0, closed="left")
_COUNT = Number(1, integer=True)
_LOSSES = Choice(("cross_entropy", "smoothed_dcg", "rank_svm"))

_ALLOWED: dict[str, Constraint] = {
    "loss": _LOSSES,
    "sigma": _POSITIVE,
    "max_relevance": Number(0, 1023),
    "n_rows": _COUNT,
    "n_queries": _COUNT,
    "max_norm": _POSITIVE,
    "row_norm": _POSITIVE,
    "lipschitz": _POSITIVE,
    "smoothness": _POSITIVE,
    "best_loss": _NOT_NEGATIVE,
    "largest_loss": _POSITIVE,
    "epsilon": _POSITIVE,
}


def _check(owner: str, **values: object) -> None:
    check_parameters(owner, values, {name: _ALLOWED[name] for name in values})


def _scale(
    owner: str, lipschitz: float, max_norm: float, row_norm: float, **values: object
) -> float:
    """Check the parameters and return G W R."""
    _check(owner, **values, max_norm=max_norm, row_norm=row_norm, lipschitz=lipschitz)
    return lipschitz * max_norm * row_norm


def lipschitz_constant(
    loss: str, *, sigma: float = 1.0, max_relevance: float = 1, n_rows: int = 2
) -> float:
    r"""Return the Lipschitz constant of a loss with respect to the maximum norm of the scores.

    .. math:: |\phi(s, y) - \phi(s', y)| \le G \, \|s - s'\|_\infty, \qquad
        G = \sup_s \|\nabla_s \phi(s, y)\|_1

    =============== ===================================== ==========================
    loss            G                                     source
    =============== ===================================== ==========================
    "cross_entropy" 2                                     Prop. 1
    "smoothed_dcg"  :math:`2 (2^{y_{max}} - 1) / \sigma`  Prop. 2
    "rank_svm"      m (m - 1)                             Appendix C: :math:`O(m^2)`
    =============== ===================================== ==========================

    Only the last grows with the length of the list: each of its at most m (m - 1) / 2
    ordered pairs adds a gradient :math:`e_k - e_i` of l1 norm 2.

    Parameters
    ----------
    loss : {"cross_entropy", "smoothed_dcg", "rank_svm"}
        The loss of one query. "rank_svm" is the sum of the hinge loss over pairs.
    sigma : float in (0, inf), default=1.0
        Scale of the scores in "smoothed_dcg".
    max_relevance : float in [0, 1023], default=1
        Maximum relevance, for "smoothed_dcg".
    n_rows : int in [1, inf), default=2
        Length m of the list, for "rank_svm".

    Returns
    -------
    float
        G, in units of loss per unit of score.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Prop. 1, Prop. 2 and Appendix C.

    Examples
    --------
    >>> from sklearn_rank.theory import lipschitz_constant
    >>> lipschitz_constant("cross_entropy")
    2.0
    >>> lipschitz_constant("rank_svm", n_rows=1000)
    999000.0
    """
    _check("lipschitz_constant", loss=loss, sigma=sigma, max_relevance=max_relevance, n_rows=n_rows)
    if loss == "cross_entropy":
        return 2.0
    if loss == "smoothed_dcg":
        return 2.0 * (2.0**max_relevance - 1.0) / sigma
    return float(n_rows) * (n_rows - 1)


def smoothness_constant(loss: str, *, sigma: float = 1.0, max_relevance: float = 1) -> float:
    r"""Return the Lipschitz constant of the gradient of a loss.

    .. math:: \|\nabla_s \phi(s, y) - \nabla_s \phi(s', y)\|_1 \le H \, \|s - s'\|_\infty

    =============== ======================================= ============
    loss            H                                       source
    =============== ======================================= ============
    "cross_entropy" 2                                       Prop. 1
    "smoothed_dcg"  :math:`2 (2^{y_{max}} - 1) / \sigma^2`  derived here
    "rank_svm"      inf: the hinge has a kink
    =============== ======================================= ============

    Derived here: the second derivative of the smoothed DCG in directions u and v is
    minus the joint cumulant of gain, u and v under the top-one probabilities, over
    :math:`\sigma^2`. With :math:`\|u\|_\infty, \|v\|_\infty \le 1` it is at most
    :math:`4 \, E|G - \bar G| \le 2 (2^{y_{max}} - 1)` for relevances that are not
    negative.

    Parameters
    ----------
    loss : {"cross_entropy", "smoothed_dcg", "rank_svm"}
        The loss of one query.
    sigma : float in (0, inf), default=1.0
        Scale of the scores in "smoothed_dcg".
    max_relevance : float in [0, 1023], default=1
        Maximum relevance, for "smoothed_dcg".

    Returns
    -------
    float
        H, in units of loss per squared unit of score.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Prop. 1 (the constant).

    Examples
    --------
    >>> from sklearn_rank.theory import smoothness_constant
    >>> smoothness_constant("cross_entropy")
    2.0
    >>> smoothness_constant("smoothed_dcg", max_relevance=2, sigma=0.5)
    24.0
    """
    _check("smoothness_constant", loss=loss, sigma=sigma, max_relevance=max_relevance)
    if loss == "cross_entropy":
        return 2.0
    if loss == "smoothed_dcg":
        return 2.0 * (2.0**max_relevance - 1.0) / sigma**2
    return math.inf


def ogd_step(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Return the step size of online gradient descent for which `ogd_bound` holds.

    .. math:: \eta = \frac{W}{G R \sqrt{2 n}}

    It is the ``eta0="auto"`` of `sklearn_rank.ListNetLinear` with ``solver="ogd"``.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries, one step each.
    max_norm : float in (0, inf)
        Maximum norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    lipschitz : float in (0, inf), default=2.0
        G, see `lipschitz_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The step size.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Theorem 5 (the step).

    Examples
    --------
    >>> from sklearn_rank.theory import ogd_step
    >>> ogd_step(50, max_norm=2, row_norm=1)
    0.1
    """
    _check(
        "ogd_step",
        n_queries=n_queries,
        max_norm=max_norm,
        row_norm=row_norm,
        lipschitz=lipschitz,
    )
    return max_norm / (lipschitz * row_norm * math.sqrt(2 * n_queries))


def ogd_bound(n_queries: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0) -> float:
    r"""Bound the expected excess loss of online gradient descent for convex losses.

    .. math:: E \, L(\bar w) - \min_{\|w\|_2 \le W} L(w) \le G W R \sqrt{\frac2n}

    where L is the expected loss of a query and :math:`\bar w` the averaged iterate
    :math:`\tfrac1n \sum_t w_t` of one pass over n independent queries from :math:`w_1 = 0`,
    with the step size of `ogd_step`. The bound does not depend on the length of the lists.

    Derived here from the step of Theorem 5, with which the regret of descent from zero,
    :math:`\frac{W^2}{2 \eta n} + \frac{\eta}{2} G^2 R^2`, is :math:`\frac34 \sqrt2
    \, G W R / \sqrt n`, less than the bound.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm : float in (0, inf)
        Maximum norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    lipschitz : float in (0, inf), default=2.0
        G, see `lipschitz_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The bound, in units of loss.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Theorem 5 (the step, and a bound free of the length of the lists).

    Examples
    --------
    >>> from sklearn_rank.theory import ogd_bound
    >>> ogd_bound(200, max_norm=1, row_norm=1)
    0.2
    """
    scale = _scale("ogd_bound", lipschitz, max_norm, row_norm, n_queries=n_queries)
    return scale * math.sqrt(2 / n_queries)


def smooth_ogd_step(
    n_queries: int,
    *,
    max_norm: float,
    row_norm: float,
    best_loss: float,
    smoothness: float = 2.0,
) -> float:
    r"""Return the step size of online gradient descent that minimises the bound for smooth losses.

    .. math:: \eta = \frac{1}{b + \sqrt{b^2 + 2 n b L^* / W^2}}, \qquad b = H R^2

    where :math:`L^* = \min_{\|w\|_2 \le W} L(w)` must be known or estimated.

    Derived here: a smooth loss that is not negative bounds its own gradient,
    :math:`\|\nabla_s \phi\|_1^2 \le 2 H \phi`, so that the regret bound gives
    :math:`E L(\bar w) \le (L^* + W^2 / (2 \eta n)) / (1 - \eta b)`, which this
    step minimises. It corresponds to the step (7) of the paper.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries, one step each.
    max_norm : float in (0, inf)
        Maximum norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    best_loss : float in [0, inf)
        :math:`L^*`.
    smoothness : float in (0, inf), default=2.0
        H, see `smoothness_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The step size.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Theorem 6 and step (7) (the form; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_ogd_step
    >>> smooth_ogd_step(100, max_norm=1, row_norm=1, best_loss=0)
    0.25
    """
    b, _ = _smooth_terms("smooth_ogd_step", n_queries, max_norm, row_norm, best_loss, smoothness)
    return 1 / (b + math.sqrt(b**2 + 2 * n_queries * b * best_loss / max_norm**2))


def smooth_ogd_bound(
    n_queries: int,
    *,
    max_norm: float,
    row_norm: float,
    best_loss: float,
    smoothness: float = 2.0,
) -> float:
    r"""Bound the expected excess loss of online gradient descent for smooth losses.

    .. math:: E \, L(\bar w) - L^* \le 2 a + 2 \sqrt{a^2 + a L^*}, \qquad
        a = \frac{H W^2 R^2}{2 n}

    with the step size of `smooth_ogd_step` and its derivation, for losses that are convex and
    not negative. The rate is :math:`1 / \sqrt n`, and 1/n when the minimum expected loss
    :math:`L^*` is zero.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    max_norm : float in (0, inf)
        Maximum norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    best_loss : float in [0, inf)
        Minimum expected loss :math:`L^*` over :math:`\|w\|_2 \le W`.
    smoothness : float in (0, inf), default=2.0
        H, see `smoothness_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The bound, in units of loss.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Theorem 6 (the form; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_ogd_bound
    >>> smooth_ogd_bound(100, max_norm=1, row_norm=1, best_loss=0)
    0.04
    """
    _, a = _smooth_terms("smooth_ogd_bound", n_queries, max_norm, row_norm, best_loss, smoothness)
    return 2 * a + 2 * math.sqrt(a**2 + a * best_loss)


def _smooth_terms(
    owner: str,
    n_queries: int,
    max_norm: float,
    row_norm: float,
    best_loss: float,
    smoothness: float,
) -> tuple[float, float]:
    """Return b = H R^2 and a = b W^2 / (2 n)."""
    _check(
        owner,
        n_queries=n_queries,
        max_norm=max_norm,
        row_norm=row_norm,
        best_loss=best_loss,
        smoothness=smoothness,
    )
    b = smoothness * row_norm**2
    return b, b * max_norm**2 / (2 * n_queries)


def covering_number(
    epsilon: float,
    n_queries: int,
    n_rows: int,
    *,
    max_norm: float,
    row_norm: float,
    lipschitz: float = 2.0,
) -> float:
    r"""Bound the binary logarithm of the covering number of the losses of linear rankers.

    .. math:: \log_2 N_\infty(\epsilon, \phi \circ F_2, n) \le 36 \, c^2
        \log_2\bigl(2 \lceil 4 c + 2 \rceil \, m n + 1\bigr), \qquad
        c = \frac{G W R}{\epsilon}

    and 0 for c at most 1, where the zero ranker is a cover. The length m of the lists enters
    only through the logarithm: a change of every score by :math:`\epsilon / G` changes no
    loss by more than :math:`\epsilon`, so that it suffices to cover linear functions on m n
    rows, for which Zhang2002 gives the constants.

    Parameters
    ----------
    epsilon : float in (0, inf)
        Radius of the cover, in units of loss, in the maximum norm over the queries.
    n_queries : int in [1, inf)
        Number n of queries.
    n_rows : int in [1, inf)
        Length m of the lists.
    max_norm : float in (0, inf)
        Maximum l2 norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    lipschitz : float in (0, inf), default=2.0
        G, see `lipschitz_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The bound, in bits.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Prop. 7 (the bound). Zhang2002, Theorem 4 (the constants).

    Examples
    --------
    >>> from sklearn_rank.theory import covering_number
    >>> short, long = (covering_number(0.5, 1000, m, max_norm=1, row_norm=1) for m in (10, 1000))
    >>> long < 1.4 * short
    True
    """
    sizes = {"epsilon": epsilon, "n_queries": n_queries, "n_rows": n_rows}
    c = _scale("covering_number", lipschitz, max_norm, row_norm, **sizes) / epsilon
    if c <= 1:
        return 0.0
    return 36 * c**2 * math.log2(2 * math.ceil(4 * c + 2) * n_rows * n_queries + 1)


def rademacher_bound(
    n_queries: int, n_rows: int, *, max_norm: float, row_norm: float, lipschitz: float = 2.0
) -> float:
    r"""Bound the Rademacher complexity of the losses of linear rankers.

    .. math:: \hat R_n(\phi \circ F_2) \le \frac{C}{\sqrt n} \Bigl(4 + 36 \ln n
        \sqrt{\ln(2 \lceil 4 \sqrt n + 2 \rceil \, m n + 1)} \Bigr), \qquad C = G W R

    It holds for every loss with Lipschitz constant G, convex or not. With probability
    :math:`1 - \delta`, every ranker's expected loss is at most its mean loss on the n queries
    plus twice this bound plus :math:`3 B \sqrt{\ln(2 / \delta) / (2 n)}`, for losses
    between 0 and B.

    Derived here: Dudley's integral :math:`4 \alpha + \frac{12}{\sqrt n} \int_\alpha^C
    \sqrt{\ln N_\infty(\epsilon)} \, d\epsilon` at :math:`\alpha = C / \sqrt n` over
    `covering_number`, with its logarithm taken at :math:`\epsilon = \alpha`.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    n_rows : int in [1, inf)
        Length m of the lists.
    max_norm : float in (0, inf)
        Maximum l2 norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    lipschitz : float in (0, inf), default=2.0
        G, see `lipschitz_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The bound, in units of loss.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Corollary 8 (the form; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import rademacher_bound
    >>> few, many = (rademacher_bound(n, 100, max_norm=1, row_norm=1) for n in (10**4, 10**6))
    >>> many < few / 5
    True
    """
    sizes = {"n_queries": n_queries, "n_rows": n_rows}
    scale = _scale("rademacher_bound", lipschitz, max_norm, row_norm, **sizes)
    return _dudley(scale, n_queries, n_rows)


def smooth_rademacher_bound(
    n_queries: int,
    n_rows: int,
    *,
    max_norm: float,
    row_norm: float,
    largest_loss: float,
    smoothness: float = 2.0,
) -> float:
    r"""Bound the Rademacher complexity of the losses of linear rankers with small mean loss.

    .. math:: \hat R_n(\{\phi \circ f : \hat L(f) \le r\}) \le \frac{C}{\sqrt n} \Bigl(4 +
        36 \ln n \sqrt{\ln(2 \lceil 4 \sqrt n + 2 \rceil \, m n + 1)} \Bigr), \qquad
        C = 2 \sqrt{12 H r} \, W R

    where :math:`\hat L(f)` is the mean loss on the n queries, for smooth losses that are not
    negative.

    Derived here: such a loss has :math:`(\phi - \phi')^2 \le 6 H (\phi + \phi') \|s -
    s'\|_\infty^2`, so that the root mean square distance of two losses of mean at most r
    is at most :math:`\sqrt{12 H r}` times the maximum distance of scores. The rest is as in
    `rademacher_bound`; the factor 2 moves the centres of a cover into the class.

    Parameters
    ----------
    n_queries : int in [1, inf)
        Number n of queries.
    n_rows : int in [1, inf)
        Length m of the lists.
    max_norm : float in (0, inf)
        Maximum l2 norm W of the coefficients.
    row_norm : float in (0, inf)
        Maximum l2 norm R of a row.
    largest_loss : float in (0, inf)
        Maximum mean loss r.
    smoothness : float in (0, inf), default=2.0
        H, see `smoothness_constant`; the default is that of the cross-entropy.

    Returns
    -------
    float
        The bound, in units of loss.

    Raises
    ------
    ValueError
        When a parameter is out of its range.

    References
    ----------
    Tewari2015, Corollary 11 (the form; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_rademacher_bound
    >>> large, small = (
    ...     smooth_rademacher_bound(10**4, 100, max_norm=1, row_norm=1, largest_loss=r)
    ...     for r in (1.0, 0.01)
    ... )
    >>> round(large / small, 6)
    10.0
    """
    _check(
        "smooth_rademacher_bound",
        n_queries=n_queries,
        n_rows=n_rows,
        max_norm=max_norm,
        row_norm=row_norm,
        largest_loss=largest_loss,
        smoothness=smoothness,
    )
    scale = 2 * math.sqrt(12 * smoothness * largest_loss) * max_norm * row_norm
    return _dudley(scale, n_queries, n_rows)


def _dudley(scale: float, n_queries: int, n_rows: int) -> float:
    """Return the bound of Dudley's integral for C = `scale`."""
    root = math.sqrt(n_queries)
    log_cover = math.log(2 * math.ceil(4 * root + 2) * n_rows * n_queries + 1)
    return scale / root * (4 + 36 * math.log(n_queries) * math.sqrt(log_cover))
