"""Early stopping on validation rows: given, or held out, whole queries at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import GroupShuffleSplit
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._callbacks import with_callbacks
from sklearn_rank._protocols import Floats, Mask, Values
from sklearn_rank._validation import (
    Constraint,
    Number,
    check_lengths,
    check_qid,
    check_relevance,
    check_weight,
    is_upper_label,
)
from sklearn_rank.base import is_binary
from sklearn_rank.metrics.scorers import Scoring, as_scorer
from sklearn_rank.rows import Rows

_SAME_PLACE = 1e-12
"""Distance, relative to the summands, below which rows count as equal: sums round differently."""


def split_validation(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out a fraction of the queries or, without them, of the distinct rows."""
    if data.qid is None:
        parts = _split_rows(data, fraction, seed)
    else:
        parts = _split_queries(data, fraction, seed)
    for name, part in zip(("left to learn from", "held out"), parts, strict=True):
        if not len(part.y) or part.preferences.total_pair_weight == 0:
            raise ValueError(
                f"n_iter_no_change: the rows {name} have no comparable pair. Try a "
                f"validation_fraction other than {fraction:g}."
            )
    return parts


def _split_queries(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    splitter = GroupShuffleSplit(n_splits=1, test_size=fraction, random_state=seed)
    try:
        train, held_out = next(splitter.split(data.X, data.y, data.qid))
    except ValueError as error:
        raise ValueError(
            f"n_iter_no_change holds out {fraction:g} of the queries (validation_fraction), "
            f"which is not possible here. {error}"
        ) from error
    return data.take(np.sort(train)), data.take(np.sort(held_out))


def _split_rows(data: Rows, fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Hold out distinct rows at even distances along the rows sorted by relevance.

    Inside a relevance the rows lie along a random direction, where equal rows are
    neighbours and stay together: no row is on both sides, and weight 2 is held out as
    the row twice would be.
    """
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(data.X.shape[1])
    features = data.X if issparse(data.X) else np.nan_to_num(data.X)
    with np.errstate(over="ignore", invalid="ignore"):
        place, size = features @ direction, abs(features) @ np.abs(direction)
        order = np.lexsort((place, data.y))
        apart = np.abs(np.diff(place[order])) > _SAME_PLACE * size[order][1:]
    is_new = np.concatenate([[True], apart | (data.y[order][1:] != data.y[order][:-1])])
    number = np.cumsum(is_new) - 1
    # Each of two classes gives its share, and at least one row; grades are one line.
    levels = [0, number[-1] + 1]
    if data.y.dtype == np.bool_:
        levels.insert(1, number[np.count_nonzero(~data.y)])
    held_out = np.concatenate([_evenly(last - first, fraction) for first, last in pairwise(levels)])
    is_held_out = np.empty(len(order), dtype=bool)
    is_held_out[order] = held_out[number]
    return data.take(np.flatnonzero(~is_held_out)), data.take(np.flatnonzero(is_held_out))


def _evenly(n: int, fraction: float) -> Mask:
    """Mark a fraction of n places at even distances, at least one."""
    start = max(0.5, 1.0 - n * fraction)
    return np.diff(np.floor(np.arange(n + 1) * fraction + start)) > 0


def metric_of_rows(owner: str, scoring: Any, rows: Rows) -> Callable[[Floats], float]:
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


@dataclass(frozen=True)
class ValidationArrays:
    """Validation rows as the caller passes them to `fit`."""

    X: Any = None
    y: Any = None
    qid: Any = None
    sample_weight: Any = None

    def check(self, owner: str) -> bool:
        """Return whether there are any; raise ValueError for arrays without X or y."""
        arrays = {
            "X_val": self.X,
            "y_val": self.y,
            "qid_val": self.qid,
            "sample_weight_val": self.sample_weight,
        }
        given = [name for name, array in arrays.items() if array is not None]
        missing = [name for name in ("X_val", "y_val") if name not in given]
        if given and missing:
            raise ValueError(
                f"fit of {owner} needs both X_val and y_val for validation rows. Got "
                f"{' and '.join(given)} without {' and '.join(missing)}."
            )
        return bool(given)


def has_stages(ranker: Any) -> bool:
    """Whether the model was built round by round."""
    n_bags = getattr(ranker, "n_bags", 1)
    if n_bags != 1:
        raise AttributeError(
            f"{type(ranker).__name__} has stages only with n_bags=1: n_bags={n_bags} is the mean "
            "of several fits."
        )
    if not hasattr(ranker, "solver") or ranker.solver_in_use.has_stages:
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has stages only with solver='coordinate': "
        f"solver={ranker.solver!r} moves all weights at once."
    )


def has_binary_stages(ranker: Any) -> bool:
    """Whether there is a decision function for each stage."""
    return is_binary(ranker) and has_stages(ranker)


class RoundsMixin:
    """Rankers that are built round by round, before `BaseRanker` among the bases.

    Validation rows and early stopping, and staged methods of a ranker with `_stages`, which
    yields scores, and `staged_offsets_`.
    """

    # Requested by default, as qid is: they have one meaning.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "qid": True,
        "X_val": True,
        "y_val": True,
        "qid_val": True,
    }

    _stopping_allowed: ClassVar[dict[str, Constraint]] = {
        "validation_fraction": Number(0, 1, "neither"),
        "n_iter_no_change": Number(1, integer=True, other=(None,)),
        "scoring": Scoring(),
    }

    @with_callbacks
    def fit(
        self: Any,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Any:
        """Learn to rank.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Binary mode: two classes, of which the greater, ``classes_[1]``, belongs at
            the top. Graded mode: numbers, greater for rows that rank higher.
        qid : array-like of shape (n_samples,), default=None
            Query of each row: ints, strings or anything that sorts, in any order. Only
            rows of one query are compared. None means one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: weight 2 equals the row twice, weight 0 the row gone, and a
            pair weighs the product of its rows' weights. A number is the weight of every
            row.
        X_val : {array-like, sparse matrix} of shape (n_val, n_features), default=None
            Validation rows, which are scored after each round (`validation_scores_`). With
            `n_iter_no_change` they decide when to stop, instead of rows held out of `X`; without it
            all rounds are run. In a `Pipeline`,
            ``Pipeline(..., transform_input=["X_val"])`` transforms them as it does `X`.
        y_val : array-like of shape (n_val,), default=None
            Classes or relevance of the validation rows.
        qid_val : array-like of shape (n_val,), default=None
            Queries of the validation rows; required if `qid` is given.
        sample_weight_val : float or array-like of shape (n_val,), default=None
            Weights of the validation rows.

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        ValueError
            When a parameter or an array is not as described, when there is no
            comparable pair, or in binary mode when there are not exactly two classes.

        Examples
        --------
        A validation set decides the number of rounds. The pipeline scales it as it does `X`:

        >>> import sklearn
        >>> from sklearn.pipeline import Pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> from sklearn_rank import RankBoost
        >>> from sklearn_rank.datasets import make_queries
        >>> data = make_queries(n_queries=60, random_state=0)
        >>> new = data.qid >= 40
        >>> ranker = RankBoost(relevance="graded", n_iter_no_change=10, scoring="ndcg@10")
        >>> pipe = Pipeline(
        ...     [("scale", StandardScaler()), ("rank", ranker)], transform_input=["X_val"]
        ... )
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     pipe = pipe.fit(
        ...         data.data[~new],
        ...         data.target[~new],
        ...         qid=data.qid[~new],
        ...         X_val=data.data[new],
        ...         y_val=data.target[new],
        ...         qid_val=data.qid[new],
        ...     )
        >>> len(ranker.validation_scores_) - ranker.n_iter_
        10
        """
        validation = ValidationArrays(X_val, y_val, qid_val, sample_weight_val)
        return self._learn(X, y, qid, sample_weight, validation)

    @available_if(has_binary_stages)
    def staged_decision_function(self: Any, X: Any) -> Iterator[Floats]:
        """Yield the decision function after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Scores plus the offset of the stage; the last is `decision_function`.
        """
        check_is_fitted(self)
        for scores, offset in zip(self._stages(X), self.staged_offsets_, strict=True):
            yield scores + offset

    @available_if(has_stages)
    def staged_predict(self: Any, X: Any) -> Iterator[Values]:
        """Yield what `predict` would return after each round.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Yields
        ------
        ndarray of shape (n_samples,)
            Labels (binary mode) or scores (graded mode).
        """
        if self.relevance == "graded":
            yield from self._stages(X)
            return
        for decision in self.staged_decision_function(X):
            yield self._label(decision)

    def _validate_training(
        self: Any,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: Any,
        validation: ValidationArrays | None = None,
    ) -> Any:
        data, classes = super()._validate_training(X, y, qid, sample_weight)  # type: ignore[misc]
        if validation is not None and validation.check(type(self).__name__):
            data = replace(data, held_out=self._validate_held_out(data, validation))
        return data, classes

    def _validate_held_out(self: Any, data: Rows, given: ValidationArrays) -> Rows:
        """Return the validation rows, without those of weight zero."""
        name = type(self).__name__
        if (data.qid is None) != (given.qid is None):
            there, absent = ("qid_val", "qid") if data.qid is None else ("qid", "qid_val")
            raise ValueError(
                f"fit of {name} needs queries for the training and the validation rows, or for "
                f"neither. Got {there} without {absent}."
            )
        try:
            X = self._validate_features(given.X, reset=False)
            self._check_features(X)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X_val of {name} must be like X. {error}") from error
        n_rows = X.shape[0]
        y: Values
        if data.classes is None:
            y = check_relevance(given.y, "y_val")
        else:
            y = is_upper_label(name, given.y, data.classes, given.sample_weight, "y_val")
        rows = np.arange(n_rows)
        check_lengths(X_val=rows, y_val=y)
        weight = check_weight(given.sample_weight, n_rows, "sample_weight_val")
        qid = None if given.qid is None else check_qid(given.qid, n_rows, "qid_val")
        held_out = Rows(X, y, qid, weight, data.classes)
        held_out = held_out.take(np.flatnonzero(weight > 0))
        if not held_out.preferences.is_paired.any():
            raise ValueError(
                f"X_val and y_val of {name} have no comparable pair: in every query all rows "
                "have the same relevance, so that no order is better than another."
            )
        return held_out.with_moderate_weights()

    def _check_training(self: Any, data: Rows) -> None:
        super()._check_training(data)  # type: ignore[misc]
        if self._watches(data) and self.scoring is not None:
            rows = data if data.held_out is None else data.held_out
            self._metric_of(rows)(np.zeros(len(rows.y)))

    def _watches(self: Any, data: Rows) -> bool:
        """Whether the score of validation rows is known after each round."""
        return self.n_iter_no_change is not None or data.held_out is not None

    def _metric_of(self: Any, rows: Rows) -> Callable[[Floats], float]:
        """Return the metric that early stopping watches, as a function of scores of some rows."""
        if self.scoring is None:
            return lambda f: self._score_order(rows.y, f, rows.qid, rows.weight)
        return metric_of_rows(type(self).__name__, self.scoring, rows)


class EarlyStopping:
    """Scores the held-out rows after each round and says when to stop.

    Parameters
    ----------
    scores : ndarray of shape (n_held_out,)
        Scores of the held-out rows so far.
    metric : callable
        Maps scores of the held-out rows to a number, greater is better.
    curve : list of float
        The metric after each round so far; extended here.
    patience : int or None
        Rounds without a better score after which to stop; None: never, and all are kept.
    tol : float
        By how much a score must exceed the best to be better.

    Attributes
    ----------
    best_round : int
        Number of rounds that the model keeps: after it no score was better.
    curve : list of float
        The metric after each round.
    """

    def __init__(
        self,
        scores: Floats,
        metric: Callable[[Floats], float],
        curve: list[float],
        patience: int | None,
        tol: float,
    ) -> None:
        self._scores = scores
        self._metric = metric
        self.curve = curve
        self._patience = patience
        self._tol = tol
        self._best = -np.inf
        self._best_round = 0
        for number, score in enumerate(curve, start=1):
            self._compare(number, score)

    def score(self, change: Floats) -> float:
        """Add a round's change to the scores and return their metric."""
        return self.measure(self._scores + change)

    def measure(self, scores: Floats) -> float:
        """Return the metric of the scores after a round."""
        self._scores = scores
        self.curve.append(self._metric(self._scores))
        self._compare(len(self.curve), self.curve[-1])
        return self.curve[-1]

    @property
    def is_over(self) -> bool:
        """Whether the last `patience` rounds had no better score."""
        return self._patience is not None and len(self.curve) - self._best_round >= self._patience

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return len(self.curve) if self._patience is None else self._best_round

    def _compare(self, number: int, score: float) -> None:
        if score > self._best + self._tol:
            self._best, self._best_round = score, number
