r"""Covering numbers and Rademacher complexities of linear rankers (Tewari2015).

A query has m rows, n queries are drawn independently, and the loss of a query changes by at most G
times the maximum change of a score. A cover of the scores on m n rows is then one of the losses of
linear rankers.

Dudley's integral bounds the Rademacher complexity of functions of root mean square at most D
(Tewari2015, eq. 5):

.. math:: \hat R_n \le \inf_a \Bigl( 4 a + 10 \int_a^D
    \sqrt{\log_2 N(\epsilon) / n} \; d\epsilon \Bigr)

Where :math:`\log_2 N(\epsilon) \le (A / \epsilon)^2 l`, the infimum is at
:math:`a = \tfrac52 A \sqrt{l / n}` and is :math:`4 a \ln(e D / a)`.
"""

from __future__ import annotations

import math

from sklearn_rank.theory._checks import POSITIVE, checked


@checked()
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

    .. math:: \log_2 N_\infty(\epsilon, \phi \circ F_2, n) \le \lceil c^2 \rceil
        \log_2(2 m n + 1), \qquad c = \frac{G W R}{\epsilon}

    and 0 for c at most 1, where the zero ranker is a cover.

    Parameters
    ----------
    epsilon : float in (0, inf)
        Radius of the cover, in units of loss, in the maximum norm over the queries.
    n_queries, n_rows : int in [1, inf)
        Numbers n of queries and m of rows in each.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Prop. 7 (from Zhang2002, Corollary 3).

    Examples
    --------
    >>> from sklearn_rank.theory import covering_number
    >>> short, long = (covering_number(0.5, 1000, m, max_norm=1, row_norm=1) for m in (10, 1000))
    >>> long < 1.5 * short
    True
    """
    c = lipschitz * max_norm * row_norm / epsilon
    return math.ceil(c**2) * math.log2(2 * n_rows * n_queries + 1) if c > 1 else 0.0


@checked()
def l1_covering_number(
    epsilon: float,
    n_queries: int,
    n_rows: int,
    n_features: int,
    *,
    max_norm: float,
    row_norm: float,
    lipschitz: float = 2.0,
) -> float:
    r"""Bound the binary logarithm of the covering number under a bound of the l1 norm.

    .. math:: \log_2 N_\infty(\epsilon, \phi \circ F_1, n) \le
        \bigl(\lfloor 2 c^2 \ln(2 m n) \rfloor + 1\bigr) \log_2(2 d), \qquad
        c = \frac{G W_1 R}{\epsilon}

    and 0 for c at most 1, where the zero ranker is a cover.

    Parameters
    ----------
    epsilon : float in (0, inf)
        Radius of the cover, in units of loss, in the maximum norm over the queries.
    n_queries, n_rows, n_features : int in [1, inf)
        Numbers n of queries, m of rows in each, and d of features.
    max_norm, row_norm : float in (0, inf)
        Maximum l1 norm :math:`W_1` of the coefficients, and absolute value R of a feature.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.

    References
    ----------
    Tewari2015, Prop. 10 (with the smaller constants derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import l1_covering_number
    >>> few, many = (
    ...     l1_covering_number(0.5, 1000, 10, d, max_norm=1, row_norm=1) for d in (100, 10_000)
    ... )
    >>> many < 2 * few
    True
    """
    c = lipschitz * max_norm * row_norm / epsilon
    length = math.floor(2 * c**2 * math.log(2 * n_rows * n_queries)) + 1
    return length * math.log2(2 * n_features) if c > 1 else 0.0


@checked()
def rademacher_bound(
    n_queries: int,
    n_rows: int,
    *,
    max_norm: float,
    row_norm: float,
    lipschitz: float = 2.0,
    max_loss: float | None = None,
) -> float:
    r"""Bound the Rademacher complexity of the losses of linear rankers.

    .. math:: \hat R_n(\phi \circ F_2) \le 10 C \ln \frac{6 B}{5 C}, \qquad
        C = G W R \sqrt{\frac{\log_2(3 m n)}{n}}

    and :math:`\hat R_n \le B`, for every loss with Lipschitz constant G, convex or not.

    Parameters
    ----------
    n_queries, n_rows : int in [1, inf)
        Numbers n of queries and m of rows in each.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.
    max_loss : float in (0, inf) or None, default=None
        Maximum loss B; G W R if that is less, the largest difference to the zero ranker.

    References
    ----------
    Tewari2015, Corollary 8.

    Examples
    --------
    >>> from sklearn_rank.theory import rademacher_bound
    >>> few, many = (rademacher_bound(n, 100, max_norm=1, row_norm=1) for n in (10**6, 10**8))
    >>> many < few / 5
    True
    """
    scale = lipschitz * max_norm * row_norm
    loss_bound = scale if max_loss is None else min(scale, max_loss)
    c = scale * math.sqrt(math.log2(3 * n_rows * n_queries) / n_queries)
    if loss_bound < 2.5 * c:  # Dudley's infimum is at the largest loss itself
        return loss_bound
    return min(loss_bound, 10 * c * math.log(6 * loss_bound / (5 * c)))


@checked()
def l1_rademacher_bound(
    n_queries: int,
    n_rows: int,
    n_features: int,
    *,
    max_norm: float,
    row_norm: float,
    lipschitz: float = 2.0,
    max_loss: float | None = None,
) -> float:
    r"""Bound the Rademacher complexity under a bound of the l1 norm.

    .. math:: \hat R_n(\phi \circ F_1) \le 10 C \ln \frac{2 e B}{5 C} +
        10 B \sqrt{\frac{\log_2(2 d)}{n}}, \qquad
        C = G W_1 R \sqrt{\frac{2 \ln(2 m n) \log_2(2 d)}{n}}

    and :math:`\hat R_n \le B`.

    Parameters
    ----------
    n_queries, n_rows, n_features : int in [1, inf)
        Numbers n of queries, m of rows in each, and d of features.
    max_norm, row_norm : float in (0, inf)
        Maximum l1 norm :math:`W_1` of the coefficients, and absolute value R of a feature.
    lipschitz : float in (0, inf), default=2.0
        G; by default the `lipschitz_constant` of the cross-entropy.
    max_loss : float in (0, inf) or None, default=None
        Maximum loss B; :math:`G W_1 R` if that is less.

    References
    ----------
    Tewari2015, Corollary 11 (the rate; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import l1_rademacher_bound
    >>> few, many = (
    ...     l1_rademacher_bound(10**7, 100, d, max_norm=1, row_norm=1) for d in (10, 10_000)
    ... )
    >>> many < 2 * few
    True
    """
    scale = lipschitz * max_norm * row_norm
    loss_bound = scale if max_loss is None else min(scale, max_loss)
    bits = math.log2(2 * n_features) / n_queries
    c = scale * math.sqrt(2 * math.log(2 * n_rows * n_queries) * bits)
    if loss_bound < 2.5 * c:
        return loss_bound
    second_term = 10 * loss_bound * math.sqrt(bits)
    return min(loss_bound, 10 * c * math.log(2 * math.e * loss_bound / (5 * c)) + second_term)


@checked()
def smooth_rademacher_bound(
    n_queries: int,
    n_rows: int,
    *,
    max_norm: float,
    row_norm: float,
    largest_loss: float,
    smoothness: float = 2.0,
    max_loss: float | None = None,
) -> float:
    r"""Bound the Rademacher complexity of the losses of linear rankers with small mean loss.

    .. math:: \hat R_n(\{\phi \circ f : \hat L(f) \le r\}) \le 4 \sqrt r \, C
        \ln \frac{3 \sqrt B}{C}, \qquad C = 5 \sqrt 3 \, W R \sqrt{\frac{H \log_2(3 m n)}{n}}

    and :math:`\hat R_n \le r`, where :math:`\hat L(f)` is the mean loss on the n queries, for
    smooth losses that are not negative.

    Parameters
    ----------
    n_queries, n_rows : int in [1, inf)
        Numbers n of queries and m of rows in each.
    max_norm, row_norm : float in (0, inf)
        Maximum l2 norms W of the coefficients and R of a row.
    largest_loss : float in (0, inf)
        Maximum mean loss r.
    smoothness : float in (0, inf), default=2.0
        H; by default the `smoothness_constant` of the cross-entropy.
    max_loss : float in (0, inf) or None, default=None
        Maximum loss B of one query; n r if that is less.

    References
    ----------
    Tewari2015, Corollary 16.

    Examples
    --------
    >>> from sklearn_rank.theory import smooth_rademacher_bound
    >>> large, small = (
    ...     smooth_rademacher_bound(
    ...         10**7, 100, max_norm=1, row_norm=1, largest_loss=r, max_loss=2.0
    ...     )
    ...     for r in (1.0, 0.25)
    ... )
    >>> round(large / small, 6)
    2.0
    """
    loss_sum = n_queries * largest_loss  # no loss of a query exceeds the sum of all
    root = math.sqrt(loss_sum if max_loss is None else min(loss_sum, max_loss))
    logarithm = math.log2(3 * n_rows * n_queries)
    c = 5 * math.sqrt(3) * max_norm * row_norm * math.sqrt(smoothness * logarithm / n_queries)
    if root < c:
        return largest_loss
    return min(largest_loss, 4 * math.sqrt(largest_loss) * c * math.log(3 * root / c))


@checked(max_loss=POSITIVE)
def generalization_bound(
    complexity: float, n_queries: int, *, max_loss: float, delta: float = 0.05
) -> float:
    r"""Bound the expected loss of every ranker above its mean loss on the training queries.

    .. math:: L(f) \le \hat L(f) + 2 \hat R_n + 3 B \sqrt{\frac{\ln(2 / \delta)}{2 n}}
        \quad \text{for all } f \text{ with probability at least } 1 - \delta

    for losses between 0 and B of n independent queries. The excess loss of the minimiser
    of :math:`\hat L` over the best ranker is then at most the same plus
    :math:`B \sqrt{\ln(1 / \delta) / (2 n)}`, with probability :math:`1 - 2 \delta`.

    Parameters
    ----------
    complexity : float in [0, inf)
        :math:`\hat R_n`, see `rademacher_bound` and `l1_rademacher_bound`.
    n_queries : int in [1, inf)
        Number n of queries.
    max_loss : float in (0, inf)
        Maximum loss B of a query.
    delta : float in (0, 1), default=0.05
        Probability :math:`\delta` that the bound fails.

    Returns
    -------
    float
        The bound of :math:`L(f) - \hat L(f)`, in units of loss.

    References
    ----------
    Tewari2015, Theorem 9 and Theorem 12 (the form; the constants are derived here).

    Examples
    --------
    >>> from sklearn_rank.theory import generalization_bound, rademacher_bound
    >>> complexity = rademacher_bound(10**7, 100, max_norm=1, row_norm=1)
    >>> round(generalization_bound(complexity, 10**7, max_loss=6.6), 2)
    0.47
    """
    return 2 * complexity + 3 * max_loss * math.sqrt(math.log(2 / delta) / (2 * n_queries))
