"""
From a CSV file to SQL
======================

A scorecard is small enough to leave Python: this example reads a table
of loans from a CSV file, fits a card whose directions a credit officer
would sign, and scores the same loans inside a database.

The table has categories, missing values and codes such as -999 that
mean "no such account". The card keeps each of them apart.
"""

# %%
# The file
# --------
#
# :func:`~sklearn_rank.datasets.make_credit` generates the loans; we
# write them to a file first, as if they came from elsewhere. The special
# codes are read as they are, and text columns become categories.

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
# ``monotonic_cst`` fixes the direction of features where the opposite
# could not be justified, and ``special_values`` gives each code its own
# line. Both are parameters of the stumps that the card is built from.
# The other parameters are the defaults of a card without a ranker:
# refits after each choice, and a small ridge penalty.

ranker = PNormPushRanker(
    loss="logistic",
    solver="corrective",
    alpha=5 / len(y),
    weak_ranker=Stumps(
        monotonic_cst=credit.monotonic_cst,
        special_values=credit.special_values,
    ),
)
card = Scorecard(
    ranker, max_terms=12, n_repeats=1, random_state=0, adverse="high"
).fit(loans, y)
print(card.to_text(width=68))

# %%
# The figure shows the points of each variable, with the number of loans
# and the share of bad ones in each bin.

ScorecardDisplay.from_estimator(card)
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
# Reasons
# -------
#
# A declined applicant must be told why. A high total means a bad loan
# here, as ``adverse="high"`` says, so the reasons for the first loan on
# the list are the variables that add most to its total, compared with
# the smallest points that they can give.

first = loans.iloc[[int(np.argmax(found))]]
print(first.to_string(index=False))
print(card.reasons(first))

database.close()
folder.cleanup()
