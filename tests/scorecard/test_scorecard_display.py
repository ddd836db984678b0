"""The picture of a scorecard: what it draws is the card, and no text lies on another."""

from itertools import combinations
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from sklearn_rank import RankBoost
from sklearn_rank.plotting import ScorecardDisplay
from sklearn_rank.scorecard import Card, Variable


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def number(name, column, n_thresholds, special=(), largest=5):
    rng = np.random.default_rng(column)
    n_bins = n_thresholds + 2 + len(special)
    thresholds = tuple(np.round(np.sort(rng.normal(0, 100, n_thresholds)), 2).tolist())
    points = tuple(rng.integers(-largest, largest + 1, n_bins).tolist())
    counts = tuple(rng.integers(0, 50_000, n_bins).astype(float).tolist())
    events = tuple(one // 3 for one in counts)
    return Variable(name, column, points, thresholds, special, None, counts, events)


LONG = Variable(
    "a name that is longer than any name of a variable should be, and is not a formula $x_2$",
    0,
    (-3, 0, 5),
    groups=(("a very long category", "another long category", "and one more"), ("$x_2$",)),
)
PLAIN = Variable("no counts", 1, (-2, 3), groups=(("a",),))


CARDS = {
    "one": [number("age", 0, 3)],
    "many bins": [number("income", 0, 40), number("age", 1, 2)],
    "ten": [number(f"variable {j}", j, j % 6, (-99.0, -98.0)[: j % 3]) for j in range(10)],
    "long": [LONG, PLAIN, number("scaled", 2, 3, largest=400)],
    "all zero": [Variable("x0", 0, (0, 0))],
}


def fitted(variables):
    card = Card(tuple(variables), 1, 0, (0, 1), 10, tuple(f"x{j}" for j in range(10)))
    return SimpleNamespace(card_=card)


def visible_texts(figure):
    """Return the boxes of all texts of a drawn figure, with what they say."""
    figure.canvas.draw()
    found = []
    for ax in figure.axes:
        if not ax.axison:
            continue
        labels = [tick.label1 for tick in ax.yaxis.get_major_ticks()]
        texts = [*ax.texts, ax._left_title, *labels]
        found += [
            (text.get_text(), text.get_window_extent())
            for text in texts
            if text.get_text() and text.get_visible()
        ]
    return found


def overlapping(figure):
    return [
        (one, other)
        for (one, box), (other, another) in combinations(visible_texts(figure), 2)
        if min(box.x1, another.x1) - max(box.x0, another.x0) > 1
        and min(box.y1, another.y1) - max(box.y0, another.y0) > 1
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", CARDS)
def test_no_text_lies_on_another_or_outside(name):
    display = ScorecardDisplay.from_estimator(fitted(CARDS[name]))
    assert overlapping(display.figure_) == []
    whole = display.figure_.bbox
    for text, box in visible_texts(display.figure_):
        assert box.x0 >= whole.x0 - 1, text
        assert box.x1 <= whole.x1 + 1, text
        assert box.y0 >= whole.y0 - 1, text
        assert box.y1 <= whole.y1 + 1, text


def test_given_axes_drop_labels_that_have_no_room():
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    display = ScorecardDisplay.from_estimator(fitted(CARDS["many bins"]), ax=axes)
    assert display.figure_ is figure
    assert overlapping(figure) == []
    assert len(display.bars_[0]) == 42
    assert 5 < len(axes[0].get_yticks()) < 42
    assert len(axes[1].get_yticks()) == 4


def test_bars_and_texts_are_those_of_the_card():
    variables = CARDS["ten"]
    display = ScorecardDisplay.from_estimator(fitted(variables))
    for variable, bars, ax in zip(variables, display.bars_, display.axes_, strict=True):
        assert tuple(bar.get_width() for bar in bars) == variable.points
        assert [one.get_text() for one in ax.get_yticklabels()] == variable.labels()
        texts = [one.get_text() for one in ax.texts]
        for count, events in zip(variable.counts, variable.events, strict=True):
            assert f"{count:,.6g}" in texts
            assert f"{100 * events / count:.1f} %" in texts
        for points in variable.points:
            assert (f"{points:+d}" if points else "0") in texts
    limits = {ax.get_xlim() for ax in display.axes_}
    assert len(limits) == 1


def test_unknown_counts_are_not_drawn():
    display = ScorecardDisplay.from_estimator(fitted([PLAIN]))
    assert [one.get_text() for one in display.axes_[0].texts] == ["-2", "+3", "+3"]
    assert np.isnan(display.event_rates[0]).all()


def test_empty_bins_have_no_rate():
    variable = Variable("x0", 0, (1, 2), counts=(4.0, 0.0), events=(1.0, 0.0))
    display = ScorecardDisplay.from_estimator(fitted([variable]))
    assert_array_equal(display.event_rates[0], [0.25, np.nan])


def test_variables_are_chosen_by_name_and_drawn_again():
    display = ScorecardDisplay.from_estimator(fitted(CARDS["ten"]), variables=["variable 3"])
    assert display.names == ["variable 3"]
    first = display.figure_
    again = display.plot(n_columns=1, height=0.5)
    assert again is display
    assert again.figure_ is not first
    assert display.bars_[0][0].get_height() == 0.5


def test_wrong_input_gets_a_sentence():
    scorecard = fitted(CARDS["one"])
    with pytest.raises(ValueError, match=r"at least one of \['age'\]\. Got \['sex'\]"):
        ScorecardDisplay.from_estimator(scorecard, variables=["sex"])
    with pytest.raises(ValueError, match=r"Got \[\]"):
        ScorecardDisplay.from_estimator(fitted([]))
    with pytest.raises(NotFittedError):
        ScorecardDisplay.from_estimator(RankBoost())
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="Got LogisticRegression"):
        ScorecardDisplay.from_estimator(model)
