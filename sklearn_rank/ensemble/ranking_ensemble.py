"""An ensemble of rankers and classifiers, selected for a ranking metric."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit
from sklearn.utils import Tags, check_random_state, check_X_y, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter, validate_data

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FOLDS,
    Constraint,
    Described,
    Number,
    categorical_positions,
    check_column,
    check_columns,
    check_finite,
    check_floats,
    check_lengths,
    is_data_frame,
)
from sklearn_rank.base import BaseRanker
from sklearn_rank.ensemble.contributions import background_of, quick_parts, sampled_parts
from sklearn_rank.ensemble.members import (
    FrameRows,
    auto_members,
    cross_fit,
    fit_keywords,
    fit_member,
    given_rows,
    make_folds,
    member_scores,
    rows_fitted_to,
)
from sklearn_rank.ensemble.selection import HeldOutLabels, select_members
from sklearn_rank.metrics.scorers import SCORING, last_step, scoring_method
from sklearn_rank.objectives import error_cut


def _are_members(value: Any) -> bool:
    """Whether a value is "auto" or a list of named estimators."""
    if isinstance(value, str):
        return value == "auto"
    try:
        names, members = zip(*value, strict=True)
    except (TypeError, ValueError):
        return False
    kept = [member for member in members if not (isinstance(member, str) and member == "drop")]
    is_named = all(isinstance(name, str) and name and "__" not in name for name in names)
    is_free = not set(names) & set(RankingEnsemble._get_param_names())
    can_fit = all(hasattr(member, "fit") and not isinstance(member, type) for member in kept)
    return is_named and is_free and can_fit and bool(kept) and len(set(names)) == len(names)


class RankingEnsemble(BaseRanker):
    r"""An ensemble of rankers and classifiers, selected for a ranking metric.

    Use it when the ranking matters more than the time and nobody needs to read the model: on most
    data a weighted mean of different models, with weights chosen for the top of the list, ranks
    new rows better than the best of them. It has default members; any classifier, regressor or
    ranker with the interface of scikit-learn can be a member.

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
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ensemble is a scikit-learn classifier. "graded": numbers.
        Classifiers among the members then learn whether the relevance is above 0, or where no row
        or every row is, whether it is above the lowest.
    n_jobs : int or None, default=None
        Number of processes that share the folds of a member and the last fits, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of `n_bags`, of `background_` and of the members of "auto".
    verbose : int, default=0
        1 prints the progress of the fits, as joblib does.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each member, by name.
    estimators_ : dict of str to estimator
        The fitted members of positive weight.
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
    offset_ : float
        Binary mode: added to the scores by `decision_function`: minus the threshold with the
        smallest weighted error on the held-out rows.
    background_ : list of ndarray
        The columns of 50 training rows, drawn by weight, where `contributions` are sampled: the
        model holds data of these rows.
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
    - "extra_trees", 150 of scikit-learn's ``ExtraTreesClassifier`` on such features, unless X is
      sparse; a regressor for grades;
    - "trees", a `BoostedTreesRanker`; with queries, unit weights and integer grades up to 31
      "trees_ndcg" with ``loss="ndcg"``, where XGBoost or LightGBM is installed;
    - "rbf_kernel", a `KernelPairwiseSGDRanker` on such features, in one list of up to 5,000 rows.

    *Maps*. A member that was fitted to all rows keeps the map of its folds: its scores of the
    training rows are unlike those of new rows.

    *Honesty*. The choice of members and weights does not flatter `score_estimate_`, unlike the best
    of `member_scores_`. But the models of the other folds, whose scores chose the weights, were
    fitted to rows of this fold; and all models of folds had fewer rows than the final ones, which
    makes the estimate a little too low.

    *Members* that are classifiers learn the classes 0 and 1, 1 for ``classes_[1]``, whatever the
    labels are: parameters such as `class_weight` name 0 and 1. Members get `qid` and
    `sample_weight` where their `fit` has them, also as steps of a pipeline; rows of different
    weight and a member without weights are an error. With metadata routing their `fit` gets what
    it requests. They score rows without `qid`: a step such as `QueryMinMaxScaler`, which needs it,
    belongs before the ensemble, not in a member. In a data frame they see the frame.

    *Features*. `contributions` divides scores among the features; the members, `estimators_`, may
    have importances, and scikit-learn's `permutation_importance` looks at the ensemble as a whole.

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
        "scoring": SCORING,
        "cv": FOLDS,
        "n_steps": Number(1, integer=True),
        "n_bags": Number(1, integer=True),
    }

    def __init__(
        self,
        estimators: Any = "auto",
        *,
        scoring: Any = None,
        cv: Any = 5,
        n_steps: int = 25,
        n_bags: int = 1,
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
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # Parameters ------------------------------------------------------------------------

    @property
    def _named(self) -> list[tuple[str, Any]]:
        """The members of the parameter; none for "auto" and for what is no list of members."""
        return [] if self._is_auto or not _are_members(self.estimators) else [*self.estimators]

    @property
    def _kept(self) -> dict[str, Any]:
        """The members of the parameter that are not dropped."""
        return {name: member for name, member in self._named if not isinstance(member, str)}

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
        params: dict[str, Any] = super().get_params(deep=False)
        for name, member in self._named if deep else ():
            params[name] = member
            if hasattr(member, "get_params"):
                params |= {f"{name}__{key}": value for key, value in member.get_params().items()}
        return params

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
        self.estimators = params.pop("estimators", self.estimators)
        if any(name in params for name, _ in self._named):
            self.estimators = [(name, params.pop(name, member)) for name, member in self._named]
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
            With ``estimators="auto"``, when scores of a row that was held out are not finite, and
            for everything that `fit` refuses.
        """
        if self._is_auto:
            raise ValueError("fit_selected needs estimators=[(name, estimator), ...]. Got 'auto'.")
        scores = {name: check_floats(out_of_fold[name], name) for name in self._kept}
        fold = check_floats(fold, "fold")
        check_lengths(y=check_column(y, "y"), fold=fold, **scores)
        fit = partial(self._fit, scores=scores, cv=PredefinedSplit(fold))
        return self._learn(X, y, qid, sample_weight, fit=fit)

    def _fit(self, data: Rows, scores: Any = None, cv: Any = None) -> dict[str, Any]:
        """Learn; where scores of held-out rows exist already, without the fits of the folds."""
        random = check_random_state(self.random_state)
        seeds = [int(random.randint(2**31 - 1)) for _ in range(4)]
        members = auto_members(data, seeds[0], self.relevance) if self._is_auto else self._kept
        # The members of "auto" are fitted without metadata routing.
        routes = get_config()["enable_metadata_routing"] and not self._is_auto
        context = config_context(enable_metadata_routing=routes)
        with Parallel(n_jobs=self.n_jobs, verbose=self.verbose) as parallel, context:
            fits = self._fits(members, data)
            rows, splits, fold = make_folds(type(self).__name__, data, cv or self.cv, seeds[1])
            if scores is None:
                scores = cross_fit(parallel, fits, rows, splits)
            else:
                scores = {name: x[data.position] for name, x in scores.items()}
            scored = np.flatnonzero(fold >= 0)
            held_out = rows.take(scored)
            methods = {name: scoring_method(member) for name, member in members.items()}
            selection = select_members(
                {name: check_finite(x[scored], name) for name, x in scores.items()},
                HeldOutLabels(held_out.y, fold[scored], held_out.weight, held_out.qid),
                of_probability={name: m == "predict_proba" for name, m in methods.items()},
                scoring=self.scoring,
                n_steps=self.n_steps,
                n_bags=self.n_bags,
                random_state=seeds[2],
                fitted_to=rows_fitted_to(splits, fold),
            )
            chosen = [name for name, weight in selection.weights.items() if weight > 0]
            models = parallel(delayed(fits[name])(data) for name in chosen)
        fitted = {
            "estimators_": dict(zip(chosen, models, strict=True)),
            "weights_": selection.weights,
            "maps_": selection.maps,
            "member_scores_": selection.member_scores,
            "score_estimate_": selection.score_estimate,
            "n_folds_": len(splits),
            **background_of(models, data, seeds[3]),
        }
        if self.relevance == "binary":
            pairs = held_out.preferences
            ranked, positive = selection.scores[pairs.order], held_out.y[pairs.order]
            fitted["offset_"] = -error_cut(ranked, positive, pairs.weight, pairs)
        return fitted

    def _fits(self, members: Mapping[str, Any], data: Rows) -> dict[str, partial[Any]]:
        """Return by name the function that fits a member to rows, with its metadata."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **{name: name for name in data.metadata})
            keywords = {name: dict(routed[name].fit) for name in members}
        else:
            keywords = {name: fit_keywords(m, data.metadata) for name, m in members.items()}
            is_weighted = not (data.weight == data.weight[0]).all()
            for name, member in members.items():
                if is_weighted and not has_fit_parameter(last_step(clone(member)), "sample_weight"):
                    raise ValueError(
                        f"Member {name!r} of {type(self).__name__} has no sample_weight, and the "
                        f"rows have different weights: leave it out, set_params({name}='drop')."
                    )
        return {name: partial(fit_member, m, keywords[name]) for name, m in members.items()}

    # Scores ----------------------------------------------------------------------------

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        total = np.zeros(X.shape[0])
        for name, member in self.estimators_.items():
            total += self.weights_[name] * self.maps_[name](member_scores(name, member, X))
        return total

    def contributions(self, X: Any) -> Floats:
        r"""Return the contribution of each feature to the score of each row.

        .. math:: \sum_k w_k \, \frac{m_k(f_k(x)) - m_k(c_k)}{f_k(x) - c_k} \, \phi_{kj}(x)

        where :math:`w_k` is the weight of member k, :math:`m_k` its map, :math:`f_k` its score,
        :math:`c_k` its constant and :math:`\phi_{kj}` the contribution of feature j to
        :math:`f_k - c_k`: that of the member follows the slope of its map (`ScoreMap.secant`).
        Contributions of a member are, by its last step if it is a pipeline that keeps columns,
        scales or fills them or makes 0/1 columns of them:

        - those of a ranker of this package that has `contributions`;
        - *differences along the path* of scikit-learn's ``ExtraTrees``, ``RandomForest`` and
          ``DecisionTree``: what the values of the nodes change by at the splits of a feature,
          which is fast. They are no Shapley values: a split near the root counts less than one
          below it. The constant is the mean of the values of the roots;
        - for all others Shapley values, sampled by 100 orders of the columns against 50 training
          rows, `background_`. The constant is their mean score. It takes 100 (n_features + 1)
          scores for each row. For these rows they are exact where the score is a sum of functions
          of one or two features, else there is noise.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features; up to 1,000 rows and features where a member is sampled.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1)
            The contribution of each feature to the score of the row. The last column is the
            constant, the sum of :math:`w_k m_k(c_k)`, in binary mode plus `offset_`. Rows sum to
            ``decision_function(X)``, in graded mode to ``predict(X)``.

        Raises
        ------
        ValueError
            For more rows or features where a member is sampled.

        References
        ----------
        Lundberg2017 (Shapley values of a prediction); the slopes: defined here.
        """
        return super().contributions(X)

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        parts, total, background = np.zeros(X.shape), 0.0, getattr(self, "background_", ())
        for name, member in self.estimators_.items():
            quick = quick_parts(member, X)
            member_parts, constant = quick or sampled_parts(name, member, X, background)
            weight, to_common = self.weights_[name], self.maps_[name]
            # Of the scores, not of their parts, which don't add up to a probability of exactly 1.
            slopes = to_common.secant(constant, member_scores(name, member, X))
            parts += weight * slopes[:, np.newaxis] * member_parts
            total += weight * float(to_common(constant))
        return parts, total

    # Rows ------------------------------------------------------------------------------

    def _validate_features(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        X = given_rows(X)
        if not is_data_frame(X):
            return super()._validate_features(X, reset=reset, **options)
        validate_data(self, X, reset=reset, skip_check_array=True)
        if self._is_auto:
            check_columns(type(self).__name__, X, self._advice, categorical_positions(X))
        if "y" not in options:
            return FrameRows(X)
        return FrameRows(X), check_X_y(np.zeros((len(X), 1)), options.pop("y"), **options)[1]

    @property
    def _advice(self) -> str:
        return ", or categories, of dtype 'category'; pipelines as members may encode other columns"

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
        inputs = [get_tags(member).input_tags for member in self._kept.values()]
        tags.input_tags.sparse = all(member.sparse for member in inputs)
        tags.input_tags.allow_nan = all(member.allow_nan for member in inputs)
        return tags
