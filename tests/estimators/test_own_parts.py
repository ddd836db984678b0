"""Losses, models and metrics defined outside the package, in every estimator that takes them."""

import re
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from rankers import BOOSTERS
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sklearn_rank import KernelPairwiseSGDRanker, ListNetLinear, PNormPushRanker, RankBoost, theory
from sklearn_rank.dask._supported import check_supported
from sklearn_rank.metrics import auc_score, p_norm_push_loss, ranking_scorer
from sklearn_rank.models import Candidate
from sklearn_rank.objectives import CrossEntropy, ListwiseLoss, MarginLoss
from sklearn_rank.solvers import (
    BoostingSolver,
    FunctionSpaceLBFGS,
    KernelSolver,
    LinearSolver,
    RegularisedLBFGS,
    Round,
    SolverTraits,
)

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 3))
Y = (X[:, 0] + RANDOM.normal(size=80) > 0).astype(int)
QID = np.repeat(np.arange(8), 10)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class OwnLogistic(MarginLoss):
    """log(1 + exp(-m)), with nothing but what every loss must have."""

    def value_and_derivative(self, margin):
        return np.logaddexp(0, -margin), -expit(-margin)


class OwnCurvedLogistic(OwnLogistic):
    """The same with second derivatives."""

    def second_derivative(self, margin):
        return expit(margin) * expit(-margin)


class WideHinge(MarginLoss):
    """(2 - m)_+, a loss with a kink."""

    is_smooth = False

    def value_and_derivative(self, margin):
        return np.maximum(2 - margin, 0), np.where(margin <= 2, -1.0, 0.0)


class OwnCrossEntropy(ListwiseLoss):
    """The cross-entropy, without second derivatives."""

    def target(self, block, relevance, weight):
        return CrossEntropy().target(block, relevance, weight)

    def value_and_gradient(self, block, scores, target, weight):
        return CrossEntropy().value_and_gradient(block, scores, target, weight)


class Columns:
    """The raw features as a model, written from the protocol alone."""

    name, allow_nan, sparse = "columns", False, False

    def on_rows(self, rows):
        return ColumnsOnRows(rows.X[rows.order])


class ColumnsOnRows:
    def __init__(self, H):
        self.H, self.n_coordinates = H, H.shape[1]

    def search(self, gradient, gain):
        edges = -self.pull_back(gradient.data)
        best = int(np.argmax(gain(edges[None], np.zeros(1))))
        return Candidate(best, edges[best])

    def values(self, candidate):
        return self.H[:, candidate.index]

    def rules(self, indices):
        return ColumnRules(np.asarray(indices))

    def scores(self, coefficients):
        return self.H @ coefficients

    def pull_back(self, gradient):
        return self.H.T @ gradient


class ColumnRules:
    def __init__(self, columns):
        self.columns = columns

    def scores(self, X, weights, threads=None):
        return X[:, self.columns] @ weights

    def staged_scores(self, X, weights):
        yield from np.cumsum(X[:, self.columns] * weights, axis=1).T

    def equal(self, other):
        return np.array_equal(self.columns, other.columns)

    def importances(self, credit, n_features):
        return np.bincount(self.columns, credit, n_features)


class OnlySearched(Columns):
    """A model whose coefficients can't all move at once."""

    def on_rows(self, rows):
        columns = ColumnsOnRows(rows.X[rows.order])

        class Searched:
            search, values, rules = columns.search, columns.values, columns.rules

        return Searched()


def scores(ranker):
    return ranker.fit(X, Y, qid=QID).decision_function(X)


@pytest.mark.parametrize("solver", ["gd", "lbfgs"])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_a_kernel_ranker_with_a_loss_of_ones_own(solver, kernel):
    options = {"solver": solver, "kernel": kernel, "max_iter": 30, "tol": 0, "theta": 0.5}
    options |= {"eta0": 0.05} if solver == "gd" else {}
    own = scores(KernelPairwiseSGDRanker(loss=OwnLogistic(), **options))
    named = scores(KernelPairwiseSGDRanker(loss="logistic", **options))
    np.testing.assert_allclose(own, named, atol=1e-6)


@pytest.mark.parametrize("push", ["top", "bottom", "both"])
@pytest.mark.parametrize("solver", ["coordinate", "lbfgs"])
def test_a_push_with_a_loss_of_ones_own(push, solver):
    options = {"push": push, "solver": solver, "p": 2, "n_estimators": 4}
    options |= {"alpha": 0.1} if solver == "lbfgs" else {}
    own = OwnCurvedLogistic() if solver == "coordinate" else OwnLogistic()
    own = scores(PNormPushRanker(loss=own, **options))
    named = scores(PNormPushRanker(loss="logistic", **options))
    np.testing.assert_allclose(own, named, atol=1e-8)


def test_the_push_metric_of_an_own_loss():
    found = p_norm_push_loss(Y, X[:, 0], p=3, loss=OwnLogistic())
    assert found == pytest.approx(p_norm_push_loss(Y, X[:, 0], p=3, loss="logistic"), rel=1e-9)
    margins = X[Y == 1, 0][:, None] - X[Y == 0, 0]
    expected = np.maximum(2 - margins, 0).mean(axis=0).max()
    assert p_norm_push_loss(Y, X[:, 0], p=np.inf, loss=WideHinge()) == pytest.approx(expected)


def test_the_theory_asks_losses_for_their_constants():
    class Growing(OwnLogistic):
        growth = 1, 1

    class Bounded(OwnCrossEntropy):
        def lipschitz(self, max_relevance):
            return 2.0 + max_relevance

    assert theory.growth_exponent(Growing()) == theory.growth_exponent("logistic")
    with pytest.raises(ValueError, match="growth_exponent needs growth, which OwnLogistic lacks"):
        theory.growth_exponent(OwnLogistic())
    assert theory.lipschitz_constant(Bounded(), max_relevance=3) == 5.0
    with pytest.raises(ValueError, match="needs smoothness, which Bounded lacks"):
        theory.smoothness_constant(Bounded())


@pytest.mark.parametrize(
    ("ranker", "message"),
    [
        (KernelPairwiseSGDRanker(loss=WideHinge(), solver="lbfgs"), "needs rounded, which WideHi"),
        (
            KernelPairwiseSGDRanker(loss=WideHinge(), solver="gd"),
            "eta0='auto' of KernelPairwiseSGDRanker needs local_lipschitz, which WideHinge lacks",
        ),
        (
            PNormPushRanker(weak_ranker=OnlySearched(), solver="lbfgs", alpha=0.1),
            "solver='lbfgs' of PNormPushRanker needs n_coordinates, which Searched lacks",
        ),
        (KernelPairwiseSGDRanker(loss=WideHinge), "or a MarginLoss"),
        (RankBoost(weak_ranker=object()), "or a model with on_rows"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_a_part_lacks_is_said_in_a_sentence(ranker, message):
    with pytest.raises(ValueError, match=message):
        ranker.fit(X, Y)


@pytest.mark.parametrize("options", [{}, {"penalty": "l1", "alpha": 0.01}, {"max_norm": 0.5}])
def test_list_net_with_a_loss_of_ones_own(options):
    own = ListNetLinear(loss=OwnCrossEntropy(), **options).fit(X, Y, qid=QID)
    named = ListNetLinear(**options).fit(X, Y, qid=QID)
    np.testing.assert_allclose(own.coef_, named.coef_, atol=1e-4)


@pytest.mark.parametrize(("booster", "relevance"), [*product(BOOSTERS, ["binary", "graded"])])
def test_a_booster_with_a_model_of_ones_own(booster, relevance):
    weight = np.arange(80) % 3
    of_model = partial(booster, n_estimators=5, relevance=relevance)
    models = (of_model(weak_ranker=weak) for weak in (Columns(), "feature"))
    own, named = (model.fit(X, Y, qid=QID, sample_weight=weight) for model in models)
    np.testing.assert_allclose(own.predict(X), named.predict(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(own.feature_importances_, named.feature_importances_)
    assert own.n_iter_ == named.n_iter_
    *_, last = own.staged_predict(X)
    np.testing.assert_allclose(last, own.predict(X), atol=1e-12)


def test_a_model_of_ones_own_need_not_bound_second_derivatives():
    """Then each round takes the feature whose coefficient has the steepest slope."""
    wide = X * [1, 10, 1]
    slopes = wide[Y == 1].mean(axis=0) - wide[Y == 0].mean(axis=0)
    options = {"loss": "logistic", "n_estimators": 1, "p": 1}
    fitted = PNormPushRanker(weak_ranker=Columns(), **options).fit(wide, Y)
    assert np.argmax(fitted.feature_importances_) == np.argmax(slopes)
    with pytest.raises(ValueError, match="selection='optimal'"):
        fitted.set_params(selection="optimal").fit(X, Y)


def test_all_coefficients_of_a_model_of_ones_own():
    options = {"solver": "lbfgs", "alpha": 0.1}
    own = scores(PNormPushRanker(weak_ranker=Columns(), **options))
    np.testing.assert_allclose(own, scores(PNormPushRanker(weak_ranker="feature", **options)))


def test_parts_survive_clones_and_searches():
    ranker = clone(PNormPushRanker(loss=OwnLogistic(), weak_ranker=Columns(), n_estimators=2))
    search = GridSearchCV(ranker, {"p": [1, 2]}, cv=2, error_score="raise").fit(X, Y)
    assert search.best_score_ > 0.5


def test_a_metric_of_ones_own():
    def auc(y_true, y_score, *, qid=None, sample_weight=None):
        return auc_score(y_true, y_score, qid=qid, sample_weight=sample_weight)

    options = {"n_iter_no_change": 3, "validation_fraction": 0.5, "random_state": 0}
    own = RankBoost(scoring=ranking_scorer(auc), **options).fit(X, Y)
    named = RankBoost(scoring="auc", **options).fit(X, Y)
    np.testing.assert_array_equal(own.validation_scores_, named.validation_scores_)
    assert ranking_scorer(auc)(own, X, Y) == ranking_scorer("auc")(named, X, Y)
    with pytest.raises(ValueError, match="first has no sample weights"):
        ranking_scorer(first).measure(Y, X[:, 0], sample_weight=np.ones(80))


def first(y_true, y_score, *, qid=None):
    return float(np.asarray(y_true)[np.argmax(y_score)])


class Cautious(BoostingSolver):
    """A share of each step of boosting."""

    traits = SolverTraits(has_stages=True, fits_bags=True, on_cluster=True)

    def __init__(self, share=0.1):
        self.share = share

    def solve(self, problem, record):
        state, ends = problem.state(record.scores()), record.n_left == 0
        while not ends and (best := problem.search(state)) is not None:
            h, before = problem.weak_rankers.values(best), state.value
            step = state.advance(best, h, self.share * record.step(state, best, h)[0])
            ends = record.add(Round(best.index, step, before - state.value, h), state)


class Alone(Cautious):
    """The same, which offers nothing."""

    traits = SolverTraits()


def test_a_solver_of_ones_own():
    own = PNormPushRanker(solver=Cautious(), n_estimators=12, tol=0).fit(X, Y)
    slow = PNormPushRanker(learning_rate=0.1, n_estimators=12, tol=0).fit(X, Y)
    np.testing.assert_allclose(own.decision_function(X), slow.decision_function(X), atol=1e-12)
    stages = list(own.staged_decision_function(X))
    np.testing.assert_allclose(stages[-1], own.decision_function(X), atol=1e-12)
    more = clone(own).set_params(n_estimators=5, warm_start=True).fit(X, Y)
    more.set_params(n_estimators=12).fit(X, Y)
    np.testing.assert_allclose(more.estimator_weights_, own.estimator_weights_, rtol=1e-9)
    bags = clone(own).set_params(n_bags=3, random_state=0).fit(X, Y)
    as_bags = clone(slow).set_params(n_bags=3, random_state=0).fit(X, Y)
    np.testing.assert_allclose(bags.bag_weights_, as_bags.bag_weights_, rtol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"n_iter_no_change": 3}, "needs solver='coordinate'. Got solver=Alone()"),
        ({"n_bags": 2}, "can't be used with solver=Alone()"),
        ({"alpha": 1.0}, "needs solver='corrective' or 'lbfgs'"),
    ],
)
def test_what_a_solver_does_not_offer_is_refused(parameters, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        PNormPushRanker(solver=Alone(), **parameters).fit(X, Y)


def test_settings_of_a_solver_are_searched():
    search = GridSearchCV(
        PNormPushRanker(solver=Cautious(), n_estimators=3), {"solver__share": [0.1, 0.5]}, cv=2
    ).fit(X, Y)
    share = search.best_estimator_.get_params()["solver__share"]
    assert share == search.best_params_["solver__share"]
    assert "Cautious(share=0.5)" in repr(PNormPushRanker(solver=Cautious(share=0.5)))


class Shrunk(KernelSolver):
    """Half of the minimum."""

    def solve(self, problem, start, progress):
        solution, last = FunctionSpaceLBFGS().solve(problem, start, progress)
        return replace(solution, x=solution.x / 2), last / 2


class HalfWay(LinearSolver):
    """Half of the minimum."""

    def solve(self, problem):
        solution = RegularisedLBFGS().solve(problem)
        return replace(solution, x=solution.x / 2)


@pytest.mark.parametrize(
    ("ranker", "solver"),
    [(KernelPairwiseSGDRanker(kernel="linear"), Shrunk()), (ListNetLinear(), HalfWay())],
)
def test_solvers_of_ones_own_in_other_rankers(ranker, solver):
    whole = clone(ranker).fit(X, Y)
    half = clone(ranker).set_params(solver=solver).fit(X, Y)
    np.testing.assert_allclose(half.coef_, whole.coef_ / 2)
    with pytest.raises(ValueError, match=f"solver={solver!r}".replace("(", r"\(")[:-1]):
        check_supported(half, has_queries=True)
    with pytest.raises(ValueError, match=r"'solver' parameter of .* must be one of"):
        clone(ranker).set_params(solver=Cautious()).fit(X, Y)
