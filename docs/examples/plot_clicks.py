"""
From clicks to a ranking
========================

Users click what they see; weights correct for what they did not see.

We simulate a log of clicks: a ranker sorts by a poor feature, and users
look at low positions less often. One model learns from the raw clicks;
the other weights each click according to how often its position is seen.
"""

# %%
# A log of clicks
# ---------------
#
# A ranker shows ten rows of each query, in an order that varies from
# impression to impression. Users look at position :math:`k` with
# probability :math:`1 / k`.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_rank import RankBoost
from sklearn_rank.clicks import (
    PositionPropensity,
    click_pairs,
    make_clicks,
)
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import ndcg_score
from sklearn_rank.pairs import PairRanker

data = make_queries(n_queries=200, rows_per_query=15, random_state=0)
train = data.qid < 100
X, y, qid = data.data[train], data.target[train], data.qid[train]
X_new, y_new = data.data[~train], data.target[~train]
qid_new = data.qid[~train]

noise = np.random.default_rng(0).normal(size=(2, len(y)))
log = make_clicks(
    y, X[:, 1] + noise, qid, n_impressions=20_000, random_state=0
)
print(f"{len(log.click):,} rows shown, {log.click.sum():,} clicks")

# %%
# How often is each position seen?
# --------------------------------
#
# :class:`~sklearn_rank.clicks.PositionPropensity` compares the clicks on
# the same row at different positions.

bias = PositionPropensity(n_bootstrap=50, random_state=0)
bias.fit(log.click, log.position, log.row, log.qid)
propensity = np.minimum(bias.propensity_, 1)

# %%
# Two models
# ----------
#
# :func:`~sklearn_rank.clicks.click_pairs` gives a click at a position
# that one user in five sees the weight 5.

raw = RankBoost(n_estimators=50, relevance="graded")
raw.fit(X[log.row], log.click, qid=log.impression)

found = click_pairs(
    log.click, log.position, log.row, log.impression, propensity
)
weighted = PairRanker(RankBoost(n_estimators=50))
weighted.fit(X, found.pairs, sample_weight=found.weight)

grades = RankBoost(n_estimators=50, relevance="graded").fit(
    X, y, qid=qid
)

scores = {
    "order of the log": X_new[:, 1],
    "raw clicks": raw.predict(X_new),
    "weighted clicks": weighted.predict(X_new),
    "true grades": grades.predict(X_new),
}
ndcg = {
    name: ndcg_score(y_new, score, qid=qid_new, k=10)
    for name, score in scores.items()
}
for name, value in ndcg.items():
    print(f"{name:17} NDCG@10 of new queries {value:.3f}")

# %%
# Weights close most of the gap between raw clicks and true grades. A
# real log has no grades: compare rankers with
# :func:`~sklearn_rank.clicks.dcg_from_clicks` on other impressions, or
# show both to users.

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 3.6))
positions = np.arange(1, 11)
low, high = bias.interval_.T
left.fill_between(positions, low, high, alpha=0.3, label="95 % interval")
left.plot(positions, bias.propensity_, marker="o", label="estimate")
left.plot(positions, 1 / positions, label="true")
left.set(
    title="Who looks there?", xlabel="position", ylabel="propensity"
)
left.set(ylim=(0, 1.05), xticks=[1, 4, 7, 10])
left.legend()
right.plot(list(ndcg.values()), list(ndcg), "o", markersize=9)
right.invert_yaxis()
right.set(title="NDCG@10, new queries", xlim=(0.67, 0.93))
figure.suptitle("Weighted clicks rank nearly as well as true grades")
plt.show()
