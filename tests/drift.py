"""A table whose relation between features and target drifts within a year, or does not."""

import numpy as np
import pandas as pd


def drifting_table(n_rows=2000, *, seed=0, drifts=True):
    """Return rows of a year in random order; the effect of column a turns into its opposite."""
    rng = np.random.default_rng(seed)
    day = rng.integers(0, 365, n_rows)
    a, b, c = rng.normal(size=(3, n_rows))
    effect = 1 - 2 * day / 365 if drifts else np.ones(n_rows)
    late = rng.random(n_rows) < 1 / (1 + np.exp(1.5 - 1.5 * effect * a - 0.7 * b))
    date = (np.datetime64("2024-01-01") + day).astype(str)
    customer = rng.integers(0, n_rows // 4, n_rows)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "day": date, "customer": customer})
    return frame.assign(late=np.where(late, "yes", "no"))
