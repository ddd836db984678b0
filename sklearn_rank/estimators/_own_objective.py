"""What the engines' own LambdaMART objectives take: relevance, weights of queries, positions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import Queries
from sklearn_rank._core.validation import check_positions

HIGHEST_GRADE = 31
"""Highest relevance that the engines take for their own objective as they come."""

DRAWS_QUERIES = "bagging_by_query"
"""The parameter of LightGBM that makes `subsample` a share of the queries."""

UNBIASED = "lambdarank_unbiased"
"""The parameter of XGBoost that makes it learn from positions."""


def is_on(given: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Whether a parameter of an engine, as a user may write it, is true."""
    return str(given.get(name, default)).lower() in ("true", "1", "+")


def refuse_drawn_queries(owner: str, loss: object, given: Mapping[str, Any]) -> None:
    """Raise ValueError where LightGBM is asked to draw queries and gets gradients of ours.

    It then draws no rows at all, whether it knows the queries or not.
    """
    if is_on(given, DRAWS_QUERIES):
        raise ValueError(
            f"engine_params={{'{DRAWS_QUERIES}': True}} of {owner} needs loss='ndcg': with every "
            f"other loss LightGBM would grow all trees on all rows. Got loss={loss!r}, with which "
            "subsample draws rows."
        )


def check_own_objective(owner: str, engine: str, given: Mapping[str, Any], data: Rows) -> None:
    """Raise ValueError for relevance or weights that the engine's own objective can't take.

    Parameters
    ----------
    owner, engine : str
        The ranker and its engine, for messages.
    given : mapping
        Its `engine_params`.
    data : Rows
        Rows to learn from.
    """
    queries = Queries.from_codes(data.qid, len(data.y))
    weight, starts = queries.sort(data.weight), queries.queries.start
    if (np.maximum.reduceat(weight, starts) > np.minimum.reduceat(weight, starts)).any():
        raise ValueError(
            f"loss='ndcg' of {owner} has one weight for each query: in the engines' own objective "
            "a row of weight 2 is not the row twice. Got sample_weight that differs within a query."
        )
    low, high = data.y.min(), data.y.max()
    if engine == "xgboost" and not is_on(given, "ndcg_exp_gain", True):
        if low < 0:
            raise ValueError(
                f"loss='ndcg' of {owner} with ndcg_exp_gain=False, where relevance is the gain, "
                f"needs relevance of at least 0. Got values from {low:g} to {high:g}."
            )
        return
    highest = HIGHEST_GRADE
    if engine == "lightgbm" and "label_gain" in given:
        gains = given["label_gain"]
        highest = len(gains.split(",") if isinstance(gains, str) else gains) - 1
    if low < 0 or high > highest or (data.y % 1).any():
        way = {
            "lightgbm": "engine_params={'label_gain': [...]} has a gain for each grade",
            "xgboost": "engine_params={'ndcg_exp_gain': False} takes any gains of at least 0",
        }
        raise ValueError(
            f"loss='ndcg' of {owner} needs relevance that is a whole number from 0 to {highest}. "
            f"Got values from {low:g} to {high:g}. {way[engine]}."
        )


def check_position(
    owner: str, engine: str, given: Mapping[str, Any], position: Any, n_rows: int
) -> Indices:
    """Return the places at which rows were shown, as whole numbers from 1."""
    if engine == "xgboost" and not is_on(given, UNBIASED):
        raise ValueError(
            f"position of {owner} has a meaning for engine='xgboost' only with "
            f"engine_params={{'{UNBIASED}': True}}."
        )
    return check_positions(owner, position, n_rows)
