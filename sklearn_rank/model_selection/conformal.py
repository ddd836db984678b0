"""Selection of the top of a list with a bound on the expected share of false alarms."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import false_discovery_control
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split
from sklearn.utils import ClassifierTags, Tags, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.callbacks import stamped_state, take_state
from sklearn_rank._core.protocols import Floats, Mask, Values
from sklearn_rank._core.validation import (
    SEED,
    Constraint,
    Described,
    Number,
    check_column,
    check_floats,
    check_lengths,
    check_parameters,
    is_upper_label,
)
from sklearn_rank._core.warnings import warn
from sklearn_rank.metrics.scorers import scores_of

__all__ = ["ConformalSelector"]

_REFUSED = {
    "qid": (
        "takes no qid: its bound assumes exchangeable rows, which rows of a query are not. Pass "
        "one list of rows"
    ),
    "sample_weight": (
        "takes no sample_weight: its bound counts each row once. Weight the classes by a "
        "parameter of the estimator, or fit the estimator first and pass FrozenEstimator(estimator)"
    ),
}


def _has_scores(value: object) -> bool:
    """Whether a value is an estimator with scores for ranking rows."""
    if isinstance(value, type) or not hasattr(value, "fit"):
        return False
    has_method = hasattr(value, "decision_function") or hasattr(value, "predict_proba")
    return has_method or (hasattr(value, "predict") and not is_classifier(value))


SCORING_ESTIMATOR = Described(
    "an estimator with fit and decision_function or predict_proba, or a regressor or ranker with "
    "predict",
    _has_scores,
)


class ConformalSelector(MetaEstimatorMixin, BaseEstimator):
    r"""Select the longest top of a list with a bound on the expected share of false alarms.

    With m new rows with scores s, and n calibration rows that the estimator was not fitted to,

    .. math:: p_j = \frac{1 + \#\{i : y_i = 0,\ s_i \ge s_j\}}{1 + n}, \qquad
        r^* = \max\{r : \#\{j : p_j \le \alpha r / m\} \ge r\}

    where i runs over the calibration rows, y = 0 are the negatives (``classes_[0]``) and
    :math:`\alpha` is `fdr`. The selection is the rows with :math:`p_j \le \alpha r^* / m`: the
    procedure of Benjamini and Hochberg. If calibration rows and new rows are exchangeable, the
    expected share of negatives among them (0 for an empty selection) is at most `fdr`, for any
    estimator and any number of rows.

    Parameters
    ----------
    estimator : estimator
        A ranker, classifier, regressor or pipeline. Scores come from its `decision_function`,
        otherwise from `predict_proba` or `predict`, which it must have before it is fitted (a
        StackingClassifier does with a `final_estimator`). A clone is fitted to the rows not used
        for calibration. To use a fitted estimator, pass ``FrozenEstimator(estimator)``: all rows
        passed to `fit` then calibrate, and must be none of its training rows.
    fdr : float in (0, 1), default=0.1
        Bound on the expected share of false alarms, the false discovery rate.
    calibration_size : float in (0, 1), default=0.25
        Share of the rows held out for calibration, a simple random sample without stratification.
    random_state : int, RandomState instance or None, default=None
        Seed for the choice of the calibration rows.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : ndarray of shape (2,)
        The classes. High scores mean the second; selected rows of the first are false alarms.
    calibration_scores_ : ndarray of shape (n_calibration,)
        Scores of the calibration rows.
    calibration_is_positive_ : ndarray of shape (n_calibration,)
        Whether each is of ``classes_[1]``.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if the estimator has them.

    See Also
    --------
    sklearn_rank.metrics.precision_at_k : Measures the share of positives among the first k rows.

    Notes
    -----
    There is no `predict`: whether a row is selected depends on the other rows of its batch. A
    selection from m rows has at least ``m / (fdr * (n + 1))`` of them or none, so with few
    calibration rows or rare positives it is often empty. Equal scores are selected together; a
    calibration negative with the score of a new row counts as above it. The user guide has the
    proof, and the effects of drift and of several batches.

    `fit` takes no `qid` and no `sample_weight`. It passes other metadata to the estimator's `fit`
    if its routing requests them: values with one entry per row are reduced to the training rows,
    but validation rows (names that end in ``_val``) are passed whole.

    References
    ----------
    JinCandes2023 (the p-values with a clipped score and ties counted against the row),
    BenjaminiHochberg1995, sec. 3 (the procedure).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.model_selection import ConformalSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> ranker = PNormPushRanker()
    >>> selector = ConformalSelector(ranker, fdr=0.05, random_state=0).fit(X[:400], y[:400])
    >>> selected = selector.select(X[400:])
    >>> print(selected.sum(), "selected, of which", y[400:][selected].sum(), "are positive")
    128 selected, of which 126 are positive
    """

    __getstate__, __setstate__ = stamped_state, take_state

    _allowed: ClassVar[dict[str, Constraint]] = {
        "estimator": SCORING_ESTIMATOR,
        "fdr": Number(0, 1, closed="neither"),
        "calibration_size": Number(0, 1, closed="neither"),
        "random_state": SEED,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        fdr: float = 0.1,
        calibration_size: float = 0.25,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.fdr = fdr
        self.calibration_size = calibration_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, **params: Any) -> Self:
        """Fit the estimator to some rows and score the others.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features, of one list.
        y : array-like of shape (n_samples,)
            Two classes. The greater one is positive; for strings, the one that sorts last, with a
            warning unless its name is clearly positive, such as "fraud".
        **params : Any
            Metadata for the estimator's `fit`, by scikit-learn's routing; not `qid` or
            `sample_weight`.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        ValueError
            If a parameter is invalid, or y does not hold two classes.

        Warns
        -----
        UserWarning
            If only alphabetical order determines the positive class, or if there are too few
            calibration rows to select any row.
        """
        name = type(self).__name__
        check_parameters(name, self.get_params(deep=False), self._allowed)
        labels = _check_labels(name, y)
        for key, reason in _REFUSED.items():
            if params.get(key) is not None:
                raise ValueError(f"{name} {reason}.")
        # All rows calibrate a fitted estimator; else some rows fit it first.
        if isinstance(self.estimator, FrozenEstimator):
            estimator, X_held, y_held = self.estimator, X, labels
        else:
            estimator, X_held, y_held = self._fit_estimator(X, y, labels, params)
        classes = np.asarray(getattr(estimator, "classes_", np.unique(labels)))
        if len(classes) != 2:
            raise ValueError(f"{name} needs two classes. Got {classes.tolist()}.")
        is_positive = is_upper_label(name, y_held, classes)
        scores = _scores(name, estimator, X_held)
        check_lengths(X=scores, y=y_held)
        if self.fdr * (len(scores) + 1) < 1:
            warn(
                f"{name} can't select any row: with fdr={self.fdr:g} it needs at least "
                f"{int(np.ceil(1 / self.fdr)) - 1} calibration rows. Got {len(scores)}.",
                UserWarning,
            )
        # Only set at the end: a fit that fails leaves the last one as it was.
        for attribute in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(attribute, None)
            if hasattr(estimator, attribute):
                setattr(self, attribute, getattr(estimator, attribute))
        self.classes_, self.estimator_ = classes, estimator
        self.calibration_is_positive_, self.calibration_scores_ = is_positive, scores
        return self

    def _fit_estimator(
        self, X: Any, y: Any, labels: Values, params: dict[str, Any]
    ) -> tuple[Any, Any, Values]:
        """Return the estimator fitted to some rows, and X and labels of the others."""
        # Metadata with a value for each row is split with the rows.
        routed = process_routing(self, "fit", **params).estimator.fit
        row_metadata = {
            key: value
            for key, value in routed.items()
            if not key.endswith("_val") and _n_rows(value) == len(y)
        }
        kwargs = {"test_size": self.calibration_size, "random_state": self.random_state}
        X_fit, X_held, y_fit, _, labels_fit, labels_held, *split = train_test_split(
            X, y, labels, *row_metadata.values(), **kwargs
        )
        missing_classes = np.setdiff1d(labels, labels_fit).tolist()
        if missing_classes:
            raise ValueError(
                f"{type(self).__name__} drew {len(labels_fit)} rows to fit, none of which is of "
                f"class {missing_classes[0]!r}. Pass more rows, or a smaller calibration_size."
            )
        metadata = {**routed, **dict(zip(row_metadata, split[::2], strict=True))}
        return clone(self.estimator).fit(X_fit, y_fit, **metadata), X_held, labels_held

    def p_values(self, X: Any) -> Floats:
        """Return the conformal p-value of each row.

        With probability at most t a new row is a negative with a p-value up to t.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features of new rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [1 / (n + 1), 1] with n calibration rows; small for high scores.
        """
        check_is_fitted(self)
        negatives = self.calibration_scores_[~self.calibration_is_positive_]
        scores = _scores(type(self).__name__, self.estimator_, X)
        n_below = np.searchsorted(np.sort(negatives), scores, side="left")
        p_values = (1 + len(negatives) - n_below) / (1 + len(self.calibration_scores_))
        return np.asarray(p_values, dtype=np.float64)

    def select(self, X: Any) -> Mask:
        """Return the mask of the selected rows of a batch.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features of all new rows.

        Returns
        -------
        ndarray of bool of shape (n_samples,)
            True for the selected rows, maybe none.
        """
        return select_head(self.p_values(X), self.fdr)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where `fit` passes metadata: to the estimator's `fit`.

        Returns
        -------
        MetadataRouter
            scikit-learn's description.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags, with the input tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def select_head(p_values: Floats, fdr: float) -> Mask:
    """Return the mask of the hypotheses that the Benjamini-Hochberg procedure rejects."""
    if not len(p_values):
        return np.zeros(0, dtype=bool)
    adjusted = false_discovery_control(p_values, method="bh")
    # Rounding must not lose a row whose value equals the bound.
    return np.asarray(adjusted <= fdr * (1 + 1e-12))


def _n_rows(values: Any) -> int | None:
    """Return the number of entries, or None for a string, a number or another scalar."""
    if isinstance(values, str) or not hasattr(values, "__len__"):
        return None
    return int(values.shape[0]) if getattr(values, "shape", ()) else len(values)


def _check_labels(name: str, y: Any) -> Values:
    """Return one-dimensional labels of at most two classes."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    check_classification_targets(y)
    labels = check_column(y, "y")
    if len(np.unique(labels)) > 2:
        raise ValueError(
            f"{name} needs two classes. Got {len(np.unique(labels))}: for graded relevance pass a "
            "condition, for example y > 0."
        )
    return labels


def _scores(name: str, estimator: Any, X: Any) -> Floats:
    """Return one finite score for each row, greater for ``classes_[1]``."""
    scores = check_floats(scores_of(estimator, X), f"the score of {type(estimator).__name__}")
    if np.isnan(scores).any():
        raise ValueError(f"{name} needs scores of all rows. Some are NaN.")
    return scores
