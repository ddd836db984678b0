"""The methods of a scorecard that return its card in other forms."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.imports import import_extra
from sklearn_rank.scorecard._html import to_html
from sklearn_rank.scorecard._json import card_to_json
from sklearn_rank.scorecard._sql import to_sql
from sklearn_rank.scorecard._text import to_frame, to_text
from sklearn_rank.scorecard.card import Card


class CardExports:
    """An estimator that has a card, `card_`, once it is fitted."""

    card_: Card

    def _fitted_card(self) -> Card:
        check_is_fitted(self)
        return self.card_

    @property
    def risk_table_(self) -> Any:
        """The probability of ``classes_[1]`` by total, as a pandas DataFrame."""
        pandas = import_extra("pandas", "cli", "The risk table of a scorecard")
        risk = list(self._fitted_card().risk)
        return pandas.DataFrame(risk, columns=["total", "risk", "low", "high"])

    def to_frame(self) -> Any:
        """Return the card as a pandas DataFrame: `sklearn_rank.scorecard.to_frame`.

        Returns
        -------
        DataFrame
            Columns variable, bin, points, count and event_rate.
        """
        return to_frame(self._fitted_card())

    def to_text(self, width: int | None = None) -> str:
        """Return the card as text: `sklearn_rank.scorecard.to_text`.

        Parameters
        ----------
        width : int, default=None
            Characters per line; None: the width of the terminal.

        Returns
        -------
        str
            The text.
        """
        return to_text(self._fitted_card(), width)

    def to_html(self, **options: Any) -> str:
        """Return the card as HTML: `sklearn_rank.scorecard.to_html`.

        Parameters
        ----------
        **options : Any
            Its options: title, event and page.

        Returns
        -------
        str
            The HTML.
        """
        return to_html(self._fitted_card(), **options)

    def to_sql(self, dialect: str = "sqlite", **options: Any) -> str:
        """Return SQL that computes the total of each row: `sklearn_rank.scorecard.to_sql`.

        Parameters
        ----------
        dialect : str, default="sqlite"
            The database.
        **options : Any
            Its options: table, name, keep and risk.

        Returns
        -------
        str
            The SQL.
        """
        return to_sql(self._fitted_card(), dialect, **options)

    def to_json(self) -> str:
        """Return the card as a JSON document, which `from_json` reads.

        Returns
        -------
        str
            The document.
        """
        return card_to_json(self._fitted_card())
