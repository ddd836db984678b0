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


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield slices of at most so many rows; of a process without rows, which may be, none."""
    for start in range(0, n_rows, size):  # gen_batches checks its parameters: a tenth of a ms
        yield slice(start, min(start + size, n_rows))
