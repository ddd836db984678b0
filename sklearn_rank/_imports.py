"""Packages of an extra, imported where they are needed."""

from __future__ import annotations

import importlib
from typing import Any


def import_extra(module: str, extra: str, owner: str, kind: type[Exception] = ImportError) -> Any:
    """Import a module; without its package the error, of class `kind`, names the extra."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A module that the package itself does not find is another error.
        if error.name is None or error.name.partition(".")[0] not in (package, extra):
            raise
        raise kind(
            f'{owner} needs {package}. pip install "sklearn-rank[{extra}]" brings it.'
        ) from error
