"""
What leaking folds cost
=======================

Folds that split queries overestimate the score on new queries.

Rows of the same query have something in common. A plain ``KFold`` puts
some of them into the training part and others into the test part, so the
ranker is tested on queries that it has seen. The more the queries
differ, the more the estimate exceeds the score on new queries.
:class:`~sklearn_rank.model_selection.QueryKFold` keeps queries whole,
and its estimates are close to the true score.
"""

# %%
# Queries with a taste of their own
# ---------------------------------
#
# Every query has a location in feature space, around which its rows lie,
# and a taste: the direction in which relevance increases. ``difference``
# sets how much the tastes differ from a common one. A kernel ranker can
# learn local patterns, and so the taste of a single query.

import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from sklearn.model_selection import KFold, cross_validate

from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank.model_selection import QueryKFold, check_query_leakage

sklearn.set_config(enable_metadata_routing=True)


def make_tastes(n_queries, difference, rng):
    """Return features, relevance 0 to 2, and query of each row."""
    qid = np.repeat(np.arange(n_queries), 20)
    place = 3.0 * rng.standard_normal((n_queries, 4))
    taste = [1.0, 0.7, 0.4, 0.0] + difference * rng.standard_normal(
        (n_queries, 4)
    )
    X = rng.standard_normal((len(qid), 4))
    utility = (X * taste[qid]).sum(axis=1) + rng.standard_normal(
        len(qid)
    )
    return X + place[qid], np.digitize(utility, [0.5, 2.0]), qid


# %%
# The check
# ---------
#
# :func:`~sklearn_rank.model_selection.check_query_leakage` reports which
# queries a splitter puts on both sides. Call ``raise_if_leaking()`` on
# the result to raise an error.

splitters = {
    "KFold": KFold(5, shuffle=True, random_state=0),
    "QueryKFold": QueryKFold(5),
}
X, y, qid = make_tastes(25, difference=1.0, rng=np.random.default_rng(0))
for name, cv in splitters.items():
    report = f"{name}: {check_query_leakage(cv, X, qid=qid)}"
    print(textwrap.fill(report, 72, subsequent_indent="  "))

# %%
# Estimate and truth
# ------------------
#
# We compare the cross-validated AUC within queries of both splitters
# with the AUC on 200 new queries of a ranker fitted to the same 25
# queries; all are means over five data sets. A ranker warns when it is
# scored on queries from its training data; here the leak is deliberate.

warnings.filterwarnings("ignore", message=".* queries scored have ids")
ranker = KernelPairwiseSGDRanker(relevance="graded", tol=1e-3)
differences, n_repeats = [0.0, 0.5, 1.0], 5
found = {
    name: np.zeros((len(differences), n_repeats))
    for name in [*splitters, "new queries"]
}
for row, difference in enumerate(differences):
    for repeat in range(n_repeats):
        rng = np.random.default_rng(repeat)
        X, y, qid = make_tastes(25, difference, rng)
        X_new, y_new, qid_new = make_tastes(200, difference, rng)
        for name, cv in splitters.items():
            scores = cross_validate(
                ranker,
                X,
                y,
                cv=cv,
                params={"qid": qid},
                error_score="raise",
            )
            found[name][row, repeat] = scores["test_score"].mean()
        new_score = ranker.fit(X, y, qid=qid).score(
            X_new, y_new, qid=qid_new
        )
        found["new queries"][row, repeat] = new_score

for row, difference in enumerate(differences):
    truth = found["new queries"][row]
    print(f"tastes differ by {difference}: {truth.mean():.3f} in truth")
    for name in splitters:
        gap = found[name][row] - truth
        error = gap.std(ddof=1) / np.sqrt(n_repeats)
        print(
            f"{name:>13} {gap.mean():+.3f}, standard error {error:.3f}"
        )

# %%
# The error of ``QueryKFold`` is within chance, while ``KFold`` is too
# optimistic, even if tastes do not differ, because the ranker has seen
# where each query lies.

figure, axes = plt.subplots()
markers = {"KFold": "s", "QueryKFold": "o", "new queries": "D"}
for name, values in found.items():
    label = (
        f"estimate by {name}"
        if name in splitters
        else "truth: new queries"
    )
    error = values.std(axis=1, ddof=1) / np.sqrt(n_repeats)
    mean = values.mean(axis=1)
    axes.errorbar(
        differences,
        mean,
        error,
        marker=markers[name],
        capsize=4,
        label=label,
    )
axes.set(
    title="Folds that split queries are too optimistic",
    xlabel="difference of tastes between queries",
    ylabel="AUC within queries",
)
axes.legend(loc="lower left", title="mean and standard error")
plt.show()
