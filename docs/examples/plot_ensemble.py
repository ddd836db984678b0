"""
An ensemble and its members
===========================

Weights chosen on held-out rows favour the members that improve the top.

Three models are fitted in folds. Greedy selection on the held-out rows
gives each a weight; the figure shows how well each model ranks alone.
"""

# %%
# Three members
# -------------
#
# 6 % of the loans of this table are not paid back. List simple members
# first: among equally good members, the selection takes the first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_rank import PNormPushRanker
from sklearn_rank.datasets import make_credit
from sklearn_rank.ensemble import RankingEnsemble

credit = make_credit(4000, random_state=0)
X = credit.data.select_dtypes("number")
X, X_new, y, y_new = train_test_split(
    X, credit.target, stratify=credit.target, random_state=0
)
members = [
    (
        "logistic regression",
        make_pipeline(
            SimpleImputer(), StandardScaler(), LogisticRegression()
        ),
    ),
    ("stumps", PNormPushRanker(p=4)),
    ("trees", HistGradientBoostingClassifier(max_iter=50)),
]
ensemble = RankingEnsemble(members, random_state=0).fit(X, y)
for name, weight in ensemble.weights_.items():
    print(f"{name:20} weight {weight:.2f}")
print(f"AUC of new rows {ensemble.score(X_new, y_new):.3f}")

# %%
# On the held-out rows
# --------------------
#
# For the ensemble's estimate, the weights of each fold are chosen on the
# other folds, so the selection does not make it too optimistic. On this
# table, stumps are the best member and get nearly all of the weight: the
# ensemble is as good as they are, not better. It found them without
# being told which member is best.

estimates = {
    name: scores["pauc@0.05"]
    for name, scores in ensemble.member_scores_.items()
} | {"ensemble": ensemble.score_estimate_["pauc@0.05"]}

figure, axes = plt.subplots()
for row, estimate in enumerate(estimates.values()):
    axes.plot(
        [estimate.low, estimate.high], [row, row], "-", color="#0072b2"
    )
    axes.plot(estimate.value, row, "o", color="#0072b2")
axes.set_yticks(np.arange(len(estimates)), list(estimates))
axes.invert_yaxis()
axes.set(
    title="The ensemble and its members, 95 % intervals",
    xlabel="partial AUC up to 5 %",
)
plt.show()
