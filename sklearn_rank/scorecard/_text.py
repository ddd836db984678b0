"""A scorecard as text for the terminal."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from sklearn_rank._validation import Number, check_parameters
from sklearn_rank.scorecard._cases import column_name, plain
from sklearn_rank.scorecard._points_table import Row, rows_of
from sklearn_rank.scorecard.card import Card, class_label

_NARROWEST, _WIDEST = 50, 120
_WIDE = 76
"""Columns of text from which on bars are drawn."""

_LONGEST_BAR = 10
_LONGEST_LABEL = 48
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
    if any(one.special for one in card.variables):
        use += "; a line with = goes before the ranges"
    use += f". A total above {card.cut} means {upper}."
    if any(one.counts for one in card.variables):
        use += f" Counts are those of training rows, event rates the share of {upper} among them."
    title = _wrapped(f"SCORECARD: a high total means {upper}", width)
    return [*title, "", *_wrapped(use, width)]


def _points(card: Card, width: int) -> Iterator[str]:
    """Yield the table of points."""
    rows = rows_of(card)
    has_counts = not all(math.isnan(row.count) for row in rows)
    cells = [
        (points_text(row.points), count_text(row.count), rate_text(row.event_rate)) for row in rows
    ]
    heads = ("Points", "Count", "Event rate") if has_counts else ("Points", "", "")
    widths = [max(len(one) for one in column) for column in zip(heads, *cells, strict=True)]
    largest = max((abs(row.points) for row in rows[1:]), default=0)
    bar_width = min(largest, _LONGEST_BAR) if width >= _WIDE else 0
    right = sum(2 + one for one in (*widths[1:], bar_width) if one)
    room = width - widths[0] - 2 - right
    longest = max(len(_label(row)) for row in rows)
    room = min(room, max(longest, 12), _LONGEST_LABEL)

    def line(points: str, label: str, count: str, rate: str, bar: str = "") -> str:
        parts = [points.rjust(widths[0]), label.ljust(room)]
        parts += [
            one.rjust(size) for one, size in zip((count, rate), widths[1:], strict=True) if size
        ]
        return "  ".join([*parts, bar])

    yield line(heads[0], "Bin", *heads[1:])
    starts = _starts(card)
    for number, (row, (points, count, rate)) in enumerate(zip(rows, cells, strict=True)):
        if number in starts:
            yield ""
            yield from _wrapped(printable(starts[number]), width)
        label, *more = _wrapped(_label(row), room) or [""]
        yield line(points, label, count, rate, _bar(row, largest, bar_width))
        for part in more:
            yield line("", part, "", "")


def _starts(card: Card) -> dict[int, str]:
    """Return the names of the variables by the numbers of their first rows."""
    numbers = accumulate((len(one.points) for one in card.variables), initial=1)
    return dict(zip(numbers, (column_name(card, one) for one in card.variables), strict=False))


def _label(row: Row) -> str:
    return "intercept: every row" if row.kind == "intercept" else printable(row.label)


def _bar(row: Row, largest: int, width: int) -> str:
    """Return the points as a bar of signs, proportional to the largest points."""
    if row.kind == "intercept" or not width:
        return ""
    length = round(width * abs(row.points) / largest)
    return ("+" if row.points > 0 else "-") * length


def _risks(card: Card, width: int) -> Iterator[str]:
    """Yield the risk table."""
    upper = class_label(card.classes[1])
    shown = thinned(card.risk, _MAX_RISKS)
    some = "" if len(shown) == len(card.risk) else f" ({len(shown)} of {len(card.risk)} totals)"
    yield from _wrapped(f"Probability of {upper} by total, with 95 % interval{some}", width)
    for total, risk, low, high in shown:
        yield f"{total:>8g}  {rate_text(risk):>8}  ({rate_text(low)} to {rate_text(high)})"


def _details(card: Card, width: int) -> Iterator[str]:
    """Yield what else the card states."""
    for key, value in card.details.items():
        name = printable(str(key)).replace("_", " ")
        yield from _wrapped(f"{name}: {detail_text(value)}", width, rest="  ")
