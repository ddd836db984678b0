"""Weights of rows, and of pairs, with which a ranker minimises an unbiased loss of clicks."""

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
    r"""Return row weights that undo the bias of positions in a click log.

    .. math:: w_i = 1 / \max(\theta_{k_i}, c) \text{ for clicked rows}, \qquad w_i = 1
        \text{ for the others}

    where

    - :math:`k_i` is the position at which row i was shown;
    - :math:`\theta_k`, the propensity, is the probability that a user looks at position k, or that
      in proportion to position 1;
    - c is `clip`, 0 by default.

    They are for the `sample_weight` of a pairwise ranker. A pair weighs the product of the weights
    of its rows, so that a clicked row above one without a click counts :math:`1 / \theta`. Its mean
    over users is then the loss as if all of them had looked everywhere. The paper's sum also has
    the pairs of two clicked rows of a list, in both directions: `click_pairs` has these.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        0 or 1: whether the row was clicked.
    position : array-like of int of shape (n_rows,)
        Where the row was shown, from 1.
    propensity : array-like of shape (n_positions,)
        Of positions 1, 2, ...: above 0, at most 1. Divide larger ones by the largest.
    clip : float in (0, 1] or None, default=None
        Smaller propensities are replaced by it: that lowers the variance, and biases the loss.

    Returns
    -------
    ndarray of shape (n_rows,)
        The weights, at least 1.

    Raises
    ------
    ValueError
        For clicks that are not 0 or 1, positions below 1 or without a propensity, and propensities
        that are not in (0, 1].

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
    place = check_positions("click_weights", position, len(is_clicked))
    found = propensity_of_rows("click_weights", propensity, place)
    found = found if clip is None else np.maximum(found, clip)
    return np.where(is_clicked, 1 / found, 1.0)


@dataclass(frozen=True, eq=False)
class ClickPairs:
    """Pairs (winner, loser) of the rows of a log, for a ranker of pairs.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Rows of X: the one with clicks, and another one of the same lists. Each pair is there once,
        and in both directions where both rows have clicks.
    weight : ndarray of shape (n_pairs,)
        Weight of each pair, above 0.

    Examples
    --------
    >>> from sklearn_rank.clicks import click_pairs
    >>> found = click_pairs([1, 0], [1, 2], row=[5, 3], impression=[0, 0], propensity=[1, 0.5])
    >>> found.pairs.tolist(), found.weight.tolist()
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
    r"""Return each pair of rows that were shown in one list, with its weight of all impressions.

    A log repeats its lists: their pairs are counted instead, so that the cost of a fit depends on
    the number of different pairs, not on that of impressions. The weight of (i, j) is

    .. math:: w_{ij} = \sum_{t \in T_{ij}} \frac{c_{ti}}{\max(\theta_{k_{ti}}, c)} \quad
        (\text{"click"}), \qquad
        w_{ij} = |T_{ij}| \, \frac{\sum_{t \in T_i} c_{ti}}
        {\max(\sum_{t \in T_i} \theta_{k_{ti}}, |T_i| c)} \quad (\text{"item"})

    where

    - :math:`T_i` are the impressions that show row i, and :math:`T_{ij}` those that show both;
    - :math:`c_{ti}` is 1 if i was clicked in impression t, else 0;
    - :math:`\theta_k` is the propensity of position k, and :math:`k_{ti}` the position of i in t;
    - c is `clip`, 0 by default.

    "click" is the sum of the paper: each click counts against all other rows of its list.
    "item" has the same mean if each list is shown to users alike, and less variance: clicks at a
    position that is seldom seen count in proportion to how often it was seen, not as much as all
    those at the top.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        0 or 1: whether each row shown was clicked.
    position : array-like of int of shape (n_shown,)
        Where it was shown, from 1.
    row : array-like of int of shape (n_shown,)
        Which row of X it is, from 0.
    impression : array-like of shape (n_shown,)
        The list: one id for each time that results were shown to a user.
    propensity : array-like of shape (n_positions,)
        Of positions 1, 2, ...: above 0, at most 1. Divide larger ones by the largest.
    pool : {"item", "click"}, default="item"
        Whether clicks on a row are divided by the sum of its propensities, or each by its own.
    clip : float in (0, 1] or None, default=None
        Smaller propensities ("item": smaller mean propensities of a row) are replaced by it.

    Returns
    -------
    ClickPairs
        Pairs and weights, sorted by winner, then by loser: the `pairs` and `sample_weight` of
        `sklearn_rank.pairs.PairRanker`.

    Raises
    ------
    ValueError
        For clicks that are not 0 or 1, positions below 1 or without a propensity, a row that is
        twice in one impression, and where no list with a click has another row.

    References
    ----------
    Joachims2017 (Propensity SVM-Rank; "click"). "item" is defined here.

    Examples
    --------
    Two impressions of rows 0 and 1; each was clicked once, row 1 at a position that half of the
    users see:

    >>> from sklearn_rank.clicks import click_pairs
    >>> found = click_pairs(
    ...     [1, 0, 0, 1],
    ...     [1, 2, 1, 2],
    ...     row=[0, 1, 0, 1],
    ...     impression=[0, 0, 1, 1],
    ...     propensity=[1, 0.5],
    ... )
    >>> found.pairs.tolist(), found.weight.tolist()
    ([[0, 1], [1, 0]], [1.0, 2.0])
    """
    given = {"pool": pool, "clip": clip}
    allowed: dict[str, Constraint] = {
        "pool": Choice(("item", "click")),
        "clip": _CLIP,
    }
    check_parameters(_OWNER, given, allowed)
    clicked = check_clicks(_OWNER, clicks)
    place = check_positions(_OWNER, position, len(clicked))
    code, item, names = _lists(clicked, row, impression)
    theta = propensity_of_rows(_OWNER, propensity, place)
    shape = int(code.max()) + 1, len(names)
    shown = csr_array((np.ones(len(code)), (code, item)), shape=shape)
    if pool == "click":
        each = clicked / (theta if clip is None else np.maximum(theta, clip))
        weight = csr_array((each, (code, item)), shape=shape).T @ shown
    else:
        times = np.bincount(item)
        seen = np.maximum(np.bincount(item, theta), 0.0 if clip is None else times * clip)
        gain = np.bincount(item, clicked) / seen
        weight = (shown.T @ shown).multiply(gain[:, np.newaxis])
    found = weight.tocoo()
    kept = (found.row != found.col) & (found.data > 0)
    winner, loser, value = found.row[kept], found.col[kept], found.data[kept]
    if not len(value):
        raise ValueError(f"clicks of {_OWNER} has no click in a list with another row.")
    order = np.lexsort((loser, winner))
    return ClickPairs(np.column_stack([names[winner], names[loser]])[order], value[order])


def _lists(clicked: Mask, row: Any, impression: Any) -> tuple[Indices, Indices, Indices]:
    """Return the code of the impression and of the row of each entry, and the rows by code."""
    number = check_rows(row, f"{_OWNER} must hold whole numbers from 0, rows of X")
    check_lengths(clicks=clicked, row=number)
    names, item = np.unique(number, return_inverse=True)
    code = check_qid(impression, len(clicked), "impression")
    both = code * len(names) + item.ravel()
    if len(np.unique(both)) < len(both):
        raise ValueError(f"impression of {_OWNER} must show each row once. One shows a row twice.")
    return code, item.ravel(), names
