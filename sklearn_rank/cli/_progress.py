"""Progress bars, shown on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sklearn_rank.cli._errors import import_extra


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr while the block runs; yield the function that advances it.

    Without `total` the bar does not show how much is done.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    console = import_extra("rich.console").Console(stderr=True)
    # Transient: the bar disappears at the end.
    with import_extra("rich.progress").Progress(console=console, transient=True) as bar:
        task = bar.add_task(description, total=total)
        yield lambda: bar.advance(task)
