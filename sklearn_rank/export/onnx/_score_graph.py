"""Nodes of an ONNX graph that compute the scores of the models, all in double precision.

Each function takes the values of the features, of shape (n_rows, n_columns), and returns the
name of the scores, of shape (n_rows,).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core.protocols import Floats
from sklearn_rank.ensemble import ScoreMap
from sklearn_rank.ensemble.score_map import BEYOND_FLOATS, LONG
from sklearn_rank.export.onnx._graph import GraphBuilder
from sklearn_rank.models import FeatureBins, StepFunction

_SHORT = 10 * float(np.finfo(np.float64).eps)
"""Lengths below this count as 1 in scikit-learn, which divides by them."""


def constant_scores(graph: GraphBuilder, X: str, value: float) -> str:
    """Return the same number for each row."""
    n_rows = graph.node("Shape", X, start=0, end=1)
    return graph.node("Expand", [float(value)], n_rows)


def linear_scores(graph: GraphBuilder, X: str, coefficients: Floats) -> str:
    """Return ``X @ coefficients``."""
    return graph.node("MatMul", X, np.asarray(coefficients, dtype=np.float64))


def step_scores(graph: GraphBuilder, X: str, steps: Sequence[StepFunction]) -> str:
    """Return the sum of step functions.

    It is a constant plus a gain for each threshold that a row exceeds, each special code or
    category that it equals, and each missing value.
    """
    constants, gains = zip(*map(_gains, steps), strict=True) if steps else ((), ())
    total = constant_scores(graph, X, float(sum(constants)))
    for kind in ("Greater", "Equal", "IsNaN"):
        terms = [(step.feature, *by_kind[kind]) for step, by_kind in zip(steps, gains, strict=True)]
        column = [feature for feature, values, _ in terms for _ in values]
        if not column:
            continue
        operands: list[Any] = [graph.node("Gather", X, column, axis=1)]
        if kind != "IsNaN":
            operands.append(np.concatenate([values for _, values, _ in terms]))
        is_true = graph.cast(graph.node(kind, *operands), np.float64)
        gain = np.concatenate([gain for _, _, gain in terms])
        total = graph.node("Add", total, linear_scores(graph, is_true, gain))
    return total


def _gains(step: StepFunction) -> tuple[float, dict[str, tuple[Floats, Floats]]]:
    """Return a constant, and values and gains by the kind of the comparison."""
    bins, values = step.bins, step.values
    bin_values = np.append(values[: bins.n_values], values[-1])
    if bins.categories is None:
        base, thresholds, codes = bin_values[0], bins.thresholds, np.zeros(0)
    else:  # a code without a bin, and one that is no category, are missing
        base, thresholds = values[-1], np.zeros(0)
        codes = np.flatnonzero(bins.categories >= 0).astype(np.float64)
    regular = StepFunction(
        step.feature, FeatureBins(bins.thresholds, categories=bins.categories), bin_values
    )
    code_values = np.concatenate([codes, bins.special])
    gain = np.concatenate([regular(codes) - base, step(bins.special) - regular(bins.special)])
    increments = np.diff(bin_values[:-1]) if bins.categories is None else np.zeros(0)
    missing_gain = np.array([values[-1] - base])
    return float(base), {
        "Greater": (thresholds, increments),
        "Equal": (code_values, gain),
        "IsNaN": (np.zeros(1), missing_gain),
    }


# Kernels ---------------------------------------------------------------------------------


def kernel_scores(graph: GraphBuilder, X: str, ranker: Any) -> str:
    """Return the sum of the kernels with the rows of a ranker, times their coefficients."""
    support = np.flatnonzero(ranker.dual_coef_)
    if not len(support):
        return constant_scores(graph, X, 0.0)
    rows = ranker.X_fit_[support]
    rows = np.asarray(rows.toarray() if issparse(rows) else rows, dtype=np.float64)
    matrix = _KERNELS[ranker.kernel](graph, X, rows, ranker)
    return linear_scores(graph, matrix, ranker.dual_coef_[support])


def _rbf(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    centre = rows.mean(axis=0)  # distances are differences of squares, as in the estimator
    X, rows = graph.node("Sub", X, centre), rows - centre
    products = graph.node("MatMul", X, -2 * rows.T)
    squares = _sum_last(graph, graph.node("Mul", X, X), keepdims=1)
    distance = graph.node("Add", graph.node("Add", products, squares), (rows**2).sum(1))
    distance = graph.node("Max", distance, 0.0)
    return graph.node("Exp", graph.node("Mul", distance, -float(ranker.gamma_)))


def _affine(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    products = graph.node("MatMul", X, ranker.gamma_ * rows.T)
    return graph.node("Add", products, float(ranker.coef0))


def _polynomial(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    return graph.node("Pow", _affine(graph, X, rows, ranker), float(ranker.degree))


def _sigmoid(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    return graph.node("Tanh", _affine(graph, X, rows, ranker))


def _cosine(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    norm = graph.node("Sqrt", _sum_last(graph, graph.node("Mul", X, X), keepdims=1))
    is_short = graph.node("Less", norm, _SHORT)
    X = graph.node("Div", X, graph.node("Where", is_short, 1.0, norm))
    row_norms = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return graph.node("MatMul", X, (rows / np.where(row_norms < _SHORT, 1.0, row_norms)).T)


def _laplacian(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    difference = graph.node("Sub", graph.node("Unsqueeze", X, [1]), rows)
    distance = _sum_last(graph, graph.node("Abs", difference))
    return graph.node("Exp", graph.node("Mul", distance, -float(ranker.gamma_)))


def _additive_chi2(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    x = graph.node("Unsqueeze", X, [1])
    difference, total = graph.node("Sub", x, rows), graph.node("Add", x, rows)
    is_zero = graph.node("Equal", total, 0.0)
    total = graph.node("Where", is_zero, 1.0, total)  # both are zero there
    square = graph.node("Mul", difference, difference)
    return graph.node("Neg", _sum_last(graph, graph.node("Div", square, total)))


def _chi2(graph: GraphBuilder, X: str, rows: Floats, ranker: Any) -> str:
    distance = _additive_chi2(graph, X, rows, ranker)
    return graph.node("Exp", graph.node("Mul", distance, float(ranker.gamma_)))


_KERNELS: dict[str, Callable[..., str]] = {
    "additive_chi2": _additive_chi2,
    "chi2": _chi2,
    "cosine": _cosine,
    "laplacian": _laplacian,
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _rbf,
    "sigmoid": _sigmoid,
}


def _sum_last(graph: GraphBuilder, values: str, keepdims: int = 0) -> str:
    return graph.node("ReduceSum", values, [-1], keepdims=keepdims)


# Maps of the scores of an ensemble's members ---------------------------------------------


def mapped_scores(graph: GraphBuilder, scores: str, score_map: ScoreMap) -> str:
    """Return mapped scores, by looking up the linear piece of each score."""
    if score_map.of_probability:
        scores = _log_odds(graph, scores)
    # The piece of a score is the number of points that it reaches.
    column = graph.node("Unsqueeze", scores, [1])
    is_reached = graph.node("GreaterOrEqual", column, score_map.score)
    piece = graph.node("ReduceSum", graph.cast(is_reached, np.int64), [-1], keepdims=0)
    start, length, start_value, rise, lowest, highest = (
        graph.node("Gather", table, piece) for table in score_map.pieces
    )
    fraction = graph.node("Div", graph.node("Sub", graph.node("Mul", scores, 0.5), start), length)
    value = graph.node("Add", start_value, graph.node("Mul", fraction, rise))
    return graph.node("Max", graph.node("Min", value, highest), lowest)


def _log_odds(graph: GraphBuilder, probability: str) -> str:
    """Return log-odds as computed by `score_map.log_odds`."""
    log_complement = graph.node("Log", graph.node("Sub", 1.0, probability))
    odds = graph.node("Sub", graph.node("Log", probability), log_complement)
    size = graph.node("Min", graph.node("Abs", odds), BEYOND_FLOATS)
    excess = graph.node("Max", graph.node("Sub", size, LONG), 0.0)
    log_excess = graph.node("Log", graph.node("Add", excess, 1.0))
    size = graph.node("Add", graph.node("Min", size, LONG), log_excess)
    return graph.node("Mul", graph.node("Sign", odds), size)
