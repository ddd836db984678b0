"""A simulator of clicks on the lists of known rankers over graded data."""

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
from sklearn_rank.clicks._click_log import check_chances, ranks_in_queries

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
    r"""Simulate the clicks of users on lists in the order of some rankers' scores.

    Each impression is of a query and a ranker, drawn with equal chances. It shows the first
    `n_shown` rows of the query in the order of the ranker; equal scores are in the order of the
    rows. A user who looks at a row clicks on it with the probability

    .. math:: a + (1 - a) \frac{\tau}{k}, \qquad
        a = \epsilon + (1 - \epsilon) \frac{2^y - 1}{2^{\max y} - 1}

    where

    - y is the grade of the row, and k the position at which it is shown;
    - :math:`\epsilon` is `noise`, the probability of a click on a row of grade 0;
    - :math:`\tau` is `trust`: users believe that what stands on top is good (trust bias).

    With ``model="position"`` each position is looked at with its own probability, whatever the
    user does elsewhere. With "cascade" the user goes down the list, and ends after a click with
    the probability `stop`.

    Parameters
    ----------
    y : array-like of shape (n_rows,)
        Grades of the rows, at least 0.
    scores : array-like of shape (n_rows,) or (n_rankers, n_rows)
        Scores of the rankers that make the lists.
    qid : array-like of shape (n_rows,)
        Query of each row.
    n_impressions : int in [1, inf), default=1000
        Number of lists that users see.
    n_shown : int in [1, inf), default=10
        Rows of a list at most.
    examination : array-like of shape (n_shown,) or None, default=None
        Probability that a user looks at position 1, 2, ..., with ``model="position"``; None: 1/k.
    model : {"position", "cascade"}, default="position"
        How users look at a list.
    noise, trust : float in [0, 1), default=0.1, 0
        :math:`\epsilon` and :math:`\tau`.
    stop : float in [0, 1], default=0.9
        Probability that a user of the cascade model ends after a click.
    swap : bool, default=False
        Whether in each impression the first row changes places with that of a position drawn from
        the others, or not, with equal chances: an experiment that shows the propensities.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        A row for each row shown, by impression and position:

        row : ndarray of shape (n_shown_rows,)
            Its number in `y`.
        impression, qid, ranker : ndarray of shape (n_shown_rows,)
            Number of the impression, of its query (0, 1, ... in sorted order) and of its ranker.
        position : ndarray of shape (n_shown_rows,)
            From 1.
        click : ndarray of shape (n_shown_rows,)
            0 or 1.
        group : ndarray of shape (n_shown_rows,)
            Rows of one group are equally relevant at whatever position: with `swap` those that the
            ranker had put at one place, in the experiment of one pair of positions; else the row.
        attraction : ndarray of shape (n_rows,)
            a, the probability of a click on each row of `y` where trust is 0.
        examination : ndarray of shape (n_shown,) or None
            The probability of looking at each position; None with "cascade".

    Raises
    ------
    ValueError
        For parameters that are not as described, and negative grades.

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
    given = (n_impressions, n_shown, model, noise, trust, stop, random_state)
    check_parameters("make_clicks", dict(zip(_ALLOWED, given, strict=True)), _ALLOWED)
    grades = check_relevance(y)
    table = np.atleast_2d(check_finite(scores, "scores"))
    code = check_qid(qid, len(grades))
    check_lengths(y=grades, scores=table[0])
    if grades.min() < 0:
        raise ValueError(f"y of make_clicks must hold grades of at least 0. Got {grades.min():g}.")
    if examination is not None and model != "position":
        raise ValueError("examination of make_clicks goes with model='position'. Got 'cascade'.")
    looked: Floats | None = 1 / np.arange(1, n_shown + 1) if model == "position" else None
    if examination is not None:
        found = check_chances("make_clicks", examination, "examination", n_shown, positive=True)
        looked = found[:n_shown]
    random = check_random_state(random_state)
    tops = _tops(table, code, n_shown)
    ranker = random.randint(tops.shape[0], size=n_impressions)
    query = random.randint(tops.shape[1], size=n_impressions)
    rows = group = tops[ranker, query]
    if swap:
        places, other = _swapped(rows, random)
        rows = np.take_along_axis(rows, places, axis=1)
        group = other[:, np.newaxis] * n_shown + places
    attractive = _attraction(grades, noise)
    chance = attractive[rows] + (1 - attractive[rows]) * trust / np.arange(1, n_shown + 1)
    clicks = _clicks(np.where(rows >= 0, chance, 0), looked, stop, random)
    impression, place = np.nonzero(rows >= 0)
    return Bunch(
        row=rows[impression, place],
        impression=impression,
        qid=query[impression],
        ranker=ranker[impression],
        position=place + 1,
        click=clicks[impression, place].astype(np.intp),
        group=group[impression, place],
        attraction=attractive,
        examination=looked,
    )


def _attraction(grades: Floats, noise: float) -> Floats:
    """Return the probability of a click on each row where it is looked at."""
    # Divided by the largest gain before anything is large: 2^y - 1 in proportion to 2^max - 1.
    gain = np.exp2(grades - grades.max()) - np.exp2(-grades.max())
    share = gain / (float(gain.max()) or 1.0)
    return np.asarray(noise + (1 - noise) * share)


def _tops(scores: Floats, code: Indices, n_shown: int) -> Indices:
    """Return the first rows of each query by ranker, shape (n_rankers, n_queries, n_shown).

    -1 where a query has fewer rows.
    """
    tops = np.full((len(scores), int(code.max()) + 1, n_shown), -1, dtype=np.intp)
    for of_ranker, one in zip(tops, scores, strict=True):
        rank = ranks_in_queries(one, code)
        shown = np.flatnonzero(rank < n_shown)
        of_ranker[code[shown], rank[shown]] = shown
    return tops


def _swapped(rows: Indices, random: Any) -> tuple[Indices, Indices]:
    """Swap the first row with another one, or not, with equal chances.

    Returns the place in the list of what each position shows, of shape (n_impressions, n_shown),
    and the place that may have been swapped, 0 in lists of one row.
    """
    n_impressions, n_shown = rows.shape
    length = (rows >= 0).sum(axis=1)
    drawn = random.random_sample(n_impressions) * np.maximum(length - 1, 0)
    other = np.where(length > 1, 1 + drawn.astype(np.intp), 0)
    places = np.tile(np.arange(n_shown), (n_impressions, 1))
    here = np.flatnonzero((random.random_sample(n_impressions) < 0.5) & (other > 0))
    places[here, 0], places[here, other[here]] = other[here], 0
    return places, other


def _clicks(chance: Floats, looked: Floats | None, stop: float, random: Any) -> Mask:
    """Return the clicks of users, given the chances of clicks on rows that are looked at."""
    is_attractive = random.random_sample(chance.shape) < chance
    if looked is not None:
        return np.asarray(is_attractive & (random.random_sample(chance.shape) < looked))
    ends = is_attractive & (random.random_sample(chance.shape) < stop)
    ended_before = np.cumsum(ends, axis=1) - ends
    return np.asarray(is_attractive & (ended_before == 0))
