"""What an ensemble is selected for, and figures of held-out rows with standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.rows import effective_rows
from sklearn_rank.ensemble.members import HIGHEST_GRADE
from sklearn_rank.metrics import auc_score, ndcg_score
from sklearn_rank.metrics.intervals import RocSteps, with_both_classes
from sklearn_rank.metrics.scored_rows import NO_PAIR
from sklearn_rank.metrics.scorers import as_scorer

_AUC_SHARE = 0.2
"""Weight of the AUC beside the partial AUC in the default gain."""

_TOP, _HEAD = 0.1, 0.05
"""False positive rates up to which the top is selected for, and reported."""


@dataclass(frozen=True)
class Estimate:
    """A figure of held-out rows with its standard error.

    Attributes
    ----------
    value : float
        The figure.
    standard_error : float
        Its standard error, for rows or whole queries drawn at random; NaN where it can't be told.
    freedom : int or None, default=None
        Degrees of freedom of the standard error, where it is that of a mean over queries or folds:
        their number minus one. None: it comes from rows.
    low, high : float
        Ends of the 95 % interval by the t distribution with these degrees of freedom, or else by
        the normal distribution; between 0 and 1, as a figure of ranking is, if `value` is.

    Examples
    --------
    >>> from sklearn_rank.ensemble import Estimate
    >>> found = Estimate(0.8, 0.05)
    >>> round(found.low, 3), round(found.high, 3)
    (0.702, 0.898)
    >>> round(Estimate(0.8, 0.05, freedom=4).low, 3)
    0.661
    """

    value: float
    standard_error: float
    freedom: int | None = None

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        low = self.value - self._half_width
        return max(0.0, low) if 0 <= self.value <= 1 else low

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        high = self.value + self._half_width
        return min(1.0, high) if 0 <= self.value <= 1 else high

    @property
    def _half_width(self) -> float:
        errors = stats.norm() if self.freedom is None else stats.t(self.freedom)
        return float(errors.ppf(0.975)) * self.standard_error


@dataclass(frozen=True, eq=False)
class HeldOutLabels:
    """Rows that folds have held out.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        True for the upper class (two classes), or relevance (grades).
    fold : ndarray of int of shape (n_rows,)
        Fold that held out each row, 0, 1, ....
    weight : ndarray of shape (n_rows,)
        Positive multiplicities. Whole ones are counts; standard errors take others for weights of
        rows whose number is Kish's effective one.
    qid : ndarray of int of shape (n_rows,) or None
        Query codes; None for one list. A query lies in one fold.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import HeldOutLabels
    >>> y, fold = np.array([True, False, False, True]), np.array([0, 0, 1, 1])
    >>> rows = HeldOutLabels(y, fold, np.ones(4))
    >>> float(rows.gain()(np.array([0.3, 0.1, 0.2, 0.4])))
    1.2
    """

    y: Values
    fold: Indices
    weight: Floats
    qid: Indices | None = None

    def take(self, rows: Indices | Mask) -> HeldOutLabels:
        """Return some of the rows."""
        return replace(self, **{k: one[rows] for k, one in vars(self).items() if one is not None})

    @property
    def lists(self) -> Indices:
        """Number of the list of each row: its query, or in one list its fold.

        Scores of different folds come from different models: figures are means over folds.
        """
        return self.fold if self.qid is None else self.qid

    @property
    def is_graded(self) -> bool:
        """Whether there are grades, not two classes."""
        return self.y.dtype != np.bool_

    def gain(self, scoring: Any = None) -> Callable[[Floats], float]:
        r"""Return the function of scores that a selection maximises.

        Parameters
        ----------
        scoring : str, scorer or None, default=None
            A name that `metrics.ranking_scorer` accepts: in one list the mean over the folds,
            with queries the metric of all rows. None: for two classes in one list

            .. math:: \frac1K \sum_{k=1}^K \bigl( \mathrm{pAUC}_k(0.1) + 0.2 \, \mathrm{AUC}_k
                \bigr)

            over the K folds that hold both; for two classes with queries the mean AUC within
            queries; for grades from 0 to 31 with queries NDCG@10, which has no weights: with
            weights, other grades, and for grades in one list, the AUC within queries or folds,
            each counting once.

        Returns
        -------
        callable
            Maps an array of shape (n_rows,) to a float, greater is better.
        """
        if scoring is not None:
            return self._of_scorer(as_scorer(scoring))
        y, lists, weight = self.y, self.lists, self.weight
        if self._has_ndcg:
            return lambda scores: float(ndcg_score(y, scores, k=10, qid=lists))
        if self.is_graded or self.qid is not None:
            options: dict[str, Any] = {"qid": lists, "sample_weight": weight}
            return lambda scores: float(auc_score(y, scores, average="queries", **options))
        folds = self._folds_of_both_classes()

        def gain(scores: Floats) -> float:
            curves = [RocSteps.of(y[one], scores[one], weight[one]) for one in folds]
            areas = [[c.found @ c.area_terms(rate)[0] for rate in (_TOP, 1.0)] for c in curves]
            return float(np.mean(areas, axis=0) @ [1.0, _AUC_SHARE])

        return gain

    @property
    def _has_ndcg(self) -> bool:
        """Whether NDCG, which has no weights, is defined for the rows, and not of one row alone."""
        are_equal = (self.weight == self.weight[0]).all()
        are_grades = self.y.min() >= 0 and 0 < self.y.max() <= HIGHEST_GRADE
        return bool(self.is_graded and self.qid is not None and are_equal and are_grades)

    @property
    def _folds(self) -> list[Indices]:
        """The rows of each fold."""
        return [np.flatnonzero(self.fold == one) for one in np.unique(self.fold)]

    def _folds_of_both_classes(self) -> list[Indices]:
        """Return the rows of each fold that has a pair; ValueError where none has."""
        found = list(with_both_classes(self.y, self.fold))
        if not found:
            raise ValueError(NO_PAIR)
        return found

    def _of_scorer(self, scorer: Any) -> Callable[[Floats], float]:
        """Return a metric of all queries, or its mean over the folds of one list."""
        weight = None if (self.weight == 1).all() else self.weight
        if self.qid is None and len(folds := self._folds) > 1:
            parts = [(one, self.take(one)._of_scorer(scorer)) for one in folds]
            return lambda scores: float(np.mean([gain(scores[one]) for one, gain in parts]))
        return lambda scores: scorer.measure(self.y, scores, qid=self.qid, sample_weight=weight)

    def estimates(self, scores: Floats, scoring: Any = None) -> dict[str, Estimate]:
        """Return figures of scores with standard errors, by their names.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Scores, greater is better.
        scoring : str, scorer or None, default=None
            A metric besides, unless it is one of these. If `ranking_scorer` has values of it for
            each query, and weights are one, it is their mean over the queries, each counting once,
            and otherwise the mean over the folds.

        Returns
        -------
        dict of str to Estimate
            "auc" and, for two classes in one list, "pauc@0.05", for grades from 0 to 31 with
            queries and equal weights "ndcg@10": means over folds or queries, each counting once.

        Notes
        -----
        The values of a few folds tell little of how much they differ: the interval of a mean over
        two or three of them is wide.
        """
        how: dict[str, Any] = {"qid": self.lists, "average": None}
        if self.qid is None and not self.is_graded:
            found = {"auc": self._top_area(scores, 1.0), "pauc@0.05": self._top_area(scores, _HEAD)}
        else:
            found = {"auc": _mean_of(auc_score(self.y, scores, sample_weight=self.weight, **how))}
        if self._has_ndcg:
            found["ndcg@10"] = _mean_of(ndcg_score(self.y, scores, k=10, **how))
        # A function of the same name is another metric.
        if scoring is not None and (scorer := as_scorer(scoring)).name not in found:
            found[scorer.label] = _mean_of(self._values(scorer, scores))
        return found

    def _values(self, scorer: Any, scores: Floats) -> Any:
        """Return a metric of each query, if it is defined for one, or of each fold."""
        if self.qid is not None and scorer.takes("average") and (self.weight == 1).all():
            return scorer.of_queries(self.y, scores, qid=self.qid)
        return [self.take(one)._of_scorer(scorer)(scores[one]) for one in self._folds]

    def _top_area(self, scores: Floats, max_fpr: float) -> Estimate:
        """Return the partial AUC, mean over folds, with its standard error."""
        values, variances = [], []
        for one in self._folds_of_both_classes():
            positive, weight = self.y[one], self.weight[one]
            steps = RocSteps.of(positive, scores[one], weight)
            term, loss = steps.area_terms(max_fpr)
            values.append(steps.found @ term)
            for part, each in ((positive, term), (~positive, loss)):
                variances.append(_variance_of_mean(each[steps.place[part]], weight[part]))
        return Estimate(float(np.mean(values)), float(np.sqrt(sum(variances)) / len(values)))


def _variance_of_mean(values: Floats, weight: Floats) -> float:
    """Return the estimated variance of a weighted mean; NaN for a single row."""
    share, n_rows = weight / weight.sum(), effective_rows(weight)
    squares = float(share @ (values - share @ values) ** 2)
    return squares / (n_rows - 1) if n_rows > 1 else float("nan")


def _mean_of(found: Any) -> Estimate:
    """Return the mean of independent values, without those that are NaN."""
    values = np.asarray(found)[~np.isnan(found)]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error), len(values) - 1)
