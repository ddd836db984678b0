"""Measured figures that README, pages and docstrings quote, beside the reports they are from.

    python benchmarks/quoted_figures.py               # what is registered, wrong or not registered
    python benchmarks/quoted_figures.py --left-out    # and what the finder leaves out, by kind

The registry is `benchmarks/quoted_figures/`, a TOML file for each page; `README.md` there says
what is in one. `tests/test_quoted_figures.py` fails on a figure that differs from its report, and
on one that nobody registers.
"""

import argparse
import functools
import math
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _quoted_sources import SourceError, values_of
from _quoted_texts import LEFT_OUT, OF_DOCSTRINGS, candidates, pages, spaced, texts

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).with_suffix("")
MARK = re.compile(r"(?<!\d)\{([^{}]*)\}")
DIGITS = re.compile(r"[-+−±]?(?:\d[\d,]*)?(?:\.\d+|(?<=\d))(?:e-?\d+)?")
WORDS = {
    **{"half": 1 / 2, "a third": 1 / 3, "a quarter": 1 / 4, "a fifth": 1 / 5, "a tenth": 1 / 10},
    **{"a twelfth": 1 / 12, "a twentieth": 1 / 20, "twice": 2, "three times": 3, "ten times": 10},
    **{"seventy times": 70, "a hundred times": 100, "a thousand times": 1000},
}
NUMBERS = {
    **{"a": 1, "an": 1, "half a": 0.5, "half an": 0.5, "one": 1, "two": 2, "three": 3, "four": 4},
    **{"five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12},
    **{"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60},
}
SECONDS = {"microsecond": 1e-6, "millisecond": 1e-3, "second": 1, "minute": 60, "hour": 3600}
NEAR = 0.15
KINDS = ("of", "test", "by_hand")
"""Where a quote's figures are from: reports, the code of a test, or a measurement by hand."""


@dataclass(frozen=True)
class Quote:
    """Words of a page in which the figures stand in braces, and where these are from."""

    page: str
    text: str
    entry: dict[str, Any]

    @property
    def figures(self) -> list[str]:
        """Return the figures as they are printed."""
        return MARK.findall(self.text)

    @property
    def plain(self) -> str:
        """Return the words as they stand in the page."""
        return MARK.sub(r"\1", self.text)

    def spans(self, text: str) -> Iterator[list[tuple[int, int]]]:
        """Yield where the figures stand in a text, for each place where the words stand."""
        parts = [
            f"({spaced(part)})" if number % 2 else spaced(part)
            for number, part in enumerate(MARK.split(self.text))
        ]
        for found in re.finditer("".join(parts), text):
            yield [found.span(group + 1) for group in range(len(self.figures))]


@functools.cache
def registry() -> dict[str, dict[str, Any]]:
    """Return the registry's files by page: quotes, and phrases whose numbers are not measured."""
    found = {}
    for path in sorted(FOLDER.glob("*.toml")):
        file = tomllib.loads(path.read_text(encoding="utf-8"))
        for entry in file.get("pages", [file]):
            if entry["page"] in found:
                raise ValueError(f"{path.name}: {entry['page']} is in two places")
            found[entry["page"]] = entry
    return found


@functools.cache
def quotes() -> list[Quote]:
    """Return all registered quotes."""
    return [
        Quote(page, " ".join(entry["text"].split()), entry)
        for page, file in registry().items()
        for entry in file.get("quote", [])
    ]


def number(text: str) -> float:
    """Return the value of a figure as it is printed."""
    return float(text.replace(",", "").replace("−", "-").lstrip("+±"))


def agrees(text: str, value: float, entry: dict[str, Any]) -> bool:
    """Return whether a figure is what a value gives when it is rounded as the entry says.

    By default to the digits that are printed; "up" is for limits ("at most .02"), `digits` for a
    figure with so many significant digits ("about 250"). Of words the ratio may be off by `NEAR`.
    """
    in_words = _in_words(text)
    if in_words is not None:
        ratio = value / in_words
        return 1 - NEAR <= ratio <= 1 + NEAR or (entry.get("rounded") == "up" and 0 <= ratio <= 1)
    if not DIGITS.fullmatch(text):
        raise ValueError(f"{text!r} is neither a number nor known words")
    printed, step = number(text), last_digit(text)
    if "digits" in entry and printed:
        step = 10.0 ** (math.floor(math.log10(abs(printed))) + 1 - entry["digits"])
        if abs(printed / step - round(printed / step)) > 1e-9:
            return False
    gap = (printed - value) / step
    if entry.get("rounded") == "up":
        return -1e-6 <= gap < 1 - 1e-6
    return abs(gap) <= 0.5 + 1e-6


def _in_words(text: str) -> float | None:
    """Return what words such as "half" or "ten minutes" (in seconds) stand for."""
    if text in WORDS:
        return WORDS[text]
    number, _, unit = text.rpartition(" ")
    number = number.removeprefix("about ").removeprefix("under ")
    return (
        NUMBERS.get(number, math.nan) * SECONDS[unit.rstrip("s")]
        if unit.rstrip("s") in SECONDS
        else None
    )


def last_digit(text: str) -> float:
    """Return one unit of the last digit that is printed."""
    digits, _, power = text.replace(",", "").partition("e")
    return 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))


def faults(quote: Quote, found_texts: list[str] | None = None) -> list[str]:
    """Return what is wrong with a quote: the words are not in its page, or a figure is another."""
    if sum(kind in quote.entry for kind in KINDS) != 1:
        return [f"{quote.page}: one of {', '.join(KINDS)} says where it is from: {quote.text}"]
    within = texts(quote.page) if found_texts is None else found_texts
    found = [] if any(True for text in within for _ in quote.spans(text)) else ["is not there"]
    if "by_hand" not in quote.entry:
        try:
            found += _wrong_figures(quote)
        except (SourceError, ValueError) as error:
            found.append(str(error))
    return [f"{quote.page}: {words}: {quote.plain}" for words in found]


def _wrong_figures(quote: Quote) -> list[str]:
    sources = values_of(quote.entry, quote.figures)
    if len(sources) != len(quote.figures):
        return [f"{len(quote.figures)} figures, {len(sources)} values {sources}"]
    return [
        f"{text} is {value:.6g}"
        for text, (value, source) in zip(quote.figures, sources, strict=True)
        if not agrees(text, value, source)
    ]


def unregistered() -> list[str]:
    """Return the figures of all pages and docstrings that nobody has registered."""
    found = []
    for page in pages():
        file = registry().get(page, {})
        mine = [quote for quote in quotes() if quote.page == page]
        for index, text, match in candidates(page):
            known = [span for one in mine for spans in one.spans(text) for span in spans]
            given = [
                place.span()
                for phrase in file.get("given", [])
                for place in re.finditer(spaced(phrase), text)
            ]
            start, end = match.span()
            if not any(low <= start and end <= high for low, high in known + given):
                around = " ".join(text[max(0, start - 60) : end + 40].split())
                found.append(f"{page} ({index}): {match.group()} in: …{around}…")
    return found


def idle_phrases() -> list[str]:
    """Return the phrases of `given` in which the finder would find no figure, or none is left."""
    found = []
    for page, file in registry().items():
        places = [(text, match.span()) for _, text, match in candidates(page)]
        for phrase in file.get("given", []):
            holds = any(
                place.start() <= start and end <= place.end()
                for text, (start, end) in places
                for place in re.finditer(spaced(phrase), text)
            )
            if not holds:
                found.append(f"{page}: {phrase}")
    return found


def main() -> None:
    """Print how many figures are registered, and what is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--left-out", action="store_true", help="show what the finder leaves out")
    options = parser.parse_args()
    by_kind = {kind: [one for one in quotes() if kind in one.entry] for kind in KINDS}
    for kind, found in by_kind.items():
        print(f"{kind}: {len(found)} quotes, {sum(len(one.figures) for one in found)} figures")
    for quote in quotes():
        print(*faults(quote), sep="\n", end="\n" if faults(quote) else "")
    print(*unregistered(), *(f"not needed: {one}" for one in idle_phrases()), sep="\n")
    if options.left_out:
        for kind, pattern in (LEFT_OUT | OF_DOCSTRINGS).items():
            found = [
                one for page in pages() for text in texts(page) for one in pattern.findall(text)
            ]
            print(f"{kind}: {len(found)}, such as {'; '.join(dict.fromkeys(found[:5]))}")


if __name__ == "__main__":
    main()
