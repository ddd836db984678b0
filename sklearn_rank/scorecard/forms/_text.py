"""A scorecard as text for the terminal."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn_rank._core.validation import Number, check_parameters
from sklearn_rank.scorecard._log import WEIGHTS, detail_name, edit_texts, other_details
from sklearn_rank.scorecard.card import EDITED, Card
from sklearn_rank.scorecard.forms._points_table import tables_of
from sklearn_rank.scorecard.terms import Bin, class_label, plain

_NARROWEST, _WIDEST = 50, 120
_WIDE = 76
"""Columns of text from which on bars are drawn."""

_LONGEST_BAR = 10
_LONGEST_LABEL = 48
_SHORTEST_LABEL = 20
_NONE = "none"
"""Stands for the points of a bin whose rows are not scored."""

_MAX_RISKS = 15


def to_text(card: Card, width: int | None = None) -> str:
    """Return the card as text, complete enough to score a row by hand.

    Parameters
    ----------
    card : Card
        The scorecard.
    width : int, default=None
        Characters of a line; below 50 it is 50, above 120 it is 120. None: those of the
        terminal.

    Returns
    -------
    str
        Lines of at most `width` characters.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_text
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> print(to_text(card, width=60))
    SCORECARD: a high total means good
    <BLANKLINE>
    The total of a row is the sum of the points that fit it, one
    line of each block. A total above 0 means good.
    <BLANKLINE>
    Points  Bin
        +1  intercept: every row
    <BLANKLINE>
    age
        -1  <= 29.5
        +2  > 29.5
         0  missing
    """
    check_parameters("to_text", {"width": width}, {"width": Number(1, integer=True, other=(None,))})
    if width is None:
        width = shutil.get_terminal_size().columns
    width = min(max(width, _NARROWEST), _WIDEST)
    lines = [*_head(card, width), "", *_points(card, width)]
    if card.risk:
        lines += ["", *_risks(card, width)]
    if card.details:
        lines += ["", *_details(card, width)]
    return "\n".join(line.rstrip() for line in lines)


def printable(text: str) -> str:
    """Return a text without characters that steer a terminal."""
    return "".join(one if one.isprintable() else "\ufffd" for one in text)


def points_text(points: int) -> str:
    """Return points with their sign."""
    return f"{points:+d}" if points else "0"


def count_text(count: float) -> str:
    """Return a number of rows, or nothing if it is unknown."""
    if math.isnan(count):
        return ""
    return f"{count:,.6g}" if count < 1e6 else f"{count:,.0f}" if count < 1e10 else f"{count:.3g}"


def rate_text(rate: float) -> str:
    """Return a share as a percentage, or nothing if it is unknown."""
    return "" if math.isnan(rate) else f"{100 * rate:.1f} %"


def detail_text(value: Any) -> str:
    """Return a detail of the card."""
    value = plain(value)
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e10 else f"{value:.4g}"
    return printable(str(value))


def thinned(rows: Sequence[Any], most: int) -> list[Any]:
    """Return at most so many rows, evenly spaced, with the first and the last one."""
    if len(rows) <= most:
        return list(rows)
    return [rows[round(number * (len(rows) - 1) / (most - 1))] for number in range(most)]


def _wrapped(text: str, width: int, first: str = "", rest: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )


def _head(card: Card, width: int) -> list[str]:
    """Return the direction of the card and how to use it."""
    upper = class_label(card.classes[1])
    use = "The total of a row is the sum of the points that fit it, one line of each block"
    if any(axis.special for term in card.terms for axis in term.axes):
        use += "; a line with 'is' goes before the ranges"
    if card.pairs:
        use += ", and of two variables the cell whose row and column fit"
    use += f". A total above {card.cut} means {upper}."
    if any(card.refused_bins(term) for term in card.terms):
        use += f" A row whose points are '{_NONE}' is not scored."
    if any(one.counts for one in card.terms):
        of = "sums of weights" if WEIGHTS in card.details else "those"
        use += f" Counts are {of} of training rows, event rates the share of {upper} among them."
    title = _wrapped(f"SCORECARD: a high total means {upper}", width)
    return [*title, "", *_wrapped(use, width)]


def _points(card: Card, width: int) -> Iterator[str]:
    """Yield the table of points."""
    tables = tables_of(card)
    bins = [one for _, of_one in tables for one in of_one if one.kind != "cell"]
    has_counts = not all(math.isnan(one.count) for one in bins)
    heads = ("Points", "Count", "Event rate") if has_counts else ("Points", "", "")
    widths = [max(map(len, column)) for column in zip(heads, *map(_cells, bins), strict=True)]
    largest = card.largest_points
    bar_width = min(largest, _LONGEST_BAR) if width >= _WIDE else 0
    right = sum(2 + one for one in (*widths[1:], bar_width) if one)
    longest = max(len(_label(one)) for one in bins)
    room = min(width - widths[0] - 2 - right, max(longest, 12), _LONGEST_LABEL)

    def line(points: str, label: str, count: str, rate: str, bar: str = "") -> str:
        parts = [points.rjust(widths[0]), label.ljust(room)]
        parts += [
            one.rjust(size) for one, size in zip((count, rate), widths[1:], strict=True) if size
        ]
        return "  ".join([*parts, bar])

    yield line(heads[0], "Bin", *heads[1:])
    labels = [None, *(term.line_labels() for term in card.terms)]
    for (name, of_one), of_grid in zip(tables, labels, strict=True):
        if of_one[0].kind != "intercept":
            yield ""
            yield from _wrapped(printable(name), width)
        if of_grid is not None:
            yield from _grid(of_one, of_grid, width)
            continue
        for one in of_one:
            points, count, rate = _cells(one)
            label, *more = _wrapped(_label(one), room) or [""]
            yield line(points, label, count, rate, _bar(one, largest, bar_width))
            for part in more:
                yield line("", part, "", "")


def _grid(cells: list[Bin], labels: tuple[list[str], list[str]], width: int) -> Iterator[str]:
    """Yield the points of a pair: its columns are numbered, so that every grid fits."""
    rows, columns = (list(map(printable, one)) for one in labels)
    n_columns = len(columns)
    for number, label in enumerate(columns, start=1):
        yield from _wrapped(label, width, f"  column {number}: ", " " * 4)
    starts = range(0, len(cells), n_columns)
    texts = [[line_points(one) for one in cells[start : start + n_columns]] for start in starts]
    size = max(len(text) for row in texts for text in row)
    size = max(size, len(f"{n_columns}")) + 2
    room = min(max(map(len, rows)), max(_SHORTEST_LABEL, width - 2 - n_columns * size))
    room = min(room, _LONGEST_LABEL)
    at_once = max(1, (width - 2 - room) // size)
    for start in range(0, n_columns, at_once):
        shown = range(start, min(start + at_once, n_columns))
        yield " " * (2 + room) + "".join(f"{number + 1}".rjust(size) for number in shown)
        for label, row in zip(rows, texts, strict=True):
            first, *more = _wrapped(label, room) or [""]
            yield "  " + first.ljust(room) + "".join(row[number].rjust(size) for number in shown)
            yield from (f"    {part}" for part in more)


def line_points(line: Bin) -> str:
    """Return the points of a bin as they are printed; of one that is refused "none"."""
    return _NONE if line.is_refused else points_text(line.points)


def _cells(line: Bin) -> tuple[str, str, str]:
    return line_points(line), count_text(line.count), rate_text(line.event_rate)


def _label(line: Bin) -> str:
    return "intercept: every row" if line.kind == "intercept" else printable(line.label)


def _bar(line: Bin, largest: int, width: int) -> str:
    """Return the points as a bar of signs, proportional to the largest points."""
    if line.kind == "intercept" or line.is_refused or not width:
        return ""
    length = round(width * abs(line.points) / largest)
    return ("+" if line.points > 0 else "-") * length


def _risks(card: Card, width: int) -> Iterator[str]:
    """Yield the risk table."""
    if card.is_edited:
        yield from _wrapped(EDITED, width)
        return
    upper = class_label(card.classes[1])
    shown = thinned(card.risk, _MAX_RISKS)
    some = "" if len(shown) == len(card.risk) else f" ({len(shown)} of {len(card.risk)} totals)"
    yield from _wrapped(f"Probability of {upper} by total, with 95 % interval{some}", width)
    for total, risk, low, high in shown:
        yield f"{total:>8g}  {rate_text(risk):>8}  ({rate_text(low)} to {rate_text(high)})"


def _details(card: Card, width: int) -> Iterator[str]:
    """Yield what else the card states."""
    for key, value in other_details(card).items():
        name = printable(detail_name(key))
        yield from _wrapped(f"{name}: {detail_text(value)}", width, rest="  ")
    for one in edit_texts(card):
        yield from _wrapped(f"edited: {printable(one)}", width, rest="  ")
