"""The sections of a report on a scorecard, as HTML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sklearn_rank._release import __version__
from sklearn_rank.scorecard import _report_pictures as pictures
from sklearn_rank.scorecard._report_figures import TOP, Estimate, ReportFigures, VariableShift
from sklearn_rank.scorecard._report_pictures import band_labels
from sklearn_rank.scorecard._report_text import (
    beside,
    breakable,
    count_of,
    images,
    interval,
    number,
    percent,
    table,
    text_of,
)
from sklearn_rank.scorecard.card import class_label
from sklearn_rank.scorecard.monitoring import GroupReport, StabilityTable


def head_section(figures: ReportFigures, card: Any, title: str) -> Iterator[str]:
    """Yield the heading and the figures that one looks for first."""
    event = text_of(class_label(card.classes[1]))
    n, weight = len(figures.totals), float(figures.weight.sum())
    gini = Estimate(
        *(2 * one - 1 for one in (figures.auc.value, figures.auc.low, figures.auc.high))
    )
    rate = float(figures.weight[figures.event].sum()) / weight
    above = float(figures.weight[figures.totals > figures.cut].sum()) / weight
    key = [
        (
            "Rows",
            count_of(n),
            f"weight {count_of(weight)}" if figures.is_weighted else "all count once",
        ),
        (f"Share of {event}", percent(rate), f"{count_of(figures.event.sum())} rows"),
        ("AUC", number(figures.auc.value), interval(figures.auc)),
        ("Gini coefficient", number(gini.value), interval(gini)),
        ("Kolmogorov-Smirnov", number(figures.ks.value), interval(figures.ks)),
        (
            f"Found at {percent(TOP, 0)} of negatives",
            percent(figures.top_share),
            "of the positives",
        ),
        (f"Area up to {percent(TOP, 0)}", number(figures.top_area), f"random order: {TOP / 2:g}"),
        ("Above the cut", percent(above), f"total above {figures.cut:g}"),
    ]
    if figures.stability is not None:
        psi = figures.stability
        key.append(("PSI of the total", number(psi.psi), f"by chance {number(psi.expected)}"))
    yield f"<h1>{text_of(title)}</h1>"
    yield (
        f"<p>High totals mean <strong>{event}</strong>: the positives, or events, of this report. "
        f"The card has {len(card.variables)} variables; sklearn-rank {text_of(__version__)}.</p>"
    )
    boxes = [f"<div>{name}<b>{value}</b><span>{note}</span></div>" for name, value, note in key]
    yield '<div class="key">' + "\n".join(boxes) + "</div>"
    if figures.is_weighted:
        yield "<p>Rows have weights, for which there are no intervals of these figures.</p>"
    else:
        yield "<p>Intervals are those of 95 % confidence, for this card on new rows.</p>"


def order_section(figures: ReportFigures, names: tuple[str, str]) -> Iterator[str]:
    """Yield the section on the order of the rows."""
    yield "<h2>Order</h2>"
    yield (
        f"<p>The Kolmogorov-Smirnov distance, {number(figures.ks.value)}, is reached by taking "
        f"the rows with a total of at least {figures.ks_total:g}.</p>"
    )
    yield images(
        pictures.distribution(figures, names),
        pictures.distance(figures, names),
        pictures.roc(figures, 1.0),
        pictures.roc(figures, 0.1),
    )


def gains_section(figures: ReportFigures, event: str) -> Iterator[str]:
    """Yield the section on bands of the total."""
    found = figures.gains
    yield "<h2>Gains by band</h2>"
    yield (
        "<p>Bands of nearly equal size, highest totals first. Rate is the share of positives in "
        "the band, lift the rate by that of all rows. Found and taken are the shares of all "
        "positives and of all negatives down to the end of the band; KS is their difference.</p>"
    )
    heads = ("Total", "Rows", "Positives", "Rate", "Found", "Taken", "Lift", "KS")
    shown = pictures.rates(found, event)
    columns = zip(
        band_labels(found.low, found.high),
        *(found.count, found.events, found.rate, found.found, found.taken, found.lift, found.ks),
        strict=True,
    )
    rows = (
        (
            *(label, count_of(count), count_of(events), percent(rate)),
            *(percent(found), percent(taken), number(lift, 2), number(ks)),
        )
        for label, count, events, rate, found, taken, lift, ks in columns
    )
    yield beside(table(heads, rows), shown)


def calibration_section(figures: ReportFigures) -> Iterator[str]:
    """Yield the section on probabilities."""
    found = figures.calibration
    yield "<h2>Calibration</h2>"
    if found is None:
        yield "<p>The card has no table of probabilities.</p>"
        return
    inside = (found.observed_low <= found.predicted) & (found.predicted <= found.observed_high)
    yield (
        f"<p>The predicted probability is inside the 95 % interval of the observed share in "
        f"{int(inside.sum())} of {len(inside)} bands.</p>"
    )
    shown = pictures.calibration(found)
    columns = zip(
        *(found.predicted, found.observed, found.observed_low, found.observed_high, found.count),
        strict=True,
    )
    rows = (
        (
            *(percent(predicted), percent(observed)),
            *(f"{percent(low)} to {percent(high)}", count_of(count)),
        )
        for predicted, observed, low, high, count in columns
    )
    heads = ("Predicted", "Observed", "Interval of observed", "Rows")
    yield beside(table(heads, rows), shown)


def stability_section(figures: ReportFigures, has_reference: bool) -> Iterator[str]:
    """Yield the section on the reference."""
    yield "<h2>Stability</h2>"
    if not figures.variables and figures.stability is None:
        yield "<p>There is no reference to compare with.</p>"
        return
    than = "the reference" if has_reference else "the training rows that the card counted"
    yield (
        f"<p>Compared with {than}. An index (PSI of the total, CSI of a variable) below 0.1 is "
        "usually taken for no change and one above 0.25 for a large one; it is taken for none, "
        "too, where chance alone gives one as large in 5 % of the cases or more. <em>By chance"
        "</em> is what it is on average when nothing has changed. Shift is the change of the mean "
        "points.</p>"
    )
    if figures.stability is not None:
        psi = figures.stability
        yield (
            f"<p>PSI of the total: <strong>{number(psi.psi)}</strong>, {_verdict(psi)} change "
            f"(by chance {number(psi.expected)}).</p>"
        )
        yield images(pictures.stability(psi))
    if figures.variables:
        heads = ("Variable", "CSI", "By chance", "Change", "Shift", "Bin that changed most")
        rows = (
            (
                *(breakable(one.name), number(one.table.psi), number(one.table.expected)),
                *(_verdict(one.table), f"{round(one.shift, 2) + 0.0:+.2f}", _largest_change(one)),
            )
            for one in figures.variables
        )
        yield table(heads, rows)


def _verdict(table: StabilityTable) -> str:
    """Return how large a change is: the usual reading, unless it is no more than chance."""
    if table.psi < 0.1 or table.p_value >= 0.05:
        return "no"
    return "some" if table.psi <= 0.25 else "large"


def _largest_change(variable: VariableShift) -> str:
    """Return the bin whose share changed most, and from what to what."""
    found = variable.table
    most = int(np.argmax(np.abs(found.current - found.reference)))
    before, after = found.reference[most], found.current[most]
    label = variable.labels[most]
    label = label if len(label) <= 40 else f"{label[:37]}..."
    return f"{text_of(label)}: {percent(float(before))} to {percent(float(after))}"


def groups_section(figures: ReportFigures, selected: str, names: tuple[str, str]) -> Iterator[str]:
    """Yield the section on groups."""
    if not figures.groups:
        return
    cut = f"{figures.cut:g}"
    side = f"above {cut}" if selected == "above" else f"of at most {cut}"
    yield "<h2>Groups</h2>"
    yield (
        f"<p>Selected are rows with a total {side}. The ratio is the selection rate by that of the "
        "group with the highest one; in the United States a ratio below 0.8 is generally regarded "
        f"as evidence of adverse impact (29 CFR 1607.4 D). The last columns are the shares of "
        f"{text_of(names[1])} and of {text_of(names[0])} with a total above {cut}, and the AUC "
        "within the group.</p>"
    )
    for name, found in figures.groups.items():
        yield f"<h3>{text_of(name)}</h3>"
        yield _group_table(found, names)
        yield images(pictures.groups(name, found))


def _group_table(found: GroupReport, names: tuple[str, str]) -> str:
    columns = zip(
        *(found.group, found.count, found.rate, found.selection_rate, found.impact_ratio),
        *(found.impact_low, found.impact_high),
        *(found.tpr, found.fpr, found.auc, found.auc_low, found.auc_high),
        strict=True,
    )
    heads = (
        *("Group", "Rows", f"Share of {text_of(names[1])}", "Selected", "Ratio", "Interval"),
        *(f"{text_of(one)} above the cut" for one in names[::-1]),
        *("AUC", "Interval"),
    )
    rows = (
        (
            *(breakable(group), count_of(count), percent(rate), percent(chosen)),
            number(ratio, 2),
            "compared with" if group == found.reference else interval(Estimate(ratio, *ends), 2),
            *(percent(tpr), percent(fpr), number(auc)),
            interval(Estimate(auc, low, high)),
        )
        for group, count, rate, chosen, ratio, *ends, tpr, fpr, auc, low, high in columns
    )
    return table(heads, rows)
