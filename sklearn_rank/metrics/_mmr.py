"""Re-ranking for diversity by maximal marginal relevance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.preprocessing import normalize
from sklearn.utils import check_array

from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.sums import Queries
from sklearn_rank._core.validation import (
    Choice,
    Constraint,
    Number,
    check_floats,
    check_lengths,
    check_parameters,
    check_qid,
)
from sklearn_rank.metrics._ranked import CUT_OFF


def rerank_mmr(
    y_score: Any,
    X: Any,
    *,
    trade_off: float = 0.5,
    similarity: Any = "cosine",
    k: int | None = None,
    qid: Any = None,
) -> Floats:
    r"""Re-rank lists so that neighbours differ, by maximal marginal relevance (MMR).

    Each rank gets the row

    .. math:: \arg\max_{i \notin S} \Bigl[ \lambda s_i
        - (1 - \lambda) \max_{j \in S} \mathrm{sim}(x_i, x_j) \Bigr]

    where S holds the rows of the query at the ranks above, :math:`\lambda` is the `trade_off`,
    :math:`s_i` the score, shifted and scaled to [0, 1] within its query, and sim the similarity of
    two rows. The first rank gets the row of the greatest score. Of rows that are equal there the
    one with the greater score comes first, then the one that is earlier in the input.

    Parameters
    ----------
    y_score : array-like of shape (n_samples,)
        Finite scores, greater is better.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        What rows are compared by, such as embeddings; with ``similarity="precomputed"`` the
        similarities, of shape (n_samples, n_samples).
    trade_off : float in [0, 1], default=0.5
        1: the order of the scores. 0: the order of the least similarity, after the first row.
    similarity : {"cosine", "precomputed"} or callable, default="cosine"
        "cosine": of the rows of X; that of a row of zeros is 0. A function gets the rows of one
        query and returns their similarities, of shape (n_rows, n_rows); on the scale of the scores,
        [0, 1], if `trade_off` is to mean what it says.
    k : int >= 1 or None, default=None
        Number of ranks of each query that are chosen; the other rows follow by their scores. None:
        all.
    qid : array-like of shape (n_samples,), default=None
        Query of each row; None means one list.

    Returns
    -------
    ndarray of shape (n_samples,)
        Scores of the new order: the last row of a query has 1, each one above it 1 more. All
        metrics take them.

    Raises
    ------
    ValueError
        When a parameter or an array is not as described.

    Notes
    -----
    A query of n rows takes n k similarities: with the cosine of d features O(n k d) time and no
    matrix of similarities.

    References
    ----------
    Carbonell1998 (the criterion).

    Examples
    --------
    The second row is the first one again:

    >>> from sklearn_rank.metrics import rerank_mmr
    >>> rerank_mmr([3, 2.9, 2], [[1, 0], [1, 0], [0, 1]])
    array([3., 1., 2.])
    """
    allowed: dict[str, Constraint] = {
        "trade_off": Number(0, 1),
        "similarity": Choice(("cosine", "precomputed"), "a function of rows", Callable),
        "k": CUT_OFF,
    }
    given = {"trade_off": trade_off, "similarity": similarity, "k": k}
    check_parameters("rerank_mmr", given, allowed)
    score = check_floats(y_score, "y_score")
    check_lengths(y_score=score)
    if not np.isfinite(score).all():
        raise ValueError("y_score must be finite for rerank_mmr: it is scaled to [0, 1].")
    X = check_array(X, accept_sparse="csr", dtype=np.float64, input_name="X")
    if X.shape[0] != len(score) or (similarity == "precomputed" and X.shape[1] != len(score)):
        wanted = "(n_samples, n_samples)" if similarity == "precomputed" else "one row a score"
        raise ValueError(
            f"X of rerank_mmr must have {wanted}, with {len(score)} samples. Got shape {X.shape}."
        )
    code = None if qid is None else check_qid(qid, len(score))
    rows = Queries.from_codes(code, len(score))
    found = np.empty(len(score))
    for own in np.split(rows.sort(np.arange(len(score))), rows.queries.start[1:]):
        similar = _similarities(X, own, similarity)
        chosen = _choose(_scaled(score[own]), similar, float(trade_off), k)
        found[own[chosen]] = np.arange(len(own), 0, -1)
    return found


def _similarities(X: Any, rows: Indices, similarity: Any) -> Callable[[int], Floats]:
    """Return the similarity of all rows of a query to one of them, as a function of its number."""
    if similarity == "precomputed":
        matrix = X[rows][:, rows]
        matrix = matrix.toarray() if issparse(matrix) else matrix
    elif similarity == "cosine":
        unit = normalize(X[rows])

        def cosine(row: int) -> Floats:
            product = unit @ unit[[row]].T
            return np.asarray(product.toarray() if issparse(product) else product).ravel()

        return cosine
    else:
        matrix = np.asarray(similarity(X[rows]), dtype=np.float64)
        if matrix.shape != (len(rows), len(rows)) or not np.isfinite(matrix).all():
            raise ValueError(
                f"similarity of rerank_mmr must return finite numbers of shape {(len(rows),) * 2} "
                f"for a query of {len(rows)} rows. Got shape {matrix.shape}, "
                f"{np.isfinite(matrix).sum()} of {matrix.size} finite."
            )
    return lambda row: np.asarray(matrix[:, row])


def _scaled(score: Floats) -> Floats:
    """Return scores of one query, shifted and scaled to [0, 1]; equal ones are 0."""
    half = score / 2  # a difference of large scores would overflow
    width = half.max() - half.min()
    return np.asarray((half - half.min()) / width if width > 0 else np.zeros(len(score)))


def _choose(
    score: Floats, similar: Callable[[int], Floats], trade_off: float, k: int | None
) -> Indices:
    """Return the rows of one query in their new order."""
    by_score = np.argsort(-score, kind="stable")
    n_chosen = len(score) if k is None else min(k, len(score))
    chosen, nearest = [int(by_score[0])], np.full(len(score), -np.inf)
    is_left = np.ones(len(score), dtype=bool)
    is_left[chosen[0]] = False
    while len(chosen) < n_chosen:
        nearest = np.maximum(nearest, similar(chosen[-1]))
        left = by_score[is_left[by_score]]
        value = trade_off * score[left] - (1.0 - trade_off) * nearest[left]
        # The similarities of equal rows may differ in their last digits.
        chosen.append(int(left[np.argmax(value >= value.max() - 1e-12)]))
        is_left[chosen[-1]] = False
    return np.array([*chosen, *by_score[is_left[by_score]]], dtype=np.intp)
