"""
How many shall I take?
======================

Select from the top of a list with at most one false alarm in ten rows.

A ranked list does not say where to stop. A cut-off at which the training
rows look pure gives far more false alarms than promised.
:class:`~sklearn_rank.model_selection.ConformalSelector` uses held-out
rows to choose the cut-off, and its mean share of false alarms stays
below the share you ask for.
"""

# %%
# The list
# --------
#
# One row in ten is positive. The ranker is fitted once; held-out rows
# and new rows are drawn many times to estimate means.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator

from sklearn_rank import RankBoost
from sklearn_rank.model_selection import ConformalSelector

X, y = make_classification(
    40_000,
    n_informative=6,
    weights=[0.9],
    class_sep=1.3,
    flip_y=0.02,
    random_state=0,
)
n_train, n_held_out, n_new = 1_000, 1_000, 1_000
X_train, y_train = X[:n_train], y[:n_train]
ranker = RankBoost(n_estimators=300).fit(X_train, y_train)

# %%
# Two ways to cut it
# ------------------
#
# The naive cut is the lowest score at which at least 90 % of the
# training rows above it are positives. The selector asks for the same
# purity, ``fdr=0.1``, on rows that the ranker has not seen.

train_scores = ranker.decision_function(X_train)
order = np.argsort(-train_scores)
purity = np.cumsum(y_train[order]) / np.arange(1, n_train + 1)
last = np.flatnonzero(purity >= 0.9)[-1]
cut = train_scores[order][last]

rng = np.random.default_rng(0)
ways = ("cut on the training rows", "ConformalSelector")
shares, lengths = np.zeros((2, 2, 300))
for draw in range(300):
    drawn = n_train + rng.permutation(len(y) - n_train)
    held_out = drawn[:n_held_out]
    new = drawn[n_held_out : n_held_out + n_new]
    selector = ConformalSelector(FrozenEstimator(ranker), fdr=0.1)
    selector.fit(X[held_out], y[held_out])
    above = ranker.decision_function(X[new]) >= cut
    for way, selected in enumerate([above, selector.select(X[new])]):
        lengths[way, draw] = selected.sum()
        n_false = np.count_nonzero(selected & (y[new] == 0))
        shares[way, draw] = n_false / max(1, selected.sum())

for name, share, length in zip(ways, shares, lengths, strict=True):
    print(f"{name}: {length.mean():.0f} rows on average,", end=" ")
    print(f"mean share of false alarms {share.mean():.3f}")

# %%
# What more labelled rows buy
# ---------------------------
#
# With n held-out rows, a selection must contain at least ``1 / (fdr * (n
# + 1))`` of the batch. If n is small, the selection is usually empty,
# and the bound holds trivially.

numbers = [50, 100, 200, 500, 1_000, 2_000, 5_000]
mean_lengths = []
for number in numbers:
    found = []
    for _ in range(60):
        drawn = n_train + rng.permutation(len(y) - n_train)
        selector = ConformalSelector(FrozenEstimator(ranker), fdr=0.1)
        selector.fit(X[drawn[:number]], y[drawn[:number]])
        new = drawn[number : number + n_new]
        found.append(selector.select(X[new]).sum())
    mean_lengths.append(np.mean(found))
    print(f"{number:5} held-out rows: {mean_lengths[-1]:5.1f} selected")

# %%

figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.4, 6.6))
bins = np.linspace(0, 0.4, 41)
colours, hatches = ["#d55e00", "#0072b2"], ["////", ""]
for share, name, colour, hatch in zip(
    shares, ways, colours, hatches, strict=True
):
    options = {"facecolor": colour, "edgecolor": "white", "alpha": 0.85}
    top.hist(share, bins, label=name, hatch=hatch, **options)
    top.axvline(
        share.mean(),
        color=colour,
        linestyle="--",
        label=f"its mean, {share.mean():.3f}",
    )
top.axvline(0.1, color="black", linestyle="-", label="asked for, 0.1")
top.set(
    title="False alarms, 300 draws",
    xlabel="share among the selected rows",
    ylabel="draws",
)
top.legend(loc="upper right")
bottom.plot(numbers, mean_lengths, marker="o")
bottom.set_xscale("log")
bottom.set_xticks(numbers, numbers)
bottom.minorticks_off()
bottom.set(
    title="Length of the head, fdr = 0.1",
    xlabel="held-out rows",
    ylabel="mean rows of 1000",
    ylim=(0, None),
)
figure.suptitle(
    "The selector keeps its promise on average; a cut on the\n"
    "training rows does not"
)
plt.show()
