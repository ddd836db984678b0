"""Pairs of rows that are listed one by one, instead of relevance and queries."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices, Mask, blocks
from sklearn_rank._core.preferences import Draws, Preferences
from sklearn_rank._core.sums import shared_property


class GivenPairs(Preferences):
    r"""Comparable pairs that are a list: row ``above[j]`` belongs above row ``below[j]``.

    The weight of a row is the total weight of its pairs, as if each pair were its own query of two
    rows and these rows were added up.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        0, 1, ...: rows stay in the caller's order.
    weight : ndarray of shape (n_rows,)
        The weight of the pairs of each row.
    above, below : ndarray of shape (n_pairs,)
        The rows of each pair.
    pair_weight : ndarray of shape (n_pairs,)
        Multiplicities of the pairs, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> pairs.weight, pairs.total_pair_weight
    (array([1., 4., 3.]), 4.0)
    >>> scores = np.array([2.0, 1.0, 0.5])
    >>> pairs.smallest_difference(scores, scores)  # the smallest margin
    -0.5
    """

    def __init__(self, n_rows: int, above: Indices, below: Indices, pair_weight: Floats) -> None:
        # The class is frozen.
        vars(self).update(order=np.arange(n_rows), above=above, below=below)
        weight = self.sum_by_row(pair_weight, "above") + self.sum_by_row(pair_weight, "below")
        vars(self).update(weight=weight, pair_weight=pair_weight, collective=None)

    above: Indices
    below: Indices
    pair_weight: Floats

    def sum_by_row(self, values: Floats, side: str) -> Floats:
        """Return, for each row, the sum over the pairs in which it is "above" or "below"."""
        return np.bincount(getattr(self, side), values, self.n_rows).astype(np.float64, copy=False)

    def differences(self, scores: Floats) -> Floats:
        """Return the margin of each pair."""
        margin = np.empty(len(self.above))
        for pairs in blocks(len(margin)):  # so that there is one array of this length
            margin[pairs] = scores[self.above[pairs]]
            margin[pairs] -= scores[self.below[pairs]]
        return margin

    @property
    def segments(self) -> NoReturn:
        """Raise ValueError: rows have no levels here."""
        raise ValueError("A list of pairs has no relevance and no queries, which this needs.")

    queries = segments

    @property
    def is_bipartite_list(self) -> bool:
        """False: listed pairs are not the product of two groups."""
        return False

    @property
    def bipartite_segments(self) -> None:
        """None, for the same reason."""
        return

    @shared_property
    def has_unit_weights(self) -> bool:
        """Whether all weights of the pairs are one."""
        return bool((self.pair_weight == 1).all())

    @shared_property
    def is_paired(self) -> Mask:
        """Mask of the rows that belong to at least one pair."""
        return self.weight > 0

    @shared_property
    def total_pair_weight(self) -> float:
        """Sum of the weights of the pairs."""
        return float(self.pair_weight.sum())

    def log_pair_weight(self, power: float = 1.0) -> float:
        """Return the logarithm of the sum of the pair weights, each raised to a power."""
        return float(np.logaddexp.reduce(power * np.log(self.pair_weight)))

    def log_smallest_weight(self) -> float:
        """Return the logarithm of the smallest weight of a pair."""
        return float(np.log(self.pair_weight.min()))

    def paired_weight(self, side: str = "top") -> Floats:
        """Return the weight of the rows above each row ("top"), or below it ("bottom")."""
        return self.sum_by_row(self.pair_weight, "below" if side == "top" else "above")

    def role_weights(self, side: str) -> Floats:
        """Return the weights of the rows that have a row above ("top") or below ("bottom") them.

        Each pair has one such row, which counts once for each of its pairs.
        """
        return self.pair_weight

    def draws(self, order: Indices | None = None) -> Draws:
        """Return a function that draws pairs of the list; it ignores the order of the rows."""
        return ListedDraws(self.above, self.below, self.pair_weight)

    def smallest_difference(self, above: Floats, below: Floats) -> float:
        """Return the minimum of ``above[i] - below[k]`` over pairs."""
        return float(np.min(above[self.above] - below[self.below], initial=np.inf))


class ListedDraws:
    """Draws pairs of a list with probability proportional to their weight.

    Parameters
    ----------
    above, below : ndarray of shape (n_pairs,)
        The rows of each pair.
    weight : ndarray of shape (n_pairs,)
        Weights, positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import GivenPairs
    >>> pairs = GivenPairs(3, np.array([0, 2]), np.array([1, 1]), np.array([1.0, 3.0]))
    >>> upper, lower = pairs.draws()(10_000, np.random.RandomState(0))
    >>> (np.bincount(upper) / 10_000).round(1)
    array([0.3, 0. , 0.7])
    """

    def __init__(self, above: Indices, below: Indices, weight: Floats) -> None:
        self._above, self._below = above, below
        self._cumsum = np.cumsum(weight)

    def __call__(self, size: int, rng: np.random.RandomState) -> tuple[Indices, Indices]:
        """Return the upper and the lower rows of some pairs."""
        target = rng.random_sample(size) * self._cumsum[-1]
        pairs = np.minimum(np.searchsorted(self._cumsum, target, "right"), len(self._cumsum) - 1)
        return self._above[pairs], self._below[pairs]
