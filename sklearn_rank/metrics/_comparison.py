"""Confidence intervals of a mean over queries, and of the difference of two rankings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import SEED, Constraint, Number, check_floats, check_parameters
from sklearn_rank.metrics.intervals import CONFIDENCE

_ROUNDING = 1e-12
"""Relative differences up to this are taken as zero."""

BATCH_VALUES = 1 << 22
"""Resampled values that are held in memory at a time."""

MANY_VALUES = 5_000
"""Up to this number of values the interval is BCa. For a skewness of 2 the correction then moves
an end by a (2 + z^2) = 0.028 standard errors, with the acceleration a = 2 / (6 sqrt(n)): the Monte
Carlo error of 9,999 resamples. Its time is quadratic in the number of values."""

_ENOUGH = 100
"""With fewer samples all may lie on one side of the mean, which BCa can't correct."""

_PARAMETERS: dict[str, Constraint] = {
    "confidence": CONFIDENCE,
    "n_resamples": Number(1, integer=True),
    "random_state": SEED,
}


@dataclass(frozen=True)
class BootstrapInterval:
    """A mean over queries with a confidence interval.

    Attributes
    ----------
    mean : float
        Mean over the queries that have a value.
    low, high : float
        Ends of the interval.
    n_queries : int
        Number of queries that have a value.

    Examples
    --------
    >>> from sklearn_rank.metrics import BootstrapInterval
    >>> BootstrapInterval(mean=0.5, low=0.4, high=0.6, n_queries=20).high
    0.6
    """

    mean: float
    low: float
    high: float
    n_queries: int


@dataclass(frozen=True)
class RankingComparison:
    """The mean difference of two rankings over the same queries.

    Attributes
    ----------
    difference : float
        Mean over queries of the first's value minus the second's.
    low, high : float
        Ends of its confidence interval.
    p_value : float
        Two-sided p-value of the hypothesis that the true difference is zero. `compare_rankings`
        gets it from a permutation test, `compare_auc` from the normal or, over queries, the t
        distribution; NaN where the variance can't be estimated.
    n_queries : int
        Number of queries that have values.

    Examples
    --------
    >>> from sklearn_rank.metrics import RankingComparison
    >>> RankingComparison(difference=0.1, low=0.02, high=0.2, p_value=0.01, n_queries=20).low
    0.02
    """

    difference: float
    low: float
    high: float
    p_value: float
    n_queries: int


def check_resampling(
    owner: str, confidence: float, n_resamples: int, random_state: Any
) -> dict[str, Any]:
    """Check the settings of a bootstrap, and return them by name."""
    settings = {"confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}
    check_parameters(owner, settings, _PARAMETERS)
    return settings


def _values(values: Any, name: str) -> Floats:
    values = check_floats(values, name)
    if np.isinf(values).any():
        raise ValueError(f"{name} contains infinity.")
    return np.asarray(values)


def _check_enough(values: Floats) -> None:
    if len(values) < 2:
        raise ValueError(
            f"At least two queries with a value are needed to resample them. Got {len(values)}."
        )


def bootstrap_interval(
    values: Any, *, confidence: float = 0.95, n_resamples: int = 9999, random_state: Any = None
) -> BootstrapInterval:
    """Bootstrap the mean of a metric over queries: queries are drawn with replacement.

    The interval is bias-corrected and accelerated (BCa) up to 5,000 values. For more values the
    corrections are as small as the Monte Carlo error and take quadratic time, and fewer than 100
    samples do not tell them: the interval is then the percentile interval.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        One value for each query, as the metrics return with ``average=None``. NaN marks
        queries that were skipped.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true mean.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    BootstrapInterval
        ``mean``, ``low``, ``high``, ``n_queries``.

    Raises
    ------
    ValueError
        With fewer than two values, or a parameter that is not allowed.

    Notes
    -----
    With few values the interval is too narrow, most of all if a few of them are far from the
    others. Where all values are equal its width is zero: no sample differs from them, although new
    queries may.

    References
    ----------
    Efron1993 (both intervals).

    Examples
    --------
    >>> from sklearn_rank.metrics import bootstrap_interval
    >>> found = bootstrap_interval([0.2, 0.9, 0.4, 0.7, 0.8], random_state=0)
    >>> found.mean, found.low < 0.6 < found.high
    (0.6, True)
    """
    check_resampling("bootstrap_interval", confidence, n_resamples, random_state)
    values = _values(values, "values")
    values = values[~np.isnan(values)]
    _check_enough(values)
    low, high = _interval(values, confidence, n_resamples, check_random_state(random_state))
    return BootstrapInterval(float(values.mean()), low, high, len(values))


def _interval(values: Floats, confidence: float, n_resamples: int, rng: Any) -> tuple[float, float]:
    """Return the ends of the interval; both are the mean when all values are equal."""
    if np.ptp(values) <= _ROUNDING * np.abs(values).max():
        return float(values.mean()), float(values.mean())
    found = stats.bootstrap(
        (values,),
        np.mean,
        confidence_level=confidence,
        n_resamples=n_resamples,
        batch=max(1, BATCH_VALUES // len(values)),
        method="BCa" if n_resamples >= _ENOUGH and len(values) <= MANY_VALUES else "percentile",
        random_state=rng,
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def compare_rankings(
    values_a: Any,
    values_b: Any,
    *,
    confidence: float = 0.95,
    n_resamples: int = 9999,
    random_state: Any = None,
) -> RankingComparison:
    """Compare two rankings of the same queries by their paired differences.

    The interval of the mean difference is that of `bootstrap_interval`. The p-value is that
    of the permutation test that exchanges the two values of a query: exact when there are at
    most `n_resamples` permutations, else over random ones. Values with a relative difference
    of at most 1e-12 count as equal.

    Parameters
    ----------
    values_a, values_b : array-like of shape (n_queries,)
        One value for each query, in the same order, as the metrics return with
        ``average=None``. Queries that were skipped are NaN in both.
    confidence : float in (0, 1), default=0.95
        Confidence level: nominal coverage of the true mean difference.
    n_resamples : int >= 1, default=9999
        Number of bootstrap samples, and of random permutations.
    random_state : int, RandomState or None, default=None
        Seed of the draws.

    Returns
    -------
    RankingComparison
        ``difference`` (a minus b), ``low``, ``high``, ``p_value``, ``n_queries``.

    Raises
    ------
    ValueError
        When the values belong to different queries, with fewer than two queries, or with a
        parameter that is not allowed.

    References
    ----------
    Smucker2007 (the permutation test).

    Examples
    --------
    >>> from sklearn_rank.metrics import compare_rankings
    >>> found = compare_rankings([0.5, 0.9, 0.4, 0.7], [0.4, 0.7, 0.1, 0.3], random_state=0)
    >>> round(found.difference, 3), found.p_value
    (0.25, 0.125)
    """
    check_resampling("compare_rankings", confidence, n_resamples, random_state)
    a, b = _values(values_a, "values_a"), _values(values_b, "values_b")
    if a.shape != b.shape or not np.array_equal(np.isnan(a), np.isnan(b)):
        raise ValueError(
            "compare_rankings: both rankings need values of the same queries, with NaN for the "
            f"same ones. Got {len(a)} and {len(b)} values, {int(np.isnan(a).sum())} and "
            f"{int(np.isnan(b).sum())} of them NaN."
        )
    a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    is_rounding = np.abs(a - b) <= _ROUNDING * np.maximum(np.abs(a), np.abs(b))
    difference = np.where(is_rounding, 0.0, a - b)
    _check_enough(difference)
    rng = check_random_state(random_state)
    low, high = _interval(difference, confidence, n_resamples, rng)
    p_value = _permutation_test(difference, n_resamples, rng)
    return RankingComparison(float(difference.mean()), low, high, p_value, len(difference))


def _permutation_test(difference: Floats, n_resamples: int, rng: Any) -> float:
    """Return the two-sided p-value of the sign-flip test of the mean difference."""
    if not difference.any():
        return 1.0
    found = stats.permutation_test(
        (difference,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=max(1, BATCH_VALUES // len(difference)),
        random_state=rng,
    )
    return float(found.pvalue)
