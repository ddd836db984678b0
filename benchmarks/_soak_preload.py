"""What `soak.py` loads into the scheduler and the workers, and asks of them.

Dask counts the seconds and bytes of every computation by itself, and keeps the counts as long as
the process lives: without `dask_setup`, they would hide what a fit leaves behind.
"""

import ctypes
import sys
from typing import Any

FIELDS = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"


class Mallinfo2(ctypes.Structure):
    """What glibc's ``mallinfo2`` returns."""

    _fields_ = [(name, ctypes.c_size_t) for name in FIELDS.split()]


def dask_setup(server: Any) -> None:
    """Take the extension away that tells computations apart."""
    server.extensions.pop("spans", None)


def in_use() -> tuple[float, float]:
    """Return the megabytes of glibc's blocks in use, and thousands of Python's own blocks.

    Unlike resident memory they do not count what is free, which the allocator keeps. Dask keeps the
    short names of the last 100,000 tasks: they are dropped before, so that what a fit leaves behind
    is told from them.
    """
    from dask.utils import key_split

    key_split.cache_clear()
    function = ctypes.CDLL(None).mallinfo2
    function.restype = Mallinfo2
    found = function()
    return (found.uordblks + found.hblkhd) / 1e6, sys.getallocatedblocks() / 1e3
