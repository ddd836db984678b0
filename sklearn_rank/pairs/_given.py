"""Checks of pairs and their weights, and the share of pairs that scores put in order."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sklearn_rank._core.arrays import Floats, Indices
from sklearn_rank._core.validation import check_finite, check_weight

_LARGEST_ITEM = 2**53
"""Whole numbers up to here are floats."""


def check_pairs(owner: str, pairs: Any, n_items: int | None) -> Indices:
    """Return pairs of items as integers, of shape (n_pairs, 2): winner and loser.

    `n_items` is the number of items, None where every index that is not negative is one.
    """
    given = np.zeros(0) if pairs is None else check_finite(pairs, "pairs")
    if given.ndim != 2 or given.shape[1] != 2:
        raise ValueError(
            f"pairs of {owner} must have shape (n_pairs, 2): the rows of winner and loser in X, "
            f"which may be a PairTable instead. Got shape {given.shape}."
        )
    largest = _LARGEST_ITEM if n_items is None else n_items - 1
    is_item = (given >= 0) & (given <= largest) & (given == np.floor(given))
    if not is_item.all():
        number = int(np.argmin(is_item.all(axis=1)))
        what = "" if n_items is None else ", the rows of X"
        raise ValueError(
            f"The items of pairs of {owner} must be whole numbers from 0 to {largest}{what}. Got "
            f"{given[number].tolist()} in pair {number}; duel_pairs makes them from names."
        )
    found: Indices = given.astype(np.intp)
    is_same = found[:, 0] == found[:, 1]
    if is_same.any():
        number = int(np.argmax(is_same))
        raise ValueError(
            f"The winner of each pair of {owner} must differ from its loser. Got item "
            f"{found[number, 0]} twice in pair {number}."
        )
    return found


def check_weighted_pairs(
    owner: str, pairs: Any, n_items: int | None, sample_weight: Any
) -> tuple[Indices, Floats]:
    """Return the pairs of positive weight, and their weights."""
    found = check_pairs(owner, pairs, n_items)
    if sample_weight is None:  # without an array as long as the pairs
        return found, np.broadcast_to(1.0, len(found))
    weight = check_weight(sample_weight, len(found))
    if weight.all():
        return found, weight
    kept = np.flatnonzero(weight)
    return found[kept], weight[kept]


def unique_pairs(pairs: Indices, *, ordered: bool = True) -> tuple[Indices, Indices]:
    """Return the pairs that there are, sorted, and the position of each pair among them.

    With ``ordered=False`` (i, k) and (k, i) are one.
    """
    if not ordered:
        pairs = np.sort(pairs, axis=1)
    # One number for each pair is sorted ten times as fast as two.
    items, place = np.unique(pairs, return_inverse=True)
    place = place.reshape(-1, 2)
    code = place[:, 0] * len(items) + place[:, 1]
    found, position = np.unique(code, return_inverse=True)
    return items[np.column_stack(np.divmod(found, len(items)))], position.ravel()


def share_in_order(scores: Floats, pairs: Indices, weight: Floats) -> float:
    """Return the weighted share of pairs whose winner has the greater score; ties count half."""
    winner, loser = scores[pairs[:, 0]], scores[pairs[:, 1]]
    in_order = (winner > loser) + (winner == loser) / 2
    # By the largest weight: sums of the largest floats overflow.
    weight = weight / weight.max()
    return float(weight @ in_order / weight.sum())


class PairTable:
    """Pairs of items as samples: what scikit-learn's splitters and searches take as X.

    Indexing it returns a table of some of the pairs, with the same items: `X` is held once and is
    never copied, however many folds there are.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features)
        Features of the items.
    pairs : array-like of shape (n_pairs, 2)
        Rows of X: the winner and the loser of each pair. They are copied.

    Attributes
    ----------
    X : {array-like, sparse matrix} of shape (n_items, n_features)
        Features of the items, as passed.
    pairs : ndarray of shape (n_pairs, 2)
        The pairs.
    shape : tuple of int
        ``(n_pairs, 2)``.

    Raises
    ------
    ValueError
        When `pairs` are not as described.

    See Also
    --------
    PairKFold : Splits the pairs so that two items, or an annotator, are on one side.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn_rank import KernelPairwiseSGDRanker
    >>> from sklearn_rank.pairs import PairKFold, PairRanker, PairTable
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(300)])
    >>> wins = X[pairs[:, 0], 0] + rng.normal(size=300) > X[pairs[:, 1], 0]
    >>> pairs[~wins] = pairs[~wins, ::-1]
    >>> table = PairTable(X, pairs)
    >>> table[[4, 7]].shape
    (2, 2)
    >>> ranker = PairRanker(KernelPairwiseSGDRanker(kernel="linear"))
    >>> grid = {"ranker__alpha": [1e-3, 1.0]}
    >>> search = GridSearchCV(ranker, grid, cv=PairKFold(random_state=0)).fit(table)
    >>> search.predict(X).shape
    (60,)
    """

    def __init__(self, X: Any, pairs: Any) -> None:
        self.X = X
        n_items = X.shape[0] if hasattr(X, "shape") else len(X)
        # A copy: the caller may turn round pairs in place.
        self.pairs = check_pairs("PairTable", pairs, n_items).copy()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of pairs, and two."""
        return len(self.pairs), 2

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: Any) -> Self:
        """Return the table of some of the pairs."""
        some = object.__new__(type(self))
        some.X, some.pairs = self.X, np.atleast_2d(self.pairs[key])
        return some


def items_and_pairs(X: Any, pairs: Any) -> tuple[Any, Any]:
    """Return items and pairs, passed as two arrays or as a table."""
    if not isinstance(X, PairTable):
        return X, pairs
    if pairs is not None:
        raise ValueError("A PairTable holds its pairs: pass it alone, without pairs.")
    return X.X, X.pairs
