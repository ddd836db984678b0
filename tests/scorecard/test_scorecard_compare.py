"""Two cards on the same rows, against loops over the rows."""

import json
import re
from collections import Counter

import numpy as np
import pytest

from sklearn_rank.metrics import auc_score, compare_auc
from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json, compare_cards
from sklearn_rank.scorecard.monitoring import population_stability_index


def card_of(points, thresholds, cut=0, classes=(0, 1)):
    age = Variable("age", 0, tuple(points), tuple(thresholds))
    return Scorecard.from_json(card_to_json(Card((age,), 1, cut, classes, 1)))


A = card_of((-3, 0, 2, 4, 0), (1.0, 2.0, 3.0))
B = card_of((-2, 0, 3, 5, -1), (1.5, 2.5, 3.5), cut=1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 5, 300)
    return x[:, None], (rng.random(300) < x / 5).astype(int), rng.integers(0, 4, 300).astype(float)


def test_swaps_and_moves_are_counted(rows):
    X, y, weight = rows
    for given in (None, weight):
        w = np.ones(300) if given is None else given
        found = compare_cards(A, B, X, y, cut_b=3, bands=[-1, 2], sample_weight=given)
        sides, moves = Counter(), Counter()
        for one, label, times in zip(X, y, w, strict=True):
            a, b = (int(c.card_.totals(one[None])[0]) for c in (A, B))
            name = {(1, 1): "both", (1, 0): "a only", (0, 1): "b only", (0, 0): "neither"}
            side = "above " + name[int(a > 0), int(b > 3)]
            band = tuple(int(t > -1) + int(t > 2) for t in (a, b))
            sides[side, label] += times
            moves[band, label] += times
        for side, count, events in zip(
            found.swaps.side, found.swaps.count, found.swaps.events, strict=True
        ):
            assert events == sides[side, 1] and count == sides[side, 0] + sides[side, 1]
        table = found.moves
        lines = zip(table.band_a, table.band_b, table.count, table.events, strict=True)
        listed = {(int(a), int(b)): (count, events) for a, b, count, events in lines}
        places = {band for (band, _), times in moves.items() if times}
        assert listed == {one: (moves[one, 0] + moves[one, 1], moves[one, 1]) for one in places}
        assert found.n_rows == w.sum() == table.count.sum() == found.swaps.count.sum()
        elsewhere = sum(n for ((a, b), _), n in moves.items() if a != b)
        assert found.moved == pytest.approx(elsewhere / w.sum())
        np.testing.assert_allclose(found.swaps.share, found.swaps.count / w.sum())
        rate = np.nan_to_num(found.swaps.rate)
        np.testing.assert_allclose(rate * found.swaps.count, found.swaps.events)


def test_the_difference_is_paired(rows):
    X, y, weight = rows
    totals = [one.decision_function(X) + one.cut_ for one in (A, B)]
    found, paired = compare_cards(A, B, X, y), compare_auc(y, totals[1], totals[0])
    gain = found.auc_difference
    assert (gain.value, gain.low, gain.high) == (paired.difference, paired.low, paired.high)
    assert found.auc_a.value == pytest.approx(auc_score(y, totals[0]))
    assert found.auc_a.low < found.auc_a.value < found.auc_a.high
    assert found.psi == pytest.approx(population_stability_index(*totals))
    assert found.changed == np.mean(totals[0] != totals[1])
    assert (found.cut_a, found.cut_b) == (0, 1)
    weighted = compare_cards(A, B, X, y, sample_weight=weight)
    difference = [auc_score(y, one, sample_weight=weight) for one in totals]
    assert weighted.auc_difference.value == pytest.approx(difference[1] - difference[0])
    assert np.isnan(weighted.auc_difference.low)


def test_a_card_and_itself(rows):
    X, y, _ = rows
    found = compare_cards(A, A, X, y)
    assert found.changed == found.moved == found.psi == found.auc_difference.value == 0
    assert found.swaps.count[1:3].tolist() == [0, 0]
    constant = card_of((0, 0), ())
    assert compare_cards(constant, constant, X, y, bands=[0]).psi == 0


def test_forms(rows):
    X, y, _ = rows
    found = compare_cards(A, B, X, y)
    again = json.loads(json.dumps(found.to_dict()))
    assert again["swaps"]["count"] == found.swaps.count.tolist()
    assert again["auc_a"]["value"] == found.auc_a.value
    assert found.to_frame()["side"].tolist() == found.swaps.side.tolist()
    text = found.to_text()
    for part in (
        "300 rows",
        "class 1",
        "above b only",
        f"{found.auc_b.value:.4f}",
        "Cuts: above 0",
    ):
        assert part in text


def test_texts_of_intervals_and_of_sides_without_a_row(rows):
    X, y, weight = rows
    found = compare_cards(A, B, X, y)
    gain = found.auc_difference
    assert f"{gain.value:+.4f} (95 %: {gain.low:+.4f} to {gain.high:+.4f})" in found.to_text()
    rates = re.findall(r"event rate +(.*)$", found.to_text(), re.M)
    assert rates == ["-" if np.isnan(x) else f"{100 * x:.2f} %" for x in found.swaps.rate]
    weighted = compare_cards(A, B, X, y, sample_weight=weight).to_text()
    assert "95 %" not in weighted and "nan" not in weighted
    same = compare_cards(A, A, X, y).to_text()
    assert len(re.findall(r"0 rows +0\.00 % +event rate +-$", same, re.M)) == 2


def test_what_is_refused(rows):
    X, y, _ = rows
    other = card_of((0, 0), (), classes=("bad", "good"))
    with pytest.raises(ValueError, match=r"same classes.*\['bad', 'good'\]"):
        compare_cards(A, other, X, y)
    with pytest.raises(ValueError, match="both classes"):
        compare_cards(A, B, X, np.zeros(300, dtype=int))
    with pytest.raises(ValueError, match="'cut_a' parameter of compare_cards"):
        compare_cards(A, B, X, y, cut_a="high")
    with pytest.raises(ValueError, match="bands"):
        compare_cards(A, B, X, y, bands=[3, 1])
    with pytest.raises(ValueError, match="'bands' parameter of compare_cards must be"):
        compare_cards(A, B, X, y, bands=2.5)
