"""Raw features as weak rankers: h(x) = x_j, never rescaled."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._protocols import Candidate, Floats, Gain, Indices, RowMasses, Values
from sklearn_rank.models._ties import NOISE, first_largest
from sklearn_rank.models.rules import FeatureRules


def _to_line(values: Any) -> Floats:
    """Return the extremes of the columns, which sparse matrices give as a matrix."""
    return np.asarray(values.toarray() if issparse(values) else values).ravel()


class FeatureFamily:
    """The columns of X, dense or sparse: one coefficient each.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n, n_features)
        Training rows.
    order : ndarray of shape (n_rows,)
        Rows in preference order.
    """

    def __init__(self, X: Any, order: Indices) -> None:
        self._X = X
        self._by_column = X.tocsc() if issparse(X) else X
        self._order = order
        self.n_coordinates: int = X.shape[1]
        low, high = (_to_line(extreme(axis=0)) for extreme in (X.min, X.max))
        self._largest = np.maximum(np.abs(low), np.abs(high))
        self._is_constant = low == high

    def search(self, masses: RowMasses, gain: Gain) -> Candidate | None:
        """Return the feature with the largest gain; ties go to the first."""
        edges = self.edges(masses.data)
        # A column far from zero has a large product and, as the masses sum to zero, a
        # small edge: what is left of it may be rounding. A constant has nothing else.
        noise = NOISE * self._largest * np.abs(masses.data).sum()
        edges[(np.abs(edges) <= noise) | self._is_constant] = 0.0
        index = first_largest(gain(edges[None], np.zeros(1)))
        return Candidate(index, float(edges[index])) if edges[index] else None

    def values(self, candidate: Candidate) -> Values:
        """Return a feature on the training rows; a boolean array when it is 0/1."""
        column = self._by_column[:, [candidate.index]]
        dense = column.toarray() if issparse(column) else column
        h = np.asarray(dense, dtype=float).ravel()[self._order]
        return h == 1 if np.all((h == 0) | (h == 1)) else h

    def edges(self, masses: Floats) -> Floats:
        """Return the edge of every feature."""
        in_place = np.zeros(self._X.shape[0])
        in_place[self._order] = masses
        return np.asarray(self._X.T @ in_place)

    def scores(self, coefficients: Floats) -> Floats:
        """Return the scores of the training rows."""
        return np.asarray(self._X @ coefficients)[self._order]

    def rules(self, indices: Indices) -> FeatureRules:
        """Return the weak rankers of some coordinates, ready for new rows."""
        return FeatureRules(np.asarray(indices, dtype=np.intp))
