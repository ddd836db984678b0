"""A scorecard as a page that a person reads, signs and keeps."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from typing import Any

from sklearn_rank.scorecard._cases import column_name
from sklearn_rank.scorecard._points_table import Row, rows_of
from sklearn_rank.scorecard._text import (
    count_text,
    detail_text,
    points_text,
    printable,
    rate_text,
    thinned,
)
from sklearn_rank.scorecard.card import Card, class_label

_MAX_RISKS = 90
_RISKS_IN_A_COLUMN = 15

_STYLE = """
.sklearn-rank-card { color: #1a1a1a; background: #fff; font: 15px/1.45 system-ui, sans-serif;
  max-width: 46rem; margin: 0 auto; padding: 1rem; box-sizing: border-box;
  overflow-wrap: anywhere; }
.sklearn-rank-card h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
.sklearn-rank-card h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem;
  border-bottom: 1px solid #bbb; break-after: avoid; }
.sklearn-rank-card .direction { font-size: 1.05rem; margin: .2rem 0; }
.sklearn-rank-card ol { margin: .3rem 0; padding-left: 1.4rem; }
.sklearn-rank-card table { border-collapse: collapse; width: 100%; margin: 0 0 1rem;
  font-variant-numeric: tabular-nums; }
.sklearn-rank-card .points { table-layout: fixed; break-inside: avoid; }
.sklearn-rank-card caption { text-align: left; font-weight: 600; padding: .2rem 0; }
.sklearn-rank-card th, .sklearn-rank-card td { padding: .15rem .4rem; text-align: right;
  vertical-align: top; border-bottom: 1px solid #e4e4e4; }
.sklearn-rank-card th { font-weight: 400; font-size: .85rem; color: #555; }
.sklearn-rank-card th.bin, .sklearn-rank-card td.bin { text-align: left; padding-left: 0; }
.sklearn-rank-card td.sum { font-weight: 700; }
.sklearn-rank-card col.sum { width: 4.2rem; }
.sklearn-rank-card col.bar { width: 8rem; }
.sklearn-rank-card col.count { width: 5rem; }
.sklearn-rank-card col.rate { width: 5.8rem; }
.sklearn-rank-card .track { display: block; position: relative; height: .8em; margin-top: .3em; }
.sklearn-rank-card .track i { position: absolute; top: 0; bottom: 0; }
.sklearn-rank-card .track .axis { width: 1px; background: #999; top: -.3em; bottom: -.25em; }
.sklearn-rank-card .more { background: #0072b2; }
.sklearn-rank-card .less { background: #d55e00; }
.sklearn-rank-card .risks { align-items: flex-start; display: flex; flex-wrap: wrap; gap: 0 2rem; }
.sklearn-rank-card .risks table { width: auto; }
.sklearn-rank-card dl { break-inside: avoid; display: grid; margin: .3rem 0;
  grid-template-columns: max-content 1fr; gap: .1rem 1rem; }
.sklearn-rank-card dt { color: #555; }
.sklearn-rank-card dd { margin: 0; }
.sklearn-rank-card .signature { display: flex; flex-wrap: wrap; gap: 2.4rem 1.5rem;
  margin-top: 3.2rem; break-inside: avoid; }
.sklearn-rank-card .signature span { flex: 1 1 9rem; border-top: 1px solid #1a1a1a;
  font-size: .85rem; color: #555; }
@media (max-width: 34rem) {
  .sklearn-rank-card { font-size: 14px; padding: .7rem; }
  .sklearn-rank-card th, .sklearn-rank-card td { padding: .15rem .2rem; }
  .sklearn-rank-card col.sum { width: 3rem; }
  .sklearn-rank-card col.bar { width: 3.6rem; }
  .sklearn-rank-card col.count { width: 3.6rem; }
  .sklearn-rank-card col.rate { width: 3.9rem; }
  .sklearn-rank-card dl { grid-template-columns: 1fr; }
  .sklearn-rank-card dd { margin: 0 0 .3rem 1rem; }
}
@media print {
  .sklearn-rank-card { max-width: none; padding: 0; font-size: 10pt; }
  .sklearn-rank-card i { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""


def to_html(card: Card, *, title: str = "Scorecard", page: bool = True) -> str:
    """Return the card as self-contained HTML.

    It explains what a high total means and how to score a row by hand, lists the points, counts and
    event rates of each bin, the risk table and the details, and has lines for signatures.

    Parameters
    ----------
    card : Card
        The scorecard.
    title : str, default="Scorecard"
        The heading.
    page : bool, default=True
        Whether to return a whole page. False: a fragment for another page.

    Returns
    -------
    str
        The HTML. All names, categories and classes are escaped.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_html
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> "A total above 0 means" in to_html(card)
    True
    """
    body = "\n".join(
        [
            f"<style>{_STYLE}</style>",
            '<article class="sklearn-rank-card">',
            *_head(card, title),
            *_how_to_score(card),
            *_points(card),
            *_risks(card),
            *_details(card),
            '<p class="signature"><span>Approved by</span><span>Signature</span>'
            "<span>Date</span></p>",
            "</article>",
        ]
    )
    if not page:
        return body + "\n"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{_text(title)}</title>\n</head>\n<body style="margin: 0">\n{body}\n'
        "</body>\n</html>\n"
    )


def _text(value: Any) -> str:
    """Return a text that is no markup."""
    return html.escape(printable(str(value)))


def _class(card: Card) -> str:
    return f"<strong>{html.escape(class_label(card.classes[1]))}</strong>"


def _head(card: Card, title: str) -> list[str]:
    """Return the heading and the direction."""
    return [
        f"<h1>{_text(title)}</h1>",
        f'<p class="direction">A high total means {_class(card)}. '
        f"A total above {card.cut} means {_class(card)}.</p>",
    ]


def _how_to_score(card: Card) -> list[str]:
    """Return instructions, with a row as an example."""
    has_codes = any(one.special for one in card.variables)
    codes = "A line with = goes before the ranges. " if has_codes else ""
    steps = [
        f"Start with the intercept, <strong>{points_text(card.intercept)}</strong>.",
        "In each table below find the line that fits the row, and add its points. "
        f"{codes}An empty value is <em>missing</em>, and so is a category that no line names.",
        f"Compare the total with {card.cut}: above it the row counts as {_class(card)}.",
    ]
    lines = [
        "<h2>How to score a row</h2>",
        "<ol>",
        *(f"<li>{step}</li>" for step in steps),
        "</ol>",
    ]
    if card.variables:
        sum_ = [points_text(card.intercept)]
        total = card.intercept
        for variable in card.variables:
            sum_.append(f"{variable.points[0]:+d} ({_text(column_name(card, variable))})")
            total += variable.points[0]
        means = "above" if total > card.cut else "not above"
        lines.append(
            f"<p>Example: a row that fits the first line of each table has the total "
            f"{' '.join(sum_)} = <strong>{total}</strong>, {means} {card.cut}.</p>"
        )
    return lines


def _points(card: Card) -> Iterator[str]:
    """Yield a table for each variable."""
    yield "<h2>Points</h2>"
    rows = rows_of(card)
    yield f"<p>Intercept, for every row: <strong>{points_text(rows[0].points)}</strong></p>"
    if any(one.counts for one in card.variables):
        yield (
            "<p>Counts are those of training rows, event rates the share of "
            f"{_class(card)} among them.</p>"
        )
    largest = max((abs(row.points) for row in rows[1:]), default=0) or 1
    has_counts = not all(math.isnan(row.count) for row in rows)
    start = 1
    for variable in card.variables:
        stop = start + len(variable.points)
        name = _text(column_name(card, variable))
        yield from _table_of(name, rows[start:stop], largest, has_counts)
        start = stop


def _table_of(name: str, rows: Sequence[Row], largest: int, has_counts: bool) -> Iterator[str]:
    """Yield the table of a variable."""
    columns = ["bin", "sum", "bar", *(["count", "rate"] if has_counts else [])]
    heads = ["Bin", "Points", "", *(["Count", "Event rate"] if has_counts else [])]
    yield f'<table class="points"><caption>{name}</caption>'
    yield "<colgroup>" + "".join(f'<col class="{one}">' for one in columns) + "</colgroup>"
    cells = zip(columns, heads, strict=True)
    yield "<tr>" + "".join(f'<th class="{one}">{head}</th>' for one, head in cells) + "</tr>"
    for row in rows:
        texts = [_text(row.label), points_text(row.points), _bar(row.points, largest)]
        texts += [count_text(row.count), rate_text(row.event_rate)] if has_counts else []
        cells = zip(columns, texts, strict=True)
        yield "<tr>" + "".join(f'<td class="{one}">{text}</td>' for one, text in cells) + "</tr>"
    yield "</table>"


def _bar(points: int, largest: int) -> str:
    """Return a bar to the right of the axis for points above 0, to the left below."""
    size = 50 * abs(points) / largest
    left, kind = (50.0, "more") if points > 0 else (50.0 - size, "less")
    bar = f'<i class="{kind}" style="left: {left:.1f}%; width: {size:.1f}%"></i>' if points else ""
    return f'<span class="track">{bar}<i class="axis" style="left: 50%"></i></span>'


def _risks(card: Card) -> Iterator[str]:
    """Yield the risk table, in columns."""
    if not card.risk:
        return
    shown = thinned(card.risk, _MAX_RISKS)
    yield f"<h2>Probability of {_class(card)} by total</h2>"
    if len(shown) < len(card.risk):
        yield f"<p>{len(shown)} of {len(card.risk)} totals, evenly spaced.</p>"
    yield '<div class="risks">'
    in_column = max(_RISKS_IN_A_COLUMN, math.ceil(len(shown) / 2))
    for start in range(0, len(shown), in_column):
        yield "<table><tr><th>Total</th><th>Probability</th><th>95 % interval</th></tr>"
        for total, risk, low, high in shown[start : start + in_column]:
            interval = f"{rate_text(low)} to {rate_text(high)}"
            yield f"<tr><td>{total:g}</td><td>{rate_text(risk)}</td><td>{interval}</td></tr>"
        yield "</table>"
    yield "</div>"


def _details(card: Card) -> Iterator[str]:
    """Yield what else the card states."""
    if not card.details:
        return
    yield "<h2>About this card</h2>"
    yield "<dl>"
    for key, value in card.details.items():
        name = _text(str(key).replace("_", " "))
        yield f"<dt>{name}</dt><dd>{html.escape(detail_text(value))}</dd>"
    yield "</dl>"
