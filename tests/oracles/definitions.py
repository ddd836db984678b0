"""Slow, obvious functions written straight from the papers' definitions.

They are the independent truth that the fast code is held against: every pair of rows
is visited, nothing is factorised, and nothing here imports the package under test.

Conventions
-----------
- ``y`` is the relevance (greater is better), ``qid`` one hashable id per row
  (``None``: one list), ``w`` the row weights as multiplicities (``None``: ones).
- A pair (i, k) has ``y[i] > y[k]`` and ``qid[i] == qid[k]``: i must rank above k. It
  weighs ``w[i] * w[k]``; a row of weight zero is a row that is not there.
- The margin of a pair is ``f[i] - f[k]``. Matrices over pairs have rows i, columns k.
- ``p`` and ``push`` select the objective J, see `log_push`.

Sources: Rudin2009 (The P-Norm Push, JMLR 10), RudinSchapire2009 (Margin-based Ranking
and an Equivalence between AdaBoost and RankBoost, JMLR 10), Freund2003 (An efficient
boosting algorithm for combining preferences, JMLR 4), Chen2012 (Approximation Analysis of
Gradient Descent Algorithm for Bipartite Ranking, J. Appl. Math. 2012, 189753).
"""

import itertools
import math
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp

TIE_TOLERANCE = 1e-10
SEARCH_TOLERANCE = 1e-13
ROUNDING = 1e-14


# Pairs --------------------------------------------------------------------------------------


def comparable(i, k, y, qid=None):
    """Whether row i must rank above row k (Freund2003)."""
    return bool(y[i] > y[k]) and (qid is None or bool(qid[i] == qid[k]))


def pairs(y, qid=None):
    """All (i, k) such that row i must rank above row k, zero weights included."""
    n = len(y)
    return [(i, k) for i in range(n) for k in range(n) if comparable(i, k, y, qid)]


def row_weights(y, w=None):
    """Row weights as floats; ``None`` means ones."""
    return np.ones(len(y)) if w is None else np.asarray(w, dtype=float)


def above(y, qid=None, w=None):
    """Boolean matrix: entry (i, k) is true for a pair of positive weight."""
    y = np.asarray(y)
    present = row_weights(y, w) > 0
    seen = {}
    query = np.array([0] * len(y) if qid is None else [_code(q, seen) for q in qid])
    is_pair = np.greater.outer(y, y) & np.equal.outer(query, query)
    return is_pair & np.logical_and.outer(present, present)


def _code(value, seen):
    return seen.setdefault(value, len(seen))


def total_pair_weight(y, qid=None, w=None):
    """Sum of ``w[i] * w[k]`` over all pairs."""
    weight = row_weights(y, w)
    return float(sum(weight[i] * weight[k] for i, k in pairs(y, qid)))


def is_one_bipartite_list(y, qid=None, w=None):
    """Whether the pairs are *all* of (some rows) x (some other rows).

    True for two relevances in one query; other queries may be there as long as they
    form no pair.
    """
    is_pair = above(y, qid, w)
    product = np.logical_and.outer(is_pair.any(axis=1), is_pair.any(axis=0))
    return bool(is_pair.any()) and bool(np.array_equal(is_pair, product))


# The p-norm push and its relatives: value ---------------------------------------------------


def relative_pairs(y, qid=None, w=None, side="top"):
    """Per row k: ``r_k = N_k / max N``, ``N_k = sum_i w_i`` over the rows above it.

    Bottom: over the rows below it. A row without such a pair has 1, which nothing uses. All are 1
    in the plain sum over crucial pairs (Rudin2009, sec. 7).
    """
    if side == "crucial_pairs":
        return np.ones(len(y))
    is_pair, weight = above(y, qid, w), row_weights(y, w)
    n = weight @ is_pair if side == "top" else is_pair @ weight
    return np.where(n > 0, n / n.max(), 1.0)


def log_push(f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Objective J, by sums over explicit pairs in the log domain.

    Top and bottom: ``log(R) / p`` (p=inf: ``log`` of the maximum, Rudin2009 sec. 9.2);
    both: ``log(R_top + bottom_weight R_bottom)``, not divided by p; ir: R itself.
    """
    if push == "ir":
        inner, _ = _log_inner(f, y, qid, w, "bottom")
        return float(row_weights(y, w) @ np.logaddexp(0.0, inner))
    if push == "both":
        top = p * log_push(f, y, qid, w, p, "top")
        bottom = p * log_push(f, y, qid, w, p, "bottom")
        return float(np.logaddexp(top, _log(bottom_weight) + bottom))
    inner, log_weight = _log_inner(f, y, qid, w, push)
    log_relative = np.log(relative_pairs(y, qid, w, push))
    has_pair = np.isfinite(inner)
    inner, log_weight = inner - log_relative, log_weight + log_relative
    if math.isinf(p):
        return float(inner[has_pair].max())
    return float(logsumexp(log_weight[has_pair] + p * inner[has_pair]) / p)


def _log(value):
    return math.log(value) if value > 0 else -math.inf


def _margins(f):
    f = np.asarray(f, dtype=float)
    return np.subtract.outer(f, f)


def _log_inner(f, y, qid, w, push):
    """Per row: log of its inner sum (-inf: no pair), and log of its weight.

    Top: row k, ``log sum_{i above k} w_i e^-(f_i-f_k)``; bottom: row i, ``log
    sum_{k below i} w_k e^-(f_i-f_k)``.
    """
    weight = row_weights(y, w)
    log_weight = np.log(np.where(weight > 0, weight, 1.0))
    inner_weight = log_weight[None, :] if push == "bottom" else log_weight[:, None]
    terms = np.where(above(y, qid, w), inner_weight - _margins(f), -np.inf)
    return logsumexp(terms, axis=1 if push == "bottom" else 0), log_weight


# Derivatives --------------------------------------------------------------------------------


def log_pair_derivatives(f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Matrix of ``log(-dJ / dm_ik)``, the derivative by the pair's margin; -inf: none.

    Chain rule on the definition: for the top push ``-dJ/dm_ik = w_k (S_k / r_k)^(p-1) w_i
    e^-(f_i-f_k) / R`` (finite p only).
    """
    if math.isinf(p):
        raise ValueError("The objective has no derivative at p=inf.")
    if push == "both":
        value = log_push(f, y, qid, w, p, push, bottom_weight)
        top, bottom = (
            p * log_push(f, y, qid, w, p, side) + log_pair_derivatives(f, y, qid, w, p, side)
            for side in ("top", "bottom")
        )
        return math.log(p) - value + np.logaddexp(top, _log(bottom_weight) + bottom)
    side = "bottom" if push in ("bottom", "ir") else "top"
    inner, log_weight = _log_inner(f, y, qid, w, side)
    inner = np.where(np.isfinite(inner), inner, 0.0)
    pair = log_weight[:, None] + log_weight[None, :] - _margins(f)
    if push == "ir":
        outer = -np.logaddexp(0.0, inner)
    else:
        log_relative = np.log(relative_pairs(y, qid, w, push))
        outer = (p - 1) * (inner - log_relative) - p * log_push(f, y, qid, w, p, push)
    pair = pair + (outer[None, :] if side == "top" else outer[:, None])
    return np.where(above(y, qid, w), pair, -np.inf)


def row_masses(f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Minus the derivative of J with respect to each score, summed pair by pair."""
    mass = np.exp(log_pair_derivatives(f, y, qid, w, p, push, bottom_weight))
    return mass.sum(axis=1) - mass.sum(axis=0)


def curvature(f, y, qid=None, w=None, p=1.0, push="top"):
    """Diagonal of the graph Laplacian that bounds the second derivatives of J.

    Top: a pair's edge weighs ``p s_k pi_ik``, its derivative times p (``s_k`` the share
    of row k in R, ``pi_ik`` that of row i in its inner sum); on one bipartite list the
    inner rows have no factor p. both: p times the derivatives of all pairs, in both roles.
    ir: row i's term is ``w_i log sum e^z`` over 0 and ``z_k = f_k - f_i + log w_k``, with
    shares r: row i has ``w_i r (1 - r)`` with r that of 0, and row k ``w_i r`` with its own,
    the same for a row of weight 2 and the row twice.
    """
    if push == "both":
        # The pairs' derivatives of ``log(R_top + R_bottom)``, times p for the square of p.
        derivative = np.exp(log_pair_derivatives(f, y, qid, w, p, push))
        return p * (derivative.sum(axis=1) + derivative.sum(axis=0))
    if push != "ir":
        derivative = np.exp(log_pair_derivatives(f, y, qid, w, p, push))
        inner_factor = 1.0 if is_one_bipartite_list(y, qid, w) else p
        factors = (p, inner_factor) if push == "bottom" else (inner_factor, p)
        return factors[0] * derivative.sum(axis=1) + factors[1] * derivative.sum(axis=0)
    weight, found, is_pair = row_weights(y, w), np.zeros(len(y)), above(y, qid, w)
    for i in np.flatnonzero(is_pair.any(axis=1)):
        below = np.flatnonzero(is_pair[i])
        terms = np.array([0.0, *(f[below] - f[i] + np.log(weight[below]))])
        found[i] += weight[i] * np.exp(logsumexp(terms[1:]) - 2 * logsumexp(terms))
        found[below] += weight[i] * np.exp(terms[1:] - logsumexp(terms))
    return found


def edge(h, f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Minus the derivative of ``alpha -> J(f + alpha h)`` at zero: sum of mass * h."""
    masses = row_masses(f, y, qid, w, p, push, bottom_weight)
    return float(masses @ np.asarray(h, dtype=float))


def numeric_gradient(function, f, step=1e-3):
    """Gradient of ``function`` at ``f`` by fourth-order central differences.

    Of a function that returns an array: its derivatives by ``f[n]`` in row n.
    """
    f = np.asarray(f, dtype=float)
    gradient = []
    for n in range(len(f)):
        unit = np.zeros(len(f))
        unit[n] = step
        near = function(f + unit) - function(f - unit)
        far = function(f + 2 * unit) - function(f - 2 * unit)
        gradient.append((8 * near - far) / (12 * step))
    return np.array(gradient)


# Pair masses and steps ----------------------------------------------------------------------


def log_pair_masses(f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Log of the pairs' masses: their derivatives of J, normalised to sum to one.

    At p=1 these are RankBoost's ``d_ik`` (RudinSchapire2009).
    """
    log_mass = log_pair_derivatives(f, y, qid, w, p, push, bottom_weight)
    return log_mass - logsumexp(log_mass)


def pair_masses(h, f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """(d_plus, d_minus, d_zero): mass of the pairs with h_i - h_k = +1, -1, 0."""
    h = np.asarray(h, dtype=float)
    mass = np.exp(log_pair_masses(f, y, qid, w, p, push, bottom_weight))
    difference = np.subtract.outer(h, h)
    return tuple(float(mass[difference == sign].sum()) for sign in (1, -1, 0))


def smoothing(y, qid=None, w=None):
    """``e = 1 / (2 max(N, N_eff))``: keeps the step of a perfect h finite.

    N is the total weight of the pairs and N_eff their number, were they of equal weight.
    """
    weight = row_weights(y, w)
    total = total_pair_weight(y, qid, w)
    squares = sum((weight[i] * weight[k]) ** 2 for i, k in pairs(y, qid))
    return 1 / (2 * max(total, total**2 / squares))


def closed_form_step(h, f, y, qid=None, w=None, p=1.0, push="top", smooth=True):
    """Step of a 0/1 weak ranker, ``ln((d+ + e) / (d- + e)) / (p + 1)``.

    Exact (but for e) at p=1, and at any p on one bipartite list; refused elsewhere.
    ``smooth=False`` sets e to zero. At p=1 it is RankBoost's (Freund2003).
    """
    exact = p == 1 or is_one_bipartite_list(y, qid, w)
    if push in ("both", "ir") or not exact:
        raise ValueError("There is no closed form here: use line_search.")
    d_plus, d_minus, _ = pair_masses(h, f, y, qid, w, p, push)
    e = smoothing(y, qid, w) if smooth else 0.0
    return math.log((d_plus + e) / (d_minus + e)) / (p + 1)


def step_cap(h, y, qid=None, w=None, p=1.0):
    """Longest step: the closed form at d+ = 1, d- = 0, over the range of h on pairs."""
    h = np.asarray(h, dtype=float)
    e = smoothing(y, qid, w)
    largest = np.abs(np.subtract.outer(h, h)[above(y, qid, w)]).max()
    return math.inf if largest == 0 else math.log((1 + e) / e) / (p + 1) / largest


def line_search(h, f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Minimiser of the convex ``alpha -> J(f + alpha h)`` over ``|alpha| <= cap``."""
    f, h = np.asarray(f, dtype=float), np.asarray(h, dtype=float)
    difference = np.subtract.outer(h, h)
    cap = step_cap(h, y, qid, w, 1.0 if push == "ir" else p)  # IR has no power
    if math.isinf(cap):
        return 0.0

    def descent(alpha):
        masses = log_pair_masses(f + alpha * h, y, qid, w, p, push, bottom_weight)
        return float((np.exp(masses) * difference).sum())

    if descent(cap) >= 0:
        return cap
    if descent(-cap) <= 0:
        return -cap
    return float(brentq(descent, -cap, cap, xtol=SEARCH_TOLERANCE))


def takes_closed_form(h, y, qid=None, w=None, p=1.0, push="top"):
    """Whether the step of h is the closed form rather than a line search."""
    is_binary = bool(np.isin(h, (0.0, 1.0)).all())
    exact = p == 1 or is_one_bipartite_list(y, qid, w)
    return is_binary and push not in ("both", "ir") and exact


def exact_step(h, f, y, qid=None, w=None, p=1.0, push="top", bottom_weight=1.0):
    """Step of h that minimises an exponential push: the closed form where there is one."""
    if takes_closed_form(h, y, qid, w, p, push):
        return closed_form_step(h, f, y, qid, w, p, push)
    return line_search(h, f, y, qid, w, p, push, bottom_weight)


def has_exact_steps(y, qid=None, w=None, push="top", loss="exponential"):
    """Whether steps come from the sums of exponential sides rather than from curvature.

    With both sides only where there are no rows beside those of one list of two levels.
    """
    if loss != "exponential" or push == "ir" or not is_one_bipartite_list(y, qid, w):
        return False
    return push != "both" or is_one_query(y, qid, w)


def is_one_query(y, qid=None, w=None):
    """Whether all rows are of one query."""
    return qid is None or len(np.unique(np.asarray(qid)[row_weights(y, w) > 0])) == 1


def objective_value(f, y, qid=None, w=None, p=1.0, push="top", loss="exponential"):
    """Value of the objective of a push."""
    if loss == "exponential":
        return log_push(f, y, qid, w, p, push)
    return margin_push(f, y, qid, w, loss, p, push)[0]


def posed(f, y, qid=None, w=None, p=1.0, push="top", loss="exponential"):
    """Value of the objective, its gradient and the curvature c of each row."""
    if loss == "exponential":
        objective = (y, qid, w, p, push)
        return log_push(f, *objective), -row_masses(f, *objective), curvature(f, *objective)
    value, gradient = margin_push(f, y, qid, w, loss, p, push)
    return value, gradient, margin_push_curvature(f, y, qid, w, loss, p, push)


def curvature_bound(h, c):
    """Bound of the second derivative along h: ``min(c @ h, c @ (1 - h))`` for h in [0, 1].

    Other h are mapped to [0, 1]; ``2 sum c (h - a)^2`` at the mean a is a bound as well.
    """
    h = np.asarray(h, dtype=float)
    low, width = h.min(), np.ptp(h)
    if width == 0 or c.sum() == 0:
        return 0.0
    t = (h - low) / width
    bound = width**2 * min(math.fsum(c * t), math.fsum(c * (1 - t)))
    if np.isin(h, (0.0, 1.0)).all():
        return bound
    mean = math.fsum(c * h) / math.fsum(c)
    return min(bound, 2 * math.fsum(c * (h - mean) ** 2))


def second_order_step(h, f, y, qid=None, w=None, p=1.0, push="top", loss="exponential"):
    """``sign(g) log(1 + p |g| / B) / p``, g minus the slope; p is 1 for the IR push."""
    power = 1.0 if push == "ir" else p
    _, gradient, c = posed(f, y, qid, w, p, push, loss)
    g, bound = -math.fsum(gradient * h), curvature_bound(h, c)
    cap = step_cap(h, y, qid, w, power)
    if g == 0 or math.isinf(cap):  # then g is rounding: no pair tells h from a constant
        return 0.0
    length = math.log1p(power * abs(g) / bound) / power if bound > 0 else math.inf
    return math.copysign(min(length, cap), g)


def step(h, f, y, qid=None, w=None, p=1.0, push="top", loss="exponential"):
    """Coordinate-descent step of h: the closed form, a line search, or of second order."""
    has_closed_form = loss == "exponential" and takes_closed_form(h, y, qid, w, p, push)
    if has_closed_form or has_exact_steps(y, qid, w, push, loss):
        return exact_step(h, f, y, qid, w, p, push)
    return second_order_step(h, f, y, qid, w, p, push, loss)


# Weak rankers -------------------------------------------------------------------------------


class Stump(NamedTuple):
    """h = 1[x > threshold]; a missing x gives ``missing_right``.

    A threshold of ``None`` is the raw feature, ``weak_ranker="feature"``.
    """

    feature: int
    threshold: float | None
    missing_right: bool
    h: np.ndarray


def thresholds(x, w=None, max_bins=64):
    """Thresholds of one feature, increasing; rows of weight zero are not seen.

    Each is halfway between a value and the next, or the value where that rounds to the next. At
    most ``max_bins`` distinct values: all of them; else the weighted inverted-CDF quantiles at
    b / max_bins; never the largest. Where some are missing infinity is one, for
    ``1[x is missing]``.
    """
    x = np.asarray(x, dtype=float)
    weight = row_weights(x, w)
    x, weight = x[weight > 0], weight[weight > 0]
    observed = [float(value) for value in np.unique(x[~np.isnan(x)])]
    if not observed:
        return []
    chosen = observed
    if len(observed) > max_bins:
        levels = [b / max_bins for b in range(1, max_bins)]
        chosen = sorted({_quantile(x, weight, observed, q) for q in levels})
    found = []
    for low, high in pairwise(observed):
        if low in chosen:
            found.append(low / 2 + high / 2 if low / 2 + high / 2 < high else low)
    return [*found, np.inf] if weighs_enough(np.isnan(x), weight) else found


def weight_of_rows(n, weight):
    """The weight of n rows, where weights are multiplicities or, below one, their shares."""
    return n * weight.sum() / max(weight.sum(), weight.sum() ** 2 / (weight**2).sum())


def weighs_enough(mask, weight):
    """Whether some rows teach: they are ten, or a fiftieth of all if that is less."""
    needed = min(weight_of_rows(10, weight), weight.sum() / 50) * (1 - 1e-9)
    return mask.any() and weight[mask].sum() >= needed


def _quantile(x, weight, observed, level):
    """Smallest observed value whose cumulative weight reaches the level."""
    total = weight[~np.isnan(x)].sum()
    for value in observed:
        if weight[x <= value].sum() >= level * total * (1 - 1e-12):
            return value
    raise AssertionError("The last value reaches every level.")


def apply_stump(X, feature, threshold, missing_right=False):
    """Values of one weak ranker on X (Freund2003, with ``q_def`` for missing)."""
    x = np.asarray(X, dtype=float)[:, feature]
    if threshold is None:
        return x.copy()
    return np.where(np.isnan(x), float(missing_right), (x > threshold).astype(float))


def stumps(X, w=None, max_bins=64):
    """Every stump that is not constant, in the order in which ties are resolved.

    By feature, then threshold, then missing values left before right.
    """
    X = np.asarray(X, dtype=float)
    present = row_weights(X, w) > 0
    candidates = []
    for feature in range(X.shape[1]):
        has_missing = weighs_enough(np.isnan(X[present, feature]), row_weights(X, w)[present])
        for threshold in thresholds(X[:, feature], w, max_bins):
            for missing_right in (False, True) if has_missing else (False,):
                h = apply_stump(X, feature, threshold, missing_right)
                if np.ptp(h[present]) > 0:
                    candidates.append(Stump(feature, threshold, missing_right, h))
    return candidates


def features(X):
    """The raw features as weak rankers, in order, without constant ones."""
    X = np.asarray(X, dtype=float)
    changing = [j for j in range(X.shape[1]) if len(np.unique(X[:, j])) > 1]
    return [Stump(j, None, False, X[:, j].copy()) for j in changing]


def optimal_decrease(h, f, y, qid=None, w=None, p=1.0, push="top"):
    """``J(f) - J(f + alpha h)`` at the closed-form alpha (Freund2003).

    One bipartite list and 0/1 weak rankers only. With a the mass of the pairs where
    h_i = 1 and b of those where h_k = 1, the new sum over the pairs of the top push is
    ``log(a e^-alpha + 1 - a) + log(b e^(p alpha) + 1 - b) / p`` in J.
    """
    if not is_one_bipartite_list(y, qid, w):
        raise ValueError("The optimal selection needs one bipartite list.")
    alpha = closed_form_step(h, f, y, qid, w, p, push)
    mass = np.exp(log_pair_masses(f, y, qid, w, p, push))
    a, b = float(h @ mass.sum(axis=1)), float(h @ mass.sum(axis=0))
    power_i, power_k = (p, 1) if push == "bottom" else (1, p)
    change = math.log1p(a * math.expm1(-power_i * alpha)) / power_i
    change += math.log1p(b * math.expm1(power_k * alpha)) / power_k
    return -change


def candidate_scores(
    candidates, f, y, qid=None, w=None, p=1.0, push="top", loss="exponential", selection="steepest"
):
    """What the selection maximises, per candidate: |edge|, or the decrease of J.

    The decrease is that of J itself where steps are in closed form, and elsewhere that of
    the quadratic bound, ``g^2 / (2 B)`` unless its step is longer than allowed.
    """
    has_sides = push not in ("both", "ir") and has_exact_steps(y, qid, w, push, loss)
    if selection == "optimal" and has_sides and is_one_query(y, qid, w):
        return [optimal_decrease(c.h, f, y, qid, w, p, push) for c in candidates]
    _, gradient, c = posed(f, y, qid, w, p, push, loss)
    slopes = [abs(math.fsum(gradient * candidate.h)) for candidate in candidates]
    if selection == "steepest":
        return slopes
    e, power = smoothing(y, qid, w), 1.0 if push == "ir" else p
    longest, gains = math.log((1 + e) / e) / (power + 1), []
    for candidate, slope in zip(candidates, slopes, strict=True):
        bound = curvature_bound(candidate.h, c)
        alpha = min(slope / bound, longest) if bound > 0 else longest
        gains.append(alpha * slope - alpha**2 * bound / 2)
    return gains


def first_best(candidates, scores):
    """The first candidate within a relative 1e-10 of the best score."""
    best = max(scores)
    least = best - TIE_TOLERANCE * abs(best)
    return next(c for c, s in zip(candidates, scores, strict=True) if s >= least)


# Boosting -----------------------------------------------------------------------------------


class Round(NamedTuple):
    """One round of coordinate descent, and the objective after it."""

    feature: int
    threshold: float | None
    missing_right: bool
    alpha: float
    objective: float


def _weak_rankers(X, w, max_bins, weak_ranker):
    return stumps(X, w, max_bins) if weak_ranker == "stump" else features(X)


def boost(
    X,
    y,
    qid=None,
    w=None,
    *,
    n_rounds,
    p=1.0,
    push="top",
    loss="exponential",
    selection="steepest",
    learning_rate=1.0,
    max_bins=64,
    weak_ranker="stump",
):
    """Coordinate descent on J from f = 0 (Rudin2009; RankBoost is p=1).

    A step of second order is halved until the objective does not rise. Never stops early; no
    rounds at all when every weak ranker is constant.
    """
    candidates = _weak_rankers(X, w, max_bins, weak_ranker)
    f = np.zeros(len(y))
    rounds = []
    for _ in range(n_rounds if candidates else 0):
        objective = (y, qid, w, p, push, loss)
        scores = candidate_scores(candidates, f, *objective, selection)
        chosen = first_best(candidates, scores)
        alpha = learning_rate * step(chosen.h, f, *objective)
        before = objective_value(f, *objective) + ROUNDING
        while objective_value(f + alpha * chosen.h, *objective) > before:
            alpha /= 2
        f = f + alpha * chosen.h
        rounds.append(Round(*chosen[:3], alpha, objective_value(f, *objective)))
    return rounds


def net_l1_norm(rounds):
    """``||lambda||_1``: the steps of one weak ranker are summed before the norm."""
    net = {}
    for r in rounds:
        net[r[:3]] = net.get(r[:3], 0.0) + r.alpha
    return sum(abs(coefficient) for coefficient in net.values())


# Margins and the smooth margin ranker -------------------------------------------------------


THEOREM_6 = np.array(
    [
        [-1, 1, 1, 1, 1, -1, -1, 1],
        [-1, 1, 1, -1, -1, 1, 1, 1],
        [1, -1, 1, 1, 1, -1, 1, 1],
        [1, -1, 1, 1, -1, 1, 1, 1],
        [1, -1, 1, -1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, 1, -1],
        [1, 1, -1, 1, 1, 1, -1, 1],
        [1, 1, 1, 1, -1, -1, 1, -1],
    ],
    dtype=float,
)
"""RudinSchapire2009, Theorem 6: rows are positives, columns features; one negative, all zeros."""


def ranking_margin(f, l1_norm, y, qid=None, w=None):
    """Smallest margin over the pairs / l1 norm (RudinSchapire2009)."""
    return float(_margins(f)[above(y, qid, w)].min()) / l1_norm


def smooth_margin(f, l1_norm, y, qid=None, w=None):
    """``G = -ln(F) / ||lambda||_1``, F the sum of w_i w_k e^-m (RudinSchapire2009)."""
    return -log_push(f, y, qid, w) / l1_norm


def unit_pair_weights(y, qid=None, w=None):
    """Row weights, scaled up so that no pair weighs less than one.

    Only then ``F >= e^-m`` for every pair, hence ``G <= margin``.
    """
    weight = row_weights(y, w)
    smallest = np.multiply.outer(weight, weight)[above(y, qid, w)].min()
    return weight / math.sqrt(smallest) if smallest < 1 else weight


def smooth_margin_closed_form(d_plus, d_minus, d_zero, g):
    """RudinSchapire2009 eq. 12: the step of a 0/1 (or +-1) weak ranker."""
    root = math.sqrt((d_zero * g) ** 2 + 4 * (1 - g**2) * d_plus * d_minus)
    if d_minus == 0:
        return math.log((1 - g) * d_plus / (g * d_zero))
    return math.log((root - d_zero * g) / (2 * (1 + g) * d_minus))


def smooth_margin_step(h, g, f, y, qid=None, w=None):
    """Root in alpha of ``-tau'(alpha) / tau(alpha) = g`` (RudinSchapire2009).

    ``tau(alpha) = sum_ik d_ik e^(-alpha (h_i-h_k))``; needs ``0 < g < |edge|``. Where
    there is no root, every pair being separated by at least g, it is the cap of
    `step_cap`.
    """
    h = np.asarray(h, dtype=float)
    sign = 1.0 if edge(h, f, y, qid, w) > 0 else -1.0
    is_pair = above(y, qid, w)
    difference = sign * np.subtract.outer(h, h)[is_pair]
    log_mass = log_pair_masses(f, y, qid, w)[is_pair]

    def excess(alpha):
        exponents = log_mass - alpha * difference
        share = np.exp(exponents - logsumexp(exponents))
        return float(share @ difference) - g

    cap = step_cap(h, y, qid, w)
    if difference.min() >= g * (1 - 1e-14):  # rounding of g, which nears it for a single pair
        return sign * cap
    upper = 1.0
    while excess(upper) >= 0:
        upper *= 2
    alpha = float(brentq(excess, 0.0, upper, xtol=SEARCH_TOLERANCE))
    return sign * alpha


class SmoothRound(NamedTuple):
    """One round of the smooth margin ranker, and the two margins after it."""

    feature: int
    threshold: float | None
    missing_right: bool
    alpha: float
    smooth_margin: float
    margin: float
    is_smooth_step: bool


def smooth_margin_boost(X, y, qid=None, w=None, *, n_rounds, weak_ranker="stump"):
    """Smooth margin ranker (RudinSchapire2009): approximate ascent on G.

    RankBoost's step unless ``0 < G < |edge|`` and lambda is not zero. Weights are
    scaled up first, see `unit_pair_weights`.
    """
    candidates = _weak_rankers(X, w, 64, weak_ranker)
    w = unit_pair_weights(y, qid, w)
    f, norm, rounds = np.zeros(len(y)), 0.0, []
    for _ in range(n_rounds if candidates else 0):
        scores = candidate_scores(candidates, f, y, qid, w)
        chosen = first_best(candidates, scores)
        g = smooth_margin(f, norm, y, qid, w) if norm > 0 else 0.0
        is_smooth = 0 < g < abs(edge(chosen.h, f, y, qid, w))
        if is_smooth:
            alpha = smooth_margin_step(chosen.h, g, f, y, qid, w)
        else:
            alpha = exact_step(chosen.h, f, y, qid, w)
        f = f + alpha * chosen.h
        norm = net_l1_norm([*rounds, SmoothRound(*chosen[:3], alpha, 0, 0, is_smooth)])
        after = (math.nan, math.nan)
        if norm > 0:
            after = (smooth_margin(f, norm, y, qid, w), ranking_margin(f, norm, y, qid, w))
        rounds.append(SmoothRound(*chosen[:3], alpha, *after, is_smooth))
    return rounds


# Scores and offsets -------------------------------------------------------------------------


def auc(score, y, qid=None, w=None):
    """Share (by weight) of the pairs in the right order, ties one half."""
    weight = row_weights(y, w)
    right, total = 0.0, 0.0
    for i, k in pairs(y, qid):
        pair_weight = weight[i] * weight[k]
        total += pair_weight
        if score[i] > score[k]:
            right += pair_weight
        elif score[i] == score[k]:
            right += pair_weight / 2
    if total == 0:
        raise ValueError("There is no comparable pair.")
    return right / total


def f_skew_offset(f, y, w=None):
    """Intercept that makes the classes' exponential masses equal (F-skew zero).

    RudinSchapire2009. Queries play no part; the greater y is the positive class.
    """
    f, y, weight = np.asarray(f, dtype=float), np.asarray(y), row_weights(y, w)
    present = weight > 0
    positive = (y == y.max()) & present
    negative = (y != y.max()) & present
    log_positive = logsumexp(-f[positive] + np.log(weight[positive]))
    log_negative = logsumexp(f[negative] + np.log(weight[negative]))
    return float(0.5 * (log_positive - log_negative))


# AdaBoost, and the tables of the p-norm push paper ------------------------------------------


def adaboost(h_matrix, y, n_rounds, w=None):
    """Scores of discrete AdaBoost; the greater y is the positive class.

    ``h_matrix`` is (n_rows, n_weak) of 0/1 or +-1 weak classifiers, either sign allowed;
    the constant classifier is added, as RudinSchapire2009 needs. A classifier
    without error has its edge limited to 1 - 1e-12. Returns (scores, coefficients), the
    constant's coefficient last.
    """
    y = np.asarray(y)
    label = np.where(y == y.max(), 1.0, -1.0)
    h = np.asarray(h_matrix, dtype=float)
    h = 2 * h - 1 if np.isin(h, (0.0, 1.0)).all() else h
    h = np.column_stack([h, np.ones(len(y))])
    scores, coefficients = np.zeros(len(y)), np.zeros(h.shape[1])
    for _ in range(n_rounds):
        logs = -label * scores
        mass = row_weights(y, w) * np.exp(logs - logs.max())
        edges = h.T @ (label * mass / mass.sum())
        j = int(np.argmax(np.abs(edges)))
        r = float(np.clip(edges[j], -1 + 1e-12, 1 - 1e-12))
        alpha = 0.5 * math.log((1 + r) / (1 - r))
        coefficients[j] += alpha
        scores = scores + alpha * h[:, j]
    return scores, coefficients


# Sums of a margin loss over all pairs -------------------------------------------------------


def phi(loss, m):
    """Loss of a margin; base e. Only the exponential loss may overflow to infinity."""
    m = np.asarray(m, dtype=float)
    if loss == "exponential":
        with np.errstate(over="ignore"):
            return np.exp(-m)
    if loss == "least_squares":
        return (1 - m) ** 2
    if loss == "hinge":
        return np.maximum(1 - m, 0.0)
    if loss == "squared_hinge":
        return np.maximum(1 - m, 0.0) ** 2
    if loss == "logistic":
        return np.logaddexp(0.0, -m)
    raise ValueError(loss)


def phi_derivative(loss, m):
    """Left derivative of `phi`: the hinge has -1 at m = 1, its kink."""
    m = np.asarray(m, dtype=float)
    if loss == "exponential":
        return -phi(loss, m)
    if loss == "least_squares":
        return -2 * (1 - m)
    if loss == "hinge":
        return np.where(m <= 1, -1.0, 0.0)
    if loss == "squared_hinge":
        return -2 * np.maximum(1 - m, 0.0)
    if loss == "logistic":
        return -np.exp(-np.logaddexp(0.0, m))
    raise ValueError(loss)


def phi_second(loss, m):
    """Second derivative of `phi`; of the squared hinge the bound 2, also beyond its margin.

    Of the hinge that of ``log(1 + e^(1 - m))``, as boosting takes it.
    """
    m = np.asarray(m, dtype=float)
    if loss == "hinge":
        return phi_second("logistic", m - 1)
    if loss == "exponential":
        return phi(loss, m)
    if loss in ("least_squares", "squared_hinge"):
        return np.full_like(m, 2.0)
    if loss == "logistic":
        return np.exp(-np.logaddexp(0.0, m) - np.logaddexp(0.0, -m))
    raise ValueError(loss)


def rounded_hinge(m, width):
    """(phi, phi', phi'') of the hinge with a parabola in place of its kink, case by case.

    The parabola lies over (1 - width, 1]; phi'' is taken from the left at both ends.
    """
    found = []
    for margin in np.ravel(m):
        residual = 1 - margin
        if residual < 0:
            found.append((0.0, 0.0, 0.0))
        elif residual < width:
            found.append((residual**2 / (2 * width), -residual / width, 1 / width))
        else:
            found.append((residual - width / 2, -1.0, 0.0))
    return tuple(np.reshape(column, np.shape(m)) for column in zip(*found, strict=True))


def weighted_pairs(y, qid=None, w=None):
    """Arrays i, k and ``w[i] * w[k]`` over the pairs of positive weight."""
    weight = row_weights(y, w)
    there = [(i, k) for i, k in pairs(y, qid) if weight[i] > 0 and weight[k] > 0]
    i, k = np.array(there, dtype=int).reshape(-1, 2).T
    return i, k, weight[i] * weight[k]


def pair_margins(f, y, qid=None, w=None):
    """Margins ``f[i] - f[k]`` of the pairs of positive weight."""
    f = np.asarray(f, dtype=float)
    i, k, _ = weighted_pairs(y, qid, w)
    return f[i] - f[k]


def mean_larger(values, y, qid=None, w=None):
    """Mean over the pairs, by ``w_i w_k``, of the larger of both rows' values."""
    i, k, v = weighted_pairs(y, qid, w)
    return float(np.sum(v * np.maximum(values[i], values[k])) / np.sum(v))


def pair_sum(f, y, qid=None, w=None, loss="logistic"):
    """``sum w_i w_k phi(f_i - f_k)`` over the pairs."""
    *_, v = weighted_pairs(y, qid, w)
    return float(np.sum(v * phi(loss, pair_margins(f, y, qid, w))))


def pair_mean(f, y, qid=None, w=None, loss="logistic"):
    """`pair_sum` divided by the total pair weight."""
    return pair_sum(f, y, qid, w, loss) / total_pair_weight(y, qid, w)


def pair_sum_gradient(f, y, qid=None, w=None, loss="logistic"):
    """Gradient of `pair_sum` with respect to the scores (left derivatives of phi)."""
    i, k, v = weighted_pairs(y, qid, w)
    return _gather(v * phi_derivative(loss, pair_margins(f, y, qid, w)), i, k, len(y))


def pair_sum_absolute(f, y, qid=None, w=None, loss="logistic"):
    """Per row: sum of ``w_i w_k max(1, |phi'(m_ik)|)`` over its pairs, either side.

    The scale on which a row's entry of the gradient can be known.
    """
    i, k, v = weighted_pairs(y, qid, w)
    size = v * np.maximum(1, np.abs(phi_derivative(loss, pair_margins(f, y, qid, w))))
    return np.bincount(i, size, len(y)) + np.bincount(k, size, len(y))


def pair_sum_curvature(f, y, qid=None, w=None, loss="logistic"):
    """Diagonal of the Hessian of `pair_sum` with respect to the scores (see `phi_second`)."""
    return np.diag(pair_sum_hessian(f, y, qid, w, loss))


def pair_sum_hessian(f, y, qid=None, w=None, loss="logistic"):
    """Hessian of `pair_sum`, a graph Laplacian: one term ``v phi'' (e_i-e_k)(e_i-e_k)'`` a pair."""
    hessian = np.zeros((len(y), len(y)))
    i, k, v = weighted_pairs(y, qid, w)
    second = v * phi_second(loss, pair_margins(f, y, qid, w))
    for upper, lower, term in zip(i, k, second, strict=True):
        hessian[upper, upper] += term
        hessian[lower, lower] += term
        hessian[upper, lower] -= term
        hessian[lower, upper] -= term
    return hessian


def _gather(pair_derivative, i, k, n):
    """Derivatives by scores from derivatives by margins."""
    gradient = np.zeros(n)
    np.add.at(gradient, i, pair_derivative)
    np.subtract.at(gradient, k, pair_derivative)
    return gradient


def margin_push(f, y, qid=None, w=None, loss="logistic", p=1.0, push="top", bottom_weight=1.0):
    """(J, gradient) of the push with a margin loss, finite p.

    ``J = (sum_k c_k H_k^p)^(1/p) / (sum_k c_k N_k^p)^(1/p)`` with ``H_k = sum_i w_i
    phi(f_i - f_k)``, ``N_k = sum_i w_i`` over the i above k and ``c_k = w_k (N_k / max
    N)^(1-p)``; bottom: per row i, sums over the k below it; both: both sums inside both
    roots, the bottom ones times ``bottom_weight``. Where J is zero, its least value, the
    gradient is zero.
    """
    i, k, v = weighted_pairs(y, qid, w)
    weight, m = row_weights(y, w), pair_margins(f, y, qid, w)
    slope = phi_derivative(loss, m)
    sides, heights, weights, of_counts = _push_sides(f, y, qid, w, loss, p, push, bottom_weight)
    norm = _norm(weights, heights, p)
    if norm == 0:
        return 0.0, np.zeros(len(y))
    pair_derivative = np.zeros(len(v))
    for (outer, inner), c, height in zip(sides, weights, heights, strict=True):
        share = np.ones(len(y)) if p == 1 else (height / norm) ** (p - 1)
        pair_derivative += c[outer] * weight[inner] * share[outer] * slope
    return norm / of_counts, _gather(pair_derivative, i, k, len(y)) / of_counts


def margin_push_curvature(
    f, y, qid=None, w=None, loss="logistic", p=1.0, push="top", bottom_weight=1.0
):
    """Diagonal of the graph Laplacian that bounds the second derivatives of `margin_push`.

    The edge of a pair of outer row o and inner row n weighs ``J s_o w_n (phi'' / H_o +
    (p - 1) b)``, with ``s_o`` the share of row o in ``sum c H^p`` and ``b = |phi'| sum_n
    w_n |phi'| / H_o^2``; least squares: ``b = 2 phi'' / H_o``, for ``phi'^2 = 2 phi phi''``.
    """
    i, k, v = weighted_pairs(y, qid, w)
    weight, m = row_weights(y, w), pair_margins(f, y, qid, w)
    slope, second = np.abs(phi_derivative(loss, m)), phi_second(loss, m)
    if p == 1:
        edges = v * second / v.sum()
        return np.bincount(i, edges, len(y)) + np.bincount(k, edges, len(y))
    sides, heights, weights, _ = _push_sides(f, y, qid, w, loss, p, push, bottom_weight)
    norm = _norm(weights, heights, p)
    push_value = margin_push(f, y, qid, w, loss, p, push, bottom_weight)[0]
    found = np.zeros(len(y))
    if norm == 0:
        return found
    for (o, n), c, height in zip(sides, weights, heights, strict=True):
        share = c * (height / norm) ** p
        steepness = np.bincount(o, weight[n] * slope, len(y))
        for pair in np.flatnonzero(height[o] > 0):
            h, d = height[o[pair]], steepness[o[pair]]
            b = 2 * second[pair] / h if loss == "least_squares" else slope[pair] * d / h**2
            edge_weight = push_value * share[o[pair]] * weight[n[pair]]
            edge_weight *= second[pair] / h + (p - 1) * b
            found[[o[pair], n[pair]]] += edge_weight
    return found


def margin_push_slopes(f, y, qid=None, w=None, loss="hinge", p=1.0, push="top"):
    """Per row: sum of ``|dJ / dm_ik|`` over its pairs, times p for those of its own height.

    The height of a pair is that of the row below (top) or above (bottom); "both" adds sides.
    """
    weight, m = row_weights(y, w), pair_margins(f, y, qid, w)
    sides, heights, weights, of_counts = _push_sides(f, y, qid, w, loss, p, push)
    norm = _norm(weights, heights, p)
    found = np.zeros(len(y))
    if norm == 0:
        return found
    for (outer, inner), c, height in zip(sides, weights, heights, strict=True):
        slope = c[outer] * weight[inner] * np.abs(phi_derivative(loss, m)) / of_counts
        slope *= (height[outer] / norm) ** (p - 1)
        found += np.bincount(inner, slope, len(y)) + p * np.bincount(outer, slope, len(y))
    return found


def _push_sides(f, y, qid, w, loss, p, push, bottom_weight=1.0):
    """Of each side the pairs' (outer, inner) rows, heights H and weights c; ``sum c N^p`` in root.

    One side, or first the top and then the bottom, whose weights have the factor.
    """
    i, k, _ = weighted_pairs(y, qid, w)
    weight, value = row_weights(y, w), phi(loss, pair_margins(f, y, qid, w))
    factors = {"top": 1.0, "bottom": bottom_weight} if push == "both" else {push: 1.0}
    sides = [(i, k) if side == "bottom" else (k, i) for side in factors]
    heights = [np.bincount(o, weight[n] * value, len(y)) for o, n in sides]
    counts = [np.bincount(o, weight[n], len(y)) for o, n in sides]
    weights = [
        factor * weight * relative_pairs(y, qid, w, side) ** (1.0 - p)
        for side, factor in factors.items()
    ]
    return sides, heights, weights, _norm(weights, counts, p)


def _norm(weights, sums, p):
    """``(sum of c * sums^p)^(1/p)``, without overflow."""
    scale = max(one.max() for one in sums)
    if scale == 0:
        return 0.0
    powers = [c @ (one / scale) ** p for c, one in zip(weights, sums, strict=True)]
    return float(scale * sum(powers) ** (1 / p))


# Kernel gradient descent (Chen2012) ---------------------------------------------------------


def kernel_objective(c, K, y, qid=None, w=None, loss="logistic", alpha=1.0):
    """The problem of Lemma 3.1 of Chen2012: mean pair loss plus ``alpha/2 ||f||_K^2``."""
    c = np.asarray(c, dtype=float)
    return pair_mean(K @ c, y, qid, w, loss) + alpha / 2 * float(c @ K @ c)


def kernel_gd(K, y, qid=None, w=None, loss="logistic", alpha=1.0, eta0=0.1, theta=0.0, n_steps=1):
    """Coefficients ``[c_2, ..., c_{T+1}]`` of eq. 1.5 of Chen2012, pair by pair.

    ``f_{t+1} = (1 - eta_t alpha) f_t - eta_t * (weighted mean over pairs of
    phi'(f_t(x_i) - f_t(x_k)) (K_{x_i} - K_{x_k}))``, ``f_1 = 0``, ``eta_t = eta0
    t^-theta``; f is the combination c of the kernel's columns.
    """
    weight, total = row_weights(y, w), total_pair_weight(y, qid, w)
    all_pairs = pairs(y, qid)
    c, steps = np.zeros(len(y)), []
    for t in range(1, n_steps + 1):
        eta = eta0 * t**-theta
        f = K @ c
        moved = (1 - eta * alpha) * c
        for i, k in all_pairs:
            slope = float(phi_derivative(loss, f[i] - f[k]))
            step = eta * weight[i] * weight[k] / total * slope if weight[i] * weight[k] else 0.0
            moved[i] -= step
            moved[k] += step
        c = moved
        steps.append(c)
    return steps


def least_squares_closed_form(K, y, qid=None, w=None, alpha=1.0):
    """Coefficients that minimise `kernel_objective` of the least squares loss.

    With ``d = e_i - e_k`` for a pair and v its share of the weight, the normal equations
    are ``(2 sum v d d' K + alpha) c = 2 sum v d``.
    """
    n = len(y)
    i, k, v = weighted_pairs(y, qid, w)
    d = np.zeros((len(v), n))
    d[np.arange(len(v)), i] += 1
    d[np.arange(len(v)), k] -= 1
    share = v / v.sum()
    return np.linalg.solve(2 * (d.T * share) @ d @ K + alpha * np.eye(n), 2 * d.T @ share)


def local_lipschitz(loss, radius=math.inf):
    """M of (3.7): supremum of ``|phi'(m) - phi'(0)| / |m|`` over ``|m| <= radius``."""
    if loss == "exponential":
        return math.expm1(radius) / radius if radius < 700 else math.inf
    return {"least_squares": 2.0, "squared_hinge": 2.0, "hinge": 1.0, "logistic": 0.25}[loss]


def chen_safe_step(kappa2, loss, alpha):
    """Largest eta0 with ``eta0 (4 kappa^2 M + alpha) <= 1`` (Lemma 3.4 of Chen2012)."""
    slope_at_zero = abs(float(phi_derivative(loss, 0.0)))
    radius = 4 * kappa2 * slope_at_zero / alpha
    return 1 / (4 * kappa2 * local_lipschitz(loss, radius) + alpha)


def cut_error(offset, scores, positive, w=None):
    """Weight of the rows on the wrong side when ``scores + offset > 0`` says positive."""
    weight = row_weights(scores, w)
    return sum(
        weight[n] for n in range(len(scores)) if bool(scores[n] + offset > 0) != bool(positive[n])
    )


def error_cut(scores, positive, w=None):
    """(offset, error) of the best cut halfway between two neighbouring scores.

    All of them are tried; the lowest cut, which is the largest offset, wins ties. Rows
    of weight zero are not there. None when all scores are equal.
    """
    weight = row_weights(scores, w)
    there = np.flatnonzero(weight > 0)
    scores, positive = np.asarray(scores, dtype=float)[there], np.asarray(positive)[there]
    levels = sorted(set(scores.tolist()))
    best = None
    for low, high in itertools.pairwise(levels):
        offset = -(low + (high - low) / 2)
        error = cut_error(offset, scores, positive, weight[there])
        if best is None or error < best[1] - 1e-12 * weight.sum():
            best = offset, error
    return best


# Shapley values -----------------------------------------------------------------------------


def shapley_values(score, x, rows, w=None):
    """Shapley values of the features of x, by all subsets of them; last the mean score.

    The value of a subset is the mean score of the rows, in each of which the features in the
    subset are those of x (Lundberg2017).
    """
    n_features, weight = len(x), row_weights(rows, w)
    value = {}
    for size in range(n_features + 1):
        for subset in itertools.combinations(range(n_features), size):
            mixed = np.array(rows, dtype=float)
            mixed[:, list(subset)] = x[list(subset)]
            value[frozenset(subset)] = weight @ score(mixed) / weight.sum()
    shares = np.zeros(n_features)
    for j in range(n_features):
        for subset in (one for one in value if j not in one):
            n, d = len(subset), n_features
            orders = math.factorial(n) * math.factorial(d - n - 1) / math.factorial(d)
            shares[j] += orders * (value[subset | {j}] - value[subset])
    return np.append(shares, value[frozenset()])


# How many to take ---------------------------------------------------------------------------


def conformal_p_value(score, held_out_scores, is_positive):
    """(1 + held-out negatives that score at least as high) / (1 + held-out rows)."""
    rivals = zip(held_out_scores, is_positive, strict=True)
    n_above = sum(1 for one, positive in rivals if not positive and one >= score)
    return Fraction(1 + n_above, 1 + len(held_out_scores))


def benjamini_hochberg(p_values, level):
    """Rows of the largest set whose p-values are all at most level * size / number of rows."""
    n_rows = len(p_values)
    for size in range(n_rows, 0, -1):
        chosen = [one <= Fraction(level) * size / n_rows for one in p_values]
        if sum(chosen) >= size:
            return chosen
    return [False] * n_rows
