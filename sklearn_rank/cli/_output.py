"""What commands write: files, tables and progress bars on the terminal."""

from __future__ import annotations

import json
import os
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from sklearn_rank.cli._tables.inputs import InputError, import_extra, one_line


@dataclass(frozen=True)
class Output:
    """A file to write; the name was checked."""

    path: Path
    force: bool = False

    def __str__(self) -> str:
        return str(self.path)

    @contextmanager
    def writing(self) -> Iterator[Path]:
        """Yield a temporary path, renamed to the output's when the block succeeds."""
        # The suffixes are kept: the writers choose format and compression by them. The name is
        # known before the file exists, so that Ctrl-C at any moment leaves nothing.
        name = f".{self.path.stem}.{os.urandom(8).hex()}{''.join(self.path.suffixes)}"
        temporary = self.path.with_name(name)
        try:
            temporary.touch(exist_ok=False)
            yield temporary
            if self.path.exists() and not self.force:
                raise InputError(f"{self}: was created in the meantime; --force overwrites it")
            temporary.replace(self.path)
        finally:
            temporary.unlink(missing_ok=True)


def checked_output(
    name: str | None, suffixes: Iterable[str], inputs: Iterable[str], *, force: bool
) -> Output | None:
    """Return an output, or None for the terminal; raise InputError if it cannot be written."""
    if name is None or (name == "-" and "-" in suffixes):
        return None
    path, ends = Path(name), tuple(end for end in suffixes if end != "-")
    is_input = path.exists() and any(map(path.samefile, inputs))
    faults = {
        f"the output file name must end in {' or '.join(ends)}": not name.lower().endswith(ends),
        "is a folder": path.is_dir(),
        f"there is no folder {path.parent}": not path.parent.is_dir(),
        "is an input of this command and will not be overwritten": is_input,
        "exists; add --force to overwrite it": path.exists() and not force,
    }
    for fault, is_there in faults.items():
        if is_there:
            raise InputError(f"{path}: {fault}")
    return Output(path, force)


def write_json(output: Output, content: dict[str, Any]) -> None:
    """Write results as JSON; undefined metrics become null."""
    with output.writing() as temporary:
        plain = json.loads(json.dumps(content), parse_constant=lambda _: None)
        text = json.dumps(plain, indent=2, ensure_ascii=False)
        temporary.write_text(text + "\n", encoding="utf-8")


def write_content(content: str | bytes, output: Output | None) -> None:
    """Write an export, to the terminal if there is no output."""
    if output is None:
        print(content)
        return
    with output.writing() as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    print(f"{output}: written")


def print_table(
    title: str, columns: Mapping[str, Mapping[str, str]], about: str, sentence: str = ""
) -> None:
    """Print a title and a sentence; then, if there are columns, their cells and footnotes."""
    width = min(shutil.get_terminal_size().columns, 120)
    click.secho(textwrap.fill(title, width), bold=True)
    if sentence:
        click.echo(textwrap.fill(sentence, width))
    if columns:
        cells = import_extra("pandas").DataFrame(columns).to_string(line_width=width)
        click.echo(f"\n{cells}\n")
        click.secho(textwrap.fill(about, width), dim=True)


def show_notes(notes: Iterable[str]) -> None:
    """Print notes to stderr; on success only, since an error is a single line."""
    for note in dict.fromkeys(notes):
        click.echo(f"note: {one_line(note)}", err=True)
