"""The forms in which a card can be written: a registry, and methods of what has a card."""

from __future__ import annotations

import inspect
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from sklearn_rank._core.imports import import_extra
from sklearn_rank.scorecard._owner import CardOwner
from sklearn_rank.scorecard.card import Card, known_risk
from sklearn_rank.scorecard.forms._json import card_to_json
from sklearn_rank.scorecard.forms._pmml import to_pmml
from sklearn_rank.scorecard.forms._points_table import to_csv, to_excel, to_frame
from sklearn_rank.scorecard.forms._sql import to_sql
from sklearn_rank.scorecard.forms._test_rows import test_rows
from sklearn_rank.scorecard.forms._text import to_text
from sklearn_rank.scorecard.forms.card_graph import to_onnx
from sklearn_rank.scorecard.pages._pages import to_html

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Export:
    """A form in which a card can be written.

    Attributes
    ----------
    function : callable
        Takes the card and options of its own.
    suffix : str
        End of the names of files.
    extra : str or None
        The extra that brings its package, as in ``pip install "sklearn-rank[onnx]"``.
    to_bytes : callable or None
        Returns the content of a file; None for a form that is text, which `function` returns.
    """

    function: Callable[..., Any]
    suffix: str
    extra: str | None = None
    to_bytes: Callable[[Card], bytes] | None = None

    def content(self, card: Card) -> str | bytes:
        """Return the content of a file."""
        made: str | bytes = (self.to_bytes or self.function)(card)
        return made


def _workbook(card: Card) -> bytes:
    file = io.BytesIO()
    to_excel(card, file)
    return file.getvalue()


EXPORTS = {
    "sql": Export(to_sql, ".sql"),
    "pmml": Export(to_pmml, ".pmml"),
    "csv": Export(to_csv, ".csv"),
    "xlsx": Export(to_excel, ".xlsx", "excel", _workbook),
    "html": Export(to_html, ".html", "report"),
    "text": Export(to_text, ".txt"),
    "onnx": Export(to_onnx, ".onnx", "onnx", lambda card: to_onnx(card).SerializeToString()),
}
"""The forms by the names that ``card export --to`` takes."""


def _method(function: Callable[Concatenate[Card, P], R]) -> Callable[Concatenate[Any, P], R]:
    """Return a function of a card as a method of what has one."""

    def method(self: Any, /, *args: P.args, **options: P.kwargs) -> R:
        return function(self._fitted_card(), *args, **options)

    parameters = list(inspect.signature(function).parameters.values())[1:]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    text = inspect.cleandoc(function.__doc__ or "").partition("\n\nExamples\n")[0]
    method.__doc__ = text.replace("card : Card\n    The scorecard.\n", "")
    method.__name__, method.__qualname__ = function.__name__, f"Scorecard.{function.__name__}"
    method.__signature__ = inspect.Signature([own, *parameters])  # type: ignore[attr-defined]
    return method


class ExportsMixin(CardOwner):
    """Methods that write the card. All give the total of a row, which `cut_` is compared with."""

    to_frame = _method(to_frame)
    to_json = _method(card_to_json)
    to_sql = _method(to_sql)
    to_pmml = _method(to_pmml)
    to_csv = _method(to_csv)
    to_excel = _method(to_excel)
    to_html = _method(to_html)
    to_text = _method(to_text)
    to_onnx = _method(to_onnx)
    test_rows = _method(test_rows)

    @property
    def table_(self) -> Any:
        """The points as a pandas DataFrame: variable, bin, points, count, event_rate."""
        return self.to_frame()

    @property
    def risk_table_(self) -> Any:
        """The probability of ``classes_[1]`` by total, as a pandas DataFrame.

        Columns are total, risk, and low and high, the ends of its interval of 95 %.
        """
        card = self._fitted_card()
        pandas = import_extra("pandas", "cli", "The risk table of a scorecard")
        rows: Any = known_risk(card) if card.risk else []
        return pandas.DataFrame(rows, columns=["total", "risk", "low", "high"])
