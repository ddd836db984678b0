"""A sample of distinct rows in which each stands for its share of the weight."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, Indices, Mask, blocks
from sklearn_rank._core.sums import ALL_HERE, Sums, starts_run

_KEPT_BITS = 52
"""Bits of a code that make a float strictly between 0 and 1."""

_LOST_BITS = np.uint64(64 - _KEPT_BITS)

_N_SLOTS = 1 << 20
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
    rows, own_code, own_weight = _merged(code, weight, size, n_processes)
    own = _uniform(own_code) / own_weight
    limit = _first_left_out(own, size)
    if n_processes == 1:  # else a row that is light here, of which others may hold more, counts
        code, weight = own_code, own_weight
    # Twice, since a row whose weight lies on n processes has on one of them a number that is at
    # most n times that of its whole weight.
    for _ in range(min(n_processes, 2)):
        known = np.sort(sums.concat(own_code[own <= limit]))
        known = known[starts_run(known)]
        place, total = _find(known, code, weight)
        total = np.asarray(sums.total(total))
        priority = _uniform(known) / total
        threshold = _first_left_out(priority, size)
        limit = n_processes * threshold
    stands_for = np.zeros(len(known))
    taken = np.argsort(priority, kind="stable")[:size]
    stands_for[taken] = np.maximum(total[taken], 1 / threshold)
    holder = np.where(place >= 0, rank, np.inf)
    is_here = (np.asarray(sums.smallest(holder)) == rank) & (place >= 0) & (stands_for > 0)
    place = place[is_here]
    return rows[place] if n_processes == 1 else place, stands_for[is_here]


def _merged(code: Codes, weight: Floats, size: int, n: int) -> tuple[Indices, Codes, Floats]:
    """Return one row of each code, the rising codes, and the summed weights.

    Of many rows only some, among which are all whose number is at most n times the smallest but
    `size`, where n is the number of processes.
    """
    place = size + size // 4
    if place * n < len(code):
        limit = _first_left_out(_uniform(code) / weight, place)
        # Equal rows have one slot, which weighs what they weigh together, or more.
        slots, most = np.bincount(_slot(code), weight, _N_SLOTS), n * limit * _MARGIN
        light = _where(lambda at: _uniform(code[at]) / slots[_slot(code[at])] <= most, len(code))
        some = equal_as_one(light, code, weight)
        if np.count_nonzero(_uniform(some[1]) / some[2] <= limit) > size:
            return some
    return equal_as_one(np.arange(len(code)), code, weight)


def equal_as_one(rows: Indices, code: Codes, weight: Floats) -> tuple[Indices, Codes, Floats]:
    """Return one of some rows for each code, the rising codes, and the summed weights."""
    rows = rows[np.argsort(code[rows])]
    code = code[rows]
    first = np.flatnonzero(starts_run(code))
    total = np.add.reduceat(weight[rows], first) if len(first) else weight
    return rows[first], code[first], total


def _find(known: Codes, code: Codes, weight: Floats) -> tuple[Indices, Floats]:
    """Return the place of each known code, -1 where there is none, and its summed weight."""
    is_taken = np.zeros(_N_SLOTS, dtype=bool)
    is_taken[_slot(known)] = True
    found = _where(lambda at: is_taken[_slot(code[at])], len(code))
    which = np.searchsorted(known, code[found])
    is_known = known[np.minimum(which, len(known) - 1)] == code[found]
    found, which = found[is_known], which[is_known]
    place = np.full(len(known), -1)
    place[which] = found
    return place, np.bincount(which, weight[found], len(known)).astype(np.float64)


def _where(is_it: Callable[[slice], Mask], n_rows: int) -> Indices:
    """Return the rows for which a function is true, which is asked for some at a time."""
    parts = blocks(n_rows, SMALL_BLOCK)  # arrays as long as all rows take much memory
    found = [part.start + np.flatnonzero(is_it(part)) for part in parts]
    return np.concatenate([np.zeros(0, dtype=np.intp), *found])


def _slot(code: Codes) -> Indices:
    """Return the slot of each code."""
    return (code & np.uint64(_N_SLOTS - 1)).view(np.intp)


def _uniform(code: Codes) -> Floats:
    """Return codes as numbers strictly between 0 and 1."""
    return np.ldexp((code >> _LOST_BITS).astype(np.float64) + 0.5, -_KEPT_BITS)


def _first_left_out(priority: Floats, size: int) -> float:
    """Return the smallest number but `size`; inf where there are no more."""
    return float(np.partition(priority, size)[size]) if len(priority) > size else np.inf
