"""The estimator: a ranker as a table of integer points."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import ClassifierTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.parallel import one_blas_thread
from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FOLDS,
    JOBS,
    SEED,
    Choice,
    Constraint,
    Described,
    Number,
    OrNone,
    check_lengths,
    check_parameters,
    check_qid_given,
    check_weight,
    is_upper_label,
    unchanged_on_error,
    warn_of_order,
)
from sklearn_rank._core.versions import stamped_state, take_state
from sklearn_rank._core.warnings import warn
from sklearn_rank._predictor import Predictor
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics.scorers import SCORING
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard._adverse import inferred_end
from sklearn_rank.scorecard._card_checks import check_weight_range, order_is_known
from sklearn_rank.scorecard._log import SEARCH, search_path
from sklearn_rank.scorecard.card import ADVERSE, UNSEEN, Card, probability
from sklearn_rank.scorecard.changes._edit import EditsMixin
from sklearn_rank.scorecard.changes._recalibration import recalibrated
from sklearn_rank.scorecard.explaining._reasons import ReasonsMixin
from sklearn_rank.scorecard.exports import ExportsMixin
from sklearn_rank.scorecard.fitting._build import CardBuilder, card_totals
from sklearn_rank.scorecard.fitting._scaling import SCALING
from sklearn_rank.scorecard.forms._json import card_from_json
from sklearn_rank.scorecard.risk._refits import refitted_table
from sklearn_rank.scorecard.search._choices import (
    AS_IT_IS,
    BIN_SIZE,
    PAIRS,
    RIDGE,
    SIGNS,
    Plan,
    check_frozen,
    set_stumps,
    sizes_up_to,
    with_parameters,
)
from sklearn_rank.scorecard.search._folds import given_folds
from sklearn_rank.scorecard.terms import plain

SMALL: dict[str, Any] = {"loss": "logistic", "solver": "corrective"}
"""Parameters of the ranker of small cards: a refit of all terms after each choice."""

FEW_TERMS = 50
"""Terms up to which a card is small: a refit after each choice is worth its time."""

MOST_POINTS = 1_000_000
"""Points are within this range."""


def _is_points(value: Any) -> bool:
    """Whether a value is a pair of integers between which 0 lies, or None."""
    if value is None:
        return True
    if not isinstance(value, tuple | list) or len(value) != 2:
        return False
    integer = Number(-MOST_POINTS, MOST_POINTS, integer=True)
    return all(map(integer.allows, value)) and value[0] <= 0 <= value[1] and value[0] < value[1]


def _is_ranker(value: Any) -> bool:
    is_estimator = hasattr(value, "get_params") and hasattr(value, "fit")
    return value is None or (is_estimator and not isinstance(value, type))


_POINTS = Described(
    "a pair of ints (low, high) with low <= 0 <= high and low < high, neither beyond "
    f"{MOST_POINTS}, or None",
    _is_points,
)
_RANKER = Described("a ranker of stumps, FrozenEstimator(ranker) or None", _is_ranker)


def _has_risk(scorecard: Any) -> bool:
    """Whether a scorecard has probabilities; the error says why one has none."""
    if not hasattr(scorecard, "card_") or scorecard.card_.risk:
        return True
    raise AttributeError(
        "This scorecard has no risk table, and so no predict_proba: predict compares totals with "
        "the cut of the card. recalibrate(X, y) makes a risk table from rows with known classes."
    )


class Scorecard(EditsMixin, ExportsMixin, ReasonsMixin, Predictor):
    r"""Scorecard: a ranker as a table of integer points that a person can read and sign off.

    The total of a row is the intercept plus, for each variable, the points of the bin that its
    value is in. High totals always mean ``classes_[1]``, whether that is the bad outcome or the
    good one; the card states which class it is.

    Parameters
    ----------
    ranker : ranker, FrozenEstimator or None, default=None
        A ranker of stumps in binary mode, which is cloned and fitted: `PNormPushRanker`,
        `RankBoost` or `SmoothMarginRanker`, whose parameters constrain the card (monotone
        variables, given thresholds, categories, special codes). ``FrozenEstimator(ranker)``:
        a fitted ranker, which is only rounded; `max_terms` has no effect on it, and what would
        change it is refused. None: ``PNormPushRanker(loss="logistic", solver="corrective")``, which
        ranked best in small cards; `PNormPushRanker()` above 50 terms and with ``max_terms=None``.
    points : (int, int) or None, default=(-5, 5)
        Minimum and maximum points of a bin; the range must include 0 and not exceed a million. The
        intercept is not limited, nor are points after `scaling`. None, only with `scaling`: points
        are rounded once, on the scale of the card.
    max_terms : int in [1, inf) or None, default=10
        Maximum number of steps of the card: thresholds, sets of categories, and missing values and
        special codes with their own points. It replaces the `max_thresholds` of the ranker's
        `Stumps`; None keeps it. With ``alpha="auto"`` fewer may be chosen.
    p : "auto", float in [1, inf) or None, default="auto"
        "auto": the first of 4, 2, 1, 8 and 16 within one standard error of the best by
        cross-validation (see Notes), if the ranker has a p; with ``scoring="auc"`` the first of 1,
        2, 4, 8 and 16. A number is set on the ranker; None
        keeps the ranker's.
    scaling : dict, "minmax" or None, default=None
        None: a total above 0 has a risk above one half. ``{"pdo": 20, "score": 600, "odds": 50}``:
        20 points double the odds of ``classes_[1]``, which are 50 to 1 at a total of 600.
        "minmax": the smallest possible total is 0 and the largest 100. With scaling the cut-off is
        `cut_`, and the points of the unscaled card are multiplied and rounded again.
    scoring : str, scorer or None, default="pauc@0.05"
        Metric of the search: a name that `ranking_scorer` accepts, or a scorer; None is
        "auc".
    cv : int, splitter or iterable, default=5
        Number of folds. Rows with the same features share a fold, unless they are in both classes
        and more than a hundredth of all: copies of these are dealt among the folds, a weight of 2
        as two. Or a splitter or folds of your own, for which `n_repeats` has no effect. One fold,
        such as a validation split, is enough for the probabilities, but not for the search, which
        needs a standard error: what is "auto" has its first candidate, and a warning says so.
    n_repeats : int in [1, inf), default=1
        Number of times the search repeats the cross-validation with new folds. More of them
        narrow the standard errors little, since all use the same rows.
    n_jobs : int or None, default=None
        Number of processes for the fits of the folds; None means 1, -1 all processors, as in
        joblib.
    random_state : int, RandomState or None, default=None
        Seed for the division of the rows into folds, and of the draws of `risk_intervals`.
    unseen : {"neutral", "worst", "refuse"}, default="neutral"
        What is done with a value that training has not seen: a category, or a missing value or
        special code in a variable without one. "neutral": it has the points, rounded, that would
        leave the mean risk as it is if all training rows had them. "worst": it has the worst
        points of its term, which needs `adverse`. "refuse": rows with one are not scored; Python
        raises an error.
    adverse : {"auto", "high", "low"}, default="auto"
        Which end of the totals is bad. "auto": it follows from the names of the classes, where they
        are common ones such as "good" and "bad"; else it stays unknown.
    alpha : "auto" or float in [0, inf), default="auto"
        Ridge of a ranker with ``solver="corrective"``, as there. "auto": 5/n unless 20/n is better,
        with n the weight of the training rows, or their effective number if that is larger because
        of weights below one; and `max_terms` unless 60 % of them are better. A number switches both
        searches off. Other rankers have no ridge, and a ranker's own is kept.
    min_bin_size : "auto" or float in [0, 0.5], default="auto"
        Minimum share of the training rows in a bin; neighbouring bins that are smaller are merged
        and rare categories pooled. "auto": .02, or .05 if that is better, which is
        tried where the ridge may be searched. A size that the ranker's `Stumps` has is kept.
    max_pairs : "auto" or int in [0, inf), default="auto"
        Maximum number of pairs of variables, each a grid of points that counts as one term (see
        `Stumps`). "auto": 0 unless `max_terms`, at most 10, is better by one standard error,
        which is tried where the ridge may be searched. 0 keeps the number that the ranker's
        `Stumps` has.
    monotonic_cst : array-like of int of shape (n_features,), dict, "auto" or None, default=None
        1: the score never falls as the feature grows; -1: it never rises; 0: no constraint. A
        dict maps names or indices of features to these. "auto": the direction of each feature's
        own trend where the data decide it (see Notes), none elsewhere. None: what the ranker has.

    Attributes
    ----------
    card_ : Card
        The card as plain data.
    table_ : DataFrame
        Columns variable, bin, points, count (weight of the training rows) and event_rate
        (share of ``classes_[1]``); the first row is the intercept. Needs pandas.
    risk_table_ : DataFrame
        Columns total, risk (the probability of ``classes_[1]``), and low and high, the ends of its
        95 % interval. Needs pandas.
    variables_ : list of str
        The features that the card needs, by column.
    terms_ : list of str
        The terms of the card: variables by column, then pairs, such as "age × debt".
    cut_ : int
        A total above it has a risk above one half; 0 without scaling, until `recalibrate`.
    p_ : float or None
        The p of the ranker; None if it has none.
    alpha_ : float or None
        Its ridge; None if it has none.
    min_bin_size_ : float
        The minimum share of the training rows in a bin.
    n_terms_ : int or None
        The maximum number of terms: `max_terms`, or fewer if the search has chosen that.
    search_ : list of dict
        The path of the search, a record of each candidate in the order of trial: parameter (p,
        alpha, min_bin_size, n_terms or max_pairs), value, score (mean over the folds), error
        (standard error of its difference to the best), n_folds and chosen. Empty for frozen
        rankers. The card has it among its details, under "search".
    p_scores_ : dict of float to ndarray
        The scores of each p by fold, one repeat after another; empty without a search. A p that
        can't be chosen any more is left out of further repeats.
    ranker_ : ranker
        The fitted ranker. A card of `from_json` has none.
    classes_ : ndarray of shape (2,)
        The classes; high totals mean the second.
    has_queries_ : bool
        Whether the card was fitted with `qid`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, when all are strings.

    See Also
    --------
    sklearn_rank.plotting.ScorecardDisplay : Draws the points of the variables.
    sklearn_rank.PNormPushRanker : The p-norm push, with the definition of p.

    Notes
    -----
    *Points.* Only differences between the points of a variable matter for the order of rows. The
    bin with the most training rows has 0 points if `points` allows it, and the intercept absorbs
    the shift. Neighbouring bins with equal points are merged; variables with equal points
    everywhere are left out. Missing values and special codes have their own points; where they are
    less than 2 % of the rows and the ranker tells nothing of them, these are the mean of the
    variable, rounded.

    *Rounding.* The step functions are multiplied by one scale and rounded to integers in the range
    of `points`. Of many scales the one is chosen whose totals, divided by the scale, give the
    lowest objective of the ranker. The card states the training loss of the ranker and, at the best
    multiplier of the totals, its own.

    *Cut.* `predict` says ``classes_[1]`` where the risk is above one half; `cut_` is the greatest
    total whose risk is not. Where the risk of all totals is on one side, it is at their end.

    *Search.* Whatever is "auto" is chosen by the same folds: first p, of 4, 2, 1, 8 and 16; with it
    the ridge, of 5/n and 20/n; then the smallest bin, of 2 and 5 %; then the number of terms,
    of all and 60 %; then the number of pairs, of 0 and as many as terms. The first candidate
    within one standard error of the best wins: p = 4, the default of `PNormPushRanker`, no pairs
    and all terms, unless the rows show otherwise. With few rows they seldom do: then the order
    decides: on seven of ten tables cards of ten terms found more positives before 5 % of the
    negatives with p = 4 than with p = 1, .013 on the mean. Candidates that are two standard
    errors below the best, or come after it, are left out of further repeats. The standard error is
    that of the mean difference to the best, fold by fold. Folds share training rows: the variance
    of the mean of K differences is theirs times

    .. math:: \frac{1}{K} + \frac{n_{\text{test}}}{n_{\text{train}}},

    where K counts the folds of all repeats, and :math:`n_{\text{test}} / n_{\text{train}}` is the
    weight of the rows scored by that of the rows fitted. Folds fit the ranker without rounding it.

    *Directions.* With ``monotonic_cst="auto"`` a feature has a direction if the AUC of its values
    alone differs from one half by more than 2.576 standard errors (1 %), and no two of five ranges
    of about equal weight have event rates that differ by more than 2.576 standard errors against
    it. With `qid` only rows of the same query are compared: the AUC is that of the pairs within
    queries, the ranges are of the ranks within a query, and their events are counted relative to
    the event rate of the query. Missing values, special codes and categories have no part in it.
    The card states it.

    *Probabilities.* Rankers fitted without a row score it (in the folds of the first repeat); these
    scores are brought to the mean and the deviation of the totals. An increasing logistic curve,
    with one slope below the mean and one above it, maps them to probabilities. Held-out rows, not
    the ranker's own training rows, are thus used for calibration, except with ``FrozenEstimator``,
    if a class has a single row, and, with a warning, if no fold of `cv` has comparable rows both
    for training and for test. With odds in `scaling` the curve has one slope, and is the one
    that the scale states.

    *Intervals* of the risk table are for the probability of the rows with a total. They are from
    a bootstrap of the curve, which redraws the held-out rows with their scores and does not
    repeat the fits, and from the scatter of single totals about the curve. Their draws have a
    seed of their own.

    *Thresholds* have the fewest digits that divide the training rows as the ranker does.

    References
    ----------
    Rudin2009, sec. 9.1 (limited classes must choose between the top and the rest).
    NadeauBengio2003; BouckaertFrank2004 (the variance of a mean over folds).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank.scorecard import Scorecard
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> scorecard = Scorecard(p=4, max_terms=4).fit(X, y)
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

    p_scores_: dict[float, Floats]

    _allowed: ClassVar[dict[str, Constraint]] = {
        "ranker": _RANKER,
        "points": _POINTS,
        "max_terms": Number(1, integer=True, other=(None,)),
        "p": Number(1, other=("auto", None)),
        "scaling": SCALING,
        "scoring": OrNone(SCORING),
        "cv": FOLDS,
        "n_repeats": Number(1, integer=True),
        "n_jobs": JOBS,
        "random_state": SEED,
        "unseen": Choice(UNSEEN),
        "adverse": Choice(("auto", *ADVERSE)),
        "alpha": RIDGE,
        "min_bin_size": BIN_SIZE,
        "max_pairs": PAIRS,
        "monotonic_cst": SIGNS,
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
        n_repeats: int = 1,
        n_jobs: int | None = None,
        random_state: Any = None,
        unseen: str = "neutral",
        adverse: str = "auto",
        alpha: Any = "auto",
        min_bin_size: Any = "auto",
        max_pairs: Any = "auto",
        monotonic_cst: Any = None,
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
        self.unseen = unseen
        self.adverse = adverse
        self.alpha = alpha
        self.min_bin_size = min_bin_size
        self.max_pairs = max_pairs
        self.monotonic_cst = monotonic_cst

    def fit(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Self:
        """Choose what is "auto", fit the ranker and round.

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
        self.check_parameters()
        arrays = {"qid": qid, "sample_weight": sample_weight}
        if isinstance(self.ranker, FrozenEstimator):
            ranker, data = self._take_frozen(X, y, **arrays)
            self.set_fitted(self._rounded(ranker, data, data))
            return self
        ranker = self.unfitted_ranker()
        data = ranker.training_data(X, y, **arrays)
        if inferred_end(self.adverse, tuple(data.classes.tolist())) is None:
            warn_of_order(type(self).__name__, data.classes)  # else the bad end is known

        def refit(chosen: Any) -> Any:
            with order_is_known():
                return clone(chosen).fit(X, y, **arrays)

        folds = None if self.has_number_of_folds else given_folds(data, self.cv, y, qid)
        with one_blas_thread():  # of small matrices two threads take longer than one
            self.set_fitted(self._fitted(data, ranker, refit, folds))
        return self

    def check_parameters(self) -> None:
        """Raise ValueError for a parameter that is not as described."""
        name = type(self).__name__
        check_parameters(name, self.get_params(deep=False), self._allowed)
        if self.points is None and self.scaling is None:
            raise ValueError(
                f"points=None of {name} needs scaling, which says how large the points are. "
                "Got scaling=None."
            )

    def set_fitted(self, fitted: dict[str, Any]) -> None:
        """Replace all fitted attributes.

        Parameters
        ----------
        fitted : dict of str to object
            Attributes, as `fit_rows` returns them.
        """
        card, ranker = fitted["card_"], fitted["ranker_"]
        with unchanged_on_error(self):  # Ctrl-C: the earlier card stays whole
            self._set_card(card, ranker.classes_, bool(card.details["queries"]))
            self.ranker_, self.p_scores_ = ranker, fitted["p_scores_"]
            self.search_ = fitted["search_"]
            self._has_categories_ = ranker.category_codes_ is not None

    def _set_card(self, card: Card, classes: Values, has_qid: bool) -> Self:
        """Set what the methods need, and return the scorecard."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.card_, self.classes_, self.has_queries_ = card, classes, has_qid
        self.n_features_in_ = card.n_features
        if card.feature_names is not None:
            self.feature_names_in_ = np.array(card.feature_names, dtype=object)
        self.variables_ = list(card.features.values())
        self.terms_ = [term.name for term in card.terms]
        self.cut_ = card.cut
        self.p_, self.alpha_ = map(card.details.get, ("p", "alpha"))
        self.min_bin_size_, self.n_terms_ = map(card.details.get, ("smallest_bin", "most_terms"))
        self.p_scores_, self.search_ = {}, search_path(card)
        self._has_categories_ = True  # any table is taken, and checked column by column
        return self

    # Fitting -------------------------------------------------------------------------

    def unfitted_ranker(self) -> Any:
        """Return the ranker to fit, at the p that is set and with its number of terms.

        Returns
        -------
        ranker
            A copy.
        """
        if self.ranker is None:
            is_small = self.max_terms is not None and self.max_terms <= FEW_TERMS
            ranker = PNormPushRanker(**(SMALL if is_small else {}))
        else:
            ranker = clone(self.ranker)
        self._check_ranker(ranker)
        if self.max_terms is not None:
            set_stumps(ranker, max_thresholds=self.max_terms)
        own = self.alpha, self.min_bin_size, self.monotonic_cst, self.max_pairs
        with_parameters(ranker, *own)
        if isinstance(self.p, str) or self.p is None:
            return ranker
        if not hasattr(ranker, "p"):
            raise ValueError(
                f"p={self.p!r} of Scorecard needs a ranker with a p, which "
                f"{type(ranker).__name__} lacks. Use p=None or p='auto'."
            )
        return ranker.set_params(p=self.p)

    def _check_ranker(self, ranker: Any) -> None:
        """Raise ValueError for a ranker that no card can be made of."""
        kind, name = type(ranker).__name__, type(self).__name__
        weak_ranker = getattr(ranker, "weak_ranker", None)
        if not (weak_ranker == "stump" or isinstance(weak_ranker, Stumps)):
            raise ValueError(
                f"{name} needs a ranker of stumps, such as PNormPushRanker(), RankBoost() or "
                f"SmoothMarginRanker() with weak_ranker='stump' or Stumps(). Got {ranker!r}."
            )
        if ranker.relevance != "binary":
            raise ValueError(
                f"{name} has a cut between two classes: its {kind} must have "
                f"relevance='binary'. Got relevance={ranker.relevance!r}."
            )

    def fit_rows(self, data: Rows, ranker: Any) -> dict[str, Any]:
        """Learn from checked rows and return the fitted attributes; set none.

        Parameters
        ----------
        data : Rows
            Rows, on several processes those of this one.
        ranker : ranker
            That of `unfitted_ranker`, which has checked the rows.

        Returns
        -------
        dict of str to object
            Attributes, as `set_fitted` takes them.
        """

        def refit(chosen: Any) -> Any:
            chosen.set_fitted(chosen.fit_rows(data))
            return chosen

        return self._fitted(data, ranker, refit)

    def _fitted(
        self, data: Rows, ranker: Any, refit: Callable[[Any], Any], folds: Any = None
    ) -> dict[str, Any]:
        """Return the fitted attributes, given the folds that the user may have given."""
        check_weight_range(type(self).__name__, data.weight)
        plan = Plan.of(self, data, ranker, folds)
        n_folds = 2 if folds is None else sum(map(len, folds))
        lost = [f"{name} is not searched" for name in plan.candidates if n_folds < 2]
        lost += ["no row is held out for the probabilities"] * (n_folds < 1)
        if lost:
            warn(
                "cv of Scorecard gives too few folds with comparable rows both for training and "
                f"for test, {n_folds}: {', '.join(lost)}."
            )
        scores, search = plan.run(), plan.search
        held_out = search.held_out(partial(card_totals, points=self._points))
        found = self._rounded(refit(search.ranker), plan.data, plan.known, held_out)
        card: Card = found["card_"]
        path = [{key: plain(value) for key, value in one.items()} for one in search.path]
        found["card_"] = replace(card, details=card.details | ({SEARCH: path} if path else {}))
        return found | {"p_scores_": scores.get("p", {}), "search_": search.path}

    def _rounded(
        self, ranker: Any, data: Rows, known: Rows, held_out: Rows | None = None
    ) -> dict[str, Any]:
        """Return the fitted attributes with the card of a fitted ranker."""
        how = self._points, self.scaling, held_out, self.unseen, self.adverse
        card = CardBuilder(ranker, data, known, *how).build()
        return {"card_": card, "ranker_": ranker, "p_scores_": {}, "search_": []}

    @property
    def _points(self) -> tuple[int, int] | None:
        """The range of points as integers."""
        return None if self.points is None else (int(self.points[0]), int(self.points[1]))

    @property
    def has_number_of_folds(self) -> bool:
        """Whether `cv` is a number; else the folds are the user's own."""
        return Number(2, integer=True).allows(self.cv)

    def _take_frozen(self, X: Any, y: Any, **arrays: Any) -> tuple[Any, Rows]:
        """Return a ranker that was fitted before, and the rows to round it for."""
        ranker = self.ranker.estimator
        self._check_ranker(ranker)
        check_is_fitted(ranker)
        check_frozen(self)
        data = ranker.training_data(X, y, **arrays, is_fitted=True)
        check_weight_range(type(self).__name__, data.weight)
        return ranker, data.distinct()

    # Scoring -------------------------------------------------------------------------

    def rounding(self, ranker: Any) -> Self:
        """Return an unfitted scorecard with these parameters that only rounds a fitted ranker.

        Parameters
        ----------
        ranker : ranker
            Fitted, of stumps.

        Returns
        -------
        Scorecard
            With ``FrozenEstimator(ranker)``, and without the settings that a fitted ranker has.
        """
        return clone(self).set_params(ranker=FrozenEstimator(ranker), **AS_IT_IS)

    def points_of(self, X: Any) -> Indices:
        """Return the points of each row by term.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of int of shape (n_samples, len(terms_))
            Points. Their sum and the intercept are the total of the row.
        """
        return self._fitted_card().points(self._rows(X))

    def bins_of(self, X: Any) -> Indices:
        """Return the bin of each row by term.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of int of shape (n_samples, len(terms_))
            Places in the lists of points of ``card_.terms``.
        """
        return self._fitted_card().bins(self._rows(X))

    def decision_function(self, X: Any) -> Floats:
        """Return totals less `cut_`: positive where `predict` says ``classes_[1]``.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of float of shape (n_samples,)
            Integers, greater for rows that rank higher, stored as floats because scikit-learn's
            tools, such as ``CalibratedClassifierCV``, need floats.
        """
        return self._score_validated(X)

    def _score_validated(self, X: Any) -> Floats:
        return (self._totals(X) - self.cut_).astype(np.float64)

    def _totals(self, X: Any) -> Indices:
        return self._fitted_card().totals(self._rows(X))

    def predict_risk(self, X: Any) -> Floats:
        """Return the probability of ``classes_[1]`` for each row, from the risk table.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples,)
            Probabilities. They are interpolated for totals between those of the table; totals
            beyond it have the probability of the nearest one.
        """
        return probability(self._fitted_card(), self._totals(X))

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
            Columns are those of `classes_`; the second is `predict_risk`. A card without risk
            table has no such method.
        """
        risk = self.predict_risk(X)
        return np.column_stack([1 - risk, risk])

    def recalibrate(self, X: Any, y: Any, *, sample_weight: Any = None) -> Self:
        """Return a card with the same points whose probabilities are those of other rows.

        One curve is fitted to the totals of the rows: the risk table, the cut and, with odds in
        `scaling`, points to double the odds and the odds at "score" (in the details of the card)
        follow it together. The details state the rows and the former curve.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Rows that the card was not fitted to, such as those of a recent period.
        y : array-like of shape (n_samples,)
            Their classes; both must occur.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities: weight 2 equals the row twice.

        Returns
        -------
        Scorecard
            A fitted scorecard. This one stays as it is.

        Raises
        ------
        ValueError
            When y has a class that the card does not know, or only one of its classes.

        Examples
        --------
        >>> from sklearn_rank.datasets import make_credit
        >>> from sklearn_rank.scorecard import Scorecard
        >>> old, new = make_credit(2000, random_state=0), make_credit(2000, random_state=1)
        >>> scaling = {"pdo": 20, "score": 600, "odds": 0.05}
        >>> scorecard = Scorecard(p=1, scaling=scaling, random_state=0).fit(old.data, old.target)
        >>> recalibrated = scorecard.recalibrate(new.data, new.target)
        >>> recalibrated.card_.details["recalibration_rows"]
        2000.0
        >>> bool((recalibrated.points_of(new.data) == scorecard.points_of(new.data)).all())
        True
        """
        totals = self._totals(X).astype(np.float64)
        is_upper = is_upper_label(type(self).__name__, y, self.classes_, sample_weight)
        check_lengths(X=totals, y=is_upper)
        weight = check_weight(sample_weight, len(totals))
        check_weight_range("recalibrate", weight[weight > 0])
        kept = weight > 0
        if len(np.unique(is_upper[kept])) < 2:
            raise ValueError(
                f"recalibrate needs rows of both classes, {self.classes_.tolist()}. All rows of y "
                "are of one class."
            )
        card = recalibrated(self.card_, totals[kept], is_upper[kept], weight[kept])
        found = copy(self)
        found.card_, found.cut_ = card, card.cut
        return found

    def risk_intervals(
        self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None, n_fits: int = 50
    ) -> Any:
        """Return the risk table with intervals that repeat the fit of the whole card.

        The intervals of `risk_table_` take the card as it is. Here the rows are redrawn (each
        counts as often as a Poisson variable with its weight as mean; with `qid` whole queries)
        and a card is fitted to them, `n_fits` times, with all searches that the parameters ask
        for. So the choice of variables, bins and points is part of what varies. With
        ``unseen="refuse"`` values that were not redrawn have neutral points in these fits.

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            The training rows.
        y : array-like of shape (n_samples,)
            Classes.
        qid : array-like of shape (n_samples,), default=None
            Query of each row, if the card was fitted with queries.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.
        n_fits : int in [2, inf), default=50
            Number of fits.

        Returns
        -------
        pandas.DataFrame
            Columns total, risk, low and high, for the totals of the rows. `random_state` is the
            seed of the draws.

        Raises
        ------
        ValueError
            When `n_fits` is not as described, or the card has no ranker that can be fitted.
        """
        card = self._fitted_card()
        check_parameters("risk_intervals", {"n_fits": n_fits}, {"n_fits": Number(2, integer=True)})
        if not hasattr(self, "ranker_") or isinstance(self.ranker, FrozenEstimator):
            raise ValueError(
                "risk_intervals fits the card again, which one of from_json or of a frozen ranker "
                "can't be. Use risk_table_, which takes the card as it is."
            )
        check_qid_given(self, qid)
        is_upper = is_upper_label(type(self).__name__, y, self.classes_, sample_weight)
        check_lengths(X=card.totals(self._rows(X)), y=is_upper)
        weight = check_weight(sample_weight, len(is_upper))
        rows = refitted_table(self, X, y, is_upper, weight, qid, int(n_fits))
        pandas = import_extra("pandas", "cli", "The risk table of a scorecard")
        return pandas.DataFrame(rows, columns=["total", "risk", "low", "high"])

    def score_rows(self, X: Floats) -> Floats:
        """Return the totals of checked rows.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features as `check_rows` of `ranker_` returns them.

        Returns
        -------
        ndarray of shape (n_samples,)
            Totals.
        """
        codes = self.ranker_.category_codes_
        rows = X if codes is None else codes.decode(X)
        return self._fitted_card().totals(rows).astype(np.float64)

    def sizes(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> Any:
        """Return the score of cards of 1, 2, ..., `max_terms` terms on rows held out.

        All sizes are fitted in all folds of `cv` and `n_repeats`, without rounding, at the p,
        ridge, smallest bin and maximum number of pairs of this card; before a fit, at the first
        candidates for each (Notes).

        Parameters
        ----------
        X : {array-like, data frame} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Two classes.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; folds are of whole queries.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        DataFrame
            Columns n_terms, score (the mean of `scoring` over the folds), error (the standard error
            of its difference to the best, as in the search) and chosen (whether it is the fewest
            terms within one standard error of the best). Above 20 terms about 20 sizes are tried,
            each larger than the one before by the same factor. Needs pandas.

        Raises
        ------
        ValueError
            When max_terms is None, the ranker is frozen, or there are fewer than two folds.
        """
        self.check_parameters()
        if self.max_terms is None or isinstance(self.ranker, FrozenEstimator):
            raise ValueError(
                "sizes needs max_terms, the largest size, and a ranker to fit. Got "
                f"max_terms={self.max_terms!r} and ranker={self.ranker!r}."
            )
        ranker = self.unfitted_ranker()
        data = ranker.training_data(X, y, qid=qid, sample_weight=sample_weight)
        folds = None if self.has_number_of_folds else given_folds(data, self.cv, y, qid)
        search = Plan.of(self, data, ranker, folds, repeats=True).search
        if hasattr(self, "ranker_"):
            known = {"p": self.p_, "alpha": self.alpha_, "min_bin_size": self.min_bin_size_}
            known["max_pairs"] = self.card_.details["most_pairs"]
            search.settings |= {name: known[name] for name in known.keys() & search.settings}
        records = search.compare("n_terms", sizes_up_to(self.max_terms))
        pandas = import_extra("pandas", "cli", "The curve of sizes of a scorecard")
        found = pandas.DataFrame(records).rename(columns={"value": "n_terms"})
        return found[["n_terms", "score", "error", "chosen"]]

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Return a fitted scorecard from what `to_json` wrote, without its ranker.

        Parameters
        ----------
        text : str or bytes
            The document; one edited by hand is checked.

        Returns
        -------
        Scorecard
            It scores rows and exports the card. Its parameters are the defaults.

        Raises
        ------
        ValueError
            With a sentence that says what is wrong with the document.
        """
        card = card_from_json(text)
        classes = np.array(card.classes)
        if list(map(type, classes.tolist())) != list(map(type, card.classes)):
            classes = np.array(card.classes, dtype=object)  # "bad" and 1 stay what they are
        return cls()._set_card(card, classes, bool(card.details.get("queries")))

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's description."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False)
        return tags
