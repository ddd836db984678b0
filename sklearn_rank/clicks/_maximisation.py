"""A click log summed up by group and position, and its propensities by expectation maximisation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank._warnings import warn


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
        rows = np.column_stack([query, group, position])
        found, code = np.unique(rows, axis=0, return_inverse=True)
        code = code.ravel()
        shown: Floats = np.bincount(code).astype(np.float64)
        clicked = np.bincount(code, clicks, len(found)).astype(np.float64)
        sizes = int(query.max()) + 1, int(group.max()) + 1
        columns = found[:, 0], found[:, 1], found[:, 2]
        return cls(*columns, shown, clicked, *sizes)

    def by_group(self, weight: Floats, n_positions: int) -> tuple[Floats, Floats]:
        """Return impressions and clicks by group and position, given weights of the queries."""
        shape = self.n_groups, n_positions
        cell = self.group * n_positions + self.position
        of_cell = weight[self.query]
        shown = np.bincount(cell, of_cell * self.shown, shape[0] * shape[1])
        clicked = np.bincount(cell, of_cell * self.clicked, shape[0] * shape[1])
        return np.asarray(shown.reshape(shape)), np.asarray(clicked.reshape(shape))


def maximised(
    cells: Cells,
    weight: Floats,
    n_positions: int,
    max_iter: int,
    tol: float,
    start: Floats | None,
) -> Floats:
    r"""Return the propensities of the largest likelihood of all clicks.

    With examined and attractive as hidden variables, whose conditional probabilities without a
    click are

    .. math:: P(\text{examined}) = \frac{\theta (1 - \gamma)}{1 - \theta \gamma}, \qquad
        P(\text{attractive}) = \frac{\gamma (1 - \theta)}{1 - \theta \gamma},

    each iteration sets :math:`\theta_k` to the mean probability of having been examined over the
    impressions at position k, and :math:`\gamma` to that of being attractive over those of a group
    (WangEM2018).

    Parameters
    ----------
    cells : Cells
        The log.
    weight : ndarray of shape (n_queries,)
        Weights of the queries.
    n_positions, max_iter, tol
        As in `PositionPropensity`.
    start : ndarray of shape (n_positions,) or None
        Where to start; None: in proportion to the clicks.
    """
    shown, clicked = weight[cells.query] * cells.shown, weight[cells.query] * cells.clicked
    position, group = cells.position, cells.group
    n_shown = np.maximum(np.bincount(position, shown, n_positions), 1e-300)
    n_group = np.maximum(np.bincount(group, shown, cells.n_groups), 1e-300)
    theta: Floats = np.bincount(position, clicked, n_positions) / n_shown
    theta = np.asarray(np.clip(theta / theta.max(), 1e-6, 1) * 0.9) if start is None else start
    gamma = np.clip(np.bincount(group, clicked, cells.n_groups) / n_group, 0.01, 0.99)
    for _ in range(max_iter):
        examined, attractive = theta[position], gamma[group]
        without = (shown - clicked) / np.maximum(1 - examined * attractive, 1e-12)
        looked = clicked + without * examined * (1 - attractive)
        liked = clicked + without * attractive * (1 - examined)
        former, theta = theta, np.bincount(position, looked, n_positions) / n_shown
        gamma = np.bincount(group, liked, cells.n_groups) / n_group
        if np.abs(theta - former).max(initial=0) <= tol * theta.max():
            return np.asarray(theta)
    warn(
        f"PositionPropensity(method='em') stopped after {max_iter} iterations before tol={tol:g}. "
        "Increase max_iter.",
        ConvergenceWarning,
    )
    return np.asarray(theta)
