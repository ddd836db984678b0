"""An ensemble of rankers and classifiers, selected for a ranking metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.utils import Tags, check_random_state, check_X_y, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FLAG,
    FOLDS,
    Constraint,
    Described,
    Number,
    OrNone,
    check_column,
    check_columns,
    check_floats,
    is_data_frame,
)
from sklearn_rank.base import BaseRanker, has_contributions
from sklearn_rank.ensemble.evaluation import HeldOutLabels
from sklearn_rank.ensemble.folds import Splits, fold_of_rows, make_splits, rows_fitted_to
from sklearn_rank.ensemble.members import (
    Table,
    auto_members,
    fit_keywords,
    fit_member,
    given_rows,
    member_scores,
    takes_weights,
)
from sklearn_rank.ensemble.selection import Selection, select_members
from sklearn_rank.metrics.scorers import SCORING, scoring_method
from sklearn_rank.objectives import error_cut

Known = tuple[dict[str, Floats], Floats]
"""Scores of members by name, and the fold of each row, as `fit_selected` takes them."""


def _are_members(value: Any) -> bool:
    """Whether a value is "auto" or a list of named estimators."""
    if isinstance(value, str):
        return value == "auto"
    try:
        names = [name for name, _ in value]
        kept = [one for _, one in value if not (isinstance(one, str) and one == "drop")]
    except (TypeError, ValueError):
        return False
    is_named = all(isinstance(name, str) and name and "__" not in name for name in names)
    is_free = not set(names) & set(RankingEnsemble._get_param_names())
    can_fit = all(hasattr(one, "fit") and not isinstance(one, type) for one in kept)
    return is_named and is_free and can_fit and bool(kept) and len(set(names)) == len(names)


def _parts(estimator: Any) -> list[Any]:
    """Return the models of a member: one, or with refit=False one for each fold."""
    return estimator if isinstance(estimator, list) else [estimator]


class RankingEnsemble(BaseRanker):
    r"""An ensemble of rankers and classifiers, selected for a ranking metric.

    Use it when the list matters more than the time and the model need not be read: on most data
    several different models, averaged by weights chosen for the top of the list, rank new rows
    better than the best of them. As it comes it brings its own members; any classifier, regressor
    or ranker of scikit-learn's kind can be one.

    Call ``fit(X, y)``, then sort rows by decreasing ``decision_function(X)`` (two classes) or,
    with ``relevance="graded"``, by decreasing ``predict(X)``. If rows belong to queries, pass
    ``fit(X, y, qid=...)``. The score of a row is

    .. math:: f(x) = \sum_j w_j \, m_j(f_j(x)), \qquad w_j \ge 0, \quad \sum_j w_j = 1

    where

    - :math:`f_j` are the scores of member j: its decision function, else the log-odds of its
      probability, else what it predicts;
    - :math:`m_j` is the `ScoreMap` of the member, increasing and the same for every row: in one
      list it brings scores to normal scores, with queries it divides by a standard deviation;
    - :math:`w_j` are the weights of `greedy_weights` on rows that members have not seen.

    A fit has four steps: (1) each member is fitted to all but one fold of the rows, in turn, and
    scores the fold left out; (2) the maps are learnt from these scores; (3) the weights are chosen
    on them; (4) members of positive weight are fitted to all rows.

    Parameters
    ----------
    estimators : "auto" or list of (str, estimator), default="auto"
        Members by name, simple ones first: of equally good ones the first is taken. An estimator
        may be "drop". "auto" is a list that depends on the rows (Notes).
    scoring : str, scorer or None, default=None
        What the weights maximise: a name that `metrics.ranking_scorer` accepts. None: for two
        classes in one list the partial AUC up to a false positive rate of 0.1 plus 0.2 times the
        AUC; for two classes with queries the mean AUC within queries; for grades from 0 to 31 with
        queries NDCG@10, which has no weights: with sample weights, other grades, and for grades in
        one list, the AUC. In one list it is the mean over the folds.
    cv : int in [2, inf), splitter or iterable, default=5
        Number of folds: whole queries are held out, and rows with the same features together,
        but features with more than a hundredth of all weight give each fold its share of it.
        Folds are stratified; with fewer rows of a class than folds there are fewer folds, with a
        warning.
        Or a splitter of scikit-learn's kind, which sees the rows of positive weight. Or (train,
        test) arrays of row numbers, or masks, of the rows of X as they are passed: rows of weight
        zero are left out of them, and folds that hold out no other rows are left out, too. So it
        is with the ``PredefinedSplit`` of scikit-learn. Folds must hold out whole queries, and a
        row at most once; rows that are never held out serve in training only.
    n_steps : int in [1, inf), default=25
        Maximum number of steps of the selection.
    n_bags : int in [1, inf), default=1
        Number of selections whose weights are averaged, if above 1 each from a random half of
        the members.
    refit : bool, default=True
        Whether members are fitted to all rows at the end. False: the scores of the models of the
        folds are averaged, which saves the last fits and takes longer to predict.
    time_budget : float in (0, inf) or None, default=None
        Seconds after which no further member is begun. Members are fitted in all folds or not at
        all, the first one always. The last fits, to all rows, come on top.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ensemble is a scikit-learn classifier. "graded": numbers.
        Classifiers among the members then learn whether the relevance is above 0, or where no row
        or every row is, whether it is above the lowest.
    n_jobs : int or None, default=None
        Number of processes that share the folds of a member and the last fits, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of `n_bags` and of the members of "auto".
    verbose : int, default=0
        1 prints a line for each member.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each member, by name.
    estimators_ : dict of str to estimator
        The fitted members of positive weight; with ``refit=False`` a list of models for each.
    maps_ : dict of str to ScoreMap
        Map of the scores of each member.
    member_scores_ : dict of str to dict of str to Estimate
        Figures of each member on the rows that its folds held out, by metric, with standard
        errors and intervals: "auc", for two classes in one list "pauc@0.05", for grades from
        0 to 31 with queries "ndcg@10", which has no weights and is left out where they differ, and
        `scoring`.
    score_estimate_ : dict of str to Estimate
        The same of the ensemble, with weights for each fold that were chosen on the others. It is
        nearly honest: the members of the other folds have seen the fold (Notes). Where the train
        sets of `cv` are not all the other rows, as with periods, the weights of a fold come from
        the rows of its train set that other folds hold out, and are equal where these hold no
        comparable pair, as in the first period.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Mean of the importances of the members by weight, where all of them have importances.
    offset_ : float
        Binary mode: added to the scores by `decision_function`: minus the threshold with the
        smallest weighted error on the held-out rows.
    n_folds_ : int
        Number of folds.
    classes_ : ndarray of shape (2,)
        Binary mode: the classes; the second belongs at the top.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has them.

    See Also
    --------
    select_members : The selection alone, from scores that exist already.
    sklearn_rank.BoostedTreesRanker : The most flexible single ranker.

    Notes
    -----
    *The list "auto"*, each member where its condition holds:

    - "logistic_regression", on scaled features, with categories as 0/1 columns, which stay as they
      are: divided by their deviation those of rare categories would escape the penalty;
    - "linear", a `KernelPairwiseSGDRanker` with ``kernel="linear"`` on such features, with
      queries;
    - "stumps", a `PNormPushRanker`, unless X is sparse;
    - "hist_gradient_boosting" of scikit-learn from 200 rows on, unless X is sparse, a category
      has more than 255 values or a column fewer than 20; a regressor for grades;
    - "trees", a `BoostedTreesRanker`, and in one list "trees_p4" with p = 4, with queries, unit
      weights and integer grades up to 31 "trees_ndcg" with ``loss="ndcg"``, where XGBoost or
      LightGBM is installed;
    - "rbf_kernel", a `KernelPairwiseSGDRanker` on such features, in one list of up to 5,000 rows.

    *Maps*. A member that was fitted to all rows is mapped by the function of its folds: it has
    seen the training rows, whose scores would not be those of new rows.

    *Honesty*. `score_estimate_` is not flattered by the choice of members and weights, as the
    best of `member_scores_` is. But the models of the other folds, whose scores chose the weights,
    were fitted to rows of this one; and all models of folds saw fewer rows than the last ones,
    which makes the estimate rather too low.

    *Members* that are classifiers learn the classes 0 and 1, 1 for ``classes_[1]``, whatever the
    labels are: parameters such as `class_weight` name 0 and 1. Members get `qid` and
    `sample_weight` where their `fit` has them, also as steps of a pipeline; rows of different
    weight and a member without weights are an error. With metadata routing their `fit` gets what
    it requests. They score rows without `qid`: a step such as `QueryMinMaxScaler`, which needs it,
    belongs before the ensemble, not in a member. In a data frame they see the frame.

    `contributions` exists where all members have it. In one list it is measured from the mean
    scores of the members, and is not made of Shapley values.

    References
    ----------
    Caruana2004 (the selection). The maps and the estimate: defined here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import train_test_split
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.ensemble import RankingEnsemble
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, X_new, y, y_new = train_test_split(X, y == 0, random_state=0)
    >>> linear = make_pipeline(StandardScaler(), LogisticRegression())
    >>> members = [("linear", linear), ("stumps", RankBoost())]
    >>> ensemble = RankingEnsemble(members, random_state=0).fit(X, y)
    >>> ensemble.score(X_new, y_new) > 0.99
    True
    >>> sorted(ensemble.weights_)
    ['linear', 'stumps']
    >>> estimate = ensemble.score_estimate_["auc"]
    >>> estimate.low < estimate.value <= estimate.high
    True
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BaseRanker._allowed,
        "estimators": Described(
            "'auto' or a list of (name, estimator) pairs, at least one of them not 'drop', with "
            "different names that are no parameters and have no '__'",
            _are_members,
        ),
        "scoring": OrNone(SCORING),
        "cv": FOLDS,
        "n_steps": Number(1, integer=True),
        "n_bags": Number(1, integer=True),
        "refit": FLAG,
        "time_budget": Number(0, closed="neither", other=(None,)),
    }

    def __init__(
        self,
        estimators: Any = "auto",
        *,
        scoring: Any = None,
        cv: Any = 5,
        n_steps: int = 25,
        n_bags: int = 1,
        refit: bool = True,
        time_budget: float | None = None,
        relevance: str = "binary",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.scoring = scoring
        self.cv = cv
        self.n_steps = n_steps
        self.n_bags = n_bags
        self.refit = refit
        self.time_budget = time_budget
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # Parameters ------------------------------------------------------------------------

    @property
    def _named(self) -> dict[str, Any]:
        """The members of the parameter by name; of "auto", and of what is no list, none."""
        return dict(self.estimators) if _are_members(self.estimators) and not self._is_auto else {}

    @property
    def _kept(self) -> dict[str, Any]:
        """The members of the parameter that are not dropped."""
        return {name: one for name, one in self._named.items() if not isinstance(one, str)}

    @property
    def _is_auto(self) -> bool:
        return isinstance(self.estimators, str)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, with ``deep`` those of members, too.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return the members by name, and their parameters as ``name__parameter``.

        Returns
        -------
        dict of str to object
            Parameters by name.
        """
        found: dict[str, Any] = super().get_params(deep=False)
        for name, one in self._named.items() if deep else ():
            found[name] = one
            if hasattr(one, "get_params"):
                found |= {f"{name}__{key}": value for key, value in one.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters, members by name and their parameters as ``name__parameter``.

        Parameters
        ----------
        **params : dict
            Parameters by name. A member that is set to "drop" is left out.

        Returns
        -------
        self : object
            The ensemble.
        """
        if "estimators" in params:
            self.estimators = params.pop("estimators")
        given = {name: params.pop(name) for name in self._named.keys() & params.keys()}
        if given:
            self.estimators = [(name, given.get(name, one)) for name, one in self.estimators]
        return super().set_params(**params)

    # Fitting ---------------------------------------------------------------------------

    def fit_selected(
        self,
        X: Any,
        y: Any,
        *,
        out_of_fold: Mapping[str, Any],
        fold: Any,
        qid: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Select from scores of held-out rows that exist already, and refit the members.

        As `fit`, without the fits of the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        out_of_fold : mapping of str to array-like of shape (n_samples,)
            Scores of each member by its name in `estimators`: of a row the score by a clone that
            was fitted without the fold of the row. It is the member's ``decision_function``, else
            its probability of the greater class, else what it predicts.
        fold : array-like of int of shape (n_samples,)
            Fold that held out each row, -1 for rows that no fold has held out, whose scores are
            not used. `score_estimate_` takes the weights of a fold from all other folds, of periods
            from later ones, too: for others see `select_members`.
        qid : array-like of shape (n_samples,), default=None
            Query of each row; a query lies in one fold.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        self : object
            The fitted ensemble.

        Raises
        ------
        ValueError
            With ``estimators="auto"`` or ``refit=False``, when scores of a member are missing or
            not finite, when they or `fold` are not one value for each row, when `fold` has other
            than whole numbers, and for everything that `fit` refuses.
        """
        name = type(self).__name__
        if self._is_auto or not self.refit:
            raise ValueError(
                f"fit_selected of {name} needs estimators=[(name, estimator), ...], and "
                f"refit=True. Got estimators={self.estimators!r}, refit={self.refit!r}."
            )
        scores = {key: check_floats(one, key) for key, one in out_of_fold.items()}
        fold, n_rows = check_floats(fold, "fold"), len(check_column(y, "y"))
        for key, one in [("fold", fold), *scores.items()]:
            if len(one) != n_rows:
                raise ValueError(
                    f"{key} of {name} must have one value for each row of X. Got {len(one)} values "
                    f"for {n_rows} rows."
                )
        is_number = np.isfinite(fold) & (fold == np.floor(fold))
        if not is_number.all():
            raise ValueError(
                f"fold of {name} must hold whole numbers, -1 for rows that no fold has held out. "
                f"Got {fold[~is_number][0]}."
            )
        fit = partial(self._fit, known=(scores, fold))
        return self._learn(X, y, qid, sample_weight, fit=fit)

    def _fit(self, data: Rows, known: Known | None = None) -> dict[str, Any]:
        random = check_random_state(self.random_state)
        seeds = [int(random.randint(2**31 - 1)) for _ in range(3)]
        members = auto_members(data, seeds[0], self.relevance) if self._is_auto else self._kept
        keywords = self._fit_keywords(members, data)
        # The members of "auto" are fitted without metadata routing.
        routes = get_config()["enable_metadata_routing"] and not self._is_auto
        context = config_context(enable_metadata_routing=routes)
        with Parallel(n_jobs=self.n_jobs) as parallel, context:
            divided, splits = data, Splits()
            if known is None:
                divided, splits = make_splits(type(self).__name__, data, self.cv, seeds[1])
                fold = fold_of_rows(type(self).__name__, divided, [test for _, test in splits])
                scores, models = self._cross_fit(parallel, members, keywords, divided, splits)
            else:
                fold, scores, models = *self._take_known(members, data, *known), {}
            selection, offset = self._select(scores, members, divided, fold, splits, seeds[2])
            chosen = [name for name, weight in selection.weights.items() if weight > 0]
            if self.refit:
                fits = (delayed(fit_member)(members[k], data, keywords[k]) for k in chosen)
                models = dict(zip(chosen, parallel(fits), strict=True))
        return {
            "estimators_": {name: models[name] for name in chosen},
            "weights_": selection.weights,
            "maps_": selection.maps,
            "member_scores_": selection.member_scores,
            "score_estimate_": selection.score_estimate,
            "n_folds_": int(fold.max()) + 1,
            **({"offset_": offset} if self.relevance == "binary" else {}),
        }

    def _fit_keywords(self, members: dict[str, Any], data: Rows) -> dict[str, dict[str, str]]:
        """Return which arrays the `fit` of each member takes, by keyword."""
        weighted = not (data.weight == data.weight[0]).all()
        given = ["qid"] * (data.qid is not None)
        given += ["sample_weight"] * bool((data.weight != 1).any())
        if get_config()["enable_metadata_routing"] and not self._is_auto:
            routed = process_routing(self, "fit", **{one: one for one in given})
            return {name: dict(routed[name].fit) for name in members}
        for name, one in members.items():
            if weighted and not takes_weights(one):
                raise ValueError(
                    f"Member {name!r} of {type(self).__name__} has no sample_weight, and the rows "
                    f"have different weights: leave it out, set_params({name}='drop')."
                )
        return {name: fit_keywords(one, given) for name, one in members.items()}

    def _cross_fit(
        self,
        parallel: Any,
        members: dict[str, Any],
        keywords: dict[str, dict[str, str]],
        data: Rows,
        splits: Splits,
    ) -> tuple[dict[str, Floats], dict[str, list[Any]]]:
        """Return held-out scores of the members that there is time for, and their models."""
        start = perf_counter()
        scores: dict[str, Floats] = {}
        models: dict[str, list[Any]] = {}
        for number, (name, one) in enumerate(members.items(), start=1):
            began = perf_counter()
            if scores and self.time_budget is not None and began - start >= self.time_budget:
                break
            given = (name, one, data, keywords[name])
            found = parallel(delayed(_fit_fold)(*given, *rows, self.refit) for rows in splits)
            scores[name] = np.full(len(data.y), np.nan)
            for (_, test), (values, _) in zip(splits, found, strict=True):
                scores[name][test] = values
            models[name] = [model for _, model in found]
            if self.verbose:
                print(
                    f"[{type(self).__name__}] member {number}/{len(members)}: {name}, "
                    f"{len(splits)} folds in {perf_counter() - began:.1f} s"
                )
        return scores, models

    def _take_known(
        self, members: dict[str, Any], data: Rows, scores: dict[str, Floats], given: Floats
    ) -> tuple[Indices, dict[str, Floats]]:
        """Return the folds and scores that `fit_selected` got, of rows of positive weight."""
        owner, given = type(self).__name__, given[data.position]
        if sorted(scores) != sorted(members):
            raise ValueError(
                f"out_of_fold of {owner} must have scores of each member: {sorted(members)}. Got "
                f"{sorted(scores)}."
            )
        numbers = np.unique(given[given >= 0])
        fold = fold_of_rows(owner, data, [np.flatnonzero(given == one) for one in numbers])
        known = {name: scores[name][data.position] for name in members}
        for name, one in known.items():
            if not np.isfinite(one[fold >= 0]).all():
                raise ValueError(f"Scores {name!r} of held-out rows of {owner} must be finite.")
        return fold, known

    def _select(
        self,
        scores: dict[str, Floats],
        members: dict[str, Any],
        data: Rows,
        fold: Indices,
        splits: Splits,
        seed: int,
    ) -> tuple[Selection, float]:
        """Return the selection on the rows that were held out, and the offset of binary mode."""
        kept = np.flatnonzero(fold >= 0)
        held_out = data.take(kept)
        labels = HeldOutLabels(held_out.y, fold[kept], held_out.weight, held_out.qid)
        kinds = {name: scoring_method(members[name]) == "predict_proba" for name in scores}
        selection = select_members(
            {name: one[kept] for name, one in scores.items()},
            labels,
            of_probability=kinds,
            scoring=self.scoring,
            n_steps=self.n_steps,
            n_bags=self.n_bags,
            random_state=seed,
            fitted_to=rows_fitted_to(splits, fold),
        )
        if self.relevance == "graded":
            return selection, 0.0
        pairs = held_out.preferences
        positive = held_out.y[pairs.order]
        return selection, -error_cut(selection.scores[pairs.order], positive, pairs.weight, pairs)

    # Scores ----------------------------------------------------------------------------

    def weighted_parts(self) -> Iterator[tuple[str, Any, float]]:
        """Yield the fitted models whose mapped scores are summed.

        Yields
        ------
        tuple of (str, estimator, float)
            Name of the member, a model, and its weight: with ``refit=False`` the models of the
            folds share the weight of their member.
        """
        for name, one in self.estimators_.items():
            parts = _parts(one)
            yield from ((name, part, self.weights_[name] / len(parts)) for part in parts)

    def _score_rows(self, X: Any) -> Floats:
        total = np.zeros(X.shape[0])
        for name, part, share in self.weighted_parts():
            total += share * self.maps_[name](member_scores(name, part, X))
        return total

    @property
    def feature_importances_(self) -> Floats:
        """Mean of the importances of the members by weight, each scaled to the sum 1."""
        check_is_fitted(self)
        total = np.zeros(self.n_features_in_)
        for name, part, share in self.weighted_parts():
            if not hasattr(part, "feature_importances_"):
                raise AttributeError(
                    f"{type(self).__name__} has feature_importances_ where each of its members "
                    f"has; {name!r} has none."
                )
            found = np.asarray(part.feature_importances_, dtype=np.float64)
            total += share * found / (found.sum() or 1.0)
        return total

    def _not_additive(self) -> str:
        is_fitted = hasattr(self, "estimators_")
        members = self.estimators_ if is_fitted else self._kept
        lacking = [k for k, one in members.items() if not hasattr(_parts(one)[0], "contributions")]
        if lacking or (self._is_auto and not is_fitted):
            which = f"{lacking[0]!r} has none" if lacking else "those of 'auto' are known after fit"
            return f"and where each of its members has contributions; {which}"
        return ""

    @available_if(has_contributions)
    def contributions(self, X: Any) -> Floats:
        r"""Return the contribution of each feature to the score of each row.

        It is the mean over the members, by their weights, of

        .. math:: c_{jk}(x) \, \frac{m_j(f_j(x)) - m_j(b_j)}{f_j(x) - b_j}

        where :math:`c_{jk}` is the contribution of feature k to the score :math:`f_j` of member j,
        :math:`b_j` the last column of the member's contributions, its mean score, and :math:`m_j`
        its map. On the straight line from :math:`b_j` to :math:`f_j(x)` all features come in by the
        same share, and each gets what the map makes of its part: Aumann and Shapley's price.

        With queries maps multiply by a number: the contributions are then the weighted means of
        those of the members, and Shapley values where theirs are. In one list maps are curves: the
        contributions are no Shapley values, their mean over the training rows need not be zero, and
        the constant is the score at the mean scores of the members, not the mean score.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1)
            The contribution of each feature to the score of the row. The last column is the
            constant, the mean over the members, by their weights, of :math:`m_j(b_j)`, in binary
            mode plus `offset_`. Rows sum to ``decision_function(X)``, in graded mode to
            ``predict(X)``.

        References
        ----------
        Aumann and Shapley's price of a function of a sum; for maps of scores derived here.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_rank import ListNetLinear, RankBoost
        >>> from sklearn_rank.datasets import make_queries
        >>> from sklearn_rank.ensemble import RankingEnsemble
        >>> data = make_queries(random_state=0)
        >>> members = [
        ...     ("linear", ListNetLinear()),
        ...     ("stumps", RankBoost(n_estimators=20, relevance="graded")),
        ... ]
        >>> ensemble = RankingEnsemble(members, relevance="graded", random_state=0)
        >>> ensemble = ensemble.fit(data.data, data.target, qid=data.qid)
        >>> parts = ensemble.contributions(data.data)
        >>> np.allclose(parts.sum(axis=1), ensemble.predict(data.data))
        True
        """
        return super().contributions(X)

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        """Return the contributions of members, each by its weight and the slope of its map."""
        total, mean = np.zeros((X.shape[0], self.n_features_in_)), 0.0
        for name, part, share in self.weighted_parts():
            found = part.contributions(given_rows(X))
            base = found[:, -1]
            slope = self.maps_[name].secant(found.sum(axis=1), base)
            total += share * slope[:, np.newaxis] * found[:, :-1]
            mean += share * float(self.maps_[name](base[:1])[0])
        return total, mean

    # Rows ------------------------------------------------------------------------------

    def _validate_features(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        X = given_rows(X)
        if not is_data_frame(X):
            return super()._validate_features(X, reset=reset, **options)
        validate_data(self, X, reset=reset, skip_check_array=True)
        table = Table(X)
        if self._is_auto:
            check_columns(type(self).__name__, X, self._advice, table.categorical)
        if "y" not in options:
            return table
        return table, check_X_y(np.zeros((len(X), 1)), options.pop("y"), **options)[1]

    @property
    def _advice(self) -> str:
        return (
            ", or categories, of dtype 'category'; estimators=[(name, Pipeline([...])), ...] may "
            "encode other columns"
        )

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where `fit` passes metadata: to itself, and to the `fit` of members.

        Returns
        -------
        MetadataRouter
            scikit-learn's description.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(**self._kept, method_mapping=mapping) if self._kept else router

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's description, the input tags being those that all members have."""
        tags = super().__sklearn_tags__()
        known = [get_tags(one).input_tags for one in self._kept.values()]
        tags.input_tags.sparse = all(one.sparse for one in known)
        tags.input_tags.allow_nan = all(one.allow_nan for one in known)
        return tags


def _fit_fold(
    name: str,
    estimator: Any,
    data: Rows,
    keywords: Mapping[str, str],
    train: Indices,
    test: Indices,
    refit: bool,
) -> tuple[Floats, Any]:
    """Return scores of the rows held out, and the model where it is not fitted anew."""
    model = fit_member(estimator, data.take(train), keywords)
    return member_scores(name, model, data.take(test).X), None if refit else model
