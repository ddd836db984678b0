"""What commands write: files, tables and progress bars on the terminal."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import click
import pandas as pd

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
    # The suffixes are kept: the writers choose format and compression by them. The name is known
    # before the file exists, so that Ctrl-C at any moment leaves nothing.
    name = f".{path.stem}.{token_hex(8)}{''.join(path.suffixes)}"
    temporary = path.with_name(name)
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if path.exists() and not force:
            raise InputError(f"{path}: has come into being meanwhile; add --force to overwrite it")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, content: dict[str, Any], *, force: bool) -> None:
    """Write results as JSON; undefined metrics become null."""
    with write_atomically(path, force=force) as temporary:
        text = json.dumps(_without_nan(content), indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def _without_nan(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def print_table(
    title: str, columns: Mapping[str, Mapping[str, str]], about: str, sentence: str = ""
) -> None:
    """Print cells by column and row, between a title, a sentence and footnotes."""
    width = min(shutil.get_terminal_size().columns, 120)
    click.secho(textwrap.fill(title, width), bold=True)
    if sentence:
        click.echo(textwrap.fill(sentence, width))
    click.echo(f"\n{pd.DataFrame(columns).to_string(line_width=width)}\n")
    click.secho(textwrap.fill(about, width), dim=True)


@contextmanager
def progress(description: str, total: int | None = None) -> Iterator[Callable[[], None]]:
    """Show a bar on stderr, if it is a terminal; yield the function that advances it."""
    if not sys.stderr.isatty():
        yield lambda: None
        return
    with click.progressbar(length=total or 1, label=description, file=sys.stderr) as shown:
        yield lambda: shown.update(1)
