"""The base class of rankers: validation, the two relevance modes, tags and score."""

from __future__ import annotations

import inspect
from abc import ABCMeta, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._core.callbacks import (
    TRACE,
    CallbackSupportMixin,
    Method,
    combine,
    end_fit_task,
    make_observer,
    stamped_state,
    take_state,
    with_callbacks,
)
from sklearn_rank._core.protocols import Floats, Observer, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    JOBS,
    SEED,
    Choice,
    Constraint,
    Number,
    check_columns,
    check_lengths,
    check_parameters,
    check_qid,
    check_qid_given,
    check_relevance,
    check_weight,
    find_classes,
    is_data_frame,
    is_upper_label,
    largest_size,
    refuse_dates,
    trace_of,
    unchanged_on_error,
)

DESCRIBED = ("n_features_in_", "feature_names_in_", "category_codes_")
"""Attributes that the validation of training rows sets."""


def _with_input(data: Rows, fitted: dict[str, Any]) -> dict[str, Any]:
    """Return fitted attributes with those that describe the rows of a fit."""
    classes = {} if data.classes is None else {"classes_": data.classes}
    return {"has_queries_": data.qid is not None, **classes, **fitted}


def _without_duplicates(checked: Any) -> Any:
    """Return checked features, alone or with y; a sparse matrix gets each entry once."""
    X, *targets = checked if isinstance(checked, tuple) else (checked,)
    if issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return (X, *targets) if targets else X


def is_binary(ranker: Any) -> bool:
    """Whether a ranker is in binary mode; the error names the parameter."""
    if ranker.relevance == "binary":
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has no decision function with relevance='graded': "
        "predict returns the scores. Use relevance='binary' for two classes."
    )


def naming_its_class(fit: Method) -> Method:
    """Return a `fit` that subclasses inherit, whose errors on arguments name their class."""
    signature = inspect.signature(fit)

    @wraps(fit)
    def checked_fit(self: Any, *arrays: Any, **options: Any) -> Any:
        try:
            signature.bind(self, *arrays, **options)
        except TypeError as error:
            raise TypeError(f"{type(self).__name__}.fit(): {error}; queries are qid=") from None
        return fit(self, *arrays, **options)

    return cast("Method", checked_fit)


class Predictor(BaseEstimator):
    """Base class of rankers and scorecards: labels and the metric of their scores.

    A subclass checks and scores rows in `_score_validated`.
    """

    relevance: str
    classes_: Values

    def predict(self, X: Any) -> Values:
        """Predict labels (binary mode) or scores (graded mode).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            ``classes_[1]`` where the decision function is positive, else ``classes_[0]``; in graded
            mode, scores, higher for rows that rank higher. Scores of different queries were not
            compared in training.
        """
        scores = self._score_validated(X)
        return scores if self.relevance == "graded" else self._label(scores)

    @available_if(is_binary)
    def decision_function(self, X: Any) -> Floats:
        """Return scores plus `offset_`: positive where `predict` returns ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Higher for rows that rank higher. Only in binary mode.
        """
        return self._score_validated(X)

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve, pooled over the pairs within queries.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        qid : array-like of shape (n_samples,), default=None
            Query of each row; required if the ranker was fitted with `qid`.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        float
            Between 0 and 1, greater is better; ties count one half. With `score_p`, for rankers
            that have it: ``1 - p_norm_push_loss(..., p=score_p)``, where ties are errors; this is
            not an AUC, and it decreases as `score_p` increases.

        Raises
        ------
        ValueError
            If the ranker was fitted with `qid` and is scored without it, or if there is no
            comparable pair.
        """
        scores = self._score_validated(X)
        check_qid_given(self, qid, y=y)
        relevance = self.relevance_of(y, sample_weight)
        check_lengths(X=scores, y=relevance)
        return self._score_order(relevance, scores, qid, sample_weight)

    def relevance_of(self, y: Any, sample_weight: Any) -> Any:
        """Return relevance: for classes whether each is the upper one.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            Classes of the fitted ranker (binary mode) or relevance (graded mode).
        sample_weight : float, array-like of shape (n_samples,) or None
            Multiplicities; rows of weight zero may have other classes.

        Returns
        -------
        ndarray of shape (n_samples,)
            Booleans or numbers.
        """
        if self.relevance == "graded":
            return check_relevance(y)
        return is_upper_label(type(self).__name__, y, self.classes_, sample_weight)

    @abstractmethod
    def _score_validated(self, X: Any) -> Floats:
        """Return scores, in binary mode with the offset, of rows as the user passed them."""

    def _label(self, scores: Floats) -> Values:
        return np.asarray(self.classes_[(scores > 0).astype(np.intp)])

    def _score_order(self, relevance: Floats, scores: Floats, qid: Any, weight: Any) -> float:
        """Return the metric of `score`, given the scores."""
        # A fit needs no metrics, and they take a quarter of the time to import a ranker.
        from sklearn_rank.metrics import auc_score, p_norm_push_loss

        p = getattr(self, "score_p", None)
        if p is None:
            return float(auc_score(relevance, scores, qid=qid, sample_weight=weight))
        return 1.0 - p_norm_push_loss(relevance, scores, p=p, qid=qid, sample_weight=weight)

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has finished."""
        return hasattr(self, "has_queries_")


class CheckedInput(Predictor):
    """A ranker's checks of parameters and arrays.

    A subclass lists its parameters in `_allowed`.
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        "relevance": Choice(("binary", "graded")),
        "n_jobs": JOBS,
        "random_state": SEED,
        "verbose": Number(0, integer=True, other=(True, False)),
    }

    def check_parameters(self) -> None:
        """Raise ValueError for an invalid parameter."""
        check_parameters(type(self).__name__, self.get_params(deep=False), self._allowed)
        self._check_combination()

    def _check_combination(self) -> None:
        """Raise ValueError for parameters that don't go together."""

    def training_data(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, is_fitted: bool = False
    ) -> Rows:
        """Return checked training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        qid : array-like of shape (n_samples,), default=None
            Query of each row.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        is_fitted : bool, default=False
            Whether features, categories and classes are those of the fitted ranker. False: those of
            the rows; the ranker stores number, names and categories of its features.

        Returns
        -------
        Rows
            The rows of positive weight, which have a comparable pair.
        """
        if not is_fitted:
            return self._check_arrays(X, y, qid, sample_weight)
        # Graded rankers have no classes.
        classes = getattr(self, "classes_", None)
        data = self._rows_of(self.check_rows(X), y, qid, sample_weight, classes)
        self.check_training(data)
        return data

    def check_items(self, X: Any) -> Any:
        """Return checked features of training rows without relevance.

        The ranker stores number, names and categories of its features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
            Floats.
        """
        self.check_parameters()
        X = self._validate_features(X, ensure_min_samples=2)
        self._check_features(X)
        return X

    def check_rows(self, X: Any) -> Any:
        """Return checked features of rows to score: floats, and codes of categories.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        {ndarray, sparse matrix} of shape (n_samples, n_features)
            Floats.
        """
        return self._validate_features(X, reset=False)

    def check_columns(self, X: Any, *, reset: bool) -> None:
        """Raise ValueError for missing columns of a data frame, or columns that are not numeric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        reset : bool
            Whether the rows are training rows, not rows to score.
        """
        if not reset and is_data_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        check_columns(type(self).__name__, X, self._advice, self._categorical_positions)

    def check_training(self, data: Rows) -> None:
        """Raise ValueError for rows without a comparable pair.

        Parameters
        ----------
        data : Rows
            Rows, on several processes those of this one.
        """
        if not data.largest(float(data.preferences.is_paired.any())):
            raise ValueError(
                f"{type(self).__name__} found no comparable pair: "
                f"{'in every query ' * (data.qid is not None)}all rows have the same relevance, "
                "so no order is better than another."
            )

    def _check_arrays(self, *arrays: Any) -> Rows:
        """Check parameters and the arrays of `_validate_training`; return training rows."""
        # Parameters first: their errors need no pass over the rows.
        self.check_parameters()
        data = self._validate_training(*arrays)
        self.check_training(data)
        return data

    def _validate_training(self, X: Any, y: Any, qid: Any, sample_weight: Any) -> Rows:
        """Return checked training rows."""
        return self._validated(X, y, qid, sample_weight, ensure_min_samples=2)

    def _validated(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, classes: Any = None, **options: Any
    ) -> Rows:
        """Return checked rows; their classes are those in y by default."""
        graded = self.relevance == "graded"
        if graded:
            check_relevance(y)
        X, y = self._validate_features(X, y=y, y_numeric=graded, **options)
        weight = check_weight(sample_weight, X.shape[0])
        if not graded and classes is None:
            classes = find_classes(type(self).__name__, y[weight > 0])
        self._check_features(X)
        return self._rows_of(X, y, qid, weight, classes)

    def _rows_of(
        self, X: Any, y: Any, qid: Any, sample_weight: Any, classes: Values | None, suffix: str = ""
    ) -> Rows:
        """Return the rows of positive weight, given checked features and the classes.

        Messages name the arrays with the `suffix`, as "y_val".
        """
        name, n_rows = f"y{suffix}", X.shape[0]
        if classes is None:
            y = check_relevance(y, name)
        else:
            y = is_upper_label(type(self).__name__, y, classes, sample_weight, name)
        check_lengths(**{f"X{suffix}": np.arange(n_rows), name: y})
        weight = check_weight(sample_weight, n_rows, f"sample_weight{suffix}")
        codes = None if qid is None else check_qid(qid, n_rows, f"qid{suffix}")
        data = Rows(X, y, codes, weight, classes)
        return data if weight.all() else data.take(np.flatnonzero(weight))

    def _validate_features(self, X: Any, **options: Any) -> Any:
        """Return checked features; with y among the options, features and y."""
        if not options.get("reset", True) and "y" not in options and self._is_checked(X):
            return X
        name, tags = type(self).__name__, self.__sklearn_tags__().input_tags
        try:
            # Sums of the largest floats, and casts to floats, may overflow: the rows are valid.
            with np.errstate(over="ignore", invalid="ignore"):
                checked = validate_data(
                    self,
                    X,
                    dtype=np.float64,
                    accept_sparse="csr" if tags.sparse else False,
                    ensure_all_finite="allow-nan" if tags.allow_nan else True,
                    **options,
                )
        except (TypeError, ValueError) as error:
            self.check_columns(X, reset=options.get("reset", True))
            if "could not convert string" in str(error):
                advice = f"X must hold numbers for {name}{self._advice}."
                raise ValueError(f"{error}. {advice}") from error
            raise
        refuse_dates(name, X)
        return _without_duplicates(checked)

    def _is_checked(self, X: Any) -> bool:
        """Whether rows to score are a finite array of floats, which needs no further check.

        The checks of `validate_data` take longer than the score of a row. Rows whose sum overflows
        may be valid: they go through these checks.
        """
        is_plain = type(X) is np.ndarray and X.dtype == np.float64 and X.ndim == 2 and len(X) > 0
        if not is_plain or hasattr(self, "feature_names_in_"):
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            return X.shape[1] == self.n_features_in_ and bool(np.isfinite(X.sum()))

    def _check_features(self, X: Any) -> None:
        """Raise ValueError for features, rows of weight zero included, that can't be used."""

    @property
    def _advice(self) -> str:
        """Advice on columns that don't hold numbers, for messages."""
        return "; OneHotEncoder in a ColumnTransformer encodes categories"

    @property
    def _categorical_positions(self) -> tuple[int, ...]:
        """The categorical features."""
        return ()


def has_contributions(ranker: Any) -> bool:
    """Whether `contributions` can divide scores; the error names the parameter."""
    setting = ranker._not_additive()
    if not setting:
        return True
    raise AttributeError(
        f"{type(ranker).__name__} has contributions only if its score is a sum of functions "
        f"of single features: {setting}."
    )


class BaseRanker(CallbackSupportMixin, CheckedInput, metaclass=ABCMeta):
    """Base class of the rankers.

    A subclass lists its parameters in `_allowed`, learns in `_fit` and scores rows in
    `score_rows`.

    Other subpackages use only the public methods: besides those of scikit-learn these are
    `check_parameters`, `check_columns`, `check_rows`, `check_items` and `training_data`, which
    check what a user passes; `check_training`, `fit_rows`, `set_fitted`, `score_rows` and
    `relevance_of`, which take checked data; and `has_queries_`. Boosting rankers also have
    `objective_of`, `offset_of`, `stump_settings`, `step_functions_` and `category_codes_`.
    """

    __getstate__, __setstate__ = stamped_state, take_state

    # Requested by default, so that with metadata routing `qid` is passed only once.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    offset_: float

    @naming_its_class
    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
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

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        ValueError
            If a parameter or an array is invalid, if there is no comparable pair, or in binary mode
            if there are not exactly two classes.
        """
        return self._learn(X, y, qid, sample_weight)

    @with_callbacks
    def _learn(self, *arrays: Any, fit: Callable[[Rows], dict[str, Any]] | None = None) -> Self:
        """Check parameters and the arrays of `_validate_training`, and fit.

        `fit` replaces `_fit`.
        """
        attributes = dict(vars(self))
        with unchanged_on_error(self):
            data = self._check_arrays(*arrays)
        is_continued = getattr(self, "warm_start", False) and "has_queries_" in attributes
        try:
            self.set_fitted(_with_input(data, (fit or self._fit)(data.with_moderate_weights())))
            setattr(self, TRACE, trace_of(*arrays[1:3]))
            end_fit_task(self, X=data.X, y=lambda: data.labels)
        except BaseException as error:
            # Keep the previous model on Ctrl-C, and drop it on errors.
            if is_continued or isinstance(error, KeyboardInterrupt):
                self.__dict__ = attributes
            else:
                self._forget()
            raise
        return self

    @abstractmethod
    def _fit(self, data: Rows) -> dict[str, Any]:
        """Learn and return the fitted attributes; set none."""

    def fit_rows(self, data: Rows) -> dict[str, Any]:
        """Fit to checked rows and return the fitted attributes without setting them.

        Parameters
        ----------
        data : Rows
            Rows, on several processes those of this one.

        Returns
        -------
        dict of str to object
            The argument of `set_fitted`.
        """
        return _with_input(data, self._fit(data.with_moderate_weights()))

    def set_fitted(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes except those in `DESCRIBED`.

        Parameters
        ----------
        fitted : dict of str to object
            The result of `fit_rows`.
        """
        # `fit` validates the input before it learns: these attributes are already the new ones.
        inputs = {name: value for name, value in vars(self).items() if name in DESCRIBED}
        self._forget()
        self.__dict__.update(fitted, **inputs)

    def _forget(self) -> None:
        """Remove the fitted attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    @available_if(has_contributions)
    def contributions(self, X: Any) -> Floats:
        r"""Return the contribution of each feature to the score of each row.

        They are Shapley values. If the score is a sum of functions of single features, :math:`f(x)
        = \sum_j g_j(x_j)`, the contribution of feature j is

        .. math:: g_j(x_j) - \sum_n w_n \, g_j(x_{nj}) \Big/ \sum_n w_n

        where n runs over the training rows and w are their weights. A feature that the model does
        not use contributes zero. The training rows are those of the final fit: they exclude rows
        held out for early stopping (unless `refit_stopped` refits all rows) and, in boosters with
        graded relevance, rows without a comparable pair.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1)
            The contribution of each feature to the score of the row. The last column is the
            constant: the mean score of the training rows, plus `offset_` in binary mode. Rows sum
            to ``decision_function(X)`` or, in graded mode, to ``predict(X)``.

        See Also
        --------
        sklearn_rank.plotting.ShapeFunctionDisplay : Draws the functions of the features.

        References
        ----------
        Lundberg2017 (Shapley values of a prediction); for a sum of functions derived here.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_rank import ListNetLinear
        >>> from sklearn_rank.datasets import make_queries
        >>> data = make_queries(random_state=0)
        >>> ranker = ListNetLinear().fit(data.data, data.target, qid=data.qid)
        >>> contributions = ranker.contributions(data.data)
        >>> np.allclose(contributions.sum(axis=1), ranker.predict(data.data))
        True
        >>> np.allclose(contributions[:, :-1].mean(axis=0), 0)
        True
        """
        check_is_fitted(self)
        by_feature, mean_score = self._divide_scores(self._validate_features(X, reset=False))
        offset = self.offset_ if self.relevance == "binary" else 0.0
        return np.column_stack([by_feature, np.full(len(by_feature), mean_score + offset)])

    def _not_additive(self) -> str:
        """Return the setting that `contributions` needs; empty if there is none."""
        return ""

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        """Return the contribution of each feature, and the mean score of the training rows."""
        means = self._mean_contributions_
        return self._sum_by_feature(X) - means, float(means.sum())

    def _sum_by_feature(self, X: Any) -> Floats:
        """Return the sum of the functions of each feature, at validated rows."""
        raise NotImplementedError

    @abstractmethod
    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows, in a new array.

        Parameters
        ----------
        X : {ndarray, sparse matrix} of shape (n_samples, n_features)
            Features, as `check_rows` returns them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Scores, higher for rows that rank higher.
        """

    def _score_validated(self, X: Any) -> Floats:
        check_is_fitted(self)
        X = self._validate_features(X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.score_rows(X)
        if not np.isfinite(scores).all():
            raise ValueError(
                f"The scores of {type(self).__name__} overflow: X must have the order of "
                f"magnitude of the training rows. Got values as large as {largest_size(X):.0e}."
            )
        if self.relevance == "binary":
            scores += self.offset_  # in place: a copy of a million scores costs a tenth more
        return scores

    def _make_observer(
        self,
        data: Rows,
        unit: str,
        max_iter: int,
        attributes_now: Callable[[], dict[str, Any]],
        **options: Any,
    ) -> Observer:
        """Return the observer of each iteration: `verbose`, callbacks, and that of `observed`.

        Parameters and `options` are those of `make_observer`.
        """

        def fitted_so_far() -> dict[str, Any]:
            return _with_input(data, attributes_now())

        fit_arguments = {
            "X": lambda: self._rows_as_given(data.X),
            "y": lambda: data.labels,
            "metadata": lambda: data.metadata,
        }
        observer = make_observer(self, unit, max_iter, fitted_so_far, fit_arguments, **options)
        own_observer: Any = getattr(self, "_observer", None)
        if hasattr(own_observer, "begin"):
            own_observer.begin(fitted_so_far)
        return combine(observer, own_observer)

    def _rows_as_given(self, X: Any) -> Any:
        """Return checked training rows in the form in which a user passes them."""
        return X

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's description of the ranker, before and after fit."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.estimator_type = "ranker"
        if self.relevance == "binary":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
