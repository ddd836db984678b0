"""Types of arrays, and blocks of their rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint64]
Values = NDArray[Any]
"""Values of any type; those of a weak ranker h are a mask when h is 0/1, else floats."""


SMALL_BLOCK = 15_000
"""Rows handled at a time where an array of a float a row should need no new pages of memory."""

_BLOCK = 1 << 15
"""Rows handled at a time elsewhere: their numbers stay in the second-level cache."""


def blocks(stop: int, size: int = 0, start: int = 0) -> Iterator[slice]:
    """Yield slices of the rows from `start` to before `stop`; of a process without rows none.

    `size` is the maximum of their lengths; 0: as many rows as stay in the cache.
    """
    size = size or _BLOCK
    for first in range(start, stop, size):  # gen_batches checks its parameters: a tenth of a ms
        yield slice(first, min(first + size, stop))
