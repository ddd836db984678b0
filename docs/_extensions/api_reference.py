"""Sphinx extension: the reference is made from each module's `__all__`, and checked on the way.

Before anything is read it writes one page for each public module below ``docs/api`` and refuses
to go on when the docstring of a public name is not complete: `docstring_checks` has the rules.
While docstrings are read, a bare key of the bibliography ("Rudin2009, sec. 2") becomes a citation
and a public name in single backticks a link; in a terminal both read well as they stand.
"""

import importlib
import inspect
from pathlib import Path
from typing import Any

from docstring_checks import MODULES, bibliography_keys, constant_docstring, gaps, has_docstring
from docstring_links import linked
from pybtex.plugin import register_plugin
from pybtex.style.formatting.plain import Style as PlainStyle
from pybtex.style.labels import BaseLabelStyle
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def write_pages(folder: Path, keys: set[str]) -> None:
    """Write a page for each module, and an index, with a line and a link for each name."""
    folder.mkdir(exist_ok=True)
    index = ["Reference", "=========", ""]
    for module, title in MODULES.items():
        imported = importlib.import_module(module)
        functions = [n for n in imported.__all__ if has_docstring(getattr(imported, n))]
        constants = [n for n in imported.__all__ if n not in functions]
        summary = linked((inspect.getdoc(imported) or "").splitlines(), keys)
        lines = [title, "=" * len(title), "", f".. module:: {module}", "", *summary, ""]
        lines += _table(module, functions, "   :toctree: generated")
        for name in constants:
            text = linked(constant_docstring(name).splitlines(), keys)
            lines += [f".. data:: {name}", "", *(f"   {line}" for line in text), ""]
        _write(folder / f"{_page(module)}.rst", lines)
        index += [f":doc:`{title} <{_page(module)}>`", "-" * (len(title) + 30), ""]
        index += _table(module, functions)
    index += [".. toctree::", "   :hidden:", "", *(f"   {_page(module)}" for module in MODULES), ""]
    _write(folder / "index.rst", index)


def _table(module: str, names: list[str], *options: str) -> list[str]:
    """Return a table of names with the first line of their docstrings."""
    lines = [f".. currentmodule:: {module}", "", ".. autosummary::", *options, "   :nosignatures:"]
    return [*lines, "", *(f"   {name}" for name in names), ""]


def _page(module: str) -> str:
    return "rankers" if module == "sklearn_rank" else module.rpartition(".")[2]


def _write(page: Path, lines: list[str]) -> None:
    """Write a page unless it is there already: Sphinx reads what is new."""
    text = "\n".join(lines)
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def prepare(app: Sphinx, config: Any) -> None:
    """Check all docstrings, then write the pages of the reference."""
    keys = bibliography_keys(Path(app.srcdir) / "references.bib")
    missing = gaps(keys)
    if missing:
        raise ExtensionError("The reference is not complete:\n  " + "\n  ".join(missing))
    write_pages(Path(app.srcdir) / "api", keys)


def link(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Edit the lines of a docstring in place, as Sphinx wants it."""
    del what, name, thing, options
    lines[:] = linked(lines, bibliography_keys(Path(app.srcdir) / "references.bib"))


class KeyLabels(BaseLabelStyle):
    """Label each entry of the bibliography by the key that docstrings cite."""

    def format_labels(self, sorted_entries: list[Any]) -> list[str]:
        """Return the labels."""
        return [entry.key for entry in sorted_entries]


class KeyStyle(PlainStyle):
    """The plain style, with keys instead of numbers."""

    default_label_style = KeyLabels


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the extension."""
    register_plugin("pybtex.style.formatting", "keys", KeyStyle)
    app.connect("config-inited", prepare)  # before Sphinx looks for pages
    app.connect("autodoc-process-docstring", link, priority=600)  # after numpydoc
    return {"parallel_read_safe": True}
