"""Progress bars, shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn_rank.cli._errors import import_extra


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr while the block runs; yield the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    bar = import_extra("click").progressbar
    with bar(length=total or 1, label=description, file=sys.stderr) as shown:
        yield lambda: shown.update(1)
