"""The estimator: a ranker as a table of integer points."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.callbacks import stamped_state, take_state
from sklearn_rank._core.parallel import one_blas_thread
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank._core.validation import (
    FOLDS,
    JOBS,
    SEED,
    Constraint,
    Described,
    Number,
    check_parameters,
    unchanged_on_error,
)
from sklearn_rank.base import Predictor
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.models import Stumps, as_model
from sklearn_rank.scorecard._build import build_card
from sklearn_rank.scorecard._exports import CardExports
from sklearn_rank.scorecard._folds import held_out_totals, make_folds, split_rows
from sklearn_rank.scorecard._input import checked_rows
from sklearn_rank.scorecard._json import card_from_json
from sklearn_rank.scorecard._rounding import SCALING
from sklearn_rank.scorecard.card import Card

RIDGE = 10.0
"""The ridge of small cards, times the number of training rows."""

_FEW_TERMS = 50
"""Terms up to which a card is small: a refit of all terms after each choice is worth its time."""

_MOST_POINTS = 1_000_000
"""Greatest points of a bin; totals of many variables then still fit into 32 bits."""

_WIDEST_WEIGHTS = 1e100
"""Greatest ratio of two weights; its cube is still a finite double."""


def _is_points(value: Any) -> bool:
    """Whether a value is a pair of integers between which 0 lies, or None."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        return value is None
    integer = Number(-_MOST_POINTS, _MOST_POINTS, integer=True)
    return all(map(integer.allows, value)) and value[0] <= 0 <= value[1] and value[0] < value[1]


def _is_ranker(value: Any) -> bool:
    is_estimator = hasattr(value, "get_params") and hasattr(value, "fit")
    return value is None or (is_estimator and not isinstance(value, type))


def _has_risk(scorecard: Any) -> bool:
    """Whether a scorecard has probabilities; the error says why one has none."""
    if not hasattr(scorecard, "card_") or scorecard.card_.risk:
        return True
    raise AttributeError(
        "This scorecard has no risk table, and so no predict_proba: predict compares totals with "
        "the cut of the card."
    )


class Scorecard(CardExports, Predictor):
    r"""Scorecard: a ranker as a table of integer points that a person can read and sign off.

    The total of a row is the intercept plus, for each variable, the points of the bin that its
    value is in. High totals always mean ``classes_[1]``, whether that is the bad outcome or the
    good one; the card states which class it is.

    Parameters
    ----------
    ranker : ranker, FrozenEstimator or None, default=None
        A ranker of stumps in binary mode, which is cloned and fitted: `PNormPushRanker`,
        `RankBoost` or `SmoothMarginRanker`. Its `Stumps` constrain the card: given thresholds,
        categories, special codes. ``FrozenEstimator(ranker)``: a fitted ranker, which is only
        rounded; `max_terms` and `min_bin_size` have no effect on it. None:
        ``PNormPushRanker(p=2, loss="logistic", solver="corrective")``, which ranked best in small
        cards; `PNormPushRanker()` above 50 terms and with ``max_terms=None``.
    points : (int, int) or None, default=(-5, 5)
        Minimum and maximum points of a bin; the range must include 0 and not exceed a million. The
        intercept is not limited, nor are points after `scaling`. None, only with `scaling`: points
        are rounded once, on the scale of the card.
    max_terms : int in [1, inf) or None, default=20
        Maximum number of steps of the card: thresholds, sets of categories, and missing values and
        special codes with their own points. It replaces the `max_thresholds` of the ranker's
        `Stumps`; None keeps it.
    min_bin_size : float in [0, 0.5] or None, default=0.01
        Minimum share of the training rows in a bin; neighbouring bins that are smaller are merged
        and rare categories pooled. It replaces that of the ranker's `Stumps`; None keeps it.
    monotonic_cst : array-like of int of shape (n_features,), dict or None, default=None
        1: the total never falls as the feature grows; -1: it never rises; 0: no constraint. A dict
        maps feature names or indices to these values. It replaces that of the ranker; None keeps
        it.
    scaling : dict, "minmax" or None, default=None
        None: a total above 0 has a risk above one half. ``{"pdo": 20, "score": 600, "odds": 50}``:
        20 points double the odds of ``classes_[1]``, which are 50 to 1 at a total of 600.
        "minmax": the smallest possible total is 0 and the largest 100. With scaling the cut-off is
        `cut_`, and the points of the unscaled card are multiplied and rounded again.
    cv : int, splitter or iterable, default=5
        Folds for the probabilities: their number, a splitter or your own folds, of which one is
        enough. Rows with identical features go into the same fold, unless they carry more than 1 %
        of the total weight; those are spread over all folds.
    n_jobs : int or None, default=None
        Number of processes for the fits of the folds; None means 1, -1 all processors, as in
        joblib.
    random_state : int, RandomState or None, default=None
        Seed for the division of the rows into folds.

    Attributes
    ----------
    card_ : Card
        The card as plain data.
    risk_table_ : DataFrame
        Columns total, risk (the probability of ``classes_[1]``), and low and high, the ends of its
        95 % interval. Needs pandas.
    variables_ : list of str
        The features that the card needs, by column.
    cut_ : int
        A total above it has a risk above one half; 0 without scaling.
    ranker_ : ranker
        The fitted ranker. A card of `from_json` has none.
    classes_ : ndarray of shape (2,)
        The classes; high totals mean the second.
    has_queries_ : bool
        Whether the card was fitted with `qid`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, if all are strings.

    See Also
    --------
    sklearn_rank.plotting.ScorecardDisplay : Draws the points of the variables.
    sklearn_rank.export.onnx.to_onnx : Writes a card as an ONNX graph.

    Notes
    -----
    *Points.* Only differences between the points of a variable matter for the order of rows. The
    bin with the most training rows has 0 points if `points` allows it, and the intercept absorbs
    the shift. Neighbouring bins with equal points are merged; variables with equal points
    everywhere are left out. Missing values and special codes have their own points; if they are
    less than 2 % of the rows and the ranker learned nothing about them, they get the variable's
    mean points, rounded. A value not seen in training gets the points that would leave the mean
    risk unchanged if every training row had that value.

    *Ridge.* A ranker with ``solver="corrective"`` and ``alpha="auto"`` has the ridge 10/n, with n
    the weight of the training rows, or their effective number if that is larger because of weights
    below one.

    *Rounding.* The step functions are multiplied by one scale and rounded to integers in the range
    of `points`. Many scales are tried; the one chosen gives the lowest ranker objective when its
    totals are divided by the scale. The card states the training loss of the ranker and, at the
    best multiplier of the totals, its own.

    *Cut.* `predict` says ``classes_[1]`` where the risk is above one half: above `cut_`. If every
    total has such a risk, `cut_` is just below the lowest total; if no total has, it is the
    highest.

    *Probabilities.* The rows of each fold are scored by a card fitted without it; these totals are
    scaled to the mean and standard deviation of the final card's. An increasing logistic curve,
    with at least one slope below the mean and one above, maps them to probabilities, and the card
    states their AUC and partial AUC. Calibration thus uses held-out rows, not the ranker's training
    rows, except with ``FrozenEstimator``, if a class has a single row, and, with a warning, if no
    fold of `cv` has comparable rows for both training and test. With odds in `scaling`, the curve
    has one slope, the one that the scale implies.

    *Intervals* of the risk table are for the probability of the rows with a given total. They
    combine a bootstrap of the curve, which redraws the held-out rows with their totals and does not
    repeat the fits, with the scatter of single totals about the curve. They have their own random
    seed.

    *Thresholds* have as few digits as possible while dividing the training rows as the ranker does.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank.scorecard import Scorecard
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = Scorecard(max_terms=4).fit(X, y)
    >>> totals = scorecard.decision_function(X)
    >>> bool((totals == scorecard.points_of(X).sum(axis=1) + scorecard.card_.intercept).all())
    True
    >>> scorecard.score(X, y) > 0.95
    True
    """

    __getstate__, __setstate__ = stamped_state, take_state

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    relevance = "binary"

    _allowed: ClassVar[dict[str, Constraint]] = {
        "ranker": Described("a ranker of stumps, FrozenEstimator(ranker) or None", _is_ranker),
        "points": Described(
            "a pair of ints (low, high) with low <= 0 <= high and low < high, neither beyond "
            f"{_MOST_POINTS}, or None",
            _is_points,
        ),
        "max_terms": Number(1, integer=True, other=(None,)),
        "min_bin_size": Number(0, 0.5, other=(None,)),
        "scaling": SCALING,
        "cv": FOLDS,
        "n_jobs": JOBS,
        "random_state": SEED,
    }

    def __init__(
        self,
        ranker: Any = None,
        *,
        points: Any = (-5, 5),
        max_terms: int | None = 20,
        min_bin_size: float | None = 0.01,
        monotonic_cst: Any = None,
        scaling: Any = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.points = points
        self.max_terms = max_terms
        self.min_bin_size = min_bin_size
        self.monotonic_cst = monotonic_cst
        self.scaling = scaling
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit and round the ranker, and cross-validate it for the probabilities.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two classes. High totals mean the greater one, ``classes_[1]``.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; folds are of whole queries.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: a weight of 2 is equivalent to duplicating the row.

        Returns
        -------
        self : object
            The fitted scorecard.
        """
        self._check_parameters()
        arrays = {"qid": qid, "sample_weight": sample_weight}
        points = None if self.points is None else (int(self.points[0]), int(self.points[1]))
        is_fitted = isinstance(self.ranker, FrozenEstimator)
        ranker = self.ranker.estimator if is_fitted else self._unfitted_ranker()
        data = ranker.training_data(X, y, **arrays, is_fitted=is_fitted)
        _check_weights(data)
        distinct, held_out = data.distinct(), None
        if not is_fitted:
            # The ridge of small cards is for solvers that choose single coordinates and have one.
            has_auto = getattr(ranker, "alpha", None) == "auto"
            traits = ranker.solver_in_use.traits if has_auto else None
            if traits and traits.has_ridge and not traits.moves_all:
                ranker.set_params(alpha=RIDGE / number_of_rows(distinct.weight))
            # 1) Score the rows of each fold by a card made without them. 2) Fit all rows.
            with one_blas_thread():  # of small matrices two threads take longer than one
                if isinstance(self.cv, int | np.integer):
                    rows, folds = make_folds(distinct, int(self.cv), self.random_state)
                else:
                    rows, folds = data, split_rows(data, self.cv, y, qid)
                held_out = held_out_totals(ranker, rows, folds, points, self.n_jobs)
                ranker.fit(X, y, **arrays)
        # 3) Round the ranker; find the probability at each total from held-out rows.
        card = build_card(ranker, distinct, points, self.scaling, held_out)
        with unchanged_on_error(self):  # Ctrl-C here keeps the previous card
            self._set_card(card, ranker.classes_)
            self.ranker_ = ranker
        return self

    def _check_parameters(self) -> None:
        """Raise ValueError for an invalid parameter."""
        name, parameters = type(self).__name__, self.get_params(deep=False)
        parameters.pop("monotonic_cst")  # which the ranker checks
        check_parameters(name, parameters, self._allowed)
        if self.points is None and self.scaling is None:
            raise ValueError(
                f"points=None of {name} needs scaling, which says how large the points are. "
                "Got scaling=None."
            )
        if isinstance(self.ranker, FrozenEstimator):
            check_is_fitted(self.ranker.estimator)
            self._check_ranker(self.ranker.estimator)
            if self.monotonic_cst is not None:
                raise ValueError(
                    f"monotonic_cst of {name} can't be set on a frozen ranker, which is rounded as "
                    f"it is. Use None, or the ranker without FrozenEstimator. "
                    f"Got {self.monotonic_cst!r}."
                )

    def default_ranker(self) -> PNormPushRanker:
        """Return the default ranker of a card.

        Returns
        -------
        PNormPushRanker
            Unfitted.
        """
        if self.max_terms is not None and self.max_terms <= _FEW_TERMS:
            return PNormPushRanker(p=2, loss="logistic", solver="corrective")
        return PNormPushRanker()

    def _unfitted_ranker(self) -> Any:
        """Return the ranker to fit, with the parameters of this card."""
        ranker = self.default_ranker() if self.ranker is None else clone(self.ranker)
        self._check_ranker(ranker)
        stumps: Any = clone(as_model(ranker.weak_ranker))
        own = {"max_thresholds": self.max_terms, "min_bin_size": self.min_bin_size}
        stumps.set_params(**{name: value for name, value in own.items() if value is not None})
        signs = ranker.monotonic_cst if self.monotonic_cst is None else self.monotonic_cst
        return ranker.set_params(weak_ranker=stumps, monotonic_cst=signs)

    def _check_ranker(self, ranker: Any) -> None:
        """Raise ValueError if no card can be made from the ranker."""
        name, weak_ranker = type(self).__name__, getattr(ranker, "weak_ranker", None)
        if not (weak_ranker == "stump" or isinstance(weak_ranker, Stumps)):
            raise ValueError(
                f"{name} needs a ranker of stumps, such as PNormPushRanker(), RankBoost() or "
                f"SmoothMarginRanker() with weak_ranker='stump' or Stumps(). Got {ranker!r}."
            )
        if ranker.relevance != "binary":
            raise ValueError(
                f"{name} has a cut between two classes: its {type(ranker).__name__} must have "
                f"relevance='binary'. Got relevance={ranker.relevance!r}."
            )

    def _set_card(self, card: Card, classes: Values) -> Self:
        """Set what the methods need, and return the scorecard."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.card_, self.classes_, self.cut_ = card, classes, card.cut
        self.has_queries_ = bool(card.details.get("queries"))
        self.n_features_in_ = card.n_features
        if card.feature_names is not None:
            self.feature_names_in_ = np.array(card.feature_names, dtype=object)
        self.variables_ = [variable.name for variable in card.variables]
        return self

    # Scoring -------------------------------------------------------------------------

    def points_of(self, X: Any) -> Indices:
        """Return the points of each row by variable.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of int of shape (n_samples, len(variables_))
            Points. Their sum and the intercept are the total of the row.
        """
        return self._fitted_card().points(checked_rows(self, X))

    def decision_function(self, X: Any) -> Floats:
        """Return totals minus `cut_`: positive if `predict` returns ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of float of shape (n_samples,)
            Integers, larger for rows that rank higher, stored as floats because scikit-learn's
            tools, such as ``CalibratedClassifierCV``, need floats.
        """
        return self._score_validated(X)

    def _score_validated(self, X: Any) -> Floats:
        return (self._totals(X) - self.cut_).astype(np.float64)

    def _totals(self, X: Any) -> Indices:
        return self._fitted_card().totals(checked_rows(self, X))

    @available_if(_has_risk)
    def predict_proba(self, X: Any) -> Floats:
        """Return the probability of each class for each row, from the risk table.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Columns follow `classes_`. Probabilities are interpolated between the totals of the
            table; totals beyond it have the probability of the nearest one. A card without a risk
            table does not have this method.
        """
        risk = self._fitted_card().probability(self._totals(X))
        return np.column_stack([1 - risk, risk])

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return a fitted scorecard from the output of `to_json`, without its ranker.

        Parameters
        ----------
        text : str or bytes
            The document. It is checked, so it may have been edited by hand.

        Returns
        -------
        Scorecard
            It scores rows and exports the card. Its parameters are the defaults.

        Raises
        ------
        ValueError
            If the document is invalid; the message says what is wrong.
        """
        card = card_from_json(text)
        classes = np.array(card.classes)
        if list(map(type, classes.tolist())) != list(map(type, card.classes)):
            classes = np.array(card.classes, dtype=object)  # "bad" and 1 stay what they are
        return cls()._set_card(card, classes)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's description."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags


def _check_weights(data: Rows) -> None:
    """Raise ValueError for weights so different that sums or products lose the smallest."""
    light, heavy = float(data.weight.min()), float(data.weight.max())
    if heavy / _WIDEST_WEIGHTS > light:
        raise ValueError(
            f"sample_weight of Scorecard must be 0 or within a factor of {_WIDEST_WEIGHTS:g}: "
            f"shares of the rows are computed from it. Got weights from {light:g} to {heavy:g}."
        )
