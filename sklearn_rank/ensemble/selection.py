"""Greedy selection of an ensemble for a ranking metric, from scores of held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank.ensemble.evaluation import Estimate, HeldOutLabels
from sklearn_rank.ensemble.score_map import ScoreMap, normal_scores
from sklearn_rank.metrics.held_out import have_pair

_TIE = 1e-10
"""Relative difference up to which two gains are taken as equal."""


def greedy_weights(
    scores: Floats,
    gain: Callable[[Floats], float],
    *,
    n_steps: int = 25,
    n_bags: int = 1,
    random_state: Any = None,
) -> Floats:
    r"""Select members with replacement, one at a time, so that their mean score has a high gain.

    Step t adds the member with the highest gain of the mean,

    .. math:: j_t = \operatorname*{arg\,max}_j \; G\Bigl( \frac1t \Bigl( f_j +
        \sum_{s<t} f_{j_s} \Bigr) \Bigr)

    where :math:`f_j` are the scores of member j and G is the gain. The weight of a member is its
    share of the steps up to the one after which the gain is highest. Of equal gains, up to a
    relative 1e-10, the first member and the earliest step are taken: list simple members first.
    A member that never helps has weight 0.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n_rows)
        Scores of each member on one scale, greater is better.
    gain : callable
        Maps scores of shape (n_rows,) to a float, greater is better.
    n_steps : int in [1, inf), default=25
        Maximum number of steps.
    n_bags : int in [1, inf), default=1
        Number of selections whose weights are averaged. If it is above 1 each is from a random
        half of the members, rounded up.
    random_state : int, RandomState or None, default=None
        Seed of the random halves.

    Returns
    -------
    ndarray of shape (n_members,)
        Non-negative weights with sum 1.

    References
    ----------
    Caruana2004 (selection with replacement; bags of members, sec. 2.3).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import greedy_weights
    >>> from sklearn_rank.metrics import auc_score
    >>> y = np.array([1, 0, 1, 0])
    >>> scores = np.array([[1.0, 0.0, 0.0, 0.9], [0.0, 0.9, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]])
    >>> greedy_weights(scores, lambda mean: auc_score(y, mean))
    array([0.5, 0.5, 0. ])
    """
    scores = np.asarray(scores, dtype=np.float64)
    n_members, random = len(scores), check_random_state(random_state)
    weights, size = np.zeros(n_members), (n_members + 1) // 2 if n_bags > 1 else n_members
    for _ in range(n_bags):
        members = np.sort(random.permutation(n_members)[:size])
        weights[members] += _select(scores[members], gain, n_steps) / n_bags
    return weights


def _select(scores: Floats, gain: Callable[[Floats], float], n_steps: int) -> Floats:
    """Return the weights of one selection."""
    counts, total = np.zeros(len(scores)), np.zeros(scores.shape[1])
    best, best_counts = -np.inf, counts
    for step in range(1, n_steps + 1):
        gains = [gain((total + one) / step) for one in scores]
        chosen = int(np.argmax(np.asarray(gains) >= _slightly_below(max(gains))))
        counts[chosen] += 1
        total += scores[chosen]
        if _slightly_below(gains[chosen]) > best:
            best, best_counts = gains[chosen], counts.copy()
    return best_counts / best_counts.sum()


def _slightly_below(gain: float) -> float:
    return gain - _TIE * abs(gain)


@dataclass(frozen=True, eq=False)
class Selection:
    """Members chosen on held-out rows, their weights and maps, and figures of held-out rows.

    Attributes
    ----------
    weights : dict of str to float
        Weight of each member, by name; the sum is 1.
    maps : dict of str to ScoreMap
        Map of the scores of each member that brings them to the common scale.
    scores : ndarray of shape (n_rows,)
        Scores of the held-out rows by the members of their folds, weighted as here: they have
        seen which rows are in which class.
    nearly_honest_scores : ndarray of shape (n_rows,)
        The same with weights chosen on the rows of the other folds.
    member_scores : dict of str to dict of str to Estimate
        Figures of each member, by metric.
    score_estimate : dict of str to Estimate
        Figures of the ensemble by metric: those of `nearly_honest_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import HeldOutLabels, select_members
    >>> y, fold = np.tile([True, False, False, True], 5), np.repeat([0, 1], 10)
    >>> found = select_members({"a": 1.0 * y}, HeldOutLabels(y, fold, np.ones(20)))
    >>> found.weights, found.score_estimate["auc"].value
    ({'a': 1.0}, 1.0)
    """

    weights: dict[str, float]
    maps: dict[str, ScoreMap]
    scores: Floats
    nearly_honest_scores: Floats
    member_scores: dict[str, dict[str, Estimate]]
    score_estimate: dict[str, Estimate]


def select_members(
    out_of_fold: Mapping[str, Floats],
    rows: HeldOutLabels,
    *,
    of_probability: Mapping[str, bool] | None = None,
    scoring: Any = None,
    n_steps: int = 25,
    n_bags: int = 1,
    random_state: Any = None,
    fitted_to: Mapping[int, Mask] | None = None,
) -> Selection:
    """Select members and estimate how their ensemble ranks new rows.

    Parameters
    ----------
    out_of_fold : mapping of str to ndarray of shape (n_rows,)
        Scores of each member by name, simple members first: those of a row from a model that was
        fitted without the fold of the row.
    rows : HeldOutLabels
        Relevance, folds, weights and queries of the rows.
    of_probability : mapping of str to bool, default=None
        Which scores are probabilities. None: no ones.
    scoring : str, scorer or None, default=None
        What is maximised; see `HeldOutLabels.gain`.
    n_steps, n_bags : int, default=25, 1
        See `greedy_weights`.
    random_state : int, RandomState or None, default=None
        Seed of the random halves with ``n_bags > 1``.
    fitted_to : mapping of int to ndarray of bool of shape (n_rows,), default=None
        For each fold a mask of the rows its members were fitted to. `nearly_honest_scores` takes
        the weights of a fold from these rows, without those in folds of which they hold no
        comparable pair, and equal weights where they hold none at all. Folds that are periods
        need it, so that no weights come from later rows. None: the rows of all other folds.

    Returns
    -------
    Selection
        Weights, maps and figures.

    Raises
    ------
    ValueError
        With fewer than two folds, or without a comparable pair.

    Notes
    -----
    *In one list* the selection averages normal scores within each fold, for which no map is
    needed; with queries it averages mapped scores.

    *The estimate is nearly honest.* For each fold the weights are chosen on the rows of the other
    folds, and judged on this one, so that choosing does not flatter the result. But the members
    of the other folds were fitted to rows of this one: their scores, and so the weights, are not
    quite independent of it. And members of the folds had fewer rows than the refitted ones,
    which makes the estimate a little too low.

    References
    ----------
    Caruana2004.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import HeldOutLabels, select_members
    >>> rng = np.random.default_rng(0)
    >>> y, fold = rng.random(300) < 0.3, np.arange(300) % 5
    >>> scores = {name: y + rng.standard_normal(300) for name in ("a", "b")}
    >>> scores["noise"] = rng.standard_normal(300)
    >>> found = select_members(scores, HeldOutLabels(y, fold, np.ones(300)))
    >>> found.weights["noise"], found.score_estimate["auc"].value > 0.8
    (0.0, True)
    """
    folds, kinds = np.unique(rows.fold), of_probability or {}
    if len(folds) < 2:
        raise ValueError("A selection needs at least two folds of held-out rows. Got one.")
    given: dict[str, Any] = {"weight": rows.weight, "qid": rows.qid}
    maps = {
        name: ScoreMap.fit(one, rows.fold, of_probability=kinds.get(name, False), **given)
        for name, one in out_of_fold.items()
    }
    ranked = mapped = np.array([maps[name](one) for name, one in out_of_fold.items()])
    if rows.qid is None:
        ranked = np.array([normal_scores(one, rows.fold, rows.weight) for one in mapped])
    seed = check_random_state(random_state).randint(2**31 - 1)

    def weights_on(part: Any) -> Floats:
        gain = rows.take(part).gain(scoring)
        options = {"n_steps": n_steps, "n_bags": n_bags, "random_state": seed}
        return greedy_weights(ranked[:, part], gain, **options)

    weights, honest = weights_on(slice(None)), np.empty(len(rows.y))
    for one in folds:
        left_out = rows.fold == one
        part = _told(rows, ~left_out if fitted_to is None else fitted_to[one])
        chosen = weights_on(part) if len(part) else np.full(len(maps), 1 / len(maps))
        honest[left_out] = chosen @ ranked[:, left_out]
    return Selection(
        dict(zip(maps, weights.tolist(), strict=True)),
        maps,
        weights @ mapped,
        honest,
        {name: rows.estimates(one, scoring) for name, one in zip(maps, ranked, strict=True)},
        rows.estimates(honest, scoring),
    )


def _told(rows: HeldOutLabels, mask: Mask) -> Indices:
    """Return the rows of a mask in the folds of which it has a comparable pair.

    It may cut a fold down to rows of one class, of which metrics are not defined.
    """
    parts = [np.flatnonzero(mask & (rows.fold == one)) for one in np.unique(rows.fold[mask])]
    told = [part for part in parts if have_pair(rows.y[part], rows.lists[part])]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *told]))
