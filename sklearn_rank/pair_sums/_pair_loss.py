"""Margin losses summed over all comparable pairs: value, gradient and heights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from sklearn_rank._protocols import Floats, Indices
from sklearn_rank._validation import (
    Choice,
    Constraint,
    check_parameters,
    check_qid,
    check_relevance,
    check_weight,
)
from sklearn_rank.pair_sums._exponential_sums import ExponentialSums
from sklearn_rank.pair_sums._logistic import logistic_heights, logistic_sums
from sklearn_rank.pair_sums._margin_losses import MARGIN_LOSSES, MarginLoss
from sklearn_rank.pair_sums._moment_sums import least_squares_heights, least_squares_sums
from sklearn_rank.pair_sums._pair_sums import FastSums, PairSums
from sklearn_rank.pair_sums._sorted_sums import (
    hinge_heights,
    hinge_sums,
    squared_hinge_heights,
    squared_hinge_sums,
)
from sklearn_rank.preferences import Preferences

BLOCK_PAIRS = 1 << 15
"""Pairs visited at a time: their temporaries stay in the second-level cache."""

_PER_PAIR = 8.0
"""Cost of a pair visited on its own, in nanoseconds on one machine."""

# Costs in nanoseconds on one machine: of a call, and for each row. Only ratios matter.
FAST_SUMS: dict[str, FastSums] = {
    "least_squares": FastSums(least_squares_sums, least_squares_heights, 60e3, 10.0),
    "hinge": FastSums(hinge_sums, hinge_heights, 80e3, 120.0),
    "squared_hinge": FastSums(squared_hinge_sums, squared_hinge_heights, 100e3, 130.0),
    "logistic": FastSums(logistic_sums, logistic_heights, 800e3, 30.0),
}
METHODS = ("auto", "dense", "fast")


class PairLoss:
    r"""Loss of the margins of all comparable pairs, weighted and summed.

    .. math:: L(f) = \sum_{i \text{ above } k} w_i w_k \, \phi(f_i - f_k)

    where

    - f are scores, of shape (n_rows,), in preference order (`preferences.order`), and w
      the row weights;
    - i is above k when :math:`y_i > y_k` in one query;
    - :math:`\phi` is one of ``MARGIN_LOSSES``, or a `MarginLoss` of your own.

    No pair is stored. Small blocks of pairs are visited, many at a time; for large ones
    the sum over n rows costs O(n) (exponential, least squares, logistic) or
    O(n log n) (hinge, squared hinge), times the logarithm of the number of levels. All
    ways agree to 1e-10 of the total pair weight.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin: a name in ``MARGIN_LOSSES``, or one of your own, which is
        summed pair by pair.
    method : {"auto", "dense", "fast"}, default="auto"
        "dense" visits every pair and "fast" none, where the loss allows it; "auto" takes
        what costs less for each block.

    Raises
    ------
    ValueError
        When a parameter is not one of these.

    References
    ----------
    Chen2012, eq. (1.2) (the mean of these losses, without weights, in one list).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import PairLoss
    >>> from sklearn_rank.preferences import Preferences
    >>> y, f = np.array([1, 0, 1]), np.array([4.0, 2.0, 2.5])
    >>> preferences = Preferences.from_labels(y, None, np.ones(3))
    >>> loss = PairLoss(preferences, "hinge")
    >>> loss.value(f[preferences.order])  # margins 2 and 0.5
    0.5

    The pairs of a million rows, none of which is built:

    >>> rng = np.random.default_rng(0)
    >>> y, f = rng.random(1_000_000) < 0.3, rng.normal(size=1_000_000)
    >>> preferences = Preferences.from_labels(y, None, np.ones(len(y)))
    >>> preferences.total_pair_weight > 2e11
    True
    >>> mean = PairLoss(preferences).value(f[preferences.order]) / preferences.total_pair_weight
    >>> round(mean, 2)  # of a random order
    0.9
    """

    def __init__(
        self,
        preferences: Preferences,
        loss: str | MarginLoss = "logistic",
        *,
        method: str = "auto",
    ) -> None:
        values = {"loss": loss, "method": method}
        allowed: dict[str, Constraint] = {"method": Choice(METHODS)}
        if not isinstance(loss, MarginLoss):
            allowed["loss"] = Choice(tuple(MARGIN_LOSSES))
        check_parameters("PairLoss", values, allowed)
        self.preferences = preferences
        self.loss = loss if isinstance(loss, MarginLoss) else MARGIN_LOSSES[loss]
        name = loss if isinstance(loss, str) else ""
        self._factored = None
        if name == "exponential" and method != "dense":
            self._factored = ExponentialSums(preferences, 1.0)
        self._fast = FAST_SUMS.get(name)
        self._large, small = self._divide(preferences.blocks, method)
        self._batches = list(_batches(small))

    def _divide(self, blocks: Indices, method: str) -> tuple[Indices, Indices]:
        """Return the blocks that are taken one by one, and those that go into batches."""
        n_pairs = (blocks[:, 1] - blocks[:, 0]) * (blocks[:, 2] - blocks[:, 1])
        if self._fast is None or method == "dense":
            is_large = n_pairs > BLOCK_PAIRS
            self._fast = None
        else:
            cost = self._fast.overhead + self._fast.per_row * (blocks[:, 2] - blocks[:, 0])
            is_large = (n_pairs * _PER_PAIR > cost) | (method == "fast")
        return blocks[is_large], blocks[~is_large]

    def value(self, scores: Floats) -> float:
        """Return L."""
        return self.value_and_gradient(scores)[0]

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return L and its gradient with respect to the scores.

        At a kink of the hinge loss the left derivative counts. A sum of exponential
        losses above the largest float is inf, and so are parts of its gradient (pair by
        pair, with ``method="dense"``, they may be NaN).
        """
        if self._factored is not None:
            return _unlogged(*self._factored.value_and_gradient(scores))
        weight = self.preferences.weight
        with np.errstate(over="ignore", invalid="ignore"):  # exponentials, pair by pair
            value, upper, lower = self.sums(scores, weight, weight)
            return value, weight * (upper - lower)

    def sums(self, scores: Floats, above: Floats, below: Floats) -> PairSums:
        r"""Return the sums with separate weights for the two roles of a row.

        With a = `above` and b = `below`: the value :math:`\sum_{ik} a_i b_k
        \phi(f_i - f_k)`, for each row as the upper one :math:`\sum_k b_k \phi'`, and
        for each row as the lower one :math:`\sum_i a_i \phi'`; each of shape (n_rows,).
        """
        value, n = 0.0, self.preferences.n_rows
        upper, lower = np.zeros(n), np.zeros(n)
        for first, middle, last in self._large:
            i, k = slice(first, middle), slice(middle, last)
            part = self._sums_of(scores[i], above[i], scores[k], below[k])
            value += part.value
            upper[i] += part.upper
            lower[k] += part.lower
        for batch in self._batches:
            for rows in batch.pieces():
                above_rows, below_rows = batch.upper[rows], batch.lower[rows]
                is_upper, is_lower = batch.is_upper[rows], batch.is_lower[rows]
                a, b = above[above_rows] * is_upper, below[below_rows] * is_lower
                f, g = scores[above_rows], scores[below_rows]
                margin = f[:, :, np.newaxis] - g[:, np.newaxis, :]
                loss, slope = self.loss.value_and_derivative(margin)
                value += float(np.einsum("ri,rik,rk", a, loss, b, optimize=False))
                np.add.at(upper, above_rows, np.einsum("rik,rk->ri", slope, b) * is_upper)
                np.add.at(lower, below_rows, np.einsum("ri,rik->rk", a, slope) * is_lower)
        return PairSums(value, upper, lower)

    def heights(
        self, scores: Floats, weight: Floats, side: str = "top", margin: float = 0.0
    ) -> Floats:
        r"""Return the loss of each row's pairs, of which each needs a `margin` :math:`\theta`.

        For ``side="top"``, of row k with the rows above it, :math:`\sum_i w_i
        \phi(f_i - f_k - \theta)`; for "bottom", of row i with the rows below it,
        :math:`\sum_k w_k \phi(f_i - f_k - \theta)`.
        """
        out = np.zeros(self.preferences.n_rows)
        at_top = side == "top"
        if not at_top:
            scores = -scores  # a mirror image: inner rows are those below
        shifted = scores + margin if margin else scores
        for first, middle, last in self._large:
            inner, outer = slice(first, middle), slice(middle, last)
            if not at_top:
                inner, outer = outer, inner
            out[outer] += self._heights_of(scores[inner], weight[inner], shifted[outer])
        for batch in self._batches:
            for rows in batch.pieces():
                pulling, pushed = batch.upper[rows], batch.lower[rows]
                is_pulling, is_pushed = batch.is_upper[rows], batch.is_lower[rows]
                if not at_top:
                    pulling, pushed = pushed, pulling
                    is_pulling, is_pushed = is_pushed, is_pulling
                f, g = scores[pulling], shifted[pushed]
                loss = self.loss.value(f[:, :, np.newaxis] - g[:, np.newaxis, :])
                sums = np.einsum("ri,rik->rk", weight[pulling] * is_pulling, loss)
                np.add.at(out, pushed, sums * is_pushed)
        return out

    def second_sums(self, scores: Floats, above: Floats, below: Floats) -> tuple[Floats, Floats]:
        """Return the sums of phi'' for each row as the upper and as the lower one."""
        upper, lower = np.zeros(len(scores)), np.zeros(len(scores))
        for first, middle, last in self.preferences.blocks:
            i, k = slice(first, middle), slice(middle, last)
            second = self.loss.second_derivative(scores[i, np.newaxis] - scores[k])  # type: ignore[attr-defined]
            upper[i] += second @ below[k]
            lower[k] += above[i] @ second
        return upper, lower

    def _sums_of(self, f: Floats, a: Floats, g: Floats, b: Floats) -> PairSums:
        """Return the sums of one block."""
        if self._fast is not None:
            return self._fast.sums(f, a, g, b)
        value, upper, lower = 0.0, np.empty_like(f), np.zeros_like(g)
        for rows in _pieces(len(f), len(g)):
            loss, slope = self.loss.value_and_derivative(f[rows, np.newaxis] - g)
            value += float(a[rows] @ (loss @ b))
            upper[rows] = slope @ b
            lower += a[rows] @ slope
        return PairSums(value, upper, lower)

    def _heights_of(self, f: Floats, a: Floats, g: Floats) -> Floats:
        """Return the heights of the lower rows of one block."""
        if self._fast is not None:
            return self._fast.heights(f, a, g)
        pieces = _pieces(len(f), len(g))
        parts = (a[rows] @ self.loss.value(f[rows, np.newaxis] - g) for rows in pieces)
        return np.asarray(sum(parts, start=np.zeros_like(g)))


def pair_loss_and_gradient(
    y_true: Any,
    y_score: Any,
    *,
    loss: str | MarginLoss = "logistic",
    qid: Any = None,
    sample_weight: Any = None,
) -> tuple[float, Floats]:
    r"""Return the loss of all comparable pairs and its gradient by the scores.

    .. math:: L(f) = \sum_{i \text{ above } k} w_i w_k \, \phi(f_i - f_k)

    where f are the scores, w the sample weights, :math:`\phi` the loss, and i above k
    the pairs of rows with :math:`y_i > y_k` in one query. It is what a learner of your
    own needs to rank: a million rows, and with them up to 2.5e11 pairs, take well under
    a second.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, finite.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin: "exponential", "least_squares", "hinge", "squared_hinge" or
        "logistic"; or one of your own, which is summed pair by pair.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : array-like of shape (n_samples,), default=None
        Multiplicities, non-negative.

    Returns
    -------
    value : float
        The sum over pairs, 0 when there is none. Divide it by the number of pairs for
        the mean.
    gradient : ndarray of shape (n_samples,)
        Its gradient: positive where a lower score would reduce the loss.

    Raises
    ------
    ValueError
        When an array is not as described, or `loss` is unknown.

    References
    ----------
    Chen2012, eq. (1.2) (their mean, without weights, in one list).

    Examples
    --------
    >>> from sklearn_rank.objectives import pair_loss_and_gradient
    >>> value, gradient = pair_loss_and_gradient([0, 1, 1], [2.0, 2.5, 4.0], loss="hinge")
    >>> value  # margins 0.5 and 2
    0.5
    >>> gradient
    array([ 1., -1.,  0.])
    """
    relevance = check_relevance(y_true, name="y_true")
    scores = column_or_1d(y_score).astype(np.float64)
    check_consistent_length(relevance, scores)
    if not np.isfinite(scores).all():
        raise ValueError("y_score contains NaN or infinity: margins need finite scores.")
    weight = check_weight(sample_weight, len(relevance))
    codes = None if qid is None else check_qid(qid, len(relevance))
    rows = np.flatnonzero(weight > 0)
    preferences = Preferences.from_labels(
        relevance[rows], None if codes is None else codes[rows], weight[rows]
    )
    rows = rows[preferences.order]
    gradient = np.zeros(len(scores))
    value, gradient[rows] = PairLoss(preferences, loss).value_and_gradient(scores[rows])
    return value, gradient


def _unlogged(log_value: float, gradient: Floats) -> tuple[float, Floats]:
    """Return value and gradient from the logarithm of the value and the gradient of that."""
    with np.errstate(over="ignore", divide="ignore"):
        size = np.exp(np.log(np.abs(gradient)) + log_value)
        return float(np.exp(log_value)), np.copysign(size, gradient)


# Small blocks, many at a time ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Batch:
    """Blocks of about one size, filled up to one shape.

    Attributes
    ----------
    upper, lower : ndarray of shape (n_blocks, n_upper) and (n_blocks, n_lower)
        Rows; a place without a row repeats one.
    is_upper, is_lower : ndarray of bool
        Where there is a row.
    """

    upper: Indices
    lower: Indices
    is_upper: Any
    is_lower: Any

    def pieces(self) -> Iterator[slice]:
        """Yield some blocks at a time."""
        return _pieces(len(self.upper), self.upper.shape[1] * self.lower.shape[1])


def _batches(blocks: Indices) -> Iterator[_Batch]:
    """Yield batches of blocks whose shapes round up to the same."""
    shape = np.column_stack([_rounded(np.diff(blocks, axis=1)[:, side]) for side in (0, 1)])
    shapes, which = np.unique(shape, axis=0, return_inverse=True)
    for number, (n_upper, n_lower) in enumerate(shapes):
        first, middle, last = blocks[which.ravel() == number].T[:, :, np.newaxis]
        upper, lower = first + np.arange(n_upper), middle + np.arange(n_lower)
        is_upper, is_lower = upper < middle, lower < last
        yield _Batch(np.minimum(upper, middle - 1), np.minimum(lower, last - 1), is_upper, is_lower)


def _rounded(size: Indices) -> Indices:
    """Round up to two binary digits: 1, 2, 3, 4, 6, 8, 12, ..."""
    unit = 2 ** np.maximum(np.frexp(size)[1].astype(np.intp) - 2, 0)
    return np.asarray(-(-size // unit) * unit)


def _pieces(n: int, each: int) -> Iterator[slice]:
    """Yield slices of `n` things that hold `each` pairs."""
    step = max(1, BLOCK_PAIRS // max(each, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))
