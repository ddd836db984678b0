"""What the benchmarks compare: our rankers and what a user would pick instead, in one form.

A system knows how to build its estimator for given parameters and threads, and how to hand it
queries. Its packages are imported only when it is built.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any

Build = Callable[..., Any]
"""Maps ``n_threads`` and keyword parameters to an estimator that is not fitted."""


def build(module: str, name: str, threads: str | None, **fixed: Any) -> Build:
    """Return what builds an estimator of a module; `threads` is its parameter for their number."""

    def built(n_threads: int, **given: Any) -> Any:
        more = {threads: n_threads} if threads else {}
        return getattr(import_module(module), name)(**{**fixed, **more, **given})

    return built


def by_qid(qid: Any) -> dict[str, Any]:
    """Hand over query ids."""
    return {"qid": qid}


def by_qid_alike(qid: Any) -> dict[str, Any]:
    """Hand over query ids, and weights that make every query count about the same.

    A pair weighs the product of its rows' weights, and a query has about as many pairs as the
    square of its rows.
    """
    import numpy as np

    _, query, n_rows = np.unique(qid, return_inverse=True, return_counts=True)
    return {"qid": qid, "sample_weight": n_rows.mean() / n_rows[query]}


def by_group_sizes(qid: Any) -> dict[str, Any]:
    """Hand over the number of rows of each query, one after the other."""
    import numpy as np

    starts = np.flatnonzero(np.concatenate([[True], qid[1:] != qid[:-1]]))
    return {"group": np.diff(starts, append=len(qid))}


def by_group_id(qid: Any) -> dict[str, Any]:
    """Hand over query ids under CatBoost's name."""
    return {"group_id": qid}


def no_queries(qid: Any) -> dict[str, Any]:
    """Hand over nothing: a model that scores each row for itself."""
    del qid
    return {}


def scores_of(model: Any, X: Any, rounds: int | None = None) -> Any:
    """Return the scores of any model, before any link; of its first rounds if so many are given."""
    kind = type(model).__name__
    engine = getattr(model, "engine_", None) if rounds else None
    if engine is not None:  # the stages of our boosted trees are in the model of the engine
        model = model.booster_
    if engine == "xgboost":
        return model.inplace_predict(X, predict_type="margin", iteration_range=(0, rounds))
    if kind.startswith("XGB"):
        return model.predict(X, output_margin=True, iteration_range=rounds and (0, rounds))
    if kind.startswith("LGBM") or engine == "lightgbm":
        return model.predict(X, raw_score=True, num_iteration=rounds)
    if kind.startswith("CatBoost"):
        raw = {"prediction_type": "RawFormulaVal"} if kind == "CatBoostClassifier" else {}
        return model.predict(X, ntree_end=rounds or 0, **raw)
    method = "decision_function" if hasattr(model, "decision_function") else "predict"
    if not rounds:
        return getattr(model, method)(X)
    # A fit that ended early has the scores of its last round from there on.
    *_, last = islice(getattr(model, f"staged_{method}")(X), rounds)
    return last.ravel()


@dataclass(frozen=True)
class System:
    """One estimator to compare.

    Attributes
    ----------
    build : callable
        Maps ``n_threads`` and keyword parameters to an estimator.
    queries : callable
        Maps query ids of sorted rows to the keywords of ``fit``.
    grid : mapping
        Values to search for each parameter.
    label : str
        What tables call it.
    module : str
        The package it needs.
    binary_labels : bool
        Whether it takes two classes only: graded relevance is cut at "above the lowest".
    rounds : sequence of int
        Numbers of rounds after which one fit is judged; empty where it is judged once.
    rounds_name : str
        The parameter that holds their number.
    """

    build: Build
    queries: Callable[[Any], dict[str, Any]] = no_queries
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    label: str = ""
    module: str = "sklearn_rank"
    binary_labels: bool = False
    rounds: Sequence[int] = ()
    rounds_name: str = "n_estimators"

    @property
    def ours(self) -> bool:
        """Whether it is one of this package."""
        return self.module == "sklearn_rank"
