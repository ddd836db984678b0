"""
Trees on a million rows, by all pairs
=====================================

XGBoost's trees rank one long list, with an objective that sums over all
pairs and with XGBoost's own rank:pairwise.

A list of a million rows has more than a hundred billion pairs of a
positive and a negative. :class:`~sklearn_rank.BoostedTreesRanker` gives
XGBoost the exact gradient over all of them, in about linear time.
XGBoost's ``rank:pairwise`` draws one partner for each row.
"""

# %%
# Rows that need interactions
# ---------------------------
#
# A product of two features, a sign that depends on a third, and noise:
# no feature ranks the rows well by itself.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from xgboost import XGBRanker

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.metrics import auc_score

rng = np.random.default_rng(0)
X = rng.standard_normal((1_050_000, 6))
utility = (
    2 * X[:, 0] * X[:, 1]
    + X[:, 2] * np.sign(X[:, 3])
    + rng.logistic(size=len(X))
)
y = (utility > np.quantile(utility, 5 / 6)).astype(int)
X, X_test = X[:1_000_000], X[1_000_000:]
y, y_test = y[:1_000_000], y[1_000_000:]
print(f"{len(y):,} rows, {y.sum() * (1 - y).sum():,} pairs")

# %%
# Time and quality by number of rows
# ----------------------------------
#
# Both run twenty rounds of depth 6 on one thread; everything else is
# equal. The times were measured on the machine that built this page,
# which may have been busy. ``rank:pairwise`` stops at 30,000 rows here
# to keep the build short; :doc:`/benchmarks/trees_speed` has a million.

settings = {
    "n_estimators": 20,
    "max_depth": 6,
    "learning_rate": 0.3,
    "n_jobs": 1,
}


def fit_ours(X, y):
    ranker = BoostedTreesRanker(
        engine="xgboost",
        loss="exponential",
        max_leaf_nodes=None,
        min_child_weight=None,
        reg_lambda=None,
        **settings,
    )
    return ranker.fit(X, y).decision_function


def fit_pairwise(X, y):
    ranker = XGBRanker(
        objective="rank:pairwise",
        lambdarank_pair_method="mean",
        max_bin=255,
        **settings,
    )
    return ranker.fit(X, y, qid=np.zeros(len(y), dtype=int)).predict


runs = {
    "all pairs, exponential": (fit_ours, [3_000, 30_000, 1_000_000]),
    "rank:pairwise": (fit_pairwise, [3_000, 10_000, 30_000]),
}
found = {}
for name, (fit, sizes) in runs.items():
    found[name] = []
    for n_rows in sizes:
        start = perf_counter()
        scores = fit(X[:n_rows], y[:n_rows])
        seconds = perf_counter() - start
        auc = auc_score(y_test, scores(X_test))
        found[name].append((n_rows, seconds, auc))
        print(
            f"{name:22} {n_rows:9,} rows {seconds:6.2f} s  AUC {auc:.4f}"
        )

# %%
# The dotted line extrapolates the last time of ``rank:pairwise`` in
# proportion to the rows; it is not measured.

figure, axes = plt.subplots(1, 2, figsize=(6.4, 4), layout="constrained")
for name, points in found.items():
    n_rows, seconds, auc = np.transpose(points)
    look = {"marker": "o", "linestyle": "-", "label": name}
    (line,) = axes[0].loglog(n_rows, seconds, **look)
    axes[1].semilogx(n_rows, auc, **look)
ends = np.array([n_rows[-1], 1_000_000])
axes[0].loglog(
    ends,
    seconds[-1] * ends / ends[0],
    color=line.get_color(),
    linestyle=":",
    label="extrapolated",
)
axes[0].set(title="Time for 20 rounds", xlabel="rows", ylabel="seconds")
axes[1].set(title="AUC of other rows", xlabel="rows", ylabel="AUC")
figure.legend(
    *axes[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=2,
)
plt.show()
