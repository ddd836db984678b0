"""Greedy selection of an ensemble for a ranking metric, from scores of held-out rows.

`HeldOutLabels` has the gain that it maximises, and figures of held-out rows with standard errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.rows import effective_rows
from sklearn_rank._core.tolerances import GAIN_TIE
from sklearn_rank.ensemble.members import HIGHEST_GRADE
from sklearn_rank.ensemble.score_map import ScoreMap, normal_scores
from sklearn_rank.metrics import auc_score, ndcg_score
from sklearn_rank.metrics.held_out import have_pair
from sklearn_rank.metrics.intervals import RocSteps, with_both_classes
from sklearn_rank.metrics.scored_rows import NO_PAIR
from sklearn_rank.metrics.scorers import as_scorer

_AUC_SHARE = 0.2
"""Weight of the AUC beside the partial AUC in the default gain."""

_TOP, _HEAD = 0.1, 0.05
"""Largest false positive rates of the partial AUC in the default gain, and in the figures."""

# Gains and figures -----------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """A metric on held-out rows with its standard error.

    Attributes
    ----------
    value : float
        The figure.
    standard_error : float
        Its standard error, for rows or whole queries drawn at random; NaN where it is unknown.
    freedom : int or None, default=None
        Degrees of freedom of a standard error of a mean over queries or folds: their number minus
        one. None if it comes from rows.
    low, high : float
        Ends of the 95 % interval by the t distribution with these degrees of freedom, or by the
        normal distribution; limited to [0, 1] if `value` is between these.

    Examples
    --------
    >>> from sklearn_rank.ensemble import Estimate
    >>> auc = Estimate(0.8, 0.05)
    >>> round(auc.low, 3), round(auc.high, 3)
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
        Positive multiplicities. Integer weights are counts; for others, standard errors use Kish's
        effective number of rows.
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
        return replace(self, **{k: x[rows] for k, x in vars(self).items() if x is not None})

    @property
    def lists(self) -> Indices:
        """The list to which each row belongs: its query or, without queries, its fold.

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
        if self._has_ndcg:
            return lambda scores: float(ndcg_score(self.y, scores, k=10, qid=self.lists))
        if self.is_graded or self.qid is not None:
            options: dict[str, Any] = {"qid": self.lists, "sample_weight": self.weight}
            return lambda scores: float(auc_score(self.y, scores, average="queries", **options))
        folds = self._folds_of_both_classes()

        def gain(scores: Floats) -> float:
            curves = [RocSteps.of(self.y[rows], scores[rows], self.weight[rows]) for rows in folds]
            areas = [[c.relevant @ c.area_terms(rate)[0] for rate in (_TOP, 1.0)] for c in curves]
            return float(np.mean(areas, axis=0) @ [1.0, _AUC_SHARE])

        return gain

    @property
    def _has_ndcg(self) -> bool:
        """Whether the rows have queries and allow NDCG, which takes no weights."""
        are_equal = (self.weight == self.weight[0]).all()
        are_grades = self.y.min() >= 0 and 0 < self.y.max() <= HIGHEST_GRADE
        return bool(self.is_graded and self.qid is not None and are_equal and are_grades)

    @property
    def _folds(self) -> list[Indices]:
        """The rows of each fold."""
        return [np.flatnonzero(self.fold == k) for k in np.unique(self.fold)]

    def _folds_of_both_classes(self) -> list[Indices]:
        """Return the rows of each fold that has a pair; raise ValueError if no fold has one."""
        folds = list(with_both_classes(self.y, self.fold))
        if not folds:
            raise ValueError(NO_PAIR)
        return folds

    def _of_scorer(self, scorer: Any) -> Callable[[Floats], float]:
        """Return a metric of all queries, or its mean over the folds of one list."""
        weight = None if (self.weight == 1).all() else self.weight
        if self.qid is None and len(folds := self._folds) > 1:
            gains = [(rows, self.take(rows)._of_scorer(scorer)) for rows in folds]
            return lambda scores: float(np.mean([gain(scores[rows]) for rows, gain in gains]))
        return lambda scores: scorer.measure(self.y, scores, qid=self.qid, sample_weight=weight)

    def estimates(self, scores: Floats, scoring: Any = None) -> dict[str, Estimate]:
        """Return the metrics of scores, with standard errors, by name.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            Scores, greater is better.
        scoring : str, scorer or None, default=None
            Another metric. If `ranking_scorer` has its value for each query, and all weights are
            1, it is the mean over the queries, each counting once, else the mean over the folds.

        Returns
        -------
        dict of str to Estimate
            "auc" and, for two classes in one list, "pauc@0.05", for grades from 0 to 31 with
            queries and equal weights "ndcg@10": means over folds or queries, each counting once.

        Notes
        -----
        A few folds say little about the variance between folds: the interval of a mean over two or
        three of them is wide.
        """
        options: dict[str, Any] = {"qid": self.lists, "average": None}
        if self.qid is None and not self.is_graded:
            rates = {"auc": 1.0, "pauc@0.05": _HEAD}
            figures = {name: self._top_area(scores, rate) for name, rate in rates.items()}
        else:
            areas = auc_score(self.y, scores, sample_weight=self.weight, **options)
            figures = {"auc": _mean_of(areas)}
        if self._has_ndcg:
            figures["ndcg@10"] = _mean_of(ndcg_score(self.y, scores, k=10, **options))
        # A function of the same name is another metric.
        if scoring is not None and (scorer := as_scorer(scoring)).name not in figures:
            figures[scorer.label] = _mean_of(self._values(scorer, scores))
        return figures

    def _values(self, scorer: Any, scores: Floats) -> Any:
        """Return a metric of each query, if it is defined for one, or of each fold."""
        if self.qid is not None and scorer.takes("average") and (self.weight == 1).all():
            return scorer.of_queries(self.y, scores, qid=self.qid)
        return [self.take(rows)._of_scorer(scorer)(scores[rows]) for rows in self._folds]

    def _top_area(self, scores: Floats, max_fpr: float) -> Estimate:
        """Return the partial AUC, mean over folds, with its standard error."""
        values, variances = [], []
        for rows in self._folds_of_both_classes():
            positive, weight = self.y[rows], self.weight[rows]
            steps = RocSteps.of(positive, scores[rows], weight)
            term, loss = steps.area_terms(max_fpr)
            values.append(steps.relevant @ term)
            for is_class, terms in ((positive, term), (~positive, loss)):
                variances.append(_variance_of_mean(terms[steps.step[is_class]], weight[is_class]))
        return Estimate(float(np.mean(values)), float(np.sqrt(sum(variances)) / len(values)))


def _variance_of_mean(values: Floats, weight: Floats) -> float:
    """Return the estimated variance of a weighted mean; NaN for a single row."""
    share, n_rows = weight / weight.sum(), effective_rows(weight)
    sum_squares = float(share @ (values - share @ values) ** 2)
    return sum_squares / (n_rows - 1) if n_rows > 1 else float("nan")


def _mean_of(values: Any) -> Estimate:
    """Return the mean of independent values, ignoring NaN."""
    values = np.asarray(values)[~np.isnan(values)]
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return Estimate(float(values.mean()), float(error), len(values) - 1)


# The selection ---------------------------------------------------------------------------


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
    share of the steps up to the one after which the gain is highest. If gains are equal, up to a
    relative 1e-10, the first member and the earliest step are taken: list simple members first. A
    member that never helps has weight 0.

    Parameters
    ----------
    scores : ndarray of shape (n_members, n_rows)
        Scores of each member on one scale, greater is better.
    gain : callable
        Maps scores of shape (n_rows,) to a float, greater is better.
    n_steps : int in [1, inf), default=25
        Maximum number of steps.
    n_bags : int in [1, inf), default=1
        Number of selections whose weights are averaged. If above 1, each uses a random half of the
        members, rounded up.
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
    n_members, rng = len(scores), check_random_state(random_state)
    weights, bag_size = np.zeros(n_members), (n_members + 1) // 2 if n_bags > 1 else n_members
    for _ in range(n_bags):
        members = np.sort(rng.permutation(n_members)[:bag_size])
        weights[members] += _select(scores[members], gain, n_steps) / n_bags
    return weights


def _select(scores: Floats, gain: Callable[[Floats], float], n_steps: int) -> Floats:
    """Return the weights of one selection."""
    counts, score_sum = np.zeros(len(scores)), np.zeros(scores.shape[1])
    best_gain, best_counts = -np.inf, counts
    for step in range(1, n_steps + 1):
        gains = np.array([gain((score_sum + member) / step) for member in scores])
        # The first of equal gains: simple members come first.
        lower_bound = gains - GAIN_TIE * np.abs(gains)
        best_index = int(np.argmax(gains >= lower_bound.max()))
        counts[best_index] += 1
        score_sum += scores[best_index]
        if lower_bound[best_index] > best_gain:
            best_gain, best_counts = gains[best_index], counts.copy()
    return best_counts / best_counts.sum()


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
        Scores of the held-out rows by the members of their folds, with these weights, which were
        chosen on the same rows.
    nearly_honest_scores : ndarray of shape (n_rows,)
        The same, with weights chosen on the rows of the other folds.
    member_scores : dict of str to dict of str to Estimate
        Figures of each member, by metric.
    score_estimate : dict of str to Estimate
        Figures of the ensemble by metric: those of `nearly_honest_scores`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.ensemble import HeldOutLabels, select_members
    >>> y, fold = np.tile([True, False, False, True], 5), np.repeat([0, 1], 10)
    >>> selection = select_members({"a": 1.0 * y}, HeldOutLabels(y, fold, np.ones(20)))
    >>> selection.weights, selection.score_estimate["auc"].value
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
        Scores of each member by name, simple members first: each row is scored by a model that was
        fitted without the fold of the row.
    rows : HeldOutLabels
        Relevance, folds, weights and queries of the rows.
    of_probability : mapping of str to bool, default=None
        Which scores are probabilities. None: no scores.
    scoring : str, scorer or None, default=None
        The metric to maximise; see `HeldOutLabels.gain`.
    n_steps, n_bags : int, default=25, 1
        See `greedy_weights`.
    random_state : int, RandomState or None, default=None
        Seed of the random halves with ``n_bags > 1``.
    fitted_to : mapping of int to ndarray of bool of shape (n_rows,), default=None
        For each fold a mask of the rows its members were fitted to; None for all other folds. The
        weights of a fold in `nearly_honest_scores` come from these rows, apart from folds in which
        they hold no comparable pair; they are equal where there is no pair at all. Needed for
        folds that are periods, so that no weights come from later rows.

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

    *The estimate is nearly honest.* For each fold, the weights are chosen on the rows of the other
    folds and evaluated on this one, so the choice does not bias the result. But the members of the
    other folds were fitted to rows of this one: their scores, and so the weights, are not quite
    independent of it. And they had fewer rows than the refitted members, which makes the estimate
    slightly too low.

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
    >>> selection = select_members(scores, HeldOutLabels(y, fold, np.ones(300)))
    >>> selection.weights["noise"], selection.score_estimate["auc"].value > 0.8
    (0.0, True)
    """
    folds, is_probability = np.unique(rows.fold), of_probability or {}
    if len(folds) < 2:
        raise ValueError("A selection needs at least two folds of held-out rows. Got one.")
    lists: dict[str, Any] = {"weight": rows.weight, "qid": rows.qid}
    maps = {
        name: ScoreMap.fit(x, rows.fold, of_probability=is_probability.get(name, False), **lists)
        for name, x in out_of_fold.items()
    }
    # In one list the selection needs no map: it averages normal scores within folds.
    ranked = mapped = np.array([maps[name](x) for name, x in out_of_fold.items()])
    if rows.qid is None:
        ranked = np.array([normal_scores(x, rows.fold, rows.weight) for x in mapped])
    seed = check_random_state(random_state).randint(2**31 - 1)  # the same halves for each fold

    def weights_on(chosen: Any) -> Floats:
        gain = rows.take(chosen).gain(scoring)
        options = {"n_steps": n_steps, "n_bags": n_bags, "random_state": seed}
        return greedy_weights(ranked[:, chosen], gain, **options)

    weights, honest_scores = weights_on(slice(None)), np.empty(len(rows.y))
    for k in folds:
        held_out = rows.fold == k
        train = _rows_with_pairs(rows, ~held_out if fitted_to is None else fitted_to[k])
        fold_weights = weights_on(train) if len(train) else np.full(len(maps), 1 / len(maps))
        honest_scores[held_out] = fold_weights @ ranked[:, held_out]
    return Selection(
        dict(zip(maps, weights.tolist(), strict=True)),
        maps,
        weights @ mapped,
        honest_scores,
        {name: rows.estimates(x, scoring) for name, x in zip(maps, ranked, strict=True)},
        rows.estimates(honest_scores, scoring),
    )


def _rows_with_pairs(rows: HeldOutLabels, mask: Mask) -> Indices:
    """Restrict a mask to the folds in which it selects a comparable pair.

    It may reduce a fold to rows of one class, for which metrics are not defined.
    """
    folds = [np.flatnonzero(mask & (rows.fold == k)) for k in np.unique(rows.fold[mask])]
    paired_folds = [fold for fold in folds if have_pair(rows.y[fold], rows.lists[fold])]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.intp), *paired_folds]))
