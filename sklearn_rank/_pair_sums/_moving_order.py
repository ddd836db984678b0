"""The order of rows that move: a boosting round adds one step to the scores of some of them."""

from __future__ import annotations

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._pair_sums._packed_sort import sort_with_order

_SAMPLE = 1000
"""Rows by which it is found whether there are only two steps."""

_ROUNDING = 1e-6
"""Share of the difference of both steps by which a step may be rounded."""


class MovingOrder:
    """Sorts numbers, starting from the order that it found last.

    Where each number has moved by one of two steps, those of either step are still in order, and
    two runs are merged at a seventh of the price of a sort. Anything else is sorted anew.

    Parameters
    ----------
    threads : ThreadPool, optional
        Threads that share the merge.
    """

    def __init__(self, threads: ThreadPool | None = None) -> None:
        self.threads = threads or ThreadPool()
        self._last: tuple[Floats, Floats, Indices] | None = None

    def __call__(self, x: Floats) -> tuple[Floats, Indices]:
        """Return finite numbers sorted, and the order that sorts them; x is kept, not modified."""
        last, found = self._last, None  # read once: threads may share this
        if last is not None and len(last[0]) == len(x):
            before, values, order = last
            if np.array_equal(before, x):
                return values, order
            if (is_far := _two_steps(before, x)) is not None:
                found = _merged(x, order, is_far, self.threads)
        if found is None:
            found = sort_with_order(x)
        self._last = (x, *found)
        return found


def _two_steps(before: Floats, x: Floats) -> Mask | None:
    """Return which rows moved by the larger of two steps; None where there are more than two."""
    step = x - before
    low, high = float(step.min()), float(step.max())
    width = high - low
    sample = step[:: max(len(step) // _SAMPLE, 1)]
    if not (np.minimum(sample - low, high - sample) <= _ROUNDING * width).all():
        return None
    return np.asarray(step > low + width / 2)


def _merged(x: Floats, order: Indices, is_far: Mask, threads: ThreadPool) -> tuple[Floats, Indices]:
    """Return x sorted, and its order, given an order that sorts both parts of it."""
    is_far = is_far.take(order, mode="clip")
    runs = [order.take(np.flatnonzero(part), mode="clip") for part in (~is_far, is_far)]
    values = [x.take(run, mode="clip") for run in runs]
    cuts = _cuts(values, threads.size)
    start = cuts.sum(axis=1)
    found, merged = np.empty(len(x)), np.empty(len(x), dtype=order.dtype)

    def merge(number: int) -> None:
        parts = [slice(*ends) for ends in cuts[number : number + 2].T.tolist()]
        some = np.concatenate([one[part] for one, part in zip(values, parts, strict=True)])
        rows = np.concatenate([run[part] for run, part in zip(runs, parts, strict=True)])
        # A stable sort finds runs that are in order, and merges them.
        place, out = some.argsort(kind="stable"), slice(*start[number : number + 2].tolist())
        some.take(place, out=found[out], mode="clip")
        rows.take(place, out=merged[out], mode="clip")

    threads.map(merge, len(cuts) - 1)
    inner = start[1:-1]
    if (found[inner] < found[inner - 1]).any():  # rounding has changed the order of a run
        place = found.argsort(kind="stable")
        found, merged = found[place], merged[place]
    return found, merged


def _cuts(runs: list[Floats], n_parts: int) -> Indices:
    """Return where to cut runs into parts of like size, each below the next.

    Shape (n_parts + 1, n_runs).
    """
    longest = max(runs, key=len)
    values = longest[len(longest) * np.arange(1, n_parts) // n_parts]
    inner = np.stack([np.searchsorted(run, values) for run in runs], axis=1)
    ends = np.array([len(run) for run in runs])
    return np.maximum.accumulate(np.vstack([np.zeros_like(ends), inner, ends]))
