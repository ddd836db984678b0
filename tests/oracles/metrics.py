"""Metrics of a ranking straight from their definitions; nothing here imports the package.

Cut-off metrics are defined for one *order*: a list of relevances, best place first. With ties
the value is the mean over all orders of the rows that sort them by falling score.

Pair metrics take ``y, f, qid, w`` as in `oracles`.
"""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np

from oracles import definitions as oracles

# One order: y is the relevance in places 1, 2, ... ------------------------------------------


GAINS = {"exponential": lambda y: 2.0**y - 1, "linear": float}


def dcg(order, k, gain, discount):
    return sum(gain(y) * discount(t) for t, y in enumerate(order, 1) if t <= k)


@functools.cache
def best_dcg(order, k, gain, discount):
    """Return the maximum over all orders; in long lists that by falling gain."""
    orders = [sorted(order, key=gain, reverse=True)]
    if len(order) <= 6:
        orders = itertools.permutations(order)
    return max(dcg(other, k, gain, discount) for other in orders)


def ndcg(order, k=None, gain="exponential", discount=lambda t: 1 / math.log2(1 + t)):
    """NaN where no row has a gain."""
    k, gain = len(order) if k is None else k, GAINS.get(gain, gain)
    best = best_dcg(tuple(sorted(order)), k, gain, discount)
    return dcg(order, k, gain, discount) / best if best else math.nan


def precision(order, k, divide_by="rows"):
    first = order[:k]
    return sum(y > 0 for y in first) / (len(first) if divide_by == "rows" else k)


def recall(order, k):
    return sum(y > 0 for y in order[:k]) / sum(y > 0 for y in order)


def r_precision(order):
    return precision(order, sum(y > 0 for y in order))


def average_precision(order, k=None, divide_by="attainable"):
    k = len(order) if k is None else k
    relevant = [t for t, y in enumerate(order, 1) if y > 0]
    number = min(len(relevant), k) if divide_by == "attainable" else len(relevant)
    return sum(precision(order, t) for t in relevant if t <= k) / number


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


# Ties and queries ---------------------------------------------------------------------------


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
    """Expected value of a metric in each query; `empty` where no row is relevant, or it is NaN."""
    values = [
        expected(metric, *query) if any(one > 0 for one in query[0]) else math.nan
        for query in queries(y, f, qid)
    ]
    return np.array([empty if math.isnan(value) else value for value in values])


# Pairs --------------------------------------------------------------------------------------

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


def tpr_at_fpr(y, f, w, max_fpr):
    """Share of the relevant rows found when the share `max_fpr` of the others is taken.

    In fractions, so that `max_fpr` is the decimal as it is written. Of a tie that is taken in part
    the same part of its relevant rows is found.
    """
    weight = [Fraction(one) for one in oracles.row_weights(y, w)]
    rows = list(zip(y, f, weight, strict=True))
    positive = sum(v for label, _, v in rows if label > 0)
    others = [(score, v) for label, score, v in rows if label <= 0]
    limit = Fraction(str(max_fpr)) * sum(v for _, v in others)
    share = Fraction(0)
    for label, score, v in rows:
        if label > 0:
            higher = sum(u for other, u in others if other > score)
            tied = sum(u for other, u in others if other == score)
            if tied == 0:
                share += v * (higher <= limit)
            else:
                share += v * min(max((limit - higher) / tied, Fraction(0)), Fraction(1))
    return float(share / positive)


# Confidence in the AUC ----------------------------------------------------------------------


def auc_of_folds(y, f, fold=None):
    """For each fold with a pair: its AUC, and samples whose means' errors add up to its error.

    Two classes: the structural components V10 of the positives and V01 of the negatives (DeLong et
    al. 1988), whose means are both the AUC. Rows of more than two grades are one sample: n times
    the excess of the pairs of each.
    """
    fold = [0] * len(y) if fold is None else list(fold)
    found = []
    for v in sorted(set(fold)):
        pairs = [(i, k) for i, k in oracles.pairs(y) if fold[i] == fold[k] == v]
        if not pairs:
            continue
        right = {(i, k): (f[i] > f[k]) + (f[i] == f[k]) / 2 for i, k in pairs}
        auc = sum(right.values()) / len(pairs)
        rows = [i for i in range(len(y)) if fold[i] == v]
        if len({y[i] for i in rows}) == 2:
            upper = [i for i in rows if y[i] == max(y[k] for k in rows)]
            lower = [i for i in rows if i not in upper]
            v10 = [np.mean([right[i, k] for k in lower]) for i in upper]
            v01 = [np.mean([right[i, k] for i in upper]) for k in lower]
            found.append((auc, [v10, v01]))
            continue
        excess = [
            sum(right[pair] - auc for pair in pairs if row in pair) / len(pairs) for row in rows
        ]
        found.append((auc, [[len(rows) * one for one in excess]]))
    return found


def auc_without_queries(y, f, qid, fold=None):
    """For each fold with a pair: its AUC, those without each query, and their shares of pairs."""
    fold = [0] * len(y) if fold is None else list(fold)
    found = []
    for v in sorted(set(fold)):
        pairs = [(i, k) for i, k in oracles.pairs(y, qid) if fold[i] == fold[k] == v]
        queries = sorted({qid[i] for i, _ in pairs})
        if not pairs:
            continue
        kept = [pairs, *([(i, k) for i, k in pairs if qid[i] != q] for q in queries)]
        auc, *without = (
            np.mean([(f[i] > f[k]) + (f[i] == f[k]) / 2 for i, k in some]) if some else np.nan
            for some in kept
        )
        found.append((auc, without, [1 - len(some) / len(pairs) for some in kept[1:]]))
    return found


def auc_and_error(y, f, qid=None, fold=None, other=None):
    """The AUC, or that minus the AUC of `other`; its standard error; degrees of freedom.

    The AUC is the mean of the folds' (LeDell et al. 2015). The variance of a mean is the sample
    variance over the size of the sample; of one value there is none. With queries it is that of
    the jackknife which leaves out one of them.
    """
    if qid is not None:
        return auc_and_jackknife(y, f, qid, fold, other)
    folds = auc_of_folds(y, f, fold)
    if other is not None:
        folds = [
            (a - b, [np.subtract(s, t) for s, t in zip(of_a, of_b, strict=True)])
            for (a, of_a), (b, of_b) in zip(folds, auc_of_folds(y, other, fold), strict=True)
        ]
    samples = [sample for _, samples in folds for sample in samples]
    auc = sum(auc for auc, _ in folds) / len(folds)
    if min(map(len, samples)) < 2:
        return auc, None, None
    variance = sum(np.var(sample, ddof=1) / len(sample) for sample in samples)
    return auc, math.sqrt(variance) / len(folds), None


def auc_and_jackknife(y, f, qid, fold, other):
    auc, variance, freedom = 0.0, 0.0, 0.0
    folds = auc_without_queries(y, f, qid, fold)
    others = folds if other is None else auc_without_queries(y, other, qid, fold)
    for (a, without_a, share), (b, without_b, _) in zip(folds, others, strict=True):
        here, without = a, np.array(without_a)
        if other is not None:
            here, without = a - b, without - without_b
        n, auc = len(share), auc + here / len(folds)
        variance += (n - 1) / n * sum((without - here) ** 2) / len(folds) ** 2
        freedom += 1 / sum(np.square(share)) - 1
    if min(len(share) for *_, share in folds) < 2:
        return auc, None, None
    return auc, math.sqrt(variance), max(1.0, freedom)
