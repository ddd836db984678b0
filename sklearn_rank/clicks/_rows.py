"""Rows and weights with which a pairwise ranker minimises an unbiased loss of clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.validation import (
    Number,
    check_lengths,
    check_parameters,
    check_positions,
    check_qid,
)
from sklearn_rank.clicks._click_log import check_clicks, propensity_of_rows


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
    over users is then the loss as if all of them had looked everywhere. If impressions have
    several clicks, pass rows of `click_rows`.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        0 or 1: whether the row was clicked.
    position : array-like of int of shape (n_rows,)
        Where the row was shown, from 1.
    propensity : array-like of shape (n_positions,) or mapping
        Of positions 1, 2, ...; or a mapping from positions to propensities. Above 0, at most 1.
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
    check_parameters(
        "click_weights", {"clip": clip}, {"clip": Number(0, 1, closed="right", other=(None,))}
    )
    is_clicked = check_clicks("click_weights", clicks)
    check_lengths(clicks=is_clicked)
    place = check_positions("click_weights", position, len(is_clicked))
    found = propensity_of_rows("click_weights", propensity, place)
    found = found if clip is None else np.maximum(found, clip)
    return np.where(is_clicked, 1 / found, 1.0)


@dataclass(frozen=True, eq=False)
class ClickLists:
    """Rows of a click log in which each list has one click.

    Attributes
    ----------
    row : ndarray of shape (n_new_rows,)
        The row of the log that each is.
    y : ndarray of shape (n_new_rows,)
        1 for the click of its list, 0 for all others.
    qid : ndarray of shape (n_new_rows,)
        The list: 0, 1, ..., one for each click.

    Examples
    --------
    >>> from sklearn_rank.clicks import click_rows
    >>> click_rows([0, 1], impression=[7, 7]).y
    array([0, 1])
    """

    row: Indices
    y: Indices
    qid: Indices


def click_rows(clicks: Any, impression: Any) -> ClickLists:
    r"""Repeat each impression once for each of its clicks.

    In each copy one clicked row has y = 1, and all others, clicked or not, have 0. A pairwise
    ranker with these rows, and the weights of `click_weights` at them, minimises

    .. math:: \sum_{i \text{ clicked}} \frac{1}{\theta_{k_i}} \sum_{j \ne i} \ell(f_i - f_j)

    where j runs over all other rows of the impression, the sum of the paper. With clicked rows as
    1 and the others as 0, without copies, pairs of two clicked rows would be missing. Impressions
    without a click have no pairs, and are left out.

    Parameters
    ----------
    clicks : array-like of shape (n_rows,)
        0 or 1: whether the row was clicked.
    impression : array-like of shape (n_rows,)
        The list that was shown: one id for each time that results were shown to a user.

    Returns
    -------
    ClickLists
        Row, y and qid, ordered by impression, then by click.

    Raises
    ------
    ValueError
        For clicks that are not 0 or 1, and without any click.

    References
    ----------
    Joachims2017 (Propensity SVM-Rank).

    Examples
    --------
    >>> from sklearn_rank.clicks import click_rows
    >>> rows = click_rows([1, 0, 1], impression=["a", "a", "a"])
    >>> rows.row.tolist(), rows.y.tolist(), rows.qid.tolist()
    ([0, 1, 2, 0, 1, 2], [1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 1, 1])
    """
    is_clicked = check_clicks("click_rows", clicks)
    check_lengths(clicks=is_clicked)
    code = check_qid(impression, len(is_clicked), "impression")
    if not is_clicked.any():
        raise ValueError("clicks of click_rows has no click: there is nothing to learn from.")
    order, size = np.argsort(code, kind="stable"), np.bincount(code)
    start = np.cumsum(size) - size
    clicked = order[is_clicked[order]]  # by impression
    length = size[code[clicked]]
    first = np.cumsum(length) - length
    qid = np.repeat(np.arange(len(clicked)), length)
    index = order[start[code[clicked]][qid] + np.arange(len(qid)) - first[qid]]
    return ClickLists(index, (index == clicked[qid]).astype(np.intp), qid)
