"""Figures of the pages of the benchmarks, drawn from the tables of their reports.

Differences are drawn with their intervals and a line at zero, times on a logarithmic axis; the
reports have both as text.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

from _claims import COLORS, LOOKS, legend_below, new_figure, save_figure
from _report import Report, Table

THEIRS = (
    *("XGB", "LightGBM", "LGBM", "CatBoost", "HistGradient", "AdaBoost", "Logistic"),
    *("AutoGluon", "RandomForest"),
    *("FastSurvival", "others", "loop over", "argsort", "stable argsort", "two BLAS"),
)
"""How the names of other systems, and of the sums that ours are measured against, begin."""
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
WIDE = 8
"""Times that differ by more than this factor have a logarithmic axis."""
SHORT = 24
"""Characters of a line of a label."""


class Line(NamedTuple):
    """A label with a value and its interval, which may be a point."""

    label: str
    value: float
    low: float
    high: float


def lines_of(table: Table, column: str) -> list[Line]:
    """Return the differences of a column with their intervals, where the table has one."""
    at = table.columns.index(column)
    lines = []
    for row in table.rows:
        numbers = [float(text) for text in NUMBER.findall(str(row[at]))]
        if numbers and str(row[at])[0] in "+-":
            lines.append(Line(str(row[0]), *(numbers if len(numbers) == 3 else numbers[:1] * 3)))
    return lines


def panel(axes: Any, title: str, lines: Sequence[Line], labels: Sequence[str]) -> None:
    """Draw lines with their intervals, the first label on top, ours as dots, others as squares."""
    places = {label: -number for number, label in enumerate(labels)}
    are_times = all(line.low == line.high > 0 for line in lines)
    where = {"xytext": (0, 5.5), "textcoords": "offset points", "ha": "center", "fontsize": 6.5}
    for one in lines:
        theirs = one.label.startswith(THEIRS)
        style = {"color": COLORS[theirs], "linestyle": "-"}
        axes.plot([one.low, one.high], [places[one.label]] * 2, linewidth=2, **style)
        axes.plot(one.value, places[one.label], marker="s" if theirs else "o", **style)
        shown = round(one.value, 3) + 0.0  # no -0.000
        text = f"{float(f'{one.value:.2g}'):g}" if are_times else f"{shown:+.3f}"
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.3}
        axes.annotate(text, (one.value, places[one.label]), bbox=box, **where)
    axes.set_title(title, fontsize="medium")
    axes.set_yticks(list(places.values()), [wrapped(label) for label in labels])
    axes.set_ylim(-len(labels) + 0.4, 0.6)
    axes.tick_params(labelsize="small")


def wrapped(text: str, width: int = SHORT) -> str:
    """Return text in lines of at most so many characters, broken at blanks."""
    return "\n".join(textwrap.fill(line, width) for line in text.splitlines())


def draw_lines(panels: dict[str, list[Line]], what: str, path: Path, wide: float = WIDE) -> None:
    """Draw panels beside each other, which share their labels; a logarithmic axis where `wide`."""
    labels = list(dict.fromkeys(one.label for lines in panels.values() for one in lines))
    n_rows = 1 + (len(panels) > 3)
    n_columns = -(-len(panels) // n_rows)
    n_lines = 1 + max(wrapped(label).count("\n") for label in labels)
    height = max(0.3, 0.15 * n_lines + 0.04) * len(labels)
    figure, axes = new_figure(n_columns, 1.7 + n_rows * height, n_rows, sharey=True)
    for one, (title, lines) in zip(axes.flat, panels.items(), strict=True):
        panel(one, wrapped(title, 38 // n_columns), lines, labels)
        smallest, largest = min(line.low for line in lines), max(line.high for line in lines)
        if 0 < smallest < largest / wide:
            one.set(xscale="log", xlim=(smallest / 4, largest * 4))
        else:
            one.axvline(0, color="0.4", linewidth=1, linestyle="-")
            one.locator_params(axis="x", nbins=6 // n_columns)
            one.tick_params(axis="x", labelrotation=45 * (n_columns > 2))
    theirs = any(label.startswith(THEIRS) for label in labels)
    key = "\ndots: this package, squares: others" if theirs else ""
    figure.supxlabel(wrapped(what, 58) + key, fontsize="medium")
    save_figure(figure, path)


def times(tables: Iterable[Table], column: str = "seconds") -> dict[str, list[Line]]:
    """Return the seconds of tables, a panel for each."""
    panels = {}
    for table in tables:
        at = table.columns.index(column)
        title = re.split(r", (?!\d)| generated", table.title)[0]
        rows = [row for row in table.rows if isinstance(row[at], float)]
        panels[title] = [Line(str(row[0]), *[row[at]] * 3) for row in rows]
    return panels


def limited_classes(report: Report, path: Path) -> None:
    """Draw what p adds to the top against the number of stumps, a panel for each data set."""
    figure, axes = new_figure(2, 6.5, n_rows=3, sharex=True, sharey=True)
    for one, table in zip(axes.flat, report.tables, strict=True):
        stumps = [int(str(row[0])) for row in table.rows]
        for p, aside in ((4, 0.95), (16, 1.05)):
            found = [str(row[table.columns.index(f"top, p={p}")]) for row in table.rows]
            means, halves = zip(*(map(float, text.split(" ± ")) for text in found), strict=True)
            x = [size * aside for size in stumps]
            style: dict[str, Any] = {"marker": "o", "markersize": 4, "capsize": 2}
            one.errorbar(x, means, yerr=halves, label=f"p = {p} minus p = 1", **style)
        one.axhline(0, color="0.4", linewidth=1, linestyle="-")
        one.set_xscale("log")
        one.set_xticks(stumps, [str(size) for size in stumps])
        one.minorticks_off()
        one.set_title(table.title, fontsize="medium")
    axes[-1, 0].set_xlabel("stumps")
    figure.supylabel("difference in the top", fontsize="medium")
    legend_below(figure, axes[0, 0], 2)
    save_figure(figure, path)


def scaling(report: Report, path: Path) -> None:
    """Draw seconds over rows: the fits with their names, the many others as thin lines."""
    figure, axes = new_figure(1, 8.0, n_rows=3, sharex=True, sharey=True)
    groups = list(dict.fromkeys(run["group"] for run in report.curves))
    for one, group in zip(axes.flat, groups, strict=True):
        runs = [run for run in report.curves if run["group"] == group]
        named = [run for run in runs if run["of"] == "fit"]
        thin = {"color": COLORS[0], "linewidth": 0.8, "linestyle": "-", "alpha": 0.6}
        for run, look in zip(named or runs, cycle(LOOKS), strict=False):
            bold = {**look, "markersize": 4, "label": run["what"]}
            one.plot(run["rows"], run["s"], **(bold if named else thin))
        one.plot([1e3, 3e6], [3e-4, 0.9], color="0.8", linewidth=8, linestyle="-", zorder=0)
        one.set(xscale="log", yscale="log")
        title = group.partition(", ")[0].replace("value and gradient of ", "")
        one.set_title("fits, 20 features" if named else f"{title}, a line each", fontsize="medium")
    axes[-1, 0].set_xlabel("rows")
    figure.supylabel("seconds; the broad line has slope 1", fontsize="medium")
    legend_below(figure, axes[0, 0], 2)
    save_figure(figure, path)


def lists(report: Report, path: Path) -> None:
    """Draw the quality of each system beside its processor seconds."""
    table = report.tables[0]
    panels: dict[str, list[Line]] = {"AUC": [], "pAUC": [], "seconds": []}
    n_tables = [int(NUMBER.findall(str(row[1]))[-1]) for row in table.rows]  # "(6 of 10)"
    # Those on fewer tables last: their means are not those of the others' tables.
    for row, n in sorted(zip(table.rows, n_tables, strict=True), key=lambda pair: -pair[1]):
        label = str(row[0]) if n == max(n_tables) else f"{row[0]} ({n} tables)"
        for column in ("AUC", "pAUC"):
            numbers = NUMBER.findall(str(row[table.columns.index(column)]))
            value, half = map(float, numbers[:2])
            panels[column].append(Line(label, value, value - half, value + half))
        panels["seconds"].append(Line(label, *[float(str(row[-1]))] * 3))
    beside = table.title.partition(" minus ")[2].partition(",")[0]
    draw_lines(panels, f"mean difference from {beside}, 95 % intervals; CPU seconds", path)


def peers_generated(report: Report, path: Path) -> None:
    """Draw times of systems at the two larger sizes."""
    draw_lines(times(report.tables[1:], "fit s"), "seconds to fit", path)


def peers_search(report: Report, path: Path) -> None:
    """Draw differences in AUC after a search, those with an interval."""
    panels = {}
    for table in report.tables:
        column = next(one for one in table.columns if one.startswith("AUC, "))
        lines = [one for one in lines_of(table, column) if one.low < one.high]
        if lines:
            panels[re.split(r", \d+ sets", table.title)[0]] = lines
    draw_lines(panels, "AUC of PNormPushRanker (p = 1, logistic) minus that of each", path)


def peers_letor(report: Report, path: Path) -> None:
    """Draw NDCG@10 of each system beside the best of ours."""
    panels = {
        table.title.partition(",")[0]: [
            Line(one.label, -one.value, -one.high, -one.low)
            for one in lines_of(table, "ours (best) minus it, NDCG@10")
        ]
        for table in report.tables[:3]
    }
    draw_lines(panels, "NDCG@10 of each minus that of the best of ours", path)


def trees_lists(report: Report, path: Path) -> None:
    """Draw pairwise losses beside the log-loss in the same trees."""
    panels = {
        table.title.partition(",")[0]: lines_of(table, "AUC, it - log-loss")
        for table in report.tables
        if table.title.endswith("chosen by the validation rows' AUC")
    }
    draw_lines(panels, "AUC minus that of the log-loss, the same trees", path)


def bench_boosting(report: Report, path: Path) -> None:
    """Draw the times of fits to all rows."""
    tables = []
    for title, table in zip(("one list", "queries of 100"), report.tables[:2], strict=True):
        most = max(row[1] for row in table.rows)
        rows = [row for row in table.rows if row[1] == most and "rank:pairwise" not in str(row[0])]
        tables.append(Table(title, table.columns, rows))
    draw_lines(times(tables), "seconds, a million rows of 20 features, 100 rounds", path, wide=100)


def bench_pairs(report: Report, path: Path) -> None:
    """Draw the times of losses over all pairs."""
    draw_lines(times([without_tenth(report.tables[0])]), "seconds, a million rows", path)


def clicks(report: Report, path: Path) -> None:
    """Draw what weights add to raw clicks, of large logs."""
    size = ", 100,000 impressions"
    panels = {
        table.title.removesuffix(size).replace(", bias", "\n"): lines_of(table, "weights minus raw")
        for table in report.tables
        if table.title.endswith(size) and ", bias" in table.title
    }
    draw_lines(panels, "NDCG@10, weights minus raw clicks", path, wide=float("inf"))


def bench_given_pairs(report: Report, path: Path) -> None:
    """Draw the times of linear rankers of listed pairs and of logistic regressions."""
    kind = "listed pairs, "
    tables = [table for table in report.tables if table.title.startswith(kind)]
    found = times([replace(table, title=table.title.removeprefix(kind)) for table in tables])
    draw_lines(found, "seconds, a million pairs", path, wide=100.0)


def bench_kernel(report: Report, path: Path) -> None:
    """Draw the times of linear rankers and of logistic regression."""
    found = times([without_tenth(table) for table in report.tables[:3]])
    panels = dict(zip(("dense", "correlated at .9", "sparse"), found.values(), strict=True))
    draw_lines(panels, "seconds, a million rows", path, wide=100.0)


def without_tenth(table: Table) -> Table:
    """Return a table without the cases of a tenth of the rows."""
    rows = [row for row in table.rows if not str(row[0]).endswith("a tenth")]
    return Table(table.title, table.columns, rows)


FIGURES: dict[str, tuple[str, Callable[[Report, Path], None]]] = {
    one.__name__: (one.__name__, one)
    for one in (
        *(limited_classes, scaling, lists, clicks),
        *(peers_generated, peers_search, peers_letor, trees_lists),
        *(bench_boosting, bench_pairs, bench_kernel),
    )
} | {"bench_given_pairs": ("bench_pairs", bench_given_pairs)}
"""The report of each figure that no script draws, and what draws it."""
