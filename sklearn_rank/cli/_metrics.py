"""The figures that compare and evaluate print.

One convention for all of them: a row is *relevant* when its relevance is above 0. NDCG,
average precision and precision are computed in each query and averaged; queries without
a relevant row, or with a single row, say nothing about an order and are skipped. The
order of the file never matters: tied rows count as if shuffled (the expected value) in
NDCG and precision, and as one step of the precision-recall curve in average precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, ndcg_score

from sklearn_rank.metrics import auc_score, p_norm_push_loss

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
    Figure("r_4", "R_4", "p-norm push loss, p=4: errors near the top weigh most", False),
    Figure("ndcg_at_10", "NDCG@10", "gain of the first ten, the first places most"),
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
    per_query: dict[str, Callable[[Floats, Floats], float]] = {
        "ndcg_at_10": _ndcg_at_10,
        "average_precision": lambda y, s: float(average_precision_score(y > 0, s)),
        "precision_at_10": lambda y, s: precision_at(y > 0, s, 10),
        "precision_at_1_percent": lambda y, s: precision_at(y > 0, s, -(-len(y) // 100)),
    }
    queries = list(_queries_that_count(y, scores, qid))
    # Checked once above: validation would be most of the time on many small queries.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for key, figure in per_query.items():
            values = [figure(*query) for query in queries]
            figures[key] = float(np.mean(values)) if values else float("nan")
    return figures


def precision_at(relevant: NDArray[np.bool_], scores: Floats, k: int) -> float:
    """Return the expected share of relevant rows among the first `k`, ties being shuffled.

    With fewer than `k` rows the share is that of all rows.
    """
    k = min(k, len(scores))
    border = np.partition(scores, -k)[-k]
    surely_in = scores > border
    tied = scores == border
    places_left = k - np.count_nonzero(surely_in)
    hits = np.count_nonzero(relevant[surely_in]) + places_left * relevant[tied].mean()
    return float(hits / k)


def _ndcg_at_10(y: Floats, scores: Floats) -> float:
    if y.min() < 0:
        return float("nan")  # not defined for negative gains
    return float(ndcg_score(y[None, :], scores[None, :], k=10))


def skipped_queries(y: Floats, qid: NDArray[Any] | None) -> int:
    """Return how many queries NDCG, AP and P@ leave out."""
    n_queries = 1 if qid is None else int(qid.max()) + 1
    return n_queries - sum(1 for _ in _queries_that_count(y, y, qid))


def _queries_that_count(
    y: Floats, scores: Floats, qid: NDArray[Any] | None
) -> Iterator[tuple[Floats, Floats]]:
    codes = np.zeros(len(y), dtype=np.intp) if qid is None else qid
    order = np.argsort(codes, kind="stable")
    borders = np.flatnonzero(np.diff(codes[order])) + 1
    for rows in np.split(order, borders):
        if len(rows) > 1 and (y[rows] > 0).any():
            yield y[rows], scores[rows]


def _or_nan(figure: Callable[[], float]) -> float:
    try:
        return float(figure())
    except ValueError:  # no comparable pair among these rows
        return float("nan")
