"""A simulator of clicks on the lists of several rankers over graded rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import (
    SEED,
    Choice,
    Constraint,
    Number,
    check_finite,
    check_lengths,
    check_parameters,
    check_qid,
    check_relevance,
)
from sklearn_rank.clicks._click_log import check_probabilities, ranks_in_queries

_ALLOWED: dict[str, Constraint] = {
    "n_impressions": Number(1, integer=True),
    "n_shown": Number(1, integer=True),
    "model": Choice(("position", "cascade")),
    "noise": Number(0, 1, closed="left"),
    "trust": Number(0, 1, closed="left"),
    "stop": Number(0, 1),
    "random_state": SEED,
}


def make_clicks(
    y: Any,
    scores: Any,
    qid: Any,
    *,
    n_impressions: int = 1000,
    n_shown: int = 10,
    examination: Any = None,
    model: str = "position",
    noise: float = 0.1,
    trust: float = 0.0,
    stop: float = 0.9,
    swap: bool = False,
    random_state: Any = None,
) -> Bunch:
    r"""Simulate user clicks on lists that are sorted by the scores of some rankers.

    Each impression has a uniformly drawn query and ranker. It shows the first `n_shown` rows of the
    query in the order of the ranker, ties in the order of the rows. A user who looks at a row
    clicks on it with probability

    .. math:: a + (1 - a) \frac{\tau}{k}, \qquad
        a = \epsilon + (1 - \epsilon) \frac{2^y - 1}{2^{\max y} - 1}

    where

    - y is the grade of the row, and k its position in the list;
    - :math:`\epsilon` is `noise`, the probability of a click on a row of grade 0;
    - :math:`\tau` is `trust`: users believe that top rows are good (trust bias).

    With ``model="position"``, a user looks at each position independently, with its own
    probability. With "cascade", the user goes down the list and stops after a click with
    probability `stop`.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Grades of the rows, at least 0.
    scores : array-like of shape (n_rows,) or (n_rankers, n_rows)
        Scores of the rankers, which order the lists.
    qid : array-like of shape (n_rows,)
        Query of each row.
    n_impressions : int in [1, inf), default=1000
        Number of lists shown to users.
    n_shown : int in [1, inf), default=10
        Maximum number of rows in a list.
    examination : array-like of shape (n_shown,) or None, default=None
        Probability that a user looks at position 1, 2, ..., with ``model="position"``; None: 1/k.
    model : {"position", "cascade"}, default="position"
        How users look at a list.
    noise, trust : float in [0, 1), default=0.1, 0
        :math:`\epsilon` and :math:`\tau`.
    stop : float in [0, 1], default=0.9
        Probability that a user of the cascade model stops after a click.
    swap : bool, default=False
        Whether each impression swaps the first row with a random other row with probability one
        half: an experiment that identifies the propensities.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        One entry per shown row, by impression and position:

        row : ndarray of shape (n_shown_rows,)
            Its index in `y`.
        impression, qid, ranker : ndarray of shape (n_shown_rows,)
            Number of the impression, of its query (0, 1, ... in sorted order) and of its ranker.
        position : ndarray of shape (n_shown_rows,)
            From 1.
        click : ndarray of shape (n_shown_rows,)
            0 or 1.
        group : ndarray of shape (n_shown_rows,)
            Rows of a group are equally relevant at all positions. With `swap` they have the same
            rank by the ranker and the same pair of swapped positions; otherwise each group is one
            row.
        attraction : ndarray of shape (n_rows,)
            a, the probability of a click on each examined row of `y` without trust.
        examination : ndarray of shape (n_shown,) or None
            The probability of looking at each position; None with "cascade".

    Raises
    ------
    ValueError
        If a parameter is invalid or a grade is negative.

    References
    ----------
    Joachims2017 (positions); Craswell2008 (cascade); the affine form of the trust bias
    is that of Vardasbi2020, with parameters defined here.

    Examples
    --------
    >>> from sklearn_rank.clicks import make_clicks
    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> log = make_clicks(data.target, data.data[:, 0], data.qid, random_state=0)
    >>> log.position[:12].tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2]
    """
    settings = (n_impressions, n_shown, model, noise, trust, stop, random_state)
    check_parameters("make_clicks", dict(zip(_ALLOWED, settings, strict=True)), _ALLOWED)
    grades = check_relevance(y)
    score_matrix = np.atleast_2d(check_finite(scores, "scores"))
    code = check_qid(qid, len(grades))
    check_lengths(y=grades, scores=score_matrix[0])
    if grades.min() < 0:
        raise ValueError(f"y of make_clicks must hold grades of at least 0. Got {grades.min():g}.")
    if examination is not None and model != "position":
        raise ValueError("examination of make_clicks requires model='position'. Got 'cascade'.")
    theta: Floats | None = 1 / np.arange(1, n_shown + 1) if model == "position" else None
    if examination is not None:
        arguments = (examination, "examination", n_shown)
        theta = check_probabilities("make_clicks", *arguments, positive=True)[:n_shown]
    rng = check_random_state(random_state)
    # 1) The list of each impression.
    lists = _lists(score_matrix, code, n_shown)
    ranker = rng.randint(lists.shape[0], size=n_impressions)
    query = rng.randint(lists.shape[1], size=n_impressions)
    rows = group = lists[ranker, query]
    # 2) The experiment: ranks by the ranker at each position after the swap.
    if swap:
        ranks, partner = _swapped(rows, rng)
        rows = np.take_along_axis(rows, ranks, axis=1)
        group = partner[:, np.newaxis] * n_shown + ranks
    # 3) The clicks; positions beyond the end of a list have none.
    attraction = _attraction(grades, noise)
    probability = attraction[rows] + (1 - attraction[rows]) * trust / np.arange(1, n_shown + 1)
    clicks = _clicks(np.where(rows >= 0, probability, 0), theta, stop, rng)
    impression, rank = np.nonzero(rows >= 0)
    return Bunch(
        row=rows[impression, rank],
        impression=impression,
        qid=query[impression],
        ranker=ranker[impression],
        position=rank + 1,
        click=clicks[impression, rank].astype(np.intp),
        group=group[impression, rank],
        attraction=attraction,
        examination=theta,
    )


def _attraction(grades: Floats, noise: float) -> Floats:
    """Return the probability of a click on each examined row."""
    # 2^y - 1 as a share of 2^max - 1, both divided by 2^max so that nothing overflows.
    gain = np.exp2(grades - grades.max()) - np.exp2(-grades.max())
    share = gain / (float(gain.max()) or 1.0)
    return np.asarray(noise + (1 - noise) * share)


def _lists(scores: Floats, code: Indices, n_shown: int) -> Indices:
    """Return each ranker's first rows of each query, shape (n_rankers, n_queries, n_shown).

    -1 where a query has fewer rows.
    """
    lists = np.full((len(scores), int(code.max()) + 1, n_shown), -1, dtype=np.intp)
    for ranker_lists, ranker_scores in zip(lists, scores, strict=True):
        rank = ranks_in_queries(ranker_scores, code)
        shown = np.flatnonzero(rank < n_shown)
        ranker_lists[code[shown], rank[shown]] = shown
    return lists


def _swapped(rows: Indices, rng: np.random.RandomState) -> tuple[Indices, Indices]:
    """Swap the first row of each list with a random other one, with probability 1/2.

    Returns the rank that the ranker gave to the row at each position, counted from 0, of shape
    (n_impressions, n_shown), and the rank of the row drawn for the swap, 0 in lists of one row.
    """
    n_impressions, n_shown = rows.shape
    length = (rows >= 0).sum(axis=1)
    draws = rng.random_sample(n_impressions) * np.maximum(length - 1, 0)
    partner = np.where(length > 1, 1 + draws.astype(np.intp), 0)
    ranks = np.tile(np.arange(n_shown), (n_impressions, 1))
    swapped = np.flatnonzero((rng.random_sample(n_impressions) < 0.5) & (partner > 0))
    ranks[swapped, 0], ranks[swapped, partner[swapped]] = partner[swapped], 0
    return ranks, partner


def _clicks(
    probability: Floats, theta: Floats | None, stop: float, rng: np.random.RandomState
) -> Mask:
    """Draw user clicks, given the click probability of examined rows."""
    is_attractive = rng.random_sample(probability.shape) < probability
    if theta is not None:
        return np.asarray(is_attractive & (rng.random_sample(probability.shape) < theta))
    is_end = is_attractive & (rng.random_sample(probability.shape) < stop)
    ended_before: Indices = np.cumsum(is_end, axis=1) - is_end
    return np.asarray(is_attractive & (ended_before == 0))
