"""
List length and ListNet
=======================

Linear ListNet does not need more queries when lists get longer.

The bound on the error of a ranker that sums over pairs gets worse as
lists get longer; the bound for :class:`~sklearn_rank.ListNetLinear` does
not depend on the length. The measured excess loss is far below the bound
but behaves in the same way: it falls with the number of queries and does
not keep rising with the length. At the minimum over all queries, long
lists even lower it.
"""

# %%
# Queries of every length
# -----------------------
#
# Rows lie on the unit sphere; relevance is a rounded linear function
# plus noise. The loss of a ranker is its mean cross-entropy on new
# queries, computed here from its definition.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import log_softmax, softmax

from sklearn_rank import ListNetLinear
from sklearn_rank.theory import lipschitz_constant, ogd_bound

N_FEATURES, LARGEST_NORM = 10, 5.0
DIRECTION = np.linspace(1, 0, N_FEATURES)
DIRECTION *= LARGEST_NORM / np.linalg.norm(DIRECTION)


def make_lists(n_queries, length, rng):
    """Return features, relevance and query of each row."""
    X = rng.standard_normal((n_queries * length, N_FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.round(
        np.clip(X @ DIRECTION + rng.standard_normal(len(X)), 0, 4)
    )
    return X, y, np.repeat(np.arange(n_queries), length)


def mean_loss(coefficients, X, y, length):
    """Return the mean cross-entropy of queries of one length."""
    log_share = log_softmax(
        (X @ coefficients).reshape(-1, length), axis=1
    )
    target = softmax(y.reshape(-1, length), axis=1)
    return -(target * log_share).sum(axis=1).mean()


# %%
# Excess loss against length
# --------------------------
#
# The excess loss is the difference between a ranker's loss on new
# queries and that of the best coefficients of norm at most 5, found with
# many queries. The first ranker takes one pass of online gradient
# descent with the step of :cite:t:`Tewari2015`, Theorem 5, for which
# :func:`~sklearn_rank.theory.ogd_bound` holds; the second minimises the
# mean loss of the same queries.

lengths, numbers = [5, 10, 20, 50, 100], [25, 100, 400]
rankers = {
    "one pass of descent": ListNetLinear(
        penalty=None, max_norm=LARGEST_NORM, solver="ogd", max_iter=1
    ),
    "minimum": ListNetLinear(
        penalty=None, max_norm=LARGEST_NORM, tol=1e-4
    ),
}
excess = np.zeros((len(rankers), len(numbers), len(lengths)))
n_repeats = 4
for column, length in enumerate(lengths):
    rng = np.random.default_rng(length)
    X_new, y_new, qid_new = make_lists(1_000, length, rng)
    best = rankers["minimum"].fit(X_new, y_new, qid=qid_new).coef_
    least = mean_loss(best, X_new, y_new, length)
    for row, n_queries in enumerate(numbers):
        for _ in range(n_repeats):
            X, y, qid = make_lists(n_queries, length, rng)
            for kind, ranker in enumerate(rankers.values()):
                coefficients = ranker.fit(X, y, qid=qid).coef_
                loss = mean_loss(coefficients, X_new, y_new, length)
                excess[kind, row, column] += (loss - least) / n_repeats

for kind, name in enumerate(rankers):
    print(f"excess loss, {name}, for lists of {lengths} rows")
    for row, n_queries in enumerate(numbers):
        values = " ".join(f"{value:.5f}" for value in excess[kind, row])
        print(f"{n_queries:5} queries  {values}")

# %%
# Lines with markers are measured; thin horizontal lines in the same
# style are the bounds. With online descent, the excess loss first grows
# with the length of the lists, then levels off. At the minimum over all
# queries, lists of 100 rows have a far lower excess loss than lists of
# five; a few more rows do not always lower it.

figure, panels = plt.subplots(1, 2, figsize=(6.4, 4.4), sharey=True)
bounds = [
    ogd_bound(n, max_norm=LARGEST_NORM, row_norm=1.0) for n in numbers
]
for kind, (axes, name) in enumerate(zip(panels, rankers, strict=True)):
    for row, n_queries in enumerate(numbers):
        (line,) = axes.loglog(
            lengths,
            excess[kind, row],
            label=f"{n_queries} queries",
            marker="o",
        )
        if kind == 0:
            style = {
                "color": line.get_color(),
                "linestyle": line.get_linestyle(),
            }
            axes.axhline(bounds[row], linewidth=1.0, **style)
    axes.set(title=name.capitalize(), xlabel="rows of a query")
    axes.set_xticks(lengths, lengths)
    axes.minorticks_off()
panels[0].annotate(
    "bounds",
    (lengths[0], bounds[-1]),
    xytext=(0, -4),
    textcoords="offset points",
    va="top",
)
panels[0].set_ylabel("excess loss")
panels[1].legend(loc="upper right")
figure.suptitle(
    "More queries lower the excess loss,\n"
    "longer lists soon stop raising it"
)
plt.show()

# %%
# What a sum over pairs would allow
# ---------------------------------
#
# The same argument bounds a ranker that sums the hinge loss over the
# pairs of a query, but with a Lipschitz constant that grows with the
# square of the length (their sec. 3.3). A growing bound does not prove
# that the error grows, only that this argument cannot rule it out.

known = {"max_norm": LARGEST_NORM, "row_norm": 1.0}
print(f"400 queries: bound {ogd_bound(400, **known):.2f}")
for length in lengths:
    over_pairs = lipschitz_constant("rank_svm", n_rows=length)
    bound = ogd_bound(400, **known, lipschitz=over_pairs)
    print(
        f"with a loss over pairs, lists of {length:3} rows: {bound:.0f}"
    )
