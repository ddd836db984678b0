"""Sums over the pairs of one list by the array API standard, whose namespace is `xp`.

Rows of the upper level have weights `a` and rows of the lower level weights `b`; each is zero on
the rows of the other.

The logistic sums use the grid of `sklearn_rank._pair_sums._logistic`. The standard has no sums by
bin, so rows are sorted and the sum over an interval is the difference of two running sums. It
is wrong by rounding errors of the total weight. Running sums are of complex numbers a + ib: on a
GPU, PyTorch is slow along an axis of two rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.fft import next_fast_len

from sklearn_rank._core.protocols import Floats
from sklearn_rank._pair_sums._logistic._grid import even_rest, lagrange_basis, odd_rest
from sklearn_rank._pair_sums._logistic._logistic_sums import REACH

_STEP, _DEGREE = 1 / 8, 12  # an error below 1e-13 for each pair

_MOST_INTERVALS = 1 << 20

_LARGEST = 2.0**50
"""Largest score of which whole numbers can be taken away exactly."""


def _centred(xp: Any, f: Any) -> Any:
    """Return scores from about their median: outliers would move a mean."""
    return f - xp.sort(f)[f.shape[0] // 2]


def _exponential(xp: Any, f: Any, a: Any, b: Any) -> tuple[float, Any]:
    """Return the product of the sums of a exp(-f) and of b exp(f), in logarithms."""

    def log_sum(terms: Any) -> Any:
        most = xp.max(terms)
        return most + xp.log(xp.sum(xp.exp(terms - most)))

    f = _centred(xp, f)
    up, down = xp.log(a) - f, xp.log(b) + f
    above, below = log_sum(up), log_sum(down)
    return float(xp.exp(above + below)), xp.exp(down + above) - xp.exp(up + below)


def _least_squares(xp: Any, f: Any, a: Any, b: Any) -> tuple[float, Any]:
    """Return the sums by moments: 1 - (f_i - f_k) is the upper residual plus the lower score."""
    f = _centred(xp, f)
    residual, above, below = 1.0 - f, xp.sum(a), xp.sum(b)
    upper, lower = xp.sum(a * residual) / above, xp.sum(b * f) / below
    value = above * below * (upper + lower) ** 2
    value += below * xp.sum(a * (residual - upper) ** 2) + above * xp.sum(b * (f - lower) ** 2)
    return float(value), 2.0 * (above * b * (upper + f) - below * a * (residual + lower))


def _logistic(xp: Any, f: Any, a: Any, b: Any) -> tuple[float, Any]:
    """Return the sums by a grid, as `sklearn_rank._pair_sums._logistic` describes."""
    order = xp.argsort(f)
    sides = xp.take(xp.astype(a, xp.complex128) + 1j * xp.astype(b, xp.complex128), order)
    position, value = _on_grid(xp, xp.take(f, order), sides)
    interval = xp.astype(xp.floor(position), xp.int64)
    place, size = position - xp.floor(position) - 0.5, int(interval[-1]) + 1
    nodes = _to_nodes(xp, position, place, sides, size)
    running = xp.cumulative_sum(nodes, axis=1)
    sums = running - nodes / 2 + _convolved(xp, nodes, odd_rest)  # of sigmoids, as step and rest
    ramp = xp.cumulative_sum(running[0, :], include_initial=True)[:-1]
    heights = _STEP * ramp + _convolved(xp, nodes[:1, :], even_rest)[0, :]
    # An upper row's sum is over the lower rows above it, those that `sums` does not count.
    slopes = xp.stack([sums[0, :], sums[1, :] - running[1, -1]])
    is_upper = xp.astype(xp.real(sides) > 0.0, xp.int64)
    gradient = _interpolated(xp, slopes, interval + size * is_upper, place, size)
    sign = xp.astype(1 - 2 * is_upper, xp.float64)
    gradient = sign * xp.clip(sign * gradient, min=0.0) * (xp.real(sides) + xp.imag(sides))
    value = max(value + float(xp.sum(nodes[1, :] * heights)), 0.0)  # rounding, if all is in order
    return value, xp.take(gradient, xp.argsort(order))


def _on_grid(xp: Any, x: Any, sides: Any) -> tuple[Any, float]:
    """Return positions of sorted rows, in intervals, and what shortened gaps take from the value.

    A gap is shortened by whole numbers, which rounds nothing, to no less than `REACH`. A pair
    across it that is out of order loses exactly this length.
    """
    excess = xp.floor(xp.clip(x[1:] - x[:-1] - REACH, min=0.0))
    shift = xp.floor(x[0]) + xp.cumulative_sum(excess, include_initial=True)
    position = (x - shift) / _STEP
    if not (max(-float(x[0]), float(x[-1])) <= _LARGEST and float(position[-1]) < _MOST_INTERVALS):
        raise ValueError(
            f"The logistic loss of an array that is not of NumPy needs scores of at most "
            f"{_LARGEST:g} that span at most {_MOST_INTERVALS * _STEP:g}, where a stretch without "
            f"rows counts at most {REACH + 1:g}. Got scores from {float(x[0]):g} to "
            f"{float(x[-1]):g}: scale them down, or pass a NumPy array."
        )
    below = xp.cumulative_sum(sides)
    across = xp.real(below[:-1]) * xp.imag(below[-1] - below[:-1])
    return position, float(xp.sum(excess * across))


def _to_nodes(xp: Any, position: Any, place: Any, sides: Any, size: int) -> Any:
    """Return weights of the nodes that stand for those of the rows, of both sides."""
    edges = xp.arange(size + 1, dtype=xp.float64, device=place.device)
    bounds, moments = xp.searchsorted(position, edges), []
    for _ in range(_DEGREE):
        at = xp.take(xp.cumulative_sum(sides, include_initial=True), bounds)
        moments.append(at[1:] - at[:-1])
        sides = sides * place
    both = xp.concat([part(xp.stack(moments)) for part in (xp.real, xp.imag)], axis=1)
    basis = xp.asarray(lagrange_basis(_DEGREE).T.copy(), device=place.device)
    by_node = xp.reshape(xp.matmul(basis, both), (_DEGREE, 2, size))
    none = xp.zeros((2, _DEGREE - 1), dtype=xp.float64, device=place.device)
    shifted = (
        xp.concat([none[:, :s], by_node[s, ...], none[:, s:]], axis=1) for s in range(_DEGREE)
    )
    return sum(shifted)


def _interpolated(xp: Any, nodal: Any, column: Any, place: Any, size: int) -> Any:
    """Return polynomials at places; `column` counts the intervals of one side, then the other."""
    windows = xp.stack([nodal[:, s : s + size] for s in range(_DEGREE)])
    basis = xp.asarray(lagrange_basis(_DEGREE).copy(), device=place.device)
    coefficient = xp.matmul(basis, xp.reshape(windows, (_DEGREE, 2 * size)))
    value = xp.zeros_like(place)
    for power in reversed(range(_DEGREE)):
        value = value * place + xp.take(coefficient[power, :], column)
    return value


def _convolved(xp: Any, nodal: Any, rest: Callable[[Floats], Floats]) -> Any:
    """Return, at each node, the sum of the weights of all nodes times the rest of a kernel."""
    reach, n_nodes = int(REACH / _STEP), nodal.shape[1]
    kernel = xp.asarray(rest(_STEP * np.arange(-reach, reach + 1)), device=nodal.device)
    size = next_fast_len(n_nodes + 2 * reach, real=True)
    product = xp.fft.rfft(nodal, n=size) * xp.fft.rfft(kernel, n=size)
    return xp.fft.irfft(product, n=size)[:, reach : reach + n_nodes]


LIBRARY_SUMS: dict[str, Callable[[Any, Any, Any, Any], tuple[float, Any]]] = {
    "exponential": _exponential,
    "least_squares": _least_squares,
    "logistic": _logistic,
}
