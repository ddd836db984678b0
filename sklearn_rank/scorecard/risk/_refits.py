"""Intervals of the risk table from repeating the whole fit of a card."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats, Mask
from sklearn_rank.scorecard._card_checks import order_is_known
from sklearn_rank.scorecard.card import known_risk
from sklearn_rank.scorecard.risk._risk import NORMAL

_MOST_DRAWS = 100


def refitted_table(
    scorecard: Any, X: Any, y: Any, is_upper: Mask, weight: Floats, qid: Any, n_fits: int
) -> Floats:
    r"""Return the rows of a risk table whose intervals repeat the fit of the card.

    .. math:: L \pm 1.96 \sqrt{s^2 + \tau^2}

    where, at each total, L is the log odds of the risk table, s the standard deviation over the
    fits of the log odds of the mean risk that they give the rows with this total, and
    :math:`\tau` the scatter of totals about the curve (as `RiskCurve`).

    Parameters
    ----------
    scorecard : Scorecard
        The fitted card.
    X, y : {array-like, data frame} of shape (n_rows, n_features), array-like of shape (n_rows,)
        Its training rows.
    is_upper : ndarray of bool of shape (n_rows,)
        Whether each row is of the upper class.
    weight : ndarray of shape (n_rows,)
        Multiplicities.
    qid : array-like of shape (n_rows,) or None
        Queries: they are redrawn as wholes.
    n_fits : int
        Number of fits.
    """
    random = check_random_state(scorecard.random_state)
    seeds = random.randint(2**31 - 1, size=n_fits)
    weights = [_redrawn(np.random.RandomState(seed), is_upper, weight, qid) for seed in seeds]
    risks = Parallel(n_jobs=scorecard.n_jobs)(
        delayed(_risk_of_a_fit)(scorecard, X, y, one, qid) for one in weights
    )
    table = known_risk(scorecard.card_)
    totals, place = np.unique(scorecard.card_.totals(X)[weight > 0], return_inverse=True)
    share = weight[weight > 0]
    means = [
        np.bincount(place.ravel(), share * one[weight > 0]) / np.bincount(place.ravel(), share)
        for one in risks
    ]
    log_odds = logit(np.interp(totals, table[:, 0], table[:, 1]))
    scatter = scorecard.card_.details["risk_scatter"]
    half = NORMAL * np.hypot(np.std(logit(means), axis=0, ddof=1), scatter)
    return np.column_stack(
        [totals, expit(log_odds), expit(log_odds - half), expit(log_odds + half)]
    )


def _redrawn(random: Any, is_upper: Mask, weight: Floats, qid: Any) -> Floats:
    """Return weights of rows that are redrawn, or of redrawn queries, of both classes."""
    weight = weight * (number_of_rows(weight) / weight.sum())
    for _ in range(_MOST_DRAWS):
        if qid is None:
            found = random.poisson(weight).astype(np.float64)
        else:
            query = np.unique(qid, return_inverse=True)[1].ravel()
            found = weight * random.poisson(1.0, query.max() + 1)[query]
        if found[is_upper].any() and found[~is_upper].any():
            return np.asarray(found)
    raise ValueError(
        f"risk_intervals drew the rows {_MOST_DRAWS} times without both classes: there are too few "
        f"rows, {int((weight > 0).sum())}."
    )


def _risk_of_a_fit(scorecard: Any, X: Any, y: Any, weight: Floats, qid: Any) -> Floats:
    """Return the risk of each row by a card fitted to weighted rows."""
    # What was not redrawn is a training value all the same: none of these rows is refused.
    unseen = "neutral" if scorecard.unseen == "refuse" else scorecard.unseen
    card = clone(scorecard).set_params(n_jobs=None, unseen=unseen)
    with warnings.catch_warnings(), order_is_known():
        warnings.simplefilter("ignore", ConvergenceWarning)
        card.fit(X, y, qid=qid, sample_weight=weight)
    return np.asarray(card.predict_risk(X))
