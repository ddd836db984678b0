"""Items and pairs as one object whose samples are the pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from sklearn_rank.pairs._given import check_pairs


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
