"""Clicks by their definitions, one row and one pair at a time."""

import math


def unbiased_loss(clicks, position, impression, scores, propensity):
    """The sum of Joachims et al. (2017) with the logistic loss: every click, every other row."""
    total = 0.0
    for i, clicked in enumerate(clicks):
        if not clicked:
            continue
        for j in range(len(clicks)):
            if j != i and impression[j] == impression[i]:
                weight = 1 / propensity[position[i] - 1]
                total += weight * math.log1p(math.exp(-(scores[i] - scores[j])))
    return total


def pooled_pairs(log, propensity, clip):
    """Weights of `click_pairs(pool="item")` of a log of (impression, row, position, click)."""
    weights = {}
    shows = {row: {t for t, one, _, _ in log if one == row} for _, row, _, _ in log}
    for i, of_i in shows.items():
        clicks = sum(click for _, row, _, click in log if row == i)
        seen = sum(propensity[position - 1] for _, row, position, _ in log if row == i)
        gain = clicks / max(seen, len(of_i) * clip)
        for j, of_j in shows.items():
            if i != j and gain and of_i & of_j:
                weights[i, j] = gain * len(of_i & of_j)
    return weights


def pair_counts(rows, n_positions):
    """Clicks and impressions by pair of positions, of (group, position from 0, clicked)."""
    groups = {group for group, _, _ in rows}
    clicks = [[0.0] * n_positions for _ in range(n_positions)]
    impressions = [[0.0] * n_positions for _ in range(n_positions)]
    for g in groups:
        n = [sum(1 for group, k, _ in rows if (group, k) == (g, at)) for at in range(n_positions)]
        c = [
            sum(hit for group, k, hit in rows if (group, k) == (g, at)) for at in range(n_positions)
        ]
        for k in range(n_positions):
            for other in range(n_positions):
                if k != other and n[k] and n[other]:
                    weight = n[k] * n[other] / (n[k] + n[other])
                    clicks[k][other] += weight * c[k] / n[k]
                    impressions[k][other] += weight
    return clicks, impressions


def pairs_likelihood(theta, gamma, clicks, impressions):
    """The logarithm of the likelihood of AllPairs; gamma by (smaller, larger) position."""
    total = 0.0
    for k in range(len(theta)):
        for other in range(len(theta)):
            if k != other and impressions[k][other] > 0:
                rate = theta[k] * gamma[min(k, other), max(k, other)]
                hits = clicks[k][other]
                total += hits * math.log(rate) + (impressions[k][other] - hits) * math.log(1 - rate)
    return total


def log_likelihood(rows, theta, gamma):
    """The logarithm of the likelihood of all clicks, of (group, position from 0, clicked)."""
    total = 0.0
    for group, k, clicked in rows:
        rate = theta[k] * gamma[group]
        total += math.log(rate if clicked else 1 - rate)
    return total


def dcg_from_clicks(log, scores, qid, alpha, beta, predicted, k, largest_weight):
    """IPS (predicted all 0) or doubly robust DCG of a log of (impression, row, position, click).

    The mean over impressions of the sum over the new ranker's top k of discount times gain.
    """
    impressions = {impression: qid[row] for impression, row, _, _ in log}
    total = 0.0
    for query in impressions.values():
        times = sum(1 for other in impressions.values() if other == query)
        rows = [row for row in range(len(qid)) if qid[row] == query]
        rows.sort(key=lambda row: (-scores[row], row))
        for rank, row in enumerate(rows[:k], start=1):
            shown = [(position, click) for _, one, position, click in log if one == row]
            gain = predicted[row]
            mean = sum(alpha[position - 1] for position, _ in shown) / times
            if shown:
                weight = min(1 / mean, largest_weight)
                for position, click in shown:
                    expected = alpha[position - 1] * predicted[row] + beta[position - 1]
                    gain += weight * (click - expected) / times
            total += gain / math.log2(1 + rank)
    return total / len(impressions)
