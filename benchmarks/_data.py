"""Generated data for the benchmarks: two overlapping classes, features with and without signal.

The rows are drawn in blocks of fixed size from one seeded stream and written straight to disk. So
the first n rows are the same however many follow, and no step holds the whole table in memory.
"""

from pathlib import Path

import numpy as np

BLOCK = 50_000
POSITIVE_SHARE = 0.3


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
    rng = np.random.default_rng(seed)
    shift = np.zeros(n_features)
    shift[:n_informative] = 0.8 / np.sqrt(1.0 + np.arange(n_informative))
    folded = np.arange(2, n_informative, 3)

    shape = (n_rows, n_features)
    X = np.lib.format.open_memmap(x_path, mode="w+", dtype=np.float64, shape=shape)
    y = np.lib.format.open_memmap(y_path, mode="w+", dtype=np.int64, shape=(n_rows,))
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        labels = rng.random(BLOCK) < POSITIVE_SHARE
        block = rng.standard_normal((BLOCK, n_features))
        block += labels[:, np.newaxis] * shift
        block[:, folded] = np.abs(block[:, folded])
        X[start:stop] = block[: stop - start]
        y[start:stop] = labels[: stop - start]
    X.flush()
    y.flush()
