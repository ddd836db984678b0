"""ConformalSelector: its oracle, the bound by simulation, and scikit-learn's conventions."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from oracles import definitions as oracles
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_rank import PNormPushRanker
from sklearn_rank.model_selection import ConformalSelector
from sklearn_rank.model_selection.conformal import select_head


class FirstColumn(BaseEstimator):
    """Scores a row by its first feature."""

    def fit(self, X, y, extra=None):
        self.extra_ = extra
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


def selector_of(scores, labels, fdr):
    frozen = FrozenEstimator(FirstColumn().fit(None, None))
    return ConformalSelector(frozen, fdr=fdr).fit(np.reshape(scores, (-1, 1)), labels)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X.iloc[:, :6], y


few_scores = st.lists(st.integers(0, 6), min_size=1, max_size=30)
# No p-value times a ratio of two sizes equals one of these, so that rounding decides nothing.
level = st.sampled_from([Fraction(one, 10_000) for one in (1003, 2507, 5011, 8753)])


@pytest.mark.filterwarnings("ignore:ConformalSelector can't select")
@given(held_out=few_scores, data=st.data(), new=few_scores, fdr=level)
def test_p_values_and_selection_are_those_of_the_definition(held_out, data, new, fdr):
    labels = data.draw(st.lists(st.booleans(), min_size=len(held_out), max_size=len(held_out)))
    labels, held_out = [*labels, True, False], [*held_out, 7, 0]
    selector = selector_of(held_out, labels, float(fdr))
    expected = [oracles.conformal_p_value(one, held_out, labels) for one in new]
    rows = np.reshape(new, (-1, 1)).astype(float)
    assert_allclose(selector.p_values(rows), [float(one) for one in expected], rtol=1e-15)
    assert_array_equal(selector.select(rows), oracles.benjamini_hochberg(expected, fdr))


def test_a_selection_by_hand():
    """19 held-out rows, 4 of them negatives at 1, 2, 3, 4: p is (1 + number at or above) / 20."""
    scores, labels = np.arange(1, 20), [0] * 4 + [1] * 15
    new = [[5.0], [4.0], [3.5], [0.0], [0.0], [0.0]]
    selector = selector_of(scores, labels, 0.25)
    assert_allclose(selector.p_values(new), [0.05, 0.1, 0.1, 0.25, 0.25, 0.25])
    assert selector.select(new).all()  # 0.25 is at most 0.25 * 6 / 6
    selector = selector_of(scores, labels, 0.2)  # and 0.1 is at most 0.2 * 3 / 6
    assert_array_equal(selector.select(new), [True, True, True, False, False, False])


# The bound --------------------------------------------------------------------------------


def false_share(selected, positive):
    """Share of the negatives among the selected rows; 0 of an empty selection."""
    return np.count_nonzero(selected & ~positive) / max(1, np.count_nonzero(selected))


def drawn_rows(rng, n_rows, share, round_to=None):
    positive = rng.random(n_rows) < share
    scores = rng.standard_normal(n_rows) + 2.5 * positive
    return (scores if round_to is None else np.round(scores / round_to) * round_to), positive


def simulated(draw, fdr, n_draws):
    """Return mean and standard error of the share of false alarms, over draws of everything."""
    shares = []
    for number in range(n_draws):
        scores, positive, n_held_out = draw(np.random.default_rng([7, number]))
        # The estimator knows both classes, so that the held-out rows may lack one.
        estimator = FirstColumn()
        estimator.classes_ = np.array([False, True])
        selector = ConformalSelector(FrozenEstimator(estimator), fdr=fdr)
        selector.fit(scores[:n_held_out, None], positive[:n_held_out])
        selected = selector.select(scores[n_held_out:, None])
        shares.append(false_share(selected, positive[n_held_out:]))
    return np.mean(shares), np.std(shares) / np.sqrt(n_draws)


@pytest.mark.parametrize(
    ("n_draws", "n_held_out", "n_new", "share", "round_to", "least"),
    [
        (150, 100, 40, 0.3, None, 0.06),
        pytest.param(8000, 100, 40, 0.3, None, 0.07, marks=pytest.mark.nightly),
        pytest.param(8000, 400, 100, 0.1, None, 0.075, marks=pytest.mark.nightly),
        pytest.param(8000, 100, 1, 0.5, None, 0.07, marks=pytest.mark.nightly),
        pytest.param(8000, 30, 200, 0.6, None, 0.0, marks=pytest.mark.nightly),
        pytest.param(8000, 100, 40, 0.3, 1.0, 0.0, marks=pytest.mark.nightly),
    ],
)
def test_the_share_of_false_alarms_is_bounded(n_draws, n_held_out, n_new, share, round_to, least):
    """A mean over draws of held-out and new rows; an empty selection counts 0."""

    def draw(rng):
        return *drawn_rows(rng, n_held_out + n_new, share, round_to), n_held_out

    mean, error = simulated(draw, 0.1, n_draws)
    assert least <= mean <= 0.1 + 3 * error


def rows_of_queries(rng, n_queries=301, length=10):
    """Scores are shares of their query: r rows stand out by 1/r each. The last query is new.

    In three of ten queries three positives stand out, else only negatives: r of them with a
    probability of 1/(8r).
    """
    numbers = np.arange(1, length + 1)
    chance = np.append(0.125 / numbers, 1 - (0.125 / numbers).sum())
    number = rng.choice([*numbers, 0], size=(n_queries, 1), p=chance)
    has_positives = rng.random((n_queries, 1)) < 0.3
    positive = has_positives & (numbers <= 3)
    shares = (numbers <= number) / np.maximum(number, 1)
    scores = np.where(has_positives, 2.0 * positive, shares) + 1e-6 * rng.random(shares.shape)
    return scores.ravel(), positive.ravel(), (n_queries - 1) * length


@pytest.mark.parametrize("n_draws", [150, pytest.param(4000, marks=pytest.mark.nightly)])
def test_the_bound_does_not_hold_within_queries(n_draws):
    mean, error = simulated(rows_of_queries, 0.1, n_draws)
    assert mean - 3 * error > 0.1


@pytest.mark.nightly
def test_the_bound_with_an_estimator_that_is_fitted_in_each_draw():
    rng, shares = np.random.default_rng(3), []
    for _ in range(1500):
        positive = rng.random(500) < 0.3
        X = rng.standard_normal((500, 4)) + 1.2 * positive[:, None]
        selector = ConformalSelector(LogisticRegression(), random_state=rng.integers(1000))
        selected = selector.fit(X[:400], positive[:400]).select(X[400:])
        shares.append(false_share(selected, positive[400:]))
    assert 0.08 < np.mean(shares) <= 0.1 + 3 * np.std(shares) / np.sqrt(len(shares))


# scikit-learn -----------------------------------------------------------------------------


@pytest.mark.slow
@parametrize_with_checks(
    [
        ConformalSelector(LogisticRegression(), fdr=0.5),
        ConformalSelector(PNormPushRanker(n_estimators=5), fdr=0.5),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "estimator",
    [
        PNormPushRanker(n_estimators=10),
        LinearSVC(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(10, random_state=0),
        RandomForestRegressor(10, random_state=0),
    ],
    ids=lambda one: type(one).__name__,
)
def test_rankers_classifiers_regressors_and_pipelines(cancer, estimator):
    X, y = cancer
    selector = ConformalSelector(estimator, random_state=0).fit(X[:400], y[:400])
    assert not hasattr(estimator, "n_features_in_")
    assert list(selector.feature_names_in_) == list(X.columns)
    assert selector.n_features_in_ == 6
    assert len(selector.calibration_scores_) == 100
    assert_array_equal(selector.classes_, [0, 1])
    selected = selector.select(X[400:])
    assert selected.dtype == bool
    assert selected.any()
    assert y[400:][selected].mean() > 0.85
    assert_array_equal(selected, selector.select(X[400:]))
    assert not hasattr(selector, "predict")


def test_a_frozen_estimator_calibrates_on_all_rows(cancer):
    X, y = cancer
    names = np.array(["good", "sick"])[y.to_numpy()]
    fitted = LogisticRegression(max_iter=5000).fit(X[:300], names[:300])
    selector = ConformalSelector(FrozenEstimator(fitted)).fit(X[300:500], names[300:500])
    assert len(selector.calibration_scores_) == 200
    assert_array_equal(selector.classes_, ["good", "sick"])
    assert_array_equal(selector.calibration_is_positive_, y[300:500] == 1)
    scores = fitted.decision_function(X[500:])
    held_out = fitted.decision_function(X[300:500])
    expected = [oracles.conformal_p_value(one, held_out, y[300:500] == 1) for one in scores]
    assert_allclose(selector.p_values(X[500:]), [float(one) for one in expected])
    # One class only among the rows that calibrate: the estimator knows the other.
    sick = np.flatnonzero(y == 1)
    assert selector.fit(X.iloc[sick], names[sick]).p_values(X[:3]).max() == 1 / (1 + len(sick))


def test_the_drawing_is_at_random_and_repeats(cancer):
    X, y = cancer
    one, same, other = (
        ConformalSelector(PNormPushRanker(n_estimators=3), random_state=seed).fit(X, y)
        for seed in (0, 0, 1)
    )
    assert_array_equal(one.calibration_scores_, same.calibration_scores_)
    assert not np.array_equal(one.calibration_scores_, other.calibration_scores_)
    shares = {one.calibration_is_positive_.sum(), other.calibration_is_positive_.sum()}
    assert len(shares) == 2  # stratified they would be equal


def test_parameters_clones_and_searches(cancer):
    X, y = cancer
    selector = ConformalSelector(LogisticRegression(C=2.0), fdr=0.3)
    twin = clone(selector).set_params(estimator__C=1.0, calibration_size=0.5)
    assert selector.get_params()["estimator__C"] == 2.0
    assert twin.get_params()["estimator__C"] == 1.0
    search = GridSearchCV(LinearSVC(), {"C": [0.1, 1.0]}, cv=2)
    assert ConformalSelector(search).fit(X, y).select(X).any()
    with pytest.raises(NotFittedError):
        selector.p_values(X)


@pytest.mark.parametrize("name", ["qid", "sample_weight"])
def test_queries_and_weights_are_refused(cancer, name):
    X, y = cancer
    selector = ConformalSelector(PNormPushRanker(n_estimators=3))
    with pytest.raises(ValueError, match=f"ConformalSelector takes no {name}: its bound"):
        selector.fit(X, y, **{name: np.ones(len(y))})
    assert selector.fit(X, y, **{name: None})
    with (
        sklearn.config_context(enable_metadata_routing=True),
        pytest.raises(ValueError, match=f"takes no {name}"),
    ):
        selector.fit(X, y, **{name: np.ones(len(y))})


def test_metadata_goes_to_the_estimator_without_the_rows_that_calibrate():
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = FirstColumn().set_fit_request(extra=True)
        selector = ConformalSelector(estimator, fdr=0.5, random_state=0)
        fitted = selector.fit(X, y, extra=X[:, 0]).estimator_
        assert_array_equal(np.sort([*fitted.extra_, *selector.calibration_scores_]), X[:, 0])
        assert selector.fit(X, y, extra="word").estimator_.extra_ == "word"
        assert selector.fit(X, y, extra=[1, 2]).estimator_.extra_ == [1, 2]
        with pytest.raises(TypeError, match="unexpected argument"):
            selector.fit(X, y, other=1)


def test_validation_rows_are_passed_whole():
    """As many as there are rows to fit and to calibrate, too."""
    X, y = np.arange(40.0)[:, None], np.arange(40) % 2
    scores = []
    for n_copies in (1, 2):  # 40 rows or 80, with the same score
        X_val, y_val = np.tile(X, (n_copies, 1)), np.tile(X[:, 0] > 30, n_copies)
        selector = ConformalSelector(PNormPushRanker(n_estimators=3), fdr=0.5, random_state=0)
        fitted = selector.fit(X, y, X_val=X_val, y_val=y_val).estimator_
        scores.append(fitted.validation_scores_)
    assert_allclose(*scores, rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fdr": 0.0}, "'fdr' parameter of ConformalSelector must be a float in"),
        ({"fdr": 1.0}, "'fdr' parameter"),
        ({"calibration_size": 1.0}, "'calibration_size' parameter"),
        ({"calibration_size": -0.5}, "'calibration_size' parameter"),
        ({"random_state": "x"}, "'random_state' parameter"),
        ({"estimator": StandardScaler()}, "'estimator' parameter .* an estimator with fit and"),
        ({"estimator": LogisticRegression}, "'estimator' parameter"),
    ],
)
def test_parameters_are_checked(cancer, options, message):
    with pytest.raises(ValueError, match=message):
        ConformalSelector(**{"estimator": LogisticRegression(), **options}).fit(*cancer)


class OnlyLabels(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Undefined(FirstColumn):
    def decision_function(self, X):
        return np.full(len(X), np.nan)


def test_estimators_without_scores_are_refused(cancer):
    X, y = cancer
    with pytest.raises(ValueError, match="'estimator' parameter"):
        ConformalSelector(OnlyLabels()).fit(X, y)
    with pytest.raises(ValueError, match=r"needs scores of all rows\. Some are NaN"):
        ConformalSelector(Undefined()).fit(X, y)


def test_a_fit_that_fails_changes_nothing(cancer):
    X, y = cancer
    selector = ConformalSelector(LogisticRegression(max_iter=5000), random_state=0)
    before = vars(selector.fit(X, y)).copy()
    selected = selector.select(X)
    three = RandomForestClassifier(3, random_state=0).fit(X, np.arange(len(y)) % 3)
    for estimator in (Undefined(), FrozenEstimator(three)):
        with pytest.raises(ValueError, match=r"Some are NaN|needs two classes"):
            selector.set_params(estimator=estimator).fit(X, np.where(y > 0, "yes", "no"))
        assert vars(selector) == {**before, "estimator": estimator}
        assert_array_equal(selector.select(X), selected)


def test_labels_are_checked(cancer):
    X, y = cancer
    selector = ConformalSelector(PNormPushRanker(n_estimators=3), random_state=0)
    with pytest.raises(ValueError, match=r"needs two classes. Got 3: .* y > 0"):
        selector.fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="needs two classes"):
        selector.fit(X, np.ones(len(y)))
    with pytest.raises(ValueError, match="requires y to be passed"):
        selector.fit(X, None)
    rare = np.zeros(len(y))
    rare[5] = 1
    for seed in range(20):
        selector.set_params(random_state=seed, calibration_size=0.9)
        try:
            selector.fit(X, rare)
        except ValueError as error:
            assert "none of which is of class 1.0" in str(error)
            break
    else:
        pytest.fail("no draw left the row out")


def test_too_few_rows_to_select_anything_warn():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    with pytest.warns(UserWarning, match="at least 9 calibration rows. Got 3"):
        ConformalSelector(FirstColumn(), fdr=0.1, random_state=0).fit(X, y)


def test_tables_of_pandas_keep_their_rows(cancer):
    X, y = cancer
    shuffled = X.sample(frac=1, random_state=1)
    options = {"random_state": 0, "fdr": 0.2}
    with_index = ConformalSelector(LogisticRegression(max_iter=5000), **options)
    with_index.fit(shuffled, pd.Series(y, name="y")[shuffled.index])
    plain = ConformalSelector(LogisticRegression(max_iter=5000), **options)
    plain.fit(shuffled.to_numpy(), y[shuffled.index].to_numpy())
    assert_allclose(with_index.calibration_scores_, plain.calibration_scores_)


@pytest.mark.parametrize("n_known", [9, 99, 999])
@pytest.mark.parametrize("n_rows", [3, 7, 9])
def test_a_head_just_at_the_bound_is_taken(n_known, n_rows):
    """A first p-value of 1 / (n_known + 1) among n_rows: at most fdr if that is n_rows times it."""
    p_values = np.r_[1 / (n_known + 1), np.ones(n_rows - 1)]
    assert select_head(p_values, n_rows / (n_known + 1)).tolist() == [True, *[False] * (n_rows - 1)]
    assert not select_head(p_values, n_rows / (n_known + 1) - 1e-6).any()
    assert select_head(p_values[:0], 0.1).tolist() == []
