"""A generator of queries with graded relevance."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch, check_random_state

from sklearn_rank._core.validation import Number, check_parameters

_LEAST = {"n_queries": 1, "rows_per_query": 1, "n_features": 2, "n_grades": 2}
_ALLOWED = {name: Number(least, integer=True) for name, least in _LEAST.items()}


def make_queries(
    n_queries: int = 40,
    rows_per_query: int = 25,
    n_features: int = 10,
    n_grades: int = 3,
    random_state: int | np.random.RandomState | None = None,
) -> Bunch:
    """Generate a ranking data set with graded relevance.

    The utility of a row is the sum of a linear function of the features, the product of the first
    two, and noise. A fraction ``2**-g`` of all rows has grade g or higher, so high grades are rare.
    A random vector, independent of relevance, shifts the features of each query, so they are
    comparable only within a query.

    Parameters
    ----------
    n_queries : int, default=40
        Number of queries.
    rows_per_query : int, default=25
        Number of rows of each query.
    n_features : int, default=10
        Number of features, at least 2.
    n_grades : int, default=3
        Number of relevance grades, at least 2: ``0, 1, ..., n_grades - 1``.
    random_state : int, RandomState instance or None, default=None
        Seed of the generator; an int makes the result reproducible.

    Returns
    -------
    bunch : `~sklearn.utils.Bunch`
        data : ndarray of shape (n_queries * rows_per_query, n_features)
            The features.
        target : ndarray of shape (n_queries * rows_per_query,)
            The grades, as integers.
        qid : ndarray of shape (n_queries * rows_per_query,)
            The query of each row: ``0, ..., n_queries - 1``, in order.

    See Also
    --------
    load_letor : Read a ranking data set from a file.

    Examples
    --------
    >>> from sklearn_rank.datasets import make_queries
    >>> queries = make_queries(n_queries=3, rows_per_query=4, random_state=0)
    >>> queries.data.shape
    (12, 10)
    >>> queries.qid
    array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    >>> sorted(set(queries.target.tolist()))
    [0, 1, 2]
    """
    sizes = (n_queries, rows_per_query, n_features, n_grades)
    check_parameters("make_queries", dict(zip(_ALLOWED, sizes, strict=True)), _ALLOWED)
    rng = check_random_state(random_state)
    qid = np.repeat(np.arange(n_queries), rows_per_query)
    X = rng.standard_normal((len(qid), n_features))
    utility = X @ np.linspace(1.0, 0.0, n_features) + X[:, 0] * X[:, 1]
    utility += rng.standard_normal(len(qid))
    # Half of all rows have grade 1 or higher, a quarter grade 2 or higher, and so on.
    cuts = np.quantile(utility, 1.0 - 0.5 ** np.arange(1, n_grades))
    shift = rng.standard_normal((n_queries, n_features))
    target = np.searchsorted(cuts, utility, side="left")
    return Bunch(data=X + shift[qid], target=target, qid=qid)
