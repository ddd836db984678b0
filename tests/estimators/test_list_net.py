"""ListNetLinear: certificates of its minima, bounds of its descent, and how it is used."""

import pickle
import warnings
from copy import copy, deepcopy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import listwise as naive
from scipy import sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from strategies import problems
from test_persistence import through_skops
from tiers import crossed

from sklearn_rank import ListNetLinear
from sklearn_rank.datasets import make_queries
from sklearn_rank.objectives import LISTWISE_LOSSES
from sklearn_rank.theory import ogd_bound, ogd_step

few = settings(max_examples=settings.default.max_examples // 2)

DATA = make_queries(n_queries=30, rows_per_query=12, n_features=6, random_state=0)
SHUFFLE = np.random.default_rng(1).permutation(360)
X, Y, QID = DATA.data[SHUFFLE], DATA.target[SHUFFLE], DATA.qid[SHUFFLE]
WEIGHT = np.random.default_rng(2).integers(0, 3, 360).astype(float)
LABELS = {"graded": Y, "binary": np.where(Y > 0, "yes", "no")}
GRADES = {"graded": Y, "binary": (Y > 0).astype(float)}

every_relevance = pytest.mark.parametrize("relevance", ["graded", "binary"])


def gradient_of(model, X, y, qid=None, w=None, coef=None):
    """Gradient of the mean loss, without penalty, by the loop over queries."""
    coef = model.coef_ if coef is None else coef
    return X.T @ naive.listwise(X @ coef, y, qid, w, model.loss, model.sigma)[1]


def objective_of(model, X, y, qid=None, w=None):
    loss = naive.listwise(X @ model.coef_, y, qid, w, model.loss, model.sigma)[0]
    if model.penalty == "l1":
        return loss + model.alpha * np.abs(model.coef_).sum()
    return loss + (model.alpha / 2 * model.coef_ @ model.coef_ if model.penalty else 0.0)


def subgradient(w, gradient, alpha):
    """Shortest subgradient of loss + alpha ||w||_1."""
    off = np.sign(gradient) * np.maximum(np.abs(gradient) - alpha, 0)
    return np.where(w != 0, gradient + alpha * np.sign(w), off)


def assert_gradient_vanishes(model, *rows, slack=0.0):
    """The shortest subgradient is at most tol times that of coefficients of zero."""
    left = shrunk_gradient(model, gradient_of(model, *rows), model.alpha)
    zeros = np.zeros(len(model.coef_))
    start = gradient_of(model, *rows, coef=zeros)
    if model.penalty == "l1":
        start = subgradient(zeros, start, model.alpha)
    assert np.linalg.norm(left) <= model.tol * np.linalg.norm(start) + slack


def shrunk_gradient(model, gradient, penalty_alpha):
    if model.penalty == "l1":
        return subgradient(model.coef_, gradient, penalty_alpha)
    return gradient + penalty_alpha * model.coef_


# Certificates -------------------------------------------------------------------------------


@crossed(
    relevance=["graded", "binary"],
    loss=list(LISTWISE_LOSSES),
    qid={"list": None, "queries": QID},
    weight={"even": None, "weighted": WEIGHT},
    ridge={"l2, 0.001": ("l2", 1e-3), "l2, 1": ("l2", 1.0), "l1": ("l1", 1e-2)},
)
def test_the_gradient_vanishes_at_the_minimum(relevance, loss, qid, weight, ridge):
    penalty, alpha = ridge
    alpha = alpha * (10 if loss == "smoothed_dcg" else 1)
    model = ListNetLinear(loss=loss, penalty=penalty, alpha=alpha, relevance=relevance)
    model.fit(X, LABELS[relevance], qid=qid, sample_weight=weight)
    rows, curve = (X, GRADES[relevance], qid, weight), model.objective_curve_
    assert_gradient_vanishes(model, *rows)
    # Newton's polish comes after the last iteration: not higher, but for rounding.
    assert objective_of(model, *rows) == pytest.approx(curve[-1], rel=1e-9)
    assert len(curve) == model.n_iter_
    start = naive.listwise(np.zeros(len(X)), *rows[1:], loss)[0]
    memory = 1 if penalty == "l2" else 10  # spectral steps may rise, but not above the last ten
    for number, value in enumerate(curve):
        assert value <= max([start, *curve][max(0, number + 1 - memory) : number + 1]) + 1e-12


@few
@given(problem=problems(max_rows=12), penalty=st.sampled_from(["l2", "l1"]))
def test_minima_of_small_problems(problem, penalty):
    model = ListNetLinear(penalty=penalty, alpha=0.01)
    model.fit(problem.X, problem.y, qid=problem.qid, sample_weight=problem.w)
    assert_gradient_vanishes(model, *problem[:4], slack=1e-14)
    objective = objective_of(model, *problem[:4])
    assert model.objective_curve_[-1] == pytest.approx(objective, rel=1e-12)


@pytest.mark.parametrize("settings", [{}, {"penalty": "l1", "alpha": 1e-6}, {"max_norm": 0.5}])
def test_where_zero_is_the_minimum_rounding_is_no_error(settings):
    """The relevant row lies in the middle of the two others: the slope at zero is rounding."""
    model = ListNetLinear(**settings).fit([[1.0], [3.0], [2.0]], [0, 0, 1])
    np.testing.assert_allclose(model.coef_, 0, atol=1e-10)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("tol", [0.0, 5e-324, 1e-14, 1e-12])
def test_a_tolerance_below_rounding_is_no_reason_to_stop_at_zero(tol):
    model = ListNetLinear(tol=tol).fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, ListNetLinear().fit(X, Y, qid=QID).coef_, rtol=1e-3)


def test_l1_makes_exact_zeros_and_the_more_the_stronger_it_is():
    n_used = [
        np.count_nonzero(ListNetLinear(penalty="l1", alpha=a).fit(X, Y, qid=QID).coef_)
        for a in (1e-4, 0.03, 0.1, 10.0)
    ]
    assert n_used[0] == 6
    assert n_used == sorted(n_used, reverse=True)
    assert 0 < n_used[2] < 6
    assert n_used[3] == 0


@crossed(
    loss=list(LISTWISE_LOSSES),
    penalty=["l2", "l1", None],
    max_norm=[0.05, 0.3, 2.0],
    weight={"even": None, "weighted": WEIGHT},
)
def test_the_ball_is_kept_and_its_multiplier_presses_inwards(loss, penalty, max_norm, weight):
    """Conditions of a minimum: -gradient = (alpha + m) w (or its sign), m >= 0."""
    alpha = 0.0 if penalty is None else 1e-3
    model = ListNetLinear(loss=loss, penalty=penalty, alpha=1e-3, max_norm=max_norm)
    model.fit(X, Y, qid=QID, sample_weight=weight)
    w, order = model.coef_, 1 if penalty == "l1" else 2
    norm = np.linalg.norm(w, order)
    assert norm <= max_norm * (1 + 1e-12)
    gradient = gradient_of(model, X, Y, QID, weight)
    start = np.linalg.norm(gradient_of(model, X, Y, QID, weight, np.zeros(6)))
    multiplier = 0.0
    if norm >= max_norm * (1 - 1e-6):
        outward = np.sign(w) if penalty == "l1" else w
        multiplier = -(gradient @ outward) / (outward @ outward) - alpha
    assert multiplier >= 0
    left = shrunk_gradient(model, gradient, alpha + multiplier)
    assert np.linalg.norm(left) <= 2 * model.tol * start
    assert (multiplier > 0) == (max_norm < 2.0 or loss == "smoothed_dcg")


def test_features_of_very_different_scales():
    scales = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6, 1e20])
    plain = ListNetLinear(penalty=None, tol=1e-9).fit(X, Y, qid=QID)
    scaled = ListNetLinear(penalty=None, tol=1e-9, max_iter=2000).fit(X * scales, Y, qid=QID)
    np.testing.assert_allclose(scaled.predict(X * scales), plain.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("as_matrix", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("settings", [{}, {"penalty": "l1"}, {"penalty": None}, {"max_norm": 0.5}])
def test_a_feature_that_is_constant_inside_the_queries_gets_no_coefficient(settings, as_matrix):
    """Its slope is a sum that rounding alone keeps from zero."""
    flat = np.column_stack([X, 1e3 + QID / 7, 0.1 * (QID % 2), np.zeros(len(X))])
    model = ListNetLinear(**settings).fit(as_matrix(flat), Y, qid=QID)
    plain = ListNetLinear(**settings).fit(as_matrix(X), Y, qid=QID)
    np.testing.assert_allclose(model.coef_[:6], plain.coef_, rtol=1e-6, atol=1e-9)
    assert model.coef_[6:].tolist() == [0, 0, 0]


# Online descent -----------------------------------------------------------------------------


def test_one_pass_is_the_loop():
    model = ListNetLinear(solver="ogd", penalty=None, max_norm=0.2, max_iter=1)
    model.fit(X, Y, qid=QID)
    row_norm = np.linalg.norm(X, axis=1).max()
    step = ogd_step(30, max_norm=0.2, row_norm=row_norm)
    by_hand = naive.online_descent(X, Y, QID, step=lambda t: step, radius=0.2)
    np.testing.assert_allclose(model.coef_, by_hand, rtol=1e-10, atol=1e-14)
    assert (model.t_, model.n_iter_) == (30, 1)


@pytest.mark.parametrize("theta", [0.5, 0])
def test_a_stream_is_a_pass(theta):
    options = {"solver": "ogd", "penalty": None, "eta0": 0.3, "theta": theta}
    whole = ListNetLinear(max_iter=1, **options).fit(X, Y, qid=QID)
    by_hand = naive.online_descent(X, Y, QID, step=lambda t: 0.3 / t**theta)
    np.testing.assert_allclose(whole.coef_, by_hand, rtol=1e-10, atol=1e-14)
    stream, ids = ListNetLinear(**options), list(dict.fromkeys(QID))
    for query in ids[:20]:
        stream.partial_fit(X[query == QID], Y[query == QID])
    rest = np.isin(QID, ids[20:])
    stream.partial_fit(X[rest], Y[rest], qid=QID[rest])
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-10)
    assert stream.t_ == whole.t_ == 30
    assert len(stream.objective_curve_) == stream.n_iter_ == 21


def generated(n_queries, n_rows, rng, truth):
    """Queries whose relevance follows a linear score with noise; rows in the unit ball."""
    X = rng.normal(size=(n_queries * n_rows, len(truth)))
    X /= np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]
    y = X @ truth + rng.gumbel(size=len(X)) * 0.5
    return X, y, np.repeat(np.arange(n_queries), n_rows)


def mean_excess(n_queries, n_rows, n_repetitions=4, **options):
    """Loss on new queries, less that of the best ranker there, mean over repetitions."""
    truth, excess = np.array([2.0, -1.0, 0.5, 0.0]), []
    for seed in range(n_repetitions):
        rng = np.random.default_rng(seed)
        X, y, qid = generated(n_queries, n_rows, rng, truth)
        model = ListNetLinear(penalty=None, max_norm=3.0, **options).fit(X, y, qid=qid)
        new, new_y, new_qid = generated(200, n_rows, rng, truth)
        best = ListNetLinear(penalty=None, max_norm=3.0).fit(new, new_y, qid=new_qid)
        found, least = (
            naive.listwise(new @ w, new_y, new_qid)[0] for w in (model.coef_, best.coef_)
        )
        excess.append(found - least)
    return np.mean(excess)


def test_the_mean_excess_loss_of_a_pass_is_below_the_bound_of_theorem_5():
    for n_queries in (10, 100):
        for n_rows in (5, 50):
            excess = mean_excess(n_queries, n_rows, solver="ogd", max_iter=1)
            assert 0 < excess <= ogd_bound(n_queries, max_norm=3.0, row_norm=1.0)


def test_long_lists_need_no_more_queries():
    """The claim of Tewari2015: lists ten times as long are learned from as few queries."""
    assert 0 < mean_excess(20, 100) <= mean_excess(20, 10)


def test_more_passes_approach_the_minimum():
    best = ListNetLinear(alpha=0.01).fit(X, Y, qid=QID).objective_curve_[-1]
    options = {"solver": "ogd", "alpha": 0.01, "eta0": 0.5, "random_state": 0}
    with pytest.warns(ConvergenceWarning, match="the last pass changed the objective by"):
        model = ListNetLinear(max_iter=50, tol=0, **options).fit(X, Y, qid=QID)
    curve = model.objective_curve_
    assert len(curve) == model.n_iter_ == 50
    assert best < curve[-1] < best + 0.02 * (curve[0] - best)
    stopped = ListNetLinear(max_iter=50, tol=1e-2, **options).fit(X, Y, qid=QID)
    assert stopped.n_iter_ < 50


def test_penalties_and_balls_hold_online():
    options = {"solver": "ogd", "eta0": 1.0, "max_iter": 1}
    lasso = ListNetLinear(penalty="l1", alpha=10.0, **options).fit(X, Y, qid=QID)
    assert not lasso.coef_.any()
    ball = ListNetLinear(penalty="l1", alpha=0.0, max_norm=0.05, **options).fit(X, Y, qid=QID)
    assert np.abs(ball.coef_).sum() <= 0.05 * (1 + 1e-12)
    ridge = ListNetLinear(alpha=100.0, **options).fit(X, Y, qid=QID)
    assert np.linalg.norm(ridge.coef_) < 0.05


def assert_makes_fewest_errors(model, positive, weight=None):
    f = X @ model.coef_
    kept = np.full(len(f), True) if weight is None else weight > 0
    rows = f[kept], positive[kept], None if weight is None else weight[kept]
    fewest = min(naive.weighted_error(cut, *rows) for cut in naive.error_cuts(f[kept]))
    assert naive.weighted_error(-model.offset_, *rows) == fewest


def test_streams_of_one_class_at_a_time():
    stream = ListNetLinear(solver="ogd", eta0=0.5, relevance="binary")
    y = LABELS["binary"]
    order = np.argsort(y, kind="stable")
    stream.partial_fit(X[order[:50]], y[order[:50]], classes=["yes", "no"])
    assert stream.classes_.tolist() == ["no", "yes"]
    assert stream.offset_ == 0
    stream.partial_fit(X, y, qid=QID)
    decision = stream.decision_function(X)
    assert_makes_fewest_errors(stream, y == "yes")
    np.testing.assert_array_equal(stream.predict(X) == "yes", decision > 0)


@pytest.mark.parametrize(
    "duplicate", [copy, deepcopy, lambda model: pickle.loads(pickle.dumps(model)), through_skops]
)
def test_copies_of_a_stream_go_their_own_ways(duplicate):
    model = ListNetLinear(solver="ogd", eta0=0.5).partial_fit(X, Y, qid=QID)
    other = duplicate(model)
    first = model.partial_fit(X[:5], Y[:5]).objective_curve_.copy()
    second = other.partial_fit(X[5:10], Y[5:10]).objective_curve_.copy()
    np.testing.assert_array_equal(model.objective_curve_, first)
    np.testing.assert_array_equal(other.objective_curve_, second)
    assert first[0] == second[0]
    assert first[1] != second[1]


@every_relevance
def test_failed_pieces_change_nothing(relevance):
    y = LABELS[relevance]
    model = ListNetLinear(solver="ogd", eta0=0.5, relevance=relevance)
    bad = {
        "y": {"y": np.full(360, np.nan if relevance == "graded" else "ugly", dtype=object)},
        "X": {"X": np.full_like(X, np.inf)},
        "width": {"X": X[:, :2]},
        "qid": {"qid": [1, 2]},
        "weight": {"sample_weight": -WEIGHT},
    }
    for name in ("X", "qid", "weight"):
        with pytest.raises(ValueError):
            model.partial_fit(**({"X": X, "y": y} | bad[name]))
        assert set(vars(model)) == set(model.get_params())
    if relevance == "binary":
        with pytest.raises(ValueError, match="one class"):
            model.partial_fit(X, np.full(360, "yes"))
    model.partial_fit(X, y, qid=QID)
    before = dict(vars(model))
    for case in bad.values():
        with pytest.raises(ValueError):
            model.partial_fit(**({"X": X, "y": y} | case))
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is before[key] for key in before)


def test_what_needs_a_number_as_step_says_so():
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        ListNetLinear().partial_fit
    assert "solver='ogd'" in str(caught.value.__cause__)
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        ListNetLinear(solver="ogd", max_norm=1.0).partial_fit
    assert "eta0='auto' depends on the number of steps" in str(caught.value.__cause__)


# Laws of the estimator ----------------------------------------------------------------------

MODELS = {
    "l2": {},
    "l1": {"penalty": "l1", "alpha": 0.02},
    "ball": {"penalty": None, "max_norm": 0.3},
    "l1 ball": {"penalty": "l1", "max_norm": 0.3},
    "dcg": {"loss": "smoothed_dcg", "alpha": 0.05, "sigma": 0.8},
}
every_model = pytest.mark.parametrize("options", MODELS.values(), ids=MODELS)


def same(model, other, X=X, atol=1e-7):
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-7, atol=atol)


@every_model
def test_weights_are_copies_in_any_order_and_queries_have_any_names(options):
    model = ListNetLinear(**options).fit(X, Y, qid=QID, sample_weight=WEIGHT)
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(360), WEIGHT.astype(int)))
    names = np.array([f"q{(7 * q) % 31}" for q in QID])
    same(ListNetLinear(**options).fit(X[rows], Y[rows], qid=names[rows]), model)


@every_model
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_features_are_dense_features(options, container):
    holes = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = ListNetLinear(**options).fit(holes, Y, qid=QID)
    model = ListNetLinear(**options).fit(container(holes), Y, qid=QID)
    np.testing.assert_allclose(model.predict(container(holes)), dense.predict(holes), atol=1e-7)


def test_threads_change_nothing(monkeypatch):
    data = make_queries(n_queries=2000, rows_per_query=30, n_features=8, random_state=0)
    alone = ListNetLinear(alpha=0.1).fit(data.data, data.target, qid=data.qid)
    shared = ListNetLinear(alpha=0.1, n_jobs=2).fit(data.data, data.target, qid=data.qid)
    np.testing.assert_array_equal(shared.coef_, alone.coef_)


def test_the_offset_makes_the_fewest_training_errors():
    model = ListNetLinear(relevance="binary")
    model.fit(X, LABELS["binary"], qid=QID, sample_weight=WEIGHT)
    assert_makes_fewest_errors(model, LABELS["binary"] == "yes", WEIGHT)
    np.testing.assert_array_equal(model.decision_function(X), X @ model.coef_ + model.offset_)


# Going on, giving up, talking ---------------------------------------------------------------


def test_warm_start_goes_on():
    model = ListNetLinear(max_iter=3, warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"solver='lbfgs' stopped before tol=1e-06"):
        model.fit(X, Y, qid=QID)
    assert model.n_iter_ == 3
    first = model.objective_curve_[-1]
    model.set_params(max_iter=500).fit(X, Y, qid=QID)
    assert model.objective_curve_[-1] < first
    again = model.fit(X, Y, qid=QID)
    assert again.n_iter_ == 1
    same(ListNetLinear().fit(X, Y, qid=QID), again)
    with pytest.raises(ValueError, match=r"warm_start=True .* number of features: .* 6. Got 5"):
        model.fit(X[:, :5], Y, qid=QID)
    same(ListNetLinear().fit(X, Y, qid=QID), model)


def test_warm_start_of_online_descent_goes_on():
    options = {"solver": "ogd", "eta0": 0.3, "max_iter": 1}
    model = ListNetLinear(warm_start=True, **options)
    model.fit(X, Y, qid=QID).fit(X, Y, qid=QID)
    stream = ListNetLinear(**options)
    stream.partial_fit(X, Y, qid=QID).partial_fit(X, Y, qid=QID)
    np.testing.assert_allclose(model.coef_, stream.coef_, rtol=1e-12)
    assert model.t_ == 60


@pytest.mark.parametrize("seed", range(2))
def test_l1_of_more_features_than_rows_tries_newton_on_its_way(seed):
    rng = np.random.default_rng(seed)
    wide, grades = rng.random((15, 30)), rng.integers(3, size=15)
    model = ListNetLinear(relevance="graded", penalty="l1").fit(wide, grades)
    assert model.n_iter_ <= 50  # L-BFGS takes hundreds
    again = ListNetLinear(relevance="graded", penalty="l1", tol=1e-9).fit(wide[::-1], grades[::-1])
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=0, atol=1e-9)
    assert 0 < np.count_nonzero(model.coef_) < 15


def test_verbose(capsys):
    ListNetLinear(verbose=2).fit(X, Y, qid=QID)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("[ListNetLinear] iteration 1/500: objective ")
    assert len(lines) == ListNetLinear().fit(X, Y, qid=QID).n_iter_
    ListNetLinear(verbose=1, solver="ogd", eta0=0.1, max_iter=1).fit(X, Y, qid=QID)
    assert capsys.readouterr().out.startswith("[ListNetLinear] pass 1/1: objective ")


# Bad input ----------------------------------------------------------------------------------

OUT_OF_RANGE = {
    "alpha": [-1e-9, np.inf, np.nan, None, "1"],
    "max_norm": [0, -1, np.inf, np.nan, "auto"],
    "sigma": [0, -1.0, np.inf, None],
    "eta0": [0, -1.0, np.inf, None, "best"],
    "max_iter": [0, -1, 1.5, None, True],
    "tol": [-1e-9, np.inf, None],
    "warm_start": [1, None],
    "penalty": ["elasticnet", 1],
    "n_jobs": [0],
}


def refuses(model, *words, **arrays):
    with pytest.raises(ValueError) as caught:
        model.fit(**({"X": X, "y": LABELS.get(model.relevance, Y)} | arrays))
    for word in words:
        assert word in str(caught.value)
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("name", OUT_OF_RANGE)
def test_parameters_out_of_range(name):
    for value in OUT_OF_RANGE[name]:
        words = f"The '{name}' parameter of ListNetLinear must be", f"Got {value!r} instead"
        refuses(ListNetLinear(**{name: value}), *words)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"sigma": 2.0}, ["sigma=2", "loss='smoothed_dcg'", "'cross_entropy'"]),
        ({"eta0": 0.5}, ["eta0=0.5", "solver='ogd'", "'lbfgs'"]),
        ({"solver": "ogd"}, ["eta0='auto'", "needs max_norm", "None", "number"]),
        ({"theta": 0}, ["theta=0 of ListNetLinear needs a number as eta0"]),
        (
            {"solver": "ogd", "max_norm": 1.0, "loss": "smoothed_dcg"},
            ["eta0='auto'", "loss='cross_entropy'", "'smoothed_dcg'"],
        ),
    ],
)
def test_parameters_that_do_not_go_together(parameters, words):
    refuses(ListNetLinear(**parameters), "ListNetLinear", *words)


@every_relevance
def test_features_whose_squares_overflow(relevance):
    refuses(ListNetLinear(relevance=relevance), "squares overflow", "StandardScaler", X=X * 1e200)


def test_gains_that_are_too_large():
    words = "2**y - 1", "above 240", "y = 241", "ListNetLinear", "smaller grades"
    refuses(ListNetLinear(loss="smoothed_dcg"), *words, y=np.where(Y == 2, 241, Y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ListNetLinear(loss="smoothed_dcg", alpha=1.0).fit(1e65 * X, 120 * Y, qid=QID)
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("penalty", ["l2", "l1", None])
def test_an_active_ball_is_no_harder_with_raw_features(penalty):
    """One list, features of very different scales; a fit that does not converge would warn."""
    X, y = load_breast_cancer(return_X_y=True)
    ranker = ListNetLinear(penalty=penalty, max_norm=1.0, relevance="binary").fit(X, y)
    assert ranker.n_iter_ < 100
    assert np.linalg.norm(ranker.coef_, 1 if penalty == "l1" else 2) == pytest.approx(1.0)


@pytest.mark.parametrize("place", [0, 2])
def test_a_feature_of_tiny_variance_does_not_hold_up_the_others(place):
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    y = np.clip(np.round(X.sum(axis=1) + random.normal(size=200)), 0, 3)
    X[:, place] *= 1e-8
    ranker = ListNetLinear(penalty=None, max_norm=0.5).fit(X, y, qid=qid)
    X[:, place] = 0
    without = ListNetLinear(penalty=None, max_norm=0.5).fit(X, y, qid=qid)
    np.testing.assert_allclose(ranker.coef_, without.coef_, atol=1e-4)
