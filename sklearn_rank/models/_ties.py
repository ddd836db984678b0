"""One rule for weak rankers that are equally good."""

from __future__ import annotations

from sklearn_rank._protocols import Floats

TIE_TOLERANCE = 1e-10
"""Gains that differ by less, relatively, are tied: rounding must not choose."""


ROUNDING = 1e-13
"""An edge this small, relative to the gradient and to h, may be rounding error alone."""


def first_largest(gains: Floats) -> int:
    """Return the first index whose gain is the largest, up to rounding."""
    largest = float(gains.max())
    return int((gains >= largest - TIE_TOLERANCE * abs(largest)).argmax())


def first_positive(gains: Floats) -> int | None:
    """Return the first index whose gain is the largest; None when none is positive."""
    largest = float(gains.max(initial=0.0))
    return int((gains >= largest - TIE_TOLERANCE * largest).argmax()) if largest > 0 else None
