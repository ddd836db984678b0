"""Checks of output paths, and atomic writing."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sklearn_rank.cli._errors import InputError


def optional_output(name: str | None, suffixes: tuple[str, ...], options: Any) -> Path | None:
    """Return the path of an output; InputError if it can't or mustn't be written."""
    if name is None:
        return None
    path = Path(name)
    if not path.name.lower().endswith(suffixes):
        raise InputError(f"{path}: the name of this output must end in {' or '.join(suffixes)}")
    if path.is_dir():
        raise InputError(f"{path}: is a folder")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    if path.exists():
        inputs = (getattr(options, key, None) for key in ("data", "model", "validation", "card"))
        if any(one and os.path.exists(one) and path.samefile(one) for one in inputs):
            raise InputError(f"{path}: is an input of this command and will not be overwritten")
        if not options.force:
            raise InputError(f"{path}: exists; add --force to overwrite it")
    return path


@contextmanager
def write_atomically(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a temporary path, renamed to `path` when the block succeeds."""
    # The suffixes are kept: the writers choose format and compression by them.
    descriptor, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem}.", suffix="".join(path.suffixes)
    )
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        # Files of mkstemp are readable by their owner only; a result has the usual permissions.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        if path.exists() and not force:
            raise InputError(f"{path}: has come into being meanwhile; add --force to overwrite it")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
