"""The exports of a fitted scorecard, as methods."""

from __future__ import annotations

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from sklearn_rank.scorecard._html import to_html
from sklearn_rank.scorecard._json import card_to_json
from sklearn_rank.scorecard._pmml import to_pmml
from sklearn_rank.scorecard._points_table import import_optional, to_csv, to_excel, to_frame
from sklearn_rank.scorecard._sql import to_sql
from sklearn_rank.scorecard._text import to_text
from sklearn_rank.scorecard.card import Card

_RISK_COLUMNS = ("total", "risk", "low", "high")


class ExportsMixin(ABC):
    """Methods that write the card. All give the total of a row, which `cut_` is compared with."""

    @abstractmethod
    def _fitted_card(self) -> Card:
        """Return the card."""

    @property
    def table_(self) -> Any:
        """The points as a pandas DataFrame: variable, bin, points, count, event_rate."""
        return to_frame(self._fitted_card())

    @property
    def risk_table_(self) -> Any:
        """The probability of ``classes_[1]`` by total, as a pandas DataFrame.

        Columns are total, risk, and low and high, the ends of its interval of 95 %.
        """
        card = self._fitted_card()
        pandas = import_optional("pandas", "cli", "The risk table of a scorecard")
        return pandas.DataFrame(list(card.risk), columns=list(_RISK_COLUMNS))

    def to_text(self, width: int | None = None) -> str:
        """Return the card as text for a terminal.

        Parameters
        ----------
        width : int, default=None
            Characters of a line; below 50 it is 50, above 120 it is 120. None: those of the
            terminal.

        Returns
        -------
        str
            The card; rows can be scored by hand from it.
        """
        return to_text(self._fitted_card(), width)

    def to_frame(self) -> Any:
        """Return `table_`.

        Returns
        -------
        DataFrame
            The points.
        """
        return to_frame(self._fitted_card())

    def to_csv(self) -> str:
        """Return the points as CSV, with columns from which programs can score rows.

        Returns
        -------
        str
            The text of the file.
        """
        return to_csv(self._fitted_card())

    def to_html(self, *, title: str = "Scorecard", page: bool = True) -> str:
        """Return the card as HTML.

        Parameters
        ----------
        title : str, default="Scorecard"
            Its heading.
        page : bool, default=True
            Whether to return a whole page or a part of one.

        Returns
        -------
        str
            HTML without references to other files.
        """
        return to_html(self._fitted_card(), title=title, page=page)

    def to_excel(self, path: str | os.PathLike[str]) -> None:
        """Write a workbook of Excel.

        Parameters
        ----------
        path : path-like
            The file.
        """
        to_excel(self._fitted_card(), path)

    def to_json(self) -> str:
        """Return the card as JSON, which `from_json` reads.

        Returns
        -------
        str
            The card with the version of its schema.
        """
        return card_to_json(self._fitted_card())

    def to_pmml(self, *, name: str = "score") -> str:
        """Return the card as PMML, with a Scorecard element.

        Parameters
        ----------
        name : str, default="score"
            Name of the output.

        Returns
        -------
        str
            The document.
        """
        return to_pmml(self._fitted_card(), name=name)

    def to_onnx(self, *, dtype: str = "float64", name: str = "score") -> Any:
        """Return the card as an ONNX model.

        Parameters
        ----------
        dtype : {"float64", "float32"}, default="float64"
            Type of the inputs that are floats.
        name : str, default="score"
            Name of the output.

        Returns
        -------
        onnx.ModelProto
            The model. `sklearn_rank.onnx.to_onnx` describes its inputs.
        """
        # The layer above: it knows cards, and this knows only its name.
        return importlib.import_module("sklearn_rank.onnx").to_onnx(
            self._fitted_card(), dtype=dtype, name=name
        )

    def to_sql(
        self,
        dialect: str = "sqlite",
        *,
        table: str | Sequence[str] | None = None,
        name: str = "score",
    ) -> str:
        """Return SQL that computes the total of each row.

        Parameters
        ----------
        dialect : {"sqlite", "postgresql", "mysql", "tsql", "bigquery"}, default="sqlite"
            The database. Only SQLite's is run by the tests.
        table : str or sequence of str, default=None
            The table to score. None: only the expression.
        name : str, default="score"
            Name of the column of totals.

        Returns
        -------
        str
            An expression, or a SELECT statement.
        """
        return to_sql(self._fitted_card(), dialect, table=table, name=name)
