"""
Kernel ranking on a ring
========================

No weighted sum of the features ranks a ring above its centre; a kernel
ranker does.

Rows near a circle belong above the rows inside and outside it.
:class:`~sklearn_rank.KernelPairwiseSGDRanker` with ``kernel="linear"``
can only rank along one direction, which is no better than chance here.
With ``kernel="rbf"`` its score is highest on the ring and falls on both
sides.
"""

# %%
# The ring
# --------

import matplotlib.pyplot as plt
import numpy as np

from sklearn_rank import KernelPairwiseSGDRanker


def make_ring(n_rows, seed):
    """Return points, and whether they belong at the top: on a ring."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_rows, 2))
    distance = np.abs(np.hypot(*X.T) - 1.0)
    return X, distance + 0.15 * rng.standard_normal(n_rows) < 0.25


X, y = make_ring(800, seed=0)
X_new, y_new = make_ring(5_000, seed=1)

# %%
# Two kernels
# -----------
#
# The default solver, L-BFGS, finds the minimum of the regularised mean
# loss over all pairs, the problem of :cite:t:`Chen2012`, Lemma 3.1;
# ``solver="gd"`` takes the steps of their equation (1.5).

rankers = {
    kernel: KernelPairwiseSGDRanker(
        kernel=kernel, gamma=2.0, alpha=1e-4
    ).fit(X, y)
    for kernel in ("linear", "rbf")
}
for kernel, ranker in rankers.items():
    seen, new = ranker.score(X, y), ranker.score(X_new, y_new)
    print(
        f"{kernel:6} AUC {seen:.3f} in training, {new:.3f} on new rows"
    )

# %%
# What they have learned
# ----------------------
#
# Lighter means higher in the list. The colour is the share of new rows
# ranked below, so both panels have the same scale; the lines mark every
# tenth of the list.

ticks = np.linspace(-2, 2, 200)
grid = np.column_stack(
    [axis.ravel() for axis in np.meshgrid(ticks, ticks)]
)
figure, panels = plt.subplots(1, 2, figsize=(6.4, 4.9), sharey=True)
for axes, (kernel, ranker) in zip(panels, rankers.items(), strict=True):
    below = np.sort(ranker.decision_function(X_new))
    share = np.searchsorted(below, ranker.decision_function(grid)) / len(
        below
    )
    levels = np.linspace(0, 1, 11)
    surface = axes.contourf(
        ticks, ticks, share.reshape(200, 200), levels=levels
    )
    axes.contour(
        ticks,
        ticks,
        share.reshape(200, 200),
        levels=levels,
        colors="w",
        linewidths=0.4,
    )
    axes.scatter(
        *X[~y].T,
        s=9,
        c="k",
        marker="x",
        linewidths=0.7,
        label="negative",
    )
    axes.scatter(
        *X[y].T,
        s=12,
        c="w",
        edgecolor="k",
        linewidths=0.7,
        label="positive",
    )
    auc = ranker.score(X_new, y_new)
    axes.set(
        title=f"{kernel}, AUC {auc:.2f}",
        xlabel="first feature",
        aspect="equal",
    )
    axes.grid(visible=False)
panels[0].set_ylabel("second feature")
figure.suptitle("The rbf kernel finds the ring")
figure.legend(
    *panels[0].get_legend_handles_labels(),
    loc="outside lower center",
    ncols=2,
    handlelength=1.0,
)
figure.colorbar(
    surface,
    ax=panels,
    location="bottom",
    aspect=40,
    label="share of the list below",
    format="{x:.0%}",
)
plt.show()
