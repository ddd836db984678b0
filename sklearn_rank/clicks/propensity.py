"""How often users look at each position, estimated from a click log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import has_fit_parameter

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.validation import (
    SEED,
    Choice,
    Constraint,
    Described,
    Number,
    check_floats,
    check_lengths,
    check_parameters,
    check_positions,
    check_qid,
    unchanged_on_error,
)
from sklearn_rank.clicks._click_log import check_clicks, check_rows
from sklearn_rank.clicks._harvesting import Interventions, all_pairs, components
from sklearn_rank.clicks._maximisation import (
    Attraction,
    LogCells,
    by_regression,
    maximise_likelihood,
)

_LEVELS = (0.025, 0.975)
"""Levels of the quantiles at the ends of an interval."""


class PositionPropensity(BaseEstimator):
    r"""Propensities of positions relative to the first position, estimated from a click log.

    In the position-based model, a click on row d at position k of query q has the probability

    .. math:: P(\text{click}) = \theta_k \, \gamma_{qd}

    where

    - :math:`\theta_k` is the probability that a user looks at position k, the propensity;
    - :math:`\gamma_{qd}` is the probability of a click on an examined row.

    The log identifies only products, so the propensities are estimated relative to
    :math:`\theta_1`. They can be separated from relevance if rows of equal relevance were shown at
    several positions. Such rows have the same `group`. If several rankers, or versions of one, have
    shown a row at different positions (intervention harvesting), a group is a query and a row. If
    an experiment swapped rows at random, it is the rank of a row before the swap and the pair of
    swapped positions.

    Parameters
    ----------
    method : {"auto", "harvesting", "em"}, default="auto"
        "harvesting": the maximum-likelihood propensities of

        .. math:: \sum_{k \ne k'} C_{kk'} \log(\theta_k \gamma_{kk'})
            + (N_{kk'} - C_{kk'}) \log(1 - \theta_k \gamma_{kk'}),
            \qquad \gamma_{kk'} = \gamma_{k'k}

        where for each pair of positions :math:`C_{kk'}` and :math:`N_{kk'}` are the weighted
        numbers of clicks and of impressions at k of groups shown at both. A group with n
        impressions at k and n' at k' has the weight :math:`n n' / (n + n')` at both, whatever its
        clicks. Half an impression without a click is added to each N, so that no probability is 1.

        "em": maximum likelihood of all clicks, with a :math:`\gamma` for each group, by expectation
        maximisation. It runs on any log, but only groups at several positions identify the
        propensities. It overestimates those of low positions, especially when groups have few
        impressions: few clicks give a poor estimate of the :math:`\gamma` of a group, which is at
        most 1. With `X` in `fit`, :math:`\gamma` is a function of the features that `regression`
        fits in each iteration. Rows with similar features at several positions then separate
        positions from relevance, even in the log of a single ranker.

        "auto": "harvesting" if pairs of positions with clicks connect all positions; "em" if groups
        were shown at such pairs, but not clicked at both. The log of a single ranker has no group
        at two positions and raises an error: pass "em" with `X`.
    regression : classifier or None, default=None
        Only with `X` in `fit`: a classifier with `predict_proba` whose `fit` accepts
        `sample_weight`, such as HistGradientBoostingClassifier, which also accepts missing values.
        In each iteration a clone is fitted with every group entered twice, labelled attractive (1)
        and not (0), weighted by their expected counts. None: LogisticRegression. X must hold the
        features that ranked the rows, comparable between queries.
    n_bootstrap : int in [2, inf) or 0, default=200
        Number of bootstrap samples of queries for the intervals; 0: none.
    max_iter : int in [1, inf), default=500
        Maximum number of iterations of "em".
    tol : float in (0, inf), default=1e-6
        "em" ends when no propensity changes by more than this fraction of the largest.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.

    Attributes
    ----------
    propensity_ : ndarray of shape (n_positions,)
        Propensities of positions 1, 2, ...; the first is 1. Others exceed 1 if users look at them
        more.
    interval_ : ndarray of shape (n_positions, 2) or None
        Ends of the 95 % intervals, quantiles of bootstrap samples of queries. They do not include
        the bias of "em" without X at low positions. Samples that do not identify the propensity of
        a position are ignored; NaN if no sample does. None without bootstrap.
    method_ : str
        The method in use.
    n_impressions_ : ndarray of shape (n_positions, n_positions)
        Impressions by pair of positions: those at the first, of groups also shown at the second.

    Raises
    ------
    ValueError
        If clicks are not 0 or 1, positions are below 1 or have no impressions or clicks, or the
        pairs of positions that "harvesting" or "auto" can use do not connect all positions.

    Notes
    -----
    The model assumes that the probability of looking at a position does not depend on the list, and
    that clicks on examined rows do not depend on the position (no trust bias).

    References
    ----------
    AgarwalHarvest2019 (interventional sets, AllPairs); WangEM2018 (expectation
    maximisation with a regression; expected labels as weights instead of labels drawn at random.
    One parameter a group is defined here). The weight of a group is defined here; the paper's is
    the number of times that rankers were deployed.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.clicks import PositionPropensity, make_clicks
    >>> from sklearn_rank.datasets import make_queries
    >>> data = make_queries(random_state=0)
    >>> rankers = np.random.default_rng(0).normal(size=(3, len(data.target)))
    >>> log = make_clicks(
    ...     data.target, rankers, data.qid, n_impressions=20_000, n_shown=3, random_state=0
    ... )
    >>> bias = PositionPropensity(n_bootstrap=0).fit(log.click, log.position, log.row)
    >>> bias.propensity_.round(1)  # of 1, 1/2, 1/3
    array([1. , 0.5, 0.3])
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        "method": Choice(("auto", "harvesting", "em")),
        "regression": Described(
            "None or a classifier with predict_proba whose fit takes sample_weight",
            lambda value: value is None or _is_weighted_classifier(value),
        ),
        "n_bootstrap": Number(2, integer=True, other=(0,)),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, closed="neither"),
        "random_state": SEED,
    }

    propensity_: Floats
    interval_: Floats | None

    def __init__(
        self,
        method: str = "auto",
        *,
        regression: Any = None,
        n_bootstrap: int = 200,
        max_iter: int = 500,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.regression = regression
        self.n_bootstrap = n_bootstrap
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(
        self, clicks: Any, position: Any, group: Any, qid: Any = None, *, X: Any = None
    ) -> Self:
        """Estimate the propensities.

        Parameters
        ----------
        clicks : array-like of shape (n_rows,)
            0 or 1: whether each shown row was clicked.
        position : array-like of int of shape (n_rows,)
            Its position, from 1.
        group : array-like of shape (n_rows,)
            Rows of a group are equally relevant at all positions.
        qid : array-like of shape (n_rows,) or None, default=None
            The units of the bootstrap: queries or users. None: the groups.
        X : {array-like, sparse matrix} of shape (n_groups, n_features), default=None
            Features of the groups, for "em" with a regression; groups are then row numbers of X.

        Returns
        -------
        PositionPropensity
            The estimator.
        """
        with unchanged_on_error(self):
            log = self._prepared(clicks, position, group, qid, X)
            rng, n_queries = check_random_state(self.random_state), log.cells.n_queries
            draws = rng.poisson(1.0, (self.n_bootstrap, n_queries)).astype(np.float64)
            propensities = self._estimates(log, np.vstack([np.ones((1, n_queries)), draws]))
            self.propensity_ = propensities[0]
            self.interval_ = _interval(propensities[1:]) if self.n_bootstrap else None
            self.method_, self.n_impressions_ = log.method, log.interventions.n_impressions
        return self

    def by_weight(
        self, clicks: Any, position: Any, group: Any, qid: Any, weights: Floats
    ) -> Floats:
        """Return the propensities for several query weightings, without a bootstrap.

        Each row of weights gives the estimate of a log that repeats each query as often as its
        weight. The log is counted once.

        Parameters
        ----------
        clicks, position, group, qid : array-like of shape (n_rows,)
            As in `fit`.
        weights : ndarray of shape (n_samples, n_queries)
            Weights of the queries in sorted order of their ids.

        Returns
        -------
        ndarray of shape (n_samples, n_positions)
            The propensities relative to the first. NaN for positions that the weights do not
            identify: without impressions ("em"), or not connected to the first by pairs of
            positions with clicks ("harvesting").
        """
        return self._estimates(self._prepared(clicks, position, group, qid, None), weights)

    def _prepared(self, clicks: Any, position: Any, group: Any, qid: Any, X: Any) -> _PreparedLog:
        """Return the counts of the checked log, and the method that estimates its propensities."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._allowed)
        attraction = self._attraction(group, X)
        if X is not None:  # as numbers: strings would be sorted differently
            group = check_floats(group, "group")
        cells, n_positions = self._checked(clicks, position, group, qid)
        interventions = Interventions.of(cells, n_positions)
        return _PreparedLog(cells, interventions, self._method_for(interventions), attraction)

    def _attraction(self, group: Any, X: Any) -> Attraction | None:
        """Return the regression that "em" fits in each iteration; None without features."""
        owner = type(self).__name__
        if X is None:
            if self.regression is not None:
                raise ValueError(
                    f"{owner}(regression=...) needs X, the features of the groups. Got None."
                )
            return None
        if self.method != "em":
            raise ValueError(
                f"{owner} takes X only with method='em', which has a regression. Got "
                f"method={self.method!r}."
            )
        # Missing values pass: the classifier refuses them if it must.
        features = check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan")
        model = LogisticRegression() if self.regression is None else self.regression
        n_groups = features.shape[0]
        allowed = f"{owner} must be row numbers of X, 0 to {n_groups - 1}, where X is given"
        rows = np.unique(check_rows(group, allowed, n_groups, "group"))
        return by_regression(model, features[rows])

    def _checked(self, clicks: Any, position: Any, group: Any, qid: Any) -> tuple[LogCells, int]:
        """Return the counts by query, group and position, and the number of positions."""
        owner = type(self).__name__
        is_clicked = check_clicks(owner, clicks)
        positions = check_positions(owner, position, len(is_clicked)) - 1
        groups = check_qid(group, len(positions), "group")
        queries = groups if qid is None else check_qid(qid, len(positions))
        check_lengths(clicks=is_clicked, position=positions)
        n_impressions, n_clicks = np.bincount(positions), np.bincount(positions, is_clicked)
        for counts, event in ((n_impressions, "was shown"), (n_clicks, "was clicked")):
            if not counts.all():
                raise ValueError(
                    f"{owner} needs rows and clicks at every position up to the largest. Nothing "
                    f"{event} at position {int(np.argmin(counts)) + 1}."
                )
        return LogCells.of(is_clicked, positions, groups, queries), len(n_impressions)

    def _method_for(self, interventions: Interventions) -> str:
        """Return the method in use; raise ValueError where the log has too few groups for it."""
        if self.method == "em":
            return "em"
        sums = interventions.sums(np.ones((1, interventions.cells.n_queries)))
        n_by_clicks, n_by_impressions = (int(components(counts[0]).max()) + 1 for counts in sums)
        if n_by_clicks == 1:
            return "harvesting"
        if self.method == "auto" and n_by_impressions == 1:
            return "em"
        raise ValueError(
            f"PositionPropensity(method={self.method!r}) needs groups with clicks at two positions "
            f"that connect all positions. Got {n_by_clicks} parts without such groups between "
            "them. Show lists of two rankers, swap rows at random, or use method='em' with X, the "
            "features of the groups: without X the log does not determine the propensities of "
            "positions that no group connects."
        )

    def _estimates(self, log: _PreparedLog, weights: Floats) -> Floats:
        """Return the propensities for each row of query weights."""
        if log.method == "harvesting":
            return np.array(list(map(all_pairs, *log.interventions.sums(weights))))
        settings = log.interventions.n_positions, self.max_iter, self.tol, log.attraction
        # No warm starts between samples: propensities would drift where the likelihood is flat.
        theta = np.array([maximise_likelihood(log.cells, w, *settings) for w in weights])
        first_theta = theta[:, :1]
        return theta / np.where(first_theta > 0, first_theta, np.nan)


@dataclass(frozen=True, eq=False)
class _PreparedLog:
    """The counts of a checked log, its groups at several positions, and the method for both."""

    cells: LogCells
    interventions: Interventions
    method: str
    attraction: Attraction | None


def _is_weighted_classifier(value: Any) -> bool:
    """Whether a value is an estimator with probabilities whose fit takes weights of rows."""
    can_fit = hasattr(value, "fit") and hasattr(value, "predict_proba")
    return can_fit and has_fit_parameter(value, "sample_weight")


def _interval(samples: Floats) -> Floats:
    """Return the ends of the interval of each position, from its finite samples."""
    finite = [theta[np.isfinite(theta)] for theta in samples.T]
    return np.array([np.quantile(t, _LEVELS) if len(t) else (np.nan, np.nan) for t in finite])
