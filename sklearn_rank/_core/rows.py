"""The rows of a fit: features, relevance, queries and weights, and sums over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sklearn_rank._core.arrays import Codes, Floats, Indices, Values
from sklearn_rank._core.distinct import (
    distinct_rows,
    equal_as_one,
    hash_rows,
    least_codes,
)
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.processes import Collective
from sklearn_rank._core.selected import Selection
from sklearn_rank._core.sums import Sums, shared_property

__all__ = ["FitRows", "Rows"]

_SMALLEST_WEIGHT, _LARGEST_WEIGHT = -100, 40
"""Binary exponents between which weights are taken as they are."""

_NO_FLOAT = np.uint64(11)
"""Bits of a hash that the messages of processes, which are floats, can't hold."""


@dataclass(frozen=True, eq=False)
class Rows(Sums):
    """Rows to learn from, without rows of weight zero.

    Where several processes hold the rows of a fit each has its own, and the methods of `Sums`
    give sums over all of them.

    Attributes
    ----------
    X : {ndarray, sparse matrix, Selection} of shape (n_rows, n_features)
        Features, or what stands for them; None where nobody needs them.
    y : ndarray of shape (n_rows,)
        True for the upper class (binary), or relevance (graded).
    qid : ndarray of shape (n_rows,) or None
        Query codes.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities.
    classes : ndarray of shape (2,) or None
        The two classes; None in graded mode.
    position : ndarray of shape (n_rows,)
        Positions of these rows among those passed to `fit`.
    held_out : Rows or None
        Validation rows that the caller passed besides.
    collective : Collective or None
        The processes that hold the rows; None where all are here.
    n_passed : int
        Number of rows passed to `fit`, those of weight zero included.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.rows import Rows
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows = Rows(X, np.array([True, False, True]), None, np.array([1.0, 1.0, 2.0]))
    >>> rows.total_weight
    4.0
    >>> rows.distinct().weight
    array([3., 1.])
    """

    X: Any
    y: Values
    qid: Indices | None
    weight: Floats
    classes: Values | None = None
    position: Any = None
    held_out: Rows | None = None
    collective: Collective | None = None
    n_passed: int = 0

    def __post_init__(self) -> None:
        """Set `position` and `n_passed`, if they are not given."""
        if self.position is None:
            type_ = np.min_scalar_type(-len(self.y) - 1)
            object.__setattr__(self, "position", np.arange(len(self.y), dtype=type_))
            object.__setattr__(self, "n_passed", len(self.y))

    def take(self, rows: Indices, weight: Floats | None = None) -> Rows:
        """Return some of the rows, with weights of their own or with others."""
        taken = replace(
            self,
            X=None if self.X is None else self.X[rows],
            y=self.y[rows],
            qid=None if self.qid is None else self.qid[rows],
            weight=self.weight[rows] if weight is None else weight,
            position=self.position[rows],
        )
        if "code" in vars(self):  # hashing again would cost a pass over the features
            vars(taken)["code"] = self.code[rows]
        return taken

    def distinct(self) -> Rows:
        """Return equal rows as one with their summed weight, in an order of their own.

        By query, falling relevance, and a hash of the features; queries come by the smallest
        hash in them. So the order of the rows and the names of the queries have no part in it.
        """
        rows, weight, qid, _ = distinct_rows(self.code, self.y, self.qid, self.weight)
        return replace(self.take(rows, weight), qid=qid)

    def uncopied(self) -> Rows:
        """Return rows of which others can be taken without a copy of their features."""
        rows = replace(self, X=Selection.of(self.X))
        if "preferences" in vars(self):  # the same pairs, in memory once
            vars(rows)["preferences"] = self.preferences
        return rows

    def sample(self, size: int, *, by_class: bool = False) -> tuple[Indices, Floats]:
        """Return the distinct rows of the smallest hashes, with their summed weights.

        Neither the order of the rows nor their division over processes has a part in it.

        Parameters
        ----------
        size : int
            Number of distinct rows, of all processes; with fewer all are taken.
        by_class : bool, default=False
            Whether rows of equal features but another class are distinct.

        Returns
        -------
        rows : ndarray of shape (n_sampled,)
            Positions of those rows that this process holds, by rising hash.
        weight : ndarray of shape (n_sampled,)
            The weights of their equals here.
        """
        code = np.where(self.y, ~self.code, self.code) if by_class else self.code
        least = least_codes(code, size) >> _NO_FLOAT
        largest = least_codes(self.concat(least), size).max(initial=0)
        some = np.flatnonzero(code >> _NO_FLOAT <= largest)
        rows, _, weight = equal_as_one(some, code, self.weight)
        return rows, weight

    def with_moderate_weights(self) -> Rows:
        """Return rows whose weights have products that neither underflow nor overflow.

        Where the largest weight of a row in a pair lies outside [2^-100, 2^40] all weights are
        multiplied by one power of two: very small ones so that it is about one, very large
        ones so that it is about 2^40.
        """
        is_paired = self.preferences.is_paired
        heaviest = float(np.max(self.preferences.weight[is_paired], initial=0.0))
        exponent = int(np.frexp(self.largest(heaviest))[1])
        if _SMALLEST_WEIGHT <= exponent <= _LARGEST_WEIGHT:
            return self
        target = 0 if exponent < 0 else _LARGEST_WEIGHT
        # Rows that are far lighter, or in no pair and far heavier, keep a finite logarithm.
        with np.errstate(over="ignore", under="ignore"):
            weight = np.ldexp(self.weight, target - exponent)
        return replace(self, weight=np.clip(weight, 2.0**-1000, 2.0**500))

    @shared_property
    def code(self) -> Codes:
        """A hash of the features of each row."""
        return hash_rows(self.X)

    @shared_property
    def labels(self) -> Values:
        """The classes of the rows, or their relevance: what the caller passed as y."""
        return self.y if self.classes is None else self.classes[self.y.astype(np.intp)]

    @shared_property
    def metadata(self) -> dict[str, Any]:
        """What else the caller passed, as keywords of `fit` and `score`."""
        weight = None if (self.weight == 1).all() else self.weight
        known = {"qid": self.qid, "sample_weight": weight}
        return {name: value for name, value in known.items() if value is not None}

    @shared_property
    def shape(self) -> tuple[int, int]:
        """Number of rows, of all processes, and of features."""
        n_rows, n_features = self.X.shape
        return int(self.total(float(n_rows))), n_features

    def paired_rows(self) -> Indices:
        """Return the rows that belong to at least one comparable pair."""
        return np.sort(self.preferences.order[self.preferences.is_paired])

    @shared_property
    def feature_means(self) -> Floats:
        """The weighted mean of each feature."""
        return np.asarray(self.total(self.weight / self.total_weight @ self.X))

    @shared_property
    def total_weight(self) -> float:
        """The sum of the weights."""
        return float(self.total(float(self.weight.sum())))

    @shared_property
    def preferences(self) -> Preferences:
        """The comparable pairs."""
        return Preferences.from_labels(self.y, self.qid, self.weight, self)


class FitRows(Sums):
    """Rows to learn from as a model needs them: in fit order, and what else it goes by.

    Parameters
    ----------
    rows : Rows
        The rows, in the caller's order.
    threads : ThreadPool
        Threads that share the work.
    max_bins : int
        Maximum number of bins of a feature, for models with thresholds.
    seed : int
        Seeds everything random.
    earlier : Rules or None
        What the earlier rounds of a warm start have fitted.
    constraints : StumpConstraints or None
        What stumps may be; None for other models.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Features, in the caller's order.
    order : ndarray of shape (n_rows,)
        ``X[order]`` is in fit order, that of the comparable pairs.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities, in fit order.
    """

    def __init__(
        self,
        rows: Rows,
        threads: ThreadPool,
        max_bins: int = 64,
        seed: int = 0,
        earlier: Any = None,
        constraints: Any = None,
    ) -> None:
        super().__init__(rows.collective)
        self.rows, self.X = rows, rows.X
        self.order, self.weight = rows.preferences.order, rows.preferences.weight
        self.threads, self.max_bins, self.seed = threads, max_bins, seed
        self.earlier, self.constraints = earlier, constraints
