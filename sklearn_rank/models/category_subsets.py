r"""Subsets of categories: the order in which the best ones are found, and their numbers.

The gain of h is a convex function of two sums over the rows with h = 1:
of the shares of both sides (two groups), or of gradient and curvature (one group). The
decrease at a fixed step is convex in them, and the gain is the maximum of these over the
allowed steps; the steepest edge is the absolute value of a linear function. With
:math:`v_c` the pair of sums over the rows of category c, the pairs
:math:`\sum_{c \in S} v_c` of all subsets span a zonotope, and a convex function is largest
at a vertex: where a linear function u is, so that S holds the categories with
:math:`u \cdot v_c > 0`. One coordinate of every :math:`v_c` is never negative, so
these are the first or the last ones when the categories are sorted by the ratio of the
two sums. Only these are tried. With one group and no curvature the gain is that of all
categories of one sign. The set of all categories is left out: up to a constant it is
``1[x is missing]``. Where u is positive for every category and missing values are too few
for a weak ranker, the best of the other sets lacks one category: these are tried too.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sklearn_rank._bins.binned_features import FeatureBins
from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank._core.sums import Sums
from sklearn_rank.models.stump_rules import StumpRules


def ratios(sums: Floats, totals: Floats, curvature: Floats | None) -> Floats:
    """Return the ratio of the two sums of each category, by which they are sorted.

    `sums` have shape (n_groups, n_features, n_bins), `totals` are those of the groups.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if len(sums) == 2:
            found = (sums[0] / totals[0]) / (sums[1] / totals[1])
        else:
            found = sums[0].copy() if curvature is None else sums[0] / curvature
    found[np.isnan(found)] = 0.0
    return np.asarray(found)


class Subsets:
    """The subsets of categories that were chosen so far, by all bags of a model.

    Parameters
    ----------
    members : list of (int, ndarray)
        The feature of each, and which of its bins belong to it.
    """

    def __init__(self, members: list[tuple[int, Mask]]) -> None:
        self.members = members
        self._number = {(j, one.tobytes()): number for number, (j, one) in enumerate(members)}

    @classmethod
    def of(cls, rules: StumpRules | None, bins: Sequence[FeatureBins]) -> Subsets:
        """Return the subsets of earlier rules in the order of their coordinates."""
        if rules is None:
            return cls([])
        known = zip(rules.subset_feature.tolist(), rules.subsets, strict=True)
        return cls([(j, members[: bins[j].n_values]) for j, members in known])

    def number(self, feature: int, members: Mask) -> int:
        """Return the number of a subset, the next one if it is new."""
        number = self._number.setdefault((feature, members.tobytes()), len(self.members))
        if number == len(self.members):
            self.members.append((feature, members))
        return number

    def agree(self, rows: Sums) -> None:
        """Take the subsets of the first process: rounding might find another one elsewhere."""
        agreed = rows.agree(self.members)
        if agreed is not self.members:
            self.members, self._number = [], {}
            for feature, members in agreed:
                self.number(feature, members)

    def table(self) -> tuple[Indices, Mask]:
        """Return the feature of each subset, and the members, padded with False."""
        longest = max((len(members) for _, members in self.members), default=0)
        table = np.zeros((len(self.members), longest), dtype=bool)
        for row, (_, members) in zip(table, self.members, strict=True):
            row[: len(members)] = members
        return np.array([j for j, _ in self.members], dtype=np.intp), table
