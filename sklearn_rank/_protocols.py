"""Conventions and the interfaces by which the parts of an estimator meet.

Conventions, stated once
------------------------
- The margin of a pair is ``m = f_i - f_k`` for i above k; larger is better.
- Objectives are minimised. A *row mass* is minus the derivative of the objective with
  respect to the row's score: where it is positive the score should grow.
- A weight is a multiplicity: weight 2 is the row twice, weight 0 is the row gone.
- Arrays over rows are in preference order (see `sklearn_rank.preferences`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Values = NDArray[Any]
"""Weak ranker values h on the training rows: a mask when h is 0/1, else floats."""


@dataclass(frozen=True)
class PairShares:
    """How a 0/1 weak ranker h divides the pair masses, normalised to sum one.

    Attributes
    ----------
    right, wrong, tied : float
        Share of the pairs with ``h_i - h_k`` equal to +1, -1 and 0 (d+, d-, d0).
    """

    right: float
    wrong: float
    tied: float

    def flipped(self) -> PairShares:
        """Return the shares of the weak ranker -h."""
        return PairShares(self.wrong, self.right, self.tied)


@dataclass(frozen=True)
class RowMasses:
    """Row masses as one signed group, or as the two sides of one bipartite list.

    Attributes
    ----------
    data : ndarray of shape (n_rows,)
        The masses. With two groups all are positive.
    pointer : ndarray of shape (n_groups + 1,)
        ``data[pointer[g]:pointer[g + 1]]`` is group g: ``[0, n]`` for one signed group,
        ``[0, n_above, n]`` for the rows above and the rows below.
    """

    data: Floats
    pointer: Indices

    @property
    def n_groups(self) -> int:
        """One (signed masses) or two (above, below)."""
        return len(self.pointer) - 1


@dataclass(frozen=True)
class Candidate:
    """A weak ranker that a search has chosen.

    Attributes
    ----------
    index : int
        Its coordinate in the family (one coefficient each).
    edge : float
        ``sum_n mass_n h_n``: minus the derivative of the objective along h.
    one, zero : ndarray of shape (n_groups,) or None
        Mass of each group where h is 1 and where it is 0; None when h is not 0/1 or
        the search did not need them.
    """

    index: int
    edge: float
    one: Floats | None = None
    zero: Floats | None = None


Gain = Callable[[Floats, Floats], Floats]
"""Maps masses on h = 1, shape (n_groups, ...), and totals, (n_groups,), to a gain each."""


class WeakRankerFamily(Protocol):
    """Weak rankers on the training rows: columns h of a matrix H that is never built."""

    def search(self, masses: RowMasses, gain: Gain) -> Candidate | None:
        """Return the weak ranker with the largest gain, or None when there is none."""

    def values(self, candidate: Candidate) -> Values:
        """Return h on the training rows."""


class LinearFamily(WeakRankerFamily, Protocol):
    """A bounded family: all of H at once, for solvers that move every coefficient."""

    @property
    def n_coordinates(self) -> int:
        """Number of columns of H."""

    def edges(self, masses: Floats) -> Floats:
        """Return ``H.T @ masses``."""

    def scores(self, coefficients: Floats) -> Floats:
        """Return ``H @ coefficients``."""


class Descent(Protocol):
    """An objective together with the current scores: what coordinate descent moves."""

    drifts: bool
    """Whether rounding builds up over the rounds, until `refresh`."""

    @property
    def value(self) -> float:
        """The objective now."""

    @property
    def masses(self) -> RowMasses:
        """The row masses now."""

    def pair_shares(self, candidate: Candidate, h: Values) -> PairShares | None:
        """Return d+, d-, d0 when the closed-form step applies to h, else None."""

    def slope(self, h: Values) -> Callable[[float], float]:
        """Return the derivative of ``objective(f + a * h)`` as a function of a."""

    def advance(self, candidate: Candidate, h: Values, step: float) -> None:
        """Move the scores by ``step * h``."""

    def refresh(self, scores: Floats) -> None:
        """Restart from `scores`."""

    def smallest_margin(self) -> float:
        """Return the smallest margin over all pairs."""

    def skew(self) -> float:
        """Return the offset between the scores of two classes."""


class FunctionSpace(Protocol):
    """A Hilbert space of scoring functions.

    An element is an array of two rows, coefficients c and their dual d, such that the
    inner product of two elements is ``c @ other_d``.
    """

    def element(self, coefficients: Floats) -> Floats:
        """Return the element with some coefficients."""

    def scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows."""

    def representer(self, gradient: Floats) -> Floats:
        """Return the gradient in the space of a function of the scores, from its own."""


class RowView(Protocol):
    """A function space seen from a few training rows; functions are coefficients."""

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the rows."""

    def add_representer(self, coefficients: Floats, gradient: Floats) -> None:
        """Add the element that stands for a gradient by these scores, in place."""

    def square(self, gradient: Floats) -> float:
        """Return the squared norm of that element."""


class RowSpace(FunctionSpace, Protocol):
    """A function space that can be entered through a few rows."""

    def at_rows(self, rows: Indices) -> RowView:
        """Return the view from some training rows."""
