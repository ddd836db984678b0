"""Measured figures in README, pages and docstrings are those of their reports, each registered."""

import re

import pytest

pytestmark = pytest.mark.usefixtures("scripts")


@pytest.fixture
def registered(scripts):
    return scripts("quoted_figures")


def with_other_digit(text, place):
    """Return a text with one more in place of a digit."""
    return text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]


def alterations(figure):
    """Return a figure with each of its digits altered in turn; of words, other words."""
    found = [with_other_digit(figure, place.start()) for place in re.finditer(r"\d", figure)]
    return found or [f"not {figure}"]


def test_every_figure_is_what_its_report_says(registered):
    quotes = registered.quotes()
    assert sum(len(quote.figures) for quote in quotes) > 350
    assert [fault for quote in quotes for fault in registered.faults(quote)] == []


def test_every_figure_is_registered(registered):
    """A new one goes into a file of `benchmarks/quoted_figures/`: see the README there."""
    assert registered.unregistered() == []
    assert registered.idle_phrases() == []
    assert set(registered.registry()) <= set(registered.pages())


def test_a_digit_that_is_altered_is_noticed(registered):
    """In the page alone, and in the page and the registry alike."""
    unnoticed = []
    for quote in registered.quotes():
        parts = registered.MARK.split(quote.text)
        for number, figure in enumerate(quote.figures):
            for other in alterations(figure):
                changed = [*parts]
                changed[2 * number + 1] = other
                page = ["".join(changed)]
                marked = "".join(f"{{{one}}}" if n % 2 else one for n, one in enumerate(changed))
                both = registered.Quote(quote.page, marked, quote.entry)
                if not registered.faults(quote, page):
                    unnoticed.append((quote.page, other, "in the page"))
                if "by_hand" not in quote.entry and not registered.faults(both, page):
                    unnoticed.append((quote.page, other, "in both"))
    assert unnoticed == []


def test_a_report_that_is_altered_is_noticed(registered):
    """No range is so wide that a figure may double, or be four units of its last digit off."""
    for quote in registered.quotes():
        if "of" in quote.entry:
            sources = registered.values_of(quote.entry, quote.figures)
            for figure, (value, entry) in zip(quote.figures, sources, strict=True):
                is_number = registered.DIGITS.fullmatch(figure)
                steps = 4 * registered.last_digit(figure) if is_number else 0.0
                other = value + max(abs(value), steps)
                assert not registered.agrees(figure, other, entry), (quote.text, figure)


def test_figures_by_hand_have_a_date(registered):
    for quote in registered.quotes():
        if "by_hand" in quote.entry:
            assert re.match(r"\d{4}-\d\d-\d\d: .{10}", quote.entry["by_hand"]), quote.text


FOUND = {
    "It takes 3.7 s.": ["3.7"],
    "It is 12 times as fast, with 40 MB.": ["12", "40"],
    "The AUC rises by .004 ± .001.": [".004", ".001"],
    "It found 17 of 20 faults, or five, 85 %.": ["17", "20", "85"],
    "All 7,761 cases pass, at most 40 values.": ["7,761"],
    "The error is below 1e-9 of the weight.": ["1e-9"],
    "It takes 10 to 20 minutes.": ["10", "20"],
    "| fits | 1,000 | 3 |": ["1,000", "3"],
    "It takes half the time and a third of the memory.": ["half", "a third"],
    "It takes as long, or half of it.": ["half"],
    "It takes about a minute, or two hours.": ["about a minute", "two hours"],
}
LEFT_OUT = {
    "versions": "You need Python 3.11 or newer and PMML 4.4.",
    "dates, laws and guidelines": "Since 2024-05-01, by 12 CFR 1002.9(a)(2).",
    "equations, theorems, sections, tables and figures of papers": "See sec. 3.2 and Lemma 3.1.",
    "levels of intervals": "The 95 % intervals are Wilson's.",
    "where the top of a list ends": "Found before 5 % of the negatives.",
    "code": "With `alpha=0.5` and $p = 1.5$.",
    "examples": "```python\nprint(0.25)\n```\n",
    "rows, ranks and parameters": "With 10 rows and 200 rounds.",
}


@pytest.fixture
def figures_in(scripts, monkeypatch):
    """Return what the finder finds in a text."""
    quoted_texts = scripts("_quoted_texts")

    def find(text, name="a_page.md"):
        monkeypatch.setattr(quoted_texts, "texts", lambda _: [text])
        return [match.group() for _, _, match in quoted_texts.candidates(name)]

    return find


@pytest.mark.parametrize("text", FOUND)
def test_figures_are_found(figures_in, text):
    assert figures_in(text) == FOUND[text]


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_what_is_no_figure_is_left_out(figures_in, kind):
    assert figures_in(LEFT_OUT[kind]) == []


def test_every_kind_that_is_left_out_has_an_example(scripts, figures_in):
    quoted_texts = scripts("_quoted_texts")
    assert set(quoted_texts.LEFT_OUT) < set(LEFT_OUT)
    for kind, pattern in quoted_texts.OF_DOCSTRINGS.items():
        text = "alpha : float in [0.5, 1.5], default=0.75"
        assert pattern.search(text), kind
        assert figures_in(text, "a_module.py") == []


def test_a_new_quote_is_caught(registered, monkeypatch, scripts):
    quoted_texts = scripts("_quoted_texts")
    texts = quoted_texts.texts
    monkeypatch.setattr(registered, "pages", lambda: ["README.md"])
    added = "The new solver takes 0.37 of the time."
    monkeypatch.setattr(
        quoted_texts,
        "texts",
        lambda name: [*texts(name), added] if name == "README.md" else texts(name),
    )
    (found,) = registered.unregistered()
    assert found.startswith("README.md (1): 0.37 in:")
