"""Laws that tie one fit to another: what must not matter does not, and weights are counts."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from libraries import need
from rankers import BOOSTERS, PAIRWISE, RANKERS, cheap
from strategies import bipartite, graded, problems, take
from tiers import crossed

from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker, PNormPushRanker
from sklearn_rank.objectives import MARGIN_LOSSES
from sklearn_rank.scorecard import Scorecard

N_ROUNDS = 6
# Of the smooth margin of noise.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

few = settings(max_examples=settings.default.max_examples // 4)
every_ranker = pytest.mark.parametrize("ranker", RANKERS)
every_booster = pytest.mark.parametrize("ranker", BOOSTERS)
every_pairwise_ranker = pytest.mark.parametrize("ranker", PAIRWISE)
every_relevance = pytest.mark.parametrize("relevance", ["binary", "graded"])
every_ranker_and_relevance = crossed(
    ranker={ranker.__name__: ranker for ranker in RANKERS}, relevance=["binary", "graded"]
)


def two_classes(**options):
    """Bipartite problems with labels that a classifier takes: 7.5 is a number, not a class."""
    return bipartite(**options).map(
        lambda one: one._replace(y=np.where(one.y > one.y.min(), 1, -1))
    )


@st.composite
def settings_of(draw, ranker, relevance="binary", weak_rankers=("stump", "feature")):
    """Parameters of a ranker."""
    parameters = {**cheap(ranker, N_ROUNDS), "relevance": relevance}
    if ranker is PNormPushRanker:
        parameters["p"] = draw(st.sampled_from([1, 2.5, 16]))
        parameters["push"] = draw(st.sampled_from(["top", "bottom", "both", "ir"]))
    if ranker is KernelPairwiseSGDRanker:
        parameters |= draw(kernel_settings())
    if ranker in BOOSTERS:
        parameters["weak_ranker"] = draw(st.sampled_from(weak_rankers))
    return parameters


@st.composite
def kernel_settings(draw):
    """A few steps, which rounding cannot send elsewhere as it can a search for the minimum."""
    loss = draw(st.sampled_from(list(MARGIN_LOSSES)))
    return {
        "solver": "gd",
        "max_iter": N_ROUNDS,
        "kernel": draw(st.sampled_from(["rbf", "linear", "poly", "laplacian"])),
        "loss": loss,
        "alpha": draw(st.sampled_from([1e-3, 1.0])),
        "average": draw(st.booleans()),
        "eta0": 1e-3 if loss == "exponential" else "auto",
    }


def tasks(ranker, relevance, weak_rankers=("stump", "feature"), **options):
    """A problem that suits a relevance mode, and parameters of a ranker."""
    kinds = two_classes(**options) if relevance == "binary" else problems(**options)
    return st.tuples(kinds, settings_of(ranker, relevance, weak_rankers))


def fit(ranker, parameters, X, y, qid=None, w=None):
    return ranker(**parameters).fit(X, y, qid=qid, sample_weight=w)


def scores(model, X):
    return model.predict(X) if model.relevance == "graded" else model.decision_function(X)


def assert_same(model, other, X, sign=1):
    np.testing.assert_allclose(scores(model, X), sign * scores(other, X), rtol=1e-7, atol=1e-7)


def with_other_weights(problem):
    """A problem in which no two sets of rows weigh the same."""
    w = np.random.default_rng(0).uniform(1.0, 2.0, len(problem.y))
    return problem._replace(w=w if problem.w is None else w * problem.w)


def has_pairs(problem):
    """Which rows weigh something, in a query where such rows have several levels of relevance."""
    present = np.ones(len(problem.y), bool) if problem.w is None else problem.w > 0
    qid = np.zeros(len(problem.y)) if problem.qid is None else problem.qid
    return present & [len(set(problem.y[(qid == one) & present])) > 1 for one in qid]


def fit_problem(ranker, parameters, problem):
    return fit(ranker, parameters, problem.X, problem.y, problem.qid, problem.w)


def in_another_order(draw, problem):
    return take(problem, np.array(draw(st.permutations(range(len(problem.y))))))


def as_copies(draw, problem):
    copies = np.repeat(np.arange(len(problem.y)), problem.w.astype(int))
    return take(problem, copies)._replace(w=None)


def as_one_query(draw, problem):
    name = draw(st.sampled_from(["q", 7, -1.5]))
    return problem._replace(qid=np.full(len(problem.y), name))


def with_renamed_queries(draw, problem):
    names = draw(st.permutations([["z", "m", "a"], [3.5, -2.0, 0.0]][draw(st.booleans())]))
    code = np.unique(problem.qid, return_inverse=True)[1]
    return problem._replace(qid=np.array(names)[code])


SAME_ROWS = {
    "the order of the rows": ({}, in_another_order),
    "a weight or copies": ({"weights": ("integers", "zeros")}, as_copies),
    "one query or none": ({"queries": ("none",)}, as_one_query),
    "the names of queries": ({"queries": ("integers", "strings")}, with_renamed_queries),
}


@pytest.mark.parametrize("what", SAME_ROWS)
@every_ranker_and_relevance
@few
@given(data=st.data())
def test_how_rows_are_given_does_not_matter(what, ranker, relevance, data):
    kinds, rewritten = SAME_ROWS[what]
    problem, parameters = data.draw(tasks(ranker, relevance, **kinds))
    other = fit_problem(ranker, parameters, rewritten(data.draw, problem))
    assert_same(other, fit_problem(ranker, parameters, problem), problem.X)


@every_ranker_and_relevance
@few
@given(data=st.data())
def test_a_row_of_weight_zero_is_not_there(ranker, relevance, data):
    problem, parameters = data.draw(tasks(ranker, relevance, weights=("zeros",)))
    X, w = problem.X.copy(), problem.w
    X[w == 0] = data.draw(st.sampled_from([0.0, -1e9, 1e9]))  # may hold anything
    deleted = fit_problem(ranker, parameters, take(problem, w > 0))
    assert_same(fit_problem(ranker, parameters, problem._replace(X=X)), deleted, problem.X)


@every_pairwise_ranker
@few
@given(problem=graded(), data=st.data())
def test_only_the_order_of_the_grades_matters(ranker, problem, data):
    parameters = data.draw(settings_of(ranker, "graded"))
    shift = data.draw(st.sampled_from([-3.0, 0.0, 1e6]))
    relabelled = problem._replace(y=np.exp(problem.y) + shift)
    other = fit_problem(ranker, parameters, relabelled)
    assert_same(fit_problem(ranker, parameters, problem), other, problem.X)


@every_ranker
@few
@given(problem=two_classes(), data=st.data())
def test_the_names_of_two_classes_do_not_matter(ranker, problem, data):
    parameters = data.draw(settings_of(ranker))
    names = np.where(problem.y == problem.y.max(), "yes", "no")
    named = fit_problem(ranker, parameters, problem._replace(y=names))
    assert_same(fit_problem(ranker, parameters, problem), named, problem.X)
    assert set(named.predict(problem.X)) <= {"yes", "no"}


@every_pairwise_ranker
@few
@given(problem=two_classes(), data=st.data())
def test_two_grades_rank_like_two_classes(ranker, problem, data):
    parameters = data.draw(settings_of(ranker))
    binary = fit_problem(ranker, parameters, problem)
    in_grades = fit_problem(ranker, {**parameters, "relevance": "graded"}, problem)
    absent = problem.w is not None and problem.w == 0
    # Thresholds of a class come from all its rows, of grades from pairs.
    assume((has_pairs(problem) | absent).all())
    without_offset = scores(binary, problem.X) - binary.offset_
    np.testing.assert_allclose(without_offset, scores(in_grades, problem.X), rtol=1e-7, atol=1e-7)


@every_booster
@every_relevance
@few
@given(data=st.data())
def test_stumps_see_only_the_order_of_a_feature(ranker, relevance, data):
    options = {"weak_rankers": ["stump"], "missing": data.draw(st.booleans())}
    problem, parameters = data.draw(tasks(ranker, relevance, **options))
    affine = data.draw(st.booleans())  # exact ones, of which new rows see nothing either
    maps = [lambda x: 1e9 * x, lambda x: x / 4 + 8] if affine else [np.exp, lambda x: x**3 - 5]
    increasing = data.draw(st.sampled_from(maps))
    parameters["max_bins"] = data.draw(st.sampled_from([2, 3, 64]))
    mapped = fit_problem(ranker, parameters, problem._replace(X=increasing(problem.X)))
    model, rows = fit_problem(ranker, parameters, problem), problem.X
    if affine:
        rows = np.concatenate([rows, np.arange(8 * rows.shape[1]).reshape(8, -1) % 7 - 2.2])
    np.testing.assert_allclose(scores(mapped, increasing(rows)), scores(model, rows), rtol=1e-12)


@pytest.mark.parametrize("ranker", [*BOOSTERS, Scorecard, "xgboost", "lightgbm", "symmetric"])
def test_a_value_that_was_rounded_stays_on_its_side_of_a_threshold(ranker):
    x = np.repeat([0.1, 0.2, 0.3, 0.4], 50)[:, None]
    if isinstance(ranker, str):
        need(ranker)
        model = BoostedTreesRanker(engine=ranker).fit(x, x[:, 0] > 0.35)
    else:
        model = ranker().fit(x, x[:, 0] > 0.35)
    expected = model.decision_function(x)
    assert np.ptp(expected) > 0
    for rounded in (x.astype(np.float32), x * (1 - 1e-6), x * (1 + 1e-6)):
        np.testing.assert_array_equal(model.decision_function(rounded), expected)


@every_ranker_and_relevance
@few
@given(data=st.data())
def test_a_row_is_scored_alone_as_in_company(ranker, relevance, data):
    problem, parameters = data.draw(tasks(ranker, relevance))
    model = fit_problem(ranker, parameters, problem)
    alone = np.concatenate([scores(model, row[None]) for row in problem.X])
    np.testing.assert_allclose(alone, scores(model, problem.X), rtol=1e-12, atol=1e-12)


@every_pairwise_ranker
@every_relevance
@few
@given(data=st.data())
def test_turning_the_list_upside_down_turns_the_scores(ranker, relevance, data):
    """The push at the top of the reversed list is the push at the bottom, for every row."""
    problem, parameters = data.draw(tasks(ranker, relevance))
    compared = problem.X
    if ranker is BoostedTreesRanker:
        problem = with_other_weights(problem)  # rounding chooses among splits of one gain
        compared = compared[has_pairs(problem)]  # the others may be on either side
        need("xgboost")
        parameters["engine"] = "xgboost"  # sums of LightGBM depend on the order of the rows
    reversed_list = problem._replace(y=-problem.y)
    mirror = {"top": "bottom", "bottom": "top", "both": "both"}
    push = parameters.get("push", "both")
    assume(push in mirror)  # the IR push has no mirror image
    mirrored = parameters | ({"push": mirror[push]} if "push" in parameters else {})
    model = fit_problem(ranker, parameters, problem)
    other = fit_problem(ranker, mirrored, reversed_list)
    has_cut = ranker not in BOOSTERS or ranker is PNormPushRanker
    if relevance == "binary" and has_cut:
        # Of cuts with equally many errors the same one is taken either way up.
        model.offset_ = other.offset_ = 0.0
    if len(compared):
        assert_same(model, other, compared, sign=-1)
