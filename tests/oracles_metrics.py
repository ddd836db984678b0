"""Metrics of a ranking straight from their definitions; nothing here imports the package.

Cut-off metrics are defined for one *order*: a list of relevances, best place first. With ties
the value is the mean over all orders of the rows that sort them by falling score.

Pair metrics take ``y, f, qid, w`` as in `oracles`.
"""

import itertools
import math

import numpy as np
import oracles

# --------------------------------------------------------------------------------------
# One order: y is the relevance in places 1, 2, ...
# --------------------------------------------------------------------------------------


def dcg(order, k, gain):
    gains = {"exponential": lambda y: 2.0**y - 1, "linear": float}
    return sum(gains[gain](y) / math.log2(1 + t) for t, y in enumerate(order, 1) if t <= k)


def ndcg(order, k=None, gain="exponential"):
    k = len(order) if k is None else k
    best = max(dcg(other, k, gain) for other in (sorted(order, reverse=True),))
    return dcg(order, k, gain) / best


def precision(order, k):
    first = order[:k]
    return sum(y > 0 for y in first) / len(first)


def recall(order, k):
    return sum(y > 0 for y in order[:k]) / sum(y > 0 for y in order)


def r_precision(order):
    return precision(order, sum(y > 0 for y in order))


def average_precision(order):
    relevant = [t for t, y in enumerate(order, 1) if y > 0]
    return sum(precision(order, t) for t in relevant) / len(relevant)


def reciprocal_rank(order, k=None):
    first = min(t for t, y in enumerate(order, 1) if y > 0)
    return 1 / first if k is None or first <= k else 0.0


def err(order, top, k=None):
    total, still_reading = 0.0, 1.0
    for t, y in enumerate(order, 1):
        q = (2.0**y - 1) / 2.0**top
        if k is None or t <= k:
            total += still_reading * q / t
        still_reading *= 1 - q
    return total


# --------------------------------------------------------------------------------------
# Ties and queries
# --------------------------------------------------------------------------------------


def tied_orders(y, f):
    """Yield the relevances in every order of the rows by falling score."""
    groups = [
        [y[n] for n in range(len(y)) if f[n] == score] for score in sorted(set(f), reverse=True)
    ]
    for parts in itertools.product(*map(itertools.permutations, groups)):
        yield [one for part in parts for one in part]


def expected(metric, y, f):
    """Mean over all orders of tied rows."""
    values = [metric(order) for order in tied_orders(list(y), list(f))]
    return math.fsum(values) / len(values)


def queries(y, f, qid):
    """Return (relevances, scores) of each query in the order of sorted ids."""
    if qid is None:
        return [(list(y), list(f))]
    rows = [[n for n in range(len(y)) if qid[n] == q] for q in sorted(set(qid.tolist()))]
    return [([y[n] for n in own], [f[n] for n in own]) for own in rows]


def per_query(metric, y, f, qid, empty=math.nan):
    """Expected value of a metric in each query; `empty` where no row is relevant."""
    return np.array(
        [
            expected(metric, *query) if any(one > 0 for one in query[0]) else empty
            for query in queries(y, f, qid)
        ]
    )


# --------------------------------------------------------------------------------------
# Pairs
# --------------------------------------------------------------------------------------

LOSSES = {
    "zero_one": lambda m: float(m <= 0),
    "exponential": lambda m: math.exp(-m),
    "logistic": lambda m: math.log(1 + math.exp(-m)),
    "hinge": lambda m: max(0.0, 1 - m),
}


def push_terms(y, f, qid=None, w=None, loss="zero_one", margin=0.0):
    """(k, sum over rows above k of ``w_i l(f_i - f_k - margin)``, their weight), pair by pair."""
    weight = oracles.row_weights(y, w)
    terms = []
    for k in range(len(y)):
        rivals = [i for i in range(len(y)) if oracles.comparable(i, k, y, qid) and weight[i] > 0]
        if rivals and weight[k] > 0:
            losses = [weight[i] * LOSSES[loss](f[i] - f[k] - margin) for i in rivals]
            terms.append((k, sum(losses), sum(weight[i] for i in rivals)))
    return terms


def push_loss(y, f, p, qid=None, w=None, loss="zero_one", margin=0.0, normalize=True):
    """``R_{p,l}`` of Rudin2009: the raw sum, or the p-norm mean of the mean losses."""
    weight = oracles.row_weights(y, w)
    terms = push_terms(y, f, qid, w, loss, margin)
    if not normalize:
        return sum(weight[k] * total**p for k, total, _ in terms)
    if math.isinf(p):
        return max(total / n for _, total, n in terms)
    mean = sum(weight[k] * (total / n) ** p for k, total, n in terms)
    return (mean / sum(weight[k] for k, *_ in terms)) ** (1 / p)


def mean_losses(y, f, qid=None, w=None, loss="logistic", margin=0.0):
    """(weight, mean loss of the pairs with the rows above) of each row that has some.

    The terms of `push_terms` for long lists: the rows above one are taken at once.
    """
    weight = oracles.row_weights(y, w)
    query = np.zeros(len(y)) if qid is None else qid
    found = []
    for k in range(len(y)):
        above = (query == query[k]) & (y > y[k]) & (weight > 0)
        if above.any() and weight[k] > 0:
            losses = oracles.phi(loss, f[above] - f[k] - margin)
            found.append((weight[k], np.average(losses, weights=weight[above])))
    return np.array(found).T


def heights(y, f, qid=None, w=None):
    found = np.full(len(y), np.nan)
    for k, total, _ in push_terms(y, f, qid, w):
        found[k] = total
    return found


def reverse_heights(y, f, qid=None, w=None):
    """For each row i, the weight of the rows below it that are scored at least as high."""
    weight = oracles.row_weights(y, w)
    found = np.full(len(y), np.nan)
    for i, k in oracles.pairs(y, qid):
        if weight[i] > 0 and weight[k] > 0:
            found[i] = (0 if np.isnan(found[i]) else found[i]) + weight[k] * (f[k] >= f[i])
    return found


def relevant_ranks(y, f, qid=None):
    """Ranks of relevant rows: behind all others of their score, ties among them broken."""
    ranks = []
    for own_y, own_f in queries(y, f, qid):
        order = sorted(range(len(own_y)), key=lambda n: (-own_f[n], own_y[n] > 0))
        ranks += [rank for rank, n in enumerate(order, 1) if own_y[n] > 0]
    return ranks


def ranking_margin(y, f, qid=None, w=None):
    weight = oracles.row_weights(y, w)
    return min(f[i] - f[k] for i, k in oracles.pairs(y, qid) if weight[i] * weight[k] > 0)


def partial_auc(y, f, w, max_fpr):
    """Area under the ROC curve up to `max_fpr`, by its corners, over `max_fpr`."""
    weight = oracles.row_weights(y, w)
    corners = [(0.0, 0.0)]
    positive = sum(v for one, v in zip(y, weight, strict=True) if one > 0)
    negative = sum(weight) - positive
    for cut in sorted(set(f), reverse=True):
        above = [n for n in range(len(y)) if f[n] >= cut]
        found = sum(weight[n] for n in above if y[n] > 0)
        corners.append(((sum(weight[n] for n in above) - found) / negative, found / positive))
    area = 0.0
    for (x0, y0), (x1, y1) in itertools.pairwise(corners):
        stop = min(x1, max_fpr)
        if stop > x0:
            height = y0 + (y1 - y0) * (stop - x0) / (x1 - x0)
            area += (stop - x0) * (y0 + height) / 2
    return area / max_fpr


# --------------------------------------------------------------------------------------
# Confidence in the AUC
# --------------------------------------------------------------------------------------


def auc_deviations(y, f, qid=None, fold=None):
    """The AUC, mean over folds, and what each row (with queries: each query) adds to its error.

    DeLong et al. 1988 for one list, Obuchowski 1997 for queries, LeDell et al. 2015 for folds.
    """
    fold = [0] * len(y) if fold is None else list(fold)
    comparisons = [(i, k) for i, k in oracles.pairs(y, qid) if fold[i] == fold[k]]
    right = {(i, k): (f[i] > f[k]) + (f[i] == f[k]) / 2 for i, k in comparisons}
    of_fold = {v: [pair for pair in comparisons if fold[pair[0]] == v] for v in fold}
    of_fold = {v: found for v, found in of_fold.items() if found}
    auc = {v: sum(right[pair] for pair in found) / len(found) for v, found in of_fold.items()}
    deviation = {}
    for v, found in of_fold.items():
        for pair in found:
            excess = (right[pair] - auc[v]) / len(found) / len(of_fold)
            for unit in pair if qid is None else (qid[pair[0]],):
                deviation[unit] = deviation.get(unit, 0.0) + excess
    return sum(auc.values()) / len(auc), deviation
