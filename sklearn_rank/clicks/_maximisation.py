"""Counts of a click log by group and position, and propensities by expectation maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.warnings import warn

_NO_IMPRESSIONS = 1e-300
"""Divisor instead of zero impressions."""


@dataclass(frozen=True, eq=False)
class LogCells:
    """Counts of a click log: a cell is a query, a group and a position.

    Attributes
    ----------
    query, group, position : ndarray of shape (n_cells,)
        Codes 0, 1, ... of each cell.
    n_impressions, clicked : ndarray of shape (n_cells,)
        Number of impressions and of clicks.
    n_queries, n_groups : int
        Number of codes.
    """

    query: Indices
    group: Indices
    position: Indices
    n_impressions: Floats
    clicked: Floats
    n_queries: int
    n_groups: int

    @classmethod
    def of(cls, clicks: Mask, position: Indices, group: Indices, query: Indices) -> LogCells:
        """Count the rows of a log."""
        sizes = int(query.max()) + 1, int(group.max()) + 1
        n_positions = int(position.max()) + 1
        # One code for each cell sorts ten times as fast as three columns. Pairs come first: the
        # product of all three sizes could overflow.
        query_groups, pair = np.unique(query * sizes[1] + group, return_inverse=True)
        cells, cell = np.unique(pair.ravel() * n_positions + position, return_inverse=True)
        n_impressions: Floats = np.bincount(cell.ravel()).astype(np.float64)
        clicked = np.bincount(cell.ravel(), clicks, len(cells)).astype(np.float64)
        pair_codes = query_groups[cells // n_positions]
        columns = pair_codes // sizes[1], pair_codes % sizes[1], cells % n_positions
        return cls(*columns, n_impressions, clicked, *sizes)

    def by_group(self, weight: Floats, n_positions: int) -> tuple[Floats, Floats]:
        """Return impressions and clicks by group and position, given query weights."""
        code = self.group * n_positions + self.position
        cell_weight, n_codes = weight[self.query], self.n_groups * n_positions
        n_impressions: Any = np.bincount(code, cell_weight * self.n_impressions, n_codes)
        clicked: Any = np.bincount(code, cell_weight * self.clicked, n_codes)
        return n_impressions.reshape(-1, n_positions), clicked.reshape(-1, n_positions)


Attraction = Callable[[Floats, Floats], Floats]
"""Returns the click probability of an examined row of each group, from the expected number of
impressions at which the group was attractive, and the number of impressions."""


def by_regression(regression: Any, X: Any) -> Attraction:
    """Return the attraction that a classifier predicts from features: the M-step of WangEM2018.

    The classifier is fitted to each row of X twice, as attractive and as not, with the expected
    numbers of both as weights.

    Parameters
    ----------
    regression : classifier
        Its `fit` takes sample_weight; it is cloned.
    X : {array, sparse matrix} of shape (n_groups, n_features)
        Features of the groups.
    """

    def predicted(attractive: Floats, n_impressions: Floats) -> Floats:
        rows = np.flatnonzero(n_impressions > 0)
        y = np.repeat([1, 0], len(rows))
        weight = np.concatenate([attractive[rows], np.maximum(n_impressions - attractive, 0)[rows]])
        has_weight = weight > 0
        model = clone(regression)
        model.fit(X[np.tile(rows, 2)[has_weight]], y[has_weight], sample_weight=weight[has_weight])
        # Not 0: a row that is never attractive could not be clicked.
        return np.asarray(np.clip(model.predict_proba(X)[:, 1], 1e-6, 1 - 1e-6))

    return predicted


def maximise_likelihood(
    cells: LogCells,
    weight: Floats,
    n_positions: int,
    max_iter: int,
    tol: float,
    attraction: Attraction | None,
) -> Floats:
    r"""Return the maximum-likelihood propensities of all clicks.

    The hidden variables are whether a row was examined, and whether it was attractive. Without a
    click their conditional probabilities are

    .. math:: P(\text{examined}) = \frac{\theta (1 - \gamma)}{1 - \theta \gamma}, \qquad
        P(\text{attractive}) = \frac{\gamma (1 - \theta)}{1 - \theta \gamma}.

    Each iteration sets :math:`\theta_k` to the mean probability of being examined over the
    impressions at position k, and :math:`\gamma` to the mean probability of being attractive over
    those of a group (WangEM2018). It starts with the click rate of each position.

    Parameters
    ----------
    cells : Cells
        The log.
    weight : ndarray of shape (n_queries,)
        Weights of the queries.
    n_positions, max_iter, tol
        As in `PositionPropensity`.
    attraction : callable or None
        The regression that predicts :math:`\gamma` of all groups; None: the mean of each group.

    Returns
    -------
    ndarray of shape (n_positions,)
        The propensities; NaN at positions without weighted impressions, and at all positions
        without a click.
    """
    n_impressions, clicked = weight[cells.query] * (cells.n_impressions, cells.clicked)
    position, group = cells.position, cells.group
    if not clicked.any():
        return np.full(n_positions, np.nan)
    n_shown = np.maximum(np.bincount(position, n_impressions, n_positions), _NO_IMPRESSIONS)
    n_group: Any = np.maximum(np.bincount(group, n_impressions, cells.n_groups), _NO_IMPRESSIONS)
    theta: Floats = np.bincount(position, clicked, n_positions) / n_shown
    theta = np.asarray(np.clip(theta / theta.max(), 1e-6, 1) * 0.9)
    gamma: Floats = np.bincount(group, clicked, cells.n_groups) / n_group
    gamma = np.asarray(np.clip(gamma, 0.01, 0.99))
    for _ in range(max_iter):
        # E-step: the expected numbers of examined, and of attractive, impressions of each cell.
        theta_of_cell, gamma_of_cell = theta[position], gamma[group]
        unclicked = (n_impressions - clicked) / np.maximum(1 - theta_of_cell * gamma_of_cell, 1e-12)
        examined = clicked + unclicked * theta_of_cell * (1 - gamma_of_cell)
        attractive = clicked + unclicked * gamma_of_cell * (1 - theta_of_cell)
        # M-step: their means.
        last_theta, theta = theta, np.bincount(position, examined, n_positions) / n_shown
        n_attractive: Floats = np.bincount(group, attractive, cells.n_groups).astype(np.float64)
        gamma = n_attractive / n_group if attraction is None else attraction(n_attractive, n_group)
        if np.abs(theta - last_theta).max(initial=0) <= tol * theta.max():
            break
    else:
        warn(
            f"PositionPropensity(method='em') stopped after {max_iter} iterations before "
            f"tol={tol:g}. Increase max_iter.",
            ConvergenceWarning,
        )
    return np.where(n_shown > _NO_IMPRESSIONS, theta, np.nan)
