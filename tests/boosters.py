"""Boosting rankers of stumps: their parameters, and their rules from thresholds."""

import numpy as np

from sklearn_rank.models import FeatureBins, StumpRules, Stumps

SHARED = ("max_bins", "monotonic_cst", "categorical_features")


def stumps(**parameters):
    """Return parameters of a booster, those that only `Stumps` has in its `weak_ranker`."""
    own = [name for name in Stumps().get_params() if name in parameters and name not in SHARED]
    given = {name: parameters.pop(name) for name in own}
    return {**parameters, "weak_ranker": Stumps(**given)}


def rules_of(feature, threshold, missing_right):
    """Return the rules ``1[x > threshold]`` of numbers; infinity stands for "is missing"."""
    feature, threshold = np.asarray(feature), np.asarray(threshold)
    known = threshold[np.isfinite(threshold)], feature[np.isfinite(threshold)]
    bins = {j: FeatureBins(np.unique(known[0][known[1] == j])) for j in feature.tolist()}
    pairs = zip(feature.tolist(), threshold, strict=True)
    first = np.array([np.searchsorted(bins[j].thresholds, t) + 1 for j, t in pairs])
    none = np.full(len(feature), -1)
    right = np.asarray(missing_right, dtype=bool)
    return StumpRules(feature, first, right, none, np.zeros((0, 0), bool), np.zeros(0, int), bins)
