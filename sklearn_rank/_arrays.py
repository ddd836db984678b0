"""Types of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.integer[Any]]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint64]
Values = NDArray[Any]
"""Values of any type; those of a weak ranker h are a mask when h is 0/1, else floats."""
