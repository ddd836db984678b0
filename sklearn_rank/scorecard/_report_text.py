"""Numbers, tables and pictures of a report on a scorecard as HTML."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sklearn_rank.scorecard._report_figures import Estimate
from sklearn_rank.scorecard._report_pictures import Picture
from sklearn_rank.scorecard._text import printable

STYLE = """
.sklearn-rank-report { color: #1a1a1a; background: #fff; font: 15px/1.45 system-ui, sans-serif;
  max-width: 66rem; margin: 0 auto; padding: 1rem; box-sizing: border-box; }
.sklearn-rank-report h1 { font-size: 1.5rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
.sklearn-rank-report h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem;
  border-bottom: 1px solid #bbb; }
.sklearn-rank-report h3 { font-size: 1rem; margin: 1rem 0 .2rem; overflow-wrap: anywhere; }
.sklearn-rank-report p { max-width: 46rem; margin: .3rem 0; overflow-wrap: anywhere; }
.sklearn-rank-report .pictures { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; }
.sklearn-rank-report .pictures img { width: 28rem; max-width: 100%; height: auto; }
.sklearn-rank-report .beside .pictures img { width: 24rem; }
.sklearn-rank-report .wide { overflow-x: auto; max-width: 100%; }
.sklearn-rank-report .beside { display: flex; flex-wrap: wrap; gap: .5rem 2rem;
  align-items: flex-start; }
.sklearn-rank-report table { border-collapse: collapse; margin: .4rem 0 1rem;
  font-variant-numeric: tabular-nums; }
.sklearn-rank-report th, .sklearn-rank-report td { padding: .15rem .6rem; text-align: right;
  vertical-align: bottom; border-bottom: 1px solid #e4e4e4; white-space: nowrap; }
.sklearn-rank-report th { font-weight: 400; font-size: .85rem; color: #555; white-space: normal;
  min-width: 2.6rem; }
.sklearn-rank-report th:first-child, .sklearn-rank-report td:first-child { text-align: left;
  padding-left: 0; }
.sklearn-rank-report td.name { white-space: normal; overflow-wrap: anywhere;
  min-width: 10rem; }
.sklearn-rank-report .key { display: grid; gap: .6rem 1.5rem; margin: .8rem 0;
  grid-template-columns: repeat(auto-fill, minmax(9.5rem, 1fr)); }
.sklearn-rank-report .key div { border-left: 3px solid #0072b2; padding-left: .6rem; }
.sklearn-rank-report .key b { display: block; font-size: 1.25rem; font-weight: 600; }
.sklearn-rank-report .key span { display: block; font-size: .85rem; color: #555; }
@media (max-width: 34rem) {
  .sklearn-rank-report { font-size: 14px; padding: .7rem; }
  .sklearn-rank-report table { font-size: 13px; }
  .sklearn-rank-report th, .sklearn-rank-report td { padding: .15rem .25rem; }
}
@media print {
  .sklearn-rank-report { max-width: none; padding: 0; font-size: 10pt; }
  .sklearn-rank-report img, .sklearn-rank-report table { break-inside: avoid; }
}
"""


_LONG = 32
"""Characters from which on a name is broken."""


def text_of(value: Any) -> str:
    """Return a text that is no markup."""
    return html.escape(printable(str(value)))


def breakable(value: Any) -> str:
    """Return a name that may be broken after an underscore."""
    return text_of(value).replace("_", "_<wbr>")


def percent(share: float, digits: int = 1) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.{digits}f} %"


def number(value: float, digits: int = 3) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def count_of(value: float) -> str:
    return f"{value:,.0f}" if value == round(value) else f"{value:,.1f}"


def interval(estimate: Estimate, digits: int = 3) -> str:
    if np.isnan(estimate.low):
        return "no interval"
    return f"{number(estimate.low, digits)} to {number(estimate.high, digits)}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table; the first column is text, and all cells are markup already."""
    lines = ['<div class="wide"><table>']
    lines.append("<tr>" + "".join(f"<th>{head}</th>" for head in heads) + "</tr>")
    for first, *others in rows:
        kind = "name" if len(first) > _LONG else "short"
        cells = f'<td class="{kind}">{first}</td>' + "".join(f"<td>{one}</td>" for one in others)
        lines.append(f"<tr>{cells}</tr>")
    return "\n".join([*lines, "</table></div>"])


def beside(table: str, *shown: Picture) -> str:
    """Return a table and pictures, side by side where there is room."""
    return "\n".join(['<div class="beside">', table, images(*shown), "</div>"])


def images(*shown: Picture) -> str:
    images = [f'<img src="{one.source}" alt="{text_of(one.description)}">' for one in shown]
    return "\n".join(['<div class="pictures">', *images, "</div>"])
