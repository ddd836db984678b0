"""Equal rows as one row with their summed weight, in an order that does not depend on the input."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, Indices, Values, blocks
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.selected import Selection
from sklearn_rank._core.sums import Sums, starts_run

_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)

_LIGHT = 0.01
"""Share of the weight up to which rows with the same features are held out together."""

_MOST_COPIES = 1_000_000
"""Copies of rows dealt among folds; where there are more, each stands for several."""


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


class Dealing(NamedTuple):
    """How distinct rows are dealt among folds, so that those held out are as new rows are.

    Rows with the same features are held out together, whatever their relevance: if those of one
    relevance were held out alone, the others would teach the opposite. Where such features, of
    several relevances, have more than a hundredth of all weight they would be too many for that:
    copies are dealt one by one.

    Attributes
    ----------
    copies : ndarray of shape (n_distinct,)
        How many copies of a row are dealt: 1, or as many as its weight says, and at least the rows
        that it stands for.
    first : ndarray of shape (n_distinct,)
        The row whose fold a row with one copy takes: of rows with the same features that of the
        rarest relevance, whose rows must not all come to be in one fold by chance.
    """

    copies: Indices
    first: Indices

    @classmethod
    def of(cls, code: Codes, y: Values, weight: Floats, n_rows: Indices | int = 1) -> Dealing:
        """Return how rows are dealt, given hashes of their features."""
        _, level, n_of_level = np.unique(y, return_inverse=True, return_counts=True)
        order = np.argsort(n_of_level[level], kind="stable")
        _, first = np.unique(code[order], return_index=True)
        _, place, n_relevances = np.unique(code, return_inverse=True, return_counts=True)
        of_features = np.bincount(place, weight)
        is_dealt = ((n_relevances > 1) & (of_features > _LIGHT * weight.sum()))[place]
        unit = max(1.0, float(weight[is_dealt].sum()) / _MOST_COPIES)
        copies = np.where(is_dealt, np.maximum(weight // unit, n_rows), 1.0).astype(np.intp)
        return cls(copies, np.where(is_dealt, np.arange(len(code)), order[first][place]))

    def whole(self, fold: Indices) -> Indices:
        """Return the folds of copies, after those of rows that are held out together."""
        start, found = np.cumsum(self.copies) - self.copies, fold.copy()
        found[start] = fold[start[self.first]]
        return found


def weight_before(place: Indices, weight: Floats) -> Floats:
    """Return the weight of the rows of the same set that come before each row."""
    order = np.argsort(place, kind="stable")
    before = np.cumsum(weight[order]) - weight[order]
    first = np.flatnonzero(starts_run(place[order]))
    found = np.empty(len(place))
    found[order] = before - np.repeat(before[first], np.diff(np.append(first, len(place))))
    return found


def divide_among_folds(
    place: Indices, weight: Floats, before: Floats, total: Floats, copies: Indices, fold: Indices
) -> tuple[Indices, Floats, Indices]:
    """Divide rows as the copies of distinct rows have been dealt among folds.

    The copies of a distinct row, sorted by fold, have its total weight in equal parts; its rows
    take theirs in the order of their own.

    Parameters
    ----------
    place, weight, before : ndarray of shape (n_rows,)
        The distinct row that each row is, its weight, and that of its equals before it.
    total, copies : ndarray of shape (n_distinct,)
        Weight of the distinct rows, and the number of their copies.
    fold : ndarray of shape (n_copies,)
        Fold of each copy; those of a distinct row follow one another.

    Returns
    -------
    tuple of (ndarray, ndarray, ndarray)
        The row that each part is of, its weight and its fold.
    """
    n_folds = int(fold.max()) + 1
    source = np.repeat(np.arange(len(total)), copies)
    part, size = np.unique(source * n_folds + fold, return_counts=True)
    source, fold = np.divmod(part, n_folds)
    heavy = size * total[source] / copies[source]
    end = weight_before(source, heavy) + heavy
    # Where a copy stands for several rows, it is for whole ones: counts stay counts.
    end = np.where(((copies < total) & (total == np.floor(total)))[source], np.rint(end), end)
    start = np.where(starts_run(source), 0.0, np.roll(end, 1))
    n_parts = np.bincount(source)
    each = n_parts[place]
    rows, first = np.repeat(np.arange(len(place)), each), np.searchsorted(source, place)
    parts = np.arange(len(rows)) + np.repeat(first - np.cumsum(each) + each, each)
    found = np.minimum((before + weight)[rows], end[parts]) - np.maximum(before[rows], start[parts])
    found = np.where(each[rows] == 1, weight[rows], found)
    kept = found > 1e-9 * weight[rows]
    return rows[kept], found[kept], fold[parts[kept]]


def hash_rows(X: Any) -> Codes:
    """Return a code of 64 bits for each row; rows with equal values have equal codes.

    A sum over the features, modulo 2**64, in which zeros have no part: a sparse matrix has
    the codes of the dense one.
    """
    if isinstance(X, Selection):
        code = hash_rows(X.matrix)
        return code if X.rows is None else code[X.rows]
    if hasattr(X, "row_codes"):  # their values were hashed when they were read
        return np.asarray(X.row_codes)
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
