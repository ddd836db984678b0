"""The engines that are installed, and models that are stored with one of them."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from sklearn_rank.engines._engine import Engine
from sklearn_rank.engines._lightgbm import LightGBM
from sklearn_rank.engines._xgboost import XGBoost

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
        text = str(error).strip().partition("\n")[0] or type(error).__name__
        hint = " (on Debian and Ubuntu: apt install libgomp1)" if "libgomp" in str(error) else ""
        return None, f"{name} is installed but can't be loaded: {text}{hint}"


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
    raise ImportError(f"engine={name!r} of {owner} can't be used: {'; '.join(reasons)}")


class StoredBooster:
    """The trees as the engine stores them; the engine's own object is made when it is needed.

    Copies and pickles hold bytes only.

    Parameters
    ----------
    engine : str
        Name of the engine.
    stored : bytes
        What `Engine.to_bytes` returns.
    """

    def __init__(self, engine: str, stored: bytes) -> None:
        self.engine, self.stored = engine, stored

    def loaded(self, n_threads: int) -> tuple[Engine, Any]:
        """Return the engine, and its booster that scores with some threads.

        One booster for each number of threads: changing it while another thread scores
        would not be safe.
        """
        known: dict[int, tuple[Engine, Any]] = vars(self).setdefault("_loaded", {})
        if n_threads not in known:
            engine = get_engine(self.engine, "a fitted BoostedTreesRanker")
            known[n_threads] = engine, engine.from_bytes(self.stored, n_threads)
        return known[n_threads]

    def __getstate__(self) -> dict[str, Any]:
        """Return the name and the bytes."""
        return {"engine": self.engine, "stored": self.stored}
