"""
A stump ranker is a scorecard
=============================

Boosted stumps add up one step function for each feature, and that is the
whole model.

:class:`~sklearn_rank.plotting.ShapeFunctionDisplay` draws these step
functions: how much a ranker of tumours adds to the score at each value
of a feature, and where the feature is missing. To score a patient, read
one number off each panel and add them up.
"""

# %%
# The model
# ---------
#
# Malignant tumours belong at the top of the list. In some rows the
# texture is made to be missing, more often in malignant ones, so that
# its absence says something too. :class:`~sklearn_rank.RankBoost` takes
# the features as they are, gaps included.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sklearn_rank import RankBoost
from sklearn_rank.plotting import ShapeFunctionDisplay

data = load_breast_cancer(as_frame=True)
X, y = data.data.copy(), data.target == 0
rng = np.random.default_rng(0)
X.loc[
    rng.random(len(X)) < np.where(y, 0.3, 0.1),
    ["mean texture", "worst texture"],
] = np.nan
ranker = RankBoost(n_estimators=100).fit(X, y)

# %%
# The scorecard
# -------------
#
# The six most important features of the model, all on one scale of the
# score. The importance is the share of the decrease of the objective
# that a feature is credited with.

display = ShapeFunctionDisplay.from_estimator(ranker, X)
figure = display.figure_
figure.suptitle("What each feature adds to the score of a tumour")
plt.show()

# %%
# One patient
# -----------
#
# The contributions of all features and the intercept sum to the score:
# nothing is left out.

every = ShapeFunctionDisplay.from_estimator(ranker, X, max_features=None)
plt.close()
added = every.contributions(X)
scores = ranker.decision_function(X)
print(
    f"features that the model uses: {len(every.names)} of {X.shape[1]}"
)
difference = np.abs(added.sum(axis=1) + every.intercept - scores).max()
print(f"largest difference from the score: {difference:.1e}")

patient = int(np.argsort(scores)[len(scores) // 2])
largest = np.argsort(-np.abs(added[patient]))[:8]
values = added[patient, largest]
rest = added[patient].sum() - values.sum()
names = [
    f"{every.names[j]} = {X.iloc[patient][every.names[j]]:.4g}"
    for j in largest
]
names += ["all other features", "intercept"]
values = np.append(values, [rest, every.intercept])

_, axes = plt.subplots(figsize=(7.2, 4.0))
bars = axes.barh(
    names, values, color=np.where(values > 0, "#d55e00", "#0072b2")
)
axes.bar_label(bars, fmt="%+.2f", padding=3, fontsize="small")
axes.axvline(0, color="0.4", linewidth=1.0)
axes.invert_yaxis()
axes.margins(x=0.15)
axes.grid(visible=False, axis="y")
axes.set(
    title=f"The score {scores[patient]:+.2f} is the sum of the bars",
    xlabel="added to the score",
)
plt.show()
