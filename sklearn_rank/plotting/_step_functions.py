"""Step functions of the features of a sum of stumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats, Indices, Values
from sklearn_rank.bins.categories import CategoryCodes
from sklearn_rank.models import FeatureBins, StepFunction


def choose_features(
    owner: str, ranker: Any, names: Values, features: Any, max_features: int | None
) -> Indices:
    """Return columns, the most important first."""
    if features is None:
        chosen = np.unique(ranker.weak_rankers_.feature)
    else:
        known = {str(name): j for j, name in enumerate(names)}
        unknown: list[Any] = [one for one in features if isinstance(one, str) and one not in known]
        columns = [known.get(one, 0) if isinstance(one, str) else int(one) for one in features]
        unknown += [one for one in columns if not 0 <= one < len(names)]
        if unknown:
            raise ValueError(f"{owner}: features not known to the ranker: {unknown}.")
        chosen = np.unique(np.array(columns, dtype=np.intp))
    by_importance = np.argsort(-ranker.feature_importances_[chosen], kind="stable")
    chosen = chosen[by_importance][:max_features]
    if len(chosen) == 0:
        raise ValueError(
            f"{owner} has no feature to draw: the model uses none, or none was requested."
        )
    return np.asarray(chosen)


def functions_of(ranker: Any, features: Indices) -> list[StepFunction]:
    """Return the step function of each feature; zero for those without one."""
    steps = ranker.step_functions_
    found = {one.feature: one for one in steps}
    nothing = FeatureBins()
    return [found.get(j, StepFunction(j, nothing, np.zeros(2))) for j in features.tolist()]


def group_labels(function: StepFunction, codes: CategoryCodes) -> list[str]:
    """Return the categories of each bin of a categorical feature, joined."""
    bins = function.bins.categories
    assert bins is not None
    names = codes.categories[function.feature]
    return [
        ", ".join(str(name) for name, one in zip(names, bins, strict=False) if one == number)
        for number in range(function.bins.n_values)
    ]


def shortened(label: str, most: int = 16) -> str:
    """Return a label of at most some letters."""
    return label if len(label) <= most else label[: most - 1] + "\u2026"


def drawn_ranges(functions: list[StepFunction], columns: Floats | None) -> Floats:
    """Return the range to draw: that of the rows, or of the thresholds with a margin."""
    ranges = []
    for number, function in enumerate(functions):
        seen = function.bins.thresholds
        if columns is not None:
            x = columns[number]
            seen = x[np.isfinite(x) & ~np.isin(x, function.bins.special)]
        low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        room = 0.1 * (high - low) if columns is None else 0.0
        if high - low + room == 0:
            room = max(1.0, abs(low) * 0.1)
        ranges.append((low - room, high + room))
    return np.array(ranges)
