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
from sklearn_rank.clicks._harvesting import Interventions, all_pairs, parts
from sklearn_rank.clicks._maximisation import Attraction, Cells, by_regression, maximised

_LEVEL = (0.025, 0.975)


class PositionPropensity(BaseEstimator):
    r"""Propensities of positions in proportion to that of the first, from a log of clicks.

    In the position-based model a click on row d at position k of query q has the probability

    .. math:: P(\text{click}) = \theta_k \, \gamma_{qd}

    where

    - :math:`\theta_k` is the probability that a user looks at position k, the propensity;
    - :math:`\gamma_{qd}` is the probability of a click on a row that is looked at.

    Only products are seen: the propensities are estimated in proportion to :math:`\theta_1`. What
    tells them apart from relevance are rows of one relevance at several positions. Such rows have
    the same `group`: the row and the query, where several rankers or versions of one have shown
    it at different places (intervention harvesting), or, where an experiment swapped rows at
    random, the place that a row would have had and the pair of positions that were swapped.

    Parameters
    ----------
    method : {"auto", "harvesting", "em"}, default="auto"
        "harvesting": the propensities of the largest likelihood

        .. math:: \sum_{k \ne k'} C_{kk'} \log(\theta_k \gamma_{kk'})
            + (N_{kk'} - C_{kk'}) \log(1 - \theta_k \gamma_{kk'}),
            \qquad \gamma_{kk'} = \gamma_{k'k}

        where for each pair of positions :math:`C_{kk'}` is the number of clicks at k on groups
        that were shown at both, each group weighted alike at k and k', and :math:`N_{kk'}` that of
        their impressions. A group with n impressions at k and n' at k' has the weight
        :math:`n n' / (n + n')`, whatever was clicked. Half an impression without a click is added
        to each N, so that no probability is 1.

        "em": the largest likelihood of all clicks, with a :math:`\gamma` for each group, by
        expectation maximisation. It needs no group at two positions to end, but is only as good as
        the groups that are. It overestimates low positions, the more so the fewer impressions
        groups have: few clicks do not tell :math:`\gamma` of a group well, and it is at most 1.
        With `X` in `fit`, :math:`\gamma` is a function of the features instead, fitted by
        `regression` in each iteration: rows with like features at several positions then tell
        positions from relevance, even in the log of a single ranker.

        "auto": "harvesting" where pairs of positions with clicks connect all positions; "em" where
        groups were shown at such pairs, but not clicked at both. The log of a single ranker has no
        group at two positions, and is refused: pass "em" with `X`.
    regression : classifier or None, default=None
        With `X` in `fit` only: a classifier with `predict_proba`, whose `fit` takes
        `sample_weight`, such as HistGradientBoostingClassifier, which also takes missing values. It
        is cloned, and fitted once an iteration to each group as attractive and as not, with the
        expected numbers of both as weights. None: LogisticRegression. Features that ranked the rows
        must be among X, and comparable between queries.
    n_bootstrap : int in [2, inf) or 0, default=200
        Samples of queries for the intervals; 0: none.
    max_iter : int in [1, inf), default=500
        Iterations of "em" at most.
    tol : float in (0, inf), default=1e-6
        "em" ends where no propensity changes by more than this part of the largest.
    random_state : int, RandomState instance or None, default=None
        Seed of the bootstrap.

    Attributes
    ----------
    propensity_ : ndarray of shape (n_positions,)
        Of positions 1, 2, ...; the first is 1. Others may exceed 1, if users see them more.
    interval_ : ndarray of shape (n_positions, 2) or None
        Ends of the 95 % intervals, quantiles of bootstrap samples of queries. They leave out the
        bias of "em" without X at low positions, and samples that do not tell the propensity of a
        position; NaN where none does. None without bootstrap.
    method_ : str
        The method in use.
    n_impressions_ : ndarray of shape (n_positions, n_positions)
        Number of impressions of groups that were shown at both of two positions.

    Raises
    ------
    ValueError
        For clicks that are not 0 or 1, positions below 1, positions that nobody was shown or that
        have no click, and where "harvesting" or "auto" finds no pairs of positions that connect
        all.

    Notes
    -----
    It needs that users at a position look as often whatever the list, and that clicks on rows that
    are looked at do not depend on the position (no trust bias).

    References
    ----------
    AgarwalHarvest2019 (interventional sets, AllPairs); WangEM2018 (expectation
    maximisation with a regression; expected labels as weights in place of labels drawn at random.
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
            0 or 1: whether each row shown was clicked.
        position : array-like of int of shape (n_rows,)
            Where it was shown, from 1.
        group : array-like of shape (n_rows,)
            Rows of one id are equally relevant wherever they are shown.
        qid : array-like of shape (n_rows,) or None, default=None
            What the bootstrap redraws: queries or users. None: the groups.
        X : {array-like, sparse matrix} of shape (n_groups, n_features), default=None
            Features of the groups, for "em" with a regression: groups are then row numbers of X.

        Returns
        -------
        PositionPropensity
            The estimator.
        """
        with unchanged_on_error(self):
            log = self._prepared(clicks, position, group, qid, X)
            random, n_queries = check_random_state(self.random_state), log.cells.n_queries
            drawn = random.poisson(1.0, (self.n_bootstrap, n_queries)).astype(np.float64)
            found = self._estimates(log, np.vstack([np.ones((1, n_queries)), drawn]))
            self.propensity_ = found[0]
            self.interval_ = _interval(found[1:]) if self.n_bootstrap else None
            self.method_, self.n_impressions_ = log.method, log.pairs.n_impressions
        return self

    def by_weight(
        self, clicks: Any, position: Any, group: Any, qid: Any, weights: Floats
    ) -> Floats:
        """Return the propensities at several weights of the queries, without a bootstrap.

        The log is counted once; each row of weights gives the estimate of a log in which each query
        is there as often as its weight says.

        Parameters
        ----------
        clicks, position, group, qid : array-like of shape (n_rows,)
            As in `fit`.
        weights : ndarray of shape (n_samples, n_queries)
            Weights of the queries in sorted order of their ids.

        Returns
        -------
        ndarray of shape (n_samples, n_positions)
            The propensities in proportion to the first. NaN where the weights leave nothing that
            tells one: a position without impressions ("em"), or one that no pairs of positions
            with clicks connect to the first ("harvesting").
        """
        return self._estimates(self._prepared(clicks, position, group, qid, None), weights)

    def _prepared(self, clicks: Any, position: Any, group: Any, qid: Any, X: Any) -> _Log:
        """Return the checked log, summed up, and how its propensities are estimated."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._allowed)
        attraction = self._attraction(group, X)
        if X is not None:  # the texts of row numbers are sorted otherwise
            group = check_floats(group, "group")
        cells, n_positions = self._checked(clicks, position, group, qid)
        pairs = Interventions.of(cells, n_positions)
        return _Log(cells, pairs, self._method_for(pairs), attraction)

    def _attraction(self, group: Any, X: Any) -> Attraction | None:
        """Return the function of features that "em" fits in each iteration; None without one."""
        owner = type(self).__name__
        if X is None:
            if self.regression is not None:
                raise ValueError(
                    f"{owner}(regression=...) needs X, the features of the groups. Got None."
                )
            return None
        if self.method != "em":
            raise ValueError(
                f"{owner} reads X with method='em' only, the one that has a regression. Got "
                f"method={self.method!r}."
            )
        # Whether values may be missing is for the classifier to say.
        features = check_array(X, accept_sparse="csr", ensure_all_finite="allow-nan")
        model = LogisticRegression() if self.regression is None else self.regression
        n_groups = features.shape[0]
        allowed = f"{owner} must be row numbers of X, 0 to {n_groups - 1}, where X is given"
        rows = np.unique(check_rows(group, allowed, n_groups, "group"))
        return by_regression(model, features[rows])

    def _checked(self, clicks: Any, position: Any, group: Any, qid: Any) -> tuple[Cells, int]:
        """Return the log summed up by query, group and position, and the number of positions."""
        owner = type(self).__name__
        is_clicked = check_clicks(owner, clicks)
        place = check_positions(owner, position, len(is_clicked)) - 1
        of_group = check_qid(group, len(place), "group")
        of_query = of_group if qid is None else check_qid(qid, len(place))
        check_lengths(clicks=is_clicked, position=place)
        n_positions = int(place.max()) + 1
        shown = np.bincount(place, minlength=n_positions)
        clicked = np.bincount(place, is_clicked, n_positions)
        for number, what in ((shown, "was shown"), (clicked, "was clicked")):
            if not number.all():
                raise ValueError(
                    f"{owner} needs rows and clicks at every position up to the largest. Nothing "
                    f"{what} at position {int(np.argmin(number)) + 1}."
                )
        return Cells.of(is_clicked, place, of_group, of_query), n_positions

    def _method_for(self, pairs: Interventions) -> str:
        """Return the method in use; raise ValueError where the log has too few groups for it."""
        if self.method == "em":
            return "em"
        whole = np.ones((1, pairs.cells.n_queries))
        last_part, last_shown = (int(parts(counts[0]).max()) for counts in pairs.sums(whole))
        if not last_part:
            return "harvesting"
        if self.method == "auto" and not last_shown:
            return "em"
        raise ValueError(
            f"PositionPropensity(method={self.method!r}) needs groups with clicks at two positions "
            f"that connect all positions. Got {last_part + 1} parts without such groups between "
            "them. Let two rankers make lists, swap rows at random, or use method='em' with X, the "
            "features of the groups: without X it would return numbers, but the log does not "
            "determine those of positions that no group connects."
        )

    def _estimates(self, log: _Log, weights: Floats) -> Floats:
        """Return the propensities of each row of weights of the queries."""
        if log.method == "harvesting":
            sums = log.pairs.sums(weights)
            return np.array([all_pairs(*one) for one in zip(*sums, strict=True)])
        limits = log.pairs.n_positions, self.max_iter, self.tol
        # Each from its own clicks: from one another they would drift where the likelihood is flat.
        found = np.array([maximised(log.cells, one, *limits, log.attraction) for one in weights])
        first = found[:, :1]
        return found / np.where(first > 0, first, np.nan)


@dataclass(frozen=True, eq=False)
class _Log:
    """A checked log: its counts, its groups at several positions, and how both are used."""

    cells: Cells
    pairs: Interventions
    method: str
    attraction: Attraction | None


def _is_weighted_classifier(value: Any) -> bool:
    """Whether a value is an estimator that gives probabilities and takes weights of rows."""
    can_fit = hasattr(value, "fit") and hasattr(value, "predict_proba")
    return can_fit and has_fit_parameter(value, "sample_weight")


def _interval(samples: Floats) -> Floats:
    """Return the ends of the interval of each position, of the samples that tell its propensity."""
    known = [one[np.isfinite(one)] for one in samples.T]
    return np.array([np.quantile(one, _LEVEL) if len(one) else (np.nan,) * 2 for one in known])
