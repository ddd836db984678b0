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
from sklearn_rank.ensemble.contributions import background_of, own_contributions, sampled_shapley
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
    active = [member for member in members if not (isinstance(member, str) and member == "drop")]
    is_named = all(isinstance(name, str) and name and "__" not in name for name in names)
    reserved = RankingEnsemble._get_param_names()
    is_unique = len({*names, *reserved}) == len(names) + len(reserved)
    can_fit = all(hasattr(member, "fit") and not isinstance(member, type) for member in active)
    return is_named and is_unique and can_fit and bool(active)


class _NamedMembers(BaseRanker):
    """A ranker whose parameter `estimators` is a list of named members."""

    estimators: Any

    @property
    def _named(self) -> list[tuple[str, Any]]:
        """The members in the parameter; none for "auto" and for invalid values."""
        return [] if self._is_auto or not _are_members(self.estimators) else [*self.estimators]

    @property
    def _active(self) -> dict[str, Any]:
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

    def get_metadata_routing(self) -> MetadataRouter:
        """Return where `fit` passes metadata: to itself, and to the `fit` of members.

        Returns
        -------
        MetadataRouter
            scikit-learn's description.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(**self._active, method_mapping=mapping) if self._active else router

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags; the input tags are those that all members have."""
        tags = super().__sklearn_tags__()
        input_tags = [get_tags(member).input_tags for member in self._active.values()]
        tags.input_tags.sparse = all(member.sparse for member in input_tags)
        tags.input_tags.allow_nan = all(member.allow_nan for member in input_tags)
        return tags


class RankingEnsemble(_NamedMembers):
    r"""An ensemble of rankers and classifiers, selected for a ranking metric.

    On most data, a weighted mean of different models, with weights chosen for the top of the list,
    ranks new rows better than the best single model; but it takes longer to fit and is hard to
    interpret. Members may be any scikit-learn classifiers, regressors or rankers.

    Sort rows by decreasing ``decision_function(X)``, in graded mode ``predict(X)``. If rows belong
    to queries, pass ``fit(X, y, qid=...)``. The score of a row is

    .. math:: f(x) = \sum_j w_j \, m_j(f_j(x)), \qquad w_j \ge 0, \quad \sum_j w_j = 1

    where

    - :math:`f_j` is the score of member j: its decision function, else the log-odds of its
      probability, else its prediction;
    - :math:`m_j` is the increasing `ScoreMap` of the member: in one list, it returns normal scores;
      with queries, it divides by a standard deviation;
    - :math:`w_j` are the weights of `greedy_weights` on held-out rows.

    A fit (1) scores held-out rows by each member, in cross-validation; (2) learns the maps from
    these scores, which differ from those of training rows; (3) selects the weights on them; (4)
    fits the members with positive weight to all rows.

    Parameters
    ----------
    estimators : "auto" or list of (str, estimator), default="auto"
        Members by name, simple ones first: the first wins a tie. An estimator may be "drop".
        "auto": a list that depends on the data (Notes).
    scoring : str, scorer or None, default=None
        Metric that the weights maximise: a name of `metrics.ranking_scorer`. None: for two classes
        in one list the partial AUC up to a false positive rate of 0.1 plus 0.2 times the AUC; with
        queries, the mean AUC within queries; for unweighted grades from 0 to 31 with queries,
        NDCG@10; for other grades, the AUC. In one list, the mean over the folds is maximised.
    cv : int in [2, inf), splitter or iterable, default=5
        Number of stratified folds of whole queries; fewer, with a warning, if a class has fewer
        rows. Rows with identical features go into the same fold, unless they carry more than 1 % of
        the total weight. Or a splitter of the rows of positive weight. Or (train, test)
        indices or masks of the rows of X, or ``PredefinedSplit``, without rows of weight zero.
        Folds must hold out whole queries, and a row at most once; others serve in training only.
    n_steps : int in [1, inf), default=25
        Maximum number of steps of the selection.
    n_bags : int in [1, inf), default=1
        Number of selections to average; if above 1, each uses a random half of the members.
    relevance : {"binary", "graded"}, default="binary"
        "binary": two classes; the ensemble is a classifier. "graded": numbers; classifiers among
        the members learn which are above 0, or, if all or none are, above the lowest.
    n_jobs : int or None, default=None
        Number of processes that share the folds of a member and the final fits, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the folds, of `n_bags`, of `background_` and of the members of "auto".
    verbose : int, default=0
        1 prints the progress of the fits, as joblib does.

    Attributes
    ----------
    weights_ : dict of str to float
        Weight of each member, by name.
    estimators_ : dict of str to estimator
        The fitted members with positive weight.
    maps_ : dict of str to ScoreMap
        Map of the scores of each member.
    member_scores_ : dict of str to dict of str to Estimate
        Metrics of each member on held-out rows, with standard errors and intervals: "auc", for two
        classes in one list "pauc@0.05", for unweighted grades from 0 to 31 with queries "ndcg@10",
        and `scoring`.
    score_estimate_ : dict of str to Estimate
        The same for the ensemble. Each fold is scored with weights chosen on the other folds
        (Notes); with time periods, on the held-out rows of its training set, or with equal weights
        if these contain no comparable pair.
    offset_ : float
        Binary mode: minus the threshold with the smallest weighted error on the held-out rows,
        which `decision_function` adds to the scores.
    background_ : list of ndarray
        The columns of 50 training rows, drawn by weight, where `contributions` are sampled: a
        stored model contains the data of these rows.
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
    select_members : The selection alone, from given scores.

    Notes
    -----
    *The list "auto"* has each member whose condition holds:

    - "logistic_regression", on scaled features, with categories as unscaled 0/1 columns;
    - "linear", with queries a linear `KernelPairwiseSGDRanker` on such features;
    - "stumps", a `PNormPushRanker`, unless X is sparse;
    - "hist_gradient_boosting" of scikit-learn from 200 rows on, unless X is sparse, a categorical
      feature has more than 255 values or a column fewer than 20; in graded mode, a regressor;
    - "extra_trees", 150 trees on scaled features, unless X is sparse; in graded mode, regressors;
    - "trees", a `BoostedTreesRanker`; with queries, unit weights and integer grades up to 31
      "trees_ndcg" with ``loss="ndcg"``, where XGBoost or LightGBM is installed;
    - "rbf_kernel", a `KernelPairwiseSGDRanker` on such features, in one list of up to 5,000 rows.

    *Bias*. Unlike the best of `member_scores_`, `score_estimate_` is not biased by the choice of
    members and weights. But the models whose scores determined the weights were fitted to rows of
    the fold, and the fold models have fewer training rows, which lowers the estimate slightly.

    *Members* that are classifiers see the classes as 0 and 1, where 1 is ``classes_[1]``; use these
    in parameters such as `class_weight`. Members get `qid` and `sample_weight` if their `fit`
    accepts them, also as steps of a pipeline, or, with metadata routing, what they request;
    weighted rows and a member that does not support weights raise an error. Members predict without
    `qid`, so a step such as `QueryMinMaxScaler` belongs before the ensemble. Data frames are passed
    to members as data frames.

    References
    ----------
    Caruana2004 (the selection). The maps and the estimate: defined here.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.ensemble import RankingEnsemble
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("bayes", GaussianNB()), ("stumps", RankBoost())]
    >>> ensemble = RankingEnsemble(members, random_state=0).fit(X[::2], y[::2])
    >>> ensemble.score(X[1::2], y[1::2]) > 0.98
    True
    >>> ensemble.score_estimate_["auc"].value > 0.98
    True
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        **BaseRanker._allowed,
        "estimators": Described(
            "'auto' or a list of (name, estimator) pairs, at least one of them not 'drop', with "
            "unique names that are not parameters and do not contain '__'",
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
        """Select members from existing scores of held-out rows, and refit them.

        Like `fit`, but without fitting the folds.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        out_of_fold : mapping of str to array-like of shape (n_samples,)
            Scores of each member by its name in `estimators`: each row is scored by a clone that
            was fitted without the fold of the row. The score is the member's ``decision_function``,
            else its probability of the greater class, else its prediction.
        fold : array-like of int of shape (n_samples,)
            Fold that held out each row, -1 for rows that no fold held out; their scores are not
            used. `score_estimate_` takes the weights of a fold from all other folds, including
            later periods; for other choices, see `select_members`.
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
            With ``estimators="auto"``, if scores of a held-out row are not finite, and in all cases
            in which `fit` raises it.
        """
        if self._is_auto:
            raise ValueError("fit_selected needs estimators=[(name, estimator), ...]. Got 'auto'.")
        scores = {name: check_floats(out_of_fold[name], name) for name in self._active}
        fold = check_floats(fold, "fold")
        check_lengths(y=check_column(y, "y"), fold=fold, **scores)
        fit = partial(self._fit, scores=scores, cv=PredefinedSplit(fold))
        return self._learn(X, y, qid, sample_weight, fit=fit)

    def _fit(self, data: Rows, scores: Any = None, cv: Any = None) -> dict[str, Any]:
        """Fit; existing scores of held-out rows replace the fits of the folds."""
        rng = check_random_state(self.random_state)
        seeds = [int(rng.randint(2**31 - 1)) for _ in range(4)]
        # 1) Score held-out rows by each member; seeds of members, folds, selection, background.
        members = auto_members(data, seeds[0], self.relevance) if self._is_auto else self._active
        # The members of "auto" request no metadata: they are fitted without routing.
        is_routed = get_config()["enable_metadata_routing"] and not self._is_auto
        context = config_context(enable_metadata_routing=is_routed)
        with Parallel(n_jobs=self.n_jobs, verbose=self.verbose) as parallel, context:
            fits = self._fits(members, data)
            rows, splits, fold = make_folds(type(self).__name__, data, cv or self.cv, seeds[1])
            if scores is None:
                scores = cross_fit(parallel, fits, rows, splits)
            else:
                scores = {name: values[data.position] for name, values in scores.items()}
            # 2, 3) Learn the maps m_j and select the weights w_j on rows that a fold held out.
            methods = {name: scoring_method(member) for name, member in members.items()}
            scored_rows = np.flatnonzero(fold >= 0)
            held_out = rows.take(scored_rows)
            selection = select_members(
                {name: check_finite(values[scored_rows], name) for name, values in scores.items()},
                HeldOutLabels(held_out.y, fold[scored_rows], held_out.weight, held_out.qid),
                of_probability={name: kind == "predict_proba" for name, kind in methods.items()},
                scoring=self.scoring,
                n_steps=self.n_steps,
                n_bags=self.n_bags,
                random_state=seeds[2],
                fitted_to=rows_fitted_to(splits, fold),
            )
            # 4) Fit the members of positive weight to all rows.
            chosen_names = [name for name, weight in selection.weights.items() if weight > 0]
            models = parallel(delayed(fits[name])(data) for name in chosen_names)
        attributes = {
            "estimators_": dict(zip(chosen_names, models, strict=True)),
            "weights_": selection.weights,
            "maps_": selection.maps,
            "member_scores_": selection.member_scores,
            "score_estimate_": selection.score_estimate,
            "n_folds_": len(splits),
            **background_of(models, data, seeds[3]),
        }
        if self.relevance == "binary":
            preferences = held_out.preferences
            ordered, positive = selection.scores[preferences.order], held_out.y[preferences.order]
            attributes["offset_"] = -error_cut(ordered, positive, preferences.weight, preferences)
        return attributes

    def _fits(self, members: Mapping[str, Any], data: Rows) -> dict[str, partial[Any]]:
        """Return, by name, a function that fits a member to rows, with its metadata."""
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **{name: name for name in data.metadata})
            return {
                name: partial(fit_member, member, dict(routed[name].fit))
                for name, member in members.items()
            }
        is_weighted = not (data.weight == data.weight[0]).all()
        for name, member in members.items():
            if is_weighted and not has_fit_parameter(last_step(clone(member)), "sample_weight"):
                raise ValueError(
                    f"Member {name!r} of {type(self).__name__} does not support sample_weight, but "
                    f"the rows have different weights: drop it with set_params({name}='drop')."
                )
        return {
            name: partial(fit_member, member, fit_keywords(member, data.metadata))
            for name, member in members.items()
        }

    # Scores ----------------------------------------------------------------------------

    def score_rows(self, X: Any) -> Floats:
        """Return scores, without offset, of checked rows."""
        scores = np.zeros(X.shape[0])
        for name, member in self.estimators_.items():
            scores += self.weights_[name] * self.maps_[name](member_scores(name, member, X))
        return scores

    def contributions(self, X: Any) -> Floats:
        r"""Return the contribution of each feature to the score of each row.

        .. math:: \sum_k w_k \, \frac{m_k(f_k(x)) - m_k(c_k)}{f_k(x) - c_k} \, \phi_{kj}(x)

        where :math:`w_k` is the weight of member k, :math:`m_k` its map, :math:`f_k` its score,
        :math:`c_k` its constant and :math:`\phi_{kj}` the contribution of feature j to :math:`f_k -
        c_k`: those of the member are multiplied by the slope of its map (`ScoreMap.secant`).
        Contributions depend on the kind of member, or on the last step of a pipeline that keeps,
        scales, imputes or one-hot encodes columns:

        - those of a ranker of this package that has `contributions`;
        - *differences along the path* of scikit-learn's ``ExtraTrees``, ``RandomForest`` and
          ``DecisionTree``: the changes of the node values at the splits of a feature, which is
          fast. They are not Shapley values: a split near the root counts less than one below it.
          The constant is the mean value of the roots;
        - for all others, Shapley values sampled with 100 orders of the columns against 50 training
          rows, `background_`. The constant is their mean score. Each row takes 100 (n_features + 1)
          scores. With respect to these rows, the values are exact if the score is a sum of
          functions of one or two features; otherwise they are noisy.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Features; at most 1,000 rows and features if a member is sampled.

        Returns
        -------
        ndarray of shape (n_samples, n_features + 1)
            The contribution of each feature to the score of the row. The last column is the
            constant: the sum of :math:`w_k m_k(c_k)`, plus `offset_` in binary mode. Rows sum to
            ``decision_function(X)`` or, in graded mode, to ``predict(X)``.

        Raises
        ------
        ValueError
            If there are more rows or features and a member is sampled.

        References
        ----------
        Lundberg2017 (Shapley values of a prediction); the slopes: defined here.
        """
        return super().contributions(X)

    def _divide_scores(self, X: Any) -> tuple[Floats, float]:
        contributions, constant_sum = np.zeros(X.shape), 0.0
        background = getattr(self, "background_", ())
        for name, member in self.estimators_.items():
            scores, phi = member_scores(name, member, X), own_contributions(member, X)
            if phi is None:
                phi, constant = sampled_shapley(name, member, X, background)
            else:  # rows sum to the score, so that a row tells the constant
                constant = float(scores[0] - phi[0].sum())
            weight, score_map = self.weights_[name], self.maps_[name]
            # Secants end at the scores: sums of contributions may miss a probability of exactly 1.
            slopes = score_map.secant(constant, scores)
            contributions += weight * slopes[:, np.newaxis] * phi
            constant_sum += weight * float(score_map(constant))
        return contributions, constant_sum

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
