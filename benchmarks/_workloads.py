"""Everything this package computes, at any number of rows: each estimator, pair sum and metric.

The lists come from the package's registries, so new estimators, losses and metrics are included
automatically. A workload is prepared once for a number of rows, then called.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
from _data import POSITIVE_SHARE, draw_two_classes

import sklearn_rank
from sklearn_rank import metrics
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.sums import Queries
from sklearn_rank.objectives import LISTWISE_LOSSES, MARGIN_LOSSES, ListLoss, PairLoss

QUERY = 100
"""Rows of a query."""

LONGEST = 10_000_000
ONE_LIST, QUERIES = "one list", f"queries of {QUERY} rows"
FIT, PREDICT = "fit", "scores of as many rows"

Calls = dict[str, Callable[[], Any]]
"""The lines of one panel: name and what is timed."""


@dataclass(frozen=True)
class Workload:
    """One thing to time.

    Attributes
    ----------
    group : {"estimators", "sums", "metrics"}
        Which family it belongs to.
    name : str
        What plots and tables call it.
    prepare : callable
        Maps the number of rows to calls.
    most_rows : int
        Where its range ends.
    why : str
        Why it ends before `LONGEST`.
    """

    group: str
    name: str
    prepare: Callable[[int], Calls]
    most_rows: int = LONGEST
    why: str = ""


def query_ids(n_rows: int) -> Any:
    """Return ids of queries of `QUERY` rows, one after the other."""
    return np.arange(n_rows) // QUERY


# --- estimators ----------------------------------------------------------------------------------

KERNEL = "KernelPairwiseSGDRanker"
FORMS: dict[str, dict[str, dict[str, Any]]] = {
    KERNEL: {", rbf": {"kernel": "rbf"}, ", linear": {"kernel": "linear"}}
}
"""Parameters of estimators that are worth timing in several forms, or not with their defaults."""

ENDS = {f"{KERNEL}, rbf": (10_000, "its kernel matrix has rows² numbers, 0.8 GB at 10,000 rows")}


@lru_cache(maxsize=1)
def draw_features(n_rows: int) -> tuple[Any, Any]:
    """Return features and labels of two classes."""
    return draw_two_classes(n_rows)


def estimator_calls(name: str, parameters: dict[str, Any], n_rows: int) -> Calls:
    """Return fit, and scores, which are to be asked for after a fit."""
    build = partial(getattr(sklearn_rank, name), **parameters)
    X, y = draw_features(n_rows)
    extra = {"qid": query_ids(n_rows)} if build().relevance == "graded" else {}
    model = build()

    def fit() -> None:
        model.fit(X, y, **extra)

    def scores() -> Any:
        return getattr(model, "decision_function", model.predict)(X)

    return {FIT: fit, PREDICT: scores}


def of_estimators() -> Iterator[Workload]:
    """Yield every estimator."""
    for name in sklearn_rank.__all__:
        for suffix, parameters in FORMS.get(name, {"": {}}).items():
            label = name + suffix
            prepare = partial(estimator_calls, name, parameters)
            yield Workload("estimators", label, prepare, *ENDS.get(label, ()))


# --- sums over pairs and lists -------------------------------------------------------------------


@lru_cache(maxsize=1)
def draw_list(n_rows: int) -> tuple[Any, Any]:
    """Return labels of two classes and scores without regard to them."""
    rng = np.random.default_rng(0)
    return (rng.random(n_rows) < POSITIVE_SHARE).astype(float), 3 * rng.standard_normal(n_rows)


@lru_cache(maxsize=1)
def draw_grades(n_rows: int) -> tuple[Any, Any]:
    """Return relevance 0 to 4 and scores that follow it with noise."""
    rng = np.random.default_rng(0)
    y = rng.choice(5, n_rows, p=[0.6, 0.2, 0.1, 0.06, 0.04]).astype(float)
    return y, y + 2 * rng.standard_normal(n_rows)


def pair_sum_calls(loss: str, n_rows: int) -> Calls:
    """Return value and gradient of a loss over all pairs, prepared as in a fit."""
    calls: Calls = {}
    for line, (y, scores), qid in (
        (ONE_LIST, draw_list(n_rows), None),
        (QUERIES, draw_grades(n_rows), query_ids(n_rows)),
    ):
        preferences = Preferences.from_labels(y, qid, np.ones(n_rows))
        pair_loss = PairLoss(preferences, loss)
        calls[line] = partial(pair_loss.value_and_gradient, scores[preferences.order])
    return calls


def listwise_calls(loss: str, n_rows: int) -> Calls:
    """Return value and gradient of a listwise loss, prepared as in a fit."""
    calls: Calls = {}
    for line, qid in ((ONE_LIST, None), (QUERIES, query_ids(n_rows))):
        y, scores = draw_grades(n_rows)
        lists = Queries.from_codes(qid, n_rows)
        objective = ListLoss(lists, LISTWISE_LOSSES[loss](), y, np.ones(n_rows))
        calls[line] = partial(objective.value_and_gradient, scores)
    return calls


def of_sums() -> Iterator[Workload]:
    """Yield every sum over pairs or lists."""
    for loss in MARGIN_LOSSES:
        yield Workload("sums", f"{loss}, pairs", partial(pair_sum_calls, loss))
    for loss in LISTWISE_LOSSES:
        yield Workload("sums", f"{loss}, lists", partial(listwise_calls, loss))


# --- metrics -------------------------------------------------------------------------------------

ARGUMENTS: dict[str, dict[str, Any]] = {"p_norm_push_loss": {"p": 4}}
"""What a metric wants to be told besides relevance and scores."""


def scored_calls(name: str, n_rows: int) -> Calls:
    """Return a metric of relevance and scores."""
    metric = partial(getattr(metrics, name), **ARGUMENTS.get(name, {}))
    return {
        ONE_LIST: partial(metric, *draw_list(n_rows)),
        QUERIES: partial(metric, *draw_grades(n_rows), qid=query_ids(n_rows)),
    }


def of_metrics() -> Iterator[Workload]:
    """Yield every metric of relevance and scores."""
    for name in metrics.__all__:
        function = getattr(metrics, name)
        if inspect.isclass(function):
            continue
        if {"y_true", "y_score", "qid"} <= set(inspect.signature(function).parameters):
            yield Workload("metrics", name, partial(scored_calls, name))


def workloads() -> list[Workload]:
    """Return all of them."""
    return [*of_estimators(), *of_sums(), *of_metrics()]
