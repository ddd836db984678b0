"""The rows of a fit, and how it treats equal rows.

Equal rows are merged into one with their summed weight, in an order that does not depend on the
input; folds and splits keep them together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._core import arrays
from sklearn_rank._core.arrays import SMALL_BLOCK, Codes, Floats, Indices, Values, blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank._core.sums import Collective, Sums, shared_property, starts_run

_SMALLEST_WEIGHT, _LARGEST_WEIGHT = -100, 40
"""Binary exponents of the largest weight between which weights are not rescaled."""

_NO_FLOAT = np.uint64(11)
"""Lowest bits of a hash that are cut off in messages, whose floats hold 53 bits."""

_MULTIPLIER = np.uint64(0xD6E8FEB86659FD93)
"""An odd number with bits set throughout: multiplying by it mixes the bits of a hash."""

MAX_LIGHT_SHARE = 0.01
"""Largest share of the weight with which rows of equal features are held out together."""

_LARGEST_COUNT = 2.0**40
"""Larger weights are not taken as counts: their units would not fit into memory."""

_FRACTIONAL_UNITS = 100
"""Units, of a percent each, of a heavy row whose weight is no count."""


@dataclass(frozen=True, eq=False)
class Rows(Sums):
    """Rows to learn from, without rows of weight zero.

    Where several processes hold the rows of a fit each has its own, and the methods of `Sums`
    give sums over all of them.

    Attributes
    ----------
    X : {ndarray, sparse matrix, SelectedRows} of shape (n_rows, n_features)
        Features; None if they are not used.
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
    shown_at : ndarray of shape (n_rows,) or None
        The place at which each row was shown in its query, from 1, where that is known.

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

    X: arrays.Matrix
    y: Values
    qid: Indices | None
    weight: Floats
    classes: Values | None = None
    position: arrays.Setting = None
    held_out: Rows | None = None
    collective: Collective | None = None
    n_passed: int = 0
    shown_at: Indices | None = None

    def __post_init__(self) -> None:
        """Set `position` and `n_passed` by default."""
        if self.position is None:
            dtype = np.min_scalar_type(-len(self.y) - 1)
            object.__setattr__(self, "position", np.arange(len(self.y), dtype=dtype))
            object.__setattr__(self, "n_passed", len(self.y))

    def take(self, rows: Indices, weight: Floats | None = None) -> Rows:
        """Return a subset of the rows, with their weights or with others."""
        taken = replace(
            self,
            X=None if self.X is None else self.X[rows],
            y=self.y[rows],
            qid=None if self.qid is None else self.qid[rows],
            weight=self.weight[rows] if weight is None else weight,
            position=self.position[rows],
            shown_at=None if self.shown_at is None else self.shown_at[rows],
        )
        if "row_hash" in vars(self):  # hashing again would cost a pass over the features
            vars(taken)["row_hash"] = self.row_hash[rows]
        return taken

    def distinct(self) -> Rows:
        """Merge equal rows and sum their weights; the order is independent of the input order.

        The order is by query, falling relevance and a hash of the features; queries are sorted by
        their smallest hash. It does not depend on the order of the rows or the names of queries.
        """
        rows, weight, qid, _ = distinct_rows(self.row_hash, self.y, self.qid, self.weight)
        return replace(self.take(rows, weight), qid=qid)

    def uncopied(self) -> Rows:
        """Return the rows as a selection, so that `take` copies no features."""
        rows = replace(self, X=SelectedRows.of(self.X))
        if "preferences" in vars(self):  # the same pairs, in memory once
            vars(rows)["preferences"] = self.preferences
        return rows

    def sample(self, size: int, *, by_class: bool = False) -> tuple[Indices, Floats]:
        """Return the distinct rows of the smallest hashes, with their summed weights.

        The sample does not depend on the order of the rows or their division over processes.

        Parameters
        ----------
        size : int
            Number of distinct rows, of all processes; with fewer all are taken.
        by_class : bool, default=False
            Whether rows of equal features but another class are distinct.

        Returns
        -------
        rows : ndarray of shape (n_sampled,)
            Positions of the sampled rows of this process, by rising hash.
        weight : ndarray of shape (n_sampled,)
            The summed weights of the rows equal to them in this process.
        """
        row_hash = np.where(self.y, ~self.row_hash, self.row_hash) if by_class else self.row_hash
        smallest = smallest_codes(row_hash, size) >> _NO_FLOAT
        last_hash = smallest_codes(self.concat(smallest), size).max(initial=0)
        sampled = np.flatnonzero(row_hash >> _NO_FLOAT <= last_hash)
        rows, _, weight = merge_equal_rows(sampled, row_hash, self.weight)
        return rows, weight

    def with_moderate_weights(self) -> Rows:
        """Return rows whose weights have products that neither underflow nor overflow.

        If the largest weight of a row in a pair is outside [2^-100, 2^40], all weights are
        multiplied by a power of two that makes it about 1 or, if it was too large, about 2^40.
        """
        is_paired = self.preferences.is_paired
        heaviest = float(np.max(self.preferences.weight[is_paired], initial=0.0))
        exponent = int(np.frexp(self.largest(heaviest))[1])
        if _SMALLEST_WEIGHT <= exponent <= _LARGEST_WEIGHT:
            return self
        new_exponent = 0 if exponent < 0 else _LARGEST_WEIGHT
        # Rows that are far lighter, or far heavier but in no pair, keep a finite logarithm.
        with np.errstate(over="ignore", under="ignore"):
            weight = np.ldexp(self.weight, new_exponent - exponent)
        return replace(self, weight=np.clip(weight, 2.0**-1000, 2.0**500))

    @shared_property
    def row_hash(self) -> Codes:
        """A hash of the features of each row."""
        return hash_rows(self.X)

    @shared_property
    def labels(self) -> Values:
        """The classes of the rows, or their relevance, as the caller passed them in y."""
        return self.y if self.classes is None else self.classes[self.y.astype(np.intp)]

    @shared_property
    def metadata(self) -> dict[str, Values]:
        """Queries and weights, as keyword arguments of `fit` and `score`."""
        weight = None if (self.weight == 1).all() else self.weight
        arrays = {"qid": self.qid, "sample_weight": weight}
        return {name: array for name, array in arrays.items() if array is not None}

    @shared_property
    def shape(self) -> tuple[int, int]:
        """Number of rows of all processes, and number of features."""
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


@dataclass(eq=False, repr=False)
class FitRows(Sums):
    """Rows to learn from, in fit order, and the settings of a model.

    Parameters
    ----------
    rows : Rows
        The rows, in the caller's order.
    threads : ThreadPool
        Threads that share the work.
    max_bins : int
        Maximum number of bins of a feature, for models with thresholds.
    seed : int
        Seed of random choices.
    earlier_rules : Rules or None
        The rules of the earlier rounds of a warm start.
    constraints : StumpConstraints or None
        The constraints on stumps; None for other models.

    Attributes
    ----------
    X : {ndarray, sparse matrix} of shape (n_rows, n_features)
        Features, in the caller's order.
    order : ndarray of shape (n_rows,)
        ``X[order]`` is in fit order, that of the comparable pairs.
    weight : ndarray of shape (n_rows,)
        Positive multiplicities, in fit order.
    """

    rows: Rows
    threads: ThreadPool
    max_bins: int = 64
    seed: int = 0
    earlier_rules: arrays.Setting = None
    constraints: arrays.Setting = None

    def __post_init__(self) -> None:
        """Take features, fit order and weights from the rows."""
        self.X, self.collective = self.rows.X, self.rows.collective
        self.order, self.weight = self.rows.preferences.order, self.rows.preferences.weight


# Equal rows ------------------------------------------------------------------


def distinct_rows(
    row_hash: Codes, y: Values, qid: Indices | None, weight: Floats
) -> tuple[Indices, Floats, Indices | None, Indices]:
    """Return the first of each set of equal rows, summed weights, query codes, and sets of rows.

    Rows are equal when their features, of which `row_hash` is the hash, relevance and query are.
    Sets are sorted by query, falling relevance and hash, and queries by their smallest hash: the
    order does not depend on that of the input or on the names of queries. Rows with the same hash
    of 64 bits count as equal; two of a million different rows have one with probability 3e-8.
    """
    if not len(y):  # all rows are in other processes
        no_rows = np.zeros(0, dtype=np.intp)
        return no_rows, weight, qid, no_rows
    if qid is not None:  # query codes that rise with the smallest hash in each query
        smallest_hash = np.full(int(qid.max()) + 1, np.iinfo(np.uint64).max, dtype=np.uint64)
        np.minimum.at(smallest_hash, qid, row_hash)
        qid = np.argsort(np.argsort(smallest_hash, kind="stable"))[qid]
    hash_order = np.argsort(row_hash, kind="stable")
    query_code = None if qid is None else qid[hash_order]
    preferences = Preferences.from_labels(y[hash_order], query_code, weight[hash_order])
    order = hash_order[preferences.order]
    is_first = starts_run(row_hash[order])
    is_first[preferences.segments.start] = True
    first_rows = np.flatnonzero(is_first)
    rows, set_of_row = order[first_rows], np.empty(len(y), dtype=np.intp)
    set_of_row[order] = np.cumsum(is_first) - 1
    weight = np.add.reduceat(preferences.weight, first_rows)
    return rows, weight, None if qid is None else qid[rows], set_of_row


def merge_equal_rows(rows: Indices, code: Codes, weight: Floats) -> tuple[Indices, Codes, Floats]:
    """Return a row for each code, the rising codes, and the summed weights."""
    rows = rows[np.argsort(code[rows], kind="stable")]
    code = code[rows]
    first_rows = np.flatnonzero(starts_run(code))
    total = np.add.reduceat(weight[rows], first_rows) if len(first_rows) else weight[:0]
    return rows[first_rows], code[first_rows], total


def smallest_codes(row_hash: Codes, size: int) -> Codes:
    """Return the smallest distinct codes, rising: `size` of them, if there are as many."""
    smallest = np.zeros(0, dtype=np.uint64)
    # Block by block, as a sort of all codes takes much memory.
    for rows in blocks(len(row_hash), max(size, SMALL_BLOCK)):
        candidates = row_hash[rows]
        if len(smallest) == size:
            candidates = candidates[candidates < smallest[-1]]
        smallest = np.unique(np.concatenate([smallest, candidates]))[:size]
    return smallest


def number_of_rows(weight: Floats, processes: Sums | None = None) -> float:
    """Return the number of rows that the weights of distinct rows represent.

    It is their total weight or, if weights below one make that larger, their effective number:
    weights of 1/n of n rows stand for n rows. With `processes`, the number of all processes.
    """
    processes = processes or Sums()
    max_weight = processes.largest(float(weight.max(initial=0.0)))
    relative = weight / max_weight
    total, squares = processes.totals(float(relative.sum()), float(relative @ relative))
    return float(max(max_weight * total, total**2 / squares))


def effective_rows(weight: Floats) -> float:
    r"""Return the effective sample size of weighted rows that are not merged.

    Integer weights are counts: their total. For others it is Kish's effective number
    :math:`(\sum w)^2 / \sum w^2`, which does not depend on their unit. With it the estimated
    variance of a weighted mean is unbiased if the weights are independent of the values.
    """
    if (weight == np.floor(weight)).all():
        return float(weight.sum())
    relative_weight = weight / weight.max()
    return float(relative_weight.sum() ** 2 / (relative_weight @ relative_weight))


def hash_rows(X: arrays.Matrix) -> Codes:
    """Return a 64-bit hash of each row.

    It is a sum over the features, modulo 2**64, to which zeros add nothing: a sparse matrix has
    the hashes of the dense one.
    """
    if isinstance(X, SelectedRows):
        row_hash = hash_rows(X.matrix)
        return row_hash if X.rows is None else row_hash[X.rows]
    # A random odd number for each feature.
    factors = 2 * np.random.default_rng(0).integers(1 << 63, size=X.shape[1], dtype=np.uint64) + 1
    if issparse(X):
        terms = _mixed(X.data + 0.0) * factors[X.indices]
        cumulative = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return cumulative[X.indptr[1:]] - cumulative[X.indptr[:-1]]
    # Bin 0 would add nothing, so 1 is added to bins; adding 0.0 to floats makes -0.0 equal 0.0.
    rows, offset = (X.numbers, 1.0) if hasattr(X, "bins") else (X, 0.0)
    row_hash = np.empty(X.shape[0], dtype=np.uint64)
    for block in blocks(len(row_hash), 1 + SMALL_BLOCK // (1 + X.shape[1])):
        np.einsum("ij,j->i", _mixed(rows[block] + offset), factors, out=row_hash[block])
    return row_hash


def _mixed(values: Floats) -> Codes:
    """Return the bits of floats, mixed in place; zero stays zero.

    Unmixed bits of numbers with few digits would differ in the leading ones only.
    """
    is_nan = np.isnan(values)
    if is_nan.any():
        values[is_nan] = np.nan
    bits = values.view(np.uint64)
    for shift in (32, 29):
        bits ^= bits >> np.uint64(shift)
        bits *= _MULTIPLIER
    bits ^= bits >> np.uint64(32)
    return bits


class DistinctRows:
    """Distinct rows of a list, divided among parts such as folds.

    Rows with equal features are held out together, whatever their relevance: a model that learns
    from some of them would be wrong on the others. But if they carry more than 1 % of the total
    weight, each part gets its share of them: whole numbers of whole weights, so that a weight of 2
    is the row twice.

    Parameters
    ----------
    rows : Rows
        The rows, without queries.
    code : ndarray of shape (n_rows,) or None
        A hash of the features of each row; None for that of the rows.

    Attributes
    ----------
    first : ndarray of shape (n_distinct,)
        One of each set of equal rows, sorted by falling relevance, then by hash.
    n_units : ndarray of shape (n_distinct,)
        Units of each row, which are dealt out: one or, for heavy features, as many as the weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank._core.rows import DistinctRows, Rows
    >>> X = np.array([[1.0], [2.0], [3.0], [3.0]])
    >>> y, weight = np.array([True, False, True, False]), np.array([1.0, 1.0, 5.0, 2.0])
    >>> distinct = DistinctRows(Rows(X, y, None, weight))
    >>> distinct.n_units[np.argsort(distinct.first)]
    array([1, 1, 5, 2])
    >>> rows, fold = distinct.folds(2, seed=0)
    >>> np.bincount(fold[rows.X[:, 0] == 3], rows.weight[rows.X[:, 0] == 3])
    array([3., 4.])
    """

    def __init__(self, rows: Rows, code: Codes | None = None) -> None:
        code = rows.row_hash if code is None else code
        self._rows = rows
        self.first, self._weight, _, self._set_id = distinct_rows(code, rows.y, None, rows.weight)
        code = code[self.first]
        class_code = np.unique(rows.y[self.first], return_inverse=True)[1]
        # Rows with equal features go where that of the rarest relevance goes: the rarest rows are
        # then dealt evenly, and do not come to be in one part by chance.
        order = np.argsort(np.bincount(class_code)[class_code], kind="stable")
        _, representative = np.unique(code[order], return_index=True)
        feature_set = np.unique(code, return_inverse=True)[1]
        self._representative = order[representative][feature_set]
        share = np.bincount(feature_set, self._weight) / self._weight.sum()
        self._is_heavy = (share > MAX_LIGHT_SHARE)[feature_set]
        is_count = (self._weight % 1 == 0) & (self._weight < _LARGEST_COUNT)
        n_units = np.where(is_count, self._weight, _FRACTIONAL_UNITS).astype(np.intp)
        self.n_units = np.where(self._is_heavy, n_units, 1)

    def deal(self, order: Indices, count: Callable[[Indices], Indices]) -> tuple[Rows, Indices]:
        """Divide heavy rows; return the rows and the part of each.

        Parameters
        ----------
        order : ndarray of shape (n_distinct,)
            The order in which the rows are dealt out.
        count : callable
            Maps n to the number of the first n units that each part takes, of shape (n_parts,
            len(n)).
        """
        bounds = np.append(0, np.cumsum(self.n_units[order]))
        n_taken = np.diff(count(bounds), axis=1)
        n_taken[:, order] = n_taken.copy()
        part_of_row = np.argmax(n_taken, axis=0)[self._representative][self._set_id]
        is_heavy = self._is_heavy[self._set_id]
        row, part_of_heavy = np.nonzero((n_taken * self._is_heavy).T)
        n_taken = n_taken[part_of_heavy, row]
        if (self._rows.weight == 1).all():  # whole rows
            heavy_rows = np.flatnonzero(is_heavy)
            heavy_rows = heavy_rows[np.argsort(self._set_id[heavy_rows], kind="stable")]
            part_of_row[heavy_rows] = np.repeat(part_of_heavy, n_taken)
            return self._rows, part_of_row
        light, weight = np.flatnonzero(~is_heavy), self._weight[row] * n_taken / self.n_units[row]
        rows = self._rows.take(
            np.concatenate([light, self.first[row]]),
            np.concatenate([self._rows.weight[light], weight]),
        )
        return rows, np.concatenate([part_of_row[light], part_of_heavy])

    def folds(self, n_folds: int, seed: int) -> tuple[Rows, Indices]:
        """Divide heavy rows; return the rows and the fold of each, stratified by relevance."""
        y = self._rows.y[self.first]
        order = np.lexsort((np.random.default_rng(seed).random(len(y)), y))
        fold = np.arange(n_folds)[:, np.newaxis]
        return self.deal(order, lambda n: (n + n_folds - 1 - fold) // n_folds)

    def count_by_level(self) -> Indices:
        """Return the number of units of each class or relevance."""
        class_code = np.unique(self._rows.y[self.first], return_inverse=True)[1]
        return np.bincount(class_code, self.n_units).astype(np.intp)
