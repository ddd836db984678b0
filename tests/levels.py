"""Rows with a column of ordered levels and one of levels without an order."""

import numpy as np
import pandas as pd

GRADES = ["low", "middle", "upper", "high", "top"]
"""From low to high; their alphabetical order is another one."""


def with_levels(n, seed=0):
    """Return rows of a grade, a home and an amount, and classes that tell all of them."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 5, n)
    X = pd.DataFrame({"grade": pd.Categorical(np.array(GRADES)[place])})
    home = rng.choice(["own", "other", "rent", "boat"], n)
    X["home"] = pd.Categorical(home)
    X["amount"] = rng.normal(size=n).round(2)
    z = 0.6 * (place - 2) + np.where(np.isin(home, ["own", "other"]), 1.5, -1.5) * (place > 1)
    y = (z + 0.5 * X["amount"] + rng.logistic(size=n) > 0).astype(int)
    X.loc[rng.random(n) < 0.05, "grade"] = np.nan
    return X, y.to_numpy()
