"""Weak rankers: searched for on row masses, then applied to new rows."""

from __future__ import annotations

from typing import Any

from sklearn_rank._parallel import ThreadPool
from sklearn_rank.models.estimators import EstimatorFamily
from sklearn_rank.models.features import FeatureFamily
from sklearn_rank.models.rules import EstimatorRules, FeatureRules, StumpRules
from sklearn_rank.models.stumps import StumpFamily
from sklearn_rank.preferences import Preferences

WEAK_RANKERS = ("stump", "feature")
"""Names that `weak_ranker` takes, besides an estimator."""

Family = StumpFamily | FeatureFamily | EstimatorFamily
Rules = StumpRules | FeatureRules | EstimatorRules

__all__ = [
    "WEAK_RANKERS",
    "EstimatorFamily",
    "EstimatorRules",
    "Family",
    "FeatureFamily",
    "FeatureRules",
    "Rules",
    "StumpFamily",
    "StumpRules",
    "make_family",
]


def make_family(
    weak_ranker: Any,
    X: Any,
    preferences: Preferences,
    *,
    max_bins: int,
    seed: int,
    threads: ThreadPool,
    known: Rules | None = None,
) -> Family:
    """Return the family that `weak_ranker` names, on the rows of X.

    Parameters
    ----------
    weak_ranker : {"stump", "feature"} or estimator
        The user's choice.
    X : {ndarray, sparse matrix} of shape (n, n_features)
        Training rows, in the caller's order.
    preferences : Preferences
        Gives the order and the weights of the rows.
    max_bins, seed, threads
        As in the families.
    known : EstimatorRules or None
        Fitted estimators of earlier rounds, for a warm start.
    """
    order = preferences.order
    if weak_ranker == "feature":
        return FeatureFamily(X, order)
    if weak_ranker == "stump":
        weight = preferences.weight
        return StumpFamily(X, order, weight, max_bins=max_bins, seed=seed, threads=threads)
    earlier = known if isinstance(known, EstimatorRules) else None
    return EstimatorFamily(weak_ranker, X, order, seed, earlier)
