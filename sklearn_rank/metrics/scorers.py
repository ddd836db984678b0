"""scikit-learn scorers that pass queries to the metrics."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.utils.metadata_routing import UNUSED, get_routing_for_object

from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.validation import Described, Number, check_qid_given, is_upper_label
from sklearn_rank.metrics._ndcg import ndcg_score
from sklearn_rank.metrics._pair_metrics import auc_score, p_norm_push_loss
from sklearn_rank.metrics._partial_auc import MAX_FPR, partial_auc_score, tpr_at_fpr_score
from sklearn_rank.metrics._places import (
    average_precision,
    err_score,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)

__all__ = ["ranking_scorer"]


def _push_score(
    y_true: Any, y_score: Any, *, p: float, qid: Any = None, sample_weight: Any = None
) -> float:
    return 1.0 - p_norm_push_loss(y_true, y_score, p=p, qid=qid, sample_weight=sample_weight)


_PARAMETERS = {
    "k": ("k", Number(1, integer=True)),
    "p": ("p", Number(1)),
    "max_fpr": ("a", MAX_FPR),
}
"""Parameters that may follow the @ in a name: the letter in messages, and the allowed values."""


class _Metric(NamedTuple):
    """A metric and the parameter that may follow the @ in its name."""

    function: Callable[..., Any]
    parameter: str = ""
    required: bool = False


# Adding a metric is one line here.
_METRICS = {
    "auc": _Metric(auc_score),
    "map": _Metric(average_precision, "k"),
    "mrr": _Metric(reciprocal_rank, "k"),
    "err": _Metric(err_score, "k"),
    "ndcg": _Metric(ndcg_score, "k"),
    "ndcg_linear": _Metric(partial(ndcg_score, gain="linear"), "k"),
    "precision": _Metric(precision_at_k, "k", required=True),
    "recall": _Metric(recall_at_k, "k", required=True),
    "r_precision": _Metric(r_precision),
    "push": _Metric(_push_score, "p", required=True),
    "pauc": _Metric(partial_auc_score, "max_fpr", required=True),
    "tpr": _Metric(tpr_at_fpr_score, "max_fpr", required=True),
}


def _parse(name: str | Callable[..., Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function of a metric and its keyword arguments (none for a user's function)."""
    # From Python 3.14 on a partial is a routine too.
    if not isinstance(name, partial) and inspect.isroutine(name):
        return name, {}
    decimal = r"[0-9.]+(?:[eE][+-]?[0-9]+)?|inf"
    match = re.fullmatch(rf"(\w+)(?:@({decimal}))?", name) if isinstance(name, str) else None
    try:
        if match is None:
            raise ValueError
        metric, argument = _METRICS[match[1]], match[2]
        if argument is None and not metric.required:
            return metric.function, {}
        _, constraint = _PARAMETERS[metric.parameter]
        value = (int if constraint.integer else float)(argument or "")
        if not constraint.allows(value):
            raise ValueError
        return metric.function, {metric.parameter: value}
    except (KeyError, ValueError):
        raise ValueError(
            f"The 'name' parameter of ranking_scorer must be {_names()}. Got {name!r} instead."
        ) from None


def _names() -> str:
    """Return the allowed names, for an error."""
    names = []
    for name, metric in _METRICS.items():
        names += [] if metric.required else [name]
        names += [f"{name}@{_PARAMETERS[metric.parameter][0]}"] if metric.parameter else []
    k, p, a = (str(rule).replace(" in ", f" {name} in ") for name, rule in _PARAMETERS.values())
    return f"one of {', '.join(names)}, with {k}, {p} and {a}, or a function"


def scoring_method(estimator: Any) -> str:
    """Return the method of an estimator that scores rows."""
    methods = ("decision_function", "predict_proba", "predict")
    return next((method for method in methods if hasattr(estimator, method)), "predict")


def scores_of(estimator: Any, X: Any, **metadata: Any) -> Values:
    """Return the scores of rows; if there is a column for each of two classes, the second."""
    scores = np.asarray(getattr(estimator, scoring_method(estimator))(X, **metadata))
    return scores[:, 1] if scores.ndim == 2 and scores.shape[1] == 2 else scores


def requested(estimator: Any, method: str, qid: Any, alias: Any = None) -> dict[str, Any]:
    """Return qid as metadata (under its alias, if any) if a step requests it for a method."""
    if qid is None or not sklearn.get_config()["enable_metadata_routing"]:
        return {}
    names = [alias if isinstance(alias, str) else "qid"]
    return dict.fromkeys(get_routing_for_object(estimator).consumes(method, names), qid)


def routed_scores(owner: str, estimator: Any, X: Any, qid: Any, alias: Any = None) -> Floats:
    """Return one score for each row; qid is routed to the steps that request it."""
    # The wrapper routes no metadata, so that its inner estimator scores rows that need qid.
    method, unwrapped = scoring_method(estimator), _without_wrapper(estimator)
    metadata = requested(unwrapped, method, qid, alias)
    scores = scores_of(unwrapped if metadata else estimator, X, **metadata)
    if scores.ndim != 1:
        raise ValueError(
            f"{owner} needs one score for each row. {method} of "
            f"{type(estimator).__name__} returned an array of shape {scores.shape}."
        )
    return scores


class RankingScorer(BaseEstimator):
    """A scorer, called with an estimator, rows and relevance.

    scikit-learn's ``make_scorer`` passes qid only to the metric. But a pipeline that scales within
    queries needs qid to predict, and scoring a ranker without the qid that it was fitted with must
    raise an error.

    Parameters
    ----------
    name : str
        A name that `ranking_scorer` takes.
    """

    # Requested by default: with metadata routing users pass `qid` only once.
    __metadata_request__score: ClassVar[dict[str, Any]] = {
        "estimator": UNUSED,
        "y_true": UNUSED,
        "qid": True,
    }

    def __init__(self, name: str | Callable[..., Any]) -> None:
        self.name = name

    @property
    def label(self) -> str:
        """Name of the metric in messages."""
        return self.name if isinstance(self.name, str) else str(self.name.__name__)

    def score(
        self, estimator: Any, X: Any, y_true: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the metric of the scores that an estimator gives to rows.

        Parameters
        ----------
        estimator : object
            A fitted estimator, ranker or not.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y_true : array-like of shape (n_samples,)
            Relevance; for a binary classifier its classes, the greater being relevant.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; None means one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities, for metrics that support them.

        Returns
        -------
        float
            Greater is better.

        Raises
        ------
        ValueError
            If a ranker was fitted with qid and is scored without it, if there is not one score per
            row, or if the metric rejects its input.
        """
        owner = f"ranking_scorer({self.label!r})"
        alias = get_routing_for_object(self).score.requests["qid"]
        check_qid_given(last_step(estimator), qid, owner, y_true)
        y_score = routed_scores(owner, estimator, X, qid, alias)
        relevance = _relevance(estimator, y_true, sample_weight)
        return self.measure(relevance, y_score, qid=qid, sample_weight=sample_weight)

    __call__ = score

    def measure(
        self, relevance: Any, y_score: Any, *, qid: Any = None, sample_weight: Any = None
    ) -> float:
        """Return the metric of scores, greater is better; `qid` and weights as in `score`."""
        function, options = _parse(self.name)
        if sample_weight is not None:
            if not self.takes("sample_weight"):
                raise ValueError(f"{self.label} has no sample weights: sample_weight must be None.")
            options["sample_weight"] = sample_weight
        return float(function(relevance, y_score, qid=qid, **options))

    def takes(self, parameter: str) -> bool:
        """Whether the function of the metric has a parameter."""
        return parameter in inspect.signature(_parse(self.name)[0]).parameters

    def of_queries(self, relevance: Any, y_score: Any, *, qid: Any) -> Floats:
        """Return the metric of each query in the order of sorted ids; NaN for skipped queries.

        ValueError for a metric that is no mean over queries: of pairs, or a function without the
        parameter ``average``.
        """
        if not self.takes("average"):
            raise ValueError(f"{self.label} is not a mean over queries.")
        function, options = _parse(self.name)
        return np.asarray(function(relevance, y_score, qid=qid, average=None, **options))

    # scikit-learn calls it on every scorer while metadata routing is off.
    def _accept_sample_weight(self) -> bool:
        return self.takes("sample_weight")


def _without_wrapper(estimator: Any) -> Any:
    """Return the estimator inside a search or a frozen estimator, which do not route qid."""
    if isinstance(estimator, FrozenEstimator):
        return _without_wrapper(estimator.estimator)
    best_estimator = getattr(estimator, "best_estimator_", None)
    return estimator if best_estimator is None else _without_wrapper(best_estimator)


def last_step(estimator: Any) -> Any:
    """Return the final estimator of a pipeline, a search or a wrapper."""
    for name in ("best_estimator_", "estimator_", "regressor_"):
        if hasattr(estimator, name):
            return last_step(getattr(estimator, name))
    return last_step(estimator.steps[-1][1]) if hasattr(estimator, "steps") else estimator


def _relevance(estimator: Any, y_true: Any, sample_weight: Any) -> Values:
    """Return relevance as numbers: the two classes of a classifier become 0 and 1."""
    if not is_classifier(estimator) or len(getattr(estimator, "classes_", ())) != 2:
        return np.asarray(y_true)
    owner = type(estimator).__name__
    return is_upper_label(owner, y_true, estimator.classes_, sample_weight, "y_true")


def ranking_scorer(name: str | Callable[..., Any]) -> RankingScorer:
    """Return a scorer for ``GridSearchCV``, ``cross_validate`` and similar tools.

    Parameters
    ----------
    name : str or function
        The metric; for all of them, greater is better:

        - "auc": `auc_score`, over pairs;
        - "map", "mrr", "err", "ndcg", "r_precision": `average_precision`, `reciprocal_rank`,
          `err_score`, `ndcg_score` and `r_precision`, means over queries, with the default gain and
          without queries that have no relevant row;
        - "ndcg_linear": `ndcg_score` with the linear gain, as in scikit-learn;
        - "ndcg@k", "ndcg_linear@k", "map@k", "mrr@k", "err@k", "precision@k", "recall@k": with
          cut-off k, an int in [1, inf), such as "ndcg@10";
        - "push@p": one minus `p_norm_push_loss`, with a float p in [1, inf];
        - "pauc@a", "tpr@a": `partial_auc_score` and `tpr_at_fpr_score` with ``max_fpr=a``, a float
          in (0, 1], such as "pauc@0.05" or "tpr@1e-4";
        - your own function, called as ``metric(y_true, y_score, qid=qid)`` and, if it has such a
          parameter, with ``sample_weight``. Wrap a ``functools.partial``, or another callable
          object, in a function.

    Returns
    -------
    callable
        Called as ``scorer(estimator, X, y, *, qid=None, sample_weight=None)``. It orders
        the rows by the estimator's ``decision_function``, else by the probability of the
        greater class, else by ``predict``. With metadata routing it requests ``qid`` by
        default; for ``sample_weight`` call its ``set_score_request(sample_weight=True)``.

    Raises
    ------
    ValueError
        If the name is none of these. The scorer raises it for a ranker that was fitted with qid and
        is scored without it.

    Notes
    -----
    "err" uses the highest relevance of the scored rows as the highest possible grade. The
    candidates of a search are scored on the same rows and remain comparable, but a mean over folds
    with different highest grades is not the ERR of all rows.

    Examples
    --------
    >>> import sklearn
    >>> from sklearn.model_selection import cross_validate
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.datasets import make_queries
    >>> from sklearn_rank.metrics import ranking_scorer
    >>> from sklearn_rank.model_selection import QueryKFold
    >>> data = make_queries(random_state=0)
    >>> scoring = {name: ranking_scorer(name) for name in ("auc", "ndcg@10")}
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     results = cross_validate(
    ...         RankBoost(relevance="graded", n_estimators=10),
    ...         data.data,
    ...         data.target,
    ...         params={"qid": data.qid},
    ...         cv=QueryKFold(3),
    ...         scoring=scoring,
    ...         error_score="raise",
    ...     )
    >>> sorted(results)
    ['fit_time', 'score_time', 'test_auc', 'test_ndcg@10']
    """
    _parse(name)
    return RankingScorer(name)


def as_scorer(scoring: Any) -> RankingScorer:
    """Return the scorer of a name; a `RankingScorer` is returned unchanged."""
    if not isinstance(scoring, RankingScorer):
        return ranking_scorer(scoring)
    _parse(scoring.name)
    return scoring


def _is_scoring(value: Any) -> bool:
    try:
        return isinstance(as_scorer(value), RankingScorer)
    except ValueError:
        return False


_SCORING_TEXT = f"None, {_names()}, or a scorer of ranking_scorer"
SCORING = Described(_SCORING_TEXT, _is_scoring, or_none=True)
"""Constraint of a parameter: None, the name of a metric, or a scorer of `ranking_scorer`."""
