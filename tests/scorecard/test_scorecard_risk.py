"""The risk table of scorecards: curve, interval, cut, predicted classes and probabilities."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import risk as oracles
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict, train_test_split
from test_scorecard import CANCER, QUICK, X, Y

from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json
from sklearn_rank.scorecard import _risk_curve as risk_module
from sklearn_rank.scorecard._risk_curve import RiskCurve, cut_of


@st.composite
def calibrations(draw):
    """Totals on a grid of nodes, classes and weights; also separated ones and a single total."""
    n = draw(st.integers(2, 12))
    z = np.array(draw(st.lists(st.integers(-12, 12), min_size=n, max_size=n))) / 4
    positive = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    weight = np.array(draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=float)
    return z, positive, weight


@settings(deadline=None, max_examples=40)
@given(calibrations(), st.sampled_from([1, 2]))
def test_the_curve_has_the_greatest_likelihood(rows, n_slopes):
    z, positive, weight = rows
    found = RiskCurve.fit(z, positive, weight, 0.0, 1.0, n_slopes)
    assert (found.coefficients[1:] >= 0).all()
    by_class = weight * positive, weight * ~positive
    best = oracles.greatest(z, *by_class, n_slopes)
    values = [oracles.likelihood(one, z, *by_class) for one in (found.coefficients, best)]
    assert values[0] >= values[1] - 1e-7 * weight.sum()


@settings(deadline=None, max_examples=10)
@given(st.lists(st.integers(0, 300), min_size=26, max_size=26))
def test_the_number_of_slopes_has_the_least_criterion(counts):
    z = np.arange(-6, 7) / 3
    events, others = np.array(counts[:13], float) + 1, np.array(counts[13:], float) + 1
    rows = np.r_[z, z], np.r_[np.ones(13, bool), np.zeros(13, bool)], np.r_[events, others]
    by_slopes = [RiskCurve.fit(*rows, 0.0, 1.0, n).coefficients for n in (2, 4, 6)]
    values = [oracles.criterion(one, z, events, others) for one in by_slopes]
    if min(events.sum(), others.sum()) < 60:
        values = values[: 1 + (min(events.sum(), others.sum()) >= 40)]
    found = RiskCurve.fit(*rows, 0.0, 1.0).coefficients
    assert oracles.criterion(found, z, events, others) == pytest.approx(min(values), abs=1e-5)
    for curve in by_slopes:  # the likelihood is concave: no small move of a coefficient is better
        best = oracles.likelihood(curve, z, events, others)
        for move in np.vstack([np.eye(len(curve)), -np.eye(len(curve))]) * 1e-3:
            if (curve[1:] + move[1:] >= 0).all():
                assert oracles.likelihood(curve + move, z, events, others) <= best + 1e-6


def flattening(z):
    """The probability of rows of which some cannot be told: it has a floor and a ceiling."""
    return 0.06 + 0.88 / (1 + np.exp(-3 * z))


def plain(z):
    return 1 / (1 + np.exp(1 - 2 * z))


@pytest.mark.parametrize(("chance", "n_slopes"), [(flattening, 4), (plain, 2)])
def test_a_curve_has_the_slopes_that_its_rows_need(chance, n_slopes):
    z = np.random.default_rng(0).normal(size=20_000)
    rows = np.r_[z, z], np.r_[np.ones(len(z), bool), np.zeros(len(z), bool)]
    curve = RiskCurve.fit(*rows, np.r_[chance(z), 1 - chance(z)], 0.0, 1.0)
    assert len(curve.coefficients) == 1 + n_slopes
    at = np.linspace(-2, 2, 41)
    np.testing.assert_allclose(curve.chance(at), chance(at), atol=0.02)


@pytest.mark.parametrize("n_slopes", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_interval_is_that_of_the_bootstrap_one_by_one(n_slopes, monkeypatch):
    monkeypatch.setattr(risk_module, "N_REDRAWN", 16)
    z = np.arange(-6, 7) / 4
    events = np.array([0, 1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 6, 9.0])
    others = np.array([9, 8, 9, 7, 8, 5, 5, 4, 5, 3, 2, 1, 2.0])
    rows = np.r_[z, z], np.r_[np.ones(13, bool), np.zeros(13, bool)], np.r_[events, others]
    kept = rows[2] > 0
    curve = RiskCurve.fit(*(one[kept] for one in rows), 0.0, 1.0, n_slopes)
    for at in (-1.5, 1.25):
        chance, low, high = (float(one[0]) for one in curve.at(np.array([at])))
        ends = oracles.bootstrap_log_odds(z, events, others, n_slopes, at, 16, risk_module._SEED)
        log_odds = math.log(chance / (1 - chance))
        spread = 1.959963984540054 * curve.scatter
        expected = [
            log_odds - math.hypot(max(-ends[0], 0), spread),
            log_odds + math.hypot(max(ends[1], 0), spread),
        ]
        found = [math.log(one / (1 - one)) for one in (low, high)]
        np.testing.assert_allclose(found, expected, atol=1e-4)


@settings(deadline=None, max_examples=30)
@given(calibrations())
def test_the_scatter_is_the_posterior_mean(rows):
    z, positive, weight = rows
    curve = RiskCurve.fit(z, positive, weight, 0.0, 1.0, 1)
    parts, held = [], np.zeros(3)
    for one in np.unique(z):
        here = z == one
        p = float(curve.at(np.array([one]))[0][0])
        n = weight[here].sum()
        held = held + np.array([weight[here & positive].sum(), n * p, n * p * (1 - p)])
        if held[2] >= 1 - 1e-9:
            parts, held = [*parts, held], np.zeros(3)
    parts = [*parts[:-1], parts[-1] + held] if parts else [held]
    expected = oracles.scatter(*np.array(parts).T, np.linspace(0, 2, 101))
    assert curve.scatter == pytest.approx(expected, rel=1e-6)


def test_weight_2_is_the_row_twice_in_the_interval():
    random = np.random.default_rng(0)
    z, weight = random.normal(size=60), random.integers(1, 4, 60)
    positive = random.random(60) < 1 / (1 + np.exp(-2 * z))
    one = RiskCurve.fit(z, positive, weight.astype(float), 3.0, 2.0)
    order = random.permutation(np.repeat(np.arange(60), weight))
    other = RiskCurve.fit(z[order], positive[order], np.ones(len(order)), 3.0, 2.0)
    at = np.arange(-3.0, 9.0)
    np.testing.assert_allclose(one.at(at), other.at(at), rtol=1e-7)


@settings(deadline=None)
@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=8, unique=True),
    st.lists(st.floats(0, 1), min_size=8, max_size=8),
)
def test_the_cut_is_the_last_total_with_a_risk_of_one_half(totals, chances):
    chances = sorted(chances[: len(totals)])
    risk = [(t, p, 0.0, 1.0) for t, p in zip(sorted(totals), chances, strict=True)]
    assert cut_of(risk) == oracles.cut(risk)


# The card ------------------------------------------------------------------------------


@pytest.mark.parametrize("scaling", [None, "minmax", {"pdo": 15, "score": 500, "odds": 0.1}])
def test_predict_is_a_risk_above_one_half(scaling):
    credit = make_credit(3000, random_state=0)
    scorecard = Scorecard(scaling=scaling, **QUICK).fit(credit.data, credit.target)
    chance = scorecard.predict_proba(credit.data)
    np.testing.assert_allclose(chance.sum(axis=1), 1)
    above = chance[:, 1] > 0.5
    np.testing.assert_array_equal(scorecard.predict(credit.data), scorecard.classes_[above * 1])
    np.testing.assert_array_equal(scorecard.decision_function(credit.data) > 0, above)
    totals = [row[0] for row in scorecard.card_.risk]
    assert totals[0] - 1 <= scorecard.cut_ <= totals[-1]
    assert (scorecard.cut_ == 0) or scaling is not None


@pytest.mark.parametrize(
    ("points", "odds", "pdo"), [((-5, 5), 0.02, 3), (None, 50.0, 20.0), ((-5, 5), 1.0, 400.0)]
)
def test_the_risk_table_is_on_the_scale(points, odds, pdo):
    credit = make_credit(1500, random_state=1)
    scaling = {"pdo": pdo, "score": 600, "odds": odds}
    card = Scorecard(points=points, scaling=scaling, **QUICK).fit(credit.data, credit.target).card_
    for total, chance, low, high in card.risk:
        stated = odds * 2 ** ((total - 600) / pdo)
        assert chance / (1 - chance) == pytest.approx(stated, rel=1e-6)
        assert low <= chance <= high


def test_the_table_goes_from_the_least_to_the_greatest_total():
    scorecard = Scorecard(**QUICK).fit(X, Y)
    card = scorecard.card_
    ends = [card.intercept + sum(end(one.points) for one in card.variables) for end in (min, max)]
    assert [card.risk[0][0], card.risk[-1][0]] == ends


def test_probabilities_reach_the_tools_of_scikit_learn():
    y = np.asarray(Y == 1)
    scorecard = Scorecard(**QUICK).fit(X, y)
    assert scorecard.classes_.tolist() == [False, True]
    chance = scorecard.predict_proba(X)
    assert log_loss(y, chance) < 0.3
    held_out = cross_val_predict(Scorecard(**QUICK), X, y, cv=2, method="predict_proba")
    assert log_loss(y, held_out) < 0.4
    found = CalibratedClassifierCV(FrozenEstimator(scorecard)).fit(X, y)
    assert log_loss(y, found.predict_proba(X)) < 0.3


def test_a_card_without_risk_table_says_why_it_has_no_probabilities():
    age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    scorecard = Scorecard.from_json(card_to_json(card))
    assert hasattr(Scorecard(), "predict_proba")
    assert not hasattr(scorecard, "predict_proba")
    with pytest.raises(AttributeError) as error:
        scorecard.predict_proba(pd.DataFrame({"age": [20.0]}))
    assert "no risk table" in str(error.value.__cause__)
    assert scorecard.predict(pd.DataFrame({"age": [20.0, 40.0]})).tolist() == ["bad", "good"]


def test_details_state_the_curve():
    details = Scorecard(**QUICK).fit(X, Y).card_.details
    assert details["base_rate"] == pytest.approx(Y.mean())
    assert details["risk_rows"] == "held-out rows"
    assert details["risk_interval"] == "95 %, from 300 curves of redrawn rows"
    assert 0 <= details["risk_scatter"] <= 2


# What the intervals hold ---------------------------------------------------------------


def ends_of(scorecard, X):
    """Return the total of each row, and low, risk and high of the table there."""
    totals, table = scorecard.card_.totals(X), np.array(scorecard.card_.risk)
    return totals, *(np.interp(totals, table[:, 0], table[:, k]) for k in (2, 1, 3))


def by_band(band, values):
    return np.bincount(band, values) / np.bincount(band)


def share_held(n_rows, seeds):
    """Return the share of bands of 2 % of the rows whose true mean probability is held."""
    new, held = make_credit(30_000, random_state=10_000), []
    for seed in seeds:
        credit = make_credit(n_rows, random_state=seed)
        scorecard = Scorecard(random_state=0).fit(credit.data, credit.target)
        totals, low, _, high = ends_of(scorecard, new.data)
        band = oracles.bands(totals, 0.02 * len(totals))
        truth, low, high = (by_band(band, one) for one in (new.probability, low, high))
        held.append((low <= truth) & (truth <= high))
    return np.concatenate(held).mean()


@pytest.mark.slow
def test_intervals_hold_the_true_probabilities():
    assert share_held(2000, range(4)) >= 0.9


@pytest.mark.slow
def test_intervals_hold_the_rates_of_new_rows():
    """Of breast cancer, in bands of at least 50 rows; a rate of m rows varies by itself.

    Fewer than nine tenths are held where the log odds are off by 0.5, or by half.
    """
    held = []
    for seed in range(8):
        parts = train_test_split(CANCER.data, Y, test_size=0.4, random_state=seed, stratify=Y)
        scorecard = Scorecard(random_state=0).fit(parts[0], parts[2])
        totals, low, chance, high = ends_of(scorecard, parts[1])
        band = oracles.bands(totals, 50)
        rate, low, chance, high = (by_band(band, one) for one in (parts[3], low, chance, high))
        noise = chance * (1 - chance) / np.bincount(band)
        error = (high - low) / (2 * 1.96)
        held.append(np.abs(rate - chance) <= 1.96 * np.sqrt(error**2 + noise))
    assert np.concatenate(held).mean() >= 0.9
