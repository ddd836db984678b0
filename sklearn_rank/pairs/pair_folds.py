"""Folds of pairs that keep equal pairs, or items, on one side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils import check_random_state

from sklearn_rank._core.arrays import Indices
from sklearn_rank._core.validation import SEED, Choice, Constraint, Number, check_parameters
from sklearn_rank.pairs._given import PairTable, check_pairs, unique_pairs


class PairKFold(BaseCrossValidator):
    """K-fold splitter for pairs, which keeps pairs or items on one side of each split.

    Parameters
    ----------
    n_splits : int in [2, inf), default=5
        Number of folds.
    keep : {"pairs", "items"}, default="pairs"
        What is never on both sides. "pairs": the same two items, whoever won, to measure how well
        known items are ordered. "items": an item, to measure how well new items are ordered. A test
        fold has the pairs whose items are both new; pairs of a new and a known item are on neither
        side.
    random_state : int, RandomState or None, default=None
        Seed of the folds.

    Raises
    ------
    ValueError
        If a parameter or an array is invalid, if there are too few pairs or items for the folds, or
        if a fold would have no pairs.

    See Also
    --------
    PairTable : Items and pairs as one object, which scikit-learn's searches take as X.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.pairs import PairKFold
    >>> rng = np.random.default_rng(0)
    >>> pairs = np.array([rng.choice(30, 2, replace=False) for _ in range(200)])
    >>> for keep in ("pairs", "items"):
    ...     train, test = next(PairKFold(3, keep=keep, random_state=0).split(pairs))
    ...     n_known = len(np.intersect1d(pairs[train], pairs[test]))
    ...     print(f"{len(train)} and {len(test)} pairs, with {n_known} items in both")
    133 and 67 pairs, with 29 items in both
    93 and 25 pairs, with 0 items in both
    """

    _allowed: ClassVar[dict[str, Constraint]] = {
        "n_splits": Number(2, integer=True),
        "keep": Choice(("pairs", "items")),
        "random_state": SEED,
    }

    def __init__(self, n_splits: int = 5, *, keep: str = "pairs", random_state: Any = None) -> None:
        params = {"n_splits": n_splits, "keep": keep, "random_state": random_state}
        check_parameters("PairKFold", params, self._allowed)
        self.n_splits = n_splits
        self.keep = keep
        self.random_state = random_state

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[Indices, Indices]]:
        """Return the splits, each a pair of arrays of positions of pairs.

        Parameters
        ----------
        X : PairTable or array-like of shape (n_pairs, 2)
            The pairs.
        y, groups : object, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        iterator of (train, test)
            Sorted positions of the pairs on both sides.
        """
        pairs = X.pairs if isinstance(X, PairTable) else check_pairs("PairKFold", X, None)
        folds = self._folds(pairs)
        # All splits first, so that invalid input is an error here, not at the first split.
        splits = []
        for fold in range(self.n_splits):
            is_tested = folds == fold
            train = np.flatnonzero(~is_tested.any(axis=1))
            test = np.flatnonzero(is_tested.all(axis=1))
            if not (len(train) and len(test)):
                raise ValueError(
                    f"PairKFold with n_splits={self.n_splits} and keep={self.keep!r} leaves split "
                    f"{fold} without pairs on one side: use fewer splits."
                )
            splits.append((train, test))
        return iter(splits)

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits.

        Parameters
        ----------
        X, y, groups : object, default=None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        int
            The parameter `n_splits`.
        """
        return self.n_splits

    def _folds(self, pairs: Indices) -> Indices:
        """Return the fold of both items of each pair, of shape (n_pairs, 2)."""
        # A unit, two items or one, is in one fold with all its pairs.
        if self.keep == "items":
            unit_of_item = np.unique(pairs, return_inverse=True)[1].reshape(-1, 2)
        else:
            unit_of_item = np.column_stack([unique_pairs(pairs, ordered=False)[1]] * 2)
        size = np.bincount(unit_of_item.ravel())
        if len(size) < self.n_splits:
            raise ValueError(
                f"PairKFold with keep={self.keep!r} needs at least n_splits={self.n_splits} of "
                f"them. Got {len(size)}."
            )
        # The largest unit first, each into the smallest fold so far; ties in random order.
        order = check_random_state(self.random_state).permutation(len(size))
        order = order[np.argsort(-size[order], kind="stable")]
        fold = np.empty(len(size), dtype=np.intp)
        fold_sizes = np.zeros(self.n_splits, dtype=np.intp)
        for index in order:
            fold[index] = np.argmin(fold_sizes)
            fold_sizes[fold[index]] += size[index]
        return fold[unit_of_item]
