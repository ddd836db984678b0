"""The values of the leaves of a symmetric tree: Newton steps, and monotone constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank.engines._symmetric_splits import LevelSplit
from sklearn_rank.engines.engine import Descent

_STEPS = 5
"""Newton steps: trees with a single step order worse."""

_MOST_HALVINGS, _MOST_SWEEPS = 10, 20
"""Halvings of a step before the objective counts as flat; sweeps before chains may disagree."""

_LEAST_SHARE = 1e-12
"""Least share of the weight of a leaf where leaves are pooled: means of empty ones are defined."""


def leaf_values(
    descent: Descent,
    scores: Floats,
    leaf: Indices,
    n_leaves: int,
    ridge: float,
    chains: Sequence[tuple[int, Indices]] = (),
) -> Floats:
    r"""Return the values of the leaves after five damped Newton steps from zero.

    .. math:: v_l \leftarrow v_l - \frac{G_l}{H_l + \lambda}

    where G and H are the sums of gradient and curvature over the rows of leaf l at the scores
    ``scores + v[leaf]``, and :math:`\lambda` damps a step but does not pull v to zero. A step that
    raises the objective is halved.

    Parameters
    ----------
    descent : Descent
        Value, gradient and curvature of the objective.
    scores : ndarray of shape (n_rows,)
        Scores so far.
    leaf : ndarray of shape (n_rows,)
        The leaf of each row.
    n_leaves : int
        Number of leaves.
    ridge : float
        The damping.
    chains : sequence of (int, ndarray of shape (n_chains, n_steps))
        Constraint of a feature, and leaves in the order of its values, which the others share.
    """
    values = np.zeros(n_leaves)
    # Value, gradient and curvature at v = 0 are those of the scores so far.
    objective, (gradient, curvature) = descent.value, descent.gradient()
    for _ in range(_STEPS):
        G = np.bincount(leaf, gradient, n_leaves)
        H = np.bincount(leaf, curvature, n_leaves) + ridge
        step = -np.divide(G, H, out=np.zeros(n_leaves), where=H > 0)
        if chains:
            step = monotone(values + step, H, chains) - values
        # Halving stays within the constraints, which allow a convex set of values.
        for _ in range(_MOST_HALVINGS):
            value, *derivatives = descent.gradient_at(scores + (values + step)[leaf])
            if value <= objective:
                break
            step *= 0.5
        else:  # no step down: the objective is flat here, up to rounding
            break
        values, objective, (gradient, curvature) = values + step, value, derivatives
    return values


def chains_of(splits: Sequence[LevelSplit], sign: Indices) -> list[tuple[int, Indices]]:
    """Return the chains of leaves whose values the constraints require to be monotone."""
    depth, chains = len(splits), []
    leaves = np.arange(1 << depth)
    for feature in dict.fromkeys(split.feature for split in splits if sign[split.feature]):
        levels = [level for level, split in enumerate(splits) if split.feature == feature]
        bits = [1 << (depth - 1 - level) for level in levels]
        goes_right = np.array([splits[level].goes_right[:-1] for level in levels])
        # The larger the value, the more of the splits it has passed.
        steps = np.unique(bits @ goes_right.astype(np.intp))
        first_leaves = leaves[(leaves & sum(bits)) == 0]
        chains.append((int(sign[feature]), first_leaves[:, None] + steps))
    return chains


def monotone(values: Floats, weight: Floats, chains: Sequence[tuple[int, Indices]]) -> Floats:
    """Make values monotone along all chains: isotonic regression in turn, until all agree."""
    values = values.copy()
    weight = np.maximum(weight, _LEAST_SHARE * weight.sum())
    for _ in range(_MOST_SWEEPS):
        last_values = values.copy()
        for sign, leaves in chains:
            values[leaves] = sign * _isotonic(sign * values[leaves], weight[leaves])
        if len(chains) == 1 or (values == last_values).all():
            break
    # Chains of different features may still disagree by a little: the running maximum is exact.
    for sign, leaves in chains:
        values[leaves] = sign * np.maximum.accumulate(sign * values[leaves], axis=1)
    return values


def _isotonic(values: Floats, weight: Floats) -> Floats:
    """Return the isotonic regression of each row.

    Value k becomes max over i <= k of min over j >= k of the weighted mean of the values i to j
    (max-min formula; Robertson, Wright and Dykstra, 1988).
    """
    n = values.shape[1]
    sums = np.cumsum(np.pad(weight * values, ((0, 0), (1, 0))), axis=1)
    mass = np.cumsum(np.pad(weight, ((0, 0), (1, 0))), axis=1)
    first, last = np.triu_indices(n)
    means = np.full((len(values), n, n), np.inf)
    means[:, first, last] = (sums[:, last + 1] - sums[:, first]) / (
        mass[:, last + 1] - mass[:, first]
    )
    fitted = np.empty_like(values)
    for k in range(n):
        fitted[:, k] = means[:, : k + 1, k:].min(axis=2).max(axis=1)
    return fitted
