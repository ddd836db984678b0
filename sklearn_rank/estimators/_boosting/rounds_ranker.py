"""Base class of the rankers that are built round by round, and the phases of their fits."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import check_array, check_X_y
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._bins.categories import CategoryCodes, as_table
from sklearn_rank._core.protocols import Floats, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FLAG,
    Constraint,
    Number,
    categorical_positions,
    refuse_dates,
)
from sklearn_rank.base import BaseRanker, is_binary, naming_its_class
from sklearn_rank.estimators._boosting.early_stopping import (
    EarlyStopping,
    HeldOutLoss,
    HeldOutMetric,
    ValidationMeasure,
    has_enough,
    metric_of_rows,
    split_validation,
)
from sklearn_rank.metrics.scorers import SCORING
from sklearn_rank.models.stumps import CATEGORICAL, Positions, by_position


def has_stages(ranker: Any) -> bool:
    """Whether there is a model after each round; the error names the parameter."""
    n_bags = getattr(ranker, "n_bags", 1)
    if n_bags != 1:
        raise AttributeError(
            f"{type(ranker).__name__} has stages only with n_bags=1: n_bags={n_bags} is the mean "
            "of several fits."
        )
    if not hasattr(ranker, "solver") or ranker.solver_in_use.traits.has_stages:
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has stages only with solver='coordinate': "
        f"solver={ranker.solver!r} moves all weights at once."
    )


@dataclass(frozen=True, eq=False)
class Phase:
    """A fit of rounds: the only one, the search for their number, or the refit on all rows.

    Attributes
    ----------
    rows : Rows
        Training rows.
    held_out : Rows or None
        Rows that are scored after each round.
    n_rounds : int
        Maximum number of rounds.
    unit : str
        Name of a round, in callbacks and printed lines.
    is_search : bool
        Whether a refit follows.
    """

    rows: Rows
    held_out: Rows | None
    n_rounds: int
    unit: str = "round"
    is_search: bool = False


FitPhase = Callable[[Phase], tuple[dict[str, Any], bool]]
"""Returns the fitted attributes of a phase, and whether an observer ended it."""


class RoundsRanker(BaseRanker):
    """Base class of the rankers that are built round by round.

    They take validation rows and categorical features. A subclass yields scores in
    `_staged_scores` and sets `staged_offsets_`.
    """

    # Requested by default, like qid: no other step of a pipeline can mean something else by them.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "qid": True,
        "X_val": True,
        "y_val": True,
        "qid_val": True,
    }

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BaseRanker._allowed,
        "n_estimators": Number(1, integer=True),
        "learning_rate": Number(0, 1, "right"),
        "max_bins": Number(2, 65_535, integer=True),
        "categorical_features": CATEGORICAL,
        "validation_fraction": Number(0, 1, "neither"),
        "n_iter_no_change": Number(1, integer=True, other=(None,)),
        "refit_stopped": FLAG,
        "scoring": SCORING,
    }

    scoring: Any
    categorical_features: Any
    n_iter_no_change: int | None
    refit_stopped: bool
    staged_offsets_: Floats
    category_codes_: CategoryCodes | None = None

    @naming_its_class
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        qid_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Binary mode: two classes; the greater, ``classes_[1]``, belongs at the top (the order of
            a categorical dtype is ignored). Graded mode: numbers, larger for rows that should rank
            higher.
        qid : array-like of shape (n_samples,), default=None
            Query of each row: ints, strings or other sortable values, in any order. Only rows of
            the same query are compared. None: all rows are one list.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: a weight of 2 is equivalent to duplicating the row, 0 to removing it;
            the weight of a pair is the product of its rows' weights. A number applies to every row.
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
            If a parameter or an array is invalid, if there is no comparable pair, or in binary mode
            if there are not exactly two classes.

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
        >>> len(ranker.validation_scores_) - ranker.n_iter_ >= 10  # later rounds that were tried
        True
        """
        validation = {"X_val": X_val, "y_val": y_val, "qid_val": qid_val}
        validation |= {"sample_weight_val": sample_weight_val}
        return self._learn(X, y, qid, sample_weight, validation)

    @available_if(lambda ranker: is_binary(ranker) and has_stages(ranker))
    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
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
    def staged_predict(self, X: Any) -> Iterator[Values]:
        """Yield the predictions after each round.

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

    def _stages(self, X: Any) -> Iterator[Floats]:
        """Yield the scores after each round."""
        check_is_fitted(self)
        yield from self._staged_scores(self.check_rows(X))

    @abstractmethod
    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        """Yield the scores of checked rows after each round."""

    def _fit_phases(self, data: Rows, seed: int, fit_phase: FitPhase) -> dict[str, Any]:
        """Fit all rounds or, with rows held out, search for their number and refit.

        `seed` is that of the rows that are held out.
        """
        n_rounds = self.n_estimators
        if data.held_out is not None or self.n_iter_no_change is None:
            return fit_phase(Phase(data, data.held_out, n_rounds))[0]
        train, held_out = split_validation(data, self.validation_fraction, seed)
        if not has_enough(self, held_out):
            return fit_phase(Phase(data, None, n_rounds))[0]
        fitted, was_ended = fit_phase(Phase(train, held_out, n_rounds, is_search=self.is_refitted))
        del train, held_out  # free the arrays that they have cached
        best_round = fitted["n_iter_"]
        if not self.is_refitted or not best_round or was_ended:
            return fitted
        curves = {name: fitted[name] for name in fitted if name.startswith("validation_")}
        return fit_phase(Phase(data, None, best_round, "refit round"))[0] | curves

    # Validation rows -------------------------------------------------------------------

    def _validate_training(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, validation: dict[str, Any] | None = None
    ) -> Rows:
        data = super()._validate_training(X, y, qid, sample_weight)
        codes = self.category_codes_
        if codes is not None and sample_weight is not None:
            # A category that occurs only in rows of weight zero counts as unseen.
            data = replace(data, X=codes.keep_used(data.X))
        if validation is not None and _are_given(type(self).__name__, validation):
            data = replace(data, held_out=self._held_out(data, **validation))
        return data

    def _held_out(
        self, data: Rows, X_val: Any, y_val: Any, qid_val: Any, sample_weight_val: Any
    ) -> Rows:
        """Return the validation rows, without those of weight zero."""
        name = type(self).__name__
        if (data.qid is None) != (qid_val is None):
            passed, missing = ("qid_val", "qid") if data.qid is None else ("qid", "qid_val")
            raise ValueError(
                f"fit of {name} needs queries for the training and the validation rows, or for "
                f"neither. Got {passed} without {missing}."
            )
        try:
            X = self.check_rows(X_val)
            self._check_features(X)
        except (TypeError, ValueError) as error:
            raise ValueError(f"X_val of {name} must match X. {error}") from error
        held_out = self._rows_of(X, y_val, qid_val, sample_weight_val, data.classes, "_val")
        if not held_out.preferences.is_paired.any():
            raise ValueError(
                f"X_val and y_val of {name} have no comparable pair: in every query all rows "
                "have the same relevance, so no order is better than another."
            )
        return held_out.with_moderate_weights()

    def check_training(self, data: Rows) -> None:
        """Raise ValueError for rows without a comparable pair or that `scoring` cannot evaluate."""
        super().check_training(data)
        if self._has_validation(data) and self.scoring is not None:
            rows = data if data.held_out is None else data.held_out
            metric_of_rows(type(self).__name__, self.scoring, rows)(np.zeros(len(rows.y)))

    def _has_validation(self, data: Rows) -> bool:
        """Whether validation rows are scored after each round."""
        return self.n_iter_no_change is not None or data.held_out is not None

    @property
    def is_refitted(self) -> bool:
        """Whether a refit on all rows follows when held-out rows have chosen the rounds."""
        return self.refit_stopped and not getattr(self, "warm_start", False)

    def stopping_on(
        self, rows: Rows, losses: list[float], curve: list[float], tol: float = 0.0
    ) -> EarlyStopping:
        """Return the rule of early stopping, which appends to `losses` and `curve`."""
        val_measure: ValidationMeasure
        if self.scoring is None:
            val_measure = HeldOutLoss(
                rows, lambda f: self._score_order(rows.y, f, rows.qid, rows.weight)
            )
        else:
            val_measure = HeldOutMetric(type(self).__name__, self.scoring, rows)
        patience = self.n_iter_no_change if has_enough(self, rows) else None
        return EarlyStopping(np.zeros(len(rows.y)), val_measure, losses, curve, patience, tol)

    # Categories -------------------------------------------------------------------------

    @property
    def _wanted_categories(self) -> Any:
        """`categorical_features`, or None if the ranker cannot use them."""
        return self.categorical_features

    def find_categories(self, X: Any) -> None:
        """Store the categories of training rows.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Training rows.
        """
        positions = _find_categorical(X, self._wanted_categories, type(self).__name__)
        self.category_codes_ = CategoryCodes(as_table(X), positions) if positions else None

    @property
    def _categorical_positions(self) -> Positions:
        """The categorical features."""
        codes = self.category_codes_
        return () if codes is None else codes.positions

    @property
    def _advice(self) -> str:
        if self._wanted_categories is None:
            return super()._advice
        return (
            ", or categories: named in categorical_features, or of dtype 'category' in a data "
            "frame (in a pipeline: set_output(transform='pandas'))"
        )

    def _validate_features(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        if reset:
            self.find_categories(X)
        codes = self.category_codes_
        if codes is None:
            return super()._validate_features(X, reset=reset, **options)
        X = as_table(X)
        validate_data(self, X, reset=reset, skip_check_array=True)
        refuse_dates(type(self).__name__, X, codes.positions)
        encoded = codes.encode(X)
        kwargs: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # as in `BaseRanker`
                if "y" in options:
                    return check_X_y(encoded, options.pop("y"), estimator=self, **kwargs, **options)
                return check_array(encoded, estimator=self, **kwargs)
        except (TypeError, ValueError):
            self.check_columns(X, reset=reset)
            raise

    def _rows_as_given(self, X: Floats) -> Any:
        codes = self.category_codes_
        return X if codes is None else codes.decode(X)


def _are_given(owner: str, validation: dict[str, Any]) -> bool:
    """Whether validation rows were passed; raise ValueError for arrays without X or y."""
    passed = [name for name, array in validation.items() if array is not None]
    missing = [name for name in ("X_val", "y_val") if name not in passed]
    if passed and missing:
        raise ValueError(
            f"fit of {owner} needs both X_val and y_val for validation rows. Got "
            f"{' and '.join(passed)} without {' and '.join(missing)}."
        )
    return bool(passed)


def _find_categorical(X: Any, categorical_features: Any, owner: str) -> tuple[int, ...]:
    """Return the positions of the categorical features of X."""
    if isinstance(categorical_features, str):  # "from_dtype"
        return categorical_positions(X)
    features = np.asarray(() if categorical_features is None else categorical_features)
    if not features.size:
        return ()
    n_features = as_table(X).shape[1]
    if features.dtype.kind == "b":
        if len(features) != n_features:
            raise ValueError(
                f"categorical_features of {owner} must have one boolean for each of the "
                f"{n_features} features. Got {len(features)}."
            )
        return tuple(np.flatnonzero(features).tolist())
    columns = dict.fromkeys(features.tolist())
    names = getattr(X, "columns", None)
    return tuple(sorted(by_position(owner, "categorical_features", columns, names, n_features)))
