"""
Which loss for wrong labels?
============================

If the clearest rows are mislabelled, the hinge loss suffers least.

:class:`~sklearn_rank.KernelPairwiseSGDRanker` minimises a loss of the
margin of each pair. The four losses here differ in how strongly they
penalise pairs that are far out of order, such as pairs with a
mislabelled row. With clean labels, the choice hardly matters. With
randomly wrong labels, the rankers differ by little more than chance. If
the labels of the clearest rows are wrong, they differ more, and all of
them suffer.
"""

# %%
# Losses of a margin
# ------------------
#
# The margin of a pair is the score of the more relevant row minus the
# score of the other. If it is negative, the pair is out of order.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank.objectives import pair_loss_and_gradient

LOSSES = ["hinge", "logistic", "least_squares", "exponential"]

margins = np.linspace(-4, 2.5, 101)
_, axes = plt.subplots()
for loss in LOSSES:
    values = [
        pair_loss_and_gradient([0, 1], [0, m], loss=loss)[0]
        for m in margins
    ]
    axes.plot(margins, values, label=loss)
axes.set(
    title="Far out of order a pair costs most with the exponential loss",
    xlabel="margin of the pair",
    ylabel="loss",
    ylim=(0, 30),
)
axes.legend()
# sphinx_gallery_thumbnail_number = 2
plt.show()

# %%
# Wrong labels
# ------------
#
# A linear ranker learns from 300 rows. Some of their labels are flipped:
# in random rows, or in the rows furthest from the class boundary. It is
# tested on 2,000 rows with clean labels; the curves are means over six
# data sets, the same for all losses.


def make_rows(n_rows, rng):
    """Return features, clean labels, and how clear each label is."""
    X = rng.standard_normal((n_rows, 8))
    utility = X @ [1, 1, 0.5, 0.5, 0, 0, 0, 0]
    return (
        X,
        utility + 0.5 * rng.logistic(size=n_rows) > 0,
        np.abs(utility),
    )


def clean_auc(loss, share, at_random, seed):
    """Return the AUC on clean rows after learning from wrong labels."""
    rng = np.random.default_rng(seed)
    X, y, clearness = make_rows(300, rng)
    X_new, y_new, _ = make_rows(2_000, rng)
    order = (
        rng.permutation(len(y)) if at_random else np.argsort(-clearness)
    )
    wrong = order[: round(share * len(y))]
    y[wrong] = ~y[wrong]
    ranker = KernelPairwiseSGDRanker(loss=loss, kernel="linear").fit(
        X, y
    )
    return ranker.score(X_new, y_new)


shares = [0.0, 0.03, 0.06, 0.09, 0.12]
figure, panels = plt.subplots(1, 2, figsize=(6.4, 4.2), sharey=True)
for axes, at_random in zip(panels, [True, False], strict=True):
    kind = "random rows" if at_random else "the clearest rows"
    print(f"AUC with wrong labels in {kind}, mean (standard error)")
    for loss in LOSSES:
        aucs = np.array(
            [
                [
                    clean_auc(loss, s, at_random, seed)
                    for seed in range(6)
                ]
                for s in shares
            ]
        )
        mean, error = (
            aucs.mean(axis=1),
            aucs.std(axis=1, ddof=1) / np.sqrt(6),
        )
        print(
            f"{loss:14}",
            *(
                f"{m:.3f} ({e:.3f})"
                for m, e in zip(mean, error, strict=True)
            ),
        )
        axes.plot(100 * np.array(shares), mean, label=loss)
    axes.set(title=f"In {kind}", xlabel="wrong labels, %")
panels[0].set_ylabel("AUC on clean rows")
panels[0].legend(loc="lower left")
figure.suptitle(
    "Wrong labels hurt the hinge loss least,\nthe exponential loss most"
)
plt.show()

# %%
# How fast a loss grows is not everything: least squares does about as
# well as the logistic loss.
#
# :class:`~sklearn_rank.PNormPushRanker` accepts the same values of
# ``loss``; there the power p further increases the cost of the highest
# rows. The sums over pairs are those of :cite:t:`Chen2012`, equation
# (1.2).
