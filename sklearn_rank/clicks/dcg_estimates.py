"""Estimates of the DCG of a ranker from the clicks on lists of other rankers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.validation import (
    SEED,
    Choice,
    Constraint,
    Number,
    check_finite,
    check_lengths,
    check_parameters,
    check_positions,
    check_qid,
)
from sklearn_rank.clicks._click_log import (
    check_chances,
    check_clicks,
    check_rows,
    ranks_in_queries,
)
from sklearn_rank.clicks.propensity import PositionPropensity

_OWNER = "dcg_from_clicks"
_ALLOWED: dict[str, Constraint] = {
    "method": Choice(("ips", "snips", "dr")),
    "k": Number(1, integer=True),
    "clip": Number(0.0, 1.0, closed="right", other=(None,)),
    "min_overlap": Number(0.0, 1.0),
    "n_bootstrap": Number(2, integer=True, other=(0,)),
    "random_state": SEED,
}
_LEVEL = (0.025, 0.975)


@dataclass(frozen=True, eq=False)
class ClickEstimate:
    """An estimate of the DCG of a ranker, with what the log can tell about it.

    Attributes
    ----------
    dcg : float
        The estimate: the mean over impressions.
    low, high : float
        Ends of the 95 % interval; NaN without bootstrap.
    kind : str
        "estimate"; "lower bound" where weights were clipped or rows that the log never shows count
        0; "biased" where clipping leaves a bias of unknown sign, or the self-normalised estimate
        takes rows that the log never shows for as good as the others, mostly better than they are.
        A doubly robust estimate with such rows is an "estimate" that is right only if their
        predictions are.
    overlap : float
        Share of the discounts of the ranker's top rows that are of rows in the log.
    n_unseen : int
        Number of top rows of the ranker that the log never shows.
    largest_weight : float
        Largest weight of a row in the log, before clipping.
    effective_rows : float
        Squared sum of the weights of rows shown over the sum of their squares.

    Examples
    --------
    >>> from sklearn_rank.clicks import ClickEstimate
    >>> found = ClickEstimate(1.0, 0.9, 1.1, "estimate", 1.0, 0, 4.0, 500.0)
    >>> str(found)
    'DCG 1.0000 [0.9000, 1.1000], estimate'
    """

    dcg: float
    low: float
    high: float
    kind: str
    overlap: float
    n_unseen: int
    largest_weight: float
    effective_rows: float

    def __str__(self) -> str:
        """Say the estimate, its interval and what the log never shows."""
        text = f"DCG {self.dcg:.4f} [{self.low:.4f}, {self.high:.4f}], {self.kind}"
        if self.n_unseen:
            text += (
                f"; the log never shows {self.n_unseen} of the ranker's rows, "
                f"{1 - self.overlap:.0%} of the discounts"
            )
        return text


def dcg_from_clicks(
    clicks: Any,
    position: Any,
    row: Any,
    impression: Any,
    y_score: Any,
    *,
    qid: Any,
    propensity: Any,
    offset: Any = None,
    method: str = "ips",
    attraction: Any = None,
    k: int = 10,
    clip: float | None = None,
    min_overlap: float = 0.5,
    n_bootstrap: int = 200,
    random_state: int | np.random.RandomState | None = None,
) -> ClickEstimate:
    r"""Estimate the DCG of a ranker from clicks on the lists of others.

    .. math:: V = \frac{1}{\sum_q N_q} \sum_q N_q \sum_{d \in q} \lambda_d \hat\gamma_d, \qquad
        \hat\gamma_d^{IPS} = \frac{C_d - B_d}{A_d}, \qquad
        \hat\gamma_d^{DR} = r_d + \frac{C_d - B_d - A_d r_d}{A_d}

    .. math:: A_d = \sum_i \alpha_{k_i}, \quad B_d = \sum_i \beta_{k_i}, \quad
        \lambda_d = \frac{1}{\log_2(1 + \mathrm{rank}_d)} \text{ up to rank k, else } 0

    where q runs over the queries and :math:`N_q` is the number of impressions of q, d over its
    rows, i over the impressions that show d at position :math:`k_i`, :math:`C_d` is the number of
    clicks on d, and :math:`\mathrm{rank}_d` the rank by `y_score`. A click at position k has the
    probability :math:`\alpha_k \gamma_d + \beta_k`, with :math:`\alpha` = `propensity` and
    :math:`\beta` = `offset`: trust in high positions makes :math:`\beta_k > 0`. The gain
    :math:`\gamma_d` is the probability of a click on a row that is seen, and :math:`r_d` its
    prediction. :math:`N_q / A_d` is the inverse propensity weight of d, averaged over the
    impressions; with `clip` c, the denominators are at least :math:`c N_q`.

    The self-normalised estimate ("snips") divides V by the share of the discounts for which the
    weights stand, :math:`\sum_q N_q \sum_d \lambda_d A_d / A_d^{clipped}` over the same sum without
    clip and with the rows that were never shown: as if these were as good as the others.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        1 for rows of the log that were clicked, else 0.
    position : array-like of shape (n_shown,)
        Where each was shown: 1 is the top.
    row : array-like of shape (n_shown,)
        Which entry of `y_score` it is: 0, 1, ...
    impression : array-like of shape (n_shown,)
        The impression of each row: one list that was shown once.
    y_score : array-like of shape (n_samples,)
        Scores by the new ranker of all rows that it could show. Ties are in the order of the rows.
    qid : array-like of shape (n_samples,)
        Query of each entry of `y_score`.
    propensity : array-like or PositionPropensity
        Propensities :math:`\alpha` of positions 1, 2, ... They must be chances, not only
        proportional to them, or V has the same unknown factor. A `PositionPropensity` estimates
        them from this log, with `row` as groups, and anew in each bootstrap sample, so that the
        interval holds their uncertainty; its own bootstrap is not used, estimates above 1 count
        as 1, and where a sample does not tell one it is that of the whole log. It gets no features:
        the log of one ranker needs numbers, such as those that it was fitted to before with X.
    offset : array-like or None, default=None
        :math:`\beta` of positions 1, 2, ..., in [0, 1]. None: no trust bias.
    method : {"ips", "snips", "dr"}, default="ips"
        Inverse propensities, the same self-normalised, or doubly robust.
    attraction : array-like of shape (n_samples,) or None, default=None
        Predictions r in [0, 1], for "dr" only; not fitted to the clicks of this log.
    k : int >= 1, default=10
        Rows of a list that count.
    clip : float in (0, 1] or None, default=None
        Smaller mean propensities of a row are replaced by it, so that no weight is above 1 / clip.
    min_overlap : float in [0, 1], default=0.5
        The estimate is refused where `ClickEstimate.overlap` is below.
    n_bootstrap : int >= 2 or 0, default=200
        Samples of queries for the interval; 0: no interval.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    ClickEstimate
        The estimate, its interval and diagnostics.

    Raises
    ------
    ValueError
        When the log shows too few of the rows that the ranker would show, an impression has rows of
        two queries, a propensity is not positive, or an argument is not allowed.

    Notes
    -----
    Inverse propensities are unbiased where propensities are right and each row of the new top k
    was shown. "dr" is so too with rows that were never shown if their predictions are right, but
    not otherwise. "snips" is not with rows that were never shown: they are mostly worse than the
    others, and the estimate is then too high.

    The interval is that of queries drawn anew: with few of them it is too narrow. Its width is zero
    where all queries give the same, as without a click.

    References
    ----------
    Joachims2017 (inverse propensities), Vardasbi2020 (affine correction), Oosterhuis2023 (doubly
    robust estimate of clicks). Weights from the mean propensity of a row over the impressions of
    the log, and the self-normalised form for rows, are defined here.

    Examples
    --------
    >>> from sklearn_rank.clicks import dcg_from_clicks, make_clicks
    >>> y, score, qid = [2, 0, 0, 2], [1.0, 2.0, 1.0, 2.0], [0, 0, 1, 1]
    >>> log = make_clicks(y, score, qid, n_impressions=5000, noise=0.0, random_state=0)
    >>> found = dcg_from_clicks(
    ...     log.click,
    ...     log.position,
    ...     log.row,
    ...     log.impression,
    ...     y,
    ...     qid=qid,
    ...     propensity=[1, 0.5],
    ...     random_state=0,
    ... )
    >>> round(found.dcg, 1), found.kind  # both queries with the good row on top: 1
    (1.0, 'estimate')
    """
    given = (method, k, clip, min_overlap, n_bootstrap, random_state)
    check_parameters(_OWNER, dict(zip(_ALLOWED, given, strict=True)), _ALLOWED)
    log = _read(clicks, position, row, impression, y_score, qid, k)
    predicted = _predictions(method, attraction, log)
    n_positions = int(log.position.max())
    no_trust = np.zeros(n_positions)
    beta = check_chances(_OWNER, no_trust if offset is None else offset, "offset", n_positions)
    weights = _draws(check_random_state(random_state), log.n_queries, n_bootstrap)
    if isinstance(propensity, PositionPropensity):
        columns = clicks, position, row, log.query_of_row
        found = np.minimum(propensity.by_weight(*columns, weights.astype(np.float64)), 1.0)
        # What a sample does not tell, mostly positions of which it shows nothing, as in the log.
        propensities = np.where(found > 0, found, found[0])
    else:
        found = check_chances(_OWNER, propensity, "propensity", n_positions, positive=True)
        propensities = found[np.newaxis]
    overlap = _overlap(log, min_overlap)
    place = log.position - 1
    rule = _Rule(method, clip, predicted, beta[place])
    numbers: Iterator[Floats] = (rule.of_queries(log, alpha[place]) for alpha in propensities)
    if len(propensities) == 1:
        numbers = repeat(next(numbers))
    sums = [_value(method, w @ one) for w, one in zip(weights, numbers, strict=False)]
    low, high = np.quantile(sums[1:], _LEVEL) if n_bootstrap else (np.nan, np.nan)
    rest = _diagnostics(log, rule, propensities[0, place])
    return ClickEstimate(sums[0], float(low), float(high), rest[0], overlap, *rest[1:])


def _draws(rng: Any, n_queries: int, n_bootstrap: int) -> Indices:
    """Return how often each query is drawn: once in the log, then in each bootstrap sample."""
    if n_bootstrap and n_queries < 2:
        raise ValueError(
            f"{_OWNER} needs two queries for an interval; n_bootstrap=0 goes without. Got 1."
        )
    drawn = [
        np.bincount(rng.randint(n_queries, size=n_queries), minlength=n_queries)
        for _ in range(n_bootstrap)
    ]
    return np.array([np.ones(n_queries, dtype=np.intp), *drawn])


@dataclass(frozen=True, eq=False)
class _Log:
    """A checked log, summed up by row of `y_score` and position: a cell is a pair of these.

    Attributes
    ----------
    row, position, shown : ndarray of shape (n_cells,)
        The row and the position of each cell, and its number of impressions.
    query_of_row : ndarray of shape (n_shown,)
        Query of each row of the log.
    n_clicks, discount, query : ndarray of shape (n_samples,)
        Of each row of `y_score`; those of queries that the log never shows have discount 0.
    impressions : ndarray of shape (n_queries,)
        Number of impressions of each query of the log.
    """

    row: Indices
    position: Indices
    shown: Floats
    query_of_row: Indices
    n_clicks: Floats
    discount: Floats
    query: Indices
    impressions: Floats

    @property
    def n_queries(self) -> int:
        return len(self.impressions)

    def by_row(self, of_cell: Any) -> Floats:
        """Sum numbers of each cell, times its impressions, by row."""
        return np.bincount(self.row, self.shown * of_cell, len(self.discount)).astype(np.float64)


def _read(
    clicks: Any, position: Any, row: Any, impression: Any, y_score: Any, qid: Any, k: int
) -> _Log:
    """Check the log and count it by row; queries that it never shows are left out."""
    clicked = check_clicks(_OWNER, clicks)
    place = check_positions(_OWNER, position, len(clicked))
    scores = check_finite(y_score, "y_score")
    if scores.ndim != 1:
        raise ValueError(f"y_score of {_OWNER} must have one dimension. Got shape {scores.shape}.")
    last, code = len(scores) - 1, check_qid(qid, len(scores))
    allowed = f"{_OWNER} must be whole numbers from 0 to {last}, entries of y_score"
    chosen = check_rows(row, allowed, len(scores))
    check_lengths(clicks=clicked, row=chosen)
    list_of = check_qid(impression, len(clicked), "impression")
    first = np.unique(list_of, return_index=True)[1]
    query_of = code[chosen]
    if (query_of != query_of[first][list_of]).any():
        raise ValueError(f"impression of {_OWNER} must be of one query each. One has rows of two.")
    known, query_of_row = np.unique(query_of, return_inverse=True)
    rank = ranks_in_queries(scores, code)
    discount = np.where(rank < k, 1 / np.log2(2.0 + rank), 0.0)
    in_log, n_positions = np.isin(code, known), int(place.max()) + 1
    cell, shown = np.unique(chosen * n_positions + place, return_counts=True)
    return _Log(
        cell // n_positions,
        cell % n_positions,
        shown.astype(np.float64),
        query_of_row,
        np.bincount(chosen, clicked, len(scores)).astype(np.float64),
        np.where(in_log, discount, 0.0),
        np.where(in_log, np.searchsorted(known, code), 0),
        np.bincount(query_of_row[first], minlength=len(known)).astype(np.float64),
    )


def _predictions(method: str, attraction: Any, log: _Log) -> Floats:
    if (method == "dr") != (attraction is not None):
        raise ValueError(
            f"attraction of {_OWNER} must be given with method='dr', and with no other. "
            f"Got method={method!r}."
        )
    if attraction is None:
        return np.zeros(len(log.discount))
    found = check_chances(_OWNER, attraction, "attraction", len(log.discount))
    check_lengths(y_score=log.discount, attraction=found)
    return found


def _overlap(log: _Log, min_overlap: float) -> float:
    """Return the share of the discounts of rows in the log; ValueError if it is too small."""
    mass = log.discount * log.impressions[log.query]
    overlap = float(mass[log.by_row(1.0) > 0].sum() / mass.sum())
    if not overlap or overlap < min_overlap:
        raise ValueError(
            f"The log can't tell the DCG of this ranker: rows with {overlap:.0%} of its discounts "
            f"were shown, min_overlap of {_OWNER} asks for {min_overlap:.0%}. Let another ranker "
            "or swaps show them."
        )
    return overlap


@dataclass(frozen=True, eq=False)
class _Rule:
    """How counts become gains."""

    method: str
    clip: float | None
    predicted: Floats
    beta: Floats

    def of_queries(self, log: _Log, alpha: Floats) -> Floats:
        """Return by query: sum of gains, number of impressions, discounts weighted, and all."""
        mean = log.by_row(alpha)
        clicks = log.n_clicks - log.by_row(self.beta)
        times = log.impressions[log.query]
        least = mean if self.clip is None else np.maximum(mean, times * self.clip)
        is_shown = mean > 0
        least = np.where(is_shown, least, 1.0)
        rest = np.where(is_shown, (clicks - mean * self.predicted) / least, 0.0)
        mass = times * log.discount
        stands = mass * np.where(is_shown, mean / least, 0.0)
        sums = [
            np.bincount(log.query, one, log.n_queries)
            for one in (mass * (self.predicted + rest), stands, mass)
        ]
        return np.column_stack([sums[0], log.impressions, *sums[1:]])


def _value(method: str, sums: Floats) -> float:
    gains, impressions, stands, mass = sums
    value = gains / impressions
    return float(value * mass / stands if method == "snips" and stands else value)


def _diagnostics(log: _Log, rule: _Rule, alpha: Floats) -> tuple[str, int, float, float]:
    """Return the kind of the estimate, the number of unseen rows, and how large weights are."""
    mean, counts = log.by_row(alpha), log.discount > 0
    seen = counts & (mean > 0)
    n_unseen = int((counts & ~seen).sum())
    inverse = log.impressions[log.query[seen]] / mean[seen]
    is_clipped = rule.clip is not None and bool((inverse * rule.clip > 1).any())
    kind = "estimate"
    if is_clipped or (n_unseen and rule.method != "dr"):
        kind = "lower bound" if rule.method == "ips" else "biased"
    weight, times = log.discount[seen] * inverse, log.by_row(1.0)[seen]
    effective = (times @ weight) ** 2 / (times @ weight**2)
    return kind, n_unseen, float(inverse.max()), float(effective)
