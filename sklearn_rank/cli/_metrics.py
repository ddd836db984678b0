"""The metrics that compare and evaluate print.

All are functions of `sklearn_rank.metrics`, with its conventions: a row is *relevant* when
its relevance is above 0, and tied rows count as if shuffled (the expected value) in NDCG,
average precision and precision. These are computed in each query and averaged. Queries
without a relevant row, or with a single row, are skipped: their value would not depend on
the order. The order of the file does not matter. NDCG has the gain 2^y - 1; that with the
linear gain, y, is in JSON only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Mask, Values
from sklearn_rank.metrics import (
    auc_score,
    average_precision,
    ndcg_score,
    p_norm_push_loss,
    precision_at_k,
)


@dataclass(frozen=True)
class Metric:
    """A metric: its key in JSON, its heading in tables, and a short description."""

    key: str
    heading: str
    meaning: str
    greater_is_better: bool = True


METRICS = (
    Metric("auc", "AUC", "share of pairs in the right order"),
    Metric("r_4", "R_4", "errors, those near the top the most", False),
    Metric("ndcg_at_10", "NDCG@10", "gain of the first ten, the first most"),
    Metric("average_precision", "AP", "average precision"),
    Metric("precision_at_10", "P@10", "relevant share of the first ten"),
    Metric("precision_at_1_percent", "P@1%", "relevant share of the first 1%"),
)

JSON_ONLY = (Metric("ndcg_linear_at_10", "NDCG@10, linear gain", "as NDCG@10, the gain is y"),)


def compute_metrics(y: Floats, scores: Floats, qid: Values | None) -> dict[str, float]:
    """Compute every metric of `METRICS` and `JSON_ONLY`; NaN where it is not defined."""
    metrics = {
        "auc": _or_nan(lambda: auc_score(y, scores, qid=qid)),
        "r_4": _or_nan(lambda: p_norm_push_loss(y, scores, p=4, qid=qid)),
    }
    for key, values in query_values(y, scores, qid, list(_PER_QUERY)).items():
        metrics[key] = float(values.mean()) if len(values) else float("nan")
    return metrics


def query_values(
    y: Floats, scores: Floats, qid: Values | None, keys: Sequence[str]
) -> dict[str, Floats]:
    """Return some metrics of each query that is not skipped; no values where undefined."""
    rows = _rows_not_skipped(y, scores, qid)
    return {key: _query_values(key, *rows) for key in keys}


def skipped_queries(y: Floats, qid: Values | None) -> int:
    """Return the number of queries that NDCG, AP and P@ skip."""
    return int(np.count_nonzero(~_queries_not_skipped(y, _codes(y, qid))))


def _precision_at_1_percent(y: Floats, scores: Floats, qid: Values) -> Floats:
    """Return the precision of each query, grouped by the number of places."""
    places = -(-np.bincount(qid)[qid] // 100)
    parts = []
    for k in np.unique(places):
        rows = places == k
        part = precision_at_k(y[rows], scores[rows], k=int(k), qid=qid[rows], average=None)
        parts.append(np.asarray(part))
    return np.concatenate(parts)


_PER_QUERY: dict[str, Callable[..., Any]] = {
    "ndcg_at_10": partial(ndcg_score, k=10, average=None),
    "average_precision": partial(average_precision, average=None),
    "precision_at_10": partial(precision_at_k, k=10, average=None),
    "precision_at_1_percent": _precision_at_1_percent,
    "ndcg_linear_at_10": partial(ndcg_score, k=10, gain="linear", average=None),
}


def _query_values(key: str, y: Floats, scores: Floats, codes: Values) -> Floats:
    """Return a metric of each query; no values where it is undefined."""
    if len(y) == 0:
        return np.empty(0)
    try:
        return np.asarray(_PER_QUERY[key](y, scores, qid=codes))
    except ValueError:  # NDCG of a negative or huge relevance, or scores that are NaN
        return np.empty(0)


def _rows_not_skipped(
    y: Floats, scores: Floats, qid: Values | None
) -> tuple[Floats, Floats, Values]:
    codes = _codes(y, qid)
    rows = _queries_not_skipped(y, codes)[codes]
    return y[rows], scores[rows], codes[rows]


def _codes(y: Floats, qid: Values | None) -> Values:
    return np.zeros(len(y), dtype=np.intp) if qid is None else qid


def _queries_not_skipped(y: Floats, codes: Values) -> Mask:
    n_relevant = np.bincount(codes, weights=y > 0)
    return (np.bincount(codes) > 1) & (n_relevant > 0)


def _or_nan(metric: Callable[[], float]) -> float:
    try:
        return float(metric())
    except ValueError:  # no comparable pair among these rows
        return float("nan")
