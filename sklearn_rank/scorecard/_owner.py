"""What every method of a scorecard needs: its card, and the rows that the card takes."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Values
from sklearn_rank.scorecard._input import checked_rows
from sklearn_rank.scorecard.card import Card


class CardOwner:
    """What has a card once it is fitted: the base of the parts that `Scorecard` is made of."""

    card_: Card
    classes_: Values
    _has_categories_: bool

    def _fitted_card(self) -> Card:
        """Return the card."""
        check_is_fitted(self)
        return self.card_

    def _rows(self, X: Any) -> Any:
        """Return validated rows."""
        check_is_fitted(self)
        return checked_rows(self, X, self._has_categories_)
