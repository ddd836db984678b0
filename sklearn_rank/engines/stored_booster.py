"""Trees that are stored with the engine that grew them."""

from __future__ import annotations

from typing import Any

from sklearn_rank.engines.engine import Engine
from sklearn_rank.engines.registry import get_engine


class StoredBooster:
    """Trees in the engine's format; the booster is loaded when it is needed.

    Copies and pickles hold bytes only.

    Parameters
    ----------
    engine : str
        Name of the engine.
    stored : bytes
        The trees as `Engine.to_bytes` returns them.
    """

    def __init__(self, engine: str, stored: bytes) -> None:
        self.engine, self.stored = engine, stored

    def loaded(self, n_threads: int) -> tuple[Engine, Any]:
        """Return the engine and a booster that scores with a given number of threads.

        There is one booster for each number of threads: to change the number while another thread
        scores would not be safe.
        """
        loaded: dict[int, tuple[Engine, Any]] = vars(self).setdefault("_loaded", {})
        if n_threads not in loaded:
            engine = get_engine(self.engine, "a fitted BoostedTreesRanker")
            loaded[n_threads] = engine, engine.from_bytes(self.stored, n_threads)
        return loaded[n_threads]

    def __getstate__(self) -> dict[str, Any]:
        """Return the name and the bytes."""
        return {"engine": self.engine, "stored": self.stored}
