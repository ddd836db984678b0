"""Generated data for the benchmarks: two overlapping classes, features with and without signal.

One kind has effects of single features only, the other interactions. The rows are drawn in blocks
of fixed size from one seeded stream. So the first n rows are the same however many follow, and
writing them to disk never holds the whole table in memory.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

BLOCK = 50_000
POSITIVE_SHARE = 0.3
UTILITY_CUT = 1.91
"""The utility of `draw_interactions` that `POSITIVE_SHARE` of the rows exceed."""


def _blocks(
    n_rows: int, n_features: int, n_informative: int, seed: int
) -> Iterator[tuple[slice, Any, Any]]:
    """Yield slices of rows with their features and labels."""
    rng = np.random.default_rng(seed)
    shift = np.zeros(n_features)
    shift[:n_informative] = 0.8 / np.sqrt(1.0 + np.arange(n_informative))
    folded = np.arange(2, n_informative, 3)
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        labels = rng.random(BLOCK) < POSITIVE_SHARE
        block = rng.standard_normal((BLOCK, n_features))
        block += labels[:, np.newaxis] * shift
        block[:, folded] = np.abs(block[:, folded])
        yield slice(start, stop), block[: stop - start], labels[: stop - start]


def write_two_classes(
    x_path: Path,
    y_path: Path,
    n_rows: int,
    *,
    n_features: int = 20,
    n_informative: int = 10,
    seed: int = 0,
) -> None:
    """Write a float64 table of `n_rows` rows and its 0/1 labels as two .npy files.

    Feature j < `n_informative` is shifted up for positives, by 0.8 for j = 0 and less for each
    further one; every third of them is folded (|x|), so that its effect is not a straight line. The
    remaining features are standard normal noise.
    """
    shape = (n_rows, n_features)
    X = np.lib.format.open_memmap(x_path, mode="w+", dtype=np.float64, shape=shape)
    y = np.lib.format.open_memmap(y_path, mode="w+", dtype=np.int64, shape=(n_rows,))
    for rows, features, labels in _blocks(n_rows, n_features, n_informative, seed):
        X[rows], y[rows] = features, labels
    X.flush()
    y.flush()


def draw_two_classes(
    n_rows: int, *, n_features: int = 20, n_informative: int = 10, seed: int = 0
) -> tuple[Any, Any]:
    """Return in memory the rows that `write_two_classes` writes."""
    X, y = np.empty((n_rows, n_features)), np.empty(n_rows, dtype=np.int64)
    for rows, features, labels in _blocks(n_rows, n_features, n_informative, seed):
        X[rows], y[rows] = features, labels
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
        rows = slice(start, min(start + BLOCK, n_rows))
        x = rng.standard_normal((BLOCK, n_features))
        either = (x[:, 5] > 1) | (x[:, 6] > 1)
        utility = 2 * x[:, 0] * x[:, 1] + x[:, 2] * np.abs(x[:, 3]) + x[:, 4] + 1.5 * either
        utility += rng.logistic(size=BLOCK)
        n_kept = rows.stop - start
        X[rows], y[rows] = x[:n_kept], (utility > UTILITY_CUT)[:n_kept]
    return X, y
