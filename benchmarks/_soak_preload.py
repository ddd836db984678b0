"""What Dask loads into the scheduler and the workers of `soak.py`.

Dask counts the seconds and bytes of every computation by itself, and keeps the counts as long as
the process lives: without this, they would hide what a fit leaves behind.
"""

from typing import Any


def dask_setup(server: Any) -> None:
    """Take the extension away that tells computations apart."""
    server.extensions.pop("spans", None)
