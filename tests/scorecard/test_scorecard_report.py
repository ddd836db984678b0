"""The report on a scorecard: its figures, its page and what it refuses."""

import base64
import re
import sys
from functools import cache
from html.parser import HTMLParser
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pandas
import pytest
from matplotlib.axes import Axes

from sklearn_rank import RankBoost, metrics
from sklearn_rank.datasets import make_credit
from sklearn_rank.scorecard import Scorecard, monitoring, report
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.monitoring._group_figures import auc_with_interval
from sklearn_rank.scorecard.pages import _report_pictures
from sklearn_rank.scorecard.pages._report_figures import ReportFigures, _band, _order, figures_of
from sklearn_rank.scorecard.pages._report_pictures import Picture
from sklearn_rank.scorecard.terms import Variable

# Of two classes by name the later in the alphabet is on top, which is said.
pytestmark = pytest.mark.filterwarnings("ignore:Scorecard ranks .will default. above")

CREDIT = make_credit(1500, random_state=0)
X = CREDIT.data[["income", "utilisation", "enquiries_6m", "months_at_address"]]
Y = np.where(CREDIT.target == 1, "will default", "paid")
OLD = np.arange(len(Y)) < 800
NEW = ~OLD
WEIGHT = np.random.default_rng(0).integers(0, 3, NEW.sum()).astype(float)


@cache
def fitted():
    """Return a card of two classes by name; "will default" is ``classes_[1]``."""
    return Scorecard(RankBoost(n_estimators=8), p=None, cv=2).fit(X[OLD], Y[OLD])


def figures(scorecard=None, **options):
    given = {
        "reference": None,
        "groups": None,
        "selected": "above",
        "sample_weight": None,
        "cut": None,
    }
    scorecard = fitted() if scorecard is None else scorecard
    return figures_of(scorecard, X[NEW], Y[NEW], **{**given, **options})


class Checker(HTMLParser):
    """Collects tags and text, and fails where an end does not fit."""

    VOID = frozenset({"meta", "img", "wbr"})

    def __init__(self, page):
        super().__init__()
        self.open, self.images, self.text = [], [], []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag == "img":
            self.images.append(dict(attrs))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@cache
def full_page():
    return report(fitted(), X[NEW], Y[NEW], reference=X[OLD], groups=CREDIT.group[NEW])


@pytest.fixture
def undrawn(monkeypatch):
    """Leave out the drawing, which takes most of the time."""
    monkeypatch.setattr(_report_pictures, "_picture", lambda _, text: Picture("data:,", text))


def words(page):
    return re.sub(r"\s+", " ", "".join(Checker(page).text))


# Figures ------------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_figures_are_those_of_the_metrics(weight):
    card = fitted()
    found = figures(sample_weight=weight)
    event, totals = Y[NEW] == "will default", card.decision_function(X[NEW])
    assert card.classes_.tolist() == ["paid", "will default"]
    w = {"sample_weight": weight}
    assert found.auc.value == pytest.approx(metrics.auc_score(event, totals, **w))
    assert found.ks.value == pytest.approx(metrics.ks_score(event, totals, **w))
    assert found.top_area == metrics.partial_auc_score(event, totals, max_fpr=0.05, **w)
    assert found.top_share == metrics.tpr_at_fpr_score(event, totals, max_fpr=0.05, **w)
    times = np.ones(len(event)) if weight is None else weight
    taken = times * (totals >= found.ks_total)
    kept, lost = (taken[event == c].sum() / times[event == c].sum() for c in (True, False))
    assert kept - lost == pytest.approx(found.ks.value)
    gains = monitoring.gains_table(event, totals, **w)
    np.testing.assert_array_equal(found.gains.ks, gains.ks)
    calibration = monitoring.calibration_table(event, card.predict_risk(X[NEW]), **w)
    np.testing.assert_array_equal(found.calibration.observed, calibration.observed)
    assert found.is_weighted == (weight is not None)
    if weight is None:
        interval = metrics.auc_interval(event, totals)
        assert (found.auc.low, found.auc.high) == (interval.low, interval.high)
    else:
        assert np.isnan([found.auc.low, found.ks.low]).all()


def test_the_share_above_a_cut_and_the_distance_of_weighted_rows():
    found = figures(cut=-3, sample_weight=WEIGHT)
    above = fitted().decision_function(X[NEW]) > -3
    assert found.share_above == pytest.approx(WEIGHT[above].sum() / WEIGHT.sum())
    assert 0.01 < abs(found.share_above - 0.5) < 0.49
    event, totals = np.array([1, 0, 1, 1, 0, 0]) > 0, np.array([6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
    _, distance, cut = _order(totals, event, np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0]))
    assert (distance.value, cut) == (pytest.approx(1 - 1 / 10), 3.0)


def test_labels_of_bins_of_totals():
    ends = np.array([-np.inf, 2, 3, 7]), np.array([2, 3, 7, np.inf])
    assert _report_pictures.limit_labels(*ends) == ["up to 2", "3", "4 to 7", "from 8"]
    assert [len(_report_pictures._short("x" * n)) for n in (17, 18, 19)] == [17, 18, 18]


def test_stability_against_a_reference():
    card = fitted()
    found = figures(reference=X[OLD])
    totals = [card.decision_function(X[rows]) for rows in (OLD, NEW)]
    assert found.stability.psi == monitoring.population_stability_index(*totals)
    points = [card.points_of(X[rows]) for rows in (OLD, NEW)]
    by_points = monitoring.characteristic_stability(*points)
    assert [one.name for one in found.variables] == card.variables_
    assert [one.shift for one in found.variables] == pytest.approx(by_points.shift)
    assert sum(one.shift for one in found.variables) == pytest.approx(
        totals[1].mean() - totals[0].mean()
    )


def test_stability_against_the_counts_of_the_card():
    """The card counted its training rows: the variables are compared with them."""
    by_counts, by_rows = figures(), figures(reference=X[OLD])
    assert by_counts.stability is None
    for one, other in zip(by_counts.variables, by_rows.variables, strict=True):
        np.testing.assert_allclose(one.table.reference, other.table.reference, atol=1e-12)
        assert one.table.psi == pytest.approx(other.table.psi)
        assert one.shift == pytest.approx(other.shift)


def test_weights_are_multiplicities():
    times = WEIGHT.astype(int)
    weighted = figures(sample_weight=WEIGHT, groups=CREDIT.group[NEW])
    card = fitted()
    repeated = figures_of(
        *(card, X[NEW].loc[np.repeat(X.index[NEW], times)], np.repeat(Y[NEW], times)),
        reference=None,
        groups=np.repeat(CREDIT.group[NEW], times),
        **{"selected": "above", "sample_weight": None, "cut": None},
    )
    for name in ("gains", "calibration"):
        for column, values in getattr(weighted, name).to_dict().items():
            np.testing.assert_allclose(values, getattr(getattr(repeated, name), column))
    for one, other in zip(weighted.variables, repeated.variables, strict=True):
        assert one.table.psi == pytest.approx(other.table.psi)
    group, of_repeated = weighted.groups["group"], repeated.groups["group"]
    np.testing.assert_allclose(group.auc, of_repeated.auc)
    np.testing.assert_allclose(group.selection_rate, of_repeated.selection_rate)


def test_groups_of_several_attributes():
    groups = {"sex": CREDIT.group[NEW], "work": CREDIT.data["employment"][NEW]}
    found = figures(groups=groups, selected="below").groups
    assert list(found) == ["sex", "work"]
    of_frame = figures(groups=pandas.DataFrame(groups), selected="below").groups
    np.testing.assert_array_equal(of_frame["work"].auc, found["work"].auc)
    rows = fitted().decision_function(X[NEW]) <= 0
    sex = CREDIT.group[NEW]
    assert found["sex"].selection_rate == pytest.approx(
        np.array([rows[sex == one].mean() for one in "AB"])
    )


MONTHS = pandas.date_range("2026-01-01", periods=NEW.sum(), freq="4h")


def test_periods_vintages_and_cutoffs():
    totals, event = fitted().decision_function(X[NEW]), Y[NEW] == "will default"
    found = figures(time=MONTHS, reference=X[OLD], cut=-1)
    before = fitted().decision_function(X[OLD])
    for name, wanted in (
        ("periods", monitoring.period_table(event, totals, MONTHS, reference=before, cut=-1)),
        ("vintages", monitoring.vintage_table(event, totals, MONTHS)),
        ("cutoffs", monitoring.cutoff_table(event, totals)),
    ):
        for key, column in wanted.to_dict().items():
            np.testing.assert_array_equal(getattr(found, name).to_dict()[key], column)
    page = report(fitted(), X[NEW], Y[NEW], time=MONTHS, selected="below")
    checker = Checker(page)
    text = " ".join("".join(checker.text).split())
    for part in (
        "Periods",
        "2026-01",
        "2026-04",
        "earliest period",
        "Vintages",
        "up to",
        "Cut-offs",
    ):
        assert part in text, part
    assert any("by period" in one["alt"] for one in checker.images)
    assert "Vintages" not in report(fitted(), X[NEW], Y[NEW])


def test_another_cut():
    totals = fitted().decision_function(X[NEW])
    found = figures(groups=CREDIT.group[NEW], cut=-3).groups["group"]
    is_b = CREDIT.group[NEW] == "B"
    assert found.selection_rate[1] == pytest.approx((totals[is_b] > -3).mean())
    assert (figures().cut, figures(cut=-3).cut) == (fitted().cut_, -3)


# The page -----------------------------------------------------------------------------


def test_the_page_says_all_of_it():
    page = full_page()
    said = words(page)
    for heading in ("Order", "Gains by band", "Calibration", "Stability", "Groups"):
        assert f">{heading}</h2>" in page
    found = figures()
    assert "High totals mean will default" in said
    for value in (found.auc.value, 2 * found.auc.value - 1, found.ks.value, found.top_area):
        assert f"{value:.3f}" in said
    assert f"{found.auc.low:.3f} to {found.auc.high:.3f}" in said
    assert all(name in said for name in fitted().variables_)
    assert "29 CFR 1607.4 D" in said


def test_its_pictures_are_inside_and_described():
    images = Checker(full_page()).images
    assert len(images) == 8
    for image in images:
        kind, _, encoded = image["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        assert ElementTree.fromstring(base64.b64decode(encoded)).tag.endswith("svg")
        assert len(image["alt"]) > 15
    assert not re.search(r"(?:src|href)=\"(?!data:)", full_page())


def test_the_same_rows_give_the_same_page():
    one, other = (report(fitted(), X[NEW], Y[NEW], title="Once") for _ in range(2))
    assert one == other


def card_of(*variables, **options):
    """Return a scorecard that was made by hand."""
    given = {"intercept": 0, "cut": 0, "classes": (0, 1), "n_features": 1} | options
    scorecard = Scorecard()
    scorecard._set_card(Card(variables, **given), np.array(given["classes"]), False)
    return scorecard


FOUR_ROWS, FOUR_LABELS = np.array([[0.0], [2.0], [0.5], [3.0]]), np.array([0, 1, 1, 0])


@pytest.mark.usefixtures("undrawn")
def test_names_are_no_markup():
    name = '<b>&"income_'
    classes = ("<i>no", "yes & no")
    variable = Variable(name, 0, (0, 2, 0), (1.0,), counts=(3.0, 3.0, 0.0))
    scorecard = card_of(variable, classes=classes, feature_names=(name,))
    options = {"groups": {"<u>": ["<p>", "a", "a", "<p>"]}, "title": "<script>"}
    frame = pandas.DataFrame(FOUR_ROWS, columns=[name])
    page = report(scorecard, frame, np.array(classes)[FOUR_LABELS], **options)
    Checker(page)
    for wrong in ("<b>&", "<i>no", "<u>", "<p>a", "<script>", "yes & no"):
        assert wrong not in page
    assert "yes &amp; no" in page
    assert "income_<wbr>" in page


@pytest.mark.parametrize("length", [24, 25, 40, 41])
def test_long_names_of_classes_are_cut_in_pictures(length, monkeypatch):
    """At 24 characters along an axis and at 40 in a legend; the page has them whole."""
    from matplotlib.text import Text

    figures = []

    def keep(ax, text):
        figures.append(ax.figure)
        return Picture("data:,", text)

    monkeypatch.setattr(_report_pictures, "_picture", keep)
    classes = ("n" * length, "y" * length)
    scorecard = card_of(Variable("x", 0, (0, 2, 0), (1.0,)), classes=classes)
    y = np.array(classes)[FOUR_LABELS]
    page = report(scorecard, FOUR_ROWS, y, time=np.array(["a", "a", "b", "b"]))
    said = [one.get_text() for figure in figures for one in figure.findobj(Text)]
    along = classes[1] if length <= 24 else "y" * 21 + "..."
    beside = [name if length <= 40 else name[:37] + "..." for name in classes]
    assert said.count(f"share of {along}") == 2  # by band, and by period
    assert [said.count(name) for name in beside] == [2, 2]  # totals, and their distance
    assert classes[1] in words(page)


def test_distance_is_drawn_between_totals_as_shares_with_at_least_so_many(monkeypatch):
    from matplotlib.cbook import STEP_LOOKUP_MAP

    monkeypatch.setattr(_report_pictures, "_picture", lambda ax, _: ax)
    found = figures(sample_weight=WEIGHT)
    ax = _report_pictures.distance(found, ("paid", "will default"))
    totals = np.unique(found.totals)
    between = (totals[1:] + totals[:-1]) / 2
    for line, rows in zip(ax.get_lines(), (~found.event, found.event), strict=True):
        x, share = STEP_LOOKUP_MAP[line.get_drawstyle()](*line.get_data())
        weight = np.where(rows, found.weight, 0) / found.weight[rows].sum()
        expected = [weight[found.totals >= one].sum() for one in between]
        np.testing.assert_allclose(np.interp(between, x[::-1], share[::-1]), expected)


def test_names_are_no_formulas_of_matplotlib():
    """One that could not be drawn, and one that would be drawn without its dollars."""
    variable = Variable("$_$", 0, (0, 2, 0), (1.0,), counts=(3.0, 3.0, 0.0))
    scorecard = card_of(variable, classes=("$_$", "$x$"), feature_names=("$_$",))
    groups = ["$0-$50k", "$_$", "$_$", "$0-$50k"]
    frame, y = pandas.DataFrame(FOUR_ROWS, columns=["$_$"]), scorecard.classes_[FOUR_LABELS]
    page = report(scorecard, frame, y, groups=groups)
    drawn = [
        base64.b64decode(one["src"].partition(",")[2]).decode() for one in Checker(page).images
    ]
    assert "<!-- $0-$50k -->" in drawn[-1]
    assert "<!-- $_$ -->" in drawn[-1]
    assert "<!-- $x$ -->" in drawn[0]


@pytest.mark.usefixtures("undrawn")
def test_a_card_without_probabilities_counts_and_order():
    """Each part that can't be told is left out, in a sentence."""
    scorecard = card_of(Variable("x", 0, (1, 1, 1), (1.0,)))
    x, y = FOUR_ROWS, FOUR_LABELS
    said = words(report(scorecard, x, y))
    assert "The card has no table of probabilities." in said
    assert "There is no reference to compare with." in said
    one = words(report(scorecard, x, y, reference=x + 5))
    assert "PSI of the total" in one
    single = words(report(scorecard, x[:3], y[:3] * [1, 1, 0]))
    assert "no interval" in single


def test_a_card_without_variables():
    """All rows have one total."""
    said = words(report(card_of(intercept=3), FOUR_ROWS, FOUR_LABELS, reference=FOUR_ROWS))
    assert "PSI of the total: 0.000, no change" in said
    assert "The card has 0 variables" in said


def test_without_a_wrong_pair_there_is_no_interval():
    event, score = np.array([True, True, False, False, False]), np.array([5.0, 4, 3, 2, 1])
    auc, low, high = auc_with_interval(event, score, np.ones(5))
    assert auc == 1.0 and np.isnan([low, high]).all()
    auc, low, high = auc_with_interval(event[[0, 2, 1, 3, 4]], score, np.ones(5))
    assert 0 <= low < auc < high <= 1


@pytest.mark.usefixtures("undrawn")
def test_of_weighted_rows_there_are_no_intervals():
    said = words(report(fitted(), X[NEW], Y[NEW], sample_weight=WEIGHT))
    assert "Rows have weights, for which there are no intervals" in said
    plain = words(report(fitted(), X[NEW], Y[NEW], sample_weight=(WEIGHT > 0).astype(float)))
    assert "Intervals are those of 95 % confidence" in plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": np.full(NEW.sum(), "paid")}, "report compares two classes"),
        ({"y": np.full(NEW.sum(), "unpaid")}, r"y has labels .* \['unpaid'\]"),
        ({"y": Y[NEW][1:]}, "inconsistent numbers of samples"),
        ({"groups": ["a"]}, r"groups must hold one group for each of the 700 rows. group has 1"),
        ({"groups": np.arange(NEW.sum())}, "may have 20 values each.*group has 700"),
        ({"selected": "high", "groups": CREDIT.group[NEW]}, "'selected' parameter"),
        ({"cut": "high"}, "'cut' parameter of report"),
        ({"sample_weight": -1}, "sample_weight must not be negative"),
        ({"reference": X[OLD][["income"]]}, "income|columns|feature"),
    ],
)
def test_what_a_report_refuses(options, message):
    given = {"X": X[NEW], "y": Y[NEW], **options}
    with pytest.raises(ValueError, match=message):
        report(fitted(), **given)


def test_a_report_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="report needs matplotlib"):
        report(fitted(), X[NEW], Y[NEW])


def test_bands_are_calibrated_inside_their_intervals():
    """A probability at an end of the interval is inside."""
    bands = SimpleNamespace(
        observed_low=np.array([0.1, 0.2, 0.3, 0.4, 0.5]),
        observed_high=np.array([0.2, 0.3, 0.4, 0.5, 0.6]),
        predicted=np.array([0.1, 0.3, 0.45, 0.39, 0.5]),
    )
    figures = object.__new__(ReportFigures)
    object.__setattr__(figures, "calibration", bands)
    assert figures.n_calibrated == 3


def test_bands_in_words():
    inf = np.inf
    assert [_band(-inf, inf), _band(-inf, 3), _band(3, inf), _band(3, 7.5)] == [
        "all",
        "up to 3",
        "above 3",
        "above 3 up to 7.5",
    ]


def test_the_picture_of_periods_has_the_ends_of_the_intervals(monkeypatch):
    drawn = {}
    monkeypatch.setattr(Axes, "errorbar", lambda self, *args, **more: drawn.update(more, at=args))
    table = SimpleNamespace(
        period=np.array(["a", "b"]),
        auc=np.array([0.7, 0.8]),
        auc_low=np.array([0.6, np.nan]),
        auc_high=np.array([0.75, np.nan]),
        rate=np.array([0.1, 0.2]),
    )
    _report_pictures.periods(table, "late")
    np.testing.assert_allclose(drawn["xerr"], [[0.1, 0], [0.05, 0]])
    np.testing.assert_array_equal(drawn["at"], [table.auc, [1, 0]])
