"""Sums over the pairs of two groups of rows: their records and interfaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from sklearn_rank._core.protocols import Floats

if TYPE_CHECKING:
    from sklearn_rank._core.parallel import ThreadPool
    from sklearn_rank._core.sums import Groups
    from sklearn_rank._pair_sums._batches import Batch

EMPTY: Floats = np.empty(0)
"""In place of sums that are not wanted."""


class PairSums(NamedTuple):
    r"""Sums over the pairs of two groups of rows, every upper row with every lower row.

    With scores f, g and weights a, b of the upper and the lower rows:

    Attributes
    ----------
    value : float
        :math:`\sum_{ik} a_i b_k \phi(f_i - g_k)`; any number when not wanted.
    upper : ndarray of shape (n_upper,)
        :math:`\sum_k b_k \phi'(f_i - g_k)`.
    lower : ndarray of shape (n_lower,)
        :math:`\sum_i a_i \phi'(f_i - g_k)`.
    second_upper : ndarray of shape (n_upper,)
        :math:`\sum_k b_k \phi''(f_i - g_k)`; empty when not wanted, as is the next.
    second_lower : ndarray of shape (n_lower,)
        :math:`\sum_i a_i \phi''(f_i - g_k)`.
    """

    value: float
    upper: Floats
    lower: Floats
    second_upper: Floats = EMPTY
    second_lower: Floats = EMPTY


class PartSums(Protocol):
    """Sums over the pairs of some rows at some scores; both rows of a pair are here.

    Attributes
    ----------
    rows : slice
        The rows.
    n_upper : int or None
        Number of upper rows, which come first, if no row has both roles: weights and sums of a role
        have the shape of its rows. None if they have the shape of all rows.
    """

    rows: slice
    n_upper: int | None

    def heights(self, weight: Floats, side: str) -> Floats:
        """Return the loss of each row's pairs, see `PairLoss.heights`."""

    def sums(
        self, w_upper: Floats, w_lower: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles, see `PairLoss.sums`."""


class KeptSums(ABC):
    """`PartSums` that keep computed sums; they know arrays of weights by identity.

    Sums depend on the other rows of the pairs by moments alone. A subclass calls `_forget` before
    other scores are used.
    """

    rows: slice
    n_upper: int | None = None

    @abstractmethod
    def _moments(self, role: str, weight: Floats) -> Floats:
        """Return the moments of the other rows, for rows in a role: "upper" or "lower"."""

    @abstractmethod
    def _evaluate(
        self, role: str, orders: Sequence[int], moments: Floats, weight: Floats
    ) -> Sequence[Floats]:
        """Return sums of derivatives of phi, of these orders, for rows on one side of the pairs."""

    def heights(self, weight: Floats, side: str) -> Floats:
        """Return the loss of each row's pairs."""
        return self._in_role("lower" if side == "top" else "upper", weight, [0])[0]

    def sums(
        self, w_upper: Floats, w_lower: Floats, with_second: bool = False, with_value: bool = True
    ) -> PairSums:
        """Return the sums with separate weights for the two roles of a row."""
        orders = [1, 2][: 1 + with_second]
        upper = self._in_role("upper", w_lower, orders)
        lower = self._in_role("lower", w_upper, orders)
        value = self._value(w_upper, w_lower) if with_value else 0.0
        return PairSums(value, upper[0], lower[0], *upper[1:], *lower[1:])

    def _value(self, w_upper: Floats, w_lower: Floats) -> float:
        """Return the sum over all pairs."""
        return float(np.vdot(w_lower, self.heights(w_upper, "top")))

    def _forget(self) -> None:
        """Forget all sums."""
        # The weights are kept, too: freed, they would leave their identity to other arrays.
        self._kept_sums: dict[tuple[str, int, int], tuple[Floats, Floats]] = {}

    def _kept_moments(self, role: str, weight: Floats) -> Floats:
        key = role, -1, id(weight)
        if key not in self._kept_sums:
            self._kept_sums[key] = weight, self._moments(role, weight)
        return self._kept_sums[key][1]

    def _in_role(self, role: str, weight: Floats, orders: Sequence[int]) -> list[Floats]:
        """Return the sums of derivatives for rows in a role; weights are of the other rows."""
        keys = {order: (role, order, id(weight)) for order in orders}
        missing = [order for order in orders if keys[order] not in self._kept_sums]
        if missing:
            computed = self._evaluate(role, missing, self._kept_moments(role, weight), weight)
            for order, sums in zip(missing, computed, strict=True):
                if order != 1:
                    np.maximum(sums, 0.0, out=sums)  # sums near zero may be rounding
                self._kept_sums[keys[order]] = weight, sums
        return [self._kept_sums[keys[order]][1] for order in orders]


@dataclass(eq=False)
class OnePart:
    """All rows as one part, see `PartSums`, by functions."""

    heights: Callable[[Floats, str], Floats]
    sums: Callable[..., PairSums]
    n_upper: int | None = None
    rows = slice(None)


def one_list(
    sums: Callable[..., PairSums],
    heights: Callable[..., Floats],
    f: Floats,
    g: Floats,
    **options: Any,
) -> OnePart:
    """Return the sums over one bipartite list, by functions of f, a, g, b and of f, a, g.

    For second derivatives the first of them gets True as fifth argument.
    """

    def heights_of(weight: Floats, side: str) -> Floats:
        upper, lower = (f, g) if side == "top" else (-g, -f)
        return heights(upper, weight, lower, **options)

    def sums_of(w_upper: Floats, w_lower: Floats, with_second: bool = False, **_: bool) -> PairSums:
        return sums(f, w_upper, g, w_lower, *[True] * with_second, **options)

    return OnePart(heights_of, sums_of, len(f))


def by_role(values: Floats, n_upper: int | None) -> tuple[Floats, Floats]:
    """Return values of the upper and of the lower rows of a part."""
    return (values, values) if n_upper is None else (values[:n_upper], values[n_upper:])


def by_row(upper: Floats, lower: Floats, n_upper: int | None) -> Floats:
    """Return the sums over both roles of each row, given those of the upper and the lower ones."""
    return upper + lower if n_upper is None else np.concatenate([upper, lower])


class FastSums(NamedTuple):
    r"""How to sum a loss over the pairs of two groups without visiting each pair.

    Attributes
    ----------
    at : callable
        Maps the scores f, g of the upper and of the lower rows to `PartSums` of them.
    overhead, per_row : float
        Cost of a call and of a row, in nanoseconds on one machine: only ratios matter.
    """

    at: Callable[..., PartSums]
    overhead: float
    per_row: float


class Strip(NamedTuple):
    """The strip around the real axis in which a loss and its derivatives are analytic and bounded.

    Attributes
    ----------
    half_width : float
        Half-width of the strip: distance of the nearest singularity from the axis.
    error : float, default=1e-12
        Share of a row's pairs by which sums may be wrong.
    threads : ThreadPool or None, default=None
        Threads that share such sums.
    """

    half_width: float
    error: float = 1e-12
    threads: ThreadPool | None = None


@dataclass(frozen=True, eq=False)
class WeightedScores:
    """Scores of rows, and their weights in both roles.

    Attributes
    ----------
    scores : ndarray of shape (n_rows,)
        Scores.
    w_upper, w_lower : ndarray of shape (n_rows,)
        Weights of the rows as upper and as lower rows of pairs.
    margin : float, default=0.0
        The margin that each pair needs: it is subtracted from the difference of the scores.
    """

    scores: Floats
    w_upper: Floats
    w_lower: Floats
    margin: float = 0.0


class BatchSums(Protocol):
    """Sums over the pairs of batches of small blocks, at some scores and weights."""

    def sums(self, batch: Batch, with_second: bool, with_value: bool) -> PairSums:
        """Return the sums, of the shapes of the batch; the value only with `with_value`."""

    def heights(self, batch: Batch) -> Floats:
        """Return the loss of each lower row's pairs, with the weights above."""


class SmallSums(NamedTuple):
    """How to sum a loss over the pairs of small blocks, many at a time.

    Attributes
    ----------
    at : callable
        Maps `WeightedScores`, the queries over rows, the most pairs of a batch, and `BatchSums`
        pair by pair, for queries of too wide scores, to `BatchSums`.
    per_pair : float
        Cost of a pair in the nanoseconds of `FastSums`.
    """

    at: Callable[[WeightedScores, Groups, int, BatchSums], BatchSums]
    per_pair: float
