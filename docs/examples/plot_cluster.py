"""
The same model from a cluster
=============================

Two workers, each with half of the rows, find the same rules and
coefficients as one process. Averaging two separate models gives a
different model.

The sums over pairs that boosting needs can be computed from sums over
rows. Each worker of a Dask cluster sums over its own rows, and a few
kilobytes per round combine the sums.
:class:`~sklearn_rank.dask.DaskRanker` runs such a fit. The result is a
plain ranker, which needs no cluster.
"""

# %%
# Rows that no process has all of
# -------------------------------
#
# The arrays are lazy: workers generate the rows, chunk by chunk. Two
# regions have different positives, and the chunks are ordered by region,
# much as the files of a real table have some order.
#
# Dask starts workers by importing the script again, hence the lines ``if
# __name__ == "__main__"``; a notebook does not need them.

from time import perf_counter

import dask.array as da
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

from sklearn_rank import RankBoost
from sklearn_rank.dask import DaskRanker
from sklearn_rank.metrics import auc_score


def make_region(number, n_rows=150_000):
    rng = da.random.default_rng(number)
    chunk = n_rows // 4
    X = rng.standard_normal((n_rows, 10), chunks=(chunk, 10))
    noise = rng.logistic(size=n_rows, chunks=chunk)
    special = X[:, 1] if number == 0 else abs(X[:, 2])
    return X, X[:, 0] + 2 * special + noise > 3 + number


parts = [make_region(0), make_region(1)]
X = da.concatenate([X_part for X_part, _ in parts])
y = da.concatenate([y_part for _, y_part in parts])
if __name__ == "__main__":
    print(f"{len(y):,} rows in {y.numblocks[0]} chunks")

# %%
# One fit on two workers
# ----------------------

if __name__ == "__main__":
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    )
    with cluster, Client(cluster) as client:
        start = perf_counter()
        ranker = DaskRanker(RankBoost(n_estimators=50), client=client)
        shared = ranker.fit(X, y).estimator_
        print(f"fitted in {perf_counter() - start:.1f} s")

# %%
# The time was measured on the machine that built this page, which may
# have been busy. The rounds take only a small part of it: the workers
# also import the package, read their rows and find thresholds.
#
# A single process with all rows finds the same rules; the coefficients
# differ only by rounding, because sums run in another order:

if __name__ == "__main__":
    rows, labels = da.compute(X, y)
    alone = RankBoost(n_estimators=50).fit(rows, labels)
    mine, theirs = shared.estimator_weights_, alone.estimator_weights_
    same = shared.weak_rankers_.equal(alone.weak_rankers_)
    print(f"{len(mine)} rules, the same in both fits: {same}")
    print(f"largest coefficient: {abs(theirs).max():.3f}")
    print(f"largest difference:  {abs(mine - theirs).max():.1e}")

# %%
# The mean of two models
# ----------------------
#
# Fitting one model per worker and averaging the scores would need no
# communication. But neither model sees a pair of rows from both regions.

if __name__ == "__main__":
    middle = len(labels) // 2
    separate = [
        RankBoost(n_estimators=50).fit(rows[half], labels[half])
        for half in (slice(middle), slice(middle, None))
    ]
    scores = {
        "one fit on two workers": shared.decision_function(rows),
        "mean of two fits": sum(
            one.decision_function(rows) / 2 for one in separate
        ),
    }
    expected = alone.decision_function(rows)
    print(f"AUC in one process: {auc_score(labels, expected):.5f}")

    figure, axes = plt.subplots(
        1, 2, figsize=(6.4, 3.6), sharey=True, layout="constrained"
    )
    for ax, (name, found) in zip(axes, scores.items(), strict=True):
        print(f"AUC of {name}: {auc_score(labels, found):.5f}")
        ax.plot(expected[::300], found[::300], ".", markersize=3)
        ax.set(title=name.capitalize(), xlabel="score in one process")
    axes[0].set(ylabel="score")
    plt.show()

# %%
# Use a cluster if the rows do not fit into one machine's memory.
# Otherwise a single process is faster.
