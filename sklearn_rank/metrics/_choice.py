"""Choose the best of several rankings, with estimates that correct for the choice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    check_column,
    check_floats,
    check_parameters,
    check_qid,
)
from sklearn_rank.metrics.intervals import (
    CONFIDENCE,
    MetricInterval,
    auc_influence,
    changes_in_samples,
    check_resampling,
    curve_influence,
    fold_of_queries,
)
from sklearn_rank.metrics.scorers import ranking_scorer

TOP_AND_ALL = {"pauc@0.1": 1.0, "auc": 0.2}
"""Criterion of one list of two classes: mostly the top of the list, a little all of it."""

_ALLOWED: dict[str, Constraint] = {"confidence": CONFIDENCE, "of": Choice(("metric", "criterion"))}


@dataclass(frozen=True, eq=False)
class RankingChoice:
    """The best of several rankings, with the choice repeated in bootstrap samples.

    Attributes
    ----------
    names : list of str
        The rankings, best first: the first is the chosen one.
    criterion, metric : ndarray of shape (1 + n_resamples, n_rankings)
        The maximised and the reported value of each ranking in the order of `names`: observed,
        then in bootstrap samples.
    chosen : ndarray of int of shape (1 + n_resamples,)
        Column of the chosen ranking, by the same rule in each sample.
    n_drawn : int
        Number of drawn rows, or queries.
    random_order : dict of str to float
        "criterion" and "metric" of equal scores: the average over random orders (for parts of the
        ROC curve in long lists).

    Examples
    --------
    >>> from sklearn_rank.metrics import choose_ranking
    >>> y, noise = [0, 1, 0, 1, 0, 1, 0, 1], [3, 1, 4, 1, 5, 9, 2, 6]
    >>> choice = choose_ranking(y, {"noise": noise, "good": y}, random_state=0)
    >>> choice.names, bool(choice.criterion[0, 0] > choice.criterion[0, 1])
    (['good', 'noise'], True)
    """

    names: list[str]
    criterion: Floats
    metric: Floats
    chosen: Indices
    n_drawn: int
    random_order: dict[str, float]

    def interval(self, *, of: str = "metric", confidence: float = 0.95) -> MetricInterval:
        r"""Estimate the metric of the chosen ranking on new rows.

        .. math:: \hat\theta - \frac1B \sum_b e_b, \qquad e_b = \theta^*_{c_b, b} - \theta_{c_b}

        where :math:`\theta_k` is the metric of ranking k, :math:`\theta^*_{k,b}` that in bootstrap
        sample b, :math:`c_b` the ranking chosen in it, and :math:`\hat\theta` the metric of the
        ranking chosen on all rows: the estimate subtracts the mean optimism of the choice. The
        interval extends from :math:`\hat\theta` minus the upper quantile of the :math:`e_b` to
        :math:`\hat\theta` minus the lower one, so an end may lie outside the range of the metric.

        Parameters
        ----------
        of : {"metric", "criterion"}, default="metric"
            Which value to estimate.
        confidence : float in (0, 1), default=0.95
            Confidence level.

        Returns
        -------
        MetricInterval
            ``mean``, ``low`` and ``high``; ``n_queries`` is the number of rows or queries drawn.

        Raises
        ------
        ValueError
            If a parameter is invalid.

        References
        ----------
        Tsamardinos2018 (the choice repeated in bootstrap samples of held-out scores).
        """
        return self._pivot(of, None, confidence)

    def lead(
        self, over: Iterable[str] | None = None, *, of: str = "metric", confidence: float = 0.95
    ) -> tuple[str, MetricInterval]:
        """Estimate the lead of the chosen ranking over the best of others.

        Parameters
        ----------
        over : iterable of str, default=None
            The other rankings; each bootstrap sample takes the best of them by the criterion. None:
            all.
        of : {"metric", "criterion"}, default="metric"
            Which value to compare.
        confidence : float in (0, 1), default=0.95
            Confidence level.

        Returns
        -------
        rival : str
            The best of the others.
        difference : MetricInterval
            Estimate and interval of the difference, as those of `interval`.

        Raises
        ------
        ValueError
            If there are no others, or a parameter is invalid.
        """
        others = set(self.names if over is None else over)
        is_other = np.array([name in others for name in self.names])
        if not is_other[1:].any() or not others <= set(self.names):
            raise ValueError(f"RankingChoice.lead: 'over' must name others. Got {sorted(others)}.")
        criterion = self.criterion.copy()
        criterion[np.arange(len(criterion)), self.chosen] = -np.inf
        # A sample that chooses the only one of the others compares it with all rankings.
        has_rival = is_other.sum() > is_other[self.chosen]
        criterion[has_rival[:, np.newaxis] & ~is_other] = -np.inf
        rivals = criterion.argmax(axis=1)
        return self.names[rivals[0]], self._pivot(of, rivals, confidence)

    def _pivot(self, of: str, rivals: Indices | None, confidence: float) -> MetricInterval:
        check_parameters("RankingChoice", {"confidence": confidence, "of": of}, _ALLOWED)
        values: Floats = getattr(self, of)
        samples = np.arange(len(values))
        optimism = values[samples, self.chosen] - values[0, self.chosen]  # e_b
        estimate = float(values[0, self.chosen[0]])
        if rivals is not None:
            optimism -= values[samples, rivals] - values[0, rivals]
            estimate -= float(values[0, rivals[0]])
        levels = (1 - confidence) / 2, (1 + confidence) / 2
        low, high = np.quantile(optimism[1:], levels).tolist()
        mean = estimate - float(optimism[1:].mean())
        return MetricInterval(mean, estimate - high, estimate - low, self.n_drawn)


def choose_ranking(
    y_true: Any,
    scores: Mapping[str, Any],
    *,
    criterion: str | Mapping[str, float] | None = None,
    metric: str | None = None,
    preferred: str | Sequence[str] | None = None,
    qid: Any = None,
    fold: Any = None,
    group: Any = None,
    n_resamples: int = 999,
    random_state: Any = None,
) -> RankingChoice:
    r"""Choose the best of several rankings of the same held-out rows, correcting for the choice.

    The best of several rankings looks better than it is. Each bootstrap sample therefore repeats
    the choice, and `RankingChoice.interval` and `RankingChoice.lead` correct for it. A sample draws
    rows of each class and fold, or whole queries of each fold, with replacement. Its metrics are
    those of all rows plus a linear term,

    .. math:: \theta^* = \hat\theta + \sum_i (n_i - 1) \frac{\partial \theta}{\partial w_i}

    where row (or query) i was drawn :math:`n_i` times and w are row weights, all 1. "tpr@a" has no
    derivative; there the threshold moves by the slope of the ROC curve between a/2 and 3a/2. With
    queries (n - 1)/n of the difference to the AUC without query i replaces the derivative of "auc",
    where n queries of the fold have a pair: this is the same for equal numbers of pairs, and
    correct when a query with many pairs dominates the AUC.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance; rows above 0 are relevant.
    scores : mapping of str to array-like of shape (n_samples,)
        Scores of each ranking by name, greater is better. Among equal rankings, the first is
        chosen.
    criterion : str, mapping of str to float, or None, default=None
        The metric, or weighted sum of metrics, to maximise: in one list "auc", "pauc@a" and
        "tpr@a", with queries "auc" and means over queries of `ranking_scorer`. None: in one list
        of two classes ``{"pauc@0.1": 1, "auc": 0.2}``, else "auc".
    metric : str, default=None
        The metric to report. None: the criterion.
    preferred : str or sequence of str, default=None
        A ranking to keep, for stability, unless the best of the others leads it by more than the
        standard error of the difference. With several names, such as simple models first, the first
        one that no other leads by more than a standard error is chosen, otherwise the last.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.
    fold : array-like of shape (n_samples,), default=None
        Fold of a cross-validation in which each row was held out; see `auc_interval`.
    group : array-like of shape (n_samples,), default=None
        Rows drawn together, such as those of a customer, or the copies of a row in repeated
        cross-validation. Not with `qid`, where queries are drawn.
    n_resamples : int >= 1, default=999
        Number of bootstrap samples.
    random_state : int, RandomState or None, default=None
        Random seed.

    Returns
    -------
    RankingChoice
        The rankings in order, and the bootstrap samples.

    Raises
    ------
    ValueError
        Without scores, if a metric cannot be resampled or is not defined for the rows, if
        `preferred` is not among the names, if a query lies in several folds, or if a parameter is
        invalid.

    See Also
    --------
    compare_auc, compare_tpr_at_fpr, compare_rankings : Two rankings chosen in advance.

    Notes
    -----
    Intervals are too narrow if one `group` holds a large part of the rows and so dominates the
    metrics.

    References
    ----------
    Tsamardinos2018 (the choice repeated in bootstrap samples of held-out scores; there metrics
    come from the rows not drawn). Efron1993 (intervals by the errors in the samples).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.metrics import choose_ranking
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> scores = {name: rng.normal(size=500) for name in "abcdefgh"}
    >>> choice = choose_ranking(y, scores, criterion="auc", random_state=0)
    >>> interval = choice.interval()
    >>> bool(choice.metric[0, 0] > 0.53), interval.low < 0.5 < interval.high
    (True, True)
    """
    check_resampling("choose_ranking", 0.95, n_resamples, random_state)
    names, n_rows = list(scores), len(y_true)
    to_keep = [preferred] if isinstance(preferred, str) else list(preferred or ())
    if not names or not set(to_keep) <= set(names):
        rule = "'preferred' must be one of the names" if names else "'scores' must name a ranking"
        raise ValueError(f"choose_ranking: {rule}. Got {preferred!r} and {names}.")
    if group is not None and qid is not None:
        raise ValueError("choose_ranking: with 'qid' queries are drawn, so 'group' must be None.")
    y, fold = check_column(y_true, "y_true"), np.zeros(n_rows) if fold is None else fold
    qid, group = (None if ids is None else check_qid(ids, n_rows) for ids in (qid, group))
    if criterion is None:
        criterion = TOP_AND_ALL if qid is None and len(np.unique(y)) == 2 else "auc"
    criterion_weights = dict(criterion) if isinstance(criterion, Mapping) else {criterion: 1.0}
    if not criterion_weights:
        raise ValueError("choose_ranking: 'criterion' must name a metric. Got none.")
    metric_weights = criterion_weights if metric is None else {metric: 1.0}
    # 1) Criterion and metric of each ranking in all rows, with influence values. The last ranking
    # has equal scores: random order.
    arrays = y, qid, check_qid(fold, n_rows, "fold"), group
    rankings = [*scores.values(), np.zeros(n_rows)]
    values, influences = _weighted_sums([criterion_weights, metric_weights], rankings, arrays)
    # 2) Their values in bootstrap samples, below those in all rows.
    stratum, rng = strata(*arrays), check_random_state(random_state)
    changes = changes_in_samples(influences.reshape(-1, len(stratum)), stratum, n_resamples, rng)
    samples = np.swapaxes(changes.reshape(n_resamples, *values.shape) + values, 0, 1)
    criteria, metrics = np.concatenate([values[:, np.newaxis], samples], axis=1)[..., :-1]
    # 3) The choice in all rows, and by the same rule in each sample.
    chosen = _choose(criteria, [names.index(name) for name in to_keep], isinstance(preferred, str))
    # 4) The chosen ranking first, then the others in descending order.
    order = np.argsort(-criteria[0], kind="stable")
    order = np.append(chosen[0], order[order != chosen[0]])
    return RankingChoice(
        [names[k] for k in order],
        criteria[:, order],
        metrics[:, order],
        np.argsort(order)[chosen],
        len(stratum),
        dict(zip(("criterion", "metric"), values[:, -1].tolist(), strict=True)),
    )


def _weighted_sums(
    sums: Sequence[Mapping[Any, float]], rankings: Sequence[Any], rows: tuple[Any, ...]
) -> tuple[Floats, Floats]:
    """Return weighted sums of the metrics of each ranking, and their influence values."""
    values, influences = {}, {}
    for metric in {**sums[0], **sums[1]}:
        of_rankings = (influence(metric, score, *rows) for score in rankings)
        values[metric], influences[metric] = map(np.array, zip(*of_rankings, strict=True))

    def weighted_sum(arrays: Mapping[Any, Floats]) -> Floats:
        return np.array([sum(w * arrays[name] for name, w in terms.items()) for terms in sums])

    return weighted_sum(values), weighted_sum(influences)


def _choose(criterion: Floats, preferred: list[int], is_single: bool) -> Indices:
    """Return the column chosen in each row (sample); `preferred` contains columns."""
    chosen = criterion.argmax(axis=1) if not preferred else np.full(len(criterion), preferred[-1])
    # From the last to the first: the first column that no other leads wins.
    for column in reversed(preferred):
        difference = criterion - criterion[:, [column]]
        # The standard error of the difference is its standard deviation over the samples.
        is_ahead = difference > difference[1:].std(axis=0)
        if is_single:
            chosen = np.where(is_ahead, criterion, -np.inf).argmax(axis=1)
        chosen = np.where(is_ahead.any(axis=1), chosen, column)
    return chosen


def strata(y: Values, qid: Indices | None, fold: Indices, group: Indices | None) -> Indices:
    """Return the stratum of each draw: for a row, its fold and class; for a query, its fold.

    Groups are all in one stratum.
    """
    if group is not None:
        return np.zeros(int(group.max()) + 1, dtype=np.intp)
    if qid is not None:
        return fold_of_queries(fold, qid)
    class_code = np.unique(y, return_inverse=True)[1]
    return fold * (int(class_code.max()) + 1) + class_code


def influence(
    name: Any, score: Any, y: Values, qid: Indices | None, fold: Indices, group: Indices | None
) -> tuple[float, Floats]:
    """Return a metric and the influence value of each row, query or group."""
    if name == "auc":
        auc = auc_influence(y, score, qid, fold, "scores")
        value, of_draws = auc.value, auc.of_draws
    elif qid is not None:
        scorer = ranking_scorer(name)
        values, value = scorer.of_queries(y, score, qid=qid), scorer.measure(y, score, qid=qid)
        has_value = ~np.isnan(values)
        of_draws = np.where(has_value, values - value, 0.0) / has_value.sum()
    else:
        scorer, (metric, _, rate) = ranking_scorer(name), str(name).partition("@")
        if metric not in ("pauc", "tpr"):  # nor is a function's name
            raise ValueError(f"choose_ranking: {scorer.label} of one list can't be resampled.")
        value, score = scorer.measure(y, score, qid=fold), check_floats(score, "scores")
        of_draws = curve_influence(metric, float(rate), y > 0, score, fold)
    # A group counts as one draw: its influence is the sum of those of its rows.
    return value, of_draws if group is None else np.asarray(np.bincount(group, of_draws), float)
