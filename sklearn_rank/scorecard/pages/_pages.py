"""Pages that a person reads, signs and keeps: a card, and a report on one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.release import __version__
from sklearn_rank._core.validation import Described, check_parameters
from sklearn_rank.plotting.drawing import import_matplotlib
from sklearn_rank.scorecard._log import detail_name, edit_texts, other_details, search_path
from sklearn_rank.scorecard.card import EDITED, Card
from sklearn_rank.scorecard.forms import _text
from sklearn_rank.scorecard.forms._points_table import marked_bins
from sklearn_rank.scorecard.monitoring import StabilityTable, ValidationTables
from sklearn_rank.scorecard.pages import _report_pictures as pictures
from sklearn_rank.scorecard.pages._report_figures import TOP, figures_of
from sklearn_rank.scorecard.terms import Bin, Pair, Variable, class_label

_MAX_RISKS = 90

_EVENT = Described(
    "a str that is not empty, or None",
    lambda one: one is None or bool(one and isinstance(one, str)),
)

_VALIDATION = Described(
    "None or what validation_tables has returned",
    lambda one: one is None or isinstance(one, ValidationTables),
)

_FIGURES = {
    "held_out_auc": "AUC",
    "held_out_ks": "Kolmogorov-Smirnov",
    "held_out_pauc_5": "Area up to 5 % of negatives",
}
"""The figures that a page shows in boxes."""


@dataclass(frozen=True)
class _Table:
    """A term as a page shows it: the lines of a variable, or the lines of cells of a pair.

    Attributes
    ----------
    name : str
        Its name.
    rows : list of Bin
        The bins in their order.
    heads : sequence of str
        The name of the feature; of a pair those of both.
    above, beside : sequence of str
        Of a pair: how the bins of the second and of the first feature read.
    """

    name: str
    rows: list[Bin]
    heads: Sequence[str]
    above: Sequence[str]
    beside: Sequence[str]

    @property
    def lines(self) -> list[list[Bin]]:
        """The cells of a pair, row by row."""
        width = len(self.above)
        return [self.rows[start : start + width] for start in range(0, len(self.rows), width)]


def _table(card: Card, term: Variable | Pair) -> _Table:
    """Return a term as a page shows it."""
    beside, above = term.line_labels() or ((), ())
    heads = [card.column_name(axis) for axis in term.axes]
    return _Table(card.term_name(term), marked_bins(card, term), heads, above, beside)


def to_html(
    card: Card,
    *,
    title: str = "Scorecard",
    event: str | None = None,
    validation: ValidationTables | None = None,
    page: bool = True,
) -> str:
    """Return the card as self-contained HTML.

    It explains what a high total means and how to score a row by hand, lists the points, counts and
    event rates of each bin, the risk table and the details, and has lines for signatures. A pair is
    a grid, with the bins of the first variable down and those of the second across. The path of the
    search for the settings and, with `validation`, the validator's tables have sections.

    Parameters
    ----------
    card : Card
        The scorecard.
    title : str, default="Scorecard"
        The heading.
    event : str, default=None
        What ``classes[1]`` is in words, such as "default within 12 months". None: the class alone.
    validation : ValidationTables, default=None
        What `sklearn_rank.scorecard.monitoring.validation_tables` has found for this card.
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
    given = {"event": event, "validation": validation}
    check_parameters("to_html", given, {"event": _EVENT, "validation": _VALIDATION})
    upper = class_label(card.classes[1])
    return _render(
        "A scorecard as HTML",
        "card.html",
        title=title,
        page=page,
        card=card,
        upper=upper,
        event=upper if event is None else f"{event} ({upper})",
        tables=[_table(card, one) for one in card.terms],
        largest=card.largest_points or 1,
        has_counts=any(one.counts for one in card.terms),
        is_refusing=any(card.refused_bins(one) for one in card.terms),
        has_special=any(axis.special for one in card.terms for axis in one.axes),
        risks=_text.thinned(card.risk, _MAX_RISKS),
        edited=EDITED,
        figures={name: card.details[key] for key, name in _FIGURES.items() if key in card.details},
        details={k: one for k, one in other_details(card).items() if k not in _FIGURES},
        search=search_path(card),
        validation=None if validation is None else _validated(card, validation),
        edits=edit_texts(card),
    )


def _validated(card: Card, tables: ValidationTables) -> dict[str, Any]:
    """Return the validator's tables as lines."""
    names = [term.name for term in card.terms]
    if tables.terms.term.tolist() != names:
        raise ValueError(
            f"validation must be of this card, whose terms are {names}. Got tables of "
            f"{tables.terms.term.tolist()}."
        )
    is_first = tables.bins.term == names[0] if names else np.zeros(0, dtype=bool)
    return {
        "n_rows": tables.bins.count[is_first].sum(),
        "n_events": tables.bins.events[is_first].sum(),
        "terms": list(_lines(tables.terms)),
        "steps": list(_lines(tables.steps)),
        "bins": list(_lines(tables.bins)),
        "correlation": tables.correlation.tolist(),
    }


def report(
    scorecard: Any,
    X: Any,
    y: Any,
    *,
    reference: Any = None,
    groups: Any = None,
    cut: float | None = None,
    selected: str = "above",
    time: Any = None,
    sample_weight: Any = None,
    title: str = "Scorecard report",
) -> str:
    """Return a report on a scorecard as one self-contained HTML page with figures.

    For validation pass rows that the card was not fitted to, for monitoring rows of a recent
    period. The report shows the quality of the ranking (AUC, Gini coefficient, Kolmogorov-Smirnov
    distance), gains by band of the total, cut-offs, calibration, stability of the total and of each
    variable, metrics by group, and with `time` figures by period.

    Parameters
    ----------
    scorecard : Scorecard
        A fitted scorecard.
    X : {array-like, data frame} of shape (n_samples, n_features)
        The rows to report on.
    y : array-like of shape (n_samples,)
        Classes of the rows. High totals should mean ``classes_[1]``, the event.
    reference : {array-like, data frame} of shape (n_reference, n_features), default=None
        Rows to compare the distributions with, such as the training rows. None: the variables are
        compared with the counts of training rows that the card stores; the totals are not compared.
    groups : array-like of shape (n_samples,), dict of them or data frame, default=None
        Groups of people to compare, or several attributes by their names.
    cut : float, default=None
        The total above which rows count as "above the cut", also for `groups`. None: the cut-off of
        the card, above which a row is predicted as ``classes_[1]``. With rare events nearly all
        rows are below it: pass the cut-off that you use for decisions.
    selected : {"above", "below"}, default="above"
        On which side of the cut the favourable decision is, for `groups` and the table of cut-offs:
        "below" where high totals mean a risk that is refused.
    time : array-like of shape (n_samples,), default=None
        Dates of the rows, of which the months are the periods, those of their own clock where they
        have a time zone; or periods: numbers or text that sorts, or ordered categories. There are
        then AUC, event rate and stability by period, compared with the
        reference or the earliest period, and the event rates of bands by period (vintages).
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities. With weights other than 0 and 1 there are no intervals of AUC and
        Kolmogorov-Smirnov distance.
    title : str, default="Scorecard report"
        The heading.

    Returns
    -------
    str
        The page. It needs no other file, and all names and classes are escaped.

    Raises
    ------
    ImportError
        Without matplotlib.
    ValueError
        When the rows are of one class, or don't fit the card.

    See Also
    --------
    sklearn_rank.scorecard.monitoring.gains_table : The figures of bands.
    sklearn_rank.scorecard.monitoring.calibration_table : Those of calibration.
    sklearn_rank.scorecard.monitoring.stability_table : Those of stability.
    sklearn_rank.scorecard.monitoring.group_report : Those of groups.
    sklearn_rank.scorecard.monitoring.cutoff_table : Those of cut-offs.
    sklearn_rank.scorecard.monitoring.period_table : Those of periods.
    sklearn_rank.scorecard.monitoring.vintage_table : Those of periods and bands.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_rank import PNormPushRanker
    >>> from sklearn_rank.scorecard import Scorecard, report
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> card = Scorecard(PNormPushRanker(n_estimators=5), p=None).fit(X[::2], y[::2])
    >>> page = report(card, X[1::2], y[1::2], reference=X[::2])
    >>> page[:15], "Kolmogorov-Smirnov" in page
    ('<!DOCTYPE html>', True)
    """
    import_matplotlib("report")
    check_is_fitted(scorecard)
    figures = figures_of(
        *(scorecard, X, y),
        reference=reference,
        groups=groups,
        cut=cut,
        selected=selected,
        sample_weight=sample_weight,
        time=time,
    )
    card = scorecard.card_
    with pictures.picture_style():
        return _render(
            "report",
            "report.html",
            title=title,
            page=True,
            card=card,
            figures=figures,
            names=tuple(map(class_label, card.classes)),
            pictures=pictures,
            has_reference=reference is not None,
            selected=selected,
            top=TOP,
            version=__version__,
        )


# Numbers and names ---------------------------------------------------------------------


def _percent(share: float, digits: int = 1) -> str:
    return "-" if np.isnan(share) else f"{100 * share:.{digits}f} %"


def _number(value: float, digits: int = 3) -> str:
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def _interval(ends: tuple[float, float], digits: int = 3) -> str:
    low, high = ends
    return "no interval" if np.isnan(low) else f"{_number(low, digits)} to {_number(high, digits)}"


def _lines(table: Any) -> Iterator[dict[str, Any]]:
    """Yield the lines of a table of figures, by column."""
    columns = table.to_dict()
    for line in zip(*columns.values(), strict=True):
        yield dict(zip(columns, line, strict=True))


def _verdict(table: StabilityTable) -> str:
    """Return how large a change is: the usual reading, unless it is no more than chance."""
    if table.psi < 0.1 or table.p_value >= 0.05:
        return "no"
    return "some" if table.psi <= 0.25 else "large"


_FILTERS = {
    "class_label": class_label,
    "points": _text.points_text,
    "line_points": _text.line_points,
    "count": _text.count_text,
    "rate": _text.rate_text,
    "detail": _text.detail_text,
    "detail_name": detail_name,
    "percent": _percent,
    "number": _number,
    "interval": _interval,
    "lines": _lines,
    "verdict": _verdict,
}


# Templates -----------------------------------------------------------------------------


def _render(owner: str, template: str, **values: Any) -> str:
    """Return a page; all values are escaped."""
    import_extra("jinja2", "report", owner)
    return str(_environment().get_template(template).render(values)) + "\n"


@cache
def _environment() -> Any:
    """Return the templates of this folder."""
    import jinja2
    from markupsafe import Markup

    def shown(value: Any) -> Any:
        return value if hasattr(value, "__html__") else _text.printable(str(value))

    def breakable(value: Any) -> Markup:
        """Return a name that may be broken after an underscore."""
        return Markup("_<wbr>").join(str(shown(value)).split("_"))

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sklearn_rank.scorecard.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {**_FILTERS, "breakable": breakable}
    return environment
