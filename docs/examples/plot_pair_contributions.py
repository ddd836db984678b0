"""
Which rows carry the p-norm push
================================

With a large p the highest-ranked negatives account for nearly all of the
risk.

Every negative adds the p-th power of its *height*, the sum of the losses
of its pairs with all positives. The bars show each row's share of the
total. At ``p=1`` every negative with a positive below it has a
noticeable share; at ``p=4`` those near the top have almost all of it,
and the exponential loss concentrates it more than counting errors does.
"""

# %%
# Eight rows
# ----------
#
# This is the list of :cite:t:`Rudin2009`, sec. 3.1: eight rows with
# scores 1 to 8, four of them positive. The scores are halved, since only
# then do Tables 1 and 2 of the paper hold.
# :class:`~sklearn_rank.plotting.PairContributionDisplay` draws what its
# Figures 1 and 4 show.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sklearn_rank import RankBoost
from sklearn_rank.plotting import PairContributionDisplay

scores = np.arange(1, 9) / 2
labels = np.array([-1, 1, -1, 1, -1, -1, 1, 1])
losses = ("zero_one", "exponential", "logistic")
display = PairContributionDisplay.from_predictions(
    labels, scores, p=(1, 2, 4), losses=losses
)
display.figure_.suptitle(
    "Shares of the rows in the p-norm push risk of eight rows"
)
plt.show()

# %%
# An error at the top costs more
# ------------------------------
#
# Swap two neighbours, once at the bottom of the list and once at the
# top, so that one more pair is out of order. If errors are counted with
# ``p=1``, both swaps cost the same; with ``p=4`` the one at the top
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
        risk = PairContributionDisplay.from_predictions(
            swapped, scores, p=p, losses=losses
        ).risk
        plt.close()
        zero_one, exponential, logistic = risk[:, 0]
        print(f"p = {p}, {name:18} {zero_one:8.0f}", end=" ")
        print(f"{exponential:12.2f} {logistic:11.2f}")

# %%
# A list of a thousand rows
# -------------------------
#
# Here a ranker has ordered rows it has not seen. The curves add up the
# shares from the top of the list: the larger p, the fewer negatives make
# up nearly all of the risk. That is also why a few mislabelled rows have
# a large effect when p is large.

X, y = make_classification(
    2_000, n_informative=5, weights=[0.8], flip_y=0.02, random_state=0
)
ranker = RankBoost(n_estimators=50).fit(X[:1_000], y[:1_000])
new_scores = ranker.decision_function(X[1_000:])
powers = (1, 2, 4, 16)
display = PairContributionDisplay.from_predictions(
    y[1_000:], new_scores, p=powers, losses="exponential", max_rows=1
)
plt.close()

negative = ~display.is_positive
figure, axes = plt.subplots()
for p, share in zip(
    powers, display.share[0, :, negative].T, strict=True
):
    total = np.cumsum(share)
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
