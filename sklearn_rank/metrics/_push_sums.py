"""For each row k, the sum of a margin loss over the rows above it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats
from sklearn_rank._pair_sums import ExponentialSums, MarginLoss, PairLoss, as_margin_loss
from sklearn_rank.metrics.pair_counts import LIGHTEST_PAIRS, NO_PAIR, TOO_LIGHT, count_pairs
from sklearn_rank.metrics.scored_rows import ScoredRows


@dataclass(frozen=True, eq=False)
class PushSums:
    """The inner sums of the p-norm push for the rows k that have a row above them.

    Attributes
    ----------
    total : ndarray
        Weight of the rows above k.
    wrong : ndarray
        Weighted sum of the losses of these pairs, divided by ``exp(log_scale)``.
    weight : ndarray
        Weight of k, or of several rows with equal sums.
    log_scale : float
        Logarithm of a common factor, so that large exponentials don't overflow.
    """

    total: Floats
    wrong: Floats
    weight: Floats
    log_scale: float = 0.0

    def norm(self, p: float) -> float:
        """Return ``(sum_k w_k share_k^p / sum_k w_k)^(1/p)``; the maximum share at p = inf."""
        if float(self.weight @ self.total) < LIGHTEST_PAIRS:
            raise ValueError(TOO_LIGHT)
        share = self.wrong / self.total
        worst = float(share.max())
        if worst == 0 or np.isinf(max(worst, p)):
            return worst * self._scale(1.0)
        # Relative to the largest share: its power can't underflow.
        mean = np.average((share / worst) ** p, weights=self.weight)
        return worst * float(mean) ** (1 / p) * self._scale(1.0)

    def power_sum(self, p: float) -> float:
        """Return ``sum_k w_k sum_k^p``; infinite where it overflows."""
        positive = self.weight > 0  # 0 times infinity is NaN
        with np.errstate(over="ignore"):
            total = float(self.weight[positive] @ self.wrong[positive] ** p)
        return total * self._scale(p) if total else 0.0

    def _scale(self, p: float) -> float:
        with np.errstate(over="ignore"):
            return float(np.exp(p * self.log_scale))


def _of_pairs(total: Floats, wrong: Floats, weight: Floats, log_scale: float = 0.0) -> PushSums:
    """Keep the rows that have a row above them."""
    has_pair = total > 0
    if not has_pair.any():
        raise ValueError(NO_PAIR)
    return PushSums(total[has_pair], wrong[has_pair], weight[has_pair], log_scale)


def _zero_one_sums(rows: ScoredRows, margin: float) -> PushSums:
    """Sum ``1[f_i <= f_k + margin]``."""
    y, scores = rows.y, rows.score
    low, high = y.min(), y.max()
    is_high = y == high
    is_plain = rows.qid is None and low < high and bool(np.all(rows.weight == 1))
    if is_plain and np.count_nonzero(y == low) + np.count_nonzero(is_high) == len(y):
        # Selecting by index is faster than by a mask with short runs.
        above, below = scores[np.flatnonzero(is_high)], scores[np.flatnonzero(~is_high)]
        return _bipartite_counts(above, below + margin if margin else below)
    counts = count_pairs(rows, margin)
    wrong = np.minimum(counts.lower + counts.tied, counts.total)
    return _of_pairs(counts.total, wrong, rows.weight)


def _bipartite_counts(above: Floats, below: Floats) -> PushSums:
    """Return the sums of one bipartite list without weights, by merging the sorted classes.

    With fewer rows above, the sums are 0, 1, ... up to the maximum, and the weight of each is
    the number of rows below that have it. Otherwise there is one sum for each row below.
    """
    above, below = np.sort(above), np.sort(below)
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


def _exponential_sums(rows: ScoredRows, margin: float) -> PushSums:
    """Sum ``exp(margin - (f_i - f_k))`` in the log domain."""
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    scores = rows.score[preferences.order]
    log_sums = ExponentialSums(preferences, 1.0).log_heights(scores) + margin
    log_scale = float(log_sums.max())
    if np.isneginf(log_scale):
        raise ValueError(NO_PAIR)
    wrong = np.exp(log_sums - log_scale)
    return _of_pairs(preferences.paired_weight(), wrong, preferences.weight, log_scale)


def push_sums(loss: str | MarginLoss, rows: ScoredRows, margin: float) -> PushSums:
    """Sum "zero_one" or a margin loss of ``f_i - f_k - margin``."""
    if loss == "zero_one":
        return _zero_one_sums(rows, margin)
    if as_margin_loss(loss).factorises:
        return _exponential_sums(rows, margin)
    preferences = Preferences.from_labels(rows.y, rows.qid, rows.weight)
    pair_loss = PairLoss(preferences, loss)
    f, w = rows.score[preferences.order], preferences.weight
    return _of_pairs(preferences.paired_weight(), pair_loss.heights(f, w, margin=margin), w)
