"""The probability of the upper class at each total: a logistic curve with one or more slopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank.scorecard._logistic_fit import basis_of, fit_increasing, targets
from sklearn_rank.scorecard.card import MADE_FOR, Card

N_REDRAWN = 300
"""Number of times that the rows are redrawn."""

CANDIDATES = (2, 4, 6)
"""Numbers of slopes to compare."""

_ROWS_OF_A_SLOPE = 10
"""Rows of the rarer class for each slope, if there are more than two."""

_SEED = 20_261_123
"""Seed of the bootstrap: equal rows have equal intervals."""

NORMAL = 1.959963984540054
"""The quantile of the normal distribution for intervals of 95 %."""

_NODES = 40
"""Rows whose totals differ by less than this part of the deviation are redrawn as one group."""

_SCATTERS = np.linspace(0, 2, 101)
"""Values of tau, in log odds, over which its posterior mean is summed."""

RiskTable = tuple[tuple[float, float, float, float], ...]
"""Rows of total, probability, and the ends of its interval."""

_MOST_DRAWN = 1e15
"""Greatest mean of a Poisson draw; NumPy refuses means above about 9e18."""


@dataclass(frozen=True, eq=False)
class RiskCurve:
    r"""The probability of the upper class as an increasing function of the total.

    .. math:: \log\frac{p}{1 - p} = a - b_1 h(k_1 - z)
        + \sum_{j=2}^{K-1} b_j \bigl(h(z - k_{j-1}) - h(z - k_j)\bigr) + b_K h(z - k_{K-1}),
        \qquad z = \frac{T - m}{s}, \quad h(u) = \frac{\log(1 + e^{c u})}{c}, \quad b_j \ge 0

    where

    - T is the total, and m and s its mean and standard deviation over the training rows;
    - :math:`b_1, \ldots, b_K` are slopes of the log odds: :math:`b_1` far below the knot
      :math:`k_1`, :math:`b_j` between two knots, :math:`b_K` far above the last. They are equal in
      a plain logistic curve; a model with a push is not on the same scale everywhere.
    - There are 2, 4 or 6 slopes, whichever minimises Akaike's criterion, twice the number of
      coefficients minus twice the log likelihood; 4 and 6 need ten rows of each class per slope.
      The knots are 0; -1, 0 and 1; or -2, -1, 0, 1 and 2. c is 1 for two slopes, and 2 for more,
      whose knots are closer. If the total is on a scale of odds, there is one slope, and the log
      odds are :math:`a + b z`.

    It is the maximum-likelihood fit with Platt's targets, :math:`(N_+ + 1) / (N_+ + 2)` and
    :math:`1 / (N_- + 2)` instead of 1 and 0, so it is finite for separated classes.

    The 95 % interval at a total is for the probability of the rows with that total. Its ends are

    .. math:: L \pm \sqrt{d_\pm^2 + (1.96\, \tau)^2}

    where

    - L is the log odds of the curve;
    - :math:`d_+` and :math:`d_-` are how far the quantiles .975 and .025 of the curves of 300
      bootstrap samples, with as many slopes, are from it. In a sample, the count of each row is a
      Poisson variable with its weight as mean. The generator has a fixed seed, so the interval is
      determined by the rows.
    - :math:`\tau` is the scatter of single totals about the curve, because rows of different kinds
      share a total and the curve is smooth. It is the root of the posterior mean of :math:`\tau^2`,
      with a uniform prior on [0, 2], given groups of neighbouring totals with

      .. math:: \frac{O - E}{V} \sim N\left(0, \tau^2 + 1 / V\right)

      where O is the number of rows of the upper class, E the number by the curve, and V the sum
      of p (1 - p), at least 1 in each group.

    This :math:`\tau` is the same at all totals. Where the true log odds bend more sharply than the
    curve can, or become flat, the probability at a total may lie outside its interval. More rows do
    not help: they make the interval narrower, but the curve keeps its shape.

    Attributes
    ----------
    mean, deviation : float
        m and s.
    coefficients : ndarray of shape (1 + n_slopes,)
        a and the slopes.
    changes : ndarray of shape (300, 1 + n_slopes)
        Coefficients of the bootstrap samples less those of the rows.
    scatter : float
        :math:`\tau`.

    References
    ----------
    Defined here. Poisson bootstrap: Chamandy, N. et al. (2012), Estimating uncertainty for
    massive data streams. Criterion: Akaike, H. (1974), A new look at the statistical model
    identification. Groups that vary about a curve: Williams, D. A. (1982),
    Extra-binomial variation in logistic linear models.
    """

    mean: float
    deviation: float
    coefficients: Floats
    changes: Floats
    scatter: float

    @classmethod
    def fit(
        cls,
        standardised: Floats,
        positive: Mask,
        weight: Floats,
        mean: float,
        deviation: float,
        n_slopes: int | None = None,
    ) -> RiskCurve:
        """Fit the curve to totals in units of z, with a given or the best number of slopes."""
        by_class = (weight * positive)[np.newaxis], (weight * ~positive)[np.newaxis]
        # 1) Fit curves with two slopes, and with more if each class has ten rows for each slope.
        n_rarer = min(float(events.sum()) for events in by_class) * (1 + 1e-9)  # rounding errors
        numbers = [n for n in CANDIDATES if n == CANDIDATES[0] or _ROWS_OF_A_SLOPE * n <= n_rarer]
        candidates = [
            fit_increasing(basis_of(standardised, n), *targets(*by_class))[0]
            for n in (numbers if n_slopes is None else (n_slopes,))
        ]
        # 2) Take the one with the least Akaike criterion. 3) Redraw the rows for its interval.
        coefficients = min(candidates, key=partial(_criterion, standardised, *by_class))
        n_slopes = len(coefficients) - 1
        nodes = _Nodes.of(standardised, positive, weight)
        scatter = nodes.scatter(expit(basis_of(nodes.z, n_slopes) @ coefficients))
        return cls(mean, deviation, coefficients, nodes.changes(coefficients), scatter)

    def line(self) -> tuple[float, float]:
        """Return a and b of the log odds a + b T of a curve with one slope."""
        constant, slope = self.coefficients / (1.0, self.deviation)
        return float(constant - slope * self.mean), float(slope)

    def on_scale(self, scaling: dict[str, Any]) -> RiskCurve:
        """Return the curve of totals T on a scale that was set with this one-slope curve.

        Its log odds are those that the scale states, ``log(odds) + (T - score) log(2) / pdo``.
        """
        factor = scaling["pdo"] / np.log(2)
        constant, slope = self.coefficients
        mean = scaling["score"] + factor * (float(constant) - np.log(scaling["odds"]))
        return replace(self, mean=float(mean), deviation=float(factor * slope) or 1.0)

    def at(self, totals: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the probability at given totals, and the ends of its 95 % interval."""
        z = (totals - self.mean) / self.deviation
        basis = basis_of(z, len(self.coefficients) - 1)
        log_odds = basis @ self.coefficients
        low, high = np.quantile(self.changes @ basis.T, [0.025, 0.975], axis=0)
        distances = np.maximum([-low, high], 0)  # d_- and d_+
        below, above = np.hypot(distances, NORMAL * self.scatter)
        return expit(log_odds), expit(log_odds - below), expit(log_odds + above)

    def chance(self, totals: Floats) -> Floats:
        """Return the probability at given totals."""
        basis = basis_of((totals - self.mean) / self.deviation, len(self.coefficients) - 1)
        return np.asarray(expit(basis @ self.coefficients))

    def table(self, totals: Floats) -> RiskTable:
        """Return the rows of a risk table."""
        risk, low, high = self.at(totals)
        risk = np.maximum.accumulate(risk)  # rounding may differ from row to row
        columns = (totals, risk, np.minimum(low, risk), np.maximum(high, risk))
        return tuple(zip(*(column.tolist() for column in columns), strict=True))


def _criterion(z: Floats, events: Floats, others: Floats, coefficients: Floats) -> float:
    """Return the Akaike criterion of a curve, rounded so that ties go to fewer slopes."""
    log_odds = basis_of(z, len(coefficients) - 1) @ coefficients
    likelihood = float((events * log_odds - (events + others) * np.logaddexp(0, log_odds)).sum())
    return round(2 * len(coefficients) - 2 * likelihood, 6)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """Rows with nearly equal totals, merged.

    Attributes
    ----------
    z : ndarray of shape (n_nodes,)
        Their mean total, increasing.
    events, others : ndarray of shape (n_nodes,)
        Weight of the rows of the upper class, and of the lower class.
    """

    z: Floats
    events: Floats
    others: Floats

    @classmethod
    def of(cls, z: Floats, positive: Mask, weight: Floats) -> _Nodes:
        node = np.unique(np.round(_NODES * z), return_inverse=True)[1].ravel()
        weights, weighted_z, events = (
            np.bincount(node, values) for values in (weight, weight * z, weight * positive)
        )
        others: Floats = np.maximum(weights - events, 0)
        return cls(weighted_z / weights, events.astype(np.float64), others)

    def changes(self, coefficients: Floats) -> Floats:
        """Return the coefficients of bootstrap samples less those of the rows themselves."""
        rng, shape = np.random.RandomState(_SEED), (N_REDRAWN, len(self.z))
        samples = []
        for weights in (self.events, self.others):
            counts = rng.poisson(np.minimum(weights, _MOST_DRAWN), shape)
            # Larger sizes stay as they are: their relative deviation is below 1e-7.
            samples.append(np.vstack([weights, np.where(weights > _MOST_DRAWN, weights, counts)]))
        basis = basis_of(self.z, len(coefficients) - 1)
        fitted = fit_increasing(basis, *targets(*samples), start=coefficients)
        return fitted[1:] - fitted[0]

    def scatter(self, risk: Floats) -> float:
        """Return the deviation of the log odds of groups from those of the curve."""
        weights = self.events + self.others
        # O, E and V of each node, summed by group.
        moments_of_nodes = self.events, weights * risk, weights * risk * (1 - risk)
        group = _groups(moments_of_nodes[2])
        observed, expected, variance = (np.bincount(group, sums) for sums in moments_of_nodes)
        residual = (observed - expected) / variance
        total_variance = _SCATTERS[:, np.newaxis] ** 2 + 1 / variance
        likelihood = -0.5 * (np.log(total_variance) + residual**2 / total_variance).sum(axis=1)
        density = np.exp(likelihood - likelihood.max())
        return float(np.sqrt((density * _SCATTERS**2).sum() / density.sum()))


def _groups(variance: Floats) -> Indices:
    """Return the group of each node; neighbours are joined until their variances sum to 1."""
    group, sum_of_group, n_groups = np.zeros(len(variance), dtype=np.intp), 0.0, 0
    for node, node_variance in enumerate(variance.tolist()):
        group[node] = n_groups
        sum_of_group += node_variance
        if sum_of_group >= 1 - 1e-9:
            n_groups, sum_of_group = n_groups + 1, 0.0
    return np.minimum(group, max(n_groups - 1, 0))  # the rest joins the last group


def with_risk(card: Card, curve: RiskCurve, totals: Floats, *, keeps_points: bool) -> Card:
    """Return the card with the risk table of a curve and the cut at a probability of one half.

    The table has the totals of the rows, and the least and the greatest that there are.

    Parameters
    ----------
    card : Card
        The points.
    curve : RiskCurve
        Of its totals.
    totals : ndarray
        Those of the rows.
    keeps_points : bool
        False: the intercept is such that the cut is 0.
    """
    points = [variable.points for variable in card.variables]
    extremes = [card.intercept + sum(map(end, points)) for end in (min, max)]
    risk = curve.table(np.union1d(totals, np.array(extremes, dtype=np.float64)))
    cut = cut_of(risk)
    if not keeps_points:
        curve = replace(curve, mean=curve.mean - cut)
        risk = tuple((total - cut, chance, low, high) for total, chance, low, high in risk)
        card, cut = replace(card, intercept=card.intercept - cut), 0
    details = {
        **card.details,
        "risk_interval": f"95 %, from {N_REDRAWN} curves of redrawn rows",
        "risk_scatter": curve.scatter,
        MADE_FOR: card.fingerprint(),
    }
    return replace(card, risk=risk, cut=cut, details=details)


def moments(values: Floats, weight: Floats) -> tuple[float, float]:
    """Return the weighted mean and standard deviation; 1 instead of a deviation of 0."""
    total = float(weight.sum())
    mean = float((values * weight).sum()) / total
    variance = float(((values - mean) ** 2 * weight).sum()) / total
    return mean, float(np.sqrt(variance)) if variance > 0 else 1.0


def cut_of(risk: Sequence[tuple[float, float, float, float]]) -> int:
    """Return the largest integer total with a risk of at most one half.

    Between the totals of the table, the risk is interpolated. If all risks are above one half, it
    is the integer below the first total; if none is, the last total.
    """
    totals, probability = np.array(risk, dtype=np.float64).T[:2]
    above_half = np.flatnonzero(probability > 0.5)
    if not len(above_half):
        return int(totals[-1])
    last = int(above_half[0]) - 1
    if last < 0:
        return int(totals[0]) - 1
    rise, run = probability[last + 1] - probability[last], totals[last + 1] - totals[last]
    # Rounding errors may move the crossing by one integer: check its neighbours.
    integers = np.floor(totals[last] + (0.5 - probability[last]) / rise * run) + np.arange(-1, 2)
    return int(integers[np.interp(integers, totals, probability) <= 0.5].max())
