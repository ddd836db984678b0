"""
From a CSV file to SQL
======================

A scorecard is simple enough to run outside Python. This example reads a
table of loans from a CSV file, fits a card with directions that a credit
officer would accept, and scores the same loans inside a database.

The table has categories, missing values and codes such as -999 that mean
"no such account". The card treats each of these separately.
"""

# %%
# The file
# --------
#
# :func:`~sklearn_rank.datasets.make_credit` generates the loans; we
# write them to a file first, as if they came from elsewhere. Special
# codes are left unchanged, and text columns become categories.

import sqlite3
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from sklearn_rank import PNormPushRanker
from sklearn_rank.datasets import make_credit
from sklearn_rank.models import Stumps
from sklearn_rank.plotting import ScorecardDisplay
from sklearn_rank.scorecard import Scorecard

credit = make_credit(8_000, random_state=0)
folder = tempfile.TemporaryDirectory()
file = Path(folder.name, "loans.csv")
credit.data.assign(bad=credit.target).to_csv(file, index=False)

loans = pd.read_csv(file)
for column in loans.select_dtypes(exclude="number"):
    loans[column] = loans[column].astype("category")
y = loans.pop("bad")
print(loans.iloc[:3, :6].to_string(index=False))

# %%
# The card
# --------
#
# ``monotonic_cst`` fixes the direction of features for which the
# opposite could not be justified, and ``special_values`` of the stumps
# gives each code its own line. The ranker is the default of a card: it
# refits all terms after each choice.
#
# The code -998 means no proof of income, or no file at the bureau. Such
# rows also lack the income or the enquiries: their points add up.

ranker = PNormPushRanker(
    loss="logistic",
    solver="corrective",
    weak_ranker=Stumps(special_values=credit.special_values),
)
card = Scorecard(
    ranker,
    monotonic_cst=credit.monotonic_cst,
    max_terms=12,
    random_state=0,
).fit(loans, y)
print(card.to_text(width=68))

# %%
# The figure shows the points of four of the variables, three of them
# with special codes, with the number of loans and the share of bad ones
# in each bin.

shown = [
    "debt_to_income",
    "utilisation",
    "enquiries_6m",
    "months_since_delinquency",
]
ScorecardDisplay.from_estimator(card, variables=shown, n_columns=1)
plt.show()

# %%
# The database
# ------------
#
# ``to_sql`` writes one expression. The totals of all loans are the same
# integers in the database and in Python.

query = card.to_sql(table="loans")
print(query[:400], "...")

database = sqlite3.connect(":memory:")
loans.to_sql("loans", database, index=False)
found = np.array([row[0] for row in database.execute(query)])
totals = card.decision_function(loans)
print("loans with another total:", (found != totals).sum())

# %%
# Why
# ---
#
# The points explain why a loan is at the top of the list: here are those
# of the first loan, minus the smallest that each variable can give.

first = loans.iloc[[int(np.argmax(found))]]
best = [min(variable.points) for variable in card.card_.variables]
lost = card.points_of(first)[0] - best
for number in np.argsort(-lost, kind="stable")[:4]:
    name = card.variables_[number]
    print(f"{name:16} {first[name].item()!s:>10} {lost[number]:+d}")

database.close()
folder.cleanup()
