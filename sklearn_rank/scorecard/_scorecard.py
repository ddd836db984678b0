"""The estimator: a ranker as a table of integer points."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank._validation import (
    Constraint,
    Jobs,
    Number,
    Seed,
    check_lengths,
    check_parameters,
    check_qid,
    check_weight,
    is_upper_label,
)
from sklearn_rank._versions import VersionedMixin
from sklearn_rank.base import TrainingData
from sklearn_rank.estimators._categories import as_table
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics import auc_score
from sklearn_rank.metrics._scorers import Scoring, as_scorer
from sklearn_rank.scorecard._build import CardBuilder
from sklearn_rank.scorecard._card import Card, probability
from sklearn_rank.scorecard._folds import (
    POWERS,
    FoldFit,
    FoldFits,
    make_folds,
    merged_rows,
    smallest_of_the_best,
)
from sklearn_rank.scorecard._scaling import ScalingChoice


@dataclass(frozen=True)
class PointsRange:
    """Two integers between which 0 lies, or None."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        if value is None:
            return True
        given: Any = value
        if not isinstance(value, tuple | list) or len(given) != 2:
            return False
        integer = Number(-np.inf, integer=True, closed="neither")
        return all(map(integer.allows, given)) and given[0] <= 0 <= given[1] and given[0] < given[1]

    def __str__(self) -> str:
        return "a pair of ints (low, high) with low <= 0 <= high and low < high, or None"


@dataclass(frozen=True)
class RankerChoice:
    """A ranker, a frozen one, or None."""

    def allows(self, value: object) -> bool:
        """Whether `value` is allowed."""
        is_estimator = hasattr(value, "get_params") and hasattr(value, "fit")
        return value is None or (is_estimator and not isinstance(value, type))

    def __str__(self) -> str:
        return "a ranker of stumps, FrozenEstimator(ranker) or None"


class PointsOfRows(tuple[int, ...]):
    """The parameter `points` of a scorecard, which is also its method `points`.

    Both have this name: what scorecards call the numbers in the table. As a value it is the
    pair of the constructor, or empty for None; called, it gives the points of rows.
    """

    scorecard: Scorecard

    def __call__(self, X: Any) -> Indices:
        """Return the points of each row by variable, shape (n_samples, len(variables_))."""
        scorecard = self.scorecard
        return scorecard._fitted_card().points(scorecard._rows(X))


class PointsParameter:
    """Descriptor of the parameter that is also a method; `get_params` gives the plain value."""

    def __get__(self, scorecard: Any, owner: Any = None) -> Any:
        """Return the value, with which rows can be given their points."""
        if scorecard is None:
            return self
        found = PointsOfRows(vars(scorecard)["points"] or ())
        found.scorecard = scorecard
        return found

    def __set__(self, scorecard: Any, value: Any) -> None:
        """Set the parameter."""
        vars(scorecard)["points"] = value


class Scorecard(VersionedMixin, BaseEstimator):
    """Points."""

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"qid": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"qid": True}

    points = PointsParameter()

    _allowed: ClassVar[dict[str, Constraint]] = {
        "ranker": RankerChoice(),
        "points": PointsRange(),
        "max_terms": Number(1, integer=True, other=(None,)),
        "p": Number(1, other=("auto", None)),
        "scaling": ScalingChoice(),
        "scoring": Scoring(),
        "cv": Number(2, integer=True),
        "n_repeats": Number(1, integer=True),
        "n_jobs": Jobs(),
        "random_state": Seed(),
    }

    def __init__(
        self,
        ranker: Any = None,
        *,
        points: Any = (-5, 5),
        max_terms: int | None = 10,
        p: Any = "auto",
        scaling: Any = None,
        scoring: Any = "pauc@0.05",
        cv: int = 5,
        n_repeats: int = 5,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.ranker = ranker
        self.points = points
        self.max_terms = max_terms
        self.p = p
        self.scaling = scaling
        self.scoring = scoring
        self.cv = cv
        self.n_repeats = n_repeats
        self.n_jobs = n_jobs
        self.random_state = random_state

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of the ranker, too, as ``ranker__p``.

        Returns
        -------
        dict
            Names and values.
        """
        return {**super().get_params(deep=deep), "points": vars(self)["points"]}

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Fit the ranker, choose p and round.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two classes. High totals mean the greater, ``classes_[1]``.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; folds are of whole queries.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: weight 2 equals the row twice.

        Returns
        -------
        self : object
            The fitted scorecard.
        """
        name = type(self).__name__
        given = self.get_params(deep=False)
        check_parameters(name, given, self._allowed)
        if given["points"] is None and self.scaling is None:
            raise ValueError(
                f"points=None of {name} needs scaling, which says how large the points are. "
                "Got scaling=None."
            )
        if isinstance(self.ranker, FrozenEstimator):
            ranker, data = self._take_frozen(X, y, qid, sample_weight)
            scores: dict[float, Floats] = {}
            held_out = None
        else:
            ranker, data, scores, held_out = self._fit_ranker(X, y, qid, sample_weight)
        low_high = given["points"]
        points = None if low_high is None else (int(low_high[0]), int(low_high[1]))
        card = CardBuilder(ranker, data, points, self.scaling, held_out).build()
        self._set_card(card, ranker.classes_, qid is not None)
        self.ranker_, self.p_scores_ = ranker, scores
        self._has_categories_ = getattr(ranker, "_category_codes_", None) is not None
        return self

    def _set_card(self, card: Card, classes: Values, has_qid: bool) -> None:
        """Set what the methods need."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.card_, self.classes_, self._has_qid_ = card, classes, has_qid
        self.n_features_in_ = card.n_features
        if card.feature_names is not None:
            self.feature_names_in_ = np.array(card.feature_names, dtype=object)
        self.variables_ = [variable.name for variable in card.variables]
        self.cut_ = card.cut
        self.p_ = card.details.get("p")
        self._has_categories_ = True  # any table is taken, and checked column by column

    # Fitting -------------------------------------------------------------------------

    def _unfitted_ranker(self) -> Any:
        """Return the ranker to fit, at the p that is set and with its number of terms."""
        ranker = PNormPushRanker() if self.ranker is None else clone(self.ranker)
        self._check_ranker(ranker)
        if self.max_terms is not None:
            known = ranker.get_params(deep=False)
            limit = "max_thresholds" if "max_thresholds" in known else "n_estimators"
            ranker.set_params(**{limit: self.max_terms})
        if isinstance(self.p, str) or self.p is None:
            return ranker
        if not hasattr(ranker, "p"):
            raise ValueError(
                f"p={self.p!r} of Scorecard needs a ranker with a p, which "
                f"{type(ranker).__name__} has not. Use p=None or p='auto'."
            )
        return ranker.set_params(p=self.p)

    def _check_ranker(self, ranker: Any) -> None:
        """Raise ValueError for a ranker that no card can be made of."""
        kind, name = type(ranker).__name__, type(self).__name__
        if getattr(ranker, "weak_ranker", None) != "stump":
            raise ValueError(
                f"{name} needs a ranker of stumps, such as PNormPushRanker(), RankBoost() or "
                f"SmoothMarginRanker() with weak_ranker='stump'. Got {ranker!r}."
            )
        if ranker.relevance != "binary":
            raise ValueError(
                f"{name} has a cut between two classes: its {kind} must have "
                f"relevance='binary'. Got relevance={ranker.relevance!r}."
            )

    def _fit_ranker(
        self, X: Any, y: Any, qid: Any, sample_weight: Any
    ) -> tuple[Any, TrainingData, dict[float, Floats], tuple[Indices, Floats] | None]:
        """Return the fitted ranker, its rows, scores by p, and scores of rows held out."""
        ranker = self._unfitted_ranker()
        data = ranker._validate_training(X, y, qid, sample_weight)[0]
        ranker._check_training(data)
        data = merged_rows(data)
        searches = isinstance(self.p, str) and hasattr(ranker, "p")
        n_repeats = self.n_repeats if searches else 1
        tests = make_folds(data, self.cv, n_repeats, check_random_state(self.random_state))
        fits = FoldFits(X, y, qid, data, tests, as_scorer(self.scoring or "auc"), self.n_jobs)
        candidates = [clone(ranker).set_params(p=p) for p in POWERS] if searches else [ranker]
        found = fits.run(candidates)
        scores: dict[float, Floats] = {}
        chosen = 0
        if searches and tests:
            scores = {
                p: np.array([one.score for one in of_p])
                for p, of_p in zip(POWERS, found, strict=True)
            }
            chosen = POWERS.index(smallest_of_the_best(scores))
        ranker = candidates[chosen].fit(X, y, qid=qid, sample_weight=sample_weight)
        return ranker, data, scores, _held_out(found[chosen])

    def _take_frozen(
        self, X: Any, y: Any, qid: Any, sample_weight: Any
    ) -> tuple[Any, TrainingData]:
        """Return a ranker that was fitted before, and the rows to round it for."""
        ranker = self.ranker.estimator
        self._check_ranker(ranker)
        check_is_fitted(ranker)
        if not (isinstance(self.p, str) or self.p is None):
            raise ValueError(
                f"p={self.p!r} of Scorecard can't be set on a frozen ranker, which is rounded as "
                "it is. Use p='auto' or p=None, or the ranker without FrozenEstimator."
            )
        rows = ranker._validate_features(X, reset=False)
        weight = check_weight(sample_weight, len(rows))
        codes = None if qid is None else check_qid(qid, len(rows))
        positive = is_upper_label(type(self).__name__, y, ranker.classes_, sample_weight)
        check_lengths(X=rows, y=positive)
        data = TrainingData(rows, positive, codes, weight, np.arange(len(rows)), ranker.classes_)
        data = data.take(np.flatnonzero(weight > 0))
        ranker._check_training(data)
        return ranker, merged_rows(data)

    # Scoring -------------------------------------------------------------------------

    def _fitted_card(self) -> Card:
        """Return the card."""
        check_is_fitted(self)
        return self.card_

    def _rows(self, X: Any) -> Any:
        """Return validated rows."""
        check_is_fitted(self)
        if self._has_categories_:
            X = as_table(X)
            validate_data(self, X, reset=False, skip_check_array=True)
            return X
        return validate_data(self, X, reset=False, dtype=np.float64, ensure_all_finite="allow-nan")

    def decision_function(self, X: Any) -> Indices:
        """Return totals less `cut_`."""
        return self._totals(X) - self.cut_

    def _totals(self, X: Any) -> Indices:
        return self._fitted_card().totals(self._rows(X))

    def predict(self, X: Any) -> Values:
        """Return classes."""
        above = self.decision_function(X) > 0
        return np.asarray(self.classes_[above.astype(np.intp)])

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the area under the ROC curve."""
        scores = self.decision_function(X)
        if self._has_qid_ and qid is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted with qid and can't be scored without it."
            )
        relevance = is_upper_label(type(self).__name__, y, self.classes_, sample_weight)
        check_lengths(X=scores, y=relevance)
        return auc_score(relevance, scores, qid=qid, sample_weight=sample_weight)

    def predict_risk(self, X: Any) -> Floats:
        """Return the probability of ``classes_[1]`` of each row."""
        return probability(self._fitted_card(), self._totals(X))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` has come to its end."""
        return hasattr(self, "card_")

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's description."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        return replace(
            tags,
            estimator_type="classifier",
            classifier_tags=ClassifierTags(multi_class=False),
        )


def _held_out(fits: list[FoldFit]) -> tuple[Indices, Floats] | None:
    """Return rows and their scores by the first ranker fitted without each; None without any."""
    if not fits:
        return None
    rows = np.concatenate([one.test for one in fits])
    scores = np.concatenate([one.standardised for one in fits])
    rows, first = np.unique(rows, return_index=True)
    return rows, scores[first]
