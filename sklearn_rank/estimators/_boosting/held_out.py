"""What early stopping watches on held-out rows: a loss, and what its error is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows, distinct_rows, effective_rows
from sklearn_rank._pair_sums import PairLoss
from sklearn_rank.metrics.scorers import as_scorer

_MOST_GROUPS = 20
"""Groups of rows or queries that the jackknife leaves out, one after the other."""

Metric = Callable[[Floats], float]


def n_of_rarer_class(rows: Rows) -> float:
    """Return how many rows have a row above them, or one below, whichever are fewer."""
    pairs = rows.preferences
    return min(effective_rows(pairs.role_weights(side)) for side in ("top", "bottom"))


def metric_of_rows(owner: str, scoring: object, rows: Rows) -> Metric:
    """Return the metric that `scoring` names as a function of the scores of some rows.

    Rows of weight zero are gone already, and weights of one are the same as none. Other
    weights are refused by the metrics that have none.
    """
    scorer = as_scorer(scoring)
    weight = None if np.all(rows.weight == 1) else rows.weight

    def metric(scores: Floats) -> float:
        try:
            return scorer.measure(rows.y, scores, qid=rows.qid, sample_weight=weight)
        except ValueError as error:
            raise ValueError(
                f"scoring={scorer.label!r} of {owner} can't measure these rows for early "
                f"stopping. {error}"
            ) from error

    return metric


class Watched(Protocol):
    """A loss of the scores of held-out rows, and the score that is reported beside it."""

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return the loss, of which less is better, and the score."""

    def deviation(self, scores: Floats) -> Floats:
        """Return deviations whose squares sum to the variance of the loss.

        The squares of the difference of two of them sum to the variance of the paired difference
        of two losses.
        """


class HeldOutLoss:
    r"""The mean logistic loss of half the score differences of held-out pairs.

    .. math:: L(f) = \frac1P \sum_{i \text{ above } k} w_i w_k \ln(1 + e^{-(f_i - f_k) / 2}),
        \qquad P = \sum_{i \text{ above } k} w_i w_k

    .. math:: \widehat{\mathrm{var}}(L) = \sum_r w_r \frac{W_r}{n_r - 1} d_r^2, \qquad
        d_r = \frac1P \sum_s w_s (\phi_{rs} - L)

    where

    - s runs over the rows comparable to row r and :math:`\phi_{rs}` is the loss of their pair;
    - :math:`W_r` is the weight of the class of row r and :math:`n_r` the rows that it stands for
      (`effective_rows`: :math:`W_r`, if weights are integers).

    For two classes with unit weights this is the variance over the positives of their mean loss
    divided by their number, plus that over the negatives: the row projections of a two-sample
    U-statistic. More than two grades are one class, and a row has pairs in both roles.

    With queries a query is one draw, and the variance is that of the jackknife,

    .. math:: \widehat{\mathrm{var}}(L) = \frac{Q - 1}{Q} \sum_q (L_{-q} - L)^2, \qquad
        L - L_{-q} = \frac{1}{P - P_q} \sum_{(i, k) \in q} w_i w_k (\phi_{ik} - L)

    over the Q queries with a pair, where :math:`L_{-q}` is the loss without query q and
    :math:`P_q` what its pairs add to P. A query with most of the pairs pulls the loss to its own;
    leaving it out shows how the others differ from it, so that it does not stop a fit alone.

    The loss is the same for all rankers. An exponential loss or a push would be a few rows at the
    wrong end, and the share of pairs in the right order tells less than how far apart they are. Of
    the whole differences it grows as soon as a model is too sure, while the order still improves:
    the rounds found so are too few.

    Parameters
    ----------
    rows : Rows
        The held-out rows.
    score : callable
        Maps their scores to the score that is reported beside the loss.

    References
    ----------
    DeLong1988 and Obuchowski1997 (the same for the AUC), EfronStein1981 (the jackknife); for this
    loss derived here.
    """

    def __init__(self, rows: Rows, score: Metric) -> None:
        self._pairs, self._score, self._loss = rows.preferences, score, PairLoss(rows.preferences)
        self._total = self._pairs.total_pair_weight
        self._above = self._pairs.paired_weight("top")
        self._below = self._pairs.paired_weight("bottom")
        self._query: Indices | None = None
        if rows.qid is None:
            self._scale = np.sqrt(self._pairs.weight * self._class_factor())
            return
        queries = self._pairs.queries
        self._query = self._pairs.spread(queries.spread(np.arange(queries.n_groups)))
        n = np.count_nonzero(queries.length > 1)
        share = np.bincount(self._query, self._pairs.weight * self._above) / self._total
        # Beside the pairs of one query, those of all others may weigh nothing.
        self._scale = np.sqrt(1 - 1 / n if n > 1 else np.nan) / np.maximum(1 - share, 1e-15)

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return the loss and the score."""
        f = self._halved(scores)
        return self._mean(self._loss.heights(f, self._pairs.weight)), self._score(scores)

    def deviation(self, scores: Floats) -> Floats:
        """Return the deviations of the rows or queries."""
        f, weight, total = self._halved(scores), self._pairs.weight, self._total
        lost = self._loss.heights(f, weight)  # to the rows above
        mean = self._mean(lost)
        excess = (lost - mean * self._above) / total
        if self._query is not None:
            return self._scale * np.bincount(self._query, weight * excess, len(self._scale))
        lost = self._loss.heights(f, weight, "bottom")
        return self._scale * (excess + (lost - mean * self._below) / total)

    def _halved(self, scores: Floats) -> Floats:
        return scores[self._pairs.order] / 2

    def _mean(self, lost: Floats) -> float:
        return float(self._pairs.weight @ lost) / self._total

    def _class_factor(self) -> Floats:
        """Return W / (n - 1) of the class of each row of one list."""
        weight, above, below = self._pairs.weight, self._above > 0, self._below > 0
        factor = np.zeros(len(weight))
        for rows in [above | below] if (above & below).any() else [above, below]:
            n = effective_rows(weight[rows])
            factor[rows] = float(weight[rows].sum()) / (n - 1) if n > 1 else np.nan
        return factor


class HeldOutMetric:
    r"""Minus a metric of held-out rows, with the deviations of a delete-a-group jackknife.

    .. math:: \widehat{\mathrm{var}} = \frac{G - 1}{G} \sum_g (m_{-g} - \bar m)^2

    where :math:`m_{-g}` is the metric without the rows of group g, of G = 20 groups of rows of each
    relevance (equal rows stay together) or of whole queries; with fewer queries each is a group.
    It needs nothing of the metric but its values.

    Parameters
    ----------
    owner : str
        Class of the ranker, for messages.
    scoring : str or scorer
        The metric.
    rows : Rows
        The held-out rows.

    References
    ----------
    Efron1993, chapter 11 (the jackknife).
    """

    def __init__(self, owner: str, scoring: object, rows: Rows) -> None:
        self._metric, self._parts = metric_of_rows(owner, scoring, rows), []
        number = rows.qid
        if number is None:  # by relevance, and then by features
            number = distinct_rows(rows.code, rows.y, None, rows.weight)[-1]
        rows = replace(rows, X=None)  # no metric reads features, and each group would copy them
        group = np.unique(number, return_inverse=True)[1].ravel() % _MOST_GROUPS
        for one in range(group.max() + 1):
            kept = np.flatnonzero(group != one)
            self._parts.append((kept, metric_of_rows(owner, scoring, rows.take(kept))))

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return minus the metric, and the metric."""
        found = self._metric(scores)
        return -found, found

    def deviation(self, scores: Floats) -> Floats:
        """Return the deviations of the groups."""
        found = np.array([metric(scores[kept]) for kept, metric in self._parts])
        return (found.mean() - found) * np.sqrt(1.0 - 1.0 / len(found))
