"""The problem of KernelPairwiseSGDRanker, and the steps so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sklearn_rank._core.preferences import Preferences
from sklearn_rank._core.protocols import Floats, IterateHook, Solution
from sklearn_rank._pair_sums import mean_loss
from sklearn_rank.models import KernelModel, LinearModel
from sklearn_rank.objectives import ListedPairLoss, MarginLoss, PairLoss


@dataclass(eq=False)
class Progress:
    """The steps so far. A warm start continues them; stored as a plain dict.

    Attributes
    ----------
    settings : dict
        Settings that a warm start must not change.
    coefficients : ndarray
        Of the last function, in the order of the training data; empty before a fit.
    average : ndarray or None
        The averaged iterate, in fit order.
    n_averaged : int
        Number of iterates in it.
    values : list of float
        The objective after each step.
    """

    settings: dict[str, Any]
    coefficients: Floats = field(default_factory=lambda: np.zeros(0))
    average: Floats | None = None
    n_averaged: int = 0
    values: list[float] = field(default_factory=list)

    def add(self, solution: Solution) -> Floats:
        """Add the steps of gradient descent; return the average with those before."""
        average = solution.average
        assert average is not None
        n_steps = len(solution.values)
        if self.average is not None:
            share = n_steps / (n_steps + self.n_averaged)
            average = share * average + (1 - share) * self.average
        self.average = average
        self.n_averaged += n_steps
        self.values += solution.values
        return average


@dataclass(frozen=True, eq=False)
class KernelProblem:
    """The minimisation problem, mean pair loss plus ridge, as a `KernelSolver` sees it.

    Attributes
    ----------
    model : LinearModel or KernelModel
        The functions, over rows in fit order.
    preferences : Preferences
        The comparable pairs.
    loss : MarginLoss
        The loss of a margin.
    alpha, tol : float
        Ridge, and tolerance.
    max_iter : int
        Maximum number of iterations.
    on_iterate : IterateHook
        Called after each iteration.
    eta0, theta : float
        Step t of gradient descent is ``eta0 * t**-theta``.
    batch_size : int or None
        Number of pairs drawn for a step; None for all.
    average : bool
        Whether the averaged iterate is the solution.
    seed : int
        Seed of the pairs.
    """

    model: LinearModel | KernelModel
    preferences: Preferences
    loss: MarginLoss
    alpha: float
    tol: float
    max_iter: int
    on_iterate: IterateHook
    eta0: float = 0.0
    theta: float = 0.5
    batch_size: int | None = None
    average: bool = False
    seed: int = 0

    def mean_loss(self) -> PairLoss | ListedPairLoss:
        """Return the mean loss over all pairs, a function of scores."""
        return mean_loss(self.preferences, self.loss)
