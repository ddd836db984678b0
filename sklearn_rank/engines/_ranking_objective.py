"""Ranking objectives in the form that XGBoost and LightGBM expect."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    Choice,
    Number,
    check_parameters,
    check_relevance,
    check_weight,
)
from sklearn_rank.engines.posed_objective import PosedObjective, check_loss, is_listwise
from sklearn_rank.objectives import PUSHES
from sklearn_rank.objectives.listwise import check_grades


class _Labels(NamedTuple):
    """The arrays besides scores that a library passes; None for those that it does not have.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Relevance.
    weight : ndarray of shape (n_rows,) or (n_queries,) or None
        Weights of rows or, as XGBoost keeps them beside queries, of queries.
    group : ndarray of shape (n_queries,) or None
        Number of rows of each query.
    """

    y: Values
    weight: Values | None
    group: Values | None

    @classmethod
    def of(cls, y: Any, weight: Any, group: Any) -> _Labels:
        """Take arrays; empty ones count as None."""
        if weight is not None and not np.iterable(weight):
            weight = np.repeat(weight, len(y))
        arrays = (None if x is None or not len(x) else np.asarray(x) for x in (weight, group))
        return cls(np.asarray(y), *arrays)

    def equals(self, other: _Labels) -> bool:
        """Whether all arrays are equal."""
        array_pairs: Any = zip(self, other, strict=True)
        return all(np.array_equal(*pair) for pair in array_pairs)

    def query_codes(self) -> Indices | None:
        """Return the query of each row."""
        if self.group is None:
            return None
        if self.group.sum() != len(self.y):
            raise ValueError(
                f"group of RankingObjective must sum to the number of rows, {len(self.y)}. "
                f"Got {self.group.sum()}."
            )
        return np.repeat(np.arange(len(self.group)), self.group.astype(np.intp))


@dataclass(unsafe_hash=True)
class RankingObjective:
    r"""A custom ranking objective for XGBoost and LightGBM: an exact loss over all pairs.

    It sums over all pairs of one long list, or of the rows of each query, at a cost that grows with
    the number of rows, not of pairs; with ``p > 1``, errors at the top of the list count more. Pass
    it instead of the name of an objective, in any of five interfaces:

    - ``xgboost.train(params, dmatrix, obj=RankingObjective())``;
    - ``xgboost.XGBRegressor(objective=RankingObjective())``;
    - ``lightgbm.train({"objective": RankingObjective()}, dataset)``;
    - ``lightgbm.LGBMRegressor(objective=RankingObjective())``;
    - ``lightgbm.LGBMRanker(objective=RankingObjective())``.

    The label is the relevance: two classes or grades. Queries and weights come from the data of
    each interface; without queries, as in both regressors, all rows are one list.
    `sklearn_rank.BoostedTreesRanker` is an estimator with this objective and further losses.

    With :math:`L` the objective and f the scores, the engines get

    .. math:: g_i = \kappa \frac{\partial L}{\partial f_i}, \qquad
        h_i = \kappa \, c_i, \qquad
        \kappa = \frac{n}{4 \sum_i c_i(0)}

    where

    - c are second derivatives :math:`\partial^2 L / \partial f_i^2`, or the surrogate below;
    - n is the number of rows that belong to any pair (of a listwise loss: to a query with other
      rows), weights as multiplicities.

    The mean curvature of a row is thus 1/4 at equal scores, as with the log-loss, so
    ``min_child_weight``, ``min_sum_hessian_in_leaf`` and ``reg_lambda`` have the same scale.
    :math:`\kappa` depends on the data alone and is the same in every round: for
    ``loss="exponential", p=1`` it is n/8.

    Parameters
    ----------
    loss : str, MarginLoss or ListwiseLoss, default="logistic"
        Pairwise: "exponential", "least_squares", "hinge", "squared_hinge", "logistic" or your own
        `MarginLoss`. Listwise: "cross_entropy", "smoothed_dcg" or your own `ListwiseLoss`, which
        needs `curvature`.
    p : float in [1, inf), default=1.0
        How strongly the loss focuses on the top of the list. 1 treats all pairs alike. Flexible
        models seldom gain from p > 1: choose p by validation. Must be 1 for listwise losses.
    push : {"top", "crucial_pairs", "bottom", "both", "ir"}, default="top"
        Which end of the list p emphasises: "top", "crucial_pairs" (the top, by the plain sum of
        Rudin2009, sec. 7, without the factor of `PNormPushRanker`), "bottom" (the lowest of the
        rows that belong at the top cost most) or "both". "ir", the information retrieval push, does
        not depend on p and needs ``loss="exponential"``.

    Raises
    ------
    ValueError
        If a parameter is invalid; in a call, if no rows are comparable, the arrays do not match or
        a score is not finite.

    Notes
    -----
    The curvature c is, for each kind of objective:

    - pairwise losses at p = 1: the diagonal of the Hessian; for the squared hinge loss the
      bound 2 of its second derivative, for the exponential loss the bound of `SidePush`
      (the objective is the logarithm of the sum, so that nothing overflows);
    - the hinge loss and other losses without second derivatives: each pair counts with the
      absolute slope of its loss, as `MarginPush.value_gradient_slopes` says;
    - p > 1: the bounds of `SidePush`, `BothPush` and `MarginPush`, which are positive where
      the diagonal of the Hessian may be too small for a step;
    - "cross_entropy": the diagonal of the Hessian; "smoothed_dcg", which is not convex: the
      bound of `SmoothedDcg`.

    The first call sorts and groups the arrays and computes the scale; later calls do so only if
    labels, weights or queries have changed. So create a new `RankingObjective` if you change your
    own loss. Copies and pickles hold parameters only.

    With queries, XGBoost keeps one weight per query: a query of weight 2 counts as two copies.
    LightGBM keeps row weights, which are multiplicities.

    References
    ----------
    Rudin2009, sec. 2 (the push). Freund2003, Figure 1 (the exponential loss of all pairs).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.engines import RankingObjective
    >>> objective = RankingObjective("exponential")
    >>> gradient, curvature = objective(np.array([1.0, 0.0, 0.0]), np.zeros(3))
    >>> gradient.tolist()  # the one row above is in as many pairs as the two below together
    [-0.375, 0.1875, 0.1875]
    >>> float(curvature.mean())
    0.25
    """

    loss: Any = "logistic"
    _: KW_ONLY
    p: float = 1.0
    push: str = "top"
    _cache: Any = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parameters = {"p": self.p, "push": self.push}
        name = type(self).__name__
        check_parameters(name, parameters, {"p": Number(1), "push": Choice(tuple(PUSHES))})
        check_loss(name, self.loss, self.p, self.push)

    def __call__(
        self, y_true: Any, y_pred: Any, sample_weight: Any = None, group: Any = None
    ) -> tuple[Floats, Floats]:
        """Return gradient and curvature at some scores.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Relevance; in the interfaces with two arguments the scores.
        y_pred : array-like of shape (n_samples,), DMatrix or Dataset
            Scores; in those the data of XGBoost or LightGBM, with labels, weights and queries.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        group : array-like of shape (n_queries,), default=None
            Number of rows of each query; the rows of a query are consecutive.

        Returns
        -------
        gradient, curvature : ndarray of float32 of shape (n_samples,)
            As in the class description.
        """
        if hasattr(y_pred, "get_label"):
            scores, data = y_true, y_pred
            rows = _Labels.of(data.get_label(), data.get_weight(), data.get_group())
        else:
            scores, rows = y_pred, _Labels.of(y_true, sample_weight, group)
        scores = np.asarray(scores)
        if scores.shape != rows.y.shape or not np.isfinite(scores).all():
            n_bad = np.count_nonzero(~np.isfinite(scores))
            raise ValueError(
                f"RankingObjective needs a finite score for each of the {len(rows.y)} rows. Got "
                f"scores of shape {scores.shape}, {n_bad} of them NaN or infinite; if the steps of "
                "the trees are too large, lower the learning rate."
            )
        _, gradient, curvature = self._posed(rows).evaluate(scores)
        return gradient.astype(np.float32), curvature.astype(np.float32)

    def _posed(self, rows: _Labels) -> PosedObjective:
        """Return the objective of the rows: the last one, if they are the same."""
        settings = self.loss, self.p, self.push
        if self._cache is None or self._cache[0] != settings or not rows.equals(self._cache[1]):
            # Copies: the caller may write into its arrays.
            self._cache = settings, deepcopy(rows), self._pose(rows)
        return self._cache[2]

    def _pose(self, rows: _Labels) -> PosedObjective:
        y, codes = check_relevance(rows.y, "The relevance of RankingObjective"), rows.query_codes()
        if is_listwise(self.loss):
            check_grades(self.loss, float(np.max(y)), type(self).__name__)
        weight: Floats = np.ones(len(y))
        query_weight = None
        if rows.weight is not None:
            weight = check_weight(rows.weight, len(rows.weight))
            if codes is not None and rows.group is not None and len(weight) == len(rows.group):
                weight, query_weight = np.ones(len(y)), weight[codes]
        if len(weight) != len(y):
            raise ValueError(
                f"RankingObjective needs a weight for each of the {len(y)} rows, or for "
                f"each query. Got {len(weight)} weights."
            )
        is_used = weight > 0 if query_weight is None else query_weight > 0
        return PosedObjective.pose(
            self.loss,
            self.p,
            self.push,
            Rows(None, y, codes, weight).take(np.flatnonzero(is_used)),
            None if query_weight is None else query_weight[is_used],
        ).among(is_used)

    def __getstate__(self) -> dict[str, Any]:
        """Return the parameters."""
        return {"loss": self.loss, "p": self.p, "push": self.push}
