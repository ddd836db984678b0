"""What the benchmarks compare: our rankers and what a user would pick instead, in one form.

A system knows how to build its estimator for given parameters and threads, how to hand it queries,
and which of its methods gives scores. Its packages are imported only when it is built.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
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


def decision(model: Any, X: Any) -> Any:
    """Return the scores of scikit-learn's classifiers and of ours."""
    return model.decision_function(X)


def prediction(model: Any, X: Any) -> Any:
    """Return the scores of rankers that predict them."""
    return model.predict(X)


def xgboost_margin(model: Any, X: Any) -> Any:
    """Return XGBoost's scores before any link."""
    return model.predict(X, output_margin=True)


def lightgbm_raw(model: Any, X: Any) -> Any:
    """Return LightGBM's scores before any link."""
    return model.predict(X, raw_score=True)


@dataclass(frozen=True)
class System:
    """One estimator to compare.

    Attributes
    ----------
    label : str
        What tables call it.
    module : str
        The package it needs.
    build : callable
        Maps ``n_threads`` and keyword parameters to an estimator.
    scores : callable
        Maps the fitted estimator and features to scores.
    queries : callable
        Maps query ids of sorted rows to the keywords of ``fit``.
    grid : mapping
        Values to search for each parameter.
    ours : bool
        Whether it is one of this package.
    binary_labels : bool
        Whether it takes two classes only: graded relevance is cut at "above the lowest".
    """

    label: str
    module: str
    build: Build
    scores: Callable[[Any, Any], Any]
    queries: Callable[[Any], dict[str, Any]] = no_queries
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    ours: bool = False
    binary_labels: bool = False
