"""Pairs of items: checks, pairs from a table of duels, and equal pairs merged."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils import Bunch

from sklearn_rank._core.arrays import Floats, Indices, Values
from sklearn_rank._core.tolerances import MAJORITY_ROUNDING
from sklearn_rank._core.validation import (
    Choice,
    check_finite,
    check_floats,
    check_lengths,
    check_names,
    check_parameters,
    check_weight,
    refuse_missing_ids,
    sort_unique,
)

_LARGEST_ITEM = 2**53
"""The largest integer up to which floats hold every integer."""

_NAMES = "Items need names"

_WEIGHTS = ("votes", "shares", "majority")


def check_pairs(owner: str, pairs: Any, n_items: int | None) -> Indices:
    """Return pairs of items, winner and loser, as integers of shape (n_pairs, 2).

    `n_items` is the number of items; None: any index that is not negative is an item.
    """
    pairs = np.zeros(0) if pairs is None else check_finite(pairs, "pairs")
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            f"pairs of {owner} must have shape (n_pairs, 2): the rows of winner and loser in X, "
            f"which may be a PairTable instead. Got shape {pairs.shape}."
        )
    max_item = _LARGEST_ITEM if n_items is None else n_items - 1
    is_item = ((pairs >= 0) & (pairs <= max_item) & (pairs == np.floor(pairs))).all(axis=1)
    if not is_item.all():
        pair = int(np.argmin(is_item))
        suffix = "" if n_items is None else ", the rows of X"
        raise ValueError(
            f"The items of pairs of {owner} must be whole numbers from 0 to {max_item}{suffix}. "
            f"Got {pairs[pair].tolist()} in pair {pair}; duel_pairs makes them from names."
        )
    items: Indices = pairs.astype(np.intp)
    is_same = items[:, 0] == items[:, 1]
    if is_same.any():
        pair = int(np.argmax(is_same))
        raise ValueError(
            f"The winner of each pair of {owner} must differ from its loser. Got item "
            f"{items[pair, 0]} twice in pair {pair}."
        )
    return items


def check_weighted_pairs(
    owner: str, pairs: Any, n_items: int | None, sample_weight: Any
) -> tuple[Indices, Floats]:
    """Return the pairs of positive weight, and their weights."""
    pairs = check_pairs(owner, pairs, n_items)
    if sample_weight is None:  # without an array as long as the pairs
        return pairs, np.broadcast_to(1.0, len(pairs))
    weight = check_weight(sample_weight, len(pairs))
    indices = np.flatnonzero(weight)
    return pairs[indices], weight[indices]


def unique_pairs(pairs: Indices, *, ordered: bool = True) -> tuple[Indices, Indices]:
    """Return the sorted distinct pairs, and the index of each pair among them.

    With ``ordered=False`` (i, k) and (k, i) are equal.
    """
    if not ordered:
        pairs = np.sort(pairs, axis=1)
    # One code for each pair is sorted ten times as fast as two items.
    items, codes = np.unique(pairs, return_inverse=True)
    winner, loser = codes.reshape(-1, 2).T
    unique, index = np.unique(winner * len(items) + loser, return_inverse=True)
    return items[np.column_stack(np.divmod(unique, len(items)))], index.ravel()


def share_in_order(scores: Floats, pairs: Indices, weight: Floats) -> float:
    """Return the weighted share of pairs whose winner has the greater score; ties count half."""
    winner, loser = scores[pairs].T
    correct = (winner > loser) + (winner == loser) / 2
    # Divided by the largest weight: sums of the largest floats overflow.
    weight = weight / weight.max()
    return float(weight @ correct / weight.sum())


class PairTable:
    """Pairs of items as samples, which scikit-learn's splitters and searches accept as X.

    Indexing returns a table with some of the pairs and the same items: `X` is stored once and never
    copied, however many folds there are.

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
        If `pairs` are invalid.

    See Also
    --------
    PairKFold : Splits pairs so that two items, or an item, stay on one side.

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
        # A copy: the caller may exchange winners and losers in place.
        self.pairs = check_pairs("PairTable", pairs, n_items).copy()

    @property
    def shape(self) -> tuple[int, int]:
        """Number of pairs, and two."""
        return len(self.pairs), 2

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, key: Any) -> Self:
        """Return the table of some of the pairs."""
        table = object.__new__(type(self))
        table.X, table.pairs = self.X, np.atleast_2d(self.pairs[key])
        return table


def items_and_pairs(X: Any, pairs: Any) -> tuple[Any, Any]:
    """Return items and pairs, passed as two arrays or as a table."""
    if not isinstance(X, PairTable):
        return X, pairs
    if pairs is not None:
        raise ValueError("A PairTable holds its pairs: pass it alone, without pairs.")
    return X.X, X.pairs


def duel_pairs(
    first: Any, second: Any, outcome: Any = None, *, items: Any = None, sample_weight: Any = None
) -> Bunch:
    """Return the pairs (winner, loser) of a table with one duel per row.

    Parameters
    ----------
    first, second : array-like of shape (n_duels,)
        Names of the two items: strings, numbers or other sortable values.
    outcome : array-like of shape (n_duels,), default=None
        1 if the first item won, 0 if the second did, 0.5 for a tie, which counts as half a win for
        each. Any number from 0 to 1 is the share of the first, such as the fraction of visitors who
        preferred it. None: the first item won all duels.
    items : array-like of shape (n_items,), default=None
        Names of the items in the order of the rows of X. None: all names in the table, sorted.
    sample_weight : float or array-like of shape (n_duels,), default=None
        Multiplicities of the duels.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        ``pairs`` of shape (n_pairs, 2), positions in ``names``: winner and loser; their
        ``weight`` and their ``duel``, the row of the table, each of shape (n_pairs,); and
        ``names``, those of the items. A duel with a share between 0 and 1 gives two pairs.

    Raises
    ------
    ValueError
        If an array is invalid, an item meets itself, or a name is not in `items`.

    Examples
    --------
    >>> from sklearn_rank.pairs import duel_pairs
    >>> duels = duel_pairs(["ann", "bob", "ann"], ["bob", "eve", "eve"], [1, 0, 0.5])
    >>> duels.names
    array(['ann', 'bob', 'eve'], dtype='<U3')
    >>> duels.pairs.tolist(), duels.weight
    ([[0, 1], [2, 1], [0, 2], [2, 0]], array([1. , 1. , 0.5, 0.5]))
    """
    first, second = check_names(first, "first"), check_names(second, "second")
    check_lengths(first=first, second=second)
    share = np.ones(len(first)) if outcome is None else check_floats(outcome, "outcome")
    check_lengths(first=first, outcome=share)
    is_share = (share >= 0) & (share <= 1)
    if not is_share.all():
        duel = int(np.argmin(is_share))
        raise ValueError(
            "outcome of duel_pairs must be from 0, the second wins, to 1, the first wins. Got "
            f"{share[duel]:g} in duel {duel}."
        )
    names, left, right = _codes(first, second, items)
    if (left == right).any():
        duel = int(np.argmax(left == right))
        raise ValueError(
            f"The items of a duel must differ. Got {names.tolist()[left[duel]]!r} twice in duel "
            f"{duel}."
        )
    weight = check_weight(sample_weight, len(first))
    # Two pairs for each duel, in the order of the table; pairs of weight zero are left out.
    pairs = np.column_stack([left, right, right, left]).reshape(-1, 2)
    weight = np.column_stack([weight * share, weight * (1 - share)]).ravel()
    indices = np.flatnonzero(weight > 0)
    return Bunch(pairs=pairs[indices], weight=weight[indices], duel=indices // 2, names=names)


def _codes(first: Values, second: Values, items: Any) -> tuple[Values, Indices, Indices]:
    """Return the items, and their index for each name in two columns."""
    refuse_missing_ids(first, "first")
    refuse_missing_ids(second, "second")
    kinds = {first.dtype.kind, second.dtype.kind}
    # NumPy would turn numbers into texts, and "2" and 2 into one item.
    are_mixed = len(kinds) > 1 and kinds & {"U", "S"}
    names = np.concatenate([first, second], dtype=object if are_mixed else None)
    if items is None:
        items, index = sort_unique(names, _NAMES)
    else:
        items = check_names(items, "items")
        if len(set(items.tolist())) < len(items):
            raise ValueError("items of duel_pairs must have each name once.")
        index = indices_of(names, items)
        if (index < 0).any():
            name = names.tolist()[np.argmin(index)]
            raise ValueError(f"items of duel_pairs must have every name. {name!r} is missing.")
    return items, index[: len(first)], index[len(first) :]


def indices_of(names: Values, items: Values) -> Indices:
    """Return the index of each name among items, -1 for names that are not among them."""
    index_of = {name: index for index, name in enumerate(items.tolist())}
    unique, codes = sort_unique(names, _NAMES)
    return np.array([index_of.get(name, -1) for name in unique.tolist()], dtype=np.intp)[codes]


def merge_votes(
    pairs: Any, *, sample_weight: Any = None, weights: str = "votes"
) -> tuple[Indices, Floats]:
    r"""Return each pair once, with a weight that measures how far its judges agree.

    .. math:: \text{votes: } n_{ik}, \qquad
        \text{shares: } \frac{n_{ik}}{n_{ik} + n_{ki}}, \qquad
        \text{majority: } \frac{(n_{ik} - n_{ki})_+}{n_{ik} + n_{ki}}

    where :math:`n_{ik}` is the number, or the weight, of the votes for item i over item k.

    Parameters
    ----------
    pairs : array-like of shape (n_votes, 2)
        Winner and loser of each vote, as numbers counted from 0.
    sample_weight : float or array-like of shape (n_votes,), default=None
        Multiplicities of the votes, such as the reliability of their annotators.
    weights : {"votes", "shares", "majority"}, default="votes"
        "votes": two items with more votes weigh more; with the logistic loss, the model is the same
        as for all votes. "shares": the votes on two items weigh one in total, whatever their
        number. "majority": of two items only the pair with more votes, which weighs more
        the clearer the majority; two items without a majority are dropped.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Winner and loser, sorted.
    weight : ndarray of shape (n_pairs,)
        Positive weights.

    Raises
    ------
    ValueError
        If an array is invalid, or no two items have a majority.

    References
    ----------
    Defined here.

    Examples
    --------
    Three of four prefer item 2 to item 0:

    >>> from sklearn_rank.pairs import merge_votes
    >>> votes = [(2, 0), (2, 0), (0, 2), (2, 0), (1, 0)]
    >>> for weights in ("votes", "shares", "majority"):
    ...     pairs, weight = merge_votes(votes, weights=weights)
    ...     print(pairs.tolist(), weight)
    [[0, 2], [1, 0], [2, 0]] [1. 1. 3.]
    [[0, 2], [1, 0], [2, 0]] [0.25 1.   0.75]
    [[1, 0], [2, 0]] [1.  0.5]
    """
    check_parameters("merge_votes", {"weights": weights}, {"weights": Choice(_WEIGHTS)})
    checked, weight = check_weighted_pairs("merge_votes", pairs, None, sample_weight)
    unique, index = unique_pairs(checked)
    votes = np.bincount(index, weight).astype(np.float64, copy=False)
    if weights == "votes":
        return unique, votes
    unordered = unique_pairs(unique, ordered=False)[1]
    share = votes / np.bincount(unordered, votes)[unordered]
    if weights == "majority":
        share = 2 * share - 1
    is_kept = share > MAJORITY_ROUNDING
    if not is_kept.any():
        raise ValueError("merge_votes found no majority: all votes on any two items are tied.")
    return unique[is_kept], share[is_kept]
