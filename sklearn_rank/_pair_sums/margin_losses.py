r"""Losses of one margin: phi, its derivative and further properties.

The margin of a pair is ``m = f_i - f_k`` for i above k. Every loss is convex and
decreasing at zero. The last lines collect them by the name users pass as ``loss``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.sums import Sums
from sklearn_rank._core.tolerances import CURVATURE_ERROR
from sklearn_rank._core.validation import Choice, Number, check_parameters
from sklearn_rank._pair_sums._logistic._list_in_cells import logistic_sums
from sklearn_rank._pair_sums._logistic._row_exponentials import RowExponentials
from sklearn_rank._pair_sums._moment_sums import least_squares_heights, least_squares_sums
from sklearn_rank._pair_sums._sorted_sides import SortedSides
from sklearn_rank._pair_sums._sorted_sums import (
    hinge_heights,
    hinge_sums,
    rounded_hinge_heights,
    rounded_hinge_sums,
    sorted_list,
    squared_hinge_heights,
    squared_hinge_sums,
)
from sklearn_rank._pair_sums.group_sums import (
    FastSums,
    PairSums,
    PartSums,
    SmallSums,
    Strip,
    one_list,
)


class MarginLoss(ABC):
    r"""Base class of pairwise losses: a convex loss phi of the margin of a pair.

    To define your own loss, write a subclass with `value_and_derivative`. Sums over pairs are then
    computed pair by pair. Further methods are optional:

    - ``second_derivative(margin)``: :math:`\phi''`, or the bound on it that the class states, for
      second-order boosting;
    - ``rounded(width)``: a smooth `MarginLoss` at most ``width / 2`` below this loss, for L-BFGS
      where phi has kinks;
    - ``local_lipschitz(radius)``: M with :math:`|\phi'(t) - \phi'(0)| \le M |t|` for t
      within `radius` of 0, for ``KernelPairwiseSGDRanker(eta0="auto")``;
    - ``single_precision()``: the same loss with less exact, faster sums, for engines that keep
      gradients as 32-bit floats;
    - ``in_threads(threads)``: the same loss with `fast_sums` shared among the threads of a fit;
    - ``in_processes(rows)``: the same loss with `fast_sums` over the rows of all processes,
      for one list on several processes (`sklearn_rank.dask`);
    - ``with_curvature()``: for losses with kinks, the same loss with the ``second_derivative`` of a
      smooth loss close to it, for second-order boosting;
    - ``growth``: the smallest q and C with :math:`|\phi'(t)| \le C (1 + |t|)^{q-1}`, for losses of
      polynomial growth, the subject of the theorems of Chen2012;
    - ``self_bound``: a number :math:`\kappa` with :math:`\phi'^2 \le \kappa \phi \phi''`,
      which bounds the second derivatives of a push of a loss that rises somewhere.

    All of these, and the attributes below, belong to a specific phi. A class that replaces the
    `value_and_derivative` of its parent would inherit wrong ones and raises an error: derive it
    from `MarginLoss` itself, and set those that apply.

    Attributes
    ----------
    slope_at_zero : float
        :math:`|\phi'(0)|`, by default from `value_and_derivative`.
    is_smooth : bool, default=True
        Whether phi has a derivative everywhere.
    fast_sums : FastSums or None, default=None
        How to sum over the pairs of two groups without visiting each pair.
    small_sums : SmallSums or None, default=None
        How to sum over the pairs of many small groups for less than phi pair by pair.
    strip : Strip or None, default=None
        The strip in which phi, its derivative and its second derivative are analytic and bounded by
        polynomials. Sums over the pairs of many queries are then linear in the rows.
    factorises : bool, default=False
        Whether phi is the exponential :math:`e^{-m}`, whose sums over pairs are products.

    References
    ----------
    Chen2012, eq. (3.7) (the constant of ``local_lipschitz``).

    Examples
    --------
    A hinge loss with a margin of 2:

    >>> import numpy as np
    >>> from sklearn_rank.objectives import MarginLoss, pair_loss_and_gradient
    >>> class WideHinge(MarginLoss):
    ...     is_smooth = False
    ...
    ...     def value_and_derivative(self, margin):
    ...         return np.maximum(2 - margin, 0), np.where(margin <= 2, -1.0, 0.0)
    >>> pair_loss_and_gradient([0, 1, 1], [2.0, 2.5, 4.5], loss=WideHinge())
    (1.5, array([ 1., -1.,  0.]))
    """

    is_smooth: ClassVar[bool] = True
    fast_sums: FastSums | None = None
    small_sums: SmallSums | None = None
    strip: Strip | None = None
    factorises: ClassVar[bool] = False

    @abstractmethod
    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its left derivative."""

    @property
    def slope_at_zero(self) -> float:
        """Absolute derivative at margin zero."""
        return abs(float(self.derivative(np.zeros(1))[0]))

    def value(self, margin: Floats) -> Floats:
        """Return phi."""
        return self.value_and_derivative(margin)[0]

    def derivative(self, margin: Floats) -> Floats:
        """Return the left derivative of phi."""
        return self.value_and_derivative(margin)[1]

    def _with(self, strip: Strip | None = None, **options: Any) -> Self:
        """Return a copy of the loss with keyword arguments for `fast_sums`."""
        loss = copy(self)
        fast_sums: Any = self.fast_sums
        loss.fast_sums, loss.strip = fast_sums._replace(at=partial(fast_sums.at, **options)), strip
        return loss


class Exponential(MarginLoss):
    r"""Exponential loss, :math:`e^{-m}`: that of boosting. Above the largest float, inf."""

    factorises = True

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        with np.errstate(over="ignore"):
            value = np.exp(-margin)
        return value, -value

    def second_derivative(self, margin: Floats) -> Floats:
        """Return phi itself."""
        return self.value(margin)

    def local_lipschitz(self, radius: float) -> float:
        """Return (e^R - 1) / R."""
        with np.errstate(over="ignore"):
            return float(np.expm1(radius) / radius) if radius > 0 else 1.0


class LeastSquares(MarginLoss):
    r"""Least squares, :math:`(1 - m)^2`; Chen2012 writes :math:`t^2`, which ties minimise."""

    fast_sums: FastSums = FastSums(
        partial(one_list, least_squares_sums, least_squares_heights), 60e3, 10.0
    )
    self_bound = 2.0
    growth = 2, 2

    def in_processes(self, rows: Sums) -> MarginLoss:
        """Return the loss with sums over the rows of all processes."""
        return self._with(rows=rows)

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        residual = 1.0 - margin
        return residual * residual, -2.0 * residual

    def second_derivative(self, margin: Floats) -> Floats:
        """Return 2."""
        return np.full_like(margin, 2.0)

    def local_lipschitz(self, radius: float) -> float:
        """Return 2."""
        return 2.0


def _sigmoid_slope(x: Floats) -> Floats:
    """Return sigmoid(x) sigmoid(-x); as s (1 - s) it would be 0 beyond 37."""
    decay = np.exp(-np.abs(x))
    sigmoid = 1.0 / (1.0 + decay)
    return sigmoid * (decay * sigmoid)


def _curved_hinge_sums(f: Floats, g: Floats, threads: ThreadPool | None = None) -> PartSums:
    """Return the sums of the hinge loss, and those of the curvature of `CurvedHinge`."""

    def sums(sides: SortedSides, a: Floats, b: Floats, with_second: bool = False) -> PairSums:
        sums = hinge_sums(sides, a, b)
        if not with_second:
            return sums
        smooth = logistic_sums(f - 1.0, g, CURVATURE_ERROR, threads)
        curved = smooth.sums(a, b, with_second=True, with_value=False)
        return sums._replace(second_upper=curved.second_upper, second_lower=curved.second_lower)

    return sorted_list(sums, hinge_heights, f, g)


class Hinge(MarginLoss):
    r"""Hinge loss, :math:`(1 - m)_+`, the loss of RankSVM; active for m <= 1."""

    is_smooth = False
    fast_sums = FastSums(partial(sorted_list, hinge_sums, hinge_heights), 80e3, 120.0)
    growth = 1, 1

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its left derivative."""
        return np.maximum(1.0 - margin, 0.0), np.where(margin <= 1.0, -1.0, 0.0)

    def rounded(self, width: float) -> MarginLoss:
        """Return the loss with a parabola instead of the kink."""
        return RoundedHinge(width)

    def local_lipschitz(self, radius: float) -> float:
        """Return 1: the derivative jumps by one at t = 1."""
        return 1.0

    def with_curvature(self) -> MarginLoss:
        """Return the loss with the second derivative of log(1 + e^(1 - m))."""
        return CurvedHinge()


class CurvedHinge(Hinge):
    r"""Hinge loss with the second derivative of a smooth loss, :math:`\ln(1 + e^{1 - m})`.

    That of the hinge loss is zero but for the kink. The sum over many pairs has a curvature all the
    same: the density of their margins at 1, which this estimates.
    """

    fast_sums: FastSums = FastSums(_curved_hinge_sums, 800e3, 150.0)

    def in_threads(self, threads: ThreadPool) -> MarginLoss:
        """Return the loss with sums that are shared among threads."""
        return self._with(threads=threads)

    def second_derivative(self, margin: Floats) -> Floats:
        """Return sigmoid(m - 1) sigmoid(1 - m)."""
        return _sigmoid_slope(margin - 1.0)


class SquaredHinge(MarginLoss):
    r"""Squared hinge loss, :math:`(1 - m)_+^2`."""

    fast_sums = FastSums(
        partial(sorted_list, squared_hinge_sums, squared_hinge_heights), 100e3, 130.0
    )
    growth = 2, 2

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        residual = np.maximum(1.0 - margin, 0.0)
        return residual * residual, -2.0 * residual

    def second_derivative(self, margin: Floats) -> Floats:
        """Return 2, a bound: beyond margin 1 it is 0, until a step makes the pair active."""
        return np.full_like(margin, 2.0)

    def local_lipschitz(self, radius: float) -> float:
        """Return 2."""
        return 2.0


class RoundedHinge(MarginLoss):
    r"""Hinge loss with a parabola instead of the kink, :math:`((1-m)_+^2 - (1-d-m)_+^2) / (2d)`.

    Here d is `width`, in (0, 1): the parabola lies over margins from 1 - d to 1. The loss
    is at most d / 2 below the hinge loss.
    """

    def __init__(self, width: float) -> None:
        check_parameters("RoundedHinge", {"width": width}, {"width": Number(0, 1, "neither")})
        self.width = width
        sums, heights = partial(rounded_hinge_sums, width), partial(rounded_hinge_heights, width)
        self.fast_sums = FastSums(partial(one_list, sums, heights), 100e3, 130.0)

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        residual = np.maximum(1.0 - margin, 0.0)
        curved_part = np.minimum(residual, self.width)
        return curved_part * (residual - curved_part / 2) / self.width, -curved_part / self.width

    def second_derivative(self, margin: Floats) -> Floats:
        """Return 1 / d between the kinks and 0 elsewhere, from the left at the kinks."""
        residual = 1.0 - margin
        return np.where((residual >= 0) & (residual < self.width), 1.0 / self.width, 0.0)


class Logistic(MarginLoss):
    r"""Logistic loss, :math:`\ln(1 + e^{-m})`."""

    fast_sums: FastSums = FastSums(logistic_sums, 800e3, 30.0)
    small_sums = SmallSums(RowExponentials, 3.0)
    strip: Strip = Strip(np.pi)
    growth = 1, 1

    def value_and_derivative(self, margin: Floats) -> tuple[Floats, Floats]:
        """Return phi and its derivative."""
        decay = np.exp(-np.abs(margin))
        value = np.maximum(-margin, 0.0) + np.log1p(decay)
        return value, -np.where(margin > 0, decay, 1.0) / (1.0 + decay)

    def second_derivative(self, margin: Floats) -> Floats:
        """Return sigmoid(m) sigmoid(-m)."""
        return _sigmoid_slope(margin)

    def local_lipschitz(self, radius: float) -> float:
        """Return 1/4."""
        return 0.25

    def in_threads(self, threads: ThreadPool) -> MarginLoss:
        """Return the loss with sums that are shared among threads."""
        strip = self.strip._replace(threads=threads)
        return self._with(strip, threads=threads)

    def in_processes(self, rows: Sums) -> MarginLoss:
        """Return the loss with sums over the rows of all processes."""
        return self._with(rows=rows)

    def single_precision(self) -> MarginLoss:
        """Return the loss with sums exact up to 1e-10 of the weight of a row's pairs."""
        return self._with(self.strip._replace(error=1e-10), error=1e-10)


MARGIN_LOSSES: dict[str, MarginLoss] = {
    "exponential": Exponential(),
    "least_squares": LeastSquares(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
}
"""Each `MarginLoss` of the package by the name that users pass as ``loss``."""


MARGIN_LOSS_CHOICE = Choice(tuple(MARGIN_LOSSES), "a MarginLoss", MarginLoss)
"""The values that a parameter ``loss`` may have."""


def as_margin_loss(loss: str | MarginLoss, user: str = "as_margin_loss") -> MarginLoss:
    """Return the `MarginLoss` of a name, or the object itself; `user` is for the error."""
    check_parameters(user, {"loss": loss}, {"loss": MARGIN_LOSS_CHOICE})
    if isinstance(loss, str):
        return MARGIN_LOSSES[loss]
    bases = [cls for cls in type(loss).__mro__ if "value_and_derivative" in vars(cls)]
    if len(bases) > 2:  # the last is MarginLoss
        raise ValueError(
            f"The 'loss' parameter of {user} must be one loss. {bases[0].__name__} replaces the "
            f"value_and_derivative of {bases[1].__name__}, but inherits its sums and derivatives: "
            "derive it from MarginLoss, and set those that hold for it."
        )
    return loss
