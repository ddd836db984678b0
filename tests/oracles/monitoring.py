"""Figures of validation and monitoring straight from their definitions, row by row."""

import math
from fractions import Fraction

from oracles import definitions as oracles


def weights(y, w):
    return [Fraction(float(one)) for one in oracles.row_weights(y, w)]


def cuts(values, w, n):
    """For each k < n the value up to which the share of the weight is nearest to k/n."""
    pairs = [(v, u) for v, u in zip(values, w, strict=True) if not math.isnan(v) and u > 0]
    total = sum(u for _, u in pairs)
    distinct = sorted({v for v, _ in pairs})[:-1]
    share = {v: sum(u for x, u in pairs if x <= v) / total for v in distinct}
    if not distinct:
        return []
    nearest = [
        min(distinct, key=lambda v: (abs(share[v] - Fraction(k, n)), v)) for k in range(1, n)
    ]
    return sorted(set(nearest))


def bins(values, limits):
    """Number of the limits below each value; one more for missing values than for the highest."""
    return [
        len(limits) + 1 if math.isnan(v) else sum(v > limit for limit in limits) for v in values
    ]


def index(old, new, old_weight, new_weight):
    """The index of two lists of bins: of a share of zero, half a row is taken."""
    total = 0.0
    for b in {*old, *new}:
        shares = []
        for rows, w in ((old, old_weight), (new, new_weight)):
            here = sum(u for one, u in zip(rows, w, strict=True) if one == b)
            n = sum(w)
            shares.append(here / n if here else Fraction(1, 2) * min(1, n) / n)
        if any(
            u for one, u in zip([*old, *new], [*old_weight, *new_weight], strict=True) if one == b
        ):
            p, q = map(float, shares)
            total += (q - p) * math.log(q / p)
    return total


def ks(y, f, w):
    weight = weights(y, w)
    positive = sum(u for one, u in zip(y, weight, strict=True) if one > 0)
    negative = sum(weight) - positive
    best = Fraction(0)
    for cut in f:
        above = [n for n in range(len(y)) if f[n] >= cut]
        found = sum(weight[n] for n in above if y[n] > 0)
        best = max(best, found / positive - (sum(weight[n] for n in above) - found) / negative)
    return float(best)


def gains(y, f, w, limits):
    """Rows of the table by falling band: a dict each."""
    weight = weights(y, w)
    band = bins(f, limits)
    rows = range(len(y))
    n, events = sum(weight), sum(weight[i] for i in rows if y[i] > 0)
    table = []
    for b in reversed(range(len(limits) + 1)):
        own = [i for i in rows if band[i] == b and weight[i] > 0]
        upto = [i for i in rows if band[i] >= b]
        count, here = sum(weight[i] for i in own), sum(weight[i] for i in own if y[i] > 0)
        all_upto = sum(weight[i] for i in upto)
        found = sum(weight[i] for i in upto if y[i] > 0)
        line = {
            "low": min((f[i] for i in own), default=math.nan),
            "high": max((f[i] for i in own), default=math.nan),
            "count": count,
            "events": here,
            "rate": here / count if count else math.nan,
            "share": all_upto / n,
            "found": found / events,
            "taken": (all_upto - found) / (n - events),
            "lift": here / count / (events / n) if count else math.nan,
            "cumulative_lift": found / all_upto / (events / n) if all_upto else math.nan,
            "ks": found / events - (all_upto - found) / (n - events),
        }
        table.append({name: float(value) for name, value in line.items()})
    return table


def groups(y, f, g, w, cut):
    """For each group: shares above the cut, of all rows, of events and of others."""
    weight = weights(y, w)
    table = {}
    for own in sorted(set(g)):
        rows = [i for i in range(len(y)) if g[i] == own and weight[i] > 0]
        if not rows:
            continue
        parts = {
            "rows": rows,
            "events": [i for i in rows if y[i] > 0],
            "others": [i for i in rows if y[i] <= 0],
        }
        table[own] = {
            name: float(sum(weight[i] for i in part if f[i] > cut) / sum(weight[i] for i in part))
            if part
            else math.nan
            for name, part in parts.items()
        }
    return table
