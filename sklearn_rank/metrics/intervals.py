"""The one machinery of intervals: influence values of independent draws, and what follows.

An estimate has an influence value for each draw (a row, a query, a fold): its derivative by the
weight of the draw. Their squares sum to the variance (`Influence`, the jackknife); their sums over
drawn rows are the changes in bootstrap samples (`changes_in_samples`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.validation import SEED, Constraint, Number, check_parameters, check_qid
from sklearn_rank.metrics.scored_rows import ScoredRows, count_pairs

CONFIDENCE = Number(0, 1, closed="neither")
ROUNDING = 1e-12
"""Estimates, standard errors and differences of shares up to this are taken as zero."""

BATCH_VALUES = 1 << 22
"""Counts that are held in memory at a time."""

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


def check_resampling(
    owner: str, confidence: float, n_resamples: int, random_state: Any
) -> dict[str, Any]:
    """Check the settings of a bootstrap, and return them by name."""
    settings = {"confidence": confidence, "n_resamples": n_resamples, "random_state": random_state}
    check_parameters(owner, settings, _RESAMPLING)
    return settings


@dataclass(frozen=True, eq=False)
class Influence:
    """An estimate and its influence values.

    Attributes
    ----------
    value : float
        The estimate.
    each : ndarray of shape (n_units,)
        Influence value of each row or query: the derivative of the estimate by its weight.
    stratum : ndarray of int of shape (n_units,)
        Number of the stratum in which a row or query is drawn; -1 for those without influence.
    freedom : float or None, default=None
        Degrees of freedom of an estimate from queries; None for one from rows.
    """

    value: float
    each: Floats
    stratum: Indices
    freedom: float | None = None

    def __sub__(self, other: Influence) -> Influence:
        """Return the difference of two estimates from the same draws."""
        return replace(self, value=self.value - other.value, each=self.each - other.each)

    def standard_error(self) -> float:
        """Return the standard error; ValueError for a stratum of one draw.

        A sum of squares around the mean of n draws is too small by (n - 1) / n.
        """
        drawn = self.stratum >= 0
        stratum, each = self.stratum[drawn], self.each[drawn]
        n = np.bincount(stratum)[stratum]
        if (n == 1).any():
            needed = (
                "rows of each class are needed, in every fold that has both"
                if self.freedom is None
                else "queries with rows of different relevance are needed, in every fold that has "
                "one"
            )
            raise ValueError(f"At least two {needed}, to tell how much they differ. Got one.")
        each = each * np.sqrt(n / (n - 1))
        error = float(np.sqrt(each @ each))
        return error if error > ROUNDING else 0.0

    @property
    def n_queries(self) -> int:
        """Number of queries with influence; 1 for one list."""
        return 1 if self.freedom is None else int(np.sum(self.stratum >= 0))

    def distribution(self) -> Any:
        """Return the distribution of the error divided by its standard error."""
        return stats.norm() if self.freedom is None else stats.t(self.freedom)


def auc_influence(y: Any, score: Any, qid: Any, fold: Any, name: str) -> Influence:
    """Return the AUC, the mean over folds, with its influence values: of rows, or of queries."""
    rows = ScoredRows.with_relevance(y, score, qid, name=name)
    folds = 0 * rows.query if fold is None else check_qid(fold, len(rows.score), "fold")
    return _auc_by_row(rows, folds) if rows.qid is None else _auc_by_query(rows, folds)


def _auc_by_row(rows: ScoredRows, folds: Indices) -> Influence:
    """Return the AUC and the derivatives by the weights of rows.

    Strata are the two classes of a fold. A fold without a pair has no AUC, and its rows have no
    part in the mean. A graded fold, where a row may be above some rows and below others, counts as
    one class.
    """
    in_fold = replace(rows, qid=folds)  # rows of two folds are not compared
    below, above = count_pairs(in_fold), count_pairs(in_fold.reversed())
    below.require_pairs()
    wrong_below, wrong_above = below.lower + below.tied / 2, above.lower + above.tied / 2
    pairs = np.bincount(folds, below.total)
    has_auc = pairs > 0
    wrong = np.bincount(folds, wrong_below) / np.maximum(pairs, 1)
    excess = wrong[folds] * (below.total + above.total) - wrong_below - wrong_above
    each = excess / np.maximum(pairs * has_auc.sum(), 1)[folds]
    is_below, is_above = below.total > 0, above.total > 0
    is_graded = np.bincount(folds, is_above & is_below) > 0
    stratum = np.where(has_auc[folds], 2 * folds + (is_below & ~is_graded[folds]), -1)
    return Influence(1 - float(wrong[has_auc].mean()), each, stratum)


def _auc_by_query(rows: ScoredRows, folds: Indices) -> Influence:
    """Return the AUC and what each query adds to it, by the jackknife.

    That is (n - 1) / n of the difference to the AUC without the query: of queries with as many
    pairs as the others the derivative by their weight, but a query with most of the pairs can't
    hide that the others differ from it. Strata are the folds.
    """
    below = count_pairs(rows)
    below.require_pairs()
    pairs = np.bincount(rows.query, below.total, rows.n_queries)
    wrong = np.bincount(rows.query, below.lower + below.tied / 2, rows.n_queries)
    number = np.flatnonzero(pairs)
    pairs, wrong, fold = pairs[number], wrong[number], fold_of_queries(folds, rows.query)[number]
    fold = np.unique(fold, return_inverse=True)[1].ravel()
    n, all_pairs, all_wrong = (np.bincount(fold, one) for one in (None, pairs, wrong))
    error = all_wrong / all_pairs
    # A fold's only query leaves no pair, and n - 1 = 0.
    without = (all_wrong[fold] - wrong) / np.maximum(all_pairs[fold] - pairs, 1)
    each, stratum = np.zeros(rows.n_queries), np.full(rows.n_queries, -1)
    each[number] = (1 - 1 / n[fold]) * (without - error[fold]) / len(n)
    stratum[number] = fold
    n_equal = 1 / np.bincount(fold, (pairs / all_pairs[fold]) ** 2)
    freedom = max(1.0, float((n_equal - 1).sum()))
    return Influence(1 - float(error.mean()), each, stratum, freedom)


def fold_of_queries(folds: Indices, query: Indices) -> Indices:
    """Return the fold of each query; ValueError where one lies in several."""
    found = np.zeros(query.max() + 1, dtype=np.intp)
    found[query] = folds
    if (found[query] != folds).any():
        raise ValueError(
            "With qid a fold must hold whole queries: a query is one draw. Got "
            f"{len(np.unique(query[found[query] != folds]))} queries in several folds."
        )
    return found


def part_before(left: Floats, other: Floats, total: Any) -> Floats:
    """Return the part of each step, from 0 to 1, that stands before a number of the other rows.

    Parameters
    ----------
    left : ndarray
        What is left of this number above the step. A product such as 0.29 * 100 may be rounded to
        less than the whole number that it is.
    other : ndarray
        The other rows of the step; tied rows are joined by a straight line. A step without others
        that stands just there counts as before.
    total : float or ndarray
        All other rows.

    Returns
    -------
    ndarray
        Parts.
    """
    part = np.asarray(left >= -ROUNDING * total, dtype=np.float64)
    return np.divide(np.clip(left, 0.0, other), other, out=part, where=other > 0)


@dataclass(frozen=True, eq=False)
class RocSteps:
    """The steps of an ROC curve: groups of tied rows by descending score.

    Attributes
    ----------
    place : ndarray of int of shape (n_rows,)
        Step of each row.
    found, other : ndarray of shape (n_steps,)
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
    >>> float(steps.found @ term)  # the AUC
    0.75
    """

    place: Indices
    found: Floats
    other: Floats
    above: Floats

    @classmethod
    def of(cls, is_relevant: Mask, score: Floats, weight: Floats | None = None) -> RocSteps:
        """Sort the rows of a list that holds both classes.

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
        place = np.unique(-score, return_inverse=True)[1]
        weight = np.ones(len(score)) if weight is None else weight
        found, other = (
            np.bincount(place, np.where(one, weight, 0.0)) / weight[one].sum()
            for one in (is_relevant, ~is_relevant)
        )
        return cls(place, found, other, np.cumsum(other) - other)

    def before(self, rate: float) -> Floats:
        """Return the part of each step, from 0 to 1, that stands before a share of the others.

        Parameters
        ----------
        rate : float
            False positive rate. Steps without other rows that stand just there count as before.

        Returns
        -------
        ndarray of shape (n_steps,)
            Parts.
        """
        return part_before(rate - self.above, self.other, 1.0)

    def area_terms(self, rate: float) -> tuple[Floats, Floats]:
        r"""Return the terms of the rows of each step in the partial AUC up to a rate a.

        The area is the mean over the relevant rows of :math:`(1 - S / a)_+`, where S is the share
        of the others above the row, those tied with it spread evenly. As that is continuous in S,
        so are its projections: for a relevant row its term, for another one minus 1/a times the
        share of the relevant rows below it for which S is at most a.

        Parameters
        ----------
        rate : float in (0, 1]
            False positive rate.

        Returns
        -------
        term, loss : ndarray of shape (n_steps,)
            Term of a relevant row, and of another row minus its term. ``found @ term`` is the
            partial AUC; its variance is that of the mean of the terms of the relevant rows plus
            that of the mean of the losses of the others. At a = 1 this is DeLong's.

        References
        ----------
        DeLong1988 (the projections at a = 1); for a < 1 derived here.
        """
        part = self.before(rate)
        term = part * (1 - (self.above + part * self.other / 2) / rate)
        below = np.cumsum((self.found * part)[::-1])[::-1] - self.found * part
        return term, (below + self.found * part**2 / 2) / rate


def curve_influence(
    kind: str, rate: float, is_relevant: Mask, score: Floats, folds: Indices
) -> Floats:
    """Return the derivatives of "pauc" or "tpr", the mean over folds, by the weights of rows."""
    each, parts = np.zeros(len(score)), list(with_both_classes(is_relevant, folds))
    for part in parts:
        each[part] = _of_curve(kind, rate, is_relevant[part], score[part]) / len(parts)
    return each


def _of_curve(kind: str, rate: float, is_relevant: Mask, score: Floats) -> Floats:
    """Return the derivatives of the partial AUC, or of the height of the curve, of one list.

    They sum to zero in each class, so that a sample with other numbers of rows of a class, as of
    groups, adds no constant.
    """
    steps = RocSteps.of(is_relevant, score)
    if kind == "pauc":
        term, loss = steps.area_terms(rate)
    else:  # the threshold moves as the slope of the curve around the rate says
        left, right = rate / 2, min(1.0, 1.5 * rate)
        slope = steps.found @ (steps.before(right) - steps.before(left)) / (right - left)
        term = steps.before(rate)
        loss = slope * term
    of_found = (term - steps.found @ term) / is_relevant.sum()
    of_other = (steps.other @ loss - loss) / (~is_relevant).sum()
    return np.where(is_relevant, of_found[steps.place], of_other[steps.place])


def with_both_classes(is_relevant: Mask, folds: Indices) -> Iterator[Indices]:
    """Yield the rows of each fold that holds both classes."""
    for number in range(int(folds.max()) + 1):
        rows = np.flatnonzero(folds == number)
        if 0 < is_relevant[rows].sum() < len(rows):
            yield rows


# From influence values to intervals --------------------------------------------


def around(
    value: float, error: float, distribution: Any, confidence: float
) -> tuple[float, float, float]:
    """Return the interval that is symmetric around an estimate, and its p-value for zero.

    Draws that all contribute alike don't tell the error of an estimate other than zero: all three
    are NaN.
    """
    is_zero = abs(value) <= ROUNDING
    if error <= ROUNDING and not is_zero:
        return np.nan, np.nan, np.nan
    half = error * float(distribution.ppf((1 + confidence) / 2))
    p_value = 1.0 if is_zero else 2 * float(distribution.sf(abs(value) / error))
    return value - half, value + half, p_value


def quantiles(values: Floats, confidence: float) -> tuple[float, float]:
    """Return the two quantiles that hold the middle share `confidence` of some values."""
    low, high = np.quantile(values, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def changes_in_samples(each: Floats, stratum: Indices, n_resamples: int, rng: Any) -> Floats:
    """Return the changes of estimates, one a row of influence values, in bootstrap samples."""
    changes = np.zeros((n_resamples, len(each)))
    for number in np.unique(stratum):
        drawn = np.flatnonzero(stratum == number)
        n, step = len(drawn), max(1, BATCH_VALUES // len(drawn))
        for start in range(0, n_resamples, step):
            size = min(step, n_resamples - start)
            places = np.repeat(np.arange(size), n) * n + rng.randint(n, size=size * n)
            counts = np.bincount(places, minlength=size * n).reshape(size, n)
            changes[start : start + size] += (counts - 1) @ each[:, drawn].T
    return changes


def wilson(share: Floats | float, n: Floats | int, confidence: float) -> tuple[Floats, Floats]:
    """Return Wilson's score interval of a share of n rows; NaN for no rows."""
    z = float(stats.norm.ppf((1 + confidence) / 2))
    n = np.where(np.asarray(n) > 0, n, np.nan)
    middle = (share * n + z * z / 2) / (n + z * z)
    half = z * np.sqrt(share * (1 - share) * n + z * z / 4) / (n + z * z)
    return np.clip(middle - half, 0.0, share), np.clip(middle + half, share, 1.0)


def over_folds(
    values: Floats, ratio: float, confidence: float = 0.95
) -> tuple[float, float, float]:
    """Return the interval of a mean over folds that share training rows, and its p-value for zero.

    The variance of the mean of n values is theirs times 1/n + `ratio`, that of rows tested to rows
    trained on (NadeauBengio2003); n counts all folds of repeated cross-validation
    (BouckaertFrank2004).
    """
    mean = float(np.mean(values))
    error = float(np.std(values, ddof=1) * np.sqrt(1 / len(values) + ratio))
    if np.isnan(error):
        raise ValueError("A fold has no value, or folds are not alike.")
    return around(mean, error, stats.t(len(values) - 1), confidence)
