"""Exposure of groups of rows in ranked lists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import check_names, check_parameters, check_qid
from sklearn_rank.metrics._discounts import DISCOUNT, discounts_of
from sklearn_rank.metrics._ranked import (
    CUT_OFF,
    RankedQueries,
    check_not_negative,
    check_weight_of_queries,
    divide,
    rank_queries,
)


@dataclass(frozen=True, eq=False)
class GroupExposure:
    """Exposure of groups, one entry for each group in the order of `groups`.

    Of a group whose rows all have the query weight 0 nothing is known: its figures are NaN.

    Attributes
    ----------
    groups : ndarray of shape (n_groups,)
        The groups, sorted.
    reference : object
        The group that the others are compared with.
    n_rows : ndarray of shape (n_groups,)
        Number of rows; with `query_weight` their weight.
    exposure : ndarray of shape (n_groups,)
        Mean discount of the ranks of the group's rows.
    merit : ndarray of shape (n_groups,)
        Mean relevance of the group's rows.
    impact : ndarray of shape (n_groups,)
        Mean product of relevance and discount: the clicks that a row gets, up to a factor.
    exposure_ratio : ndarray of shape (n_groups,)
        Exposure over that of the reference; demographic parity of exposure is 1.
    treatment_ratio : ndarray of shape (n_groups,)
        Exposure per merit over that of the reference; NaN where there is no merit.
    impact_ratio : ndarray of shape (n_groups,)
        Impact per merit over that of the reference; NaN where there is no merit.

    Examples
    --------
    >>> from sklearn_rank.metrics import exposure_by_group
    >>> found = exposure_by_group([1, 1, 1, 1], [4, 3, 2, 1], ["a", "a", "b", "b"])
    >>> found.reference, found.exposure_ratio.round(2).tolist()
    ('a', [1.0, 0.57])
    """

    groups: Values
    reference: Any
    n_rows: Floats
    exposure: Floats
    merit: Floats
    impact: Floats
    exposure_ratio: Floats
    treatment_ratio: Floats
    impact_ratio: Floats


def exposure_by_group(
    y_true: Any,
    y_score: Any,
    group: Any,
    *,
    k: int | None = None,
    discount: Any = None,
    qid: Any = None,
    query_weight: Any = None,
    reference: Any = None,
) -> GroupExposure:
    r"""Compare the exposure of groups of rows in ranked lists.

    .. math:: E_g = \frac{1}{|g|} \sum_{i \in g} d(\mathrm{rank}_i), \qquad
        U_g = \frac{1}{|g|} \sum_{i \in g} y_i, \qquad
        C_g = \frac{1}{|g|} \sum_{i \in g} y_i \, d(\mathrm{rank}_i), \qquad
        d(t) = \frac{1}{\log_2(1 + t)}

    .. math:: \text{exposure ratio}_g = \frac{E_g}{E_r}, \qquad
        \text{treatment ratio}_g = \frac{E_g / U_g}{E_r / U_r}, \qquad
        \text{impact ratio}_g = \frac{C_g / U_g}{C_r / U_r}

    where i runs over the :math:`|g|` rows of group g in all queries, :math:`y_i` is the relevance
    and :math:`\mathrm{rank}_i` the rank of row i in its query, d the discount, the chance that a
    reader sees a rank, up to a factor, and r the reference group. Of one query they are those of
    the paper; of several, sums over all are divided, so that a query without rows of a group is no
    problem. A tied row gets the mean discount of the ranks of its tie, the mean over the orders.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance, non-negative. It does not enter the exposure.
    y_score : array-like of shape (n_samples,)
        Scores, greater is better. Infinite scores are allowed, NaN is not.
    group : array-like of shape (n_samples,)
        Group of each row; any sortable kind, without missing values.
    k : int >= 1 or None, default=None
        Cut-off: later ranks have no exposure. None: all have.
    discount : callable, array-like or None, default=None
        A function, called with an array of ranks 1, 2, ..., or the discounts of these ranks; later
        ones then count 0. Not negative, positive at rank 1, and never growing with the rank. None:
        :math:`1 / \log_2(1 + t)`.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    query_weight : dict, array-like of shape (n_samples,) or None, default=None
        How often each query counts: a dict with query ids as keys, or one number for each row, the
        same in all rows of a query. None: once.
    reference : object, default=None
        The group that the others are compared with. None: the one with the greatest exposure.

    Returns
    -------
    GroupExposure
        An array for each figure, and ``reference``.

    Raises
    ------
    ValueError
        When the reference is not among the groups, or a parameter is not allowed.

    See Also
    --------
    fair_exposure_policy : Rankings whose exposures have at least a ratio.

    Notes
    -----
    The figures describe the lists; they don't say why groups differ. An exposure ratio far from 1
    may follow from relevance: the treatment ratio allows for it as far as `y_true` is right for
    each group.

    References
    ----------
    Singh2018, sec. 3.2 and 4 (exposure, demographic parity, disparate treatment and impact).

    Examples
    --------
    Relevances that hardly differ, and exposures that do:

    >>> from sklearn_rank.metrics import exposure_by_group
    >>> relevance = [0.81, 0.80, 0.79, 0.78, 0.77, 0.76]
    >>> found = exposure_by_group(relevance, relevance, ["m", "m", "m", "f", "f", "f"])
    >>> found.groups.tolist(), found.merit.round(2).tolist(), found.exposure.round(2).tolist()
    (['f', 'm'], [0.77, 0.8], [0.39, 0.71])
    >>> found.treatment_ratio.round(2).tolist()
    [0.57, 1.0]
    """
    given = {"k": k, "discount": discount}
    check_parameters("exposure_by_group", given, {"k": CUT_OFF, "discount": DISCOUNT})
    weight = check_weight_of_queries("exposure_by_group", query_weight, qid, y_true, "mean")
    ranked = rank_queries(y_true, y_score, qid)
    check_not_negative("exposure_by_group", ranked.relevance)
    code, names = codes_of_groups(group, len(ranked.relevance))
    discounts = discounts_of("exposure_by_group", discount, ranked.depth(k))
    seen = _mean_discounts(ranked, discounts)
    times = ranked.query_rows.spread(np.ones(len(ranked.n_relevant)) if weight is None else weight)
    times = times / times.max()

    def of_groups(values: Floats) -> Floats:
        return np.asarray(np.bincount(code[ranked.order], times * values, len(names)), np.float64)

    n_rows = of_groups(np.ones(len(times)))
    largest = float(ranked.relevance.max()) or 1.0
    relevance = ranked.relevance / largest
    sums = [of_groups(values) for values in (seen, relevance, relevance * seen)]
    exposure, merit, impact = (_quotient(values, n_rows) for values in sums)
    figures = exposure, _quotient(exposure, merit), _quotient(impact, merit)
    place = _reference(names, exposure, reference)
    unit = 1.0 if weight is None else float(weight.max())
    return GroupExposure(
        names,
        names.tolist()[place],
        n_rows * unit,
        exposure,
        merit * largest,
        impact * largest,
        *(_quotient(one, np.full(len(one), one[place])) for one in figures),
    )


def codes_of_groups(group: Any, n_rows: int) -> tuple[Indices, Values]:
    """Return the group of each row as a code, and the groups in the order of the codes."""
    code = check_qid(group, n_rows, "group")
    first = np.unique(code, return_index=True)[1]
    return code, check_names(group, "group")[first]


def _mean_discounts(ranked: RankedQueries, discount: Floats) -> Floats:
    """Return the mean discount of the ranks that the tie of each sorted row takes."""
    upto = np.concatenate([[0.0], np.cumsum(discount)])
    first = np.minimum(ranked.before, len(discount))
    last = np.minimum(ranked.before + ranked.ties.length, len(discount))
    of_ties = (upto[last] - upto[first]) / ranked.ties.length
    alone = (ranked.ties.length == 1) & (ranked.before < len(discount))
    of_ties[alone] = discount[ranked.before[alone]]
    return np.asarray(ranked.ties.spread(of_ties))


def _reference(names: Values, exposure: Floats, reference: Any) -> int:
    """Return the place of the reference among the groups."""
    if reference is None:
        return int(np.nanargmax(exposure))
    groups = names.tolist()
    if reference not in groups:
        raise ValueError(
            f"reference of exposure_by_group must be one of the groups {groups}. Got {reference!r}."
        )
    return groups.index(reference)


def _quotient(numerator: Floats, denominator: Floats) -> Floats:
    """Divide; NaN where the denominator is 0."""
    return np.where(denominator > 0, divide(numerator, denominator), np.nan)
