"""Listwise losses, each the sum over the queries of a block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Block
from sklearn_rank._core.validation import Choice, Number, check_parameters


def softmax(block: Block, scores: Floats, weight: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Return ``w e^s / Z``, ``s - max s`` and ``log Z - max s``, query by query.

    The maximum is subtracted first, so that no score is too large.
    """
    shifted = scores - block.spread(block.reduce(np.maximum, scores))
    share = np.exp(shifted)
    if weight is not None:
        share *= weight
    total = block.reduce(np.add, share)
    share *= block.spread(1.0 / total)
    return share, shifted, np.log(total)


class ListwiseLoss(ABC):
    r"""Base class of listwise losses: a loss of the scores of one query, summed over queries.

    To define your own loss, write a subclass with `value_and_gradient`. Every method gets a block
    of whole queries and arrays over its rows, in the same order; ``block.reduce(np.add, ...)`` sums
    the rows of each query, ``block.spread(...)`` repeats values of queries to their rows. Weights
    are multiplicities, and None when all are 1. An object holds settings only, nothing learned from
    data.

    Further methods are optional:

    - ``second_derivatives(block, scores, target, weight)`` returns values c, b, p for each row such
      that the second derivatives between the rows of a query are ``diag(c) - b p' - p b'``. With
      it, Newton's method makes the coefficients of `ListNetLinear` more exact.
    - ``curvature(block, scores, target, weight)`` returns the diagonal of the second derivatives or
      a bound on it, never negative, for solvers that fit trees;
    - ``lipschitz(max_relevance)`` and ``smoothness(max_relevance)``, the constants of the loss and
      of its gradient for the theorems of Tewari2015 (`sklearn_rank.theory.lipschitz_constant`).

    Examples
    --------
    Half the squared errors:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import ListLoss, ListwiseLoss, Queries
    >>> class SquaredError(ListwiseLoss):
    ...     def value_and_gradient(self, block, scores, target, weight):
    ...         weight = 1.0 if weight is None else weight
    ...         gradient = weight * (scores - target)
    ...         return gradient @ (scores - target) / 2, gradient
    >>> rows = Queries.from_codes(np.array([0, 0, 1, 1]), 4)
    >>> relevance = np.array([1.0, 0.0, 2.0, 1.0])
    >>> objective = ListLoss(rows, SquaredError(), relevance, np.ones(4))
    >>> objective.value_and_gradient(np.array([1.0, 2.0, 2.0, 1.0]))
    (1.0, array([0., 1., 0., 0.]))
    """

    max_relevance: ClassVar[float] = np.inf
    """Largest relevance for which the loss does not overflow."""

    def target(self, block: Block, relevance: Floats, weight: Floats | None) -> Floats:
        """Return the target of each row, computed once from the relevance.

        The default is the relevance itself.
        """
        return relevance

    @abstractmethod
    def value_and_gradient(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> tuple[float, Floats]:
        """Return the sum of the losses of the block's queries, and its gradient."""


@dataclass(frozen=True)
class CrossEntropy(ListwiseLoss):
    r"""Cross-entropy of top-one probabilities.

    .. math:: \phi(s, y) = -\sum_j P_y(j) \, (s_j - \log Z_s), \qquad
        P_y(j) = \frac{w_j e^{y_j}}{\sum_l w_l e^{y_l}}, \qquad Z_s = \sum_l w_l e^{s_l}

    where s are the scores of a query, y its relevance and w its row weights (1 in the papers, whose
    w are coefficients). Tewari2015 writes :math:`P_j(s)` for :math:`P_s(j)`. Convex; the gradient
    is :math:`P_s - P_y` and the curvature :math:`P_s (1 - P_s)`. A constant weight for all rows of
    a query only adds a constant.

    References
    ----------
    Cao2007 (top-one probabilities). Tewari2015, sec. 3.1 (the loss).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import CrossEntropy, ListLoss, Queries
    >>> rows = Queries.from_codes(np.array([0, 0, 1, 1]), 4)
    >>> relevance = np.array([2.0, 0.0, 1.0, 1.0])
    >>> objective = ListLoss(rows, CrossEntropy(), relevance, np.ones(4))
    >>> value, gradient = objective.value_and_gradient(np.zeros(4))
    >>> gradient.round(2)  # the mean over two queries: the second one is as it should be
    array([-0.19,  0.19,  0.  ,  0.  ])
    >>> round(value, 3), round(objective.value(relevance), 3)
    (0.693, 0.529)
    """

    def target(self, block: Block, relevance: Floats, weight: Floats | None) -> Floats:
        """Return the top-one probabilities of the relevance."""
        with np.errstate(over="ignore"):  # relevances 1e308 apart: the lower one has no share
            return softmax(block, relevance, weight)[0]

    def value_and_gradient(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> tuple[float, Floats]:
        """Return the sum of the losses of the block's queries, and its gradient."""
        # 1. P_s(j) = w_j e^{s_j} / Z_s of the scores, in `share`; `target` is P_y of the relevance,
        # and `log_total` log Z_s - max s.
        share, shifted, log_total = softmax(block, scores, weight)
        # 2. phi(s, y) = -sum_j P_y(j) log P_s(j) (Tewari2015, sec. 3.1), which is log Z_s - sum_j
        # P_y(j) s_j but for a constant of the weights, as P_y sums to 1. Both terms are relative to
        # the largest score: neither is a difference of large sums.
        value = float(log_total.sum()) - float(target @ shifted)
        # 3. d phi / d s_j = P_s(j) - P_y(j), in place. X' times it, `pull_back` of the model, is
        # Cao2007's gradient with respect to the coefficients.
        share -= target
        return value, share

    def second_derivatives(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return c, b, p of the second derivatives ``diag(c) - b p' - p b'``."""
        share = softmax(block, scores, weight)[0]
        return share, share / 2, share

    def curvature(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> Floats:
        """Return the diagonal of the second derivatives, ``P (1 - P)``."""
        return _variance(softmax(block, scores, weight)[0])

    def lipschitz(self, max_relevance: float) -> float:
        """Return 2."""
        return 2.0

    def smoothness(self, max_relevance: float) -> float:
        """Return 2."""
        return 2.0


@dataclass(frozen=True)
class SmoothedDcg(ListwiseLoss):
    r"""Minus the smoothed DCG.

    .. math:: \phi(s, y) = -D(1) \sum_i G(y_i) \, P_{s / \sigma}(i), \qquad
        G(y) = 2^y - 1, \qquad D(1) = \frac{1}{\log_2 2} = 1

    where s are the scores of a query, y its relevance, :math:`\sigma` is `sigma` and P are
    the top-one probabilities of `CrossEntropy`. Not convex; the gradient is
    :math:`-P_{s/\sigma}(i) \, (G(y_i) - \bar G) / \sigma`, with :math:`\bar G` the mean
    gain under P.

    Parameters
    ----------
    sigma : float in (0, inf), default=1.0
        Unit of the scores.

    References
    ----------
    Tewari2015, sec. 3.2 (the gain of which this is the negative).

    Examples
    --------
    The smaller `sigma`, the nearer to minus the gain of the first row:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import ListLoss, Queries, SmoothedDcg
    >>> rows, relevance = Queries.from_codes(None, 3), np.array([0.0, 2.0, 1.0])
    >>> for sigma in (1.0, 0.1):
    ...     objective = ListLoss(rows, SmoothedDcg(sigma), relevance, np.ones(3))
    ...     print(round(objective.value(np.array([1.0, 2.0, 0.0])), 3))
    -2.086
    -3.0
    """

    sigma: float = 1.0
    max_relevance: ClassVar[float] = 240.0
    """Squares of larger gains, summed over rows, overflow."""

    def __post_init__(self) -> None:
        """Check sigma."""
        check_parameters("SmoothedDcg", vars(self), {"sigma": Number(0, closed="neither")})

    def target(self, block: Block, relevance: Floats, weight: Floats | None) -> Floats:
        """Return the gains G."""
        return np.exp2(relevance) - 1.0

    def value_and_gradient(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> tuple[float, Floats]:
        """Return the sum of the losses of the block's queries, and its gradient."""
        # 1. P(i) at the scores s / sigma; `target` is G(y_i).
        share = softmax(block, scores / self.sigma, weight)[0]
        # 2. The mean gain of each query, whose negative is phi (Tewari2015, sec. 3.2).
        mean_gain = block.reduce(np.add, share * target)
        # 3. d phi / d s_i = -P(i) (G(y_i) - mean) / sigma.
        share *= block.spread(mean_gain) - target
        share *= 1.0 / self.sigma
        return -float(mean_gain.sum()), share

    def second_derivatives(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Return c, b, p of the second derivatives ``diag(c) - b p' - p b'``."""
        share = softmax(block, scores / self.sigma, weight)[0]
        slopes = self.value_and_gradient(block, scores, target, weight)[1] / self.sigma
        return slopes, slopes, share

    def curvature(
        self, block: Block, scores: Floats, target: Floats, weight: Floats | None
    ) -> Floats:
        r"""Return :math:`(\bar G - \min G) \, P (1 - P) / \sigma^2`.

        The second derivatives themselves may be negative; along h in [0, 1] they are at
        most :math:`c^\top h` and :math:`c^\top (1 - h)` with these c.
        """
        share = softmax(block, scores / self.sigma, weight)[0]
        min_gain = block.reduce(np.minimum, target)
        mean_gain = block.reduce(np.add, share * (target - block.spread(min_gain)))
        return block.spread(mean_gain) * _variance(share) / self.sigma**2

    def lipschitz(self, max_relevance: float) -> float:
        """Return twice the largest gain divided by sigma."""
        return 2.0 * (2.0**max_relevance - 1.0) / self.sigma

    def smoothness(self, max_relevance: float) -> float:
        """Return twice the largest gain divided by the square of sigma."""
        return 2.0 * (2.0**max_relevance - 1.0) / self.sigma**2


def _variance(share: Floats) -> Floats:
    """Return ``P (1 - P)``; rounding may carry a probability above one."""
    return share * np.maximum(1.0 - share, 0.0)


LISTWISE_LOSSES: dict[str, type[ListwiseLoss]] = {
    "cross_entropy": CrossEntropy,
    "smoothed_dcg": SmoothedDcg,
}
"""The classes of `ListwiseLoss` by the names that `ListNetLinear` takes as ``loss``."""


LISTWISE_LOSS_CHOICE = Choice(tuple(LISTWISE_LOSSES), "a ListwiseLoss", ListwiseLoss)
"""The values that a parameter ``loss`` may have."""


def as_listwise_loss(loss: str | ListwiseLoss, sigma: float = 1.0) -> ListwiseLoss:
    """Return the listwise loss with a name, or the loss itself.

    Parameters
    ----------
    loss : str or ListwiseLoss
        A name in ``LISTWISE_LOSSES``, or your own loss.
    sigma : float in (0, inf), default=1.0
        Unit of the scores, for a name of a loss that has one.

    Returns
    -------
    ListwiseLoss
        The loss.

    Raises
    ------
    ValueError
        If `loss` is neither.

    Examples
    --------
    >>> from sklearn_rank.objectives.listwise import as_listwise_loss
    >>> as_listwise_loss("smoothed_dcg", sigma=0.5)
    SmoothedDcg(sigma=0.5)
    """
    check_parameters("as_listwise_loss", {"loss": loss}, {"loss": LISTWISE_LOSS_CHOICE})
    if isinstance(loss, ListwiseLoss):
        return loss
    return SmoothedDcg(sigma) if loss == "smoothed_dcg" else LISTWISE_LOSSES[loss]()


def check_grades(loss: str | ListwiseLoss, max_relevance: float, owner: str) -> None:
    """Raise ValueError for relevance values that make a listwise loss overflow."""
    max_grade = as_listwise_loss(loss).max_relevance
    if max_relevance > max_grade:
        raise ValueError(
            f"loss={loss!r} of {owner} has gains 2**y - 1, whose squares overflow for "
            f"y above {max_grade:g}. Got y = {max_relevance:g}: use smaller grades."
        )
