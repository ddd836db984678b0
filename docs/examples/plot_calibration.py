"""
Probabilities and thresholds
============================

A ranker's scores are not probabilities, but scikit-learn can calibrate
them.

In binary mode, a ranker is a scikit-learn classifier:
``CalibratedClassifierCV`` can turn its scores into probabilities, and
``TunedThresholdClassifierCV`` can find the threshold with the lowest
cost. On the left, the scores of a p-norm push, read as log-odds, hardly
distinguish rows, while the calibrated probabilities are close to the
diagonal. On the right, the ranker's own threshold is expensive; the
tuned one is close to the cheapest.
"""

# %%
# Rare positives
# --------------
#
# One row in ten is positive.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import brier_score_loss, make_scorer
from sklearn.model_selection import (
    TunedThresholdClassifierCV,
    train_test_split,
)

from sklearn_rank import PNormPushRanker, RankBoost

X, y = make_classification(
    12_000,
    n_informative=6,
    weights=[0.9],
    class_sep=0.8,
    flip_y=0.02,
    random_state=0,
)
X, X_new, y, y_new = train_test_split(
    X, y, train_size=4_000, stratify=y, random_state=0
)

# %%
# Probabilities
# -------------
#
# :class:`~sklearn_rank.RankBoost` minimises an exponential loss, and
# twice its scores are close to the log-odds here: a score s then means
# the probability 1 / (1 + exp(-2 s)).
# :class:`~sklearn_rank.PNormPushRanker` is designed for the top of the
# list: the larger p, the smaller its scores, and they are not log-odds.
# Calibration fits a curve from scores to labels on held-out folds; with
# ``ensemble=False`` a single ranker, fitted to all rows, computes the
# scores, so the order of the list does not change.

boost = RankBoost().fit(X, y)
push = PNormPushRanker(p=8).fit(X, y)
calibrated = CalibratedClassifierCV(push, ensemble=False).fit(X, y)
probabilities = {
    "RankBoost as log-odds": expit(2 * boost.decision_function(X_new)),
    "p = 8 as log-odds": expit(2 * push.decision_function(X_new)),
    "p = 8, calibrated": calibrated.predict_proba(X_new)[:, 1],
}
print(f"share of positives: {y_new.mean():.3f}")
for name, probability in probabilities.items():
    brier = brier_score_loss(y_new, probability)
    mean = probability.mean()
    print(f"{name:21} mean {mean:.3f}, Brier score {brier:.4f}")

# %%
# A threshold for a cost
# ----------------------
#
# Suppose that a missed positive costs ten times as much as a false
# alarm. The ``offset_`` of a p-norm push shifts the scores so that a
# threshold of zero misclassifies the fewest training rows, at equal
# costs. ``TunedThresholdClassifierCV`` finds the threshold for other
# costs by cross-validation; the order does not change.


def saved(y_true, y_predicted):
    """Return minus the cost of a row, in false alarms."""
    missed, alarm = y_true & ~y_predicted, ~y_true & y_predicted
    return -(10 * missed.mean() + alarm.mean())


cost = make_scorer(
    lambda y_true, y_predicted: saved(y_true == 1, y_predicted == 1)
)
tuned = TunedThresholdClassifierCV(push, scoring=cost, cv=5).fit(X, y)
new_scores = tuned.estimator_.decision_function(X_new)
cuts = {"the ranker's own": 0.0, "tuned": tuned.best_threshold_}
for name, cut in cuts.items():
    above = new_scores >= cut
    price = -saved(y_new == 1, above)
    print(
        f"threshold {name:16} {cut:+.3f}, cost of a row {price:.3f}",
        end="; ",
    )
    print(f"{above.mean():.1%} of the rows are above it")

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(6.4, 4.8))
left.plot([0, 1], [0, 1], color="0.6", linewidth=1.2, linestyle="-")
for name, probability in probabilities.items():
    share, predicted = calibration_curve(
        y_new, probability, n_bins=10, strategy="quantile"
    )
    left.plot(predicted, share, marker="o", label=name)
left.set(
    title="Predicted and observed shares",
    xlabel="mean predicted probability",
    ylabel="share of positives",
)
left.set(xlim=(0, 0.6), ylim=(0, 0.6))

tried = np.linspace(*np.quantile(new_scores, [0.001, 0.999]), 200)
costs = [-saved(y_new == 1, new_scores >= cut) for cut in tried]
right.plot(tried, costs)
for (name, cut), style in zip(cuts.items(), [":", "--"], strict=True):
    right.axvline(
        cut, color="#d55e00", linestyle=style, label=f"threshold: {name}"
    )
right.set(
    title="Cost on new rows",
    xlabel="threshold on the scores",
    ylabel="cost of a row",
)
for axes in (left, right):
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18))
figure.suptitle(
    "Calibrated probabilities are near the diagonal,\n"
    "and the tuned cut is near the cheapest"
)
plt.show()
