"""Equal rows as one row with their summed weight, in an order that does not depend on the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, Indices, Values, blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.selected import Selection
from sklearn_rank._core.sums import Sums, starts_run

_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)


def distinct_rows(
    code: Codes, y: Values, qid: Indices | None, weight: Floats
) -> tuple[Indices, Floats, Indices | None, Indices]:
    """Return the first of each set of equal rows, the summed weights, and codes of queries.

    And the set that each row is in.

    Rows are equal when their features, of which `code` is the hash, relevance and query are.
    They come by query and
    falling relevance, and inside by a hash of the features; queries come by the smallest
    hash in them. So the order of the input and the names of the queries have no part in it.
    Rows with one hash of 64 bits count as equal; of a million different rows two have one
    with a probability of 3e-8.
    """
    if not len(y):  # other processes have all the rows
        nothing = np.zeros(0, dtype=np.intp)
        return nothing, weight, qid, nothing
    qid = None if qid is None else _by_smallest(qid, code)
    by_code = np.argsort(code, kind="stable")
    codes = None if qid is None else qid[by_code]
    preferences = Preferences.from_labels(y[by_code], codes, weight[by_code])
    order = by_code[preferences.order]
    is_first = starts_run(code[order])
    is_first[preferences.segments.start] = True
    first = np.flatnonzero(is_first)
    rows, place = order[first], np.empty(len(y), dtype=np.intp)
    place[order] = np.cumsum(is_first) - 1
    weight = np.add.reduceat(preferences.weight, first)
    return rows, weight, None if qid is None else qid[rows], place


def equal_as_one(rows: Indices, code: Codes, weight: Floats) -> tuple[Indices, Codes, Floats]:
    """Return one of some rows for each code, the rising codes, and the summed weights."""
    rows = rows[np.argsort(code[rows], kind="stable")]
    code = code[rows]
    first = np.flatnonzero(starts_run(code))
    total = np.add.reduceat(weight[rows], first) if len(first) else weight[:0]
    return rows[first], code[first], total


def least_codes(code: Codes, size: int) -> Codes:
    """Return the smallest distinct codes, rising: `size` of them, if there are as many."""
    least = np.zeros(0, dtype=np.uint64)
    for part in blocks(len(code), max(size, SMALL_BLOCK)):  # a sort of all takes much memory
        new = code[part]
        if len(least) == size:
            new = new[new < least[-1]]
        least = np.unique(np.concatenate([least, new]))[:size]
    return least


def _by_smallest(qid: Indices, code: Codes) -> Indices:
    """Return query codes that rise with the smallest code of a row of each query."""
    smallest = np.full(int(qid.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(smallest, qid, code)
    return np.argsort(np.argsort(smallest, kind="stable"))[qid]


def number_of_rows(weight: Floats, sums: Sums | None = None) -> float:
    """Return how many rows the weights of distinct rows stand for.

    That is their total weight, or their effective number where weights below one make that
    the larger: weights of 1/n of n rows stand for n rows. With `sums`, of all processes.
    """
    sums = sums or Sums()
    largest = sums.largest(float(weight.max(initial=0.0)))
    parts = weight / largest
    total, squares = sums.totals(float(parts.sum()), float(parts @ parts))
    return float(max(largest * total, total**2 / squares))


def effective_rows(weight: Floats) -> float:
    r"""Return how many rows drawn at random tell as much as weighted rows that are not merged.

    Whole weights are counts: their total. Others can't be: Kish's effective number
    :math:`(\sum w)^2 / \sum w^2`, whatever their unit. With it the estimated variance of a
    weighted mean is unbiased where the weights tell nothing of the values.
    """
    if (weight == np.floor(weight)).all():
        return float(weight.sum())
    parts = weight / weight.max()
    return float(parts.sum() ** 2 / (parts @ parts))


def hash_rows(X: Any) -> Codes:
    """Return a code of 64 bits for each row; rows with equal values have equal codes.

    A sum over the features, modulo 2**64, in which zeros have no part: a sparse matrix has
    the codes of the dense one.
    """
    if isinstance(X, Selection):
        code = hash_rows(X.matrix)
        return code if X.rows is None else code[X.rows]
    # A random odd number for each feature.
    factors = 2 * np.random.default_rng(0).integers(1 << 63, size=X.shape[1], dtype=np.uint64) + 1
    if issparse(X):
        terms = _mixed(X.data + 0.0) * factors[X.indices]
        running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return running[X.indptr[1:]] - running[X.indptr[:-1]]
    # Bins count from zero, which would have no part; and zero plus zero is zero for minus zero.
    rows, first = (X.numbers, 1.0) if hasattr(X, "bins") else (X, 0.0)
    code = np.empty(X.shape[0], dtype=np.uint64)
    for block in blocks(len(code), 1 + SMALL_BLOCK // (1 + X.shape[1])):
        np.einsum("ij,j->i", _mixed(rows[block] + first), factors, out=code[block])
    return code


def _mixed(values: Floats) -> Codes:
    """Return the bits of floats, mixed so that each depends on the others; zero stays zero.

    Without it, products of numbers with few digits would differ in few bits. In place.
    """
    is_nan = np.isnan(values)
    if is_nan.any():
        values[is_nan] = np.nan
    bits = values.view(np.uint64)
    for shift in (32, 29):
        bits ^= bits >> np.uint64(shift)
        bits *= _MULTIPLIER
    bits ^= bits >> np.uint64(32)
    return bits
