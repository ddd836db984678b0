"""A click log summed up by group and position, and its propensities by expectation maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.warnings import warn

_NONE = 1e-300
"""No impressions, where they divide."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Impressions of one query, group and position, summed up.

    Attributes
    ----------
    query, group, position : ndarray of shape (n_cells,)
        Their codes 0, 1, ...
    shown, clicked : ndarray of shape (n_cells,)
        Number of impressions and of clicks.
    n_queries, n_groups : int
        Number of codes.
    """

    query: Indices
    group: Indices
    position: Indices
    shown: Floats
    clicked: Floats
    n_queries: int
    n_groups: int

    @classmethod
    def of(cls, clicks: Mask, position: Indices, group: Indices, query: Indices) -> Cells:
        """Sum up rows of a log."""
        sizes = int(query.max()) + 1, int(group.max()) + 1
        n_positions = int(position.max()) + 1
        # One number for each cell is sorted ten times as fast as three; pairs of codes that there
        # are come first, for the product of all three sizes could overflow.
        pairs, pair = np.unique(query * sizes[1] + group, return_inverse=True)
        found, code = np.unique(pair.ravel() * n_positions + position, return_inverse=True)
        shown: Floats = np.bincount(code.ravel()).astype(np.float64)
        clicked = np.bincount(code.ravel(), clicks, len(found)).astype(np.float64)
        of_pair = pairs[found // n_positions]
        columns = of_pair // sizes[1], of_pair % sizes[1], found % n_positions
        return cls(*columns, shown, clicked, *sizes)

    def by_group(self, weight: Floats, n_positions: int) -> tuple[Floats, Floats]:
        """Return impressions and clicks by group and position, given weights of the queries."""
        shape = self.n_groups, n_positions
        cell = self.group * n_positions + self.position
        of_cell = weight[self.query]
        shown = np.bincount(cell, of_cell * self.shown, shape[0] * shape[1])
        clicked = np.bincount(cell, of_cell * self.clicked, shape[0] * shape[1])
        return np.asarray(shown.reshape(shape)), np.asarray(clicked.reshape(shape))


Attraction = Callable[[Floats, Floats], Floats]
"""Maps the expected number of times that each group was attractive, and the number of impressions,
to the probability of a click on a row of the group that is seen."""


def by_regression(regression: Any, X: Any) -> Attraction:
    """Return attraction as a function of features: the probability of class 1 by a classifier.

    Each row of X is there twice, as attractive and as not, with the expected numbers as weights.

    Parameters
    ----------
    regression : classifier
        Its `fit` takes sample_weight; it is cloned.
    X : {array, sparse matrix} of shape (n_groups, n_features)
        Features of the groups.
    """

    def fitted(liked: Floats, shown: Floats) -> Floats:
        rows = np.flatnonzero(shown > 0)
        y = np.repeat([1, 0], len(rows))
        weight = np.concatenate([liked[rows], np.maximum(shown - liked, 0)[rows]])
        twice = np.tile(rows, 2)[weight > 0]
        model = clone(regression).fit(X[twice], y[weight > 0], sample_weight=weight[weight > 0])
        # Above 0: a click on a row that can't be attractive would have no explanation.
        return np.asarray(np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6))

    return fitted


def maximised(
    cells: Cells,
    weight: Floats,
    n_positions: int,
    max_iter: int,
    tol: float,
    attraction: Attraction | None,
) -> Floats:
    r"""Return the propensities of the largest likelihood of all clicks.

    With examined and attractive as hidden variables, whose conditional probabilities without a
    click are

    .. math:: P(\text{examined}) = \frac{\theta (1 - \gamma)}{1 - \theta \gamma}, \qquad
        P(\text{attractive}) = \frac{\gamma (1 - \theta)}{1 - \theta \gamma},

    each iteration sets :math:`\theta_k` to the mean probability of having been examined over the
    impressions at position k, and :math:`\gamma` to that of being attractive over those of a group
    (WangEM2018). It starts in proportion to the clicks at each position.

    Parameters
    ----------
    cells : Cells
        The log.
    weight : ndarray of shape (n_queries,)
        Weights of the queries.
    n_positions, max_iter, tol
        As in `PositionPropensity`.
    attraction : callable or None
        How the probabilities of groups follow from those of their impressions: a regression. None:
        one for each group, the mean.

    Returns
    -------
    ndarray of shape (n_positions,)
        The propensities; NaN at positions that the weights leave without impressions, and at all
        without a click.
    """
    shown, clicked = weight[cells.query] * cells.shown, weight[cells.query] * cells.clicked
    position, group = cells.position, cells.group
    if not clicked.any():
        return np.full(n_positions, np.nan)
    n_shown = np.maximum(np.bincount(position, shown, n_positions), _NONE)
    n_group = np.maximum(np.bincount(group, shown, cells.n_groups), _NONE).astype(np.float64)
    theta: Floats = np.bincount(position, clicked, n_positions) / n_shown
    theta = np.asarray(np.clip(theta / theta.max(), 1e-6, 1) * 0.9)
    gamma: Floats = np.bincount(group, clicked, cells.n_groups) / n_group
    gamma = np.asarray(np.clip(gamma, 0.01, 0.99))
    for _ in range(max_iter):
        examined, attractive = theta[position], gamma[group]
        without = (shown - clicked) / np.maximum(1 - examined * attractive, 1e-12)
        looked = clicked + without * examined * (1 - attractive)
        liked = clicked + without * attractive * (1 - examined)
        former, theta = theta, np.bincount(position, looked, n_positions) / n_shown
        of_group: Floats = np.bincount(group, liked, cells.n_groups).astype(np.float64)
        gamma = of_group / n_group if attraction is None else attraction(of_group, n_group)
        if np.abs(theta - former).max(initial=0) <= tol * theta.max():
            break
    else:
        warn(
            f"PositionPropensity(method='em') stopped after {max_iter} iterations before "
            f"tol={tol:g}. Increase max_iter.",
            ConvergenceWarning,
        )
    return np.where(n_shown > _NONE, theta, np.nan)
