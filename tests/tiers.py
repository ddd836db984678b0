"""Products of parameters in tiers: each value, each pair of values, every combination."""

from itertools import combinations, product

import pytest


def cover(strength, *axes):
    """Return few combinations that hold any values of `strength` axes together, in fixed order.

    `strength` is 1 or 2. As many combinations as the longest axis has values hold each value; pairs
    that these leave are then covered greedily.
    """
    every = list(product(*(range(len(axis)) for axis in axes)))
    chosen = [tuple(i % len(axis) for axis in axes) for i in range(max(map(len, axes)))]
    left = set().union(*map(_pairs, every)) if strength == 2 else set()
    left.difference_update(*map(_pairs, chosen))
    while left:
        chosen.append(max(every, key=lambda case: len(left & _pairs(case))))
        left -= _pairs(chosen[-1])
    return [tuple(axis[i] for axis, i in zip(axes, case, strict=True)) for case in chosen]


def _pairs(case):
    """Return the pairs of (axis, value) in a case."""
    return set(combinations(enumerate(case), 2))


def crossed(*, tiers=("quick", "slow", "nightly"), **axes):
    """Parametrize over the product of axes, a slice of it in each tier.

    An axis is a list of values, or a dict of them by the names for the test's id. A case is in
    the first tier where it is needed for each value to occur, in the second where for each pair
    of values of two axes, and else in the third.
    """
    named = [
        axis if isinstance(axis, dict) else dict(zip(map(str, axis), axis, strict=True))
        for axis in axes.values()
    ]
    once, twice = (set(cover(strength, *map(list, named))) for strength in (1, 2))

    def case(names):
        tier = tiers[0 if names in once else 1 if names in twice else 2]
        marks = [] if tier == "quick" else [getattr(pytest.mark, tier)]
        values = (axis[name] for axis, name in zip(named, names, strict=True))
        return pytest.param(*values, id="-".join(names), marks=marks)

    return pytest.mark.parametrize(tuple(axes), [case(names) for names in product(*named)])
