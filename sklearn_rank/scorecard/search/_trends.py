"""The direction of each feature's marginal trend, where the data decide it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._bins.binned_features import encode
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import ALL_HERE, Groups, Sums

DECIDED = 2.576
"""Standard errors from which a trend, or a step against it, is decided (1 %, two-sided)."""

N_RANGES = 5
"""Ranges of about equal weight that are compared with each other."""


def decided_directions(data: Rows, ranker: Any, scale: float) -> list[int]:
    """Return 1, -1 or 0 for each feature: the direction of its trend, 0 where it is undecided.

    See `direction` for the rule. Categories have none; missing values and special codes are left
    out. With queries only rows of the same query are compared.

    Parameters
    ----------
    data : Rows
        The training rows.
    ranker : ranker
        Of stumps, which has validated the rows.
    scale : float
        Number of rows that a weight of one stands for.
    """
    if hasattr(data.X, "bins"):
        bins, codes = data.X.bins, data.X.codes(slice(None))
    else:
        bins = ranker.binning().find(data)
        codes = encode(data.X, np.arange(len(data.y)), bins, ThreadPool(1))
    weight, found = data.weight * scale, []
    # Without queries each process may have a part of the one list; else it has lists of its own.
    query = np.zeros(len(data.y), dtype=np.intp) if data.qid is None else data.qid
    lists, parts = (ALL_HERE, data) if data.qid is None else (data, ALL_HERE)
    for one, code in zip(bins, codes, strict=True):
        kept = code < one.n_values
        cell, cells = query[kept] * one.n_values + code[kept], np.arange(one.n_values)
        if data.qid is not None:  # a query has rows in few of the bins
            cells, cell = np.unique(cell, return_inverse=True)
        sides = (weight * ~data.y)[kept], (weight * data.y)[kept]
        sums = parts.total(np.array([np.bincount(cell, side, len(cells)) for side in sides]))
        way = direction(sums[0], sums[1], cells // one.n_values, lists)
        found.append(way if one.has_order else 0)
    return list(data.agree(found))


def direction(
    below: Floats, above: Floats, query: Indices | None = None, sums: Sums = ALL_HERE
) -> int:
    r"""Return the direction of the event rate over ordered bins: 1, -1, or 0 if it is undecided.

    It is decided where both hold:

    1. the AUC of the bins' order, of pairs of rows of one query, differs from one half by more
       than 2.576 of its standard errors under no relation,
       :math:`\sqrt{\sum_q n_{q+} n_{q-} (N_q + 1 - T_q) / 12} \, / \sum_q n_{q+} n_{q-}` with
       :math:`T_q = \sum_b (t_{qb}^3 - t_{qb}) / (N_q (N_q - 1))` for ties;
    2. of five ranges of about equal weight, by the rank within the query, no two have event rates
       that differ by more than 2.576 standard errors against the direction. Of the events of a
       range those are taken off that its queries would have in it under no relation.

    Without queries all rows are of one. Queries with a single class have no part in it.

    Parameters
    ----------
    below, above : ndarray of shape (n_bins,)
        Numbers of rows of the lower and the upper class.
    query : ndarray of shape (n_bins,), default=None
        With queries: that of each number. Those of one query stand together, in the order of its
        bins.
    sums : Sums
        Those over the processes that have other queries.
    """
    by_bin = below + above
    groups = Groups.of_runs(np.zeros(len(by_bin)) if query is None else query)
    n_below, n_above, n = (groups.reduce(np.add, one) for one in (below, above, by_bin))
    pairs, n = n_below * n_above, n.clip(1e-300)
    wins = groups.reduce(np.add, above * (groups.cumsum(below) - below / 2))
    ties = groups.reduce(np.add, (by_bin**3 - by_bin).clip(0)) / (n * (n - 1)).clip(1)
    errors = pairs * (n + 1 - ties) / 12
    middle = (groups.cumsum(by_bin) - by_bin / 2) / groups.spread(n)
    place = np.minimum((middle * N_RANGES).astype(np.intp), N_RANGES - 1)
    columns = by_bin, above, by_bin * groups.spread(n_above / n)
    ranges = [np.bincount(place, one * groups.spread(pairs > 0), N_RANGES) for one in columns]
    # One message, before any decision that rounding could turn.
    of_pairs = np.array([wins - pairs / 2, errors, pairs]).sum(axis=1)
    (excess, variance, n_pairs), ranges = sums.totals(of_pairs, np.array(ranges))
    if variance <= 1e-12 * n_pairs**2 or abs(excess) <= DECIDED * np.sqrt(variance):
        return 0
    sign = 1 if excess > 0 else -1
    weight, events, expected = ranges[:, ranges[0] > 0]
    rate, level = events / weight, (events - expected) / weight
    spread = (rate * (1 - rate)) / weight
    for first in range(len(rate)):
        against = -sign * (level[first + 1 :] - level[first])
        error = np.sqrt(spread[first] + spread[first + 1 :])
        if (against > DECIDED * error + 1e-12).any():
            return 0
    return sign
