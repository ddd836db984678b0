"""Types of arrays and of other values, and blocks of rows.

`Any` is used here alone, each time under a name that says what it holds, with the reason why
no narrower type will do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32 | np.float64]
Indices = NDArray[np.intp | np.int16 | np.uint8 | np.uint16 | np.uint32]
Mask = NDArray[np.bool_]
Codes = NDArray[np.uint64]
Values = NDArray[Any]  # type: ignore[explicit-any]
"""Values of any type; those of a weak ranker h are a mask when h is 0/1, else floats.

`Any`: elements of type `np.generic` have neither arithmetic nor an order.
"""

Numbers = Any  # type: ignore[explicit-any]
"""A float or an array of floats; a function of it returns the same kind.

`Any`: NumPy's functions do not tell type checkers that they keep the kind.
"""

Matrix = Any  # type: ignore[explicit-any]
"""Checked features: an array, SciPy's sparse matrix, or rows that are read where they lie.

`Any`: SciPy has no types, and the three share no base class.
"""

Table = Any  # type: ignore[explicit-any]
"""What a user passes as an array: a list, an array, a sparse matrix, a data frame, a column.

`Any`: data frames of several libraries, none of which is required, share no base class.
"""

Ability = Any  # type: ignore[explicit-any]
"""A part, or its method, that its protocol does not promise: see `require`.

`Any`: the name of the method, and so its type, is known at run time only.
"""

Estimator = Any  # type: ignore[explicit-any]
"""An estimator of this package or of another.

`Any`: scikit-learn's base classes have no types, and callers use attributes of subclasses.
"""

Function = Callable[..., Any]  # type: ignore[explicit-any]
"""A function of any arguments.

`Any`: a solver passes functions on whose results differ with the objective.
"""

Setting = Any  # type: ignore[explicit-any]
"""A parameter, a fitted attribute or another value that is only passed on.

`Any`: its type is checked at run time, by `check_parameters`, and not by type checkers.
"""

SMALL_BLOCK = 15_000
"""Rows handled at a time where an array of a float a row should need no new pages of memory."""

_BLOCK = 1 << 15
"""Rows handled at a time elsewhere: their numbers stay in the second-level cache."""


def blocks(stop: int, size: int = 0, start: int = 0) -> Iterator[slice[int, int, None]]:
    """Yield slices of the rows from `start` to before `stop`; of a process without rows none.

    `size` is the maximum of their lengths; 0: as many rows as stay in the cache.
    """
    size = size or _BLOCK
    for first in range(start, stop, size):  # gen_batches checks its parameters: a tenth of a ms
        yield slice(first, min(first + size, stop))


def require(part: object, name: str, user: str) -> Ability:
    """Return a method of a part; raise ValueError if it is missing."""
    method = getattr(part, name, None)
    if method is None:
        raise ValueError(f"{user} needs {name}, which {type(part).__name__} lacks.")
    return method


def are_dates(values: Values) -> bool:
    """Return whether three numbers or more are all dates by their digits: 20240131 or 202401."""
    days = np.unique(values)
    if len(days) < 3 or days[0] < 190_001:
        return False
    days = days if days[0] > 1e7 else 100 * days + 1
    month, day = days // 100 % 100, days % 100
    is_date = (days < 2.2e7) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)
    return bool(is_date.all() and days[0] > 1.9e7)
