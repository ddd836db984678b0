"""
A scorecard of ten terms
========================

A model that fits on a page: a few variables, a few ranges of each, and
an integer number of points for each range. Adding the points gives the
score.

:class:`~sklearn_rank.scorecard.Scorecard` chooses the terms by boosting
on all pairs, refits them after each choice, and rounds them so that the
objective worsens as little as possible.
"""

# %%
# The card
# --------
#
# Malignant tumours belong at the top of the list.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from sklearn_rank.metrics import auc_score, partial_auc_score
from sklearn_rank.plotting import ScorecardDisplay
from sklearn_rank.scorecard import Scorecard

X, kind = load_breast_cancer(as_frame=True, return_X_y=True)
y = np.where(kind == 0, "malignant", "benign")
X, X_new, y, y_new = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
card = Scorecard(max_terms=10, random_state=0).fit(X, y)
print(card.to_text(width=68))

# %%
# The figure shows four of its variables, with the number of training
# rows and the share of malignant tumours in each bin.

ScorecardDisplay.from_estimator(
    card, variables=card.variables_[:4], n_columns=1
)
plt.show()

# %%
# One patient by hand
# -------------------
#
# Read one line of each block and add up.

patient = X_new.iloc[[0]]
for name, points in zip(
    card.variables_, card.points_of(patient)[0], strict=True
):
    print(f"{name:24} {patient[name].item():>8.4g} {points:+d}")
total = card.decision_function(patient)[0]
risk = card.predict_proba(patient)[0, 1]
print(f"{'intercept':33} {card.card_.intercept:+d}")
print(
    f"total {total:+.0f}, probability of a malignant tumour {risk:.1%}"
)

# %%
# What ten integers cost
# ----------------------
#
# On tumours that the card has not seen, we compute the area under the
# whole ROC curve, and the mean share of malignant tumours found over the
# first five percent of the benign ones, for the card and for the same
# terms with real numbers instead of points.

is_malignant = y_new == "malignant"
for name, model in {"card": card, "unrounded": card.ranker_}.items():
    scores = model.decision_function(X_new)
    top = partial_auc_score(is_malignant, scores, max_fpr=0.05)
    area = auc_score(is_malignant, scores)
    print(f"{name:10} AUC {area:.4f}, top {top:.3f}")
