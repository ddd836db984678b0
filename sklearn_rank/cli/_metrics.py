"""The figures that compare and evaluate print.

All are functions of `sklearn_rank.metrics`, with its conventions: a row is *relevant* when
its relevance is above 0, and tied rows count as if shuffled (the expected value) in NDCG,
average precision and precision. These are computed in each query and averaged, NDCG with
the linear gain. Queries without a relevant row, or with a single row, say nothing about an
order and are skipped. The order of the file never matters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sklearn_rank.metrics import (
    auc_score,
    average_precision,
    ndcg_score,
    p_norm_push_loss,
    precision_at_k,
)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Figure:
    """A column of the table: its key in JSON, its heading, and what it is."""

    key: str
    heading: str
    meaning: str
    greater_is_better: bool = True


FIGURES = (
    Figure("auc", "AUC", "share of pairs in the right order"),
    Figure("r_4", "R_4", "errors, those near the top the most", False),
    Figure("ndcg_at_10", "NDCG@10", "gain of the first ten, the first most"),
    Figure("average_precision", "AP", "average precision"),
    Figure("precision_at_10", "P@10", "relevant share of the first ten"),
    Figure("precision_at_1_percent", "P@1%", "relevant share of the first 1%"),
)


def compute_figures(y: Floats, scores: Floats, qid: NDArray[Any] | None) -> dict[str, float]:
    """Compute every figure of `FIGURES`; NaN where it is not defined."""
    figures = {
        "auc": _or_nan(lambda: auc_score(y, scores, qid=qid)),
        "r_4": _or_nan(lambda: p_norm_push_loss(y, scores, p=4, qid=qid)),
    }
    for key, values in query_values(y, scores, qid, list(_PER_QUERY)).items():
        figures[key] = float(values.mean()) if len(values) else float("nan")
    return figures


def query_values(
    y: Floats, scores: Floats, qid: NDArray[Any] | None, keys: Sequence[str]
) -> dict[str, Floats]:
    """Return some figures of each query that counts; no values where one is not defined."""
    rows = _rows_that_count(y, scores, qid)
    return {key: _query_values(key, *rows) for key in keys}


def skipped_queries(y: Floats, qid: NDArray[Any] | None) -> int:
    """Return how many queries NDCG, AP and P@ leave out."""
    return int(np.count_nonzero(~_queries_that_count(y, _codes(y, qid))))


def _precision_at_1_percent(y: Floats, scores: Floats, qid: NDArray[Any]) -> Floats:
    """Return the precision of each query, those with the same number of places together."""
    places = -(-np.bincount(qid)[qid] // 100)
    parts = []
    for k in np.unique(places):
        rows = places == k
        part = precision_at_k(y[rows], scores[rows], k=int(k), qid=qid[rows], average=None)
        parts.append(np.asarray(part))
    return np.concatenate(parts)


_PER_QUERY: dict[str, Callable[..., Any]] = {
    "ndcg_at_10": partial(ndcg_score, k=10, gain="linear", average=None),
    "average_precision": partial(average_precision, average=None),
    "precision_at_10": partial(precision_at_k, k=10, average=None),
    "precision_at_1_percent": _precision_at_1_percent,
}


def _query_values(key: str, y: Floats, scores: Floats, codes: NDArray[Any]) -> Floats:
    """Return a figure of each query; no values where it is not defined."""
    if len(y) == 0:
        return np.empty(0)
    try:
        return np.asarray(_PER_QUERY[key](y, scores, qid=codes))
    except ValueError:  # NDCG of a negative relevance, or scores that are NaN
        return np.empty(0)


def _rows_that_count(
    y: Floats, scores: Floats, qid: NDArray[Any] | None
) -> tuple[Floats, Floats, NDArray[Any]]:
    codes = _codes(y, qid)
    rows = _queries_that_count(y, codes)[codes]
    return y[rows], scores[rows], codes[rows]


def _codes(y: Floats, qid: NDArray[Any] | None) -> NDArray[Any]:
    return np.zeros(len(y), dtype=np.intp) if qid is None else qid


def _queries_that_count(y: Floats, codes: NDArray[Any]) -> NDArray[np.bool_]:
    n_relevant = np.bincount(codes, weights=y > 0)
    return (np.bincount(codes) > 1) & (n_relevant > 0)


def _or_nan(figure: Callable[[], float]) -> float:
    try:
        return float(figure())
    except ValueError:  # no comparable pair among these rows
        return float("nan")
