"""Intervals of all metrics, from the influence values of independent draws.

The influence value of a draw (a row, a query, a fold) is the derivative of an estimate with respect
to the weight of the draw. The sum of their squares is the variance (`Influence`, the jackknife);
their sums over the rows of a bootstrap sample are the change of the estimate
(`changes_in_samples`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.tolerances import METRIC_ROUNDING
from sklearn_rank._core.validation import SEED, Constraint, Number, check_parameters, check_qid
from sklearn_rank.metrics.scored_rows import ScoredRows, count_pairs

CONFIDENCE = Number(0, 1, closed="neither")
BATCH_VALUES = 1 << 22
"""Counts held in memory at a time: 32 MB."""

_RESAMPLING: dict[str, Constraint] = {
    "confidence": CONFIDENCE,
    "n_resamples": Number(1, integer=True),
    "random_state": SEED,
}


@dataclass(frozen=True)
class MetricInterval:
    """A metric, the mean over queries or folds, with a confidence interval.

    Attributes
    ----------
    mean : float
        The metric.
    low, high : float
        Ends of the interval.
    n_queries : int
        Number of queries that have a value; 1 for one list.

    Examples
    --------
    >>> from sklearn_rank.metrics import MetricInterval
    >>> MetricInterval(mean=0.5, low=0.4, high=0.6, n_queries=20).high
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


def check_resampling(owner: str, *settings: Any) -> None:
    """Check the confidence level, n_resamples and random_state of a bootstrap."""
    check_parameters(owner, dict(zip(_RESAMPLING, settings, strict=True)), _RESAMPLING)


@dataclass(frozen=True, eq=False)
class Influence:
    """An estimate and its influence values.

    Attributes
    ----------
    value : float
        The estimate.
    of_draws : ndarray of shape (n_draws,)
        Influence value of each row or query: the derivative of the estimate with
        respect to its weight.
    stratum : ndarray of int of shape (n_draws,)
        Number of the stratum in which a row or query is drawn; -1 without influence.
    freedom : float or None, default=None
        Degrees of freedom of an estimate from queries; None for one from rows.
    """

    value: float
    of_draws: Floats
    stratum: Indices
    freedom: float | None = None

    def __sub__(self, other: Influence) -> Influence:
        """Return the difference of two estimates from the same draws."""
        of_draws = self.of_draws - other.of_draws
        return replace(self, value=self.value - other.value, of_draws=of_draws)

    def standard_error(self) -> float:
        """Return the standard error; raise ValueError for a stratum with a single draw."""
        is_drawn = self.stratum >= 0
        stratum = self.stratum[is_drawn]
        n_draws = np.bincount(stratum)[stratum]
        if (n_draws == 1).any():
            requirement = (
                "queries with rows of different relevance are needed, in every fold that has one"
            )
            if self.freedom is None:
                requirement = "rows of each class are needed, in every fold that has both"
            raise ValueError(f"At least two {requirement}, to estimate their variance. Got one.")
        # A sum of squares around the mean of n draws is too small by (n - 1) / n.
        deviation = self.of_draws[is_drawn] * np.sqrt(n_draws / (n_draws - 1))
        error = float(np.sqrt(deviation @ deviation))
        return error if error > METRIC_ROUNDING else 0.0

    @property
    def n_queries(self) -> int:
        """Number of queries in a stratum; 1 for one list."""
        return 1 if self.freedom is None else int(np.sum(self.stratum >= 0))

    def distribution(self) -> Any:
        """Return the distribution of the error divided by its standard error."""
        return stats.norm() if self.freedom is None else stats.t(self.freedom)


def auc_influence(y: Any, score: Any, qid: Any, fold: Any, name: str) -> Influence:
    """Return the mean AUC over folds with the influence values of rows, or of queries."""
    rows = ScoredRows.with_relevance(y, score, qid, name=name)
    folds = 0 * rows.query if fold is None else check_qid(fold, len(rows.score), "fold")
    return _auc_by_row(rows, folds) if rows.qid is None else _auc_by_query(rows, folds)


def _auc_by_row(rows: ScoredRows, folds: Indices) -> Influence:
    """Return the mean AUC over folds and its derivatives with respect to the row weights.

    The strata are the two classes of each fold, or a whole graded fold: there a row may be above
    some rows and below others. Folds without a pair have no AUC and do not count.
    """
    by_fold = replace(rows, qid=folds)  # rows of different folds are not compared
    below, above = count_pairs(by_fold), count_pairs(by_fold.reversed())
    below.require_pairs()
    wrong_below, wrong_above = below.outscored + below.tied / 2, above.outscored + above.tied / 2
    n_pairs = np.bincount(folds, below.total)
    has_auc = n_pairs > 0
    wrong = np.bincount(folds, wrong_below) / np.maximum(n_pairs, 1)  # 1 - AUC of each fold
    # The pairs of a row have fewer errors than as many pairs of its fold: by this excess.
    error_excess = wrong[folds] * (below.total + above.total) - wrong_below - wrong_above
    of_rows = error_excess / np.maximum(n_pairs * has_auc.sum(), 1)[folds]
    is_below, is_above = below.total > 0, above.total > 0
    is_graded = np.bincount(folds, is_above & is_below) > 0
    stratum = np.where(has_auc[folds], 2 * folds + (is_below & ~is_graded[folds]), -1)
    return Influence(1 - float(wrong[has_auc].mean()), of_rows, stratum)


def _auc_by_query(rows: ScoredRows, folds: Indices) -> Influence:
    """Return the mean AUC over folds and the jackknife influence value of each query.

    This value is (n - 1) / n times the difference from the AUC without the query. For queries of
    equal numbers of pairs that is the derivative; a query with most pairs of its fold has a far
    larger one, because the others differ from it. The strata are the folds.
    """
    below = count_pairs(rows)
    below.require_pairs()
    pairs = np.bincount(rows.query, below.total, rows.n_queries)
    wrong = np.bincount(rows.query, below.outscored + below.tied / 2, rows.n_queries)
    paired = np.flatnonzero(pairs)  # queries
    pairs, wrong, fold = pairs[paired], wrong[paired], fold_of_queries(folds, rows.query)[paired]
    fold = np.unique(fold, return_inverse=True)[1].ravel()
    n, fold_pairs, fold_wrong = (np.bincount(fold, counts) for counts in (None, pairs, wrong))
    error = fold_wrong / fold_pairs  # 1 - AUC of each fold
    # The only query of a fold leaves no pair; its influence is zero, because n - 1 is.
    left_out_error = (fold_wrong[fold] - wrong) / np.maximum(fold_pairs[fold] - pairs, 1)
    of_queries, stratum = np.zeros(rows.n_queries), np.full(rows.n_queries, -1)
    of_queries[paired] = (1 - 1 / n[fold]) * (left_out_error - error[fold]) / len(n)
    stratum[paired] = fold
    # Kish's effective number of queries of each fold.
    n_effective = 1 / np.bincount(fold, (pairs / fold_pairs[fold]) ** 2)
    freedom = max(1.0, float((n_effective - 1).sum()))
    return Influence(1 - float(error.mean()), of_queries, stratum, freedom)


def fold_of_queries(folds: Indices, query: Indices) -> Indices:
    """Return the fold of each query; raise ValueError if a query lies in several folds."""
    fold = np.zeros(query.max() + 1, dtype=np.intp)
    fold[query] = folds
    is_split = fold[query] != folds
    if is_split.any():
        raise ValueError(
            "With qid a fold must hold whole queries: a query is one draw. Got "
            f"{len(np.unique(query[is_split]))} queries in several folds."
        )
    return fold


def fraction_before(remaining: Floats, other: Floats, total: Floats | float) -> Floats:
    """Return the fraction of each step of an ROC curve to the left of a false positive rate.

    Parameters
    ----------
    remaining : ndarray
        Number of other rows that the rate allows, minus those above the step.
    other : ndarray
        Other rows of the step, joined with its relevant rows by a straight line.
    total : float or ndarray
        All other rows.

    Returns
    -------
    ndarray
        Fractions from 0 to 1. A vertical step at the rate itself counts as to its left.
    """
    # Not `remaining >= 0`: a product such as 0.29 * 100 may be rounded below the whole number.
    fraction = np.asarray(remaining >= -METRIC_ROUNDING * total, dtype=np.float64)
    return np.divide(np.clip(remaining, 0.0, other), other, out=fraction, where=other > 0)


@dataclass(frozen=True, eq=False)
class RocSteps:
    """The steps of an ROC curve: groups of tied rows by descending score.

    Attributes
    ----------
    step : ndarray of int of shape (n_rows,)
        Step of each row.
    relevant, other : ndarray of shape (n_steps,)
        Shares of the relevant rows, and of the others, in each step.
    above : ndarray of shape (n_steps,)
        Share of the others above each step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.metrics.intervals import RocSteps
    >>> y, score = np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> steps = RocSteps.of(y, score)
    >>> term, loss = steps.area_terms(1.0)
    >>> float(steps.relevant @ term)  # the AUC
    0.75
    """

    step: Indices
    relevant: Floats
    other: Floats
    above: Floats

    @classmethod
    def of(cls, is_relevant: Mask, score: Floats, weight: Floats | None = None) -> RocSteps:
        """Return the steps of a list that holds both classes.

        Parameters
        ----------
        is_relevant : ndarray of bool of shape (n_rows,)
            The relevant rows.
        score : ndarray of shape (n_rows,)
            Scores, greater is better.
        weight : ndarray of shape (n_rows,), default=None
            Multiplicities; None: all 1.

        Returns
        -------
        RocSteps
            The steps.
        """
        step = np.unique(-score, return_inverse=True)[1]
        weight = np.ones(len(score)) if weight is None else weight
        relevant, other = (
            np.bincount(step, np.where(is_in_class, weight, 0.0)) / weight[is_in_class].sum()
            for is_in_class in (is_relevant, ~is_relevant)
        )
        return cls(step, relevant, other, np.cumsum(other) - other)

    def before(self, rate: float) -> Floats:
        """Return the fraction of each step to the left of a false positive rate.

        Parameters
        ----------
        rate : float
            False positive rate.

        Returns
        -------
        ndarray of shape (n_steps,)
            Fractions, as `fraction_before` defines them.
        """
        return fraction_before(rate - self.above, self.other, 1.0)

    def area_terms(self, rate: float) -> tuple[Floats, Floats]:
        r"""Return the terms of the rows of each step in the partial AUC up to a rate a.

        The area is the mean over the relevant rows of :math:`(1 - S / a)_+`, where S is the share
        of the others above the row, those tied with it spread evenly. That is continuous in S. Its
        projection is the term for a relevant row; for another row it is -1/a times the share of
        the relevant rows below it with S at most a.

        Parameters
        ----------
        rate : float in (0, 1]
            False positive rate.

        Returns
        -------
        term, loss : ndarray of shape (n_steps,)
            Term of a relevant row, and minus the projection of another row. ``relevant @ term``
            is the partial AUC. Its variance is that of the mean term of the relevant rows plus
            that of the mean loss of the others: at a = 1 DeLong's.

        References
        ----------
        DeLong1988 (the projections at a = 1); for a < 1 derived here.
        """
        fraction = self.before(rate)
        term = fraction * (1 - (self.above + fraction * self.other / 2) / rate)
        below = np.cumsum((self.relevant * fraction)[::-1])[::-1] - self.relevant * fraction
        return term, (below + self.relevant * fraction**2 / 2) / rate


def curve_influence(
    kind: str, rate: float, is_relevant: Mask, score: Floats, folds: Indices
) -> Floats:
    """Return the derivatives of the mean "pauc" or "tpr" over folds in the row weights."""
    of_rows, lists = np.zeros(len(score)), list(with_both_classes(is_relevant, folds))
    for rows in lists:
        of_rows[rows] = _curve_derivatives(kind, rate, is_relevant[rows], score[rows]) / len(lists)
    return of_rows


def _curve_derivatives(kind: str, rate: float, is_relevant: Mask, score: Floats) -> Floats:
    """Return the derivatives of the partial AUC, or of the height of the curve, of one list."""
    steps = RocSteps.of(is_relevant, score)
    if kind == "pauc":
        term, loss = steps.area_terms(rate)
    else:  # a row of the others moves the threshold along the curve, whose slope it needs
        left, right = rate / 2, min(1.0, 1.5 * rate)
        slope = steps.relevant @ (steps.before(right) - steps.before(left)) / (right - left)
        term = steps.before(rate)
        loss = slope * term
    # Centred in each class: samples with other numbers of its rows then add no constant.
    of_relevant = (term - steps.relevant @ term) / is_relevant.sum()
    of_other = (steps.other @ loss - loss) / (~is_relevant).sum()
    return np.where(is_relevant, of_relevant[steps.step], of_other[steps.step])


def with_both_classes(is_relevant: Mask, folds: Indices) -> Iterator[Indices]:
    """Yield the rows of each fold that holds both classes."""
    for fold in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == fold)
        if 0 < is_relevant[rows].sum() < len(rows):
            yield rows


# From influence values to intervals --------------------------------------------


def around(
    value: float, error: float, distribution: Any, confidence: float
) -> tuple[float, float, float]:
    """Return the symmetric interval around an estimate, and its p-value for zero.

    All three are NaN for an estimate other than zero without a standard error: all draws
    contribute equally.
    """
    is_zero = abs(value) <= METRIC_ROUNDING
    if error <= METRIC_ROUNDING and not is_zero:
        return np.nan, np.nan, np.nan
    half_width = error * float(distribution.ppf((1 + confidence) / 2))
    p_value = 1.0 if is_zero else 2 * float(distribution.sf(abs(value) / error))
    return value - half_width, value + half_width, p_value


def changes_in_samples(
    influences: Floats, strata: Indices, n_resamples: int, rng: np.random.RandomState
) -> Floats:
    """Return the changes in estimates (rows of `influences`) in stratified bootstrap samples."""
    changes = np.zeros((n_resamples, len(influences)))
    for stratum in np.unique(strata):
        draws = np.flatnonzero(strata == stratum)
        n, batch = len(draws), max(1, BATCH_VALUES // len(draws))
        for start in range(0, n_resamples, batch):
            n_samples = min(batch, n_resamples - start)
            # Draw n of n in each sample of the batch, and count by (sample, draw).
            draw_index = np.repeat(np.arange(n_samples), n) * n + rng.randint(n, size=n_samples * n)
            counts = np.bincount(draw_index, minlength=n_samples * n).reshape(n_samples, n)
            changes[start : start + n_samples] += (counts - 1) @ influences[:, draws].T
    return changes


def wilson(share: Floats | float, n: Floats | int, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of a share of n rows; NaN for no rows."""
    z = float(stats.norm.ppf((1 + confidence) / 2))
    n = np.where(np.asarray(n) > 0, n, np.nan)
    centre = (share * n + z * z / 2) / (n + z * z)
    half_width = z * np.sqrt(share * (1 - share) * n + z * z / 4) / (n + z * z)
    return np.clip(centre - half_width, 0.0, share), np.clip(centre + half_width, share, 1.0)


def over_folds(
    values: Floats, ratio: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the interval of a mean over folds that share training rows, and its p-value for zero.

    The variance of the mean of n values is their variance times 1/n + `ratio`, with the ratio of
    tested rows to training rows (NadeauBengio2003); n counts all folds of repeated
    cross-validation (BouckaertFrank2004).
    """
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + ratio))
    if np.isnan(error):
        raise ValueError("A fold has no value, or the folds are dependent.")
    return around(mean, error, stats.t(len(values) - 1), confidence)
