"""Step functions of the features of a sum of stumps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array

from sklearn_rank._protocols import Floats, Indices, Values


def check_rows(X: Any, n_features: int) -> Floats:
    """Return rows as floats; missing values are allowed."""
    rows = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    if rows.shape[1] != n_features:
        raise ValueError(
            f"X has {rows.shape[1]} features, but the ranker was fitted with {n_features}."
        )
    return np.asarray(rows)


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
        raise ValueError(f"{owner} has no feature to draw: the model uses none, or none was asked.")
    return np.asarray(chosen)


def step_function(rules: Any, weights: Floats, feature: int) -> tuple[Floats, Floats, float]:
    """Return thresholds, values between them, and the contribution of a missing value."""
    here = rules.feature == feature
    thresholds, place = np.unique(rules.threshold[here], return_inverse=True)
    jumps = np.bincount(place.ravel(), weights[here], minlength=len(thresholds))
    missing = float(weights[here] @ rules.missing_right[here])
    return thresholds, np.concatenate([[0.0], np.cumsum(jumps)]), missing


def drawn_ranges(thresholds: list[Floats], columns: Floats | None) -> Floats:
    """Return the range to draw: that of the rows, or of the thresholds with a margin."""
    ranges = []
    for number, jumps in enumerate(thresholds):
        seen = jumps if columns is None else columns[number][np.isfinite(columns[number])]
        low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        room = 0.1 * (high - low) if columns is None else 0.0
        if high - low + room == 0:
            room = max(1.0, abs(low) * 0.1)
        ranges.append((low - room, high + room))
    return np.array(ranges)
