"""KernelPairwiseSGDRanker(kernel="linear").partial_fit: steps on rows as they arrive."""

from itertools import product

import numpy as np
import pytest
from oracles import definitions as oracles
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator
from tiers import cover

from sklearn_rank import KernelPairwiseSGDRanker

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:eta0=.* is above:UserWarning"),
]

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
GRADES = np.clip(np.round(X[:, 0] - X[:, 1] / 2 + RNG.normal(size=240)), -1, 2)
CLASSES = np.where(GRADES > 0, "yes", "no")
QID = np.repeat(np.arange(12), 20)
WEIGHT = RNG.integers(0, 4, 240).astype(float)
LABELS = {"graded": GRADES, "binary": CLASSES}

CASES = cover(
    2,
    ["graded", "binary"],
    [{}, {"average": True}, {"batch_size": 7}, {"loss": "hinge", "eta0": 0.1, "theta": 0.3}],
    [None, QID],
    [None, WEIGHT],
)


def make(**parameters):
    parameters = {"kernel": "linear", "solver": "gd", "random_state": 3, **parameters}
    return KernelPairwiseSGDRanker(**parameters)


@pytest.mark.parametrize(("relevance", "options", "qid", "weight"), CASES)
def test_calls_with_the_same_rows_are_a_fit(relevance, options, qid, weight):
    y = LABELS[relevance]
    arrays = {"qid": qid, "sample_weight": weight}
    stream = make(relevance=relevance, **options)
    for n_steps in range(1, 5):
        stream.partial_fit(X, y, **arrays)
        whole = make(relevance=relevance, max_iter=n_steps, tol=0, **options)
        if "batch_size" in options:  # a fit of several steps draws all pairs from one seed
            whole.set_params(max_iter=1, warm_start=True)
            for _ in range(n_steps):
                whole.fit(X, y, **arrays)
        else:
            whole.fit(X, y, **arrays)
        np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-12)
        np.testing.assert_allclose(stream.objective_curve_, whole.objective_curve_, rtol=1e-12)
        assert stream.n_iter_ == whole.n_iter_ == n_steps
        assert stream.eta0_ == whole.eta0_
        if relevance == "binary":
            assert stream.offset_ == pytest.approx(whole.offset_, rel=1e-12)
        found = stream.contributions(X), whole.contributions(X)
        np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_each_call_is_a_step_on_its_own_pairs(kind):
    """By hand: the mean logistic loss over the pairs of the call, pair by pair."""
    alpha, eta0, theta, w = 0.01, 0.4, 0.3, np.zeros(3)
    stream = make(alpha=alpha, eta0=eta0, theta=theta, relevance="graded")
    for t, q in enumerate(range(12), 1):
        own = q == QID
        stream.partial_fit(kind(X[own]), GRADES[own], sample_weight=WEIGHT[own])
        pairs = oracles.pairs(GRADES[own], None)
        rows, weight = X[own], WEIGHT[own]
        total = sum(weight[i] * weight[k] for i, k in pairs)
        gradient = sum(
            -weight[i] * weight[k] * (rows[i] - rows[k]) / (1 + np.exp(w @ (rows[i] - rows[k])))
            for i, k in pairs
        )
        w = w - eta0 * t**-theta * (gradient / total + alpha * w)
        np.testing.assert_allclose(stream.coef_, w, rtol=1e-10)


def test_classes_that_come_one_by_one():
    stream = make()
    stream.partial_fit(X[:9], ["no"] * 9, classes=["yes", "no"])
    assert stream.classes_.tolist() == ["no", "yes"]
    assert (stream.n_iter_, stream.offset_, stream.coef_.tolist()) == (0, 0, [0, 0, 0])
    stream.partial_fit(X, CLASSES)
    expected = make().partial_fit(X, CLASSES)
    np.testing.assert_array_equal(stream.coef_, expected.coef_)
    assert stream.offset_ == expected.offset_
    before = stream.coef_
    stream.partial_fit(X[:9], ["yes"] * 9)
    np.testing.assert_array_equal(stream.coef_, before)
    assert stream.offset_ == expected.offset_
    with pytest.raises(ValueError, match="two classes"):
        make().partial_fit(X[:9], ["no"] * 9)
    stream.partial_fit(X[:9], ["yes"] * 9, classes=["no", "yes"])
    with pytest.raises(ValueError, match=r"the first call, \['no', 'yes'\]\. Got \['a', 'b'\]"):
        stream.partial_fit(X[:9], ["yes"] * 9, classes=["a", "b"])


def test_a_stream_goes_on_from_a_fit_and_a_fit_from_a_stream():
    model = KernelPairwiseSGDRanker(kernel="linear").fit(X, CLASSES)
    before, n_before = model.coef_, model.n_iter_
    model.set_params(solver="gd", eta0=1e-9).partial_fit(X, CLASSES)
    np.testing.assert_allclose(model.coef_, before, rtol=1e-6)
    assert model.n_iter_ == n_before + 1
    stream = make(max_iter=3, tol=0, warm_start=True).partial_fit(X, CLASSES).fit(X, CLASSES)
    whole = make(max_iter=4, tol=0).fit(X, CLASSES)
    np.testing.assert_allclose(stream.coef_, whole.coef_, rtol=1e-12)
    assert len(stream.objective_curve_) == stream.n_iter_ == 4


BAD = {
    "y": {"y": np.full(240, "ugly")},
    "X": {"X": np.full_like(X, np.inf)},
    "width": {"X": X[:, :2]},
    "qid": {"qid": [1, 2]},
    "weight": {"sample_weight": -np.ones(240)},
    "size": {"X": X * 1e200},
}


@pytest.mark.parametrize("name", BAD)
def test_failed_calls_change_nothing(name):
    model = make()
    if name not in ("width", "y"):
        with pytest.raises(ValueError):
            model.partial_fit(**{"X": X, "y": CLASSES, **BAD[name]})
        assert set(vars(model)) == set(model.get_params())
    model.partial_fit(X, CLASSES)
    before = dict(vars(model))
    with pytest.raises(ValueError):
        model.partial_fit(**{"X": X, "y": CLASSES, **BAD[name]})
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is before[key] for key in before)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "rbf"}, "kernel='linear'. Got kernel='rbf'"),
        ({"solver": "auto"}, "solver='gd': solver='auto' needs all rows at once"),
        ({"solver": "lbfgs"}, "solver='gd': solver='lbfgs' needs all rows at once"),
    ],
)
def test_what_needs_all_rows_says_so(parameters, words):
    with pytest.raises(AttributeError, match="partial_fit") as caught:
        make(**parameters).partial_fit
    assert words in str(caught.value.__cause__)
    assert hasattr(make(solver="auto", eta0=0.1), "partial_fit")


AXES = ["binary", "graded"], [False, True], [None, 5]
QUICK = cover(1, *AXES)


@pytest.mark.parametrize(
    ("relevance", "average", "batch_size"),
    [
        pytest.param(*case, marks=getattr(pytest.mark, "slow" if case in QUICK else "nightly"))
        for case in product(*AXES)
    ],
)
def test_scikit_learns_checks(relevance, average, batch_size):
    options = {"average": average, "batch_size": batch_size, "max_iter": 5}
    check_estimator(make(relevance=relevance, **options), on_skip=None)
