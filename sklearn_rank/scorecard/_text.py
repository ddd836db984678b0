"""A scorecard as text for the terminal, and as a data frame."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.validation import Number, check_parameters
from sklearn_rank.scorecard.card import Bin, Card, class_label, plain

WEIGHTS = "weights"
"""The detail that says which rows have weights: counts are then sums of these."""

_NARROWEST, _WIDEST = 50, 120
"""Characters of a line: the columns need 50, and lines above 120 are hard to read."""

_LONGEST_LABEL = 48
"""Characters of a label; longer ones are wrapped."""

_MAX_RISKS = 15
"""Greatest number of rows of the risk table."""

_NAMES = {
    "smallest_bin": "smallest bin, share of the rows",
    "training_loss_of_the_ranker": "training loss before rounding",
    "training_loss_of_the_card": "training loss of the points",
    "training_rows": "weight of the training rows",
    "training_rows_of_the_upper_class": "weight of those with the event",
    "base_rate": "share of the event in training",
    "queries": "compared within queries only",
    "lowest_points": "least points allowed",
    "highest_points": "greatest points allowed",
    "held_out_auc": "AUC on held-out rows",
    "held_out_pauc_5": "area up to 5 % of the negatives, on held-out rows",
    "risk_rows": "probabilities estimated from",
    "risk_interval": "intervals of the probabilities",
    "risk_scatter": "scatter of rows about the curve, in log odds",
    "risk_of_points": "fingerprint of the points that the probabilities belong to",
}
"""The names of some details in plain words."""


def to_frame(card: Card) -> Any:
    """Return the points as a pandas DataFrame.

    Columns are variable, bin, points, count (weight of the training rows) and event_rate
    (share of ``classes[1]`` among them). The first row is the intercept.

    Parameters
    ----------
    card : Card
        The scorecard.

    Returns
    -------
    DataFrame
        A row for each bin.

    Raises
    ------
    ImportError
        Without pandas, which the extra "cli" installs.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_frame
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> to_frame(card)["points"].tolist()
    [1, -1, 2, 0]
    """
    pandas = import_extra("pandas", "cli", "The table of a scorecard as a data frame")
    rows = [
        (name, line.label, line.points, line.count, line.event_rate)
        for name, lines in card.lines()
        for line in lines
    ]
    return pandas.DataFrame(rows, columns=["variable", "bin", "points", "count", "event_rate"])


def to_text(card: Card, width: int | None = None) -> str:
    """Return the card as text, complete enough to score a row by hand.

    Parameters
    ----------
    card : Card
        The scorecard.
    width : int, default=None
        Characters per line, limited to 50 to 120. None: the width of the terminal.

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
    A row's total is the sum of the points on the lines that
    apply to it, one of each block. A total above 0 means good.
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
    width = min(max(width or shutil.get_terminal_size().columns, _NARROWEST), _WIDEST)
    lines = [*_head(card, width), "", *_points(card, width)]
    if card.risk:
        lines += ["", *_risks(card, width)]
    if card.details:
        lines.append("")
    for key, value in card.details.items():
        lines += _wrapped(f"{printable(detail_name(key))}: {detail_text(value)}", width, "  ")
    return "\n".join(line.rstrip() for line in lines)


# Words and numbers, which a page of HTML has, too ---------------------------------------------


def printable(text: str) -> str:
    """Return a text without terminal control characters."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text)


def detail_name(key: Any) -> str:
    """Return the name of a detail in plain words."""
    return _NAMES.get(key, str(key).replace("_", " "))


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


def thinned(rows: Sequence[Any], max_rows: int) -> list[Any]:
    """Return at most `max_rows` evenly spaced rows, including the first and the last."""
    if len(rows) <= max_rows:
        return list(rows)
    return [rows[round(index * (len(rows) - 1) / (max_rows - 1))] for index in range(max_rows)]


# The parts of the text ------------------------------------------------------------------------


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_on_hyphens=False)


def _head(card: Card, width: int) -> list[str]:
    """Return the direction of the card and how to use it."""
    upper = class_label(card.classes[1])
    use = "A row's total is the sum of the points on the lines that apply to it, one of each block"
    if any(variable.special for variable in card.variables):
        use += "; a line with 'is' goes before the ranges"
    use += f". A total above {card.cut} means {upper}."
    if any(variable.counts for variable in card.variables):
        of = "sums of weights" if WEIGHTS in card.details else "those"
        use += f" Counts are {of} of training rows, event rates the share of {upper} among them."
    title = _wrapped(f"SCORECARD: a high total means {upper}", width)
    return [*title, "", *_wrapped(use, width)]


def _points(card: Card, width: int) -> Iterator[str]:
    """Yield the table of points."""
    blocks = card.lines()
    bins = [line for _, lines in blocks for line in lines]
    has_counts = not all(math.isnan(line.count) for line in bins)
    headings = ("Points", "Count", "Event rate") if has_counts else ("Points", "", "")
    widths = [max(map(len, column)) for column in zip(headings, *map(_cells, bins), strict=True)]
    right_width = sum(2 + size for size in widths[1:] if size)
    longest = max(len(_label(line)) for line in bins)
    label_width = min(width - widths[0] - 2 - right_width, max(longest, 12), _LONGEST_LABEL)

    def line_of(points: str, label: str, *numbers: str) -> str:
        cells = [text.rjust(size) for text, size in zip(numbers, widths[1:], strict=True) if size]
        return "  ".join([points.rjust(widths[0]), label.ljust(label_width), *cells])

    yield line_of(headings[0], "Bin", *headings[1:])
    for name, lines in blocks:
        if lines[0].kind != "intercept":
            yield ""
            yield from _wrapped(printable(name), width)
        for line in lines:
            points, *numbers = _cells(line)
            label, *wrapped = _wrapped(_label(line), label_width) or [""]
            yield line_of(points, label, *numbers)
            yield from (line_of("", part, "", "") for part in wrapped)


def _cells(line: Bin) -> tuple[str, str, str]:
    return points_text(line.points), count_text(line.count), rate_text(line.event_rate)


def _label(line: Bin) -> str:
    return "intercept: every row" if line.kind == "intercept" else printable(line.label)


def _risks(card: Card, width: int) -> Iterator[str]:
    """Yield the risk table."""
    upper = class_label(card.classes[1])
    rows = thinned(card.risk, _MAX_RISKS)
    share = "" if len(rows) == len(card.risk) else f" ({len(rows)} of {len(card.risk)} totals)"
    yield from _wrapped(f"Probability of {upper} by total, with 95 % interval{share}", width)
    for total, risk, low, high in rows:
        yield f"{total:>8g}  {rate_text(risk):>8}  ({rate_text(low)} to {rate_text(high)})"
