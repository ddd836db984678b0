"""Estimates of the DCG of a ranker from clicks on the lists of other rankers."""

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
    check_clicks,
    check_probabilities,
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
_LEVELS = (0.025, 0.975)
"""Levels of the quantiles at the ends of an interval."""


@dataclass(frozen=True, eq=False)
class ClickEstimate:
    """An estimate of the DCG of a ranker, with diagnostics of the log.

    Attributes
    ----------
    dcg : float
        The estimate: the mean over impressions.
    low, high : float
        Ends of the 95 % interval; NaN without bootstrap.
    kind : str
        "estimate"; "lower bound" if weights were clipped, or if rows that the log never shows
        (unseen) count 0; "biased" if clipping leaves a bias of unknown sign, or if a
        self-normalised estimate assumes that unseen rows are as good as the others, which they
        usually are not. A doubly robust estimate with unseen rows is an "estimate" that is correct
        only if their predictions are.
    overlap : float
        Fraction of the total discount of the ranker's top k on rows that the log shows.
    n_unseen : int
        Number of top rows of the ranker that the log never shows.
    largest_weight : float
        Largest weight of a row in the log, before clipping.
    effective_rows : float
        Squared sum of the weights of shown rows over the sum of their squares.

    Examples
    --------
    >>> from sklearn_rank.clicks import ClickEstimate
    >>> estimate = ClickEstimate(1.0, 0.9, 1.1, "estimate", 1.0, 0, 4.0, 500.0)
    >>> str(estimate)
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
        """Return the estimate, its interval and the number of unseen rows as text."""
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
    :math:`\gamma_d` is the probability of a click on an examined row, and :math:`r_d` its
    prediction. :math:`N_q / A_d` is the mean inverse propensity weight of d over the impressions;
    with `clip` c, the denominators are at least :math:`c N_q`.

    The self-normalised estimate ("snips") divides V by the share of the discounts that the weights
    cover: :math:`\sum_q N_q \sum_d \lambda_d A_d / A_d^{clipped}` over the same sum without clip
    and with unseen rows. It assumes that unseen rows are as good as the others.

    Parameters
    ----------
    clicks : array-like of shape (n_shown,)
        1 for clicked rows of the log, else 0.
    position : array-like of shape (n_shown,)
        Position of each row; 1 is the top.
    row : array-like of shape (n_shown,)
        Its entry of `y_score`: 0, 1, ...
    impression : array-like of shape (n_shown,)
        Impression of each row: a list, shown once.
    y_score : array-like of shape (n_samples,)
        Scores of the new ranker for all rows that it could show; ties in the order of the rows.
    qid : array-like of shape (n_samples,)
        Query of each entry of `y_score`.
    propensity : array-like or PositionPropensity
        Propensities :math:`\alpha` of positions 1, 2, ... They must be probabilities, because an
        unknown factor would also multiply V. A `PositionPropensity` estimates them from this log,
        with `row` as groups, and again in each bootstrap sample, so that the interval includes
        their uncertainty. Its own bootstrap is not used, estimates above 1 count as 1, and if a
        sample does not identify one, that of the whole log is used. It gets no features: for the
        log of a single ranker, pass numbers, such as ``propensity_`` of an earlier fit with X.
    offset : array-like or None, default=None
        :math:`\beta` of positions 1, 2, ..., in [0, 1]. None: no trust bias.
    method : {"ips", "snips", "dr"}, default="ips"
        Inverse propensity, self-normalised, or doubly robust.
    attraction : array-like of shape (n_samples,) or None, default=None
        Predictions r in [0, 1], only for "dr"; they must not be fitted to the clicks of this log.
    k : int >= 1, default=10
        Number of rows at the top of each list that count.
    clip : float in (0, 1] or None, default=None
        Replaces smaller mean propensities of a row, so that no weight is above 1 / clip.
    min_overlap : float in [0, 1], default=0.5
        Minimum `ClickEstimate.overlap`; below it a ValueError is raised.
    n_bootstrap : int >= 2 or 0, default=200
        Number of bootstrap samples of queries for the interval; 0: no interval.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.

    Returns
    -------
    ClickEstimate
        The estimate, its interval and diagnostics.

    Raises
    ------
    ValueError
        If the log shows too few of the rows that the ranker would show, an impression has rows of
        two queries or a row twice, a propensity is not positive, or an argument is invalid.

    Notes
    -----
    "ips" is unbiased if the propensities are correct and each row of the new top k was shown. "dr"
    is also unbiased with unseen rows if their predictions are correct. "snips" is biased with
    unseen rows: they are usually worse than the others, so the estimate is too high.

    The interval comes from the bootstrap over queries; with few queries, it is too narrow. Its
    width is zero if all queries have the same value, for example without any click.

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
    >>> estimate = dcg_from_clicks(
    ...     log.click,
    ...     log.position,
    ...     log.row,
    ...     log.impression,
    ...     y,
    ...     qid=qid,
    ...     propensity=[1, 0.5],
    ...     random_state=0,
    ... )
    >>> round(estimate.dcg, 1), estimate.kind  # both queries with the good row on top: 1
    (1.0, 'estimate')
    """
    settings = (method, k, clip, min_overlap, n_bootstrap, random_state)
    check_parameters(_OWNER, dict(zip(_ALLOWED, settings, strict=True)), _ALLOWED)
    # 1) Counts of the log, and the bootstrap weights of its queries (the first row: all once).
    log = _read(clicks, position, row, impression, y_score, qid, k)
    predicted = _predictions(method, attraction, log)
    n_positions = int(log.position.max())
    offset = np.zeros(n_positions) if offset is None else offset  # no trust bias
    beta = check_probabilities(_OWNER, offset, "offset", n_positions)
    weights = _draws(check_random_state(random_state), log.n_queries, n_bootstrap)
    # 2) Propensities, given or estimated in each sample.
    if isinstance(propensity, PositionPropensity):
        columns = clicks, position, row, log.query_of_row
        theta = np.minimum(propensity.by_weight(*columns, weights.astype(np.float64)), 1.0)
        # Mostly at positions without impressions in a sample: the estimate from the whole log.
        propensities = np.where(theta > 0, theta, theta[0])
    else:
        theta = check_probabilities(_OWNER, propensity, "propensity", n_positions, positive=True)
        propensities = theta[np.newaxis]
    # 3) The estimate in the log and in each sample, from sums over queries.
    overlap = _overlap(log, min_overlap)
    cell = log.position - 1
    estimator = _GainEstimator(method, clip, predicted, beta[cell])
    query_sums: Iterator[Floats] = (estimator.sums(log, alpha[cell]) for alpha in propensities)
    if len(propensities) == 1:
        query_sums = repeat(next(query_sums))
    values = [estimator.value(w @ sums) for w, sums in zip(weights, query_sums, strict=False)]
    low, high = np.quantile(values[1:], _LEVELS) if n_bootstrap else (np.nan, np.nan)
    kind, n_unseen, max_weight, n_effective = _diagnostics(log, estimator, propensities[0, cell])
    interval = float(low), float(high)
    return ClickEstimate(values[0], *interval, kind, overlap, n_unseen, max_weight, n_effective)


def _draws(rng: np.random.RandomState, n_queries: int, n_bootstrap: int) -> Indices:
    """Return the counts of the queries: once each in the log, then in each bootstrap sample."""
    if n_bootstrap and n_queries < 2:
        raise ValueError(
            f"{_OWNER} needs two queries for an interval. Got 1. Use n_bootstrap=0 for none."
        )
    draws = [
        np.bincount(rng.randint(n_queries, size=n_queries), minlength=n_queries)
        for _ in range(n_bootstrap)
    ]
    return np.array([np.ones(n_queries, dtype=np.intp), *draws])


@dataclass(frozen=True, eq=False)
class _ClickCounts:
    """Counts of a checked log by cell, that is, by row of `y_score` and position.

    Attributes
    ----------
    row, position, n_shown : ndarray of shape (n_cells,)
        The row and the position of each cell, and its number of impressions.
    query_of_row : ndarray of shape (n_log_rows,)
        Query of each row of the log.
    n_clicks, discount, query : ndarray of shape (n_samples,)
        Of each row of `y_score`; the discount is 0 in queries that the log never shows.
    impressions : ndarray of shape (n_queries,)
        Number of impressions of each query of the log.
    """

    row: Indices
    position: Indices
    n_shown: Floats
    query_of_row: Indices
    n_clicks: Floats
    discount: Floats
    query: Indices
    impressions: Floats

    @property
    def n_queries(self) -> int:
        return len(self.impressions)

    def by_row(self, values: Floats | float) -> Floats:
        """Sum, for each row, the values of its cells times their impressions."""
        return np.bincount(self.row, self.n_shown * values, len(self.discount)).astype(np.float64)


def _read(
    clicks: Any, position: Any, row: Any, impression: Any, y_score: Any, qid: Any, k: int
) -> _ClickCounts:
    """Check the log and count its impressions by row and position."""
    is_clicked = check_clicks(_OWNER, clicks)
    positions = check_positions(_OWNER, position, len(is_clicked))
    scores = check_finite(y_score, "y_score")
    if scores.ndim != 1:
        raise ValueError(f"y_score of {_OWNER} must have one dimension. Got shape {scores.shape}.")
    last_row, code = len(scores) - 1, check_qid(qid, len(scores))
    allowed = f"{_OWNER} must be whole numbers from 0 to {last_row}, entries of y_score"
    rows = check_rows(row, allowed, len(scores))
    check_lengths(clicks=is_clicked, row=rows)
    lists = check_qid(impression, len(is_clicked), "impression")
    if len(np.unique(lists * len(scores) + rows)) < len(rows):  # its click would count twice
        raise ValueError(f"impression of {_OWNER} must show each row once. One shows a row twice.")
    first_entry = np.unique(lists, return_index=True)[1]  # a row of each impression
    queries = code[rows]
    if (queries != queries[first_entry][lists]).any():
        raise ValueError(f"impression of {_OWNER} must show one query each. One shows two.")
    # Codes without the queries that the log never shows.
    log_queries, query_of_row = np.unique(queries, return_inverse=True)
    rank = ranks_in_queries(scores, code)
    discount = np.where(rank < k, 1 / np.log2(2.0 + rank), 0.0)
    is_in_log, n_positions = np.isin(code, log_queries), int(positions.max()) + 1
    row_position, shown = np.unique(rows * n_positions + positions, return_counts=True)
    return _ClickCounts(
        row_position // n_positions,
        row_position % n_positions,
        shown.astype(np.float64),
        query_of_row,
        np.bincount(rows, is_clicked, len(scores)).astype(np.float64),
        np.where(is_in_log, discount, 0.0),
        np.where(is_in_log, np.searchsorted(log_queries, code), 0),
        np.bincount(query_of_row[first_entry], minlength=len(log_queries)).astype(np.float64),
    )


def _predictions(method: str, attraction: Any, log: _ClickCounts) -> Floats:
    if (method == "dr") != (attraction is not None):
        raise ValueError(
            f"attraction of {_OWNER} is required with method='dr', and must be None with others. "
            f"Got method={method!r}."
        )
    if attraction is None:
        return np.zeros(len(log.discount))
    predicted = check_probabilities(_OWNER, attraction, "attraction", len(log.discount))
    check_lengths(y_score=log.discount, attraction=predicted)
    return predicted


def _overlap(log: _ClickCounts, min_overlap: float) -> float:
    """Return the share of the discounts of rows in the log; ValueError if it is too small."""
    mass = log.discount * log.impressions[log.query]
    overlap = float(mass[log.by_row(1.0) > 0].sum() / mass.sum())
    if not overlap or overlap < min_overlap:
        raise ValueError(
            f"The log does not determine the DCG of this ranker: it shows rows with {overlap:.0%} "
            f"of the discounts, below min_overlap={min_overlap:.0%} of {_OWNER}. Let another "
            "ranker, or random swaps, show the other rows."
        )
    return overlap


@dataclass(frozen=True, eq=False)
class _GainEstimator:
    """Estimates gains from counts; `beta` has a value for each cell."""

    method: str
    clip: float | None
    predicted: Floats
    beta: Floats

    def sums(self, log: _ClickCounts, alpha: Floats) -> Floats:
        """Return by query: gains, impressions, discounts covered by weights, and discounts."""
        exposure, clicks = log.by_row(alpha), log.n_clicks - log.by_row(self.beta)  # A_d, C_d - B_d
        n_impressions = log.impressions[log.query]
        is_shown = exposure > 0
        divisor = np.where(is_shown, np.maximum(exposure, n_impressions * (self.clip or 0.0)), 1.0)
        correction = np.where(is_shown, (clicks - exposure * self.predicted) / divisor, 0.0)
        discount = n_impressions * log.discount
        covered = discount * np.where(is_shown, exposure / divisor, 0.0)
        gains, *other_sums = (
            np.bincount(log.query, row_values, log.n_queries)
            for row_values in (discount * (self.predicted + correction), covered, discount)
        )
        return np.column_stack([gains, log.impressions, *other_sums])

    def value(self, sums: Floats) -> float:
        """Return the estimate V from the sums over all queries."""
        gains, impressions, covered, discount = sums
        value = gains / impressions
        return float(value * discount / covered if self.method == "snips" and covered else value)


def _diagnostics(
    log: _ClickCounts, estimator: _GainEstimator, alpha: Floats
) -> tuple[str, int, float, float]:
    """Return the kind of estimate, the unseen rows, the largest weight and the effective rows."""
    exposure, is_top = log.by_row(alpha), log.discount > 0
    is_seen = is_top & (exposure > 0)
    n_unseen = int((is_top & ~is_seen).sum())
    inverse_theta = log.impressions[log.query[is_seen]] / exposure[is_seen]
    is_clipped = bool((inverse_theta * (estimator.clip or 0.0) > 1).any())
    # Clipping and unseen rows take gains off an "ips" estimate; gains are not negative.
    kind = "estimate"
    if is_clipped or (n_unseen and estimator.method != "dr"):
        kind = "lower bound" if estimator.method == "ips" else "biased"
    weight, n_shown = log.discount[is_seen] * inverse_theta, log.by_row(1.0)[is_seen]
    n_effective = (n_shown @ weight) ** 2 / (n_shown @ weight**2)
    return kind, n_unseen, float(inverse_theta.max()), float(n_effective)
