"""The Bradley-Terry model: a score for each item, from duels alone."""

from __future__ import annotations

from typing import Any, ClassVar, Self
from warnings import catch_warnings, simplefilter

import numpy as np
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.arrays import Floats, Indices, Values
from sklearn_rank._core.callbacks import stamped_state, take_state
from sklearn_rank._core.validation import (
    SMALLEST_WEIGHT,
    Constraint,
    Number,
    check_names,
    check_parameters,
)
from sklearn_rank._core.warnings import warn
from sklearn_rank.pairs._given import duel_pairs, indices_of, merge_votes, share_in_order


class BradleyTerry(BaseEstimator):
    r"""Bradley-Terry model: scores of items from the duels between them.

    Use it for players, teams or answers of language models: items that have a name, meet others and
    have no features. With features, `PairRanker` can also score new items.

    .. math:: P(i \text{ beats } k) = \frac{1}{1 + e^{-(s_i - s_k)}}, \qquad
        \min_s \; \frac{\sum_j w_j \ln(1 + e^{-(s_{i_j} - s_{k_j})})}{\sum_j w_j}
        + \frac{\alpha}{2} \|s\|^2, \qquad \sum_i s_i = 0

    where

    - s are the scores of the items, i and k two of them;
    - :math:`i_j` is the winner of pair j, :math:`k_j` its loser and :math:`w_j` its weight.

    It is scikit-learn's `LogisticRegression` without intercept, whose features are the indicators
    of the items: 1 for the winner, -1 for the loser.

    Parameters
    ----------
    alpha : float in [0, inf), default=0.0
        Strength of the ridge penalty. 0 gives the maximum-likelihood scores, which are finite and
        unique if and only if the duels are strongly connected: a path of wins leads from every item
        to every other. Otherwise a `ConvergenceWarning` is issued; any ``alpha > 0`` gives finite
        scores.
    max_iter : int in [1, inf), default=100
        Maximum number of Newton steps.
    tol : float in (0, inf), default=1e-13
        Stop when no derivative of the objective is larger than this.

    Attributes
    ----------
    items_ : ndarray of shape (n_items,)
        The names of the items, sorted.
    scores_ : ndarray of shape (n_items,)
        Their scores, which sum to zero.
    is_connected_ : bool
        Whether the duels are strongly connected.
    n_iter_ : int
        Number of Newton steps.

    See Also
    --------
    PairRanker : Rankers of items with features.
    duel_pairs : Pairs from a table of duels with ties or shares.

    References
    ----------
    Bradley1952 (the model). Hunter2004, eq. (1) (the model, with :math:`\gamma_i = e^{s_i}`).
    Ford1957 (when its scores are finite).

    Examples
    --------
    >>> from sklearn_rank.pairs import BradleyTerry
    >>> duels = [("ann", "bob"), ("ann", "bob"), ("bob", "ann")]  # winner, loser
    >>> model = BradleyTerry().fit(duels)
    >>> dict(zip(model.items_.tolist(), model.scores_.round(4).tolist()))
    {'ann': 0.3466, 'bob': -0.3466}
    >>> model.win_probability([("ann", "bob")])
    array([0.66666667])
    """

    __getstate__, __setstate__ = stamped_state, take_state

    _allowed: ClassVar[dict[str, Constraint]] = {
        "alpha": Number(0, closed="left"),
        "max_iter": Number(1, integer=True),
        "tol": Number(0, closed="neither"),
    }

    def __init__(self, *, alpha: float = 0.0, max_iter: int = 100, tol: float = 1e-13) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit the scores to duels.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Names of the winner and the loser of each duel: strings, or numbers.
        y : object, default=None
            Ignored; present for compatibility with scikit-learn.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities of the duels.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        ValueError
            If a parameter or an array is invalid.

        Warns
        -----
        ConvergenceWarning
            If ``alpha=0`` and the duels are not strongly connected, or if `max_iter` is too
            small.
        """
        check_parameters("BradleyTerry", self.get_params(deep=False), self._allowed)
        duels = duel_pairs(*_columns(X), sample_weight=sample_weight)
        share = np.maximum(duels.weight / duels.weight.max(), SMALLEST_WEIGHT)
        pairs, weight = merge_votes(duels.pairs, sample_weight=share)
        used_items, codes = np.unique(pairs, return_inverse=True)  # without items of weight zero
        items, pairs = duels.names[used_items], codes.reshape(-1, 2)
        is_connected = _is_strongly_connected(pairs, len(items))
        scores, n_iter = _logistic_scores(pairs, weight, self.alpha, self.max_iter, self.tol)
        if not is_connected and self.alpha == 0:
            warn(
                "BradleyTerry has no finite maximum-likelihood scores: some items have never "
                "lost to any of the others, directly or through further items, or have never "
                "met them. Set alpha > 0, or remove such items.",
                ConvergenceWarning,
            )
        elif n_iter >= self.max_iter:
            warn(
                f"BradleyTerry stopped before tol={self.tol:g} was reached: raise max_iter="
                f"{self.max_iter}, or tol.",
                ConvergenceWarning,
            )
        self.items_, self.scores_ = items, scores - scores.mean()
        self.is_connected_, self.n_iter_ = is_connected, n_iter
        return self

    def predict(self, X: Any) -> Floats:
        """Return the scores of items.

        Parameters
        ----------
        X : array-like of shape (n_items,)
            Names of items. With ``alpha > 0``, an item not seen in training has the score 0, that
            of the mean item; otherwise it raises an error.

        Returns
        -------
        ndarray of shape (n_items,)
            Higher for items that win.

        Raises
        ------
        ValueError
            If ``alpha=0`` and an item was not seen in training.
        """
        check_is_fitted(self)
        names = check_names(X, "X")
        index = indices_of(names, self.items_)
        if self.alpha == 0 and (index < 0).any():
            raise ValueError(
                f"BradleyTerry has no score of {names.tolist()[np.argmin(index)]!r}, which "
                "training has not seen: with alpha > 0 it would be that of the mean item."
            )
        return np.where(index >= 0, self.scores_[index], 0.0)

    def win_probability(self, X: Any) -> Floats:
        """Return the probability that the first item of each duel wins.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Names of two items in each row.

        Returns
        -------
        ndarray of shape (n_pairs,)
            Probabilities.
        """
        first, second = _columns(X)
        return np.asarray(expit(self.predict(first) - self.predict(second)))

    def score(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Return the weighted share of duels whose winner has the higher score.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Names of the winner and the loser of each duel.
        y : object, default=None
            Ignored; present for compatibility with scikit-learn.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities of the duels.

        Returns
        -------
        float
            Between 0 and 1, greater is better; ties count one half.
        """
        check_is_fitted(self)
        duels = duel_pairs(*_columns(X), sample_weight=sample_weight)
        names = duels.names[duels.pairs.ravel()]  # without those of weight zero
        pairs = np.arange(len(names)).reshape(-1, 2)
        return share_in_order(self.predict(names), pairs, duels.weight)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: X contains names, and there is no y."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.input_tags.string, tags.input_tags.two_d_array = True, True
        tags.target_tags.required = False
        return tags


def _columns(X: Any) -> tuple[Values, Values]:
    """Return the two columns of duels."""
    if hasattr(X, "to_numpy"):
        X = X.to_numpy()
    table = X if hasattr(X, "dtype") else np.array([*X], dtype=object)
    if table.ndim != 2 or table.shape[1] != 2:
        raise ValueError(
            "X of BradleyTerry must have shape (n_pairs, 2), winner and loser. Got shape "
            f"{table.shape}."
        )
    first, second = table[:, 0], table[:, 1]
    return (first, second) if hasattr(X, "dtype") else (first.tolist(), second.tolist())


def _is_strongly_connected(pairs: Indices, n_items: int) -> bool:
    """Whether there is a path of wins from each item to every other item."""
    # SciPy 1.11 finds no components of a graph with indices of 64 bits.
    edges = tuple(pairs.astype(np.int32).T)
    graph = csr_array((np.ones(len(pairs)), edges), shape=(n_items, n_items))
    return int(connected_components(graph, connection="strong", return_labels=False)) == 1


def _logistic_scores(
    pairs: Indices, weight: Floats, alpha: float, max_iter: int, tol: float
) -> tuple[Floats, int]:
    """Fit scores by logistic regression on signed indicators; return the number of steps, too."""
    n_pairs, n_items = len(pairs), int(pairs.max()) + 1
    row = np.arange(n_pairs).repeat(2)
    sign = np.tile([1.0, -1.0], n_pairs)
    signs = csr_array((sign, (row, pairs.ravel())), shape=(n_pairs, n_items))
    model = LogisticRegression(
        C=1 / (alpha * weight.sum()) if alpha else np.inf,
        fit_intercept=False,
        solver="newton-cg",
        max_iter=max_iter,
        tol=tol,
    )
    # Each duel from both sides: the classifier needs two classes.
    is_win = np.repeat([1, 0], n_pairs)
    with catch_warnings():
        simplefilter("ignore")  # `fit` warns in the words of duels
        model.fit(vstack([signs, -signs]), is_win, sample_weight=np.tile(weight / 2, 2))
    return model.coef_[0], int(model.n_iter_[0])
