"""
Learning to rank queries, from folds to intervals
=================================================

Pass the query id once, and it reaches fitting, splitting and scoring.

Rows are compared only within their query. We tune two rankers by
cross-validation that keeps queries whole, and compare them on queries
that neither has seen. Intervals show how much the result would vary with
other queries.
"""

# %%
# Queries
# -------
#
# :func:`~sklearn_rank.datasets.make_queries` generates queries with
# graded relevance: a row's utility is a linear function of the features
# plus a product of two of them, and every query shifts its features by
# an amount unrelated to relevance.

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_rank import ListNetLinear, RankBoost
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import (
    bootstrap_interval,
    compare_rankings,
    ndcg_score,
    ranking_scorer,
)
from sklearn_rank.model_selection import QueryKFold, QueryShuffleSplit
from sklearn_rank.plotting import RankedListDisplay
from sklearn_rank.preprocessing import QueryMinMaxScaler

sklearn.set_config(enable_metadata_routing=True)

data = make_queries(n_queries=300, rows_per_query=25, random_state=0)
split = QueryShuffleSplit(n_splits=1, test_size=1 / 3, random_state=0)
train, test = next(split.split(data.data, data.target, qid=data.qid))
X, y, qid = data.data[train], data.target[train], data.qid[train]
X_test, y_test, qid_test = (
    data.data[test],
    data.target[test],
    data.qid[test],
)
n_train, n_test = len(np.unique(qid)), len(np.unique(qid_test))
print(f"{n_train} queries to learn from, {n_test} to test with")

# %%
# Two searches
# ------------
#
# Pass ``qid`` to ``fit`` of the search, which passes it to every part
# that needs it: the splitter, the scaler inside the pipeline, the ranker
# and the scorer. The scaler maps each feature to the same range within
# each query. A linear ranker needs this; stumps do not.

linear = make_pipeline(QueryMinMaxScaler(), ListNetLinear())
stumps = make_pipeline(
    QueryMinMaxScaler(), RankBoost(relevance="graded")
)
candidates = {
    "ListNetLinear": (
        linear,
        {"listnetlinear__alpha": [1e-4, 1e-3, 1e-2, 1e-1]},
    ),
    "RankBoost": (
        stumps,
        {"rankboost__n_estimators": [25, 50, 100, 200]},
    ),
}
searches = {}
for name, (model, grid) in candidates.items():
    search = GridSearchCV(
        model,
        grid,
        cv=QueryKFold(5),
        scoring=ranking_scorer("ndcg@10"),
        error_score="raise",
    )
    searches[name] = search.fit(X, y, qid=qid)
    print(f"{search.best_params_}: NDCG@10 {search.best_score_:.3f}")

# %%
# New queries
# -----------
#
# With ``average=None``, metrics return one value per query.
# :func:`~sklearn_rank.metrics.bootstrap_interval` resamples the queries
# to see how much their mean varies. For comparison, we add a linear
# regression of the relevance, which ignores queries, and the first
# feature by itself. (``predict`` of a search does not pass ``qid`` on,
# hence ``best_estimator_``.)

regression = Ridge().fit(X, y)
scores = {
    name: search.best_estimator_.predict(X_test, qid=qid_test)
    for name, search in searches.items()
}
scores["regression"] = regression.predict(X_test)
scores["first feature"] = X_test[:, 0]
ndcg = {
    name: ndcg_score(y_test, score, qid=qid_test, k=10, average=None)
    for name, score in scores.items()
}
intervals = {
    name: bootstrap_interval(value, random_state=0)
    for name, value in ndcg.items()
}
for name, found in intervals.items():
    interval = f"{found.low:.3f} to {found.high:.3f}"
    print(f"{name:14} {found.mean:.3f}, 95 % interval {interval}")

# %%
# All these means are over the same queries: to compare two of them, look
# at the difference within each query.
# :func:`~sklearn_rank.metrics.compare_rankings` bootstraps that, and
# tests it by exchanging the two rankings in random queries
# :cite:p:`Smucker2007`. The linear ranker is not always ahead: the
# utility of these data is linear except for one product, which a sum of
# stumps cannot represent either.

others = ["RankBoost", "regression"]
differences = {
    name: compare_rankings(
        ndcg["ListNetLinear"], ndcg[name], random_state=0
    )
    for name in others
}
for name, found in differences.items():
    interval = f"{found.low:+.3f} to {found.high:+.3f}"
    print(
        f"ListNetLinear minus {name}: {found.difference:+.3f}", end=", "
    )
    print(f"95 % interval {interval}, p-value {found.p_value:.4f}")

# %%


def draw(axes, found, middle):
    """Draw intervals as lines with a mark at their middle."""
    for place, one in enumerate(found.values()):
        axes.plot(
            [one.low, one.high],
            [place, place],
            color="#0072b2",
            linestyle="-",
        )
        axes.plot(getattr(one, middle), place, "o", color="#0072b2")
    axes.set_yticks(range(len(found)), found)
    axes.set_ylim(len(found) - 0.5, -0.5)


figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(6.4, 4.6), height_ratios=[4, 3]
)
draw(top, intervals, "mean")
top.set(title="NDCG@10 on new queries", xlabel="mean, 95 % interval")
draw(bottom, differences, "difference")
bottom.axvline(0, color="0.4", linewidth=1.0)
figure.suptitle("Rankings of queries that none of the models has seen")
bottom.set(
    title="ListNetLinear minus another ranker",
    xlabel="mean difference, 95 % interval",
)
plt.show()

# %%
# The average list
# ----------------
#
# :class:`~sklearn_rank.plotting.RankedListDisplay` averages the lists of
# all queries: the darker the strip, the higher the relevance at a
# position. Rows with a relevance above zero count as relevant.

display = RankedListDisplay.from_predictions(
    y_test, scores["ListNetLinear"], qid=qid_test
)
display.figure_.suptitle(
    "ListNetLinear on new queries, from the top of their lists"
)
plt.show()
