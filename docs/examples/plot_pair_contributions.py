"""
Which rows carry the p-norm push
================================

With a large p, the highest-ranked negatives account for nearly all of
the risk.

Every negative adds the p-th power of its *height*, the sum of the losses
of its pairs with all positives. The bars show each row's share of the
total. At ``p=1`` every negative with a positive below it has a
noticeable share; at ``p=4``, those near the top have almost all of it.
The exponential loss concentrates it more than counting errors does.
"""

# %%
# Eight rows
# ----------
#
# This is the list of :cite:t:`Rudin2009`, sec. 3.1: eight rows with
# scores 1 to 8, four of them positive. The scores are halved, because
# only then do Tables 1 and 2 of the paper hold. The bars reproduce its
# Figures 1 and 4.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_rank import RankBoost

LOSSES = {
    "zero-one": lambda margin: (margin <= 0).astype(float),
    "exponential": lambda margin: np.exp(-margin),
    "logistic": lambda margin: np.logaddexp(0, -margin),
}
LOOKS = [("#0072b2", ""), ("#d55e00", "////"), ("#009e73", "....")]


def shares_and_risk(labels, scores, p, loss):
    """Return the share of each row in the risk, and the risk."""
    positive = labels > 0
    margins = scores[positive, np.newaxis] - scores[~positive]
    terms = LOSSES[loss](margins).sum(axis=0) ** p
    shares = np.zeros(len(scores))
    shares[~positive] = terms / terms.sum()
    return shares, terms.sum()


def draw_shares(labels, scores, powers, losses=tuple(LOSSES)):
    """Draw a panel for each loss, with a bar for each row and p."""
    order = np.argsort(-scores)
    labels, scores = labels[order], scores[order]
    places, height = np.arange(1, len(scores) + 1), 0.8 / len(powers)
    figure, axes = plt.subplots(
        1, len(losses), sharey=True, figsize=(6.4, 4.6)
    )
    for panel, loss in zip(axes, losses, strict=True):
        for place in places[labels > 0]:
            panel.axhspan(place - 0.5, place + 0.5, color="0.94")
        for number, p in enumerate(powers):
            colour, hatch = LOOKS[number]
            panel.barh(
                places - 0.4 + (number + 0.5) * height,
                shares_and_risk(labels, scores, p, loss)[0],
                height=height,
                color=colour,
                hatch=hatch,
                edgecolor="white",
                label=f"p = {p}",
            )
        panel.set(title=loss, xlabel="share of the risk")
        panel.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
        panel.set_xlim(0, 1)
    signs = np.where(labels > 0, "+", "−")
    axes[0].set_yticks(places, [*map("{}  {}".format, places, signs)])
    axes[0].set_ylim(len(scores) + 0.5, 0.5)
    axes[0].set_ylabel("place (+ positive, − negative)")
    figure.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=len(powers),
    )
    return figure


scores = np.arange(1, 9) / 2
labels = np.array([-1, 1, -1, 1, -1, -1, 1, 1])
figure = draw_shares(labels, scores, powers=(1, 2, 4))
figure.suptitle(
    "Which of eight rows make up the risk, by loss and power p"
)
plt.show()

# %%
# An error at the top costs more
# ------------------------------
#
# Swap two neighbours, once at the bottom of the list and once at the
# top, so that one more pair is out of order. If errors are counted with
# ``p=1``, both swaps cost the same; with ``p=4``, the one at the top
# costs far more. The rows for ``p=4`` are those of the paper's Table 1.

swaps = {
    "as it is": [],
    "swap at the bottom": [0, 1],
    "swap at the top": [5, 6],
}
print("risk                     zero-one  exponential    logistic")
for p in (1, 4):
    for name, pair in swaps.items():
        swapped = labels.copy()
        swapped[pair] = labels[pair[::-1]]
        zero_one, exponential, logistic = (
            shares_and_risk(swapped, scores, p, loss)[1]
            for loss in LOSSES
        )
        print(f"p = {p}, {name:18} {zero_one:8.0f}", end=" ")
        print(f"{exponential:12.2f} {logistic:11.2f}")

# %%
# A list of a thousand rows
# -------------------------
#
# Here a ranker has ordered unseen rows. The curves accumulate the shares
# from the top of the list: the larger p, the fewer negatives make up
# nearly all of the risk. That is also why a few mislabelled rows have a
# large effect when p is large.

X, y = make_classification(
    2_000, n_informative=5, weights=[0.8], flip_y=0.02, random_state=0
)
ranker = RankBoost(n_estimators=50).fit(X[:1_000], y[:1_000])
new_scores = ranker.decision_function(X[1_000:])
order = np.argsort(-new_scores)
new_labels, new_scores = y[1_000:][order], new_scores[order]

figure, axes = plt.subplots()
for p in (1, 2, 4, 16):
    shares, _ = shares_and_risk(new_labels, new_scores, p, "exponential")
    total = np.cumsum(shares[new_labels == 0])
    n_needed = np.searchsorted(total, 0.9) + 1
    print(
        f"p = {p:2}: 90 % of it in {n_needed} of {len(total)} negatives"
    )
    axes.plot(np.arange(1, len(total) + 1), total, label=f"p = {p}")
axes.set(
    title="The larger p, the fewer negatives carry the risk",
    xlabel="negatives from the top of the list",
    ylabel="cumulative share of the risk",
    xscale="log",
    ylim=(0, 1.02),
)
axes.legend()
plt.show()
