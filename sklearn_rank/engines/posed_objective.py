"""Gradient and curvature of an objective, on the scale that gradient boosting expects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, Indices, Mask, require
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import Queries
from sklearn_rank._core.validation import Choice, check_parameters
from sklearn_rank._pair_sums._pair_loss import PairLoss
from sklearn_rank._pair_sums.listed_pairs import mean_of_larger
from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES, MarginLoss, as_margin_loss
from sklearn_rank.objectives import LISTWISE_LOSSES, ListLoss, ListwiseLoss, make_push
from sklearn_rank.objectives.listwise import as_listwise_loss

MEAN_CURVATURE = 0.25
"""Mean curvature of a row at equal scores: that of the log-loss at probability one half."""

_LARGEST_EXPONENT = 700.0
"""Largest exponent whose exponential, and the reciprocal of it, is finite."""

_LARGEST_UNIT = 1e30
"""Largest curvature of a row, that of rows of tiny weight: engines have single precision."""

LOSS_CHOICE = Choice(
    (*MARGIN_LOSSES, *LISTWISE_LOSSES), "a MarginLoss or ListwiseLoss", (MarginLoss, ListwiseLoss)
)
"""The allowed values of a parameter ``loss``."""

Derivatives = Callable[[Floats], tuple[float, Floats, Floats]]
"""Maps scores in fit order to value, gradient and curvature."""


def is_listwise(loss: Any) -> bool:
    """Whether a loss is defined on whole lists rather than on pairs."""
    return loss in LISTWISE_LOSSES if isinstance(loss, str) else isinstance(loss, ListwiseLoss)


def check_loss(owner: str, loss: Any, p: float, push: str) -> None:
    """Raise ValueError if loss, power and push are not compatible."""
    check_parameters(owner, {"loss": loss}, {"loss": LOSS_CHOICE})
    if np.isinf(p):
        raise ValueError(
            f"The 'p' parameter of {owner} must be finite: the limit p=inf has a gradient for "
            "few rows only, from which no tree can be grown. Got p=inf. A large p, or "
            "PNormPushRanker(p=inf, solver='lbfgs'), is close."
        )
    if is_listwise(loss):
        if p != 1 or push != "top":
            raise ValueError(
                f"loss={loss!r} of {owner} is a listwise loss, which has no push: it needs p=1 "
                f"and push='top'. Got p={p:g} and push={push!r}."
            )
    elif push == "ir" and not as_margin_loss(loss).factorises:
        raise ValueError(f"push='ir' of {owner} needs loss='exponential'. Got loss={loss!r}.")


@dataclass(frozen=True, eq=False)
class PosedObjective:
    """An objective of certain rows, with curvature, on the scale of the log-loss.

    Attributes
    ----------
    derivatives : callable
        Value, gradient and curvature at scores in fit order.
    order : ndarray of shape (n_rows,) or None
        ``scores[order]`` is in fit order; None if the rows are.
    n_rows : int
        Number of the caller's rows; those outside `order` have no gradient.
    factor : float or ndarray of shape (n_rows,)
        Constant factor of gradient and curvature, in fit order.
    """

    derivatives: Derivatives
    order: Indices | None
    n_rows: int
    factor: Any

    @classmethod
    def pose(
        cls, loss: Any, p: float, push: str, rows: Rows, query_weight: Floats | None = None
    ) -> PosedObjective:
        """Sort and group the rows; `query_weight` is repeated to rows."""
        if is_listwise(loss):
            derivatives, order, share = _pose_lists(loss, rows, query_weight)
        else:
            derivatives, order = _pose_pairs(loss, p, push, rows, query_weight)
            share = np.ones(1)
        weight = rows.weight
        curvature = derivatives(np.zeros(len(weight)))[2] * share
        # Rows that are never compared do not count: without them all other results are the same.
        weights = weight if query_weight is None else weight * query_weight
        weights = (weights if order is None else weights[order])[curvature > 0]
        curvature_sum, n_compared = rows.totals(float(curvature.sum()), float(weights.sum()))
        if not curvature_sum > 0:
            raise _no_pair(loss)
        factor = MEAN_CURVATURE * n_compared / curvature_sum * share
        if order is not None and (order == np.arange(len(order))).all():
            order = None
        return cls(derivatives, order, len(weight), factor if len(factor) > 1 else factor[0])

    def among(self, is_used: Mask) -> PosedObjective:
        """Extend the objective to more rows; `is_used` marks those that it has."""
        if is_used.all():
            return self
        rows = np.flatnonzero(is_used)
        order = rows if self.order is None else rows[self.order]
        return replace(self, order=order, n_rows=len(is_used))

    def evaluate(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the value, and the scaled gradient and curvature in the caller's order."""
        scores = scores.astype(np.float64, copy=False)
        scores = scores if self.order is None else scores[self.order]
        value, gradient, curvature = self.derivatives(scores)
        gradient *= self.factor
        curvature *= self.factor
        return value, self._restored(gradient), self._restored(curvature)

    def unit(self, rows: Rows) -> float:
        r"""Return the mean over pairs of the larger of both rows' curvatures, at equal scores.

        .. math:: u = \frac{\sum_{i \text{ above } k} w_i w_k \max(c_i, c_k)}
            {\sum_{i \text{ above } k} w_i w_k}

        where c is the scaled curvature per unit of weight at equal scores, the mean over the rows
        of one relevance in a query: with a pairwise loss these have the same.

        Parameters
        ----------
        rows : Rows
            The rows of this objective; there is a pair among them.
        """
        curvature = self.evaluate(np.zeros(self.n_rows))[2]
        with np.errstate(over="ignore", invalid="ignore"):
            mean = _mean_larger(curvature, rows.preferences)
        return float(np.fmin(mean, _LARGEST_UNIT))  # also for NaN, infinity less infinity

    def _restored(self, values: Floats) -> Floats:
        if self.order is None:
            return values
        restored = np.zeros(self.n_rows)
        restored[self.order] = values
        return restored


def _mean_larger(values: Floats, preferences: Preferences) -> float:
    """Return the mean over pairs of the larger of both levels' values per unit of weight.

    Both rows of a pair count as their levels, whose weights and values every process knows.
    """
    if isinstance(preferences, GivenPairs):
        return mean_of_larger(values / preferences.weight, preferences)
    levels = preferences.merged(preferences.spread(np.arange(preferences.segments.n_groups)))
    level_value = preferences.reduce(np.add, values[preferences.order]) / levels.weight
    # max(a, b) = a + max(b - a, 0): a hinge loss of the pairs.
    excess = PairLoss(levels, "hinge").heights(level_value, levels.weight, "top", -1.0)
    value_above = levels.paired_weight("bottom") * level_value
    weighted_sum = float(levels.lists.total(float(levels.weight @ (value_above + excess))))
    return weighted_sum / levels.total_pair_weight


def _no_pair(loss: Any) -> ValueError:
    return ValueError(f"loss={loss!r} has nothing to minimise: no row is comparable to another.")


def _pose_pairs(
    loss: Any, p: float, push: str, rows: Rows, query_weight: Floats | None
) -> tuple[Derivatives, Indices]:
    """Return derivatives and order of a push of a margin loss."""
    preferences = rows.preferences
    if query_weight is not None:
        if push == "ir":
            raise ValueError("push='ir' does not support query weights: use row weights.")
        # A term of a query is of this degree in the weights of its rows.
        degree = 1 + p if push == "crucial_pairs" else 2
        preferences = replace(rows, weight=rows.weight * query_weight ** (1 / degree)).preferences
    if not rows.largest(float(preferences.is_paired.any())):
        raise _no_pair(loss)
    margin_loss: Any = as_margin_loss(loss)
    if hasattr(margin_loss, "single_precision"):
        margin_loss = margin_loss.single_precision()
    is_unweighted = query_weight is None
    bottom_weight = 1.0 if is_unweighted else _bottom_weight(p, rows.preferences, preferences)
    objective: Any = make_push(preferences, margin_loss, p, push, bottom_weight)
    derivatives = getattr(objective, "value_gradient_curvature", None)
    return derivatives or objective.value_gradient_slopes, preferences.order


def _bottom_weight(p: float, plain: Preferences, weighted: Preferences) -> float:
    """Return the weight at which ``push="both"`` balances the sides as with `plain` weights.

    Each side has the factor ``(max N)^(p - 1)``. Copies of a query do not change it, but weights in
    place of the copies do.
    """
    largest = [
        [float(preferences.paired_weight(side).max()) for side in ("top", "bottom")]
        for preferences in (plain, weighted)
    ]
    (top, bottom), (weighted_top, weighted_bottom) = np.log(largest)
    exponent = (p - 1) * ((bottom - weighted_bottom) - (top - weighted_top))
    return float(np.exp(np.clip(exponent, -_LARGEST_EXPONENT, _LARGEST_EXPONENT)))


def _pose_lists(
    loss: Any, rows: Rows, query_weight: Floats | None
) -> tuple[Derivatives, Indices | None, Floats]:
    """Return derivatives, order and weights of the queries, by row."""
    lists = Queries.from_codes(rows.qid, len(rows.y))
    y, weight = lists.sort(rows.y).astype(np.float64), lists.sort(rows.weight)
    objective = ListLoss(lists, as_listwise_loss(loss), y, weight, rows)
    require(objective.loss, "curvature", "A fit of trees")
    share = np.ones(1) if query_weight is None else lists.sort(query_weight)
    return objective.value_gradient_curvature, lists.order, share
