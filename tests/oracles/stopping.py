"""Early stopping from its definition: pairs one by one, the errors of each draw, the rule."""

import numpy as np


def pairs_of(y, qid):
    """Return (i, k) for all i above k in one query."""
    n = range(len(y))
    return [(i, k) for i in n for k in n if qid[i] == qid[k] and y[i] > y[k]]


def pair_losses(y, scores, qid, weight):
    """Return pairs, their losses, their weights, and the mean loss."""
    pairs = pairs_of(y, qid)
    loss = np.array([np.log1p(np.exp((scores[k] - scores[i]) / 2)) for i, k in pairs])
    size = np.array([weight[i] * weight[k] for i, k in pairs])
    return pairs, loss, size, float(size @ loss / size.sum())


def standard_error_of_queries(y, before, after, qid, weight):
    """Return the standard error of a difference of mean losses, without one query at a time."""
    pairs, old, size, old_mean = pair_losses(y, before, qid, weight)
    _, new, _, new_mean = pair_losses(y, after, qid, weight)
    query = np.array([qid[i] for i, _ in pairs])
    squares = []
    for one in np.unique(query):
        rest = size * (query != one)
        squares.append((rest @ (new - old) / rest.sum() - (new_mean - old_mean)) ** 2)
    return np.sqrt((len(squares) - 1) * np.mean(squares))


def standard_error_of_rows(y, before, after):
    """Return the same of rows drawn, of one list without weights.

    Two classes: the variance over the upper rows of their mean difference by their number, and
    the same of the lower rows. More grades: one sample of rows, each with all its pairs.
    """
    n, difference = len(y), {}
    for i, k in pairs_of(y, np.zeros(n)):
        old, new = (np.log1p(np.exp((f[k] - f[i]) / 2)) for f in (before, after))
        difference[i, k] = new - old
    mean = sum(difference.values()) / len(difference)
    if len(set(y)) == 2:
        variance = 0.0
        for side, level in ((0, max(y)), (1, min(y))):
            rows = [row for row in range(n) if y[row] == level]
            means = [
                np.mean([d for pair, d in difference.items() if pair[side] == row]) for row in rows
            ]
            variance += np.var(means, ddof=1) / len(rows)
        return np.sqrt(variance)
    excess = [
        sum(d - mean for pair, d in difference.items() if row in pair) / len(difference)
        for row in range(n)
    ]
    return np.sqrt(n / (n - 1) * sum(one**2 for one in excess))


def rounds(losses, errors, patience):
    """Return the best round and the one after which the fit ends; errors[t][b], from round 0."""
    best = 0
    for t, loss in enumerate(losses):
        if loss < losses[best]:
            best = t
        elif t >= best + patience and loss - losses[best] > errors[t][best]:
            return best + 1, t + 1
    return best + 1, len(losses)
