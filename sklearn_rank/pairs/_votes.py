"""From tables of duels and annotations to pairs with weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch

from sklearn_rank._core.arrays import Floats, Indices, Values
from sklearn_rank._core.validation import (
    Choice,
    check_floats,
    check_lengths,
    check_names,
    check_parameters,
    check_weight,
    refuse_missing_ids,
)
from sklearn_rank.pairs._given import check_weighted_pairs, unique_pairs

_TIE = 1e-12
"""A majority of at most this share is the rounding of a tie."""

_WEIGHTS = ("votes", "shares", "majority")


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
    kept = share > _TIE
    if not kept.any():
        raise ValueError("merge_votes found no majority: all votes on any two items are tied.")
    return found[kept], share[kept]
