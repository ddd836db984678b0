"""
Recommendation in two stages
============================

Matrix factorisation finds candidates, a ranker orders them, and weights
correct for sampled negatives.

A shop has too many items to score every item for every customer. A cheap
model therefore picks a hundred candidates, and a ranker that sees
features of customer and item puts the best ones on top. The ranker
learns from purchases and from a sample of items that were not bought.
This page builds both stages and evaluates them on later purchases.
"""

# %%
# Purchases
# ---------
#
# The data are generated. Customers have tastes and items have kinds, in
# six dimensions that nobody observes, and items have visible prices.
# Customers buy popular items that suit their taste and budget.

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_array
from sklearn.decomposition import TruncatedSVD

from sklearn_rank import BoostedTreesRanker
from sklearn_rank.metrics import (
    bootstrap_interval,
    compare_rankings,
    ndcg_score,
)
from sklearn_rank.preprocessing import QueryMinMaxScaler

N_USERS, N_ITEMS, N_BOUGHT = 1_200, 1_500, 40
rng = np.random.default_rng(0)

taste = rng.normal(size=(N_USERS, 6))
kind = rng.normal(size=(N_ITEMS, 6))
budget, price = rng.normal(size=N_USERS), rng.normal(size=N_ITEMS)
popularity = rng.normal(scale=1.2, size=N_ITEMS)
utility = (
    0.6 * taste @ kind.T
    + popularity
    - 2.5 * np.abs(budget[:, np.newaxis] - price)
)
# The largest sums of utility and noise are draws without replacement.
noisy = utility + rng.gumbel(size=utility.shape)
item = np.argsort(-noisy, axis=1)[:, :N_BOUGHT]
item = rng.permuted(item, axis=1).ravel()
user = np.repeat(np.arange(N_USERS), N_BOUGHT)
time = rng.random(len(user))
print(f"{len(user)} purchases of {N_USERS} customers")

# %%
# Three periods
# -------------
#
# The split follows time, as in production. Features use only what was
# known before: the ranker learns to predict the second period from the
# first, and is tested on the third, with features from the first two.

first, second, third = (
    time < 0.6,
    (time >= 0.6) & (time < 0.8),
    time >= 0.8,
)


def matrix(rows):
    """Return a table of customers and items: 1 where it was bought."""
    ones = np.ones(np.count_nonzero(rows))
    shape = N_USERS, N_ITEMS
    return csr_array((ones, (user[rows], item[rows])), shape=shape)


# %%
# Candidates from matrix factors
# ------------------------------
#
# A truncated singular value decomposition of the table describes each
# customer and each item by a few numbers. Their product is large where
# similar customers bought the item. Each customer gets the hundred items
# with the largest products among those not bought yet.

N_CANDIDATES = 100


class Past:
    """What is known from some purchases."""

    def __init__(self, rows):
        bought = matrix(rows)
        svd = TruncatedSVD(12, random_state=0)
        self.factors = svd.fit_transform(bought) @ svd.components_
        self.is_bought = bought.toarray() > 0
        self.count = self.is_bought.sum(axis=0)
        n_bought = np.maximum(self.is_bought.sum(axis=1), 1)
        self.usual_price = self.is_bought @ price / n_bought
        together = (bought.T @ bought).toarray() / (self.count + 10.0)
        np.fill_diagonal(together, 0)
        self.near = bought @ together

    def candidates(self):
        """Return the candidates of each customer, best first."""
        scores = np.where(self.is_bought, -np.inf, self.factors)
        return np.argsort(-scores, axis=1)[:, :N_CANDIDATES]

    def features(self, candidates):
        """Return features of each customer's candidates, row by row."""
        users = np.repeat(np.arange(N_USERS), N_CANDIDATES)
        items = candidates.ravel()
        return np.column_stack(
            [
                self.factors[users, items],
                self.near[users, items],
                np.log1p(self.count[items]),
                price[items],
                np.abs(price[items] - self.usual_price[users]),
            ]
        )


# %%
# The first stage limits the second, which can only show candidates.

past, known = Past(first), Past(first | second)
candidates = known.candidates()
wanted = matrix(third).toarray() > 0
found = np.take_along_axis(wanted, candidates, axis=1)
share = found.sum() / wanted.sum()
print(f"{share:.0%} of the later purchases are among the candidates")

# %%
# Sampled negatives, and their weights
# ------------------------------------
#
# The ranker learns from the kind of lists that it will rank: the
# candidates of each customer after the first period, of which those
# bought in the second are relevant.
#
# Products of factors and counts grow with the number of purchases:
# thresholds learned on one period do not suit the features of two.
# :class:`~sklearn_rank.preprocessing.QueryMinMaxScaler` maps each
# feature to the same range within each customer's list.

learned = past.candidates()
is_bought = np.take_along_axis(
    matrix(second).toarray() > 0, learned, axis=1
)
users = np.repeat(np.arange(N_USERS), N_CANDIDATES)
scaler = QueryMinMaxScaler()
X_unscaled = past.features(learned)
X = scaler.fit_transform(X_unscaled, qid=users)

# %%
# In long lists, most rows are items that were not bought, and a small
# sample of them is enough. Uniform sampling needs no correction. Popular
# items are harder examples, so sampling in proportion to popularity
# seems better; but then popular items are overrepresented among the
# negatives, and the ranker learns that popularity is bad.
#
# The remedy is a weight. If row :math:`j` is drawn :math:`m q_j` times
# on average, its weight is :math:`1 / (m q_j)`: the weighted sum of
# losses over the draws then has, on average, the value of the sum over
# all rows. With a softmax loss, this equals subtracting
# :math:`\ln(m q_j)` from the score, the form used in papers on
# recommendation.

N_DRAWN = 20


def draws(rate):
    """Return rows and columns of negatives, and their mean counts."""
    share = np.where(is_bought, 0.0, rate)
    share /= share.sum(axis=1, keepdims=True)
    point = rng.random((N_USERS, N_DRAWN, 1))
    column = (share.cumsum(axis=1)[:, np.newaxis] < point).sum(axis=2)
    row = np.repeat(np.arange(N_USERS), N_DRAWN)
    column = np.minimum(column.ravel(), N_CANDIDATES - 1)
    return row, column, N_DRAWN * share[row, column]


def fit(row, column, weight, X=X):
    """Return a ranker of purchases above other candidates."""
    row = np.concatenate([np.nonzero(is_bought)[0], row])
    column = np.concatenate([np.nonzero(is_bought)[1], column])
    weight = np.concatenate([np.ones(is_bought.sum()), weight])
    ranker = BoostedTreesRanker(
        n_estimators=40, learning_rate=0.1, relevance="graded"
    )
    return ranker.fit(
        X[row * N_CANDIDATES + column],
        is_bought[row, column],
        qid=row,
        sample_weight=weight,
    )


every = np.nonzero(~is_bought)
drawn, popular = (
    draws(np.ones(learned.shape)),
    draws(past.count[learned]),
)
rankers = {
    "all candidates": fit(*every, np.ones(len(every[0]))),
    "uniform draws": fit(*drawn[:2], np.ones(len(drawn[0]))),
    "popular draws": fit(*popular[:2], np.ones(len(popular[0]))),
    "the same, weighted": fit(*popular[:2], 1 / popular[2]),
}
unscaled = fit(*drawn[:2], np.ones(len(drawn[0])), X=X_unscaled)
n_rows = [len(one[0]) + is_bought.sum() for one in (every, popular)]
print(f"{n_rows[0]} rows, or {n_rows[1]} with draws")

# %%
# On later purchases
# ------------------
#
# Each list has the candidates of one customer, in the order of a model.
# The recall counts all later purchases, so purchases that are not among
# the candidates lower it for every model.

items = candidates.ravel()
X_new_unscaled = known.features(candidates)
X_new = scaler.transform(X_new_unscaled, qid=users)
scores = {
    "most popular first": known.count[items].astype(float),
    "factors alone": known.factors[users, items],
    "uniform, not scaled": unscaled.predict(X_new_unscaled),
    **{name: ranker.predict(X_new) for name, ranker in rankers.items()},
}
relevance = found.ravel().astype(int)
has_one = np.repeat(found.any(axis=1), N_CANDIDATES)


def recall(score):
    """Return the share of the later purchases in the first ten."""
    top = np.argsort(-score.reshape(candidates.shape), axis=1)[:, :10]
    return np.take_along_axis(found, top, axis=1).sum() / wanted.sum()


# Customers without a purchase among the candidates have no NDCG.
ndcg = {
    name: ndcg_score(
        relevance[has_one],
        score[has_one],
        qid=users[has_one],
        k=10,
        average=None,
    )
    for name, score in scores.items()
}
intervals = [
    bootstrap_interval(one, n_resamples=1_000, random_state=0)
    for one in ndcg.values()
]
for name, one in zip(scores, intervals, strict=True):
    print(
        f"{name:19} recall@10 {recall(scores[name]):.3f}, NDCG@10 "
        f"{one.mean:.3f} ({one.low:.3f} to {one.high:.3f})"
    )

# %%
# The lists belong to the same customers, so these intervals say little
# about differences; differences have their own intervals.

for better, worse in [
    ("uniform draws", "factors alone"),
    ("uniform, not scaled", "factors alone"),
    ("popular draws", "factors alone"),
    ("the same, weighted", "popular draws"),
    ("uniform draws", "all candidates"),
]:
    one = compare_rankings(
        ndcg[better], ndcg[worse], n_resamples=1_000, random_state=0
    )
    print(
        f"{better} minus {worse}: {one.difference:+.3f} "
        f"({one.low:+.3f} to {one.high:+.3f})"
    )

# %%
# The ranker improves on the factors because it combines them with
# co-purchases, popularity and prices; a quarter of the rows is enough.
# A second stage does not always pay: on features that were not scaled
# within lists, the ranker is no better than the factors alone, and after
# popular draws without weights it is worse. The weights fix that.

figure, axes = plt.subplots()
place = np.arange(len(intervals))
mean = np.array([one.mean for one in intervals])
bounds = np.array([[one.low, one.high] for one in intervals]).T
axes.errorbar(
    mean, place, xerr=np.abs(bounds - mean), fmt="o", capsize=3
)
axes.set(
    yticks=place,
    yticklabels=list(scores),
    xlabel="NDCG@10, 95 % interval",
)
axes.invert_yaxis()
figure.suptitle("Scaled features and weights make the ranker pay")
plt.show()
