"""Rows dealt among folds, or to the sides of a split: the one rule for equal rows."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sklearn_rank._core.arrays import Codes, Indices
from sklearn_rank._core.distinct import distinct_rows
from sklearn_rank._core.rows import Rows

_LIGHT = 0.01
"""Share of the weight up to which rows with the same features are held out together."""

_LARGEST_COUNT = 2.0**40
"""Weights above it are no counts."""

_PLACES_OF_SHARES = 100
"""Places of a weight that is no count."""


class Lots:
    """Distinct rows of one list in a line, of which parts such as folds take places.

    Rows with the same features are held out together, whatever their relevance: were those of one
    relevance held out alone, the others would teach the opposite. But features that hold more than
    a hundredth of all weight would be too much to hold out: of these each part gets its share, of
    whole weights in whole numbers. So a weight of 2 is the row twice.

    Parameters
    ----------
    rows : Rows
        The rows, without queries.
    code : ndarray of shape (n_rows,) or None
        A hash of the features of each row; None for that of the rows.

    Attributes
    ----------
    first : ndarray of shape (n_lots,)
        One row of each lot. Lots come by falling relevance, and then by their hash.
    n_places : ndarray of shape (n_lots,)
        Places in the line: one, but of heavy features as many as the weight says.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.lots import Lots
    >>> from sklearn_rank._core.rows import Rows
    >>> X = np.array([[1.0], [2.0], [3.0], [3.0]])
    >>> y, weight = np.array([True, False, True, False]), np.array([1.0, 1.0, 5.0, 2.0])
    >>> lots = Lots(Rows(X, y, None, weight))
    >>> lots.n_places[np.argsort(lots.first)]
    array([1, 1, 5, 2])
    >>> rows, fold = lots.folds(2, seed=0)
    >>> np.bincount(fold[rows.X[:, 0] == 3], rows.weight[rows.X[:, 0] == 3])
    array([3., 4.])
    """

    def __init__(self, rows: Rows, code: Codes | None = None) -> None:
        code = rows.code if code is None else code
        self._rows = rows
        self.first, self._weight, _, self._of_row = distinct_rows(code, rows.y, None, rows.weight)
        code = code[self.first]
        level = np.unique(rows.y[self.first], return_inverse=True)[1]
        # Rows of the rarest relevance must not all come to be in one part by chance: theirs is
        # that of the other rows with the same features.
        order = np.argsort(np.bincount(level)[level], kind="stable")
        _, leader = np.unique(code[order], return_index=True)
        features = np.unique(code, return_inverse=True)[1]
        self._leader = order[leader][features]
        share = np.bincount(features, self._weight) / self._weight.sum()
        self._is_heavy = (share > _LIGHT)[features]
        is_count = (self._weight % 1 == 0) & (self._weight < _LARGEST_COUNT)
        n_places = np.where(is_count, self._weight, _PLACES_OF_SHARES).astype(np.intp)
        self.n_places = np.where(self._is_heavy, n_places, 1)

    def deal(self, order: Indices, taken: Callable[[Indices], Indices]) -> tuple[Rows, Indices]:
        """Return the rows, heavy ones in parts, and the part of each.

        Parameters
        ----------
        order : ndarray of shape (n_lots,)
            The lots as they lie in the line.
        taken : callable
            Returns how many of the first n places each part takes, shape (n_parts, len(n)).
        """
        bounds = np.append(0, np.cumsum(self.n_places[order]))
        n_taken = np.diff(taken(bounds), axis=1)
        n_taken[:, order] = n_taken.copy()
        part = np.argmax(n_taken, axis=0)[self._leader][self._of_row]
        is_heavy = self._is_heavy[self._of_row]
        lot, part_of_heavy = np.nonzero((n_taken * self._is_heavy).T)
        n_taken = n_taken[part_of_heavy, lot]
        if (self._rows.weight == 1).all():  # whole rows
            heavy = np.flatnonzero(is_heavy)
            heavy = heavy[np.argsort(self._of_row[heavy], kind="stable")]
            part[heavy] = np.repeat(part_of_heavy, n_taken)
            return self._rows, part
        light, weight = np.flatnonzero(~is_heavy), self._weight[lot] * n_taken / self.n_places[lot]
        rows = self._rows.take(
            np.concatenate([light, self.first[lot]]),
            np.concatenate([self._rows.weight[light], weight]),
        )
        return rows, np.concatenate([part[light], part_of_heavy])

    def folds(self, n_folds: int, seed: int) -> tuple[Rows, Indices]:
        """Return the rows, some in parts, and the fold of each, stratified by relevance."""
        y = self._rows.y[self.first]
        order = np.lexsort((np.random.default_rng(seed).random(len(y)), y))
        numbers = np.arange(n_folds)[:, np.newaxis]
        return self.deal(order, lambda n: (n + n_folds - 1 - numbers) // n_folds)

    def count_by_level(self) -> Indices:
        """Return the number of places of each class or relevance."""
        level = np.unique(self._rows.y[self.first], return_inverse=True)[1]
        return np.bincount(level, self.n_places).astype(np.intp)
