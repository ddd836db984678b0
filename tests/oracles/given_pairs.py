"""Slow, obvious definitions of what is learned from listed pairs; imports nothing that is tested.

Sources: Freund2003 (a weight for each pair), Hunter2004 (MM algorithms for generalized
Bradley-Terry models, Annals of Statistics 32: the iteration, and strong connection).
"""

import numpy as np

PHI = {
    "exponential": lambda m: (np.exp(-m), -np.exp(-m), np.exp(-m)),
    "least_squares": lambda m: ((1 - m) ** 2, -2 * (1 - m), 2.0),
    "squared_hinge": lambda m: (max(1 - m, 0.0) ** 2, -2 * max(1 - m, 0.0), 2.0),
    "hinge": lambda m: (max(1 - m, 0.0), -1.0 if m <= 1 else 0.0, None),
    "logistic": lambda m: (
        np.log1p(np.exp(-m)),
        -1 / (1 + np.exp(m)),
        1 / (2 + np.exp(m) + np.exp(-m)),
    ),
}
"""Loss, left derivative, and second derivative or its bound, of one margin."""


def mean_curvature(pairs, weight, f, loss):
    """The diagonal of the Hessian of the mean loss of the pairs, or of its bound."""
    found = np.zeros(len(f))
    for (i, k), w in zip(pairs, weight, strict=True):
        found[[i, k]] += w * PHI[loss](f[i] - f[k])[2] / sum(weight)
    return found


def log_exponential(pairs, weight, f):
    """The logarithm of the sum of the exponential losses, and the shares."""
    masses = [w * np.exp(-(f[i] - f[k])) for (i, k), w in zip(pairs, weight, strict=True)]
    return np.log(sum(masses)), np.array(masses) / sum(masses)


def push(pairs, weight, f, loss, p, push="top", bottom_weight=1.0):
    """The p-norm push of listed pairs and its gradient, one pair after the other.

    ``R = sum_k H_k^p`` (Rudin2009, sec. 7), with ``H_k`` the sum of ``w phi`` over the pairs that k
    loses (bottom: wins; both: the sum of both, the second times its weight). The exponential loss
    has ``log(R) / p`` (both: ``log R``), others the p-th root of R over R at losses of one.
    """
    sides = {"bottom": {0: 1.0}, "both": {1: 1.0, 0: bottom_weight}}.get(push, {1: 1.0})
    total, of_ones, slopes = 0.0, 0.0, np.zeros(len(f))
    for side, factor in sides.items():
        height, count = np.zeros((2, len(f)))
        for pair, w in zip(pairs, weight, strict=True):
            height[pair[side]] += w * PHI[loss](f[pair[0]] - f[pair[1]])[0]
            count[pair[side]] += w
        total, of_ones = total + factor * (height**p).sum(), of_ones + factor * (count**p).sum()
        for pair, w in zip(pairs, weight, strict=True):
            slope = factor * p * height[pair[side]] ** (p - 1) * w
            slopes[pair] += slope * PHI[loss](f[pair[0]] - f[pair[1]])[1] * np.array([1, -1])
    if loss == "exponential":
        root = 1.0 if push == "both" else p
        return np.log(total) / root, slopes / (root * total)
    value = (total / of_ones) ** (1 / p)
    return value, slopes * value / (p * total) if value else np.zeros(len(f))


def pair_shares(pairs, shares, h):
    """The shares of the pairs with h_i - h_k equal to 1, -1 and 0."""
    found = {1: 0.0, -1: 0.0, 0: 0.0}
    for (i, k), share in zip(pairs, shares, strict=True):
        found[int(h[i]) - int(h[k])] += share
    return found


def share_in_order(pairs, weight, f):
    """The weighted share of pairs whose winner has the greater score, ties one half."""
    total = 0.0
    for (i, k), w in zip(pairs, weight, strict=True):
        total += w * (1.0 if f[i] > f[k] else 0.5 if f[i] == f[k] else 0.0)
    return total / sum(weight)


def is_strongly_connected(pairs, n):
    """Whether there is a path of wins from each item to each other: Warshall's closure."""
    beats = np.eye(n, dtype=bool)
    for i, k in pairs:
        beats[i, k] = True
    for j in range(n):
        beats |= np.outer(beats[:, j], beats[j])
    return bool(beats.all())


def bradley_terry_mm(pairs, weight, n, n_iter=20_000, tol=1e-14):
    """The scores of maximum likelihood by minorisation-maximisation (Hunter2004), centred.

    Strength i becomes its wins over the sum, over opponents, of their number of duels divided by
    the sum of both strengths.
    """
    wins, duels = np.zeros(n), np.zeros((n, n))
    for (i, k), w in zip(pairs, weight, strict=True):
        wins[i] += w
        duels[i, k] += w
        duels[k, i] += w
    strength = np.ones(n)
    for _ in range(n_iter):
        new = wins / (duels / np.add.outer(strength, strength)).sum(axis=1)
        new /= np.exp(np.log(new).mean())
        change = np.abs(np.log(new) - np.log(strength)).max()
        strength = new
        if change < tol:
            break
    return np.log(strength)


def merged_votes(pairs, weight, kind):
    """A weight for each ordered pair, from the votes for it and against it."""
    votes = {}
    for (i, k), w in zip(pairs, weight, strict=True):
        votes[i, k] = votes.get((i, k), 0.0) + w
    found = {}
    for (i, k), n in votes.items():
        against = votes.get((k, i), 0.0)
        share = {
            "votes": n,
            "shares": n / (n + against),
            "majority": max(n - against, 0.0) / (n + against),
        }[kind]
        if share > 0:
            found[i, k] = share
    return found
