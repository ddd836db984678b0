"""Files that may be compressed."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

_GZIP_MAGIC = b"\x1f\x8b"


@contextmanager
def open_binary(path: Path) -> Iterator[BinaryIO | gzip.GzipFile]:
    """Open for reading; the first bytes show whether the file is compressed."""
    with open(path, "rb") as file:
        if file.peek(2)[:2] != _GZIP_MAGIC:
            yield file
            return
        with gzip.open(file, "rb") as unpacked:
            yield unpacked
