"""The ROC curve of one list, step by step, and what each row adds to the area under its left part.

A partial AUC is a mean over pairs of rows, so that its standard error and its changes in bootstrap
samples follow from the terms of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.protocols import Floats, Indices, Mask

_ROUNDING = 1e-12
"""Shares of the other rows that differ by less are taken as equal."""


def part_before(left: Floats, other: Floats, total: Any) -> Floats:
    """Return the part of each step, from 0 to 1, that stands before a number of the other rows.

    Parameters
    ----------
    left : ndarray
        What is left of this number above the step. A product such as 0.29 * 100 may be rounded to
        less than the whole number that it is.
    other : ndarray
        The other rows of the step; tied rows are joined by a straight line. A step without others
        that stands just there counts as before.
    total : float or ndarray
        All other rows.

    Returns
    -------
    ndarray
        Parts.
    """
    part = np.asarray(left >= -_ROUNDING * total, dtype=np.float64)
    return np.divide(np.clip(left, 0.0, other), other, out=part, where=other > 0)


@dataclass(frozen=True, eq=False)
class RocSteps:
    """The steps of an ROC curve: groups of tied rows by descending score.

    Attributes
    ----------
    place : ndarray of int of shape (n_rows,)
        Step of each row.
    found, other : ndarray of shape (n_steps,)
        Shares of the relevant rows, and of the others, in each step.
    above : ndarray of shape (n_steps,)
        Share of the others above each step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.metrics.curve_terms import RocSteps
    >>> y, score = np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0])
    >>> steps = RocSteps.of(y, score)
    >>> term, loss = steps.area_terms(1.0)
    >>> float(steps.found @ term)  # the AUC
    0.75
    """

    place: Indices
    found: Floats
    other: Floats
    above: Floats

    @classmethod
    def of(cls, is_relevant: Mask, score: Floats, weight: Floats | None = None) -> RocSteps:
        """Sort the rows of a list that holds both classes.

        Parameters
        ----------
        is_relevant : ndarray of bool of shape (n_rows,)
            The relevant rows.
        score : ndarray of shape (n_rows,)
            Scores, greater is better.
        weight : ndarray of shape (n_rows,), default=None
            Multiplicities; None: all 1.

        Returns
        -------
        RocSteps
            The steps.
        """
        place = np.unique(-score, return_inverse=True)[1]
        weight = np.ones(len(score)) if weight is None else weight
        found, other = (
            np.bincount(place, np.where(one, weight, 0.0)) / weight[one].sum()
            for one in (is_relevant, ~is_relevant)
        )
        return cls(place, found, other, np.cumsum(other) - other)

    def before(self, rate: float) -> Floats:
        """Return the part of each step, from 0 to 1, that stands before a share of the others.

        Parameters
        ----------
        rate : float
            False positive rate. Steps without other rows that stand just there count as before.

        Returns
        -------
        ndarray of shape (n_steps,)
            Parts.
        """
        return part_before(rate - self.above, self.other, 1.0)

    def area_terms(self, rate: float) -> tuple[Floats, Floats]:
        r"""Return the terms of the rows of each step in the partial AUC up to a rate a.

        The area is the mean over the relevant rows of :math:`(1 - S / a)_+`, where S is the share
        of the others above the row, those tied with it spread evenly. As that is continuous in S,
        so are its projections: for a relevant row its term, for another one minus 1/a times the
        share of the relevant rows below it for which S is at most a.

        Parameters
        ----------
        rate : float in (0, 1]
            False positive rate.

        Returns
        -------
        term, loss : ndarray of shape (n_steps,)
            Term of a relevant row, and of another row minus its term. ``found @ term`` is the
            partial AUC; its variance is that of the mean of the terms of the relevant rows plus
            that of the mean of the losses of the others. At a = 1 this is DeLong's.

        References
        ----------
        DeLong1988 (the projections at a = 1); for a < 1 derived here.
        """
        part = self.before(rate)
        term = part * (1 - (self.above + part * self.other / 2) / rate)
        below = np.cumsum((self.found * part)[::-1])[::-1] - self.found * part
        return term, (below + self.found * part**2 / 2) / rate
