"""
Margins of RankBoost and of the smooth margin ranker
====================================================

RankBoost may never reach the largest margin; the smooth margin ranker
converges to it.

The data set has nine rows and can be ranked without error. The margin of
:class:`~sklearn_rank.RankBoost` settles below the largest possible
margin and stays there, however many rounds it runs.
:class:`~sklearn_rank.SmoothMarginRanker` keeps widening the gap of the
closest pair and slowly approaches the largest margin.
"""

# %%
# Nine rows
# ---------
#
# The matrix of :cite:t:`RudinSchapire2009`, Theorem 6, has eight rows
# that belong on top, one that belongs below them, and eight features.
# Each feature orders at least two of the eight pairs wrongly. A linear
# program finds the largest possible margin for feature weights whose
# absolute values sum to one.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog

from sklearn_rank import RankBoost, SmoothMarginRanker

TOP = np.array(
    [
        [-1, 1, 1, 1, 1, -1, -1, 1],
        [-1, 1, 1, -1, -1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, 1, 1],
        [1, -1, 1, 1, -1, 1, 1, 1],
        [1, -1, 1, -1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, -1, 1],
        [1, 1, 1, 1, -1, -1, 1, -1],
    ]
)
X = np.vstack([TOP, np.zeros(8)])
y = np.array([1] * 8 + [0])

# The variables: positive parts and negative parts of the weights, then
# the margin.
program = linprog(
    c=np.append(np.zeros(16), -1),
    A_ub=np.hstack([-TOP, TOP, np.ones((8, 1))]),
    b_ub=np.zeros(8),
    A_eq=np.append(np.ones(16), 0)[None],
    b_eq=1,
    bounds=[(0, None)] * 16 + [(None, None)],
)
largest = -program.fun
print(f"largest margin: {largest:.4f}")

# %%
# Margins over the rounds
# -----------------------
#
# The curves are the margin after each round and, below it, the smooth
# margin, which in the smooth margin ranker never falls once it is
# positive (Theorem 7): with scores :math:`f`, weights of the features
# :math:`\lambda` and pairs of a row i above a row k,
#
# .. math:: \mu = \min_{i, k} \frac{f_i - f_k}{\|\lambda\|_1},
#
# .. math:: G = \frac{-\ln \sum_{i, k} e^{-(f_i - f_k)}}{\|\lambda\|_1}.


def draw_margins(axes, ranker, colour):
    """Draw both curves of a fitted RankBoost or SmoothMarginRanker."""
    name = type(ranker).__name__
    curves = {
        "margin": (ranker.margin_curve_, "-"),
        "smooth margin": (ranker.smooth_margin_curve_, "--"),
    }
    for kind, (curve, dashes) in curves.items():
        rounds = np.arange(1, len(curve) + 1)
        label = f"{name}: {kind}"
        axes.plot(rounds, curve, dashes, color=colour, label=label)


whole_steps = {"learning_rate": 1, "n_estimators": 3_000, "tol": 0}
rankers = [
    kind(weak_ranker="feature", **whole_steps).fit(X, y)
    for kind in (SmoothMarginRanker, RankBoost)
]
figure, axes = plt.subplots(layout="constrained")
for ranker, colour in zip(rankers, ("#0072b2", "#d55e00"), strict=True):
    draw_margins(axes, ranker, colour)
    name, rounds = type(ranker).__name__, ranker.n_iter_
    print(f"{name:18} margin {ranker.margin_:.4f} after {rounds} rounds")
# The first smooth margins lie far below the rest.
axes.set(
    xscale="log",
    ylim=(-0.3, 0.5),
    xlabel="round",
    ylabel="margin (score over $\\|\\lambda\\|_1$)",
)
axes.legend(loc="lower right")
axes.axhline(largest, color="0.4", linewidth=1.2)
axes.annotate(
    "largest margin",
    (1, largest),
    xytext=(0, 4),
    textcoords="offset points",
)
figure.suptitle("RankBoost's margin stays below the largest one")
plt.show()

# %%
# The margins of the eight pairs
# ------------------------------
#
# The smooth margin ranker makes the eight margins more similar: the
# closest pairs gain at the expense of the others.

figure, axes = plt.subplots()
pairs = np.arange(1, 9)
looks = [
    {"color": "#0072b2"},
    {"color": "#f0c9a8", "edgecolor": "#d55e00", "hatch": "///"},
]
for offset, ranker, look in zip(
    (-0.2, 0.2), rankers, looks, strict=True
):
    margins = TOP @ ranker.coef_ / np.abs(ranker.coef_).sum()
    axes.bar(
        pairs + offset,
        margins,
        width=0.4,
        label=type(ranker).__name__,
        **look,
    )
axes.axhline(largest, color="0.4", linewidth=1.2)
axes.set(
    title="SmoothMarginRanker raises the smallest of the eight margins",
    xlabel="pair (row of the matrix and the row below)",
    ylabel="margin",
    ylim=(0, 1.2),
)
axes.legend(loc="upper left", ncols=2)
plt.show()
