"""A sample of distinct rows in which each stands for its share of the weight."""

from __future__ import annotations

import numpy as np

from sklearn_rank._arrays import Codes, Floats, Indices, Mask
from sklearn_rank.rows.sums import ALL_HERE, Sums, starts_run

_KEPT_BITS = 52
"""Bits of a code that make a float strictly between 0 and 1."""

_LOST_BITS = np.uint64(64 - _KEPT_BITS)

_LAST_SLOT = np.uint64((1 << 20) - 1)
"""Rows with the same last bits of their codes are in one slot."""

_MARGIN = 1 + 1e-9
"""Sums of the same weights in another order round differently."""


def priority_sample(
    code: Codes, weight: Floats, size: int, sums: Sums = ALL_HERE
) -> tuple[Indices, Floats]:
    r"""Return a sample of distinct rows without replacement, and the weights they stand for.

    Its hash gives row i a number :math:`u_i` between 0 and 1. Taken are the `size` rows with the
    smallest :math:`q_i = u_i / w_i`. With :math:`\tau` the smallest :math:`q_i` that is left out,
    a row in the sample stands for the weight :math:`\max(w_i, 1 / \tau)`: the sum of these over a
    set of rows is an unbiased estimate of the weight of the set. A row of weight
    :math:`1 / \tau` or more is surely in the sample.

    Equal rows, those with one code, are first merged to one row with their summed weight. So a row
    of weight 2 is treated as the row twice, and neither the order of the rows nor their division
    over processes has a part in the sample.

    Parameters
    ----------
    code : ndarray of shape (n_rows,)
        Hash of each row, of 64 bits.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    size : int
        Number of rows to take; with as many distinct rows or fewer all are taken, with their own
        weights.
    sums : Sums
        Sums over all rows.

    Returns
    -------
    rows : ndarray of shape (n_sampled,)
        Positions of the sampled rows that this process holds, by rising code. Of equal rows on
        several processes the first one has it.
    weight : ndarray of shape (n_sampled,)
        The weights they stand for.

    References
    ----------
    Duffield2007 (priority sampling).
    """
    collective = sums.collective
    rank, n_processes = (0, 1) if collective is None else (collective.rank, collective.size)
    # Of a row that is light here, others may hold more.
    rows, code, weight = _merged(code, weight, size if collective is None else len(code))
    own = _uniform(code) / weight
    limit = _first_left_out(own, size)
    # Twice, since a row whose weight lies on n processes has on one of them a number that is at
    # most n times that of its whole weight.
    for _ in range(min(n_processes, 2)):
        known = np.sort(sums.concat(code[own <= limit]))
        known = known[starts_run(known)]
        place, is_known = _find(known, code)
        total = np.zeros(len(known))
        total[place] = weight[is_known]
        total = np.asarray(sums.total(total))
        priority = _uniform(known) / total
        threshold = _first_left_out(priority, size)
        limit = n_processes * threshold
    stands_for = np.zeros(len(known))
    taken = np.argsort(priority, kind="stable")[:size]
    stands_for[taken] = np.maximum(total[taken], 1 / threshold)
    holder = np.full(len(known), np.inf)
    holder[place] = rank
    is_here = np.asarray(sums.smallest(holder))[place] == rank
    is_here &= stands_for[place] > 0
    return rows[is_known][is_here], stands_for[place][is_here]


def _merged(code: Codes, weight: Floats, size: int) -> tuple[Indices, Codes, Floats]:
    """Return one row of each code, the rising codes, and the summed weights.

    Of many rows only some, among which are the `size` + 1 with the smallest numbers.
    """
    place = size + size // 4
    if place < len(code):
        uniform = _uniform(code)
        limit = float(np.partition(uniform / weight, place)[place])
        # Equal rows have one slot, which weighs what they weigh together, or more.
        slot = (code & _LAST_SLOT).view(np.intp)
        heaviest = np.bincount(slot, weight)[slot]
        some = _equal_as_one(np.flatnonzero(uniform / heaviest <= limit * _MARGIN), code, weight)
        if np.count_nonzero(_uniform(some[1]) / some[2] <= limit) > size:
            return some
    return _equal_as_one(np.arange(len(code)), code, weight)


def _equal_as_one(rows: Indices, code: Codes, weight: Floats) -> tuple[Indices, Codes, Floats]:
    """Return one of some rows for each code, the rising codes, and the summed weights."""
    rows = rows[np.argsort(code[rows])]
    code = code[rows]
    first = np.flatnonzero(starts_run(code))
    total = np.add.reduceat(weight[rows], first) if len(first) else weight
    return rows[first], code[first], total


def _find(known: Codes, code: Codes) -> tuple[Indices, Mask]:
    """Return the places in `known` of those codes that are there, and which these are."""
    if not len(known):
        return np.zeros(0, dtype=np.intp), np.zeros(len(code), dtype=bool)
    place = np.searchsorted(known, code)
    is_known = known[np.minimum(place, len(known) - 1)] == code
    return place[is_known], is_known


def _uniform(code: Codes) -> Floats:
    """Return codes as numbers strictly between 0 and 1."""
    return np.ldexp((code >> _LOST_BITS).astype(np.float64) + 0.5, -_KEPT_BITS)


def _first_left_out(priority: Floats, size: int) -> float:
    """Return the smallest number but `size`; inf where there are no more."""
    return float(np.partition(priority, size)[size]) if len(priority) > size else np.inf
