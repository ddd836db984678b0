"""Errors and notes on what the user passes, and optional packages."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn_rank._core import imports as _imports

_LONGEST = 1000
"""Characters of a message, most of which are names of the user's columns."""


class InputError(Exception):
    """Bad input. The message is the one line that the user sees."""


def import_extra(name: str, extra: str = "cli") -> Any:
    """Import a module of an extra; the error is one line."""
    return _imports.import_extra(name, extra, "This command", InputError)


def listing(names: Iterable[object], at_most: int = 20) -> str:
    """Join names for a message; after `at_most` only their number is given."""
    shown = [str(name) for name in names]
    more = len(shown) - at_most
    return ", ".join(shown[:at_most]) + (f", ... ({more} more)" if more > 0 else "")


def form_of(name: str) -> str:
    """Return a name without its spaces and capital letters."""
    return "".join(name.casefold().split())


def choices(what: str, name: str, names: Collection[str], at_most: int = 20) -> str:
    """Return a list of the names, after a question that suggests the one closest to `name`."""
    by_form = {form_of(other): other for other in names}
    close = difflib.get_close_matches(form_of(name), by_form, n=1)
    guess = f"did you mean {by_form[close[0]]!r}? " if close else ""
    return f"{guess}the {what} are {listing(names, at_most)}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2 rows."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def one_line(text: str) -> str:
    """Return a message as one printable line, since files may contain anything."""
    words = " ".join(text.split())
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST // 2]} ... {shown[-99:]}"


@contextmanager
def noting(
    notes: list[str], name: str = "", refused: tuple[type[Exception], ...] = (ValueError, TypeError)
) -> Iterator[None]:
    """Turn warnings into notes, and refused exceptions into an InputError with a name."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # LightGBM 4.6 gives names to the columns of arrays, and misses them when it predicts.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            yield
        except InputError:
            raise
        except refused as error:
            what = str(error)
            raise InputError(what if name in what else f"{name}: {what}") from error
    notes += dict.fromkeys(str(warning.message).partition("\n")[0] for warning in caught)
