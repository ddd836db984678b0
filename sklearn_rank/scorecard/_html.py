"""A scorecard as an HTML page that a person reads, signs and keeps."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from sklearn_rank._core.imports import import_extra
from sklearn_rank._core.validation import Described, check_parameters
from sklearn_rank.scorecard import _text
from sklearn_rank.scorecard.card import Card, class_label

_MAX_RISKS = 90

_EVENT = Described(
    "a str that is not empty, or None",
    lambda value: value is None or bool(value and isinstance(value, str)),
)

_FIGURES = {"held_out_auc": "AUC", "held_out_pauc_5": "Area up to 5 % of negatives"}
"""The figures that a page shows in boxes."""


def to_html(
    card: Card, *, title: str = "Scorecard", event: str | None = None, page: bool = True
) -> str:
    """Return the card as self-contained HTML.

    It explains what a high total means and how to score a row by hand, lists the points, counts and
    event rates of each bin, AUC and partial AUC on held-out rows, the risk table and the details,
    and has lines for signatures.

    Parameters
    ----------
    card : Card
        The scorecard.
    title : str, default="Scorecard"
        The heading.
    event : str, default=None
        Description of ``classes[1]``, such as "default within 12 months". None: the class itself.
    page : bool, default=True
        Whether to return a whole page. False: a fragment for another page.

    Returns
    -------
    str
        The HTML. All names, categories and classes are escaped.

    Raises
    ------
    ImportError
        Without jinja2, which the extra "html" installs.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Variable, to_html
    >>> age = Variable("age", 0, points=(-1, 2, 0), thresholds=(29.5,))
    >>> card = Card((age,), 1, 0, ("bad", "good"), 1, ("age",))
    >>> "A total above 0 means" in to_html(card)
    True
    """
    check_parameters("to_html", {"event": event}, {"event": _EVENT})
    import_extra("jinja2", "html", "A scorecard as HTML")
    upper = class_label(card.classes[1])
    blocks = card.lines()[1:]
    details = dict(card.details)
    html = _template().render(
        title=title,
        page=page,
        card=card,
        upper=upper,
        event=upper if event is None else f"{event} ({upper})",
        blocks=blocks,
        largest=max((abs(line.points) for _, lines in blocks for line in lines), default=0) or 1,
        has_counts=any(variable.counts for variable in card.variables),
        has_special=any(variable.special for variable in card.variables),
        risks=_text.thinned(card.risk, _MAX_RISKS),
        figures={name: details.pop(key) for key, name in _FIGURES.items() if key in details},
        details=details,
    )
    return str(html) + "\n"


@cache
def _template() -> Any:
    """Return the template; all values are escaped."""
    import jinja2

    def printable(value: Any) -> Any:
        return value if hasattr(value, "__html__") else _text.printable(str(value))

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=printable,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "points": _text.points_text,
        "count": _text.count_text,
        "rate": _text.rate_text,
        "detail": _text.detail_text,
        "detail_name": _text.detail_name,
    }
    source = files("sklearn_rank.scorecard").joinpath("card.html").read_text(encoding="utf-8")
    return environment.from_string(source)
