"""Early stopping: the held-out rows, the loss that is watched on them, and the rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from sklearn.model_selection import GroupShuffleSplit

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import DistinctRows, Rows, distinct_rows, effective_rows
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank._core.warnings import warn
from sklearn_rank._pair_sums._pair_loss import PairLoss
from sklearn_rank.metrics.scorers import as_scorer

MIN_ROWS = 10
"""Smallest effective number of held-out rows of the rarer class for early stopping.

With fewer rows the choice of rounds is mostly chance.
"""

_MOST_GROUPS = 20
"""Groups of rows or queries that the jackknife leaves out, one after the other."""

Metric = Callable[[Floats], float]
"""Maps the scores of the held-out rows to a number, greater for better orders."""


def has_enough(ranker: Any, held_out: Rows) -> bool:
    """Whether a ranker may stop early on these rows; warn if they are too few."""
    if ranker.n_iter_no_change is None:
        return False
    n_rows = n_of_rarer_class(held_out)
    if n_rows < MIN_ROWS:
        warn(
            f"{type(ranker).__name__} runs all rounds, without early stopping: "
            f"n_iter_no_change={ranker.n_iter_no_change} needs at least {MIN_ROWS} held-out rows "
            f"of the rarer class, for more than chance. There are {n_rows:.4g}: hold out more "
            "(validation_fraction), or pass n_iter_no_change=None. Weights that are not whole "
            "numbers count by their effective number."
        )
    return n_rows >= MIN_ROWS


def split_validation(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fraction of the queries or, without them, of the distinct rows."""
    split_fraction = _split_rows if data.qid is None else _split_queries
    train, held_out = split_fraction(data, fraction, seed)
    for name, rows in {"left to learn from": train, "held out": held_out}.items():
        if not len(rows.y) or rows.preferences.total_pair_weight == 0:
            raise ValueError(
                f"n_iter_no_change: the rows {name} have no comparable pair. Try a "
                f"validation_fraction other than {fraction:g}."
            )
    return train, held_out


def _split_queries(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    splitter = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    try:
        train, held_out = next(splitter.split(data.y, data.y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the queries (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    return data.take(np.sort(train)), data.take(np.sort(held_out))


def _split_rows(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out distinct rows at even distances along a line.

    They are sorted by relevance, then along a random direction of the features. Rows with the same
    features stay together unless they carry more than 1 % of the weight (`DistinctRows`).
    """
    distinct = DistinctRows(data)
    X, y = SelectedRows.of(data.X)[distinct.first], data.y[distinct.first]
    direction = np.random.default_rng(seed).standard_normal(X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        projection = np.concatenate(
            [(block if X.is_sparse else np.nan_to_num(block)) @ direction for block in X.parts()]
        )
    # Each of two classes gives its share, and at least one row; grades lie on one line.
    n_units = distinct.count_by_level()
    bounds = np.append(0, np.cumsum(n_units if y.dtype == np.bool_ else n_units.sum()))

    def count(n: Indices) -> Indices:
        held_out = sum(
            _count_held_out(np.clip(n - first, 0, last - first), last - first, fraction)
            for first, last in pairwise(bounds)
        )
        return np.stack([n - held_out, held_out]).astype(np.intp)

    rows, part = distinct.deal(np.lexsort((projection, y)), count)
    return rows.take(np.flatnonzero(part == 0)), rows.take(np.flatnonzero(part == 1))


def _count_held_out(n: Indices, n_all: float, fraction: float) -> Floats:
    """Return the number of held-out units among the first n, at even distances.

    At least one of all units is held out.
    """
    # Unit k is held out where k * fraction + start passes a whole number.
    start = max(0.5, 1.0 - n_all * fraction)
    return np.asarray(np.floor(n * fraction + start) - np.floor(start))


@dataclass(eq=False, repr=False)
class EarlyStopping:
    r"""The rule of early stopping, and the curves of the held-out rows.

    With b the round of the smallest loss so far, a fit stops at the first round
    :math:`t \ge b +` `patience` at which :math:`L_t - L_b` exceeds the standard error of this
    paired difference.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out,)
        Scores of the held-out rows so far.
    val_measure : ValidationMeasure
        The loss and the score of the held-out rows.
    losses, curve : list of float
        The loss and the score after each round so far; extended here.
    patience : int or None
        Number of rounds after the best one at which the fit may stop; None: it never stops, and
        keeps all rounds.
    tol : float
        Smallest decrease of the loss that makes a round the best one.
    best_scores : ndarray of shape (n_held_out,), default=None
        Scores after the best of the earlier rounds of a warm start.

    Attributes
    ----------
    best_round : int
        Number of rounds that the model keeps.
    smallest_loss : int
        Number of rounds after which the loss was smallest.
    """

    scores: Floats
    val_measure: ValidationMeasure
    losses: list[float]
    curve: list[float]
    patience: int | None
    tol: float
    best_scores: Any = None

    def __post_init__(self) -> None:
        """Compare the losses of earlier rounds."""
        self._best_loss, self.smallest_loss = np.inf, 0
        self._deviation: Floats | None = None
        for n_rounds, loss in enumerate(self.losses, start=1):
            self._compare(n_rounds, loss)

    def measure(self, scores: Floats) -> float:
        """Measure the scores after a round; return the metric."""
        self.scores = scores
        loss, score = self.val_measure.measure(scores)
        self.losses.append(loss)
        self.curve.append(score)
        if self._compare(len(self.losses), loss):
            self.best_scores, self._deviation = scores, None
        return score

    @property
    def is_over(self) -> bool:
        """Whether the last round is worse than the best one, by more than its standard error."""
        if self.patience is None or len(self.losses) - self.smallest_loss < self.patience:
            return False
        excess_loss = self.losses[-1] - self._best_loss
        return excess_loss > 0 and excess_loss > self._standard_error()

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return len(self.losses) if self.patience is None else self.smallest_loss

    def curves(self) -> dict[str, Floats]:
        """Return the fitted attributes of the held-out rows."""
        curves = {"validation_scores_": np.array(self.curve)}
        if self.val_measure.is_loss:
            curves["validation_losses_"] = np.array(self.losses)
        return curves

    def _standard_error(self) -> float:
        """Return the standard error of the last loss minus the best one; NaN if there is none."""
        if self._deviation is None:
            self._deviation = self.val_measure.deviation(self.best_scores)
        return float(np.linalg.norm(self.val_measure.deviation(self.scores) - self._deviation))

    def _compare(self, n_rounds: int, loss: float) -> bool:
        """Compare a loss with the smallest so far; return whether it is smaller."""
        is_best = loss < self._best_loss - self.tol
        if is_best:
            self._best_loss, self.smallest_loss = loss, n_rounds
        return is_best


def n_of_rarer_class(rows: Rows) -> float:
    """Return the effective number of rows with a row above them, or below if those are fewer."""
    preferences = rows.preferences
    return min(effective_rows(preferences.role_weights(side)) for side in ("top", "bottom"))


def metric_of_rows(owner: str, scoring: object, rows: Rows) -> Metric:
    """Return the metric `scoring` as a function of the scores of some rows.

    Weights of one are passed as None, because metrics without row weights refuse others.
    """
    scorer = as_scorer(scoring)
    weight = None if np.all(rows.weight == 1) else rows.weight

    def metric(scores: Floats) -> float:
        try:
            return scorer.measure(rows.y, scores, qid=rows.qid, sample_weight=weight)
        except ValueError as error:
            raise ValueError(
                f"scoring={scorer.label!r} of {owner} can't be computed for early stopping. {error}"
            ) from error

    return metric


class ValidationMeasure(Protocol):
    """A loss of the scores of held-out rows, and the metric that is reported with it."""

    is_loss: bool
    """Whether the loss is more than minus the score, and is reported too."""

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return the loss, smaller for better orders, and the metric."""

    def deviation(self, scores: Floats) -> Floats:
        """Return an array whose squares sum to the variance of the loss.

        For the scores of two models, the squares of the difference of their arrays sum to the
        variance of the paired difference of the losses.
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
    :math:`P_q` the weight of its pairs. A query with most of the pairs dominates the loss; leaving
    it out shows how the others differ, so that it can't stop a fit alone.

    The loss is the same for all rankers. An exponential loss or a push would depend on a few rows
    at the wrong end, and the share of pairs in the right order ignores how far apart they are. The
    logistic loss of whole differences grows when scores become too large, while the order still
    improves, and would stop too early.

    Parameters
    ----------
    rows : Rows
        The held-out rows.
    score : callable
        Maps their scores to the metric that is reported with the loss.

    References
    ----------
    DeLong1988 and Obuchowski1997 (the same for the AUC), EfronStein1981 (the jackknife); for this
    loss derived here.
    """

    is_loss = True

    def __init__(self, rows: Rows, metric: Metric) -> None:
        self._rows, self._metric, self._loss = rows.preferences, metric, PairLoss(rows.preferences)
        self._pair_weight = self._rows.total_pair_weight
        self._above = self._rows.paired_weight("top")
        self._below = self._rows.paired_weight("bottom")
        self._query_of_row: Indices | None = None
        if rows.qid is None:
            self._scale = np.sqrt(self._rows.weight * self._class_factor())
            return
        queries = self._rows.queries
        self._query_of_row = self._rows.spread(queries.spread(np.arange(queries.n_groups)))
        size = np.count_nonzero(queries.length > 1)
        share = np.bincount(self._query_of_row, self._rows.weight * self._above) / self._pair_weight
        # The pairs of one query may have all the weight.
        self._scale = np.sqrt(1 - 1 / size if size > 1 else np.nan) / np.maximum(1 - share, 1e-15)

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return the loss and the score."""
        f = self._half_scores(scores)
        return self._mean_loss(self._loss.heights(f, self._rows.weight)), self._metric(scores)

    def deviation(self, scores: Floats) -> Floats:
        """Return the deviations of the rows or queries."""
        f, weight, pair_weight = self._half_scores(scores), self._rows.weight, self._pair_weight
        losses = self._loss.heights(f, weight)  # of each row, with the rows above it
        mean = self._mean_loss(losses)
        excess = (losses - mean * self._above) / pair_weight
        if self._query_of_row is not None:
            return self._scale * np.bincount(self._query_of_row, weight * excess, len(self._scale))
        losses = self._loss.heights(f, weight, "bottom")
        return self._scale * (excess + (losses - mean * self._below) / pair_weight)

    def _half_scores(self, scores: Floats) -> Floats:
        return scores[self._rows.order] / 2

    def _mean_loss(self, losses: Floats) -> float:
        return float(self._rows.weight @ losses) / self._pair_weight

    def _class_factor(self) -> Floats:
        """Return W_r / (n_r - 1) for each row of one list."""
        weight, above, below = self._rows.weight, self._above > 0, self._below > 0
        factor = np.zeros(len(weight))
        for rows in [above | below] if (above & below).any() else [above, below]:
            n_rows = effective_rows(weight[rows])
            factor[rows] = float(weight[rows].sum()) / (n_rows - 1) if n_rows > 1 else np.nan
        return factor


class HeldOutMetric:
    r"""Minus a metric of held-out rows, with the deviations of a delete-a-group jackknife.

    .. math:: \widehat{\mathrm{var}} = \frac{G - 1}{G} \sum_g (m_{-g} - \bar m)^2

    where :math:`m_{-g}` is the metric without the rows of group g. There are G = 20 groups of rows
    of each relevance (equal rows stay together) or of whole queries; of fewer queries each is a
    group. Only the values of the metric are needed.

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

    is_loss = False

    def __init__(self, owner: str, scoring: object, rows: Rows) -> None:
        self._metric, self._without_group = metric_of_rows(owner, scoring, rows), []
        unit_of_row = rows.qid
        if unit_of_row is None:  # sets of equal rows, by relevance and then by features
            unit_of_row = distinct_rows(rows.row_hash, rows.y, None, rows.weight)[-1]
        rows = replace(rows, X=None)  # no metric reads features, and each group would copy them
        group_of_row = np.unique(unit_of_row, return_inverse=True)[1].ravel() % _MOST_GROUPS
        for group in range(group_of_row.max() + 1):
            rest = np.flatnonzero(group_of_row != group)
            self._without_group.append((rest, metric_of_rows(owner, scoring, rows.take(rest))))

    def measure(self, scores: Floats) -> tuple[float, float]:
        """Return minus the metric, and the metric."""
        value = self._metric(scores)
        return -value, value

    def deviation(self, scores: Floats) -> Floats:
        """Return the deviations of the groups."""
        values = np.array([metric(scores[kept_rows]) for kept_rows, metric in self._without_group])
        return (values.mean() - values) * np.sqrt(1.0 - 1.0 / len(values))
