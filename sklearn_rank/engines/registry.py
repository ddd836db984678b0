"""The engines that are installed."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from sklearn_rank._core.imports import not_loaded
from sklearn_rank.engines._lightgbm import LightGBM
from sklearn_rank.engines._xgboost import XGBoost
from sklearn_rank.engines.engine import Engine

ENGINES: dict[str, type[Engine]] = {"lightgbm": LightGBM, "xgboost": XGBoost}
"""The engines by name, in the order in which they are looked for."""


@cache
def _loaded(name: str) -> tuple[Any, str]:
    """Return the module of an engine, or None and why it can't be used."""
    try:
        return importlib.import_module(name), ""
    except Exception as error:  # a library that the wheel doesn't bring can show in any way
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            return None, f'{name} is not installed (pip install "sklearn-rank[{name}]")'
        return None, not_loaded(name, error)


def get_engine(name: str, owner: str) -> Engine:
    """Return an engine; "auto" is the first that can be used, and no other is imported.

    Raises
    ------
    ImportError
        When it can't be used; the message says how to install it.
    ValueError
        When there is no engine of that name.
    """
    if name not in ("auto", *ENGINES):
        known = ", ".join(map(repr, ("auto", *ENGINES)))
        raise ValueError(f"The engine of {owner} must be one of {known}. Got {name!r} instead.")
    reasons = []
    for candidate in ENGINES if name == "auto" else (name,):
        module, reason = _loaded(candidate)
        if module is not None:
            return ENGINES[candidate](module)
        reasons.append(reason)
    why = f"engine={name!r} of {owner} can't be used: {'; '.join(reasons)}"
    raise ImportError(why, name=candidate)
