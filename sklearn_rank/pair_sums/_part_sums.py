"""Several sums over the same pairs at the same scores, what they share computed once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.pair_sums.group_sums import PairSums


class KeptSums(ABC):
    """`PartSums` that keep what they have computed; arrays of weights are told by identity.

    Moments are what the sums need of the rows that a row is compared with. A subclass calls
    `_forget` before other scores are used.
    """

    rows: slice
    n_upper: int | None = None

    @abstractmethod
    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the moments of the other rows, for rows in a role: "upper" or "lower"."""

    @abstractmethod
    def _evaluate(self, role: str, orders: Sequence[int], moments: Floats) -> Sequence[Floats]:
        """Return the sums of derivatives of phi of some orders, for rows in a role."""

    def heights(self, weight: Floats, side: str) -> Floats:
        """Return the loss of each row's pairs."""
        return self._in_role("lower" if side == "top" else "upper", weight, [0])[0]

    def sums(
        self, above: Floats, below: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        orders = [1, 2][: 1 + with_second]
        upper, lower = (
            self._in_role(role, weight, orders)
            for role, weight in (("upper", below), ("lower", above))
        )
        value = float(np.vdot(below, self.heights(above, "top"))) if with_value else 0.0
        return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])

    def _forget(self) -> None:
        """Forget all sums."""
        # With the weights: without them others could get their identity.
        self._known: dict[tuple[str, int, int], tuple[Floats, Floats]] = {}

    def _in_role(self, role: str, weight: Floats, orders: Sequence[int]) -> list[Floats]:
        """Return the sums of derivatives for rows in a role; weights are of the other rows."""
        keys = {order: (role, order, id(weight)) for order in orders}
        new = [order for order in orders if keys[order] not in self._known]
        if new:
            moments = role, -1, id(weight)
            if moments not in self._known:
                self._known[moments] = weight, self._moments(role, weight)
            found = self._evaluate(role, new, self._known[moments][1])
            for order, sums in zip(new, found, strict=True):
                if order != 1:
                    np.maximum(sums, 0.0, out=sums)  # rounding where all is in order, or far away
                self._known[keys[order]] = weight, sums
        return [self._known[keys[order]][1] for order in orders]
