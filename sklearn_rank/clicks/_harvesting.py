"""Propensities from groups of equally relevant rows that were shown at several positions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.clicks._maximisation import Cells

_ADDED = 0.5
"""Impressions without a click that are added to each pair of positions."""

_MOST_STEPS, _MOST_HALVINGS, _LONGEST_STEP = 60, 40, 2.0


def pair_counts(shown: Floats, clicked: Floats, starts: Any = (0,)) -> tuple[Floats, Floats]:
    r"""Return clicks and impressions by pair of positions, groups weighted alike on both sides.

    .. math:: C_{kk'} = \sum_g \frac{n_{gk'}}{n_{gk} + n_{gk'}} c_{gk}, \qquad
        N_{kk'} = \sum_g \frac{n_{gk} n_{gk'}}{n_{gk} + n_{gk'}}

    where n and c are the impressions and clicks of group g at a position.

    Parameters
    ----------
    shown, clicked : ndarray of shape (n_groups, n_positions)
        n and c.
    starts : array-like of shape (n_parts,), default=(0,)
        The first group of each part; parts are summed apart.

    Returns
    -------
    clicks, impressions : ndarray of shape (n_parts, n_positions, n_positions)
        C and N, with 0 on the diagonal.
    """
    n_positions = shown.shape[1]
    clicks, impressions = np.zeros((2, len(starts), n_positions, n_positions))
    for k in range(n_positions if len(shown) else 0):
        both = shown[:, [k]] + shown
        share = np.divide(shown, both, out=np.zeros_like(shown), where=both > 0)
        share[:, k] = 0
        clicks[:, k] = np.add.reduceat(clicked[:, [k]] * share, starts, axis=0)
        impressions[:, k] = np.add.reduceat(shown[:, [k]] * share, starts, axis=0)
    return clicks, impressions


@dataclass(frozen=True, eq=False)
class Interventions:
    """The groups of a log that were shown at two positions or more.

    Attributes
    ----------
    cells : Cells
        The log.
    n_positions : int
        Number of positions.
    """

    cells: Cells
    n_positions: int

    @classmethod
    def of(cls, cells: Cells, n_positions: int) -> Interventions:
        """Return those of a log."""
        shown, _ = cells.by_group(np.ones(cells.n_queries), n_positions)
        is_several = (shown > 0).sum(axis=1) > 1
        code, kept = np.cumsum(is_several) - 1, is_several[cells.group]
        found = Cells(
            cells.query[kept],
            code[cells.group[kept]],
            cells.position[kept],
            cells.shown[kept],
            cells.clicked[kept],
            cells.n_queries,
            int(is_several.sum()),
        )
        return cls(found, n_positions)

    @cached_property
    def _by_query(self) -> tuple[Indices, Floats, Floats] | None:
        """The queries of the groups, and the counts of each, where no group is in two; else None.

        A weight of a query multiplies the counts of its groups, so that sums are linear in it.
        """
        cells = self.cells
        query = np.full(cells.n_groups, -1)
        query[cells.group] = cells.query
        if (query[cells.group] != cells.query).any():
            return None
        shown, clicked = cells.by_group(np.ones(cells.n_queries), self.n_positions)
        order = np.argsort(query, kind="stable")
        queries, starts = np.unique(query[order], return_index=True)
        return queries, *pair_counts(shown[order], clicked[order], starts)

    def sums(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return clicks and impressions by pair of positions, given weights of the queries.

        Of shape (n_samples, n_positions, n_positions) for weights (n_samples, n_queries).
        """
        if self._by_query is not None:  # all samples at once
            queries, *counts = self._by_query
            clicks, impressions = (np.tensordot(weights[:, queries], one, 1) for one in counts)
            return clicks, impressions
        both = [pair_counts(*self.cells.by_group(one, self.n_positions)) for one in weights]
        clicks, impressions = (np.concatenate(one) for one in zip(*both, strict=True))
        return clicks, impressions

    @property
    def n_impressions(self) -> Floats:
        """Impressions at a position of groups that were also shown at another one."""
        shown, _ = self.cells.by_group(np.ones(self.cells.n_queries), self.n_positions)
        found = shown.T @ (shown > 0)
        np.fill_diagonal(found, 0)
        return np.asarray(found)


def all_pairs(clicks: Floats, impressions: Floats) -> Floats:
    r"""Return the propensities of the largest likelihood of pairs of positions.

    .. math:: \max_{\theta, \gamma} \sum_{k \ne k'} C_{kk'} \log(\theta_k \gamma_{kk'})
        + (N_{kk'} - C_{kk'}) \log(1 - \theta_k \gamma_{kk'}),
        \qquad \gamma_{kk'} = \gamma_{k'k}, \quad \theta_1 = 1

    with half an impression without a click added to each N, so that no rate is 1. It is concave in
    the logarithms of the parameters, and solved by Newton's method with steps that are halved.

    Parameters
    ----------
    clicks, impressions : ndarray of shape (n_positions, n_positions)
        C and N.

    Returns
    -------
    ndarray of shape (n_positions,)
        The propensities in proportion to the first; NaN where no pairs lead to the first.

    References
    ----------
    AgarwalHarvest2019 (AllPairs).
    """
    one, other = np.nonzero(np.triu(clicks + clicks.T, 1) > 0)
    n_positions, n_pairs = len(clicks), len(one)
    position, pair = np.concatenate([one, other]), np.tile(np.arange(n_pairs), 2)
    design = np.zeros((2 * n_pairs, n_positions - 1 + n_pairs))
    row = np.arange(2 * n_pairs)
    design[row[position > 0], position[position > 0] - 1] = 1
    design[row, n_positions - 1 + pair] = 1
    place = position, np.concatenate([other, one])
    events, trials = clicks[place], np.maximum(impressions[place], clicks[place]) + _ADDED
    start = np.zeros(design.shape[1])
    rate = np.maximum(events[:n_pairs] + events[n_pairs:], 1e-12) / (
        trials[:n_pairs] + trials[n_pairs:]
    )
    start[n_positions - 1 :] = np.log(np.minimum(rate, 0.5))
    found = _most_likely(design, events, trials, start)
    part = parts(clicks + clicks.T)
    return np.where(part == part[0], np.exp([0.0, *found[: n_positions - 1]]), np.nan)


def parts(counts: Floats) -> Indices:
    """Return the part of each position: pairs with counts on both sides connect those of one."""
    edges = csr_array((counts > 0) & (counts.T > 0))
    return np.asarray(connected_components(edges, directed=False)[1])


def _likelihood(log_rate: Floats, events: Floats, trials: Floats) -> float:
    """Return the logarithm of the likelihood; minus infinity where a rate is 1 or more."""
    if (log_rate >= 0).any():
        return -np.inf
    return float((events * log_rate + (trials - events) * np.log1p(-np.exp(log_rate))).sum())


def _most_likely(design: Floats, events: Floats, trials: Floats, start: Floats) -> Floats:
    """Return the parameters of a binomial model with logarithmic link, by Newton steps."""
    found, value = start, _likelihood(design @ start, events, trials)
    for _ in range(_MOST_STEPS):
        rate = np.exp(design @ found)
        odds = rate / (1 - rate)
        gradient = design.T @ (events - (trials - events) * odds)
        curvature = (trials - events) * odds / (1 - rate)
        hessian = design.T @ (curvature[:, np.newaxis] * design)
        hessian[np.diag_indices_from(hessian)] += 1e-10 * max(float(np.trace(hessian)), 1e-300)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, _LONGEST_STEP / np.abs(step).max(initial=1e-300))
        for _ in range(_MOST_HALVINGS):
            tried = _likelihood(design @ (found + step), events, trials)
            if tried >= value:
                break
            step = step / 2
        else:
            break
        found, value = found + step, tried
        if np.abs(step).max(initial=0) < 1e-10:
            break
    return found
