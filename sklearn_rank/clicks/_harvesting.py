"""Propensities from groups of equally relevant rows shown at several positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.clicks._maximisation import LogCells

_PRIOR_IMPRESSIONS = 0.5
"""Impressions without a click added to each pair of positions, so that no rate is 1."""

_MOST_STEPS, _MOST_HALVINGS, _LONGEST_STEP = 60, 40, 2.0
"""Bounds of Newton's method: steps, halvings of a step, and change of a log parameter."""


def pair_counts(
    n_impressions: Floats, clicked: Floats, starts: Any = (0,)
) -> tuple[Floats, Floats]:
    r"""Return clicks and impressions per pair of positions, groups weighing the same at both.

    .. math:: C_{kk'} = \sum_g \frac{n_{gk'}}{n_{gk} + n_{gk'}} c_{gk}, \qquad
        N_{kk'} = \sum_g \frac{n_{gk} n_{gk'}}{n_{gk} + n_{gk'}}

    where n and c are the impressions and clicks of group g at a position.

    Parameters
    ----------
    n_impressions, clicked : ndarray of shape (n_groups, n_positions)
        n and c.
    starts : array-like of shape (n_parts,), default=(0,)
        The first group of each part; each part has its own sums.

    Returns
    -------
    clicks, impressions : ndarray of shape (n_parts, n_positions, n_positions)
        C and N, with 0 on the diagonal.
    """
    n_positions = n_impressions.shape[1]
    clicks, impressions = np.zeros((2, len(starts), n_positions, n_positions))
    for k in range(n_positions if len(n_impressions) else 0):
        at_both = n_impressions[:, [k]] + n_impressions
        share = np.divide(n_impressions, at_both, out=np.zeros_like(at_both), where=at_both > 0)
        share[:, k] = 0
        clicks[:, k] = np.add.reduceat(clicked[:, [k]] * share, starts, axis=0)
        impressions[:, k] = np.add.reduceat(n_impressions[:, [k]] * share, starts, axis=0)
    return clicks, impressions


@dataclass(frozen=True, eq=False)
class Interventions:
    """The groups of a click log that were shown at two or more positions.

    Attributes
    ----------
    cells : LogCells
        Their counts.
    n_positions : int
        Number of positions.
    """

    cells: LogCells
    n_positions: int

    @classmethod
    def of(cls, cells: LogCells, n_positions: int) -> Interventions:
        """Return the interventions of a log."""
        n_impressions, _ = cells.by_group(np.ones(cells.n_queries), n_positions)
        is_moved = (n_impressions > 0).sum(axis=1) > 1
        code, is_kept = np.cumsum(is_moved) - 1, is_moved[cells.group]
        ids = cells.query[is_kept], code[cells.group[is_kept]], cells.position[is_kept]
        counts = cells.n_impressions[is_kept], cells.clicked[is_kept]
        moved_cells = LogCells(*ids, *counts, cells.n_queries, int(is_moved.sum()))
        return cls(moved_cells, n_positions)

    @cached_property
    def _by_query(self) -> tuple[Indices, Floats, Floats] | None:
        """The query of each group, and the counts; None if a group has several queries.

        The weight of a query multiplies the counts of its groups, so that sums are linear in it.
        """
        cells = self.cells
        query = np.full(cells.n_groups, -1)
        query[cells.group] = cells.query
        if (query[cells.group] != cells.query).any():
            return None
        n_impressions, clicked = cells.by_group(np.ones(cells.n_queries), self.n_positions)
        order = np.argsort(query, kind="stable")
        queries, starts = np.unique(query[order], return_index=True)
        return queries, *pair_counts(n_impressions[order], clicked[order], starts)

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return clicks and impressions per pair of positions, given query weights.

        Of shape (n_samples, n_positions, n_positions) for weights (n_samples, n_queries).
        """
        if self._by_query is not None:  # all samples at once
            queries, clicks, impressions = self._by_query
            weights = weights[:, queries]
            return np.tensordot(weights, clicks, 1), np.tensordot(weights, impressions, 1)
        counts = [pair_counts(*self.cells.by_group(w, self.n_positions)) for w in weights]
        clicks, impressions = map(np.concatenate, zip(*counts, strict=True))
        return clicks, impressions

    @property
    def n_impressions(self) -> Floats:
        """Impressions per pair of positions: at the first, of groups also shown at the second."""
        n_impressions, _ = self.cells.by_group(np.ones(self.cells.n_queries), self.n_positions)
        impressions = n_impressions.T @ (n_impressions > 0)
        np.fill_diagonal(impressions, 0)
        return np.asarray(impressions)


def all_pairs(clicks: Floats, impressions: Floats) -> Floats:
    r"""Return the maximum-likelihood propensities of pairs of positions.

    .. math:: \max_{\theta, \gamma} \sum_{k \ne k'} C_{kk'} \log(\theta_k \gamma_{kk'})
        + (N_{kk'} - C_{kk'}) \log(1 - \theta_k \gamma_{kk'}),
        \qquad \gamma_{kk'} = \gamma_{k'k}, \quad \theta_1 = 1

    with half an impression without a click added to each N, so that no rate is 1. The likelihood
    is concave in the logarithms of the parameters; Newton's method with step halving finds its
    maximum.

    Parameters
    ----------
    clicks, impressions : ndarray of shape (n_positions, n_positions)
        C and N.

    Returns
    -------
    ndarray of shape (n_positions,)
        The propensities relative to the first; NaN at positions not connected to the first.

    References
    ----------
    AgarwalHarvest2019 (AllPairs).
    """
    position_a, position_b = np.nonzero(np.triu(clicks + clicks.T, 1) > 0)
    n_positions, n_pairs = len(clicks), len(position_a)
    # A binomial model with two rows for each pair, one at each of its positions. The parameters
    # are log theta of positions 2, 3, ... and log gamma of the pairs.
    position, pair = np.concatenate([position_a, position_b]), np.tile(np.arange(n_pairs), 2)
    design = np.zeros((2 * n_pairs, n_positions - 1 + n_pairs))
    row = np.arange(2 * n_pairs)
    design[row[position > 0], position[position > 0] - 1] = 1
    design[row, n_positions - 1 + pair] = 1
    cell = position, np.concatenate([position_b, position_a])
    events = clicks[cell]
    trials = np.maximum(impressions[cell], events) + _PRIOR_IMPRESSIONS
    # Start with theta = 1, and gamma the click rate of each pair.
    start, shape = np.zeros(design.shape[1]), (2, n_pairs)
    rate = np.maximum(events.reshape(shape).sum(0), 1e-12) / trials.reshape(shape).sum(0)
    start[n_positions - 1 :] = np.log(np.minimum(rate, 0.5))
    parameters = _most_likely(design, events, trials, start)
    component = components(clicks + clicks.T)
    theta = np.exp([0.0, *parameters[: n_positions - 1]])
    return np.where(component == component[0], theta, np.nan)


def components(counts: Floats) -> Indices:
    """Return the connected component of each position; edges are pairs with counts at both."""
    graph = csr_array((counts > 0) & (counts.T > 0))
    return np.asarray(connected_components(graph, directed=False)[1])


def _likelihood(log_rate: Floats, events: Floats, trials: Floats) -> float:
    """Return the log likelihood; minus infinity where a rate is 1 or more."""
    if (log_rate >= 0).any():
        return -np.inf
    return float((events * log_rate + (trials - events) * np.log1p(-np.exp(log_rate))).sum())


def _most_likely(design: Floats, events: Floats, trials: Floats, start: Floats) -> Floats:
    """Return the parameters of a binomial model with logarithmic link, by Newton steps."""
    parameters, value = start, _likelihood(design @ start, events, trials)
    for _ in range(_MOST_STEPS):
        rate = np.exp(design @ parameters)
        odds = rate / (1 - rate)
        gradient = design.T @ (events - (trials - events) * odds)
        curvature = (trials - events) * odds / (1 - rate)
        hessian = design.T @ (curvature[:, np.newaxis] * design)
        # A small ridge, for positions that no pair connects: their Hessian is singular.
        hessian[np.diag_indices_from(hessian)] += 1e-10 * max(float(np.trace(hessian)), 1e-300)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, _LONGEST_STEP / np.abs(step).max(initial=1e-300))
        for _ in range(_MOST_HALVINGS):
            new_value = _likelihood(design @ (parameters + step), events, trials)
            if new_value >= value:
                break
            step = step / 2
        else:
            break
        parameters, value = parameters + step, new_value
        if np.abs(step).max(initial=0) < 1e-10:
            break
    return parameters
