"""The model of Bradley and Terry: a score for each item, from duels alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.arrays import Floats, Indices, Values
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.validation import (
    SMALLEST_WEIGHT,
    Constraint,
    Number,
    check_names,
    check_parameters,
)
from sklearn_rank._core.versions import stamped_state, take_state
from sklearn_rank._core.warnings import warn
from sklearn_rank.objectives import ListedPairLoss
from sklearn_rank.pairs._given import share_in_order
from sklearn_rank.pairs._votes import duel_pairs, merge_votes, positions

_LEAST_SHARE = 1e-30
"""Of the mean curvature: less counts as that much where directions are scaled."""

_SMALLEST_SHARE = 1e-10
"""A step is halved no further than this: rounding then hides what it gains."""

_LONGEST = 10.0
"""Largest change of a score in a Newton step."""

_ACCURACY = 1e-6
"""Share of the squared gradient that conjugate gradients leave; less as the minimum is near."""

_ROUNDING = 1e-16
"""Less of the squared gradient is rounding."""

_MOST_PRODUCTS = 10
"""Products with the Hessian in a Newton step, by item; exact sums would need one."""


class BradleyTerry(BaseEstimator):
    r"""Scores of items from the duels between them (Bradley and Terry).

    Use it for players, teams, answers of language models: whatever has a name, meets others and has
    no features. With features `PairRanker` scores new items, too.

    .. math:: P(i \text{ beats } k) = \frac{1}{1 + e^{-(s_i - s_k)}}, \qquad
        \min_s \; \frac{\sum_j w_j \ln(1 + e^{-(s_{i_j} - s_{k_j})})}{\sum_j w_j}
        + \frac{\alpha}{2} \|s\|^2, \qquad \sum_i s_i = 0

    where

    - s are the scores of the items, i and k two of them;
    - :math:`i_j` is the winner of pair j, :math:`k_j` its loser and :math:`w_j` its weight.

    It is the linear model with the logistic loss whose features are the indicators of the items.

    Parameters
    ----------
    alpha : float in [0, inf), default=0.0
        Strength of the ridge. 0 gives the scores of maximum likelihood, which are finite and
        unique if and only if the duels are strongly connected: from each item to each other there
        is a path of wins. Otherwise a `ConvergenceWarning` says so, and any ``alpha > 0`` gives
        finite scores.
    max_iter : int in [1, inf), default=100
        Maximum number of Newton steps.
    tol : float in (0, inf), default=1e-10
        Stop when no score changes by more than this in a Newton step.

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
    Bradley1952 (the model; text not at hand). Ford1957 (when its scores are finite; text not at
    hand). Hunter2004 (that condition and the likelihood; text not at hand).

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

    def __init__(self, *, alpha: float = 0.0, max_iter: int = 100, tol: float = 1e-10) -> None:
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Learn from duels.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Names of the winner and the loser of each duel: strings, or numbers.
        y : object, default=None
            Not used; scikit-learn's tools pass it.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities of the duels.

        Returns
        -------
        self : object
            The fitted model.

        Raises
        ------
        ValueError
            When a parameter or an array is not as described.

        Warns
        -----
        ConvergenceWarning
            When ``alpha=0`` and the duels are not strongly connected, or when `max_iter` is too
            small.
        """
        values = self.get_params(deep=False)
        check_parameters("BradleyTerry", values, self._allowed)
        duels = duel_pairs(*_columns(X), sample_weight=sample_weight)
        share = np.maximum(duels.weight / duels.weight.max(), SMALLEST_WEIGHT)
        pairs, weight = merge_votes(duels.pairs, sample_weight=share)
        used, place = np.unique(pairs, return_inverse=True)  # items of weight zero are gone
        items, pairs = duels.names[used], place.reshape(-1, 2)
        above, below = (np.ascontiguousarray(pairs[:, side]) for side in (0, 1))
        is_connected = _is_strongly_connected(above, below, len(items))
        known = GivenPairs(len(items), above, below, weight)
        scores, n_iter, is_over = _newton(
            ListedPairLoss(known, "logistic"), float(self.alpha), self.max_iter, self.tol
        )
        self._warn(is_connected, is_over)
        self.items_, self.scores_ = items, scores - scores.mean()
        self.is_connected_, self.n_iter_ = is_connected, n_iter
        return self

    def predict(self, X: Any) -> Floats:
        """Return the scores of items.

        Parameters
        ----------
        X : array-like of shape (n_items,)
            Names of items. With ``alpha > 0`` one that training has not seen has the score 0, that
            of the mean item; otherwise it is refused.

        Returns
        -------
        ndarray of shape (n_items,)
            Greater for items that win.

        Raises
        ------
        ValueError
            When ``alpha=0`` and training has not seen an item.
        """
        check_is_fitted(self)
        names = check_names(X, "X")
        place = positions(names, self.items_)
        is_known = place >= 0
        if self.alpha == 0 and not is_known.all():
            raise ValueError(
                f"BradleyTerry has no score of {names.tolist()[np.argmin(is_known)]!r}, which "
                "training has not seen: with alpha > 0 it would be that of the mean item."
            )
        return np.where(is_known, self.scores_[place], 0.0)

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
        """Return the weighted share of duels whose winner has the greater score.

        Parameters
        ----------
        X : array-like of shape (n_pairs, 2)
            Names of the winner and the loser of each duel.
        y : object, default=None
            Not used; scikit-learn's tools pass it.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities of the duels.

        Returns
        -------
        float
            Between 0 and 1, greater is better; ties count one half.
        """
        check_is_fitted(self)
        duels = duel_pairs(*_columns(X), sample_weight=sample_weight)
        used, place = np.unique(duels.pairs, return_inverse=True)  # not items of weight zero
        pairs = place.reshape(-1, 2)
        return share_in_order(self.predict(duels.names[used]), pairs, duels.weight)

    def _warn(self, is_connected: bool, is_over: bool) -> None:
        """Warn of scores that are not those of the minimum."""
        if not is_connected and self.alpha == 0:
            warn(
                "BradleyTerry has no finite scores of maximum likelihood: some items have never "
                "lost to any of the others, directly or by way of further items, or have never "
                "met them. Set alpha > 0, or leave such items out.",
                ConvergenceWarning,
            )
        elif not is_over:
            warn(
                f"BradleyTerry stopped before tol={self.tol:g} was reached: raise max_iter="
                f"{self.max_iter}, or tol.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Tags:
        """Return the tags: X holds names, and there is no y."""
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


def _is_strongly_connected(above: Indices, below: Indices, n_items: int) -> bool:
    """Whether there is a path of wins from each item to each other."""
    # SciPy 1.11 finds no components of a graph with indices of 64 bits.
    ends = above.astype(np.int32), below.astype(np.int32)
    graph = coo_array((np.ones(len(above)), ends), shape=(n_items, n_items))
    n_parts = connected_components(graph.tocsr(), connection="strong", return_labels=False)
    return int(n_parts) == 1


def _newton(
    loss: ListedPairLoss, alpha: float, max_iter: int, tol: float
) -> tuple[Floats, int, bool]:
    """Return scores, the number of Newton steps, and whether the last one was below `tol`."""
    scores = np.zeros(loss.preferences.n_rows)

    def value(s: Floats) -> float:
        return loss.value(s) + alpha / 2 * float(s @ s)

    for n_iter in range(1, max_iter + 1):
        at, gradient, diagonal = loss.value_gradient_curvature(scores)
        at += alpha / 2 * float(scores @ scores)
        gradient += alpha * scores
        step = _newton_step(loss.hessian_product(scores), alpha, diagonal, gradient)
        size = float(np.abs(step).max())
        if size > _LONGEST:  # where the loss is nearly flat, so far from a minimum
            step *= _LONGEST / size
        fall, share = -float(gradient @ step), 1.0
        # Near the minimum a whole step gains less than rounding: there is nothing to compare.
        while size > np.sqrt(tol) and share > _SMALLEST_SHARE:
            if value(scores + share * step) <= at - share * fall / 4:
                break
            share /= 2
        scores = scores + share * step
        if size <= tol:
            return scores, n_iter, True
    return scores, max_iter, False


def _newton_step(
    hessian_product: Callable[[Floats], Floats], alpha: float, diagonal: Floats, gradient: Floats
) -> Floats:
    """Return the Newton step, by conjugate gradients with the diagonal as preconditioner.

    Without a ridge the Hessian takes constants to zero: a term for their mean, in which gradients
    have no part, makes it definite.
    """
    n, middle = len(gradient), float(diagonal.mean())
    # Scores that run away leave no curvature: squares of the directions must stay finite.
    inverse = 1.0 / np.maximum(diagonal + alpha, max(_LEAST_SHARE * middle, np.finfo(float).tiny))
    step, residual = np.zeros_like(gradient), -gradient
    direction = residual * inverse
    square = first = float(residual @ direction)
    accuracy = _ACCURACY * max(min(1.0, first), _ROUNDING)
    for _ in range(_MOST_PRODUCTS * n):
        change = hessian_product(direction) + alpha * direction + middle * direction.mean()
        curvature = float(direction @ change)
        if not (square > accuracy * first and curvature > 0):
            break
        length = square / curvature
        step += length * direction
        residual -= length * change
        scaled = residual * inverse
        before, square = square, float(residual @ scaled)
        direction = scaled + square / before * direction
    return np.asarray(step - step.mean())
