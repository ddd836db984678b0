"""The page of a card, read as a person reads it: by its text alone."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from sklearn_rank._core.rows import Rows
from sklearn_rank.datasets import make_credit
from sklearn_rank.metrics import auc_score, ks_score, partial_auc_score
from sklearn_rank.scorecard import Axis, Card, Pair, Scorecard, Variable, to_html
from sklearn_rank.scorecard.fitting._statements import fingerprint, held_out_figures
from sklearn_rank.scorecard.monitoring import validation_tables

# What a reader knows: the texts of paragraphs, captions and cells. Nothing here is of the writer.


class Reader(HTMLParser):
    """Collects captions, each with the lines of cells below it, and the other texts."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.texts, self.place = [], [""], None
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append(["", []])
        if tag == "tr" and self.tables:
            self.tables[-1][1].append([])
        if tag in ("td", "th") and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1].append("")
        self.place = tag if tag in ("caption", "td", "th") else self.place
        if tag in ("p", "li", "h2"):
            self.place = None
            self.texts.append("")

    def handle_endtag(self, tag):
        if tag in ("caption", "td", "th"):
            self.place = None

    def handle_data(self, data):
        if self.place == "caption":
            self.tables[-1][0] += data
        elif self.place and self.tables and self.tables[-1][1]:
            self.tables[-1][1][-1][-1] += data
        else:
            self.texts[-1] += data


def fits(label, value):
    """Whether a value is in a bin that reads like this."""
    label = label.removesuffix(" (not seen in training)")
    if label == "missing":
        return pd.isna(value)
    if pd.isna(value):
        return False
    if label == "any value":
        return True
    if isinstance(value, str):
        return value in label.split(", ")
    parts = [part.split() for part in label.split(" and ")]
    return all({">": value > float(n), "<=": value <= float(n)}[sign] for sign, n in parts)


def only(labels, value):
    found = [number for number, label in enumerate(labels) if fits(label, value)]
    if not found and isinstance(value, str):
        found = [n for n, label in enumerate(labels) if label.startswith("any other")]
    assert len(found) == 1, (labels, value)
    return found[0]


def by_hand(page, frame):
    """Return the totals of rows, from the text of a page."""
    reader = Reader(page)
    start = next(int(t.split(",")[1].strip(" .\n")) for t in reader.texts if "Start with" in t)
    totals = np.full(len(frame), start)
    for caption, lines in reader.tables:
        if not caption:
            continue
        if lines[0][0] == "Bin":
            labels, points = zip(*((line[0], int(line[1])) for line in lines[1:]), strict=True)
            totals += [points[only(labels, one)] for one in frame[caption]]
        else:
            (_, second), (first, *above), *grid = lines
            assert caption == f"{first} × {second}"
            beside = [line[0] for line in grid]
            cells = [[int(cell.split()[0]) for cell in line[1:]] for line in grid]
            totals += [
                cells[only(beside, x)][only(above, z)]
                for x, z in zip(frame[first], frame[second], strict=True)
            ]
    return totals


def counted(pair, x, z, y):
    cells = pair.bins(x, z)
    counts, events = (np.bincount(cells, w, pair.n_bins) for w in (np.ones(len(y)), y))
    return replace(pair, counts=tuple(counts.tolist()), events=tuple(events.tolist()))


def telescope(n_rows, seed=0):
    """Ten columns of numbers and two classes, as of the telescope MAGIC."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.lognormal(size=(n_rows, 10)), columns=[f"f{j}" for j in range(10)])
    X["f6"] -= 3
    X.loc[rng.random(n_rows) < 0.05, "f3"] = np.nan
    z = np.log(X["f0"]) + (X["f8"] - 1) * X["f6"] / 3
    return X, (z + rng.logistic(size=n_rows) > 0).astype(int)


def with_pairs(card, X, y, columns, seed=0):
    """Return a card with hand-made pairs of numbers."""
    rng, pairs = np.random.default_rng(seed), []
    for first, second in columns:
        axes = [
            Axis(X.columns[j], j, tuple(np.quantile(X.iloc[:, j].dropna(), q).tolist()))
            for j, q in ((first, (0.3, 0.6, 0.9)), (second, (0.5, 0.7)))
        ]
        n_bins = axes[0].n_bins * axes[1].n_bins
        pair = Pair(*axes, tuple(rng.integers(-5, 6, n_bins).tolist()))
        pairs.append(counted(pair, X.iloc[:, first], X.iloc[:, second], y))
    return replace(card, pairs=tuple(pairs))


def test_a_reader_of_the_page_scores_rows_exactly():
    X, y = telescope(3000)
    fitted = Scorecard(p=1, cv=2, random_state=0).fit(X[:2000], y[:2000])
    card = with_pairs(fitted.card_, X[:2000], y[:2000], [(0, 8), (3, 6)])
    rows = X[2000:]
    page = to_html(card)
    assert len(card.variables) >= 2
    assert_array_equal(by_hand(page, rows), card.totals(rows))


def test_a_reader_scores_categories_and_what_is_not_seen_in_grey():
    credit = make_credit(600, random_state=0)
    X, y = credit.data, credit.target
    names = X.columns.tolist()
    first = Axis("housing", names.index("housing"), groups=(("own",), ("rent", "mortgage")))
    second = Axis("age", names.index("age"), (30.0, 50.0))
    bins = first.n_bins * second.n_bins
    pair = counted(Pair(first, second, tuple(range(bins))), X["housing"], X["age"], y)
    job = Variable("employment", names.index("employment"), (2, -1, 0), groups=(("retired",),))
    job = replace(job, points=(2, -1, 3), counts=(5.0, 0.0, 0.0), events=(1.0, 0.0, 0.0))
    card = Card((job,), 4, 0, (0, 1), len(names), tuple(names), pairs=(pair,))
    rows = X.astype({"housing": object, "employment": object})
    rows.loc[::7, "housing"], rows.loc[::5, "employment"] = "boat", "none of these"
    page = to_html(card)
    assert_array_equal(by_hand(page, rows), card.totals(rows))
    # One table line is grey for each bin without rows, one cell of the grid for each such cell.
    unseen = job.counts.count(0) + pair.counts.count(0)
    assert page.count('class="unseen"') == unseen > 4


def test_a_range_or_cell_without_training_rows_is_grey():
    """An ordinary cell with count 0 was blue, though grey ones are said to fit no training row."""
    age = Variable("age", 0, (-1, 2, 7), (29.5,), counts=(9.0, 0.0, 1.0), events=(1.0, 0.0, 0.0))
    cells = Pair(
        *(Axis("age", 0, (40.0,)), Axis("debt", 1), (0, 0, 5, 0, 0, 0)),
        counts=(6.0, 0.0, 0.0, 3.0, 1.0, 0.0),
        events=(1.0,) * 6,
    )
    page = to_html(Card((age,), 1, 0, (0, 1), 2, ("age", "debt"), pairs=(cells,)))
    assert '<tr class="unseen"><td class="bin">&gt; 29.5</td>' in page
    assert '<td class="unseen"><b>+5</b></td>' in page
    assert page.count('class="unseen"') == 1 + 3


def test_bins_that_are_refused_have_no_points():
    age = Variable("age", 0, (-1, 2, 7), (29.5,), counts=(9.0, 9.0, 0.0), events=(1.0, 2.0, 0.0))
    cells = Pair(
        *(Axis("age", 0, (40.0,)), Axis("debt", 1, (1e3,)), tuple(range(9))),
        counts=(2.0,) * 4 + (0.0,) * 5,
        events=(1.0,) * 4 + (0.0,) * 5,
    )
    card = Card((age,), 1, 0, (0, 1), 2, ("age", "debt"), pairs=(cells,))
    for unseen, shown in (("neutral", "+7"), ("refuse", "none")):
        page = Reader(to_html(replace(card, unseen=unseen)))
        _, lines = next(one for one in page.tables if one[0] == "age")
        assert [line[1] for line in lines[1:]] == ["-1", "+2", shown]
        _, grid = next(one for one in page.tables if one[0] == "age × debt")
        texts = [cell.split()[0] for line in grid[2:] for cell in line[1:]]
        refused = [number for number, text in enumerate(texts) if text == "none"]
        assert refused == ([6, 7, 8] if unseen == "refuse" else [])
        is_said = any("points are 'none' is not scored" in text for text in page.texts)
        assert is_said == (unseen == "refuse")


def test_the_event_has_a_name():
    card = Card((), 1, 0, (0, 1), 1)
    page = to_html(card, event="default within <12> months")
    assert "A high total means <strong>default within &lt;12&gt; months (class 1)</strong>" in page
    assert "A total above 0 means <strong>class 1</strong>" in page
    for wrong in ("", 3):
        with pytest.raises(ValueError, match="'event' parameter of to_html"):
            to_html(card, event=wrong)


def test_the_page_states_how_good_the_card_is_and_what_it_was_fitted_to():
    X, y = telescope(500)
    fitted = Scorecard(p=1, cv=3, random_state=0).fit(X, y)
    details, page = fitted.card_.details, fitted.to_html()
    for key in ("held_out_auc", "held_out_ks", "held_out_pauc_5"):
        assert 0 < details[key] < 1
        assert f"<b>{details[key]:.3f}</b>" in page
    assert details["held_out_auc"] < auc_score(y, fitted.decision_function(X)) + 0.05
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", details["made_on"])
    for key, name in (
        ("made_on", "made on"),
        ("fingerprint_of_the_data", "fingerprint of the training rows"),
    ):
        assert f"<dt>{name}</dt><dd>{details[key]}</dd>" in page


@pytest.mark.parametrize(("n_totals", "n_lines"), [(90, 90), (91, 90), (500, 90)])
def test_the_page_has_ninety_lines_of_risks_at_most(n_totals, n_lines):
    risk = tuple((total, 0.5, 0.4, 0.6) for total in range(n_totals))
    tables = Reader(to_html(Card((), 0, 0, (0, 1), 1, risk=risk))).tables  # side by side
    totals = [int(line[0]) for _, lines in tables for line in lines if line[0].isdigit()]
    assert len(totals) == n_lines
    assert (totals[0], totals[-1]) == (0, n_totals - 1)


def test_the_page_shows_how_the_settings_were_chosen():
    X, y = telescope(400)
    fitted = Scorecard(p=1, cv=2, n_repeats=1, max_pairs=0, random_state=0).fit(X, y)
    page, again = fitted.to_html(), Scorecard.from_json(fitted.to_json())
    start = page.index("How the settings were chosen")
    assert page[start:].count('class="chosen"') == sum(one["chosen"] for one in fitted.search_) > 1
    for one in fitted.search_:
        assert f"<td>{one['score']:.4g}</td>" in page[start:]
    assert again.search_ == fitted.search_
    assert again.to_html() == page
    for wrong in (5, "text", [1, {"value": 2}]):  # a file that was edited by hand
        card = replace(fitted.card_, details={**fitted.card_.details, "search": wrong})
        assert "How the settings were chosen" not in to_html(card)


def test_the_page_shows_what_a_validator_asks():
    X, y = telescope(800)
    fitted = Scorecard(p=1, cv=2, n_repeats=1, max_pairs=0, random_state=0).fit(X[:500], y[:500])
    found = validation_tables(fitted, X[500:], y[500:])
    page = fitted.to_html(validation=found)
    part = page[page.index("<h2>Validation</h2>") :]
    assert "300 rows" in part
    for value in found.terms.information_value:
        assert f"<td>{value:.3f}</td>" in part
    assert part.count(">against</td>") == found.steps.is_against.sum()
    assert max(map(float, re.findall(r"%; width: ([\d.]+)%", page))) == 50  # the largest points
    for value in found.bins.woe:
        assert f"<td>{'-' if np.isnan(value) else f'{value:.2f}'}</td>" in part
    assert_array_equal(by_hand(page, X), fitted.card_.totals(X))  # the points stand there once
    other = replace(fitted.card_, variables=fitted.card_.variables[1:])
    with pytest.raises(ValueError, match="validation must be of this card, whose terms are"):
        to_html(other, validation=found)
    with pytest.raises(ValueError, match="what validation_tables has returned"):
        to_html(other, validation=3)


def test_figures_of_rows_held_out():
    rng = np.random.default_rng(0)
    y, scores, weight = rng.random(200) < 0.4, rng.normal(size=200), rng.integers(1, 4, 200)
    rows = Rows(scores[:, None], y, None, weight.astype(float))
    repeated = np.repeat(np.arange(200), weight)
    y, scores = y[repeated], scores[repeated]
    found = held_out_figures(rows)
    assert found["held_out_auc"] == pytest.approx(auc_score(y, scores))
    assert found["held_out_ks"] == pytest.approx(ks_score(y, scores))
    assert found["held_out_pauc_5"] == pytest.approx(partial_auc_score(y, scores, max_fpr=0.05))
    assert held_out_figures(None) == {}


def test_the_fingerprint_is_of_the_rows_in_any_order():
    rng = np.random.default_rng(0)
    X, y, weight = rng.integers(0, 3, (50, 2)).astype(float), rng.random(50) < 0.5, np.ones(50)
    rows = Rows(X, y, None, weight)
    order = rng.permutation(50)
    assert fingerprint(rows.take(order)) == fingerprint(rows) == fingerprint(rows.distinct())
    other = X.copy()
    other[3, 1] += 1
    assert fingerprint(Rows(other, y, None, weight)) != fingerprint(rows)
    assert fingerprint(Rows(X, ~y, None, weight)) != fingerprint(rows)
    assert fingerprint(Rows(X, y, None, 2 * weight)) != fingerprint(rows)
    assert len(fingerprint(rows)) == 16
