"""Packages of an extra, imported where they are needed."""

from __future__ import annotations

import importlib
from types import ModuleType


def import_extra(
    name: str, extra: str, owner: str, kind: type[Exception] = ImportError
) -> ModuleType:
    """Import a module; the error, of class `kind`, names the package to install."""
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # A package that is there but lacks one of its own modules raises that error.
        if error.name is None or error.name.partition(".")[0] not in (package, extra):
            raise
        raise kind(
            f'{owner} requires {package}. Install it with: pip install "sklearn-rank[{extra}]"'
        ) from error
    except OSError as error:  # of ctypes, for a shared library that no wheel brings
        raise kind(f"{owner} requires {package}: {not_loaded(package, error)}") from error


def not_loaded(package: str, error: Exception) -> str:
    """Return why an installed package cannot be loaded, and which system package is missing."""
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    hint = " (on Debian and Ubuntu: apt install libgomp1)" if "libgomp" in str(error) else ""
    return f"{package} is installed but can't be loaded: {text}{hint}"
