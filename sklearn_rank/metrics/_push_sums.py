"""For each row k, the sum of a margin loss over the rows that must rank above it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank.metrics._pairwise import NO_PAIR, count_above, digits
from sklearn_rank.metrics._segments import differs, segment_cumsum, segment_scan, sort_values

BLOCK_PAIRS = 1 << 20


@dataclass(frozen=True)
class PushSums:
    """The inner sums of the p-norm push for the rows k that have a row above them.

    Attributes
    ----------
    total : ndarray
        Weight of the rows above k.
    wrong : ndarray
        Weighted sum of the losses of these pairs, divided by ``exp(log_scale)``.
    weight : ndarray
        Weight of k, or the weight of several rows of equal sums.
    log_scale : float
        Common factor, so that large exponentials don't overflow.
    """

    total: Floats
    wrong: Floats
    weight: Floats
    log_scale: float = 0.0

    def norm(self, p: float) -> float:
        """``(sum_k w_k share_k^p / sum_k w_k)^(1/p)``; the largest share at p = inf."""
        share = self.wrong / self.total
        worst = float(share.max())
        if worst == 0 or np.isinf(p):
            return worst * self._scale(1.0)
        # Relative to the largest share: its power can't underflow.
        mean = np.average((share / worst) ** p, weights=self.weight)
        return worst * float(mean) ** (1 / p) * self._scale(1.0)

    def power_sum(self, p: float) -> float:
        """``sum_k w_k sum_k^p`` as the paper has it; infinite where it overflows."""
        there = self.weight > 0  # 0 times infinity is no number
        with np.errstate(over="ignore"):
            total = float(self.weight[there] @ self.wrong[there] ** p)
        return total * self._scale(p) if total else 0.0

    def _scale(self, p: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(p * self.log_scale))


SumsOf = Callable[[Floats, Floats, "Indices | None", Floats, float], PushSums]
"""A function of relevance, scores, query, weight and margin."""


def _of_pairs(total: Floats, wrong: Floats, weight: Floats, log_scale: float = 0.0) -> PushSums:
    """Keep the rows that have a row above them."""
    has_pair = total > 0
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return PushSums(total[has_pair], wrong[has_pair], weight[has_pair], log_scale)


def zero_one_sums(
    relevance: Floats, scores: Floats, qid: Indices | None, weight: Floats, margin: float
) -> PushSums:
    """Sum ``1[f_i <= f_k + margin]``."""
    low, high = relevance.min(), relevance.max()
    is_high = relevance == high
    is_plain = qid is None and low < high and bool(np.all(weight == 1))
    if is_plain and np.count_nonzero(relevance == low) + np.count_nonzero(is_high) == len(scores):
        # Indices select faster than masks that jump to and fro.
        above, below = scores[np.flatnonzero(is_high)], scores[np.flatnonzero(~is_high)]
        return _bipartite_counts(above, below + margin if margin else below)
    counts = count_above(relevance, scores, qid, weight, margin)
    return _of_pairs(counts.total, np.minimum(counts.lower + counts.tied, counts.total), weight)


def _bipartite_counts(above: Floats, below: Floats) -> PushSums:
    """Count from the smaller class: how many of one lie between neighbours of the other.

    The sums are 0, 1, ... up to the largest there is; the weight of each is the number of
    rows below that have it. Sorted look-ups into a sorted array are cheap.
    """
    above, below = sort_values(above), sort_values(below)
    if len(above) <= len(below):
        lower = np.searchsorted(below, above, side="left")
        weight = np.empty(len(above) + 1)
        np.subtract(lower[1:], lower[:-1], out=weight[1:-1])
        weight[0], weight[-1] = lower[0], len(below) - lower[-1]
        worst = len(weight) - int(np.argmax(weight[::-1] > 0))
        wrong, weight = np.arange(float(worst)), weight[:worst]
    else:
        wrong = np.searchsorted(above, below, side="right").astype(np.float64)
        weight = np.ones(len(below))
    return PushSums(np.full(len(wrong), float(len(above))), wrong, weight)


def hinge_sums(
    relevance: Floats, scores: Floats, qid: Indices | None, weight: Floats, margin: float
) -> PushSums:
    """Sum ``max(0, 1 + margin - (f_i - f_k))`` by sorting.

    With keys t (``f_i``, and ``f_k + 1 + margin``) in sorted order, the sum grows from one
    key to the next by their distance times the weight of the rows above passed so far: sums
    of terms that are not negative, without cancellation.
    """
    total, wrong = np.zeros(len(scores)), np.zeros(len(scores))
    for digit in digits(relevance, scores, qid, 1.0 + margin):
        is_first = differs(digit.group)
        passed = segment_cumsum(weight[digit.order] * digit.is_above, is_first)
        first = np.flatnonzero(is_first)
        last = np.append(first[1:], len(scores))
        gap = np.where(is_first, 0.0, np.diff(digit.key, prepend=digit.key[:1]))
        before = np.concatenate([[0.0], passed[:-1]])
        sums = segment_cumsum(before * gap, is_first)
        below = digit.is_above == 0
        rows = digit.order[below]
        total[rows] += np.repeat(passed[last - 1], last - first)[below]
        wrong[rows] += sums[below]
    return _of_pairs(total, wrong, weight)


@dataclass(frozen=True)
class _Levels:
    """Rows sorted by query and falling relevance: the rows above one stand before its level.

    ``first[n]:level[n]`` are the rows above row n, in sorted order.
    """

    order: Indices
    first: Indices
    level: Indices
    level_starts: Indices
    total: Floats


def _levels(relevance: Floats, qid: Indices | None, weight: Floats) -> _Levels:
    query = np.zeros(len(relevance), dtype=np.intp) if qid is None else qid
    order = np.lexsort((-relevance, query))
    new_query = differs(query[order])
    is_new = new_query | differs(relevance[order])
    rows = np.arange(len(order))
    first = np.maximum.accumulate(np.where(new_query, rows, 0))
    level = np.maximum.accumulate(np.where(is_new, rows, 0))
    upto = segment_cumsum(weight[order], new_query)
    total = np.where(level > first, upto[level - 1], 0.0)
    return _Levels(order, first, level, np.flatnonzero(is_new), total)


def exponential_sums(
    relevance: Floats, scores: Floats, qid: Indices | None, weight: Floats, margin: float
) -> PushSums:
    """Sum ``exp(margin - (f_i - f_k))``: a factor of k times a sum over the rows above."""
    levels = _levels(relevance, qid, weight)
    starts = levels.level_starts
    f, w = scores[levels.order], weight[levels.order]
    lowest = np.minimum.reduceat(f, starts)
    length = np.diff(starts, append=len(f))
    mass = np.add.reduceat(w * np.exp(np.repeat(lowest, length) - f), starts)
    is_first = levels.first[starts] == starts
    of_level = segment_scan(np.logaddexp, np.log(mass) - lowest, is_first)
    before = np.where(is_first, -np.inf, np.concatenate([[0.0], of_level[:-1]]))
    log_sums = f + margin + np.repeat(before, length)
    log_scale = float(log_sums.max())
    if np.isneginf(log_scale):
        raise ValueError(NO_PAIR)
    return _of_pairs(levels.total, np.exp(log_sums - log_scale), w, log_scale)


def logistic_sums(
    relevance: Floats, scores: Floats, qid: Indices | None, weight: Floats, margin: float
) -> PushSums:
    """Sum ``log(1 + exp(margin - (f_i - f_k)))`` pair by pair, a block of pairs at a time."""
    levels = _levels(relevance, qid, weight)
    f, w = scores[levels.order], weight[levels.order]
    rows = np.flatnonzero(levels.level > levels.first)
    if not len(rows):
        raise ValueError(NO_PAIR)
    first, n_above = levels.first[rows], (levels.level - levels.first)[rows]
    upto = np.cumsum(n_above)
    wrong, start = np.zeros(len(f)), 0
    while start < len(rows):
        done = upto[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(upto, done + BLOCK_PAIRS, side="right")))
        counts = n_above[start:stop]
        offset = np.cumsum(counts) - counts
        i = np.arange(int(counts.sum())) + np.repeat(first[start:stop] - offset, counts)
        shift = np.repeat(f[rows[start:stop]] + margin, counts)
        losses = w[i] * np.logaddexp(0.0, shift - f[i])
        wrong[rows[start:stop]] = np.add.reduceat(losses, offset)
        start = stop
    return _of_pairs(levels.total, wrong, w)


PUSH_SUMS: dict[str, SumsOf] = {
    "zero_one": zero_one_sums,
    "exponential": exponential_sums,
    "logistic": logistic_sums,
    "hinge": hinge_sums,
}
