"""Linear scores, f(x) = w . x: as weak rankers, as a function space, and block by block."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Candidate, Floats, Gain, Indices, RowGradient, Values
from sklearn_rank._core.rows import FitRows
from sklearn_rank._core.sums import ALL_HERE, Groups, Sums, shared_property
from sklearn_rank._core.tolerances import EDGE_ROUNDING
from sklearn_rank.models.bin_sums import first_positive
from sklearn_rank.models.rules import FeatureRules

_FEW_ROWS = 16_384
"""Rows whose copy fits into the cache."""

_STRIPE, _MOST_STRIPES = 1 << 20, 8
"""Values in a stripe of a sparse matrix, about, and the most stripes.

Their number does not depend on the threads, so that sums are the same for any number of threads.
"""


class Features:
    """The model ``weak_ranker="feature"``: h(x) = x_j, never rescaled."""

    name = "feature"
    allow_nan = False
    sparse = True
    largest_value = 1e100
    """Squares of larger features, summed over weighted rows, overflow."""

    def on_rows(self, rows: FitRows) -> LinearModel:
        """Return linear scores of the training rows."""
        return LinearModel(rows.X, rows.order, rows)


class LinearModel:
    r"""Linear scores of the training rows, ``(X @ w)[order]``; X is dense or sparse.

    As weak rankers its coordinates are the features, as a function space its elements have
    the inner product of the coefficients w, and `at_rows` is the same model on some rows.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, n_features)
        Training rows.
    order : ndarray of shape (n_rows,) or None
        ``X[order]`` is in fit order; None when X is.
    rows : Sums
        Sums over the rows of all processes.
    threads : ThreadPool or None
        Threads that share the products with a sparse X, which BLAS does not multiply.
    """

    def __init__(
        self,
        X: Any,
        order: Indices | None = None,
        rows: Sums = ALL_HERE,
        threads: ThreadPool | None = None,
    ) -> None:
        self.X = X
        self._order = order
        self._rows = rows
        self._threads = threads or ThreadPool(1)
        self.n_coordinates: int = X.shape[1]

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        stripes = self._each_stripe(lambda rows, X: X @ coefficients)
        scores = np.asarray(stripes[0]) if len(stripes) == 1 else np.concatenate(stripes)
        return scores if self._order is None else scores[self._order]

    def pull_back(self, gradient: Floats) -> Floats:
        """Return the gradient with respect to coefficients, given that with respect to scores."""
        values = self._by_row(gradient)
        slopes = sum(self._each_stripe(lambda rows, X: values[rows] @ X))  # in the order of stripes
        return np.asarray(self._rows.total(slopes))

    def _each_stripe(self, product: Callable[[slice, Any], Floats]) -> list[Floats]:
        """Return a product for each stripe of X."""
        return self._threads.map(lambda index: product(*self._stripes[index]), len(self._stripes))

    @cached_property
    def _stripes(self) -> list[tuple[slice, Any]]:
        """Slices of rows, each with its X: views of a large CSR matrix, or all of any other X."""
        n_rows = self.X.shape[0]
        if not sparse.issparse(self.X) or self.X.format != "csr" or self.X.nnz < 2 * _STRIPE:
            return [(slice(0, n_rows), self.X)]
        values, columns, pointer = self.X.data, self.X.indices, self.X.indptr
        n_stripes = min(_MOST_STRIPES, self.X.nnz // _STRIPE)
        row_ends = np.searchsorted(pointer, np.linspace(0, self.X.nnz, n_stripes + 1)[1:-1])
        stripes = []
        for first, last in pairwise([0, *row_ends.tolist(), n_rows]):
            entries = slice(pointer[first], pointer[last])
            arrays = values[entries], columns[entries], pointer[first : last + 1] - pointer[first]
            matrix = sparse.csr_array(arrays, shape=(last - first, self.X.shape[1]))
            stripes.append((slice(first, last), matrix))
        return stripes

    def _by_row(self, values: Floats) -> Floats:
        """Reorder values of the rows from fit order to the order of X."""
        if self._order is None:
            return values
        row_values = np.zeros(self.X.shape[0])
        row_values[self._order] = values
        return row_values

    def at_rows(self, rows: Indices | slice) -> LinearModel:
        """Return the model of some rows, in fit order; a slice of all of them copies nothing."""
        is_all = isinstance(rows, slice) and rows == slice(0, self.X.shape[0])
        # A slice of an array is a view; a selection of several arrays becomes one array.
        if is_all and sparse.issparse(self.X) and self._order is None:
            return self
        return LinearModel(self.X[rows if self._order is None else self._order[rows]])

    # Weak rankers ---------------------------------------------------------------------

    sums_curvature = True

    def search(self, gradient: RowGradient, gain: Gain) -> Candidate | None:
        """Return the feature with the largest gain; ties go to the first."""
        bounds = None
        if gradient.curvature is not None:
            bounds = self._bounds(self._rows.total(self._curvature_sums(gradient.curvature)))
        slopes = self._by_row(gradient.data) @ self.X
        edges, l1_norm = self._rows.totals(-slopes, float(np.abs(gradient.data).sum()))
        low, high = self._ranges
        # A column far from zero has large products with the gradient, which sums to zero: a small
        # edge may be rounding. The edge of a constant column is nothing else.
        rounding = EDGE_ROUNDING * np.maximum(np.abs(low), np.abs(high)) * l1_norm
        # So is that of a subnormal range: a quotient by it overflows.
        is_constant = high - low < np.finfo(np.float64).tiny
        edges[(np.abs(edges) <= rounding) | is_constant] = 0.0
        index = first_positive(gain(edges[None], np.zeros(1), bounds))
        return None if index is None else Candidate(index, float(edges[index]))

    def _curvature_sums(self, curvature: Floats) -> Floats:
        """Return the sums of c, c x and c x^2 for each feature x, measured from its middle.

        Shape (3, n_features). A sparse feature is measured from zero.
        """
        curvature = self._by_row(curvature)
        total = np.full(self.n_coordinates, curvature.sum())
        if sparse.issparse(self.X):
            return np.stack([total, self.X.T @ curvature, self.square_sums(curvature)])
        sums, centre = np.zeros((2, self.n_coordinates)), self._centre
        for rows in blocks(len(curvature), _FEW_ROWS):
            x, c = self.X[rows] - centre, curvature[rows]
            sums += c @ x, np.einsum("i,ij,ij->j", c, x, x)
        return np.concatenate([total[None], sums])

    def values(self, candidate: Candidate) -> Values:
        """Return a feature on the training rows; a boolean array when it is 0/1."""
        column = self._by_column[:, [candidate.index]]
        array = column.toarray() if sparse.issparse(column) else column
        h = np.asarray(array, dtype=float).ravel()
        h = h if self._order is None else h[self._order]
        is_mask = float(np.all((h == 0) | (h == 1)))
        return h == 1 if self._rows.smallest(is_mask) else h

    def rules(self, indices: Indices) -> FeatureRules:
        """Return the weak rankers of given coordinates, ready to be applied to new rows."""
        return FeatureRules(np.asarray(indices, dtype=np.intp))

    @shared_property
    def _by_column(self) -> Any:
        return self.X.tocsc() if sparse.issparse(self.X) else self.X

    @shared_property
    def _ranges(self) -> tuple[Floats, Floats]:
        """Smallest and largest value of each feature."""
        if self.X.shape[0] == 0:
            low, high = np.full((self.n_coordinates, 2), [np.inf, -np.inf]).T
        else:
            low, high = (
                np.asarray(x.toarray() if sparse.issparse(x) else x, dtype=float).ravel()
                for x in (self.X.min(axis=0), self.X.max(axis=0))
            )
        return self._rows.smallest(low), self._rows.largest(high)

    @property
    def _centre(self) -> Floats:
        """The origin of the features in sums of squares, chosen so that no digits are lost."""
        low, high = self._ranges
        return np.zeros_like(low) if sparse.issparse(self.X) else low / 2 + high / 2

    def _bounds(self, sums: Floats) -> Floats:
        """Return a bound on the second derivative along each feature, from the sums of c.

        The smaller of ``2 sum c (x - mean)^2`` and, x mapped to t in [0, 1] by its range r,
        ``r^2 min(c @ t, c @ (1 - t))``.
        """
        (low, high), centre = self._ranges, self._centre
        sum_c, sum_cx, sum_cxx = sums
        mean_part = np.divide(sum_cx**2, sum_c, out=np.zeros_like(sum_cx), where=sum_c > 0)
        max_moment = np.minimum(sum_cx + sum_c * (centre - low), sum_c * (high - centre) - sum_cx)
        bounds = np.minimum(2 * (sum_cxx - mean_part), (high - low) * max_moment)
        # Bounds are differences of sums: smaller ones may be rounding alone.
        return np.maximum(bounds, EDGE_ROUNDING * (sum_cxx + sum_c * (high - low) ** 2))

    # Function space -------------------------------------------------------------------

    def element(self, coefficients: Floats) -> Floats:
        """Return the coefficients twice, since they are their own dual."""
        return np.stack([coefficients, coefficients])

    def element_scores(self, element: Floats) -> Floats:
        """Return the scores of the training rows."""
        return self.scores(element[0])

    def representer(self, gradient: Floats) -> Floats:
        """Return, as an element, the gradient with respect to the coefficients."""
        return self.element(self.pull_back(gradient))

    def differences(self, upper: Indices, lower: Indices) -> Values:
        """Return the differences of the features of some pairs of rows; sparse if X is."""
        if self._order is not None:
            upper, lower = self._order[upper], self._order[lower]
        differences = self.X[upper]
        if sparse.issparse(self.X):
            return differences - self.X[lower]
        for pairs in blocks(len(lower), _FEW_ROWS // 4):  # without a second matrix of this size
            differences[pairs] -= self.X[lower[pairs]]
        return differences

    def square_norms(self) -> Floats:
        """Return the squared norm of each row."""
        if sparse.issparse(self.X):
            return np.asarray(_squared(self.X).sum(axis=1)).ravel()
        square = np.empty(self.X.shape[0])
        for rows in blocks(len(square), _FEW_ROWS):
            x = self.X[rows]
            square[rows] = np.einsum("nj,nj->n", x, x)
        return square

    def add_representer(self, coefficients: Floats, gradient: Floats) -> None:
        """Add the gradient with respect to the coefficients to `coefficients`, in place."""
        coefficients += self.pull_back(gradient)

    def square(self, gradient: Floats) -> float:
        """Return the squared norm of the gradient with respect to the coefficients."""
        slopes = self.pull_back(gradient)
        return float(slopes @ slopes)

    # Sums of products, for second derivatives -------------------------------------------

    def group_sums(self, groups: Groups, weight: Floats, used: Any = slice(None)) -> Floats:
        """Return ``sum_n weight_n x_n`` of each group of rows, for some of the features."""
        pointer = np.append(groups.start, groups.n_items)
        matrix = sparse.csr_array((weight, np.arange(groups.n_items), pointer))
        sums = matrix @ self.X
        return np.asarray((sums.toarray() if sparse.issparse(sums) else sums)[:, used])

    def square_sums(self, weight: Floats) -> Floats:
        """Return ``sum_n weight_n x_nj^2`` of each feature."""
        if sparse.issparse(self.X):
            return np.asarray(_squared(self.X).T @ weight)
        return np.asarray(np.einsum("i,ij,ij->j", weight, self.X, self.X))

    def weighted_products(self, weight: Floats, used: Indices) -> Floats:
        """Return ``X' diag(weight) X`` for some of the features."""
        if sparse.issparse(self.X):
            x = self.X[:, used]
            return np.asarray((x.multiply(weight[:, None]).T @ x).toarray())
        products = np.zeros((len(used), len(used)))
        for rows in blocks(len(weight), _FEW_ROWS):
            x = self.X[rows] if len(used) == self.X.shape[1] else self.X[rows][:, used]
            products += (x * weight[rows, None]).T @ x
        return products


def _squared(X: Any) -> Any:
    """Return the squares of the entries of a sparse matrix."""
    return type(X)((X.data**2, X.indices, X.indptr), shape=X.shape)
