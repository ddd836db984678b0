"""The validator's tables, each against its obvious definition."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cards import cards, rows_of
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable
from sklearn_rank.scorecard.monitoring import validation_tables


def scorecard_of(card):
    return Scorecard()._set_card(card, np.array(card.classes, dtype=object), False)


@pytest.fixture(scope="module")
def credit():
    return make_credit(1500, random_state=0)


@pytest.fixture(scope="module")
def fitted(credit):
    return Scorecard(p=1, cv=2, max_terms=8).fit(credit.data, credit.target)


def slow_evidence(bins, y, weight, n_bins):
    """Weight of evidence and information of each bin, by loops."""
    total = {kind: sum(w for of, w in zip(y, weight, strict=True) if of == kind) for kind in (0, 1)}
    found = []
    for number in range(n_bins):
        own = {0: 0.0, 1: 0.0}
        for at, of, w in zip(bins, y, weight, strict=True):
            if at == number:
                own[of] += w
        if own[0] + own[1] == 0:
            found.append((math.nan, 0.0))
            continue
        share = {kind: (own[kind] or 0.5) / total[kind] for kind in (0, 1)}
        woe = math.log(share[1] / share[0])
        found.append((woe, (share[1] - share[0]) * woe))
    return found


@settings(max_examples=20, deadline=None)
@given(cards(with_pairs=True), st.integers(0, 100), st.booleans())
def test_evidence_and_information(card, seed, is_weighted):
    card = replace(card, feature_names=None, classes=(0, 1))
    X, random = rows_of(card), np.random.default_rng(seed)
    y = random.integers(0, 2, len(X))
    y[:2] = (0, 1)
    weight = random.integers(1, 4, len(X)).astype(float) if is_weighted else np.ones(len(X))
    options = {"sample_weight": weight, "n_resamples": 2}
    found = validation_tables(scorecard_of(card), X, y, **options)
    bins, lines = card.bins(X), iter(range(len(found.bins.term)))
    for number, term in enumerate(card.terms):
        expected = slow_evidence(bins[:, number], y, weight, term.n_bins)
        own = [next(lines) for _ in expected]
        assert set(found.bins.term[own]) == {term.name}
        assert found.bins.bin[own].tolist() == term.labels()
        assert found.bins.points[own].tolist() == list(term.points)
        np.testing.assert_allclose(found.bins.woe[own], [one for one, _ in expected], atol=1e-12)
        information = [one for _, one in expected]
        np.testing.assert_allclose(found.bins.information[own], information, atol=1e-12)
        value = found.terms.information_value[number]
        assert value == pytest.approx(sum(information), abs=1e-9)
        for line, cell in zip(own, range(term.n_bins), strict=True):
            events = weight[(bins[:, number] == cell) & (y == 1)].sum()
            count = weight[bins[:, number] == cell].sum()
            counts = found.bins.events[line], found.bins.nonevents[line], found.bins.count[line]
            assert counts == (events, count - events, count)
    assert next(lines, None) is None
    doubled = np.repeat(np.arange(len(X)), weight.astype(int))
    again = validation_tables(scorecard_of(card), X[doubled], y[doubled], n_resamples=2)
    np.testing.assert_allclose(again.bins.woe, found.bins.woe)
    np.testing.assert_allclose(again.steps.z, found.steps.z)
    np.testing.assert_allclose(again.correlation, found.correlation, atol=1e-9)


def slow_step(bins, y, low, high):
    """Change of the rate, its standard error, by counting."""
    rates, variance = [], 0.0
    for side in (low, high):
        own = [of for at, of in zip(bins, y, strict=True) if at in side]
        rates.append(sum(own) / len(own))
        smooth = (sum(own) + 0.5) / (len(own) + 1)
        variance += smooth * (1 - smooth) / len(own)
    return rates[1] - rates[0], math.sqrt(variance)


def test_steps_of_numbers_codes_and_categories():
    random = np.random.default_rng(0)
    age = Variable("age", 0, (0, 2, 2, 3, 1), (30.0, 50.0), (-1.0,))
    job = Variable("job", 1, (4, 1, 0, 0), groups=(("a",), ("b",)))
    card = Card((age, job), 0, 0, (0, 1), 2)
    X = np.empty((400, 2), dtype=object)
    X[:, 0] = random.choice([20.0, 40.0, 60.0, -1.0, np.nan], 400)
    X[:, 1] = random.choice(["a", "b", None], 400)
    y = random.integers(0, 2, 400)
    found, bins = validation_tables(scorecard_of(card), X, y, n_resamples=50).steps, card.bins(X)
    ordinary = X[:, 0].astype(float) > 0
    mean = np.mean([2 if one > 30 else 0 for one in X[ordinary, 0]])
    is_a = X[:, 1] == "a"
    of_job = np.average([4, 1], weights=[is_a.sum(), (X[:, 1] == "b").sum()])
    expected = [
        ("age", "<= 30", "> 30 and <= 50", 2, 0, [0], [1]),
        ("age", "other values", "is -1", 3 - mean, 0, [0, 1, 2], [3]),
        ("age", "other values", "missing", 1 - mean, 0, [0, 1, 2], [4]),
        ("job", "b", "a", 3, 1, [1], [0]),
        ("job", "other values", "missing", -of_job, 1, [0, 1], [2]),
    ]
    assert len(found.term) == len(expected) + 1  # and any other category, which no row has
    assert np.isnan([found.rate_change[-1], found.z[-1], found.stability[-1]]).all()
    assert not found.is_against[-1]
    for line, (term, low, high, step, column, *sides) in enumerate(expected):
        assert (found.term[line], found.low[line], found.high[line]) == (term, low, high)
        assert found.step[line] == pytest.approx(step)
        change, error = slow_step(bins[:, column], y, *sides)
        assert found.rate_change[line] == pytest.approx(change)
        assert found.standard_error[line] == pytest.approx(error)
        assert found.z[line] == pytest.approx(math.copysign(1, step) * change / error)


@pytest.mark.parametrize("seed", range(10))
def test_equal_points_are_no_step_whatever_the_weights(seed):
    """The mean of one bin with 3 points was 3.0000000000000004 with weights such as 0.3."""
    random = np.random.default_rng(seed)
    age = Variable("age", 0, (3, 3, 3, 3, 3), (0.0, 1.0), (-1.0,))
    job = Variable("job", 1, (2, 4, 4, 3, 3), (0.0, 1.0), (-1.0,))
    X, y = random.choice([-2.0, 0.5, 2.0, -1.0, np.nan], (60, 2)), np.arange(60) % 2
    X[:, 1] = random.permutation(np.repeat([-2.0, 0.5, np.nan], 20))
    weight = random.choice([0.1, 0.2, 0.3, 0.7], 60)
    weight[X[:, 1] == 0.5] = weight[X[:, 1] == -2.0]
    card = scorecard_of(Card((age, job), 0, 0, (0, 1), 2))
    found = validation_tables(card, X, y, sample_weight=weight, n_resamples=5).steps
    assert list(zip(found.term, found.high, strict=True)) == [("job", "> 0 and <= 1")]
    assert found.step.tolist() == [2]


@pytest.mark.parametrize("weight", [1e17, 1e19, 1e290])
def test_weights_beyond_the_integers_are_drawn_again_too(weight):
    random = np.random.default_rng(0)
    card = scorecard_of(Card((Variable("x", 0, (0, 2, 1), (0.0,)),), 0, 0, (0, 1), 1))
    X, y = random.normal(size=(300, 1)), random.integers(0, 2, 300)
    found = validation_tables(card, X, y, sample_weight=weight).steps
    change = found.rate_change[0]
    assert change and found.stability[0] == (change > 0)


def test_steps_of_a_pair_are_between_neighbouring_cells():
    pair = Pair(Axis("a", 0, (0.0,)), Axis("b", 1, (0.0,)), (0, 1, 9, 2, 2, 9, 9, 9, 9))
    card = Card((), 0, 0, (0, 1), 2, pairs=(pair,))
    random = np.random.default_rng(0)
    X, y = random.choice([-1.0, 1.0], (100, 2)), random.integers(0, 2, 100)
    found = validation_tables(scorecard_of(card), X, y, n_resamples=5).steps
    labels = pair.labels()
    steps = [
        (labels.index(low), labels.index(high), step)
        for low, high, step in zip(found.low, found.high, found.step, strict=True)
    ]
    assert steps == [(0, 1, 1), (0, 3, 2), (1, 4, 1)]


def test_a_step_against_the_data_is_marked_and_one_that_follows_is_not():
    y = np.repeat([0, 1, 0, 1], [80, 20, 20, 80])
    X = np.repeat([[0.0], [2.0]], 100, axis=0)
    for points, is_against in (((0, 3, 0), False), ((3, 0, 0), True)):
        card = Card((Variable("x", 0, points, (1.0,)),), 0, 0, (0, 1), 1)
        steps = validation_tables(scorecard_of(card), X, y).steps
        assert steps.is_against[0] == is_against
        assert (steps.z[0] < -1.96) == is_against
        assert steps.stability[0] == (0 if is_against else 1)


def test_stability_is_that_of_rows_drawn_again():
    random = np.random.default_rng(0)
    X = random.choice([0.0, 2.0], (150, 1), p=[0.8, 0.2])
    y = (random.uniform(size=150) < np.where(X[:, 0] > 1, 0.45, 0.4)).astype(int)
    card = Card((Variable("x", 0, (0, 3, 0), (1.0,)),), 0, 0, (0, 1), 1)
    found = validation_tables(scorecard_of(card), X, y, n_resamples=4000).steps.stability[0]
    same = 0
    for _ in range(4000):
        rows = random.integers(0, 150, 150)
        high = X[rows, 0] > 1
        same += y[rows][high].mean() > y[rows][~high].mean()
    assert found == pytest.approx(same / 4000, abs=0.04)
    assert 0.05 < found < 0.95


def test_correlation_and_inflation_are_those_of_regressions(fitted, credit):
    found = validation_tables(fitted, credit.data, credit.target, n_resamples=2)
    points = fitted.points_of(credit.data).astype(float)
    np.testing.assert_allclose(found.correlation, np.corrcoef(points.T), atol=1e-12)
    for number, inflation in enumerate(found.terms.variance_inflation):
        others = np.column_stack([np.ones(len(points)), np.delete(points, number, axis=1)])
        own = points[:, number]
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        assert inflation == pytest.approx(np.var(own) / np.var(left))


def test_constant_and_equal_columns():
    first, second = (Variable(name, j, (0, 2, 0), (0.0,)) for j, name in enumerate("ab"))
    same = Variable("c", 2, (1, 1, 1), (0.0,))
    card = Card((first, second, same), 0, 0, (0, 1), 3)
    X = np.repeat([[-1.0], [1.0]], 10, axis=0) * np.ones(3)
    found = validation_tables(scorecard_of(card), X, [0, 1] * 10)
    assert np.isinf(found.terms.variance_inflation[:2]).all()
    assert np.isnan(found.terms.variance_inflation[2])
    np.testing.assert_allclose(found.correlation[:2, :2], 1)
    assert np.isnan(found.correlation[2]).all()
    # What varies in rows of weight zero alone is constant.
    other = np.vstack([X, np.ones(3)])
    card = Card((first, second, replace(same, points=(1, 3, 1))), 0, 0, (0, 1), 3)
    other[:20, 2], weight = -1, [1.0] * 20 + [0.0]
    found = validation_tables(
        scorecard_of(card), other, [0, 1] * 10 + [0], n_resamples=2, sample_weight=weight
    )
    assert np.isnan(found.correlation[2]).all()
    empty = validation_tables(scorecard_of(Card((), 0, 0, (0, 1), 3)), X, [0, 1] * 10)
    assert [len(one.term) for one in (empty.bins, empty.terms, empty.steps)] == [0, 0, 0]


def test_tables_are_frames_and_have_a_seed(fitted, credit):
    found, again, other = (
        validation_tables(fitted, credit.data, credit.target, n_resamples=50, random_state=seed)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(found.steps.stability, again.steps.stability)
    assert (found.steps.stability != other.steps.stability).any()
    assert len(found.bins.to_frame()) == sum(one.n_bins for one in fitted.card_.terms)
    assert list(found.terms.to_frame()["term"]) == fitted.terms_
    assert "is_against" in found.steps.to_dict()


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        (np.zeros(20, dtype=int), {}, "needs rows of both classes"),
        (np.full(20, 7), {}, "was not fitted with"),
        (np.arange(20) % 2, {"n_resamples": 0}, "'n_resamples' parameter of validation_tables"),
        (np.arange(20) % 2, {"random_state": -1}, "'random_state' parameter"),
        (np.arange(19) % 2, {}, "X"),
    ],
)
def test_what_is_refused(fitted, credit, y, options, message):
    with pytest.raises(ValueError, match=message):
        validation_tables(fitted, credit.data.iloc[:20], y, **options)


def test_a_card_must_be_fitted(credit):
    with pytest.raises(NotFittedError, match="This Scorecard instance is not fitted yet"):
        validation_tables(Scorecard(), credit.data, credit.target)
