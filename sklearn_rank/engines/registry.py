"""The engines that are installed."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from sklearn_rank._core.imports import not_loaded
from sklearn_rank.engines._lightgbm import LightGBM
from sklearn_rank.engines._symmetric import Symmetric
from sklearn_rank.engines._xgboost import XGBoost
from sklearn_rank.engines.engine import Engine

ENGINES: dict[str, type[Engine]] = {
    "lightgbm": LightGBM,
    "xgboost": XGBoost,
    "symmetric": Symmetric,
}
"""The engines by name, in the order in which they are looked for."""

LIBRARIES = tuple(name for name, engine in ENGINES.items() if engine.needs_package)
"""The engines that are other libraries."""


@cache
def _loaded(name: str) -> tuple[Any, str]:
    """Return the module of an engine, or None and why it can't be used."""
    if not ENGINES[name].needs_package:
        return None, ""
    try:
        return importlib.import_module(name), ""
    except Exception as error:  # an absent system library may raise anything
        if isinstance(error, ModuleNotFoundError) and error.name == name:
            return None, f'{name} is not installed (pip install "sklearn-rank[{name}]")'
        return None, not_loaded(name, error)


def get_engine(name: str, owner: str, *, needs_library: bool = False) -> Engine:
    """Return an engine.

    Parameters
    ----------
    name : str
        Its name. "auto" is "symmetric" or, with `needs_library`, the first library that is
        installed; no other is imported.
    owner : str
        The ranker, for messages.
    needs_library : bool, default=False
        Whether "auto" must be another library.

    Raises
    ------
    ImportError
        If it can't be used; the message says how to install it.
    ValueError
        If there is no engine of that name.
    """
    if name not in ("auto", *ENGINES):
        names = ", ".join(map(repr, ("auto", *ENGINES)))
        raise ValueError(f"The engine of {owner} must be one of {names}. Got {name!r} instead.")
    reasons = []
    candidates = (name,) if name != "auto" else LIBRARIES if needs_library else ("symmetric",)
    for candidate in candidates:
        module, reason = _loaded(candidate)
        if not reason:
            return ENGINES[candidate](module)
        reasons.append(reason)
    message = f"engine={name!r} of {owner} can't be used: {'; '.join(reasons)}"
    raise ImportError(message, name=candidate)
