"""Curves along a ranked list: means over queries, expected values over ties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.metrics import roc_curve

from sklearn_rank._protocols import Floats, Indices, Mask
from sklearn_rank.metrics.scored_rows import ScoredRows
from sklearn_rank.rows import Groups, Queries

_SAME = 1e-9
"""Relative difference up to which two cut-offs count as equal."""


def mean_roc_curve(owner: str, rows: ScoredRows) -> tuple[Floats, Floats]:
    """Return the ROC curve of rows whose `y` is a mask: the mean of queries, by their pairs."""
    # Ranks instead of scores: infinite scores are allowed.
    rank = np.unique(rows.score, return_inverse=True)[1].ravel()
    curves, pairs = [], []
    for of_query in _queries(rows):
        is_above, weight = rows.y[of_query], rows.weight[of_query]
        pairs_here = float(weight[is_above].sum() * weight[~is_above].sum())
        if pairs_here > 0:
            curves.append(roc_curve(is_above, rank[of_query], sample_weight=weight)[:2])
            pairs.append(pairs_here)
    if not curves:
        raise ValueError(f"{owner} needs a query with rows of both classes.")
    if len(curves) == 1:
        return curves[0][0], curves[0][1]
    grid = np.unique(np.concatenate([fpr for fpr, _ in curves]))
    tpr = np.zeros((len(grid), 2))
    for (fpr_here, tpr_here), share in zip(curves, np.array(pairs) / sum(pairs), strict=True):
        tpr += share * _limits(fpr_here, tpr_here, grid)
    return np.repeat(grid, 2), np.minimum(np.maximum.accumulate(tpr.ravel()), 1.0)


def _limits(fpr: Floats, tpr: Floats, x: Floats) -> Floats:
    """Return the left and right limits of a curve, which may jump."""
    between = np.interp(x, fpr, tpr)
    places = np.searchsorted(fpr, x, "left"), np.searchsorted(fpr, x, "right") - 1
    return np.column_stack([np.where(fpr[at] == x, tpr[at], between) for at in places])


def mean_over_queries(rows: ScoredRows, grade: Floats, relevant: Mask) -> dict[str, Floats]:
    """Return cut-offs with precision, recall and grade, the means over queries."""
    lists = [
        _running_sums(rows, one, grade, relevant) for one in _queries(rows) if relevant[one].any()
    ]
    k = np.unique(np.concatenate([cuts for cuts, *_ in lists]))
    k = k[np.append(np.diff(k) > _SAME * k[-1], True)]
    found, recall, graded, length = (np.zeros(len(k)) for _ in range(4))
    for _, at, upto_relevant, upto_grade in lists:
        found_here = np.interp(k, at, upto_relevant)
        found += found_here
        recall += found_here / upto_relevant[-1]
        graded += np.diff(np.interp(k, at, upto_grade), prepend=0.0)
        length += np.diff(np.minimum(k, at[-1]), prepend=0.0)
    return {
        "k": k,
        "precision": np.minimum(found / (k * len(lists)), 1.0),
        "recall": np.minimum(recall / len(lists), 1.0),
        "grade": np.clip(graded / length, grade.min(), grade.max()),
    }


def average_cells(edges: Floats, values: Floats, n_cells: int) -> tuple[Floats, Floats]:
    """Return edges and means of the values in cells of equal width."""
    total = np.append(0.0, np.cumsum(values * np.diff(edges)))
    wide = np.linspace(0.0, edges[-1], n_cells + 1)
    return wide, np.diff(np.interp(wide, edges, total)) / np.diff(wide)


def _running_sums(
    rows: ScoredRows, of_query: Indices, grade: Floats, relevant: Mask
) -> list[Floats]:
    """Return the cut-offs of a list and running sums, from 0 on, at the ends of its tie groups.

    Within a tie group the expected sum is linear in the cumulative weight.
    """
    order = of_query[np.argsort(-rows.score[of_query], kind="stable")]
    score, weight = rows.score[order], rows.weight[order]
    last = Groups.of_runs(score).end - 1
    cuts = np.cumsum(weight)
    sums = (cuts, np.cumsum(weight * relevant[order]), np.cumsum(weight * grade[order]))
    return [cuts, *(np.append(0.0, one[last]) for one in sums)]


def _queries(rows: ScoredRows) -> Iterator[Indices]:
    """Yield the rows of each query."""
    grouped = Queries.from_codes(rows.qid, len(rows.score))
    yield from np.split(grouped.sort(np.arange(len(rows.score))), grouped.queries.start[1:])
