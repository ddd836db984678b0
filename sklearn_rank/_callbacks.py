from __future__ import annotations

from typing import Any


def make_observer(
    ranker: Any, *, unit: str, total: int, reconstruct: Any = None, name_total: bool = True
) -> Any:
    def observe(number: int, objective: float, validation: float | None = None) -> bool:
        every = 1 if ranker.verbose > 1 else max(1, total // 10)
        if ranker.verbose and (number % every == 0 or number == 1):
            of = f"/{total}" if name_total else ""
            print(f"[{type(ranker).__name__}] {unit} {number}{of}: objective {objective:.6g}")
        return False

    return observe
