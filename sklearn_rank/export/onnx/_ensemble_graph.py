"""Nodes of an ONNX graph that compute the scores of an ensemble, in double precision."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sklearn_rank.ensemble import RankingEnsemble, ScoreMap
from sklearn_rank.ensemble.score_map import BEYOND_FLOATS, LONG
from sklearn_rank.export.onnx._operator_graph import GraphInput, OperatorGraph, converted, steps_of
from sklearn_rank.metrics.scorers import scoring_method

Scores = Callable[..., str]


def ensemble_scores(
    own: Mapping[type, Scores], graph: OperatorGraph, X: str, ensemble: RankingEnsemble
) -> str:
    """Return the weighted sum of mapped scores; `own` has the converters of the rankers."""
    total = ""
    for name, member in ensemble.estimators_.items():
        scores = _mapped(graph, _member_scores(own, graph, X, member, name), ensemble.maps_[name])
        term = graph.node("Mul", scores, ensemble.weights_[name])
        total = graph.node("Add", total, term) if total else term
    return total


def _member_scores(
    own: Mapping[type, Scores], graph: OperatorGraph, X: str, member: Any, name: str
) -> str:
    """Return the scores of a member, in a pipeline or a search of its last step."""
    *steps, model = steps_of(member)
    n_columns, about = member.n_features_in_, f"member {name!r}, {type(model).__name__}(...),"
    for step in steps:
        if step not in (None, "passthrough"):
            X, *_ = converted(graph, X, n_columns, step, about)
            X, n_columns = graph.cast(X, np.float64), None
    if type(model) in own:
        return own[type(model)](graph, [GraphInput(X, model.n_features_in_)], model)
    if not is_classifier(model):
        values, *_ = converted(graph, X, n_columns, model, about)
        return graph.node("Reshape", graph.cast(values, np.float64), [-1])
    is_raw = scoring_method(model) == "decision_function"
    _, values = converted(graph, X, n_columns, model, about, is_raw)
    column = graph.node("Gather", graph.cast(values, np.float64), [-1], axis=1)
    return graph.node("Reshape", column, [-1])


def _mapped(graph: OperatorGraph, scores: str, score_map: ScoreMap) -> str:
    """Return mapped scores: the linear piece of each is looked up."""
    if score_map.of_probability:
        scores = _log_odds(graph, scores)
    column = graph.node("Unsqueeze", scores, [1])
    is_reached = graph.node("GreaterOrEqual", column, score_map.score)
    piece = graph.node("ReduceSum", graph.cast(is_reached, np.int64), [-1], keepdims=0)
    start, length, low, rise, bottom, high = (
        graph.node("Gather", one, piece) for one in score_map.pieces
    )
    share = graph.node("Div", graph.node("Sub", graph.node("Mul", scores, 0.5), start), length)
    value = graph.node("Add", low, graph.node("Mul", share, rise))
    return graph.node("Max", graph.node("Min", value, high), bottom)


def _log_odds(graph: OperatorGraph, probability: str) -> str:
    """Return log-odds as `score_map.log_odds` has them."""
    other = graph.node("Log", graph.node("Sub", 1.0, probability))
    odds = graph.node("Sub", graph.node("Log", probability), other)
    size = graph.node("Min", graph.node("Abs", odds), BEYOND_FLOATS)
    excess = graph.node("Max", graph.node("Sub", size, LONG), 0.0)
    slow = graph.node("Log", graph.node("Add", excess, 1.0))
    size = graph.node("Add", graph.node("Min", size, LONG), slow)
    return graph.node("Mul", graph.node("Sign", odds), size)
