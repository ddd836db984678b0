"""Margin losses summed over all comparable pairs, as an objective and as a function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.metaestimators import available_if

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Values, require
from sklearn_rank._core.sums import ALL_HERE
from sklearn_rank._core.validation import (
    FLAG,
    Choice,
    Constraint,
    check_floats,
    check_lengths,
    check_parameters,
    check_qid,
    check_relevance,
    check_weight,
)
from sklearn_rank._pair_sums._block_sums import BlockSums
from sklearn_rank._pair_sums._cell_sums import CellSums
from sklearn_rank._pair_sums._exponential_sums import FactoredSums
from sklearn_rank._pair_sums.group_sums import OnePart, PairSums, PartSums
from sklearn_rank._pair_sums.margin_losses import MarginLoss, as_margin_loss

Result = TypeVar("Result")

METHODS = ("auto", "dense", "fast")


def side_weights(push: str, bottom_weight: float) -> dict[str, float]:
    """Return the weights of the sides, "top" and "bottom", that a push has."""
    bottom = bottom_weight if push == "both" else float(push == "bottom")
    sides = {"top": float(push != "bottom"), "bottom": bottom}
    return {side: weight for side, weight in sides.items() if weight > 0}


def loss_has(method: str) -> Callable[[Any], bool]:
    """Return whether the loss of an objective has a method, for `available_if`."""
    return lambda objective: hasattr(objective.loss, method)


class Push(ABC):
    """A convex objective over the comparable pairs.

    A subclass defines `value_and_gradient`; value and slope follow from it, unless the subclass has
    a faster way. Rows of several processes need an attribute `preferences`: the value is then that
    of all processes, and the gradient that of the rows here.

    Examples
    --------
    The logarithm of the sum of the exponential losses of the pairs:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import PairLoss, Preferences, Push
    >>> class LogPairLoss(Push):
    ...     def __init__(self, preferences):
    ...         self.loss = PairLoss(preferences, "exponential")
    ...
    ...     def value_and_gradient(self, scores):
    ...         value, gradient = self.loss.value_and_gradient(scores)
    ...         return np.log(value), gradient / value
    >>> preferences = Preferences.from_labels(np.array([1, 0]), None, np.ones(2))
    >>> push = LogPairLoss(preferences)
    >>> slope = push.slope(np.array([3.0, 1.0]), np.array([True, False]))
    >>> slope(0.0)
    -1.0
    """

    @abstractmethod
    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient with respect to the scores."""

    def value(self, scores: Floats) -> float:
        """Return the objective."""
        return self.value_and_gradient(scores)[0]

    def slope(self, scores: Floats, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``value(scores + a * h)`` as a function of a."""
        rows: Any = getattr(self, "preferences", ALL_HERE)
        return lambda a: float(rows.total(self.value_and_gradient(scores + a * h)[1] @ h))


class PairLoss(Push):
    r"""Loss of the margins of all comparable pairs, weighted and summed.

    .. math:: L(f) = \sum_{i \text{ above } k} w_i w_k \, \phi(f_i - f_k)

    or, with `mean`, that divided by :math:`\sum_{i \text{ above } k} w_i w_k`, where

    - f are scores, of shape (n_rows,), in preference order (`preferences.order`), and w
      the row weights;
    - i is above k when :math:`y_i > y_k` in one query;
    - :math:`\phi` is one of ``MARGIN_LOSSES``, or your own `MarginLoss`.

    No pair is stored. Small blocks of pairs are visited, many at a time; for large ones the sum
    over n rows costs O(n) (exponential, least squares, logistic) or O(n log n) (hinge, squared
    hinge), times the logarithm of the number of levels. Many queries also cost O(n) with the
    logistic loss. The methods agree to 1e-10 of the total pair weight.

    Parameters
    ----------
    preferences : Preferences
        The comparable pairs.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin: a name in ``MARGIN_LOSSES``, or your own loss, which is summed pair by
        pair.
    method : {"auto", "dense", "fast"}, default="auto"
        "dense" visits every pair, "fast" none if the loss allows it; "auto" takes the cheaper
        method for each block.
    mean : bool, default=False
        Whether to divide by the total pair weight.

    Raises
    ------
    ValueError
        If a parameter is invalid.

    References
    ----------
    Chen2012, eq. (1.2) (the mean of these losses, without weights, in one list).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import PairLoss, Preferences
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
        mean: bool = False,
    ) -> None:
        allowed: dict[str, Constraint] = {"method": Choice(METHODS), "mean": FLAG}
        check_parameters("PairLoss", {"method": method, "mean": mean}, allowed)
        self.preferences = preferences
        self.loss = as_margin_loss(loss, user="PairLoss")
        self.method, self.mean = method, mean
        # Without pairs the total is 0, and so is every sum: its logarithm would be -inf.
        self._scale = (mean and preferences.total_pair_weight) or 1.0
        self._sums: FactoredSums | BlockSums | CellSums
        n_blocks = preferences.largest(float(len(preferences.blocks)))
        if self.loss.factorises and method != "dense" and n_blocks:
            self._sums = FactoredSums(preferences)
            return
        self._sums = by_block = BlockSums(preferences, self.loss, method)
        strip = by_block.loss.strip
        if strip and method == "auto" and CellSums.cost(preferences) < by_block.cost:
            self._sums = CellSums(preferences, self.loss, by_block)

    @property
    def is_smooth(self) -> bool:
        """Whether L is differentiable everywhere."""
        return self.loss.is_smooth

    def value_and_gradient(self, scores: Floats) -> tuple[float, Floats]:
        """Return L and its gradient with respect to the scores.

        At a kink of the hinge loss the left derivative counts. A sum of exponential
        losses above the largest float is inf, and so are parts of its gradient (pair by
        pair, with ``method="dense"``, they may be NaN).
        """
        return self._sums.derivatives(scores, self._scale)[:2]

    @available_if(loss_has("second_derivative"))
    def value_gradient_curvature(self, scores: Floats) -> tuple[float, Floats, Floats]:
        r"""Return L, its gradient, and the diagonal of its Hessian.

        .. math:: c_n = w_n \Bigl(\sum_{k \text{ below } n} w_k \phi''(f_n - f_k)
            + \sum_{i \text{ above } n} w_i \phi''(f_i - f_n)\Bigr)

        where :math:`\phi''` is ``loss.second_derivative``, for the squared hinge loss the
        bound that its class states. Along h in [0, 1] the Hessian H, a graph Laplacian,
        has :math:`h^T H h \le \min(c^T h, c^T (1 - h))`.
        """
        return self._sums.derivatives(scores, self._scale, with_second=True)

    @available_if(loss_has("rounded"))
    def rounded(self, width: float) -> PairLoss:
        """Return a smooth objective, lower by at most ``width / 2`` times the pair weight."""
        loss = require(self.loss, "rounded", "PairLoss.rounded")(width)
        return PairLoss(self.preferences, loss, method=self.method, mean=self.mean)

    def sums(
        self,
        scores: Floats,
        above: Floats,
        below: Floats,
        with_second: bool = False,
        with_value: bool = True,
    ) -> PairSums:
        r"""Return the sums with separate weights for the two roles of a row.

        With a = `above` and b = `below`: the value :math:`\sum_{ik} a_i b_k
        \phi(f_i - f_k)`, for each row as the upper one :math:`\sum_k b_k \phi'`, and
        for each row as the lower one :math:`\sum_i a_i \phi'`; `with_second` also those of
        :math:`\phi''`; each of shape (n_rows,). Never a mean. Without `with_value` the value is
        any number.
        """
        return self._sums.sums(scores, above, below, with_second, with_value)

    def heights(
        self, scores: Floats, weight: Floats, side: str = "top", margin: float = 0.0
    ) -> Floats:
        r"""Return the loss of each row's pairs, of which each needs a `margin` :math:`\theta`.

        For ``side="top"``, of row k with the rows above it, :math:`\sum_i w_i
        \phi(f_i - f_k - \theta)`; for "bottom", of row i with the rows below it,
        :math:`\sum_k w_k \phi(f_i - f_k - \theta)`. Never a mean.
        """
        return self._sums.heights(scores, weight, side, margin)

    def in_parts(self, scores: Floats, sum_part: Callable[[PartSums], Result]) -> list[Result]:
        """Call a function with each part of the rows, and return its results in their order.

        For several sums at the same scores, of which one is a weight of the next: what they share
        is computed once.
        """
        if isinstance(self._sums, CellSums):
            results = self._sums.in_parts(scores, sum_part)
            if results is not None:
                return results
        part = self._sums.part(scores) if isinstance(self._sums, BlockSums) else None
        all_rows = OnePart(partial(self.heights, scores), partial(self.sums, scores))
        return [sum_part(part or all_rows)]


def pair_loss_and_gradient(
    y_true: Any,
    y_score: Any,
    *,
    loss: str | MarginLoss = "logistic",
    qid: Any = None,
    sample_weight: Any = None,
) -> tuple[float, Floats]:
    r"""Return the loss over all comparable pairs and its gradient with respect to the scores.

    .. math:: L(f) = \sum_{i \text{ above } k} w_i w_k \, \phi(f_i - f_k)

    where f are the scores, w the sample weights, :math:`\phi` the loss, and i above k the pairs of
    rows with :math:`y_i > y_k` in one query. Use it to train your own learner on all pairs: a
    million rows, with up to 2.5e11 pairs, take 0.04 s.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance: numbers or booleans, greater is better. Two values or many.
    y_score : array-like of shape (n_samples,)
        Scores, finite. For a PyTorch tensor, pass ``scores.detach().cpu().numpy()``.
    loss : str or MarginLoss, default="logistic"
        The loss of a margin: "exponential", "least_squares", "hinge", "squared_hinge" or
        "logistic"; or your own loss, which is summed pair by pair.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    sample_weight : float or array-like of shape (n_samples,), default=None
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
        If an array is invalid, or `loss` is unknown.

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
    scores = check_floats(y_score, "y_score")
    check_lengths(y_true=relevance, y_score=scores)
    if not np.isfinite(scores).all():
        raise ValueError("y_score contains NaN or infinity: margins need finite scores.")
    weight = check_weight(sample_weight, len(relevance))
    rows = np.flatnonzero(weight > 0)
    codes = None if qid is None else check_qid(qid, len(relevance))[rows]
    preferences = Preferences.from_labels(relevance[rows], codes, weight[rows])
    rows = rows[preferences.order]
    gradient = np.zeros(len(scores))
    value, gradient[rows] = PairLoss(preferences, loss).value_and_gradient(scores[rows])
    return value, gradient
