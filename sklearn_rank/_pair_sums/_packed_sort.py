"""Sorting of numbers whose order is wanted too, by packed integers."""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats, Indices

_TINY = 2.0**-20
"""Share of the range: where half of the numbers lie in less, most buckets would be empty."""

_FEW = 1 << 14
"""Up to so many numbers `numpy.argsort` is as fast."""


def sort_with_order(x: Floats) -> tuple[Floats, Indices]:
    """Return finite numbers sorted, and the order that sorts them.

    Each number is rounded down to one of equal buckets, and the number of the bucket packed with
    the position into one integer: NumPy sorts integers faster than it finds an
    order. What shares a bucket and is out of order is sorted once more.
    """
    order = np.argsort(x) if len(x) <= _FEW else None
    if order is None and (packed := _packed(x)) is not None:
        packed.sort()
        bits = _position_bits(len(x))
        order = (packed & ((1 << bits) - 1)).view(np.int64)
        # The mode spares a check of the bounds, through a buffer.
        found = x.take(order, mode="clip")
        is_wrong = found[1:] < found[:-1]
        if is_wrong.any():
            rows = _of_buckets(packed >> bits, is_wrong)
            order[rows] = order[rows][np.argsort(found[rows])]
            found[rows] = x[order[rows]]
        return found, order
    order = np.argsort(x) if order is None else order
    return x[order], order


def _position_bits(n: int) -> int:
    """Return the number of binary digits of the positions below n."""
    return max(n - 1, 1).bit_length()


def _packed(x: Floats) -> np.ndarray | None:
    """Return the bucket of each number, followed by its position; None when all would share one.

    The buckets are equally wide, or, where half of the numbers lie in a tiny part of the range,
    narrower towards the median.
    """
    bits, low = _position_bits(len(x)), float(x.min())
    sample = np.sort(x[:: max(1, len(x) // 1000)])
    low_quarter, median, high_quarter = sample[len(sample) * np.arange(1, 4) // 4]
    with np.errstate(over="ignore", divide="ignore"):
        length = np.float64(x.max()) - low
        # A little less than there are buckets: rounding must not reach beyond the last.
        scale = 2.0 ** (64 - bits) * (1 - 2.0**-40) / length
    if not 0 < scale < np.inf:
        return None
    is_even = high_quarter - low_quarter > _TINY * length
    packed = np.arange(len(x), dtype=np.uint64)
    for some in blocks(len(x)):
        if is_even:
            place = x[some] - low
            place *= scale
            bucket = place.astype(np.uint64)  # rounded down
        else:
            bucket = _as_integers(x[some] - median) >> np.uint64(bits)
        bucket <<= np.uint64(bits)
        packed[some] |= bucket
    return packed


def _as_integers(x: Floats) -> np.ndarray:
    """Return integers in the order of some floats: their digits, of negative ones the others."""
    digits = x.view(np.int64)
    digits ^= (digits >> 63) & np.int64(2**63 - 1)
    return digits.view(np.uint64) ^ np.uint64(2**63)


def _of_buckets(bucket: Indices, is_wrong: np.ndarray) -> Indices:
    """Return the places of all buckets in which a number follows a larger one."""
    first = np.flatnonzero(np.concatenate([[True], bucket[1:] != bucket[:-1]]))
    number = np.unique(np.searchsorted(first, np.flatnonzero(is_wrong), "right") - 1)
    length = np.append(first[1:], len(bucket))[number] - first[number]
    start = np.cumsum(length) - length
    return np.repeat(first[number] - start, length) + np.arange(int(length.sum()))
