"""Errors of the user's input, and imports of optional packages."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from sklearn_rank._core import imports as _imports


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


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2 rows."""
    plural = noun.removesuffix("y") + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"


def with_name(name: str, message: str) -> str:
    """Prefix a message with a name that it does not contain."""
    return message if name in message else f"{name}: {message}"


@contextmanager
def noting(
    notes: list[str], name: str = "", refused: tuple[type[Exception], ...] = (ValueError, TypeError)
) -> Iterator[None]:
    """Make notes of warnings, and an InputError, with a name, of what is refused."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except InputError:
            raise
        except refused as error:
            raise InputError(with_name(name, str(error))) from error
    notes += dict.fromkeys(str(one.message).partition("\n")[0] for one in caught)
