"""Rankings of one list under a constraint on the exposure of groups."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse import csr_array, kron, vstack
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import (
    SEED,
    Choice,
    Constraint,
    Number,
    check_lengths,
    check_parameters,
    check_relevance,
)
from sklearn_rank.metrics._discounts import DISCOUNT, discounts_of
from sklearn_rank.metrics._exposure import codes_of_groups
from sklearn_rank.metrics._ranked import check_not_negative

_ROUNDING = 1e-9
"""Probabilities below this are rounding errors of the solver."""


@dataclass(frozen=True, eq=False)
class RankingPolicy:
    """Orders of one list and how often each is shown.

    Attributes
    ----------
    orders : ndarray of int of shape (n_orders, n_samples)
        Rows of the list in each order, the best first.
    weights : ndarray of shape (n_orders,)
        Probability of each order, the greatest first.
    dcg, best_dcg : float
        The expected DCG of the policy, and the DCG of the order by relevance.
    groups : ndarray of shape (n_groups,)
        The groups, sorted.
    exposure : ndarray of shape (n_groups,)
        Expected mean discount of the ranks of each group's rows.

    Examples
    --------
    >>> from sklearn_rank.metrics import fair_exposure_policy
    >>> policy = fair_exposure_policy([0.9, 0.8], ["a", "b"])
    >>> sorted(policy.orders.tolist()), policy.weights.round(2).tolist()
    ([[0, 1], [1, 0]], [0.5, 0.5])
    """

    orders: Indices
    weights: Floats
    dcg: float
    best_dcg: float
    groups: Values
    exposure: Floats
    _scores: Floats = field(repr=False)

    @property
    def probability(self) -> Floats:
        """The chance of each row at each rank, of shape (n_samples, n_samples)."""
        n = self.orders.shape[1]
        found = np.zeros((n, n))
        for weight, order in zip(self.weights, self.orders, strict=True):
            found[order, np.arange(n)] += weight
        return found

    def draw(self, random_state: Any = None) -> Floats:
        """Draw an order.

        Parameters
        ----------
        random_state : int, RandomState or None, default=None
            Seed.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores of the order: the last row has 1, each one above it 1 more.

        Examples
        --------
        >>> from sklearn_rank.metrics import fair_exposure_policy
        >>> policy = fair_exposure_policy([0.9, 0.8], ["a", "b"])
        >>> sorted(policy.draw(random_state=0).tolist())
        [1.0, 2.0]
        """
        check_parameters("draw", {"random_state": random_state}, {"random_state": SEED})
        number = check_random_state(random_state).choice(len(self.weights), p=self.weights)
        return np.array(self._scores[number])


def fair_exposure_policy(
    relevance: Any, group: Any, *, per: str = "row", ratio: float = 1.0, discount: Any = None
) -> RankingPolicy:
    r"""Find the rankings of one list with the greatest DCG whose groups have fair exposure.

    The chance :math:`P_{it}` of row i at rank t solves

    .. math:: \max_P \sum_{it} u_i P_{it} d(t) \quad \text{such that} \quad
        \frac{E_g}{m_g} \ge \rho \, \frac{E_h}{m_h} \text{ for all groups } g, h, \qquad
        E_g = \frac{1}{|g|} \sum_{i \in g} \sum_t P_{it} d(t)

    with rows and columns of P that are not negative and sum to 1, where :math:`u_i` is the
    relevance of row i, :math:`d(t) = 1 / \log_2(1 + t)` the discount, :math:`\rho` the `ratio`,
    and :math:`m_g` is 1 or, with ``per="merit"``, the mean relevance of the group. P is then
    divided into orders (Birkhoff and von Neumann). At :math:`\rho = 1` these are the paper's
    demographic parity and its equal treatment; one order alone can rarely meet them, so that each
    reader is shown one that is drawn.

    Parameters
    ----------
    relevance : array-like of shape (n_samples,)
        Relevance of the rows of one list, non-negative: expected, such as a calibrated probability,
        or a gain. Scores of a ranker have no scale on which a sum of them means anything.
    group : array-like of shape (n_samples,)
        Group of each row; any sortable kind, without missing values.
    per : {"row", "merit"}, default="row"
        "row": the mean exposure of rows is compared (demographic parity); there is always a
        solution. "merit": exposure in proportion to relevance; a ratio may be out of reach.
    ratio : float in [0, 1], default=1.0
        Least ratio of two groups' exposures. 1: equal. 0: no constraint.
    discount : callable, array-like or None, default=None
        A function, called with an array of ranks 1, 2, ..., or the discounts of these ranks; later
        ones then count 0. Not negative, positive at rank 1, and never growing with the rank. None:
        :math:`1 / \log_2(1 + t)`.

    Returns
    -------
    RankingPolicy
        ``orders`` with ``weights``, ``draw(random_state)`` and what the constraint costs:
        ``dcg``, ``best_dcg``.

    Raises
    ------
    ValueError
        When a parameter or an array is not as described, a group has no relevance with
        ``per="merit"``, or no ranking has the ratio.

    See Also
    --------
    exposure_by_group : The exposures of lists that are there.

    Notes
    -----
    The linear program has n squared unknowns: 50 rows take hundredths of a second of one
    processor, 200 rows less than half a second. Re-rank the top of a longer list. The solver
    returns a corner of the feasible set, which has few orders, two for two groups as a rule.

    References
    ----------
    Singh2018, sec. 3 and 4 (linear program, constraints and decomposition; at a ratio of 1).

    Examples
    --------
    >>> from sklearn_rank.metrics import exposure_by_group, fair_exposure_policy
    >>> relevance, group = [0.81, 0.80, 0.79, 0.78, 0.77, 0.76], list("mmmfff")
    >>> policy = fair_exposure_policy(relevance, group)
    >>> policy.exposure.round(2).tolist(), round(policy.dcg / policy.best_dcg, 3)
    ([0.55, 0.55], 0.996)
    >>> list_of_today = policy.draw(random_state=0)
    """
    given = {"per": per, "ratio": ratio, "discount": discount}
    allowed: dict[str, Constraint] = {
        "per": Choice(("row", "merit")),
        "ratio": Number(0, 1),
        "discount": DISCOUNT,
    }
    check_parameters("fair_exposure_policy", given, allowed)
    gain = check_relevance(relevance, "relevance")
    check_lengths(relevance=gain)
    check_not_negative("fair_exposure_policy", gain, "relevance")
    code, names = codes_of_groups(group, len(gain))
    seen = discounts_of("fair_exposure_policy", discount, len(gain))
    seen = np.pad(seen, (0, len(gain) - len(seen)))
    share = np.eye(len(names))[:, code] / np.bincount(code)[:, np.newaxis]
    scale = float(gain.max()) or 1.0
    compared = share if per == "row" else share / _merits(share @ (gain / scale), names)
    matrix = _solve(gain / scale, seen / seen[0], compared, float(ratio))
    orders, weights = _decompose(matrix)
    ranks = np.argsort(orders, axis=1)
    shown = np.tensordot(weights, seen[ranks], axes=1)
    best = float(np.sort(gain)[::-1] @ seen)
    scores = (len(gain) - ranks).astype(np.float64)
    return RankingPolicy(
        orders, weights, min(float(gain @ shown), best), best, names, share @ shown, scores
    )


def _merits(merit: Floats, names: Values) -> Floats:
    """Return the merit of each group, as a column."""
    if not merit.all():
        raise ValueError(
            "per='merit' of fair_exposure_policy needs a row of positive relevance in each group. "
            f"Group {names.tolist()[int(np.argmin(merit))]!r} has none."
        )
    return merit[:, np.newaxis]


def _solve(gain: Floats, seen: Floats, compared: Floats, ratio: float) -> Floats:
    """Return the chance of each row at each rank; a group's exposure is ``compared @ P @ seen``."""
    n = len(gain)
    of_rows = kron(csr_array(np.eye(n)), np.ones((1, n)))
    of_ranks = kron(np.ones((1, n)), csr_array(np.eye(n)))
    pairs = list(permutations(range(len(compared)), 2)) if ratio > 0 else []
    limits: dict[str, Any] = {}
    if pairs:
        high, low = (np.array(side) for side in zip(*pairs, strict=True))
        lack = ratio * compared[high] - compared[low]
        scale = np.abs(lack).max(axis=1, keepdims=True)  # small merits make large numbers
        of_pairs = kron(csr_array(lack / scale), seen[np.newaxis])
        limits = {"A_ub": of_pairs, "b_ub": np.zeros(len(pairs))}
    found = linprog(
        -np.outer(gain, seen).ravel(),
        A_eq=vstack([of_rows, of_ranks]),
        b_eq=np.ones(2 * n),
        bounds=(0, 1),
        method="highs-ds",
        **limits,
    )
    if found.status == 2:
        raise ValueError(
            f"No ranking has ratio={ratio:g} of fair_exposure_policy: the merits of the groups are "
            "further apart than exposures can be. Lower ratio, or set per='row'."
        )
    if not found.success:
        raise ValueError(
            f"The solver of fair_exposure_policy found no ranking: {found.message} Scale relevance "
            "to the range 0 to 1."
        )
    return np.asarray(found.x.reshape(n, n))


def _decompose(matrix: Floats) -> tuple[Indices, Floats]:
    """Return orders whose mean, with their weights, is a matrix of rows at ranks."""
    left = np.where(matrix > _ROUNDING, matrix, 0.0)
    orders, weights = [], []
    while True:
        # Of the matchings of rows with ranks that have a chance, the one with the greatest chances.
        row, rank = linear_sum_assignment(np.where(left > 0, left, -len(left)), maximize=True)
        weight = float(left[row, rank].min())
        if weight <= 0:
            break
        orders.append(row[np.argsort(rank)])
        weights.append(weight)
        left[row, rank] -= weight
        left[left <= _ROUNDING] = 0.0
    found = np.array(weights)
    by_weight = np.lexsort((np.arange(len(found)), -found.round(9)))
    found = found[by_weight]
    return np.array(orders)[by_weight], found / found.sum()
