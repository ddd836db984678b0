"""Definitions of the selection of ensembles, slow and obvious."""

import numpy as np
from scipy.stats import norm


def greedy_weights(scores, gain, n_steps):
    """Weights of the best step: each adds the member with the best mean; the first of ties."""
    chosen, found = [], []
    for _ in range(n_steps):
        gains = [
            gain(np.mean([scores[j] for j in [*chosen, one]], axis=0)) for one in range(len(scores))
        ]
        chosen.append(next(j for j, one in enumerate(gains) if one > max(gains) - 1e-9))
        found.append(max(gains))
    n_best = next(t for t, one in enumerate(found, start=1) if one > max(found) - 1e-9)
    return [chosen[:n_best].count(j) / n_best for j in range(len(scores))]


def level(scores, weight, i):
    """Share of the weight below row i, and half of that tied with it."""
    below = sum(w for s, w in zip(scores, weight, strict=True) if s < scores[i])
    tied = sum(w for s, w in zip(scores, weight, strict=True) if s == scores[i])
    return (below + tied / 2) / sum(weight)


def normal_scores(scores, fold, weight):
    """Normal scores within folds."""
    found = []
    for i in range(len(scores)):
        mates = [j for j in range(len(scores)) if fold[j] == fold[i]]
        u = level([scores[j] for j in mates], [weight[j] for j in mates], mates.index(i))
        found.append(norm.ppf(u))
    return np.array(found)


def map_points(scores, fold, weight):
    """Mean quantiles of the folds, with the normal scores of their levels."""
    curves = []
    for one in sorted(set(fold)):
        rows = [i for i in range(len(scores)) if fold[i] == one]
        s, w = [scores[i] for i in rows], [weight[i] for i in rows]
        curve = dict((s[i], level(s, w, i)) for i in range(len(rows)))
        curves += [sorted(curve.items())] if len(curve) > 1 else []
    low = max(curve[0][1] for curve in curves)
    high = min(curve[-1][1] for curve in curves)
    levels = sorted({min(max(q / 200, low), high) for q in range(1, 200)})
    means = [
        np.mean([np.interp(u, [b for _, b in curve], [a for a, _ in curve]) for curve in curves])
        for u in levels
    ]
    return np.array(means), norm.ppf(levels)
