"""How a table is read, the roles of its columns, and the folds of its rows: options by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Reading:
    """How the text of a file is read."""

    decimal: str | None = None
    sep: str | None = None
    encoding: str | None = None
    no_header: bool = False
    missing: Sequence[str] = ()
    skip_unlabelled: bool = False


@dataclass(frozen=True)
class TableOptions:
    """A table to learn from, and the roles of its columns."""

    data: str | None = None
    target: str | None = None
    qid: str | None = None
    weight: str | None = None
    positive: str | None = None
    relevance: str = "binary"
    drop: Sequence[str] = ()
    keep: Sequence[str] = ()
    category: Sequence[str] = ()
    time: str | None = None
    embargo: float = 0.0
    group: str | None = None
    reading: Reading = Reading()
    seed: int = 0


@dataclass(frozen=True)
class Folds:
    """What is compared, and how."""

    rankers: Sequence[str] = ()
    param: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, list[Any]] = field(default_factory=dict)
    cv: int = 5
    n_jobs: int = 1
