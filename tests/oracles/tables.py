"""The weak rankers of a table of points, and the gain of each: definitions, as loops."""

import math
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from oracles import definitions as oracles


class Cell(NamedTuple):
    """A weak ranker: its name, the sign that its coefficient must have (0: any), and h.

    ``name`` is (feature, kind, value) with the kinds "above" (a threshold), "code" (a special
    code), "missing" and "subset" (a frozenset of categories).
    """

    name: tuple
    sign: int
    h: np.ndarray


def cells(
    X,
    w=None,
    upper=None,
    *,
    max_bins=64,
    monotonic_cst=None,
    thresholds=None,
    special_values=None,
    categorical_features=(),
    min_bin_size=0.0,
    min_bin_events=0.0,
    **_,
):
    """Every weak ranker on the training rows, none of which has weight zero."""
    weight = oracles.row_weights(X[:, 0], w)
    events = weight * (np.zeros(len(X)) if upper is None else upper)

    def is_enough(mask):
        needed = min_bin_size * weight.sum() * (1 - 1e-9)
        return weight[mask].sum() >= needed and events[mask].sum() >= min_bin_events * (1 - 1e-9)

    def is_taught(mask):
        return mask.any() and (min_bin_size > 0 or oracles.weighs_enough(mask, weight))

    one_row = oracles.weight_of_rows(1, weight)
    found = []
    for j, x in enumerate(X.T):
        codes = (special_values or {}).get(j, [])
        is_missing = np.isnan(x)
        is_told = is_taught(is_missing)
        is_value = ~is_missing & ~np.isin(x, codes)
        if j in categorical_features:
            needed = 3 * one_row * len(set(x[is_value].tolist()))
            if min_bin_size == 0:
                needed = min(10 * one_row, 0.02 * weight.sum())
            groups, lost = groups_of_categories(
                x[is_value],
                lambda c, x=x, n=needed: (
                    is_enough(x == c) and weight[x == c].sum() >= n * (1 - 1e-9)
                ),
                lambda rare, x=x: is_taught(np.isin(x, list(rare))),
            )
            groups = [g for g in groups if is_enough(np.isin(x, list(g)))]
            lost |= set(x[is_value].tolist()) - set(chain(*groups))
            is_missing |= np.isin(x, list(lost))
            # All categories together are the opposite of missing.
            is_told = is_told and is_enough(is_missing)
            tried = subsets(groups) if is_told else subsets(groups)[:-1]
            for subset in tried:
                found.append(Cell((j, "subset", subset), 0, np.isin(x, list(subset))))
        else:
            sign = 0 if monotonic_cst is None else monotonic_cst[j]
            given = (thresholds or {}).get(j)
            if given is None:
                ordinary = np.where(is_value, x, np.nan)
                given = [t for t in oracles.thresholds(ordinary, w, max_bins) if t < np.inf]
            for t in merged(
                given, lambda low, high, x=x, v=is_value: is_enough(v & (x > low) & (x <= high))
            ):
                found.append(Cell((j, "above", t), sign, is_value & (x > t)))
        for code in codes:
            if is_enough(x == code):
                found.append(Cell((j, "code", code), 0, x == code))
        if is_told and is_enough(is_missing):
            found.append(Cell((j, "missing", None), 0, is_missing))
    return [cell for cell in found if np.ptp(cell.h.astype(float)) > 0]


def merged(thresholds, is_enough):
    """The thresholds that are left when bins, from below, end where they are large enough."""
    left, low = [], -np.inf
    for t in thresholds:
        if is_enough(low, t):
            left.append(t)
            low = t
    while left and not is_enough(left[-1], np.inf):
        left.pop()
        break
    return left


def groups_of_categories(x, is_large, pools):
    """A group for each large category, and one of the others unless they count as missing."""
    categories = sorted(set(x.tolist()))
    rare = {c for c in categories if not is_large(c)}
    groups = [frozenset([c]) for c in categories if c not in rare]
    return ([*groups, frozenset(rare)], set()) if rare and pools(rare) else (groups, rare)


def subsets(groups):
    """Every union of some groups."""
    sizes = range(1, len(groups) + 1)
    return [frozenset(chain(*s)) for n in sizes for s in combinations(groups, n)]


def allowed(found, net, max_thresholds=None, max_features_used=None, **_):
    """The weak rankers that may be chosen when those of ``net`` are in the model."""
    used = {name for name, coefficient in net.items() if coefficient != 0}
    features = {name[0] for name in used}
    if max_thresholds is not None and len(used) >= max_thresholds:
        found = [cell for cell in found if cell.name in used]
    if max_features_used is not None and len(features) >= max_features_used:
        found = [cell for cell in found if cell.name[0] in features]
    return found


def limits(cell, net):
    """The smallest and the largest step."""
    coefficient = net.get(cell.name, 0.0)
    return (
        -coefficient if cell.sign > 0 else -math.inf,
        -coefficient if cell.sign < 0 else math.inf,
    )


def gain(cell, net, f, y, qid=None, w=None, p=1.0, push="top", loss="exponential", selection=""):
    """What the selection maximises, at the nearest allowed step."""
    h, (low, high) = cell.h.astype(float), limits(cell, net)
    has_sides = push not in ("both", "ir") and oracles.has_exact_steps(y, qid, w, push, loss)
    objective = (y, qid, w, p, push)
    if selection == "optimal" and has_sides and oracles.is_one_query(y, qid, w):
        alpha = min(max(oracles.closed_form_step(h, f, *objective), low), high)
        return decrease(h, alpha, f, *objective)
    _, gradient, c = oracles.posed(f, *objective, loss)
    edge = -math.fsum(gradient * h)
    longest = high if edge > 0 else -low
    if selection == "steepest":
        return abs(edge) if longest > 0 else 0.0
    e, bound = oracles.smoothing(y, qid, w), oracles.curvature_bound(h, c)
    longest = min(longest, math.log((1 + e) / e) / ((1.0 if push == "ir" else p) + 1))
    alpha = min(abs(edge) / bound, longest) if bound > 0 else longest
    return alpha * abs(edge) - alpha**2 * bound / 2


def decrease(h, alpha, f, y, qid=None, w=None, p=1.0, push="top"):
    """``J(f) - J(f + alpha h)``, with the constant of `oracles.log_push` and its ends."""
    return oracles.log_push(f, y, qid, w, p, push) - oracles.log_push(
        f + alpha * h, y, qid, w, p, push
    )


def step(cell, net, f, objective, learning_rate=1.0):
    """The step along a weak ranker, the nearest allowed."""
    low, high = limits(cell, net)
    wanted = learning_rate * oracles.step(cell.h.astype(float), f, *objective)
    return min(max(wanted, low), high)
