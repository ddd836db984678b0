"""What cards ask of weights and of two classes, besides what rankers ask."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from sklearn_rank._core.protocols import Floats

_WIDEST_WEIGHTS = 1e100


def check_weight_range(owner: str, weight: Floats, name: str = "sample_weight") -> None:
    """Raise ValueError for positive weights whose sums or products leave the lightest unseen."""
    light, heavy = float(weight[weight > 0].min()), float(weight.max())
    if heavy / _WIDEST_WEIGHTS > light:
        raise ValueError(
            f"{name} of {owner} must be 0 or within a factor of {_WIDEST_WEIGHTS:g}: shares of "
            f"the rows are computed from it. Got weights from {light:g} to {heavy:g}."
        )


@contextmanager
def order_is_known() -> Iterator[None]:
    """Fit rankers without the warning of `warn_of_order`, which the caller has given."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"\w+ ranks .* the one that sorts last belongs")
        yield
