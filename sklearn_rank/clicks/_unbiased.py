"""Weights of rows, and of pairs, that make the loss of a ranker on clicks unbiased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    Number,
    check_lengths,
    check_parameters,
    check_positions,
    check_qid,
)
from sklearn_rank.clicks._click_log import check_clicks, check_rows, propensity_of_rows

_OWNER = "click_pairs"
_CLIP = Number(0, 1, closed="right", other=(None,))


def click_weights(
    clicks: Any, position: Any, propensity: Any, *, clip: float | None = None
) -> Floats:
    r"""Return row weights that correct the position bias of a click log.

    .. math:: w_i = 1 / \max(\theta_{k_i}, c) \text{ for clicked rows}, \qquad w_i = 1
        \text{ for the others}

    where

    - :math:`k_i` is the position at which row i was shown;
    - :math:`\theta_k`, the propensity, is the probability that a user looks at position k, or its
      ratio to that of position 1;
    - c is `clip`, 0 by default.

    Pass them as `sample_weight` to a pairwise ranker. The weight of a pair is the product of its
    rows' weights, so a clicked row above one without a click counts :math:`1 / \theta`. The
    expected loss is then that for users who look at all positions. The paper's sum also includes
    the pairs of two clicked rows of a list, in both directions, as does `click_pairs`.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        0 or 1: whether the row was clicked.
    position : array-like of int of shape (n_rows,)
        Position of the row in its list, from 1.
    propensity : array-like of shape (n_positions,)
        Of positions 1, 2, ...: above 0, at most 1. If larger, divide all by the largest.
    clip : float in (0, 1] or None, default=None
        Replaces smaller propensities, which reduces the variance but biases the loss.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights, at least 1.

    Raises
    ------
    ValueError
        If clicks are not 0 or 1, positions are below 1 or have no propensity, or propensities are
        not in (0, 1].

    References
    ----------
    Joachims2017 (Propensity SVM-Rank).

    Examples
    --------
    >>> from sklearn_rank.clicks import click_weights
    >>> click_weights([0, 1, 0], position=[1, 2, 3], propensity=[1, 0.5, 0.25])
    array([1., 2., 1.])
    """
    check_parameters("click_weights", {"clip": clip}, {"clip": _CLIP})
    is_clicked = check_clicks("click_weights", clicks)
    check_lengths(clicks=is_clicked)
    positions = check_positions("click_weights", position, len(is_clicked))
    theta = propensity_of_rows("click_weights", propensity, positions)
    return np.where(is_clicked, 1 / np.maximum(theta, clip or 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class ClickPairs:
    """Pairs (winner, loser) of the rows of a log, for a ranker of pairs.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Rows of X: a clicked row and another row of its lists. Each pair occurs once, or in both
        directions if both rows were clicked.
    weight : ndarray of shape (n_pairs,)
        Weight of each pair, above 0.

    Examples
    --------
    >>> from sklearn_rank.clicks import click_pairs
    >>> result = click_pairs([1, 0], [1, 2], row=[5, 3], impression=[0, 0], propensity=[1, 0.5])
    >>> result.pairs.tolist(), result.weight.tolist()
    ([[5, 3]], [1.0])
    """

    pairs: Indices
    weight: Floats


def click_pairs(
    clicks: Any,
    position: Any,
    row: Any,
    impression: Any,
    propensity: Any,
    *,
    pool: str = "item",
    clip: float | None = None,
) -> ClickPairs:
    r"""Return the distinct pairs of rows of a list, each with its total weight over impressions.

    Logs repeat lists. With distinct pairs, the cost of a fit depends on the number of pairs, not of
    impressions. The weight of (i, j) is

    .. math:: w_{ij} = \sum_{t \in T_{ij}} \frac{c_{ti}}{\max(\theta_{k_{ti}}, c)} \quad
        (\text{"click"}), \qquad
        w_{ij} = |T_{ij}| \, \frac{\sum_{t \in T_i} c_{ti}}
        {\max(\sum_{t \in T_i} \theta_{k_{ti}}, |T_i| c)} \quad (\text{"item"})

    where

    - :math:`T_i` are the impressions that show row i, and :math:`T_{ij}` those that show both;
    - :math:`c_{ti}` is 1 if i was clicked in impression t, else 0;
    - :math:`\theta_k` is the propensity of position k, and :math:`k_{ti}` the position of i in t;
    - c is `clip`, 0 by default.

    "click" is the sum of the paper: each click counts against all other rows of its list. "item"
    has the same mean if the users of each list are alike, and a smaller variance, because a click
    at a rarely seen position has less influence.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        0 or 1: whether each shown row was clicked.
    position : array-like of int of shape (n_shown,)
        Its position, from 1.
    row : array-like of int of shape (n_shown,)
        Its row of X, from 0.
    impression : array-like of shape (n_shown,)
        Id of the list; each list shown to a user has its own.
    propensity : array-like of shape (n_positions,)
        Of positions 1, 2, ...: above 0, at most 1. If larger, divide all by the largest.
    pool : {"item", "click"}, default="item"
        Whether the clicks of a row are divided by the sum of its propensities, or each click by
        its own.
    clip : float in (0, 1] or None, default=None
        Replaces smaller propensities ("item": smaller mean propensities of a row).

    Returns
    -------
    ClickPairs
        Pairs and weights, sorted by winner, then by loser: the `pairs` and `sample_weight` of
        `sklearn_rank.pairs.PairRanker`.

    Raises
    ------
    ValueError
        If clicks are not 0 or 1, positions are below 1 or have no propensity, an impression repeats
        a row, or no list with a click has another row.

    References
    ----------
    Joachims2017 (Propensity SVM-Rank; "click"). "item" is defined here.

    Examples
    --------
    Two impressions of rows 0 and 1, each clicked once, row 1 at a position that half of the users
    see:

    >>> from sklearn_rank.clicks import click_pairs
    >>> result = click_pairs(
    ...     [1, 0, 0, 1],
    ...     [1, 2, 1, 2],
    ...     row=[0, 1, 0, 1],
    ...     impression=[0, 0, 1, 1],
    ...     propensity=[1, 0.5],
    ... )
    >>> result.pairs.tolist(), result.weight.tolist()
    ([[0, 1], [1, 0]], [1.0, 2.0])
    """
    allowed: dict[str, Constraint] = {"pool": Choice(("item", "click")), "clip": _CLIP}
    check_parameters(_OWNER, {"pool": pool, "clip": clip}, allowed)
    is_clicked = check_clicks(_OWNER, clicks)
    positions = check_positions(_OWNER, position, len(is_clicked))
    lists, items, rows = _lists_and_items(is_clicked, row, impression)
    theta, min_theta = propensity_of_rows(_OWNER, propensity, positions), clip or 0.0
    # Products of matrices (lists x rows) sum over the lists that show both rows.
    shape = int(lists.max()) + 1, len(rows)
    shown = csr_array((np.ones(len(lists)), (lists, items)), shape=shape)
    if pool == "click":
        clicks_by_theta = is_clicked / np.maximum(theta, min_theta)
        weight = csr_array((clicks_by_theta, (lists, items)), shape=shape).T @ shown
    else:
        n_seen = np.maximum(np.bincount(items, theta), np.bincount(items) * min_theta)
        gain = np.bincount(items, is_clicked) / n_seen
        weight = (shown.T @ shown).multiply(gain[:, np.newaxis])
    weight = weight.tocoo()
    is_pair = (weight.row != weight.col) & (weight.data > 0)
    winner, loser, value = weight.row[is_pair], weight.col[is_pair], weight.data[is_pair]
    if not len(value):
        raise ValueError(f"clicks of {_OWNER} has no click in a list with another row.")
    order = np.lexsort((loser, winner))
    return ClickPairs(np.column_stack([rows[winner], rows[loser]])[order], value[order])


def _lists_and_items(
    is_clicked: Mask, row: Any, impression: Any
) -> tuple[Indices, Indices, Indices]:
    """Return the codes of the impression and of the row of each entry, and the rows by code."""
    row_of_entry = check_rows(row, f"{_OWNER} must hold whole numbers from 0, rows of X")
    check_lengths(clicks=is_clicked, row=row_of_entry)
    rows, items = np.unique(row_of_entry, return_inverse=True)
    lists = check_qid(impression, len(is_clicked), "impression")
    list_items = lists * len(rows) + items.ravel()
    if len(np.unique(list_items)) < len(list_items):
        raise ValueError(f"impression of {_OWNER} must show each row once. One shows a row twice.")
    return lists, items.ravel(), rows
