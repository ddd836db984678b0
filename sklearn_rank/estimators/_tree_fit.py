"""A fit of boosted trees: the rows as the engine gets them, and what is noted round by round."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats, Indices, Observer
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import Selection
from sklearn_rank._core.sums import Queries, shared_property
from sklearn_rank.engines.engine import RoundView, TreeData, as_exact_sums
from sklearn_rank.engines.posed_objective import PosedObjective
from sklearn_rank.estimators._boosting.early_stopping import EarlyStopping

_MOST_ROWS = 1 << 12
"""Rows from which the offsets of stages are found; that of the last has them all."""


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The training rows in the engine's order, and their objective.

    Attributes
    ----------
    data : Rows
        Rows to learn from, in the engine's order; equal rows are one. Their features are
        `Selection`.
    objective : PosedObjective or None
        What is minimised; None where the engine has an objective of its own.
    query_sizes : ndarray of shape (n_queries,) or None
        Number of rows of each query, for an objective of the engine.
    query_weight : ndarray of shape (n_queries,) or None
        Weight of each query, for an objective of the engine; None: all the same.
    shown : ndarray of shape (n_rows,) or None
        The place at which each row was shown in its query, for an objective of the engine.
    """

    data: Rows
    objective: PosedObjective | None
    query_sizes: Indices | None
    query_weight: Floats | None = None
    shown: Indices | None = None

    @classmethod
    def of_engine(cls, data: Rows, position: Indices | None = None) -> TreeProblem:
        """Group rows by query, for an objective of the engine.

        `position` is the place at which each row passed to `fit` was shown: rows of a query come
        in this order, and otherwise as they were passed.
        """
        shown = None
        if position is not None:
            shown = position[data.position]
            order = np.argsort(shown, kind="stable")
            data, shown = data.take(order), shown[order]
        rows = Queries.from_codes(data.qid, len(data.y))
        if rows.order is not None:
            data, shown = data.take(rows.order), None if shown is None else rows.sort(shown)
        weight = data.weight[rows.queries.start]
        query_weight = None if (weight == weight[0]).all() else weight
        return cls(data, None, rows.queries.length, query_weight, shown)

    @classmethod
    def of_objective(cls, data: Rows, loss: Any, p: float, push: str) -> TreeProblem:
        """Make equal rows one, sort the rows, and pose the objective."""
        # Of another object: what is computed on the way is then not kept beside the caller's rows.
        data = replace(data).distinct()
        return cls(data, PosedObjective.pose(loss, p, push, data), None)

    @shared_property
    def unit(self) -> float:
        """The unit of curvature of the objective."""
        assert self.objective is not None
        return self.objective.unit(self.data)

    @shared_property
    def share(self) -> float:
        """The mean weight of a row where weights are shares of one, otherwise 1.

        The engines have constants, such as a least gain, for rows of weight 1.
        """
        data, total = self.data, self.data.total(float(self.data.weight.sum()))
        share = total / number_of_rows(data.weight, data)
        return share if share < 1 - 1e-9 else 1.0

    def rows(self, held_out: Selection | None, start: Any = None) -> TreeData:
        """Return the rows as the engine gets them, with features that are scored besides.

        `start` holds the trees of an earlier fit.
        """
        data = self.data
        if self.objective is not None:
            return TreeData(data.X, data, held_out=held_out, start=start)
        relevance = data.y.astype(np.float64)
        queries = self.query_sizes, self.query_weight, self.shown
        return TreeData(data.X, None, relevance, *queries, held_out, start)

    def sample(self) -> Indices:
        """Return rows at even distances, for what need not know them all.

        By relevance: in the order of the rows a query could be as long as the distance, and
        then all would have one relevance.
        """
        step = -(-self.data.shape[0] // _MOST_ROWS)
        order = np.argsort(-self.data.y.astype(float), kind="stable")
        return np.sort(order[::step])


@dataclass(eq=False)
class TreeDescent:
    """Notes every round of a fit, and gives the gradient of the next.

    Attributes
    ----------
    problem : TreeProblem
        The rows and their objective.
    offset : callable or None
        Maps scores of some rows, and these rows, to the offset; None in graded mode.
    stopping : EarlyStopping or None
        Watches the held-out rows.
    make_observer : callable
        Returns what is told of every round, given this.
    start : ndarray of shape (n_rows,) or None
        The scores before the first round; None: zero.
    n_before : int
        Number of rounds of earlier fits.
    values, offsets : list of float
        The objective and the offset after each round.
    scores : ndarray of shape (n_rows,)
        The scores after the last round.
    was_ended : bool
        Whether an observer has ended the fit.
    """

    problem: TreeProblem
    offset: Callable[[Floats, Indices], float] | None
    stopping: EarlyStopping | None
    make_observer: Callable[[TreeDescent], Observer]
    start: Floats | None = None
    n_before: int = 0
    values: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_rounds, self.was_ended = 0, False
        self.last: RoundView | None = None
        n_rows = len(self.problem.data.y)
        self.scores: Floats = np.zeros(n_rows) if self.start is None else self.start
        self._sample = self.problem.sample()
        self._derivatives: tuple[Floats, Floats] | None = None
        self._evaluate(self.scores)
        self._observer = self.make_observer(self)

    def gradient(self) -> tuple[Floats, Floats]:
        """Return gradient and curvature at the scores so far."""
        assert self._derivatives is not None
        return self._derivatives

    def after_round(self, view: RoundView) -> bool:
        """Take note of a round; return True to end the fit there."""
        self.n_rounds, self.last = self.n_rounds + 1, view
        self.scores = scores = view.scores()
        value = self._evaluate(scores)
        self.values.append(value)
        if self.offset is not None:
            self.offsets.append(self.offset(scores[self._sample].astype(float), self._sample))
        validation = None
        if self.stopping is not None:
            validation = self.stopping.measure(view.held_out().astype(float))
        self.was_ended = self._observer(self.n_before + self.n_rounds, value, validation)
        return self.was_ended or (self.stopping is not None and self.stopping.is_over)

    def end(self) -> None:
        """Let go of what refers to this: the rows are then freed before another fit begins."""
        del self._observer

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return self.n_rounds if self.stopping is None else self.stopping.best_round

    def _evaluate(self, scores: Floats) -> float:
        """Return the objective; its derivatives are kept for the next round."""
        if self.problem.objective is None:
            return np.nan
        self._derivatives = None  # the engine has used them: not two at a time
        value, gradient, curvature = self.problem.objective.evaluate(scores)
        share = self.problem.share
        self._derivatives = as_exact_sums(gradient, share), as_exact_sums(curvature, share)
        return value
