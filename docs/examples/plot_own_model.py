"""
A neural network of your own, trained on all pairs
==================================================

Train any differentiable model on the exact loss over all pairs.

:func:`~sklearn_rank.objectives.pair_loss_and_gradient` takes labels,
scores and query ids, and returns the loss over all pairs and its
gradient with respect to the scores. The chain rule does the rest, here
through a network with one hidden layer in NumPy and SciPy. The relevance
depends on a product of two features, which a weighted sum cannot
represent; the network can, and it ranks new queries better.
"""

# %%
# Queries
# -------
#
# The utility of :func:`~sklearn_rank.datasets.make_queries` is linear
# except for the product of the first two features. Every query shifts
# its features; subtracting the query mean leaves what distinguishes its
# rows.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize

from sklearn_rank import ListNetLinear
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import compare_rankings, ndcg_score
from sklearn_rank.objectives import pair_loss_and_gradient

N_ROWS, N_TRAIN = 25, 200
data = make_queries(300, N_ROWS, n_features=6, random_state=0)
X = data.data.reshape(300, N_ROWS, -1)
X = (X - X.mean(axis=1, keepdims=True)).reshape(len(data.data), -1)
train, test = data.qid < N_TRAIN, data.qid >= N_TRAIN

# %%
# The network
# -----------
#
# One vector holds all coefficients, as SciPy expects. The mean logistic
# loss over all pairs within queries is that of :cite:t:`Burges2005`
# (RankNet), without sampling pairs. The library returns the gradient
# with respect to the scores; three lines propagate it to the
# coefficients.

N_HIDDEN, ALPHA = 8, 1e-3
N_FEATURES = X.shape[1]


def parts(w):
    """Return hidden weights, hidden biases and output weights."""
    hidden, bias, output = np.split(
        w, [N_FEATURES * N_HIDDEN, (N_FEATURES + 1) * N_HIDDEN]
    )
    return hidden.reshape(N_FEATURES, N_HIDDEN), bias, output


def scores_of(w, X):
    """Return the score of each row."""
    hidden, bias, output = parts(w)
    return np.tanh(X @ hidden + bias) @ output


def objective(w, X, y, qid, n_pairs):
    """Return the mean loss of all pairs plus a ridge; the gradient."""
    hidden, bias, output = parts(w)
    layer = np.tanh(X @ hidden + bias)
    loss, by_score = pair_loss_and_gradient(y, layer @ output, qid=qid)
    back = np.outer(by_score, output) * (1 - layer**2)
    by_part = [(X.T @ back).ravel(), back.sum(0), layer.T @ by_score]
    gradient = np.concatenate(by_part) / n_pairs + ALPHA * w
    return loss / n_pairs + ALPHA / 2 * w @ w, gradient


X_train, y_train, qid_train = (
    X[train],
    data.target[train],
    data.qid[train],
)
# With all scores equal every pair has the loss log 2.
at_zero = pair_loss_and_gradient(
    y_train, np.zeros(train.sum()), qid=qid_train
)
n_pairs = round(at_zero[0] / np.log(2))
n_coefficients = (N_FEATURES + 2) * N_HIDDEN
start = 0.3 * np.random.default_rng(0).standard_normal(n_coefficients)
found = minimize(
    objective,
    start,
    args=(X_train, y_train, qid_train, n_pairs),
    jac=True,
    method="L-BFGS-B",
    options={"maxiter": 200},
)
print(f"{n_pairs:,} pairs, objective {found.fun:.3f}, {found.nit} steps")

# %%
# New queries
# -----------

linear = ListNetLinear().fit(X_train, y_train, qid=qid_train)
scorers = {
    "linear": linear.predict,
    "network": lambda X: scores_of(found.x, X),
}
ndcg = {}
for name, scorer in scorers.items():
    ndcg[name] = ndcg_score(
        data.target[test],
        scorer(X[test]),
        qid=data.qid[test],
        k=10,
        average=None,
    )
    print(f"{name:8} NDCG@10 {ndcg[name].mean():.3f} on new queries")
both = compare_rankings(ndcg["network"], ndcg["linear"], random_state=0)
print(f"network minus linear: {both.difference:+.3f}", end=", ")
print(f"95 % interval {both.low:+.3f} to {both.high:+.3f}")

# %%
# What the network has learned
# ----------------------------
#
# The figure shows the score as a function of the first two features,
# with the others at zero. The utility is the first feature plus four
# fifths of the second plus their product: where both are low, the
# product raises the utility again.

ticks = np.linspace(-2, 2, 100)
first, second = np.meshgrid(ticks, ticks)
grid = np.zeros((first.size, N_FEATURES))
grid[:, 0], grid[:, 1] = first.ravel(), second.ravel()
truth = {
    "utility": lambda X: X[:, 0] + 0.8 * X[:, 1] + X[:, 0] * X[:, 1]
}

figure, panels = plt.subplots(1, 3, figsize=(6.4, 3.0), sharey=True)
for axes, (name, scorer) in zip(
    panels, (scorers | truth).items(), strict=True
):
    surface = scorer(grid).reshape(first.shape)
    axes.contourf(ticks, ticks, surface, levels=12)
    axes.contour(
        ticks,
        ticks,
        surface,
        levels=12,
        colors="w",
        linewidths=0.5,
        linestyles="-",
    )
    axes.set(title=name, xlabel="first feature", aspect="equal")
    axes.grid(visible=False)
panels[0].set_ylabel("second feature")
figure.suptitle("The network bends its score as the utility does")
plt.show()
