"""Pairs of items: as a user gives them, made of duels, and merged where they are equal."""

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
)

_LARGEST_ITEM = 2**53
"""Whole numbers up to here are floats."""

_WEIGHTS = ("votes", "shares", "majority")


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


def duel_pairs(
    first: Any, second: Any, outcome: Any = None, *, items: Any = None, sample_weight: Any = None
) -> Bunch:
    """Return the pairs (winner, loser) of a table with a duel in each row.

    Parameters
    ----------
    first, second : array-like of shape (n_duels,)
        Names of the two items: strings, numbers or anything that sorts.
    outcome : array-like of shape (n_duels,), default=None
        1 where the first has won, 0 where the second has, 0.5 where neither has: a tie counts as
        half a win of each. Any number from 0 to 1 is the share of the first, such as that of the
        visitors who preferred it. None: the first has won all duels.
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
        When an array is not as described, an item meets itself, or a name is not in `items`.

    Examples
    --------
    >>> from sklearn_rank.pairs import duel_pairs
    >>> found = duel_pairs(["ann", "bob", "ann"], ["bob", "eve", "eve"], [1, 0, 0.5])
    >>> found.names
    array(['ann', 'bob', 'eve'], dtype='<U3')
    >>> found.pairs.tolist(), found.weight
    ([[0, 1], [2, 1], [0, 2], [2, 0]], array([1. , 1. , 0.5, 0.5]))
    """
    first, second = check_names(first, "first"), check_names(second, "second")
    check_lengths(first=first, second=second)
    n_duels = len(first)
    share = np.ones(n_duels) if outcome is None else check_floats(outcome, "outcome")
    check_lengths(first=first, outcome=share)
    if not ((share >= 0) & (share <= 1)).all():
        number = int(np.argmin((share >= 0) & (share <= 1)))
        raise ValueError(
            "outcome of duel_pairs must be from 0, the second wins, to 1, the first wins. Got "
            f"{share[number]:g} in duel {number}."
        )
    known, left, right = _codes(first, second, items)
    if (left == right).any():
        number = int(np.argmax(left == right))
        raise ValueError(
            f"The items of a duel must differ. Got {known.tolist()[left[number]]!r} twice in duel "
            f"{number}."
        )
    weight = check_weight(sample_weight, n_duels)
    pairs = np.concatenate([np.column_stack([left, right]), np.column_stack([right, left])])
    both = np.concatenate([weight * share, weight * (1 - share)])
    duel = np.tile(np.arange(n_duels), 2)
    # In the order of the table; what has no weight says nothing.
    order = np.argsort(duel, kind="stable")
    order = order[both[order] > 0]
    return Bunch(pairs=pairs[order], weight=both[order], duel=duel[order], names=known)


def _codes(first: Values, second: Values, items: Any) -> tuple[Values, Indices, Indices]:
    """Return the items, and the position of each name of two columns among them."""
    for values, name in ((first, "first"), (second, "second")):
        refuse_missing_ids(values, name)
    kinds = {first.dtype.kind, second.dtype.kind}
    # NumPy would make texts of numbers in the other column, and one item of "2" and 2.
    are_mixed = len(kinds) > 1 and kinds & {"U", "S"}
    both = np.concatenate([first, second], dtype=object if are_mixed else None)
    if items is None:
        found, place = _unique(both)
    else:
        found = check_names(items, "items")
        if len(set(found.tolist())) < len(found):
            raise ValueError("items of duel_pairs must have each name once.")
        place = positions(both, found)
        if (place < 0).any():
            name = both.tolist()[np.argmin(place)]
            raise ValueError(f"items of duel_pairs must hold every name. Got no {name!r}.")
    return found, place[: len(first)], place[len(first) :]


def positions(names: Values, items: Values) -> Indices:
    """Return the position of each name among items, -1 for those that are not among them."""
    known = {name: number for number, name in enumerate(items.tolist())}
    found, place = _unique(names)
    return np.array([known.get(name, -1) for name in found.tolist()], dtype=np.intp)[place]


def _unique(names: Values) -> tuple[Values, Indices]:
    """Return the names, sorted, and the position of each among them."""
    try:
        found, place = np.unique(names, return_inverse=True)
    except TypeError as error:
        raise ValueError(f"Items need names of one kind that can be sorted. {error}") from error
    return found, place.ravel()


def merge_votes(
    pairs: Any, *, sample_weight: Any = None, weights: str = "votes"
) -> tuple[Indices, Floats]:
    r"""Return each pair once, with a weight that tells how far its judges agree.

    .. math:: \text{votes: } n_{ik}, \qquad
        \text{shares: } \frac{n_{ik}}{n_{ik} + n_{ki}}, \qquad
        \text{majority: } \frac{(n_{ik} - n_{ki})_+}{n_{ik} + n_{ki}}

    where :math:`n_{ik}` is the number, or the weight, of the votes for item i over item k.

    Parameters
    ----------
    pairs : array-like of shape (n_votes, 2)
        Winner and loser of each vote, as numbers from 0 on.
    sample_weight : float or array-like of shape (n_votes,), default=None
        Multiplicities of the votes, such as the reliability of their annotators.
    weights : {"votes", "shares", "majority"}, default="votes"
        "votes": two items that many have judged weigh more. This is all that there is to know for
        the logistic loss: the model is that of all votes. "shares": any two items weigh one
        together, whatever the number of their judges. "majority": one pair of each two items,
        the more one-sided the heavier; two items without majority are left out.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Winner and loser, sorted.
    weight : ndarray of shape (n_pairs,)
        Positive weights.

    Raises
    ------
    ValueError
        When an array is not as described, or no two items have a majority.

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
    known, weight = check_weighted_pairs("merge_votes", pairs, None, sample_weight)
    found, place = unique_pairs(known)
    votes = np.bincount(place, weight).astype(np.float64, copy=False)
    if weights == "votes":
        return found, votes
    sides = unique_pairs(found, ordered=False)[1]
    share = votes / np.bincount(sides, votes)[sides]
    if weights == "majority":
        share = 2 * share - 1
    kept = share > MAJORITY_ROUNDING
    if not kept.any():
        raise ValueError("merge_votes found no majority: all votes on any two items are tied.")
    return found[kept], share[kept]
