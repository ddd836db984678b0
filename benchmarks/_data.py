"""Generated data for the benchmarks: two overlapping classes, features with and without signal.

One kind has effects of single features only, the other interactions. The rows are drawn in blocks
of fixed size from one seeded stream. So the first n rows are the same however many follow.
"""

from typing import Any

import numpy as np

BLOCK = 50_000
POSITIVE_SHARE = 0.3
UTILITY_CUT = 1.91
"""The utility of `draw_interactions` that `POSITIVE_SHARE` of the rows exceed."""


def draw_two_classes(
    n_rows: int, *, n_features: int = 20, n_informative: int = 10, seed: int = 0
) -> tuple[Any, Any]:
    """Return a float64 table of `n_rows` rows and its 0/1 labels.

    Feature j < `n_informative` is shifted up for positives, by 0.8 for j = 0 and less for each
    further one; every third of them is folded (|x|), so that its effect is not a straight line. The
    remaining features are standard normal noise.
    """
    rng = np.random.default_rng(seed)
    shift = np.zeros(n_features)
    shift[:n_informative] = 0.8 / np.sqrt(1.0 + np.arange(n_informative))
    folded = np.arange(2, n_informative, 3)
    X, y = np.empty((n_rows, n_features)), np.empty(n_rows, dtype=np.int64)
    for start in range(0, n_rows, BLOCK):
        labels = rng.random(BLOCK) < POSITIVE_SHARE
        block = rng.standard_normal((BLOCK, n_features))
        block += labels[:, np.newaxis] * shift
        block[:, folded] = np.abs(block[:, folded])
        n_kept = min(BLOCK, n_rows - start)
        X[start : start + n_kept], y[start : start + n_kept] = block[:n_kept], labels[:n_kept]
    return X, y


def draw_interactions(n_rows: int, *, n_features: int = 20, seed: int = 0) -> tuple[Any, Any]:
    """Return standard normal features and labels that depend on interactions of them.

    A label says whether a utility is in the upper `POSITIVE_SHARE` of its distribution. With
    features x_0, x_1, ... the utility is 2 x_0 x_1 + x_2 |x_3| + x_4 + 1.5 [x_5 > 1 or x_6 > 1]
    plus logistic noise; the other features are noise.
    """
    rng = np.random.default_rng([seed, n_features])
    X, y = np.empty((n_rows, n_features)), np.empty(n_rows, dtype=np.int64)
    for start in range(0, n_rows, BLOCK):
        x = rng.standard_normal((BLOCK, n_features))
        either = (x[:, 5] > 1) | (x[:, 6] > 1)
        utility = 2 * x[:, 0] * x[:, 1] + x[:, 2] * np.abs(x[:, 3]) + x[:, 4] + 1.5 * either
        utility += rng.logistic(size=BLOCK)
        n_kept = min(BLOCK, n_rows - start)
        X[start : start + n_kept] = x[:n_kept]
        y[start : start + n_kept] = (utility > UTILITY_CUT)[:n_kept]
    return X, y
