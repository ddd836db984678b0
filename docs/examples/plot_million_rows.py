"""
A million rows, a hundred billion pairs
=======================================

The exact sum over all pairs takes time linear in the number of rows.

We fit a ranker to ten thousand, a hundred thousand and a million rows.
With ten times as many rows there are a hundred times as many pairs, but
the time grows roughly in proportion to the rows. No pair is built, and
none is left out.
"""

# %%
# A million rows
# --------------
#
# One row in six is positive. The best possible score depends on three
# features in a way that stumps can fit; the other seven features are
# noise.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from sklearn_rank import RankBoost
from sklearn_rank.objectives import pair_loss_and_gradient

rng = np.random.default_rng(0)
X = rng.standard_normal((1_000_000, 10))
utility = (
    X[:, 0]
    + np.abs(X[:, 1])
    + 2 * (X[:, 2] > 1)
    + rng.logistic(size=len(X))
)
y = utility > np.quantile(utility, 5 / 6)
print(f"{len(y):,} rows, {y.sum() * (~y).sum():,} pairs")

# %%
# Fifty rounds of boosting
# ------------------------
#
# The times were measured on the machine that built this page, which may
# have been busy. :class:`~sklearn_rank.RankBoost` minimises the
# sum of an exponential over all pairs, which is a product of two sums
# over rows (:cite:t:`Freund2003`): a round costs one pass.

sizes = np.array([10_000, 30_000, 100_000, 300_000, 1_000_000])
seconds, n_pairs = [], []
for n_rows in sizes:
    rows = slice(n_rows)
    start = perf_counter()
    ranker = RankBoost(n_estimators=50, random_state=0).fit(
        X[rows], y[rows]
    )
    seconds.append(perf_counter() - start)
    n_pairs.append(y[rows].sum() * (~y[rows]).sum())
    print(
        f"{n_rows:9,} rows, {n_pairs[-1]:15,} pairs: {seconds[-1]:.2f} s"
    )
speed = n_pairs[-1] * ranker.n_iter_ / seconds[-1]
print(f"pairs summed per second, at a million rows: {speed:.1e}")

# %%

figure, axes = plt.subplots()
axes.loglog(sizes, seconds, marker="o", label="measured")
for power, name in [
    (1, "in proportion to the rows"),
    (2, "in proportion to the pairs"),
]:
    slope = seconds[0] * (sizes / sizes[0]) ** power
    axes.loglog(sizes, slope, color="0.55", linewidth=1.2, label=name)
axes.set(
    title="The time grows with the rows, not with the pairs",
    xlabel="rows",
    ylabel="seconds for 50 rounds",
)
axes.legend()
plt.show()

# %%
# Other losses
# ------------
#
# Sums of other losses over all pairs cost a sort or a convolution. You
# can use them in your own learners:
# :func:`~sklearn_rank.objectives.pair_loss_and_gradient` needs only
# labels and scores.

scores = ranker.decision_function(X)
print("sum over all pairs, and its gradient")
for loss in (
    "exponential",
    "least_squares",
    "hinge",
    "squared_hinge",
    "logistic",
):
    start = perf_counter()
    value, gradient = pair_loss_and_gradient(y, scores, loss=loss)
    spent = perf_counter() - start
    print(
        f"{loss:14} {spent:5.2f} s, mean loss {value / n_pairs[-1]:.4f}"
    )
