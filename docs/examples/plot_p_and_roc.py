"""
What p does to the ROC curve
============================

A larger p trades some of the area under the curve for fewer negatives at
the top of the list.

The model is a weighted sum of two features and has to compromise between
two kinds of negatives. :class:`~sklearn_rank.PNormPushRanker` with
``p=1`` favours the many and has the largest area under the ROC curve;
with ``p=16`` it focuses on the few that are ranked too high, and its
curve is the highest at the left end, the top of the list. If a model can
rank both kinds of negatives well, p changes little.
"""

# %%
# Two kinds of negatives
# ----------------------
#
# A fifth of the rows are positives. Most negatives are ordinary: feature
# A separates them from positives, and feature B misleads slightly. One
# negative in twenty is a lookalike: by feature A it looks like a
# positive, and only feature B gives it away.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import PercentFormatter
from sklearn.metrics import roc_auc_score, roc_curve

from sklearn_rank import PNormPushRanker
from sklearn_rank.plotting import TopROCDisplay


def make_rows(n_rows, seed):
    """Return features A and B, labels, and which rows are lookalikes."""
    rng = np.random.default_rng(seed)
    y = rng.random(n_rows) < 0.2
    lookalike = ~y & (rng.random(n_rows) < 0.05)
    ordinary = ~y & ~lookalike
    X = rng.standard_normal((n_rows, 2))
    X[ordinary] += [-2.0, 1.5]
    X[lookalike] = 0.5 * X[lookalike] + [0.5, -3.0]
    return X, y, lookalike


X, y, _ = make_rows(5_000, seed=0)
X_new, y_new, lookalike_new = make_rows(100_000, seed=1)

# The larger p, the darker, so that the order survives grey; the dashes
# tell them apart as well.
STYLES = {
    1: {"color": "#e69f00", "linestyle": "-"},
    2: {"color": "#009e73", "linestyle": (0, (6, 1.5))},
    4: {"color": "#0072b2", "linestyle": (0, (3, 1, 1, 1))},
    16: {"color": "#000000", "linestyle": (0, (1, 1))},
}
rankers = {
    p: PNormPushRanker(p=p, weak_ranker="feature").fit(X, y)
    for p in STYLES
}

# %%
# To the right of each line lie the five percent of the negatives that a
# ranker puts highest. With ``p=1``, many of them are lookalikes; with a
# larger p, the line turns away from the lookalikes and admits ordinary
# negatives instead.

kinds = {
    "ordinary negative": (~y_new & ~lookalike_new, "0.78", "o"),
    "lookalike": (lookalike_new, "#d55e00", "v"),
    "positive": (y_new, "#56b4e9", "+"),
}
_, axes = plt.subplots(figsize=(6.4, 5.4))
for name, (rows, color, marker) in kinds.items():
    some = np.flatnonzero(rows)[: rows[:2_000].sum()]
    axes.scatter(
        *X_new[some].T,
        s=14,
        color=color,
        marker=marker,
        linewidths=0.9,
        label=name,
    )
for p, ranker in rankers.items():
    cut = np.quantile(X_new[~y_new] @ ranker.coef_, 0.95)
    b = np.array([-5.0, 5.0])
    a = (cut - b * ranker.coef_[1]) / ranker.coef_[0]
    axes.plot(a, b, linewidth=2.2, label=f"p = {p}", **STYLES[p])
axes.set(
    title="A larger p turns the cut away from the lookalikes",
    xlabel="feature A",
    ylabel="feature B",
    xlim=(-5, 5),
    ylim=(-5, 5),
)
axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=3)
# sphinx_gallery_thumbnail_number = 2
plt.show()

# %%
# The top of the list, and the whole list
# ---------------------------------------
#
# The upper panel shows only the first five percent of the negatives:
# there the curves lie in the order of p. Further down the list, below,
# the order is reversed.

figure, (top, whole) = plt.subplots(
    2, 1, figsize=(6.4, 7.2), layout="constrained"
)
print("   p    AUC   positives above the first 1 % and 5 % of negatives")
for p, ranker in rankers.items():
    scores = ranker.decision_function(X_new)
    false_share, true_share, _ = roc_curve(
        y_new, scores, drop_intermediate=False
    )
    auc = roc_auc_score(y_new, scores)
    found = np.interp([0.01, 0.05], false_share, true_share)
    print(f"{p:4} {auc:6.3f}   {found[0]:.3f} {found[1]:.3f}")
    label = f"p = {p:<3} (AUC {auc:.3f})"
    for axes in (top, whole):
        axes.plot(
            false_share,
            true_share,
            label=label,
            linewidth=2.2,
            **STYLES[p],
        )

top.set(
    title="The top of the list",
    xlim=(0, 0.05),
    ylim=(0, 0.5),
    xlabel="share of negatives above the cut",
    ylabel="share of positives above the cut",
)
whole.set(
    title="The whole list",
    xlim=(0, 1),
    ylim=(0, 1.01),
    xlabel=top.get_xlabel(),
    ylabel=top.get_ylabel(),
)
whole.axvspan(0, 0.05, color="0.88", zorder=0)
whole.annotate(
    "shown above",
    (0.05, 0.06),
    (0.14, 0.06),
    color="#333333",
    va="center",
    arrowprops={"arrowstyle": "->", "color": "#333333"},
)
for axes in (top, whole):
    axes.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.yaxis.set_major_formatter(PercentFormatter(1, decimals=0))
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(color="0.9", linewidth=0.8)
    axes.set_axisbelow(True)
top.legend(frameon=False, loc="lower right", handlelength=3.5)
figure.suptitle(
    "A larger p is better at the top of the list, and worse further down"
)
plt.show()

# %%
# :class:`~sklearn_rank.plotting.TopROCDisplay` draws such a curve in one
# call. A logarithmic axis gives every decade of the list the same space,
# which makes the very top visible.

axes = None
for p in (1, 4, 16):
    scores = rankers[p].decision_function(X_new)
    axes = TopROCDisplay.from_predictions(
        y_new,
        scores,
        name=f"p = {p}",
        max_fpr=1.0,
        xscale="log",
        ax=axes,
        **STYLES[p],
    ).ax_
axes.set_xlim(left=1e-4)
axes.figure.suptitle("Every decade of the list")
plt.show()

# %%
# The right p depends on how far down the list anyone will look. To
# choose p by cross-validation, score all candidates by the same metric
# with ``score_p``; otherwise they are judged by the AUC, which favours
# ``p=1``. The p-norm push is from :cite:t:`Rudin2009`, section 2, and
# ``score_p`` is its normalised loss of section 4.
