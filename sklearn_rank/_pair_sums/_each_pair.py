"""Sums of any margin loss over small blocks, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sklearn_rank._core.protocols import Floats, require
from sklearn_rank._pair_sums._batches import Batch
from sklearn_rank._pair_sums.group_sums import PairSums, WeightedScores

if TYPE_CHECKING:
    from sklearn_rank._pair_sums.margin_losses import MarginLoss


class EachPair:
    """Sums over the pairs of blocks, each of which is visited.

    Parameters
    ----------
    loss : MarginLoss
        The loss of a margin.
    rows : WeightedScores
        Scores and weights.
    """

    def __init__(self, loss: MarginLoss, rows: WeightedScores) -> None:
        self.loss, self.rows = loss, rows

    def sums(self, batch: Batch, with_second: bool, with_value: bool) -> PairSums:
        """Return the sums, of the shapes of the batch; the value only where it is asked for."""
        a, b = batch.of_upper(self.rows.above), batch.of_lower(self.rows.below)
        value, *slopes = derivatives(self.loss, self._margins(batch), with_second)
        found = []
        for slope in slopes:
            found.append(batch.clear_upper(batch.sum_lower(slope, b)))
            found.append(batch.clear_lower(batch.sum_upper(a, slope)))
        total = float(np.vdot(a, batch.sum_lower(value, b))) if with_value else 0.0
        return PairSums(total, *found)

    def heights(self, batch: Batch) -> Floats:
        """Return the loss of each lower row's pairs."""
        above = batch.of_upper(self.rows.above)
        return batch.clear_lower(batch.sum_upper(above, self.loss.value(self._margins(batch))))

    def _margins(self, batch: Batch) -> Floats:
        upper, lower = self.rows.scores[batch.upper], self.rows.scores[batch.lower]
        if self.rows.margin:
            lower += self.rows.margin
        return batch.differences(upper, lower)


def derivatives(loss: MarginLoss, margin: Floats, with_second: bool) -> list[Floats]:
    """Return phi, its derivative and, where asked for, its second derivative."""
    found = list(loss.value_and_derivative(margin))
    if with_second:
        found.append(require(loss, "second_derivative", "A sum of second derivatives")(margin))
    return found
