"""What a validator asks of a card: weight of evidence, signs of its steps, correlated points."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.protocols import Floats, Indices, Mask, Values
from sklearn_rank._core.validation import (
    Number,
    check_lengths,
    check_parameters,
    check_weight,
    is_upper_label,
)
from sklearn_rank.scorecard._card_checks import check_weight_range
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.monitoring._bands import FiguresTable, band_sums, ratio
from sklearn_rank.scorecard.monitoring._stability import log_ratios
from sklearn_rank.scorecard.terms import Pair, Variable

_OWNER = "validation_tables"
_Z = 1.959964
_COLLINEAR = 1e-10
_MOST_DRAWN = 1e15
"""Rows that are drawn at most: of more the shares are those of the rows but for rounding."""


@dataclass(frozen=True, eq=False)
class EvidenceTable(FiguresTable):
    """Events of each bin, and what they tell.

    Attributes
    ----------
    term, bin : ndarray of shape (n_lines,)
        Name of the term, label of the bin.
    points : ndarray of shape (n_lines,)
        Its points.
    count, events, nonevents : ndarray of shape (n_lines,)
        Weight of the rows in it, of those of ``classes_[1]`` and of the others.
    event_rate : ndarray of shape (n_lines,)
        Share of the events; NaN without rows.
    woe : ndarray of shape (n_lines,)
        Weight of evidence; NaN without rows.
    information : ndarray of shape (n_lines,)
        Part of the bin in the information value of its term.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json
    >>> from sklearn_rank.scorecard.monitoring import validation_tables
    >>> card = Card((Variable("x", 0, (0, 2, 1), (1.5,)),), 0, 0, (0, 1), 1)
    >>> scorecard = Scorecard.from_json(card_to_json(card))
    >>> found = validation_tables(scorecard, [[1], [1], [2], [2]], [0, 1, 1, 1])
    >>> found.bins.woe.round(2)
    array([-1.1 ,  0.29,   nan])
    """

    term: Values
    bin: Values
    points: Indices
    count: Floats
    events: Floats
    nonevents: Floats
    event_rate: Floats
    woe: Floats
    information: Floats


@dataclass(frozen=True, eq=False)
class StepTable(FiguresTable):
    """Steps of the points, and whether the event rate follows them.

    Attributes
    ----------
    term, low, high : ndarray of shape (n_steps,)
        Name of the term; labels of the two bins.
    step : ndarray of shape (n_steps,)
        Points of the second less those of the first, never 0.
    rate_change : ndarray of shape (n_steps,)
        Event rate of the second less that of the first; NaN if one has no rows.
    standard_error : ndarray of shape (n_steps,)
        Standard error of `rate_change`.
    z : ndarray of shape (n_steps,)
        `rate_change` by its standard error, with the sign of the step: negative against the data.
    is_against : ndarray of bool of shape (n_steps,)
        Whether z is below -1.96.
    stability : ndarray of shape (n_steps,)
        Share of bootstrap samples in which the rate changes as the points do.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json
    >>> from sklearn_rank.scorecard.monitoring import validation_tables
    >>> card = Card((Variable("x", 0, (0, 2, 1), (1.5,)),), 0, 0, (0, 1), 1)
    >>> scorecard = Scorecard.from_json(card_to_json(card))
    >>> found = validation_tables(scorecard, [[1], [1], [2], [2]], [0, 1, 1, 1])
    >>> found.steps.step[0].item(), found.steps.rate_change[0].item()
    (2.0, 0.5)
    """

    term: Values
    low: Values
    high: Values
    step: Floats
    rate_change: Floats
    standard_error: Floats
    z: Floats
    is_against: Mask
    stability: Floats


@dataclass(frozen=True, eq=False)
class TermTable(FiguresTable):
    """Information value and collinearity of each term.

    Attributes
    ----------
    term : ndarray of shape (n_terms,)
        Names.
    information_value : ndarray of shape (n_terms,)
        Sum of the information of its bins.
    variance_inflation : ndarray of shape (n_terms,)
        1 / (1 - R^2) of its points by those of all other terms; infinite if they give them
        exactly, NaN if the points are constant.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json
    >>> from sklearn_rank.scorecard.monitoring import validation_tables
    >>> card = Card((Variable("x", 0, (0, 2, 1), (1.5,)),), 0, 0, (0, 1), 1)
    >>> scorecard = Scorecard.from_json(card_to_json(card))
    >>> found = validation_tables(scorecard, [[1], [1], [2], [2]], [0, 1, 1, 1])
    >>> found.terms.information_value.round(2)
    array([0.78])
    """

    term: Values
    information_value: Floats
    variance_inflation: Floats


@dataclass(frozen=True, eq=False)
class ValidationTables:
    """The tables of `validation_tables`.

    Attributes
    ----------
    bins : EvidenceTable
        A line for each bin.
    terms : TermTable
        A line for each term.
    steps : StepTable
        A line for each step of the points.
    correlation : ndarray of shape (n_terms, n_terms)
        Correlation of the points of two terms, in the order of `terms`; NaN where constant.

    Examples
    --------
    >>> from sklearn_rank.scorecard import Card, Scorecard, Variable, card_to_json
    >>> from sklearn_rank.scorecard.monitoring import validation_tables
    >>> card = Card((Variable("x", 0, (0, 2, 1), (1.5,)),), 0, 0, (0, 1), 1)
    >>> scorecard = Scorecard.from_json(card_to_json(card))
    >>> found = validation_tables(scorecard, [[1], [1], [2], [2]], [0, 1, 1, 1])
    >>> found.correlation
    array([[1.]])
    """

    bins: EvidenceTable
    terms: TermTable
    steps: StepTable
    correlation: Floats


def validation_tables(
    scorecard: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> ValidationTables:
    r"""Compare the points of a card with the events of some rows, bin by bin and step by step.

    .. math:: \mathrm{WoE}_b = \ln \frac{e_b}{e} - \ln \frac{n_b}{n}, \qquad
        \mathrm{IV} = \sum_b \Bigl(\frac{e_b}{e} - \frac{n_b}{n}\Bigr) \mathrm{WoE}_b

    where :math:`e_b` and :math:`n_b` are the weights of the events and of the non-events in bin b,
    and e and n those of all. A bin with rows, but none of one kind, counts half a row of that kind;
    the others are unchanged. Positive evidence is for the event, ``classes_[1]``, as high points.

    A *step* is between neighbouring ranges of a number, between groups of categories by increasing
    points, between the ordinary values together and a special code or missing values, and between
    neighbouring cells of a pair, if their points differ. Its standard error is

    .. math:: \sqrt{\frac{r_1 (1 - r_1)}{m_1} + \frac{r_2 (1 - r_2)}{m_2}}, \qquad
        r_i = \frac{e_i + 1/2}{m_i + 1}

    where :math:`m_i` and :math:`e_i` are the weights of all rows and of the events on its two
    sides.

    Parameters
    ----------
    scorecard : Scorecard
        A fitted scorecard.
    X : {array-like, data frame} of shape (n_samples, n_features)
        Rows, better not those of training.
    y : array-like of shape (n_samples,)
        Their classes; both must occur.
    sample_weight : float or array-like of shape (n_samples,), default=None
        Multiplicities: weight 2 equals the row twice.
    n_resamples : int in [1, inf), default=1000
        Number of bootstrap samples of the rows; the card stays as it is.
    random_state : int in [0, inf), default=0
        Their seed.

    Returns
    -------
    ValidationTables
        ``bins``, ``terms`` and ``steps``, each with ``to_frame()``, and ``correlation``.

    Raises
    ------
    ValueError
        When the rows are of one class or of classes that the card does not know, or a parameter is
        not as described.

    Notes
    -----
    Event rates are those of one term by itself. Points are fitted together with those of other
    terms: a step against the data is a question to ask, not always an error.

    References
    ----------
    Siddiqi2006 (weight of evidence and information value). The treatment of empty cells is that of
    `population_stability_index`, which is the information value of two tables.

    Examples
    --------
    >>> from sklearn_rank.datasets import make_credit
    >>> from sklearn_rank.scorecard import Scorecard
    >>> from sklearn_rank.scorecard.monitoring import validation_tables
    >>> credit, later = make_credit(1000, random_state=0), make_credit(1000, random_state=1)
    >>> scorecard = Scorecard(p=1, max_terms=4).fit(credit.data, credit.target)
    >>> found = validation_tables(scorecard, later.data, later.target)
    >>> bool((found.terms.information_value > 0).all())
    True
    """
    check_is_fitted(scorecard)
    allowed = {"n_resamples": Number(1, integer=True), "random_state": Number(0, integer=True)}
    given = {"n_resamples": n_resamples, "random_state": random_state}
    check_parameters(_OWNER, given, allowed)
    is_event = is_upper_label(_OWNER, y, scorecard.classes_, sample_weight)
    weight = check_weight(sample_weight, len(is_event))
    check_weight_range(_OWNER, weight)
    card, bins = scorecard.card_, scorecard.bins_of(X)
    check_lengths(X=bins, y=is_event)
    if not (weight[is_event].sum() > 0 and weight[~is_event].sum() > 0):
        raise ValueError(f"{_OWNER} needs rows of both classes, {scorecard.classes_.tolist()}.")
    kinds = (~is_event, is_event)
    cells = [
        np.stack([band_sums(own[of], weight[of], term.n_bins) for of in kinds])
        for own, term in zip(bins.T, card.terms, strict=True)
    ]
    evidence = [_evidence(term, one) for term, one in zip(card.terms, cells, strict=True)]
    random = np.random.default_rng(int(random_state))
    correlation, inflation = _correlation(card.points_in(bins), weight)
    terms = TermTable(
        np.array([term.name for term in card.terms], dtype=object),
        np.array([one["information"].sum() for one in evidence], dtype=np.float64),
        inflation,
    )
    steps = _steps(card, cells, int(n_resamples), random)
    return ValidationTables(EvidenceTable(**_joined(evidence)), terms, steps, correlation)


def _joined(tables: list[dict[str, Values]]) -> dict[str, Values]:
    """Return tables as one, below each other; columns of no lines without a table."""
    if not tables:
        return dict.fromkeys(EvidenceTable.__dataclass_fields__, np.empty(0))
    return {name: np.concatenate([one[name] for one in tables]) for name in tables[0]}


def _evidence(term: Variable | Pair, cells: Floats) -> dict[str, Values]:
    """Return the columns of `EvidenceTable` of a term."""
    count = cells.sum(axis=0)
    woe, information = log_ratios(*cells)
    return {
        "term": np.full(term.n_bins, term.name, dtype=object),
        "bin": np.array(term.labels(), dtype=object),
        "points": np.array(term.points, dtype=np.intp),
        "count": count,
        "events": cells[1],
        "nonevents": cells[0],
        "event_rate": ratio(cells[1], count),
        "woe": np.where(count > 0, woe, np.nan),
        "information": information,
    }


# Steps ---------------------------------------------------------------------------------

Side = tuple[str, list[int]]
"""Label and bins of a side of a step."""


def _sides(term: Variable | Pair) -> list[tuple[Side, Side]]:
    """Return the sides of the steps of a term."""
    labels = term.labels()
    if isinstance(term, Pair):
        grid = np.arange(term.n_bins).reshape(term.first.n_bins, term.second.n_bins)
        grid = grid[: term.first.n_values, : term.second.n_values]
        lines = [*grid.tolist(), *grid.T.tolist()]
        return [
            ((labels[low], [low]), (labels[high], [high]))
            for line in lines
            for low, high in pairwise(line)
        ]
    ordinary = list(range(term.n_values))
    if term.groups is not None:
        ordinary.sort(key=lambda one: term.points[one])
    found = [((labels[low], [low]), (labels[high], [high])) for low, high in pairwise(ordinary)]
    others = range(term.n_values, term.n_bins) if ordinary else ()
    return [*found, *((("other values", ordinary), (labels[one], [one])) for one in others)]


def _steps(card: Card, cells: list[Floats], n_resamples: int, random: Any) -> StepTable:
    """Return the steps of all terms."""
    lines: list[tuple[Any, ...]] = []
    for term, own in zip(card.terms, cells, strict=True):
        draws = _resamples(own, n_resamples, random)
        points, count = np.array(term.points, dtype=np.float64), own.sum(axis=0)
        for low, high in _sides(term):
            means = [
                float(np.average(points[at], weights=count[at] if count[at].any() else None))
                for at in (low[1], high[1])
            ]
            step = means[1] - means[0]
            if not math.isclose(*means, rel_tol=1e-12, abs_tol=1e-9):  # but for rounding
                lines.append((term.name, low[0], high[0], step, *_change(own, low[1], high[1])))
                change = _rate(draws, high[1]) - _rate(draws, low[1])
                share = np.mean(np.sign(change) == np.sign(step))
                lines[-1] += (share if np.isfinite(lines[-1][4]) else np.nan,)
    term_names, lows, highs = (
        np.array([line[j] for line in lines], dtype=object) for j in range(3)
    )
    figures = np.array([line[3:] for line in lines], dtype=np.float64).reshape(-1, 4)
    steps, changes, errors, stability = figures.T
    z = np.sign(steps) * ratio(changes, errors)
    return StepTable(
        term_names, lows, highs, steps, changes, errors, z, np.asarray(z < -_Z), stability
    )


def _rate(cells: Floats, bins: list[int]) -> Floats:
    """Return the event rate in some bins, of arrays of shape (..., 2, n_bins)."""
    sums = cells[..., bins].sum(axis=-1)
    return ratio(sums[..., 1], sums.sum(axis=-1))


def _change(cells: Floats, low: list[int], high: list[int]) -> tuple[float, float]:
    """Return the change of the event rate from bins to others, and its standard error."""
    variance = 0.0
    for bins in (low, high):
        events, count = float(cells[1, bins].sum()), float(cells[:, bins].sum())
        rate = (events + 0.5) / (count + 1)
        variance += rate * (1 - rate) / count if count else np.nan
    change = float(_rate(cells, high) - _rate(cells, low))
    return change, float(np.sqrt(variance))


def _resamples(cells: Floats, n_resamples: int, random: Any) -> Floats:
    """Return bootstrap samples of cells, shape (n_resamples, 2, n_bins)."""
    n_rows = max(1, round(min(float(cells.sum()), _MOST_DRAWN)))
    draws = random.multinomial(n_rows, cells.ravel() / cells.sum(), size=n_resamples)
    return np.asarray(draws.reshape(n_resamples, *cells.shape), dtype=np.float64)


# Correlation ---------------------------------------------------------------------------


def _correlation(points: Indices, weight: Floats) -> tuple[Floats, Floats]:
    """Return the correlation of the points of terms, and the inflation of their variance."""
    n_terms = points.shape[1]
    matrix, inflation = np.full((n_terms, n_terms), np.nan), np.full(n_terms, np.nan)
    if not n_terms:
        return matrix, inflation
    centred = points - np.average(points, axis=0, weights=weight)
    scaled = centred * np.sqrt(weight / weight.sum())[:, None]
    size = np.sqrt((scaled**2).sum(axis=0))
    varied = np.flatnonzero(np.ptp(points[weight > 0], axis=0))
    columns = scaled[:, varied] / size[varied]
    matrix[np.ix_(varied, varied)] = np.clip(columns.T @ columns, -1, 1)
    for place, term in enumerate(varied):
        others = np.delete(columns, place, axis=1)
        fitted = others @ np.linalg.lstsq(others, columns[:, place], rcond=None)[0]
        left = float(((columns[:, place] - fitted) ** 2).sum())
        inflation[term] = 1 / left if left > _COLLINEAR else np.inf
    return matrix, inflation
