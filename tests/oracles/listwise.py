"""Listwise losses, cuts and scalings straight from their definitions, query by query.

The independent truth for the linear listwise ranker: loops over queries and rows, and
nothing here imports the package under test. ``y``, ``qid`` and ``w`` are as in
`oracles`: relevance, one id per row or None for one list, multiplicities or None.

Sources: Cao2007 (Learning to rank: from pairwise approach to listwise approach, ICML
2007), Tewari2015 (Generalization error bounds for learning to rank, ICML 2015).
"""

import itertools
import math

import numpy as np


def queries(y, qid=None, w=None):
    """Rows of positive weight, query by query; a query without any is not there."""
    groups = {}
    for i in range(len(y)):
        if w is None or w[i] > 0:
            groups.setdefault(0 if qid is None else qid[i], []).append(i)
    return list(groups.values())


def top_one(values, weight):
    """Probability of each row to be drawn first, all its copies together (Cao2007)."""
    largest = max(values)
    masses = [c * math.exp(v - largest) for v, c in zip(values, weight, strict=True)]
    total = math.fsum(masses)
    return [mass / total for mass in masses]


def log_partition(values, weight):
    """log sum_j w_j e^{values_j}."""
    largest = max(values)
    masses = (c * math.exp(v - largest) for v, c in zip(values, weight, strict=True))
    return largest + math.log(math.fsum(masses))


def query_cross_entropy(f, y, w):
    """Loss and gradient of one query: -sum_j P_y(j) (f_j - log Z_f)."""
    target, log_z = top_one(y, w), log_partition(f, w)
    loss = -math.fsum(p * (v - log_z) for p, v in zip(target, f, strict=True))
    return loss, [q - p for q, p in zip(top_one(f, w), target, strict=True)]


def query_smoothed_dcg(f, y, w, sigma=1.0):
    """Minus D(1) sum_i G(y_i) softmax_i(f / sigma), with D(1) = 1 and G = 2^y - 1."""
    share = top_one([v / sigma for v in f], w)
    gain = [2.0**grade - 1 for grade in y]
    mean = math.fsum(p * g for p, g in zip(share, gain, strict=True))
    return -mean, [-p * (g - mean) / sigma for p, g in zip(share, gain, strict=True)]


def listwise(f, y, qid=None, w=None, loss="cross_entropy", sigma=1.0):
    """Mean loss over the queries, and its gradient with respect to the scores."""
    f, y = [float(v) for v in f], [float(v) for v in y]
    weight = [1.0] * len(y) if w is None else [float(v) for v in w]
    groups = queries(y, qid, w)
    total, gradient = [], [0.0] * len(y)
    for rows in groups:
        part = [[values[i] for i in rows] for values in (f, y, weight)]
        if loss == "cross_entropy":
            value, slope = query_cross_entropy(*part)
        else:
            value, slope = query_smoothed_dcg(*part, sigma)
        total.append(value)
        for i, one in zip(rows, slope, strict=True):
            gradient[i] = one / len(groups)
    return math.fsum(total) / len(groups), np.array(gradient)


def listwise_curvature(f, y, qid=None, w=None, loss="cross_entropy", sigma=1.0):
    """Mean over the queries of P (1 - P); smoothed dcg: times (mean gain - least) / sigma^2."""
    weight = [1.0] * len(y) if w is None else [float(v) for v in w]
    groups, found = queries(y, qid, w), np.zeros(len(y))
    for rows in groups:
        unit = 1.0 if loss == "cross_entropy" else sigma
        share = top_one([float(f[i]) / unit for i in rows], [weight[i] for i in rows])
        gain = [2.0 ** float(y[i]) - 1 for i in rows]
        factor = 1.0
        if loss == "smoothed_dcg":
            factor = math.fsum(p * (g - min(gain)) for p, g in zip(share, gain, strict=True))
        for i, p in zip(rows, share, strict=True):
            found[i] = factor * p * (1 - p) / unit**2 / len(groups)
    return found


def online_descent(X, y, qid, *, step, radius=math.inf, n_passes=1):
    """Averaged online gradient descent on the cross-entropy, one query a step.

    ``step(t)`` is the step size of step t = 1, 2, ...; the iterates are projected on
    the l2 ball, and the average is over the iterates before each step.
    """
    w, seen, t = np.zeros(X.shape[1]), [], 0
    for _ in range(n_passes):
        for rows in queries(y, qid):
            t += 1
            seen.append(w)
            slope = query_cross_entropy(list(X[rows] @ w), list(y[rows]), [1.0] * len(rows))[1]
            w = w - step(t) * (np.array(slope) @ X[rows])
            w = w * min(1.0, radius / max(np.linalg.norm(w), 1e-300))
    return np.mean(seen, axis=0)


def weighted_error(cut, f, positive, w=None):
    """Weight of the rows on the wrong side: those above the cut count as positive."""
    weight = np.ones(len(f)) if w is None else np.asarray(w, dtype=float)
    return math.fsum(weight[i] for i in range(len(f)) if (f[i] > cut) != bool(positive[i]))


def error_cuts(f):
    """Every cut worth trying, rising: below all, halfway between neighbours, above all."""
    values = sorted(set(map(float, f)))
    halfway = [low + (high - low) / 2 for low, high in itertools.pairwise(values)]
    return [-math.inf, *halfway, math.inf]


def query_min_max(X, qid=None):
    """Each feature of each query moved to [0, 1]; 0 where it is constant in the query."""
    out = np.zeros_like(X, dtype=float)
    for rows in queries(np.zeros(len(X)), qid):
        for j in range(X.shape[1]):
            column = [float(X[i, j]) for i in rows]
            low, high = min(column), max(column)
            for i in rows:
                out[i, j] = 0.0 if high == low else (float(X[i, j]) - low) / (high - low)
    return out
