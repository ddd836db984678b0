"""Team-draft interleaving: two rankers share a list, and clicks choose between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest
from sklearn.utils import Bunch, check_random_state

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import (
    SEED,
    Constraint,
    Number,
    check_finite,
    check_floats,
    check_lengths,
    check_parameters,
    check_qid,
)

_ALLOWED: dict[str, Constraint] = {"k": Number(1, integer=True), "random_state": SEED}


def team_draft(
    score_a: Any,
    score_b: Any,
    *,
    k: int = 10,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Interleave the lists of two rankers for one impression of one query.

    In each round a coin says which ranker picks first; each then adds its best row that is not yet
    in the list, and the row belongs to its team.

    Parameters
    ----------
    score_a, score_b : array-like of shape (n_rows,)
        Scores of the rows of a query by both rankers, greater is better. Ties are in the order of
        the rows.
    k : int >= 1, default=10
        Length of the list at most.
    random_state : int, RandomState instance or None, default=None
        Seed. A RandomState is advanced: pass the same one for each impression.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        row : ndarray of shape (min(k, n_rows),)
            The list, from the top.
        team : ndarray of shape (min(k, n_rows),)
            0 for rows of ranker a, 1 for those of b.

    Raises
    ------
    ValueError
        When scores differ in length or are not finite.

    References
    ----------
    Radlinski2008 (team draft).

    Examples
    --------
    >>> from sklearn_rank.clicks import team_draft
    >>> shown = team_draft([3, 2, 1], [1, 2, 3], random_state=0)
    >>> shown.row.tolist(), shown.team.tolist()
    ([0, 2, 1], [0, 1, 1])
    """
    given = {"k": k, "random_state": random_state}
    check_parameters("team_draft", given, _ALLOWED)
    scores = _scores(score_a, score_b)
    rng = check_random_state(random_state)
    n_rows, length = len(scores[0]), min(k, len(scores[0]))
    orders = [np.argsort(-one, kind="stable").tolist() for one in scores]
    coins = rng.randint(2, size=(length + 1) // 2)
    turns = np.column_stack([coins, 1 - coins]).ravel()[:length]
    next_of, is_taken, rows = [0, 0], np.zeros(n_rows, dtype=bool), []
    for team in turns.tolist():
        while is_taken[orders[team][next_of[team]]]:
            next_of[team] += 1
        rows.append(orders[team][next_of[team]])
        is_taken[rows[-1]] = True
    return Bunch(row=np.array(rows, dtype=np.intp), team=turns)


def _scores(score_a: Any, score_b: Any) -> tuple[Floats, Floats]:
    a, b = check_finite(score_a, "score_a"), check_finite(score_b, "score_b")
    if a.ndim != 1 or a.shape != b.shape:
        raise ValueError(
            "score_a and score_b of team_draft must have one dimension and the same length. "
            f"Got shapes {a.shape} and {b.shape}."
        )
    return a, b


@dataclass(frozen=True)
class InterleavingResult:
    """Which of two rankers got more clicks in how many impressions.

    Attributes
    ----------
    wins_a, wins_b, ties : int
        Impressions in which the rows of a got more clicks, those of b, or as many.
    p_value : float
        Of the sign test, two-sided: the chance of so uneven wins if both were equally good.

    Examples
    --------
    >>> from sklearn_rank.clicks import interleaving_test
    >>> interleaving_test([1, 0, 0, 0], team=[0, 1, 0, 1], impression=[1, 1, 2, 2])
    InterleavingResult(wins_a=1, wins_b=0, ties=1, p_value=1.0)
    """

    wins_a: int
    wins_b: int
    ties: int
    p_value: float


def interleaving_test(clicks: Any, team: Any, impression: Any) -> InterleavingResult:
    """Test whether one of two interleaved rankers gets more clicks: the sign test of impressions.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        1 for clicks, 0 for rows without.
    team : array-like of shape (n_shown,)
        0 for rows of ranker a, 1 for those of b.
    impression : array-like of shape (n_shown,)
        The impression of each row.

    Returns
    -------
    InterleavingResult
        Wins, ties and the p-value. Impressions are taken as independent: of users with many, pass
        the user in place of the impression.

    Raises
    ------
    ValueError
        When clicks or teams are not 0 or 1.

    References
    ----------
    Radlinski2008 (team draft).

    Examples
    --------
    >>> from sklearn_rank.clicks import interleaving_test
    >>> interleaving_test([1, 0] * 8, team=[0, 1] * 8, impression=sorted([*range(8)] * 2)).p_value
    0.0078125
    """
    clicked, side = check_floats(clicks, "clicks"), check_floats(team, "team")
    check_lengths(clicks=clicked, team=side)
    for name, values in (("clicks", clicked), ("team", side)):
        if not np.isin(values, (0.0, 1.0)).all():
            raise ValueError(f"{name} of interleaving_test must be 0 or 1 in each row.")
    code = check_qid(impression, len(clicked), "impression")
    lead = np.bincount(code, clicked * (1 - 2 * side))
    wins_a, wins_b = int((lead > 0).sum()), int((lead < 0).sum())
    n_wins = wins_a + wins_b
    p_value = float(binomtest(wins_a, n_wins).pvalue) if n_wins else 1.0
    return InterleavingResult(wins_a, wins_b, len(lead) - n_wins, p_value)
