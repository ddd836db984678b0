"""A fit of boosted trees: the rows in the engine's form, and the state after each round."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sklearn_rank._bins.starts import complete_medians
from sklearn_rank._core.protocols import Floats, Indices, Observer
from sklearn_rank._core.rows import Rows, number_of_rows
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank._core.sums import Queries, shared_property
from sklearn_rank.engines.engine import Engine, RoundView, TreeData, as_exact_sums
from sklearn_rank.engines.posed_objective import PosedObjective
from sklearn_rank.estimators._boosting.early_stopping import EarlyStopping

_MOST_ROWS = 1 << 12
"""Rows for the offset of a stage, which must cost less than a tree; the last stage has all."""


def n_rows_by_weight(data: Rows) -> float:
    """Return the sum of the weights or, if they are shares of a row, their effective number."""
    total = data.total(float(data.weight.sum()))
    return max(total, number_of_rows(data.weight, data))


@dataclass(frozen=True, eq=False)
class TreeProblem:
    """The training rows in the engine's order, and their objective.

    Attributes
    ----------
    data : Rows
        Rows to learn from, in the engine's order; equal rows are one. Their features are
        `SelectedRows`.
    objective : PosedObjective or None
        What is minimised; None where the engine has an objective of its own.
    query_sizes : ndarray of shape (n_queries,) or None
        Number of rows of each query, for an objective of the engine.
    query_weight : ndarray of shape (n_queries,) or None
        Weight of each query, for an objective of the engine; None: all the same.
    """

    data: Rows
    objective: PosedObjective | None
    query_sizes: Indices | None
    query_weight: Floats | None = None

    @classmethod
    def of_engine(cls, data: Rows) -> TreeProblem:
        """Group rows by query, for an objective of the engine.

        Rows of a query come in the order in which they were shown, or else as they were passed.
        """
        if data.shown_at is not None:
            data = data.take(np.argsort(data.shown_at, kind="stable"))
        rows = Queries.from_codes(data.qid, len(data.y))
        if rows.order is not None:
            data = data.take(rows.order)
        weight = data.weight[rows.queries.start]
        query_weight = None if (weight == weight[0]).all() else weight
        return cls(data, None, rows.queries.length, query_weight)

    @classmethod
    def of_objective(cls, data: Rows, loss: Any, p: float, push: str) -> TreeProblem:
        """Merge equal rows, sort the rows, and set up the objective."""
        # A copy, so that its cached arrays are not kept beside the caller's rows.
        data = replace(data).distinct()
        return cls(data, PosedObjective.pose(loss, p, push, data), None)

    @shared_property
    def unit(self) -> float:
        """The unit of curvature of the objective."""
        assert self.objective is not None
        return self.objective.unit(self.data)

    @property
    def share_of_rarer(self) -> float:
        """The share of the rows that belongs to the rarer class of a list, by their curvature."""
        # At equal scores these rows have half of all curvature, whose mean is a quarter.
        return 0.5 if self.objective is None else min(0.5, 1 / (8 * self.unit))

    @shared_property
    def medians(self) -> Floats:
        """The weighted median of each feature; NaN if it is missing in some row."""
        return complete_medians(self.data)

    @shared_property
    def share(self) -> float:
        """The mean weight of a row if weights are shares of one, otherwise 1.

        The engines have constants, such as a least gain, for rows of weight 1.
        """
        data, total = self.data, self.data.total(float(self.data.weight.sum()))
        share = total / number_of_rows(data.weight, data)
        return share if share < 1 - 1e-9 else 1.0  # 1e-9: rounding of sums of weights of one

    def rows(self, held_out: SelectedRows | None, booster: Any = None) -> TreeData:
        """Return the rows for the engine, with rows to score and the trees to start from."""
        data = self.data
        if self.objective is not None:
            weight = data.weight / self.share
            return TreeData(data.X, data, held_out=held_out, start=booster, weight=weight)
        relevance = data.y.astype(np.float64)
        queries = self.query_sizes, self.query_weight, data.shown_at
        return TreeData(data.X, None, relevance, *queries, held_out, booster)

    def sample(self) -> Indices:
        """Return rows, evenly spaced by relevance, from which the offset is estimated.

        In the order of the rows, queries as long as the distance would give them one relevance.
        """
        step = -(-self.data.shape[0] // _MOST_ROWS)
        order = np.argsort(-self.data.y.astype(float), kind="stable")
        return np.sort(order[::step])


@dataclass(eq=False)
class TreeDescent:
    """The scores of a fit, round by round, and the gradient of the next round.

    Attributes
    ----------
    problem : TreeProblem
        The rows and their objective.
    offset : callable or None
        Maps scores of some rows, and these rows, to the offset; None in graded mode.
    stopping : EarlyStopping or None
        Watches the held-out rows.
    make_observer : callable
        Maps this to the observer that is called after every round.
    start : ndarray of shape (n_rows,) or None
        The scores before the first round; None: zero.
    n_kept : int
        Number of rounds of earlier fits.
    objectives, offsets : list of float
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
    n_kept: int = 0
    objectives: list[float] = field(default_factory=list)
    offsets: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.n_rounds, self.was_ended = 0, False
        self.last_round: RoundView | None = None
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
        """Store a round; return True to end the fit there."""
        self.n_rounds, self.last_round = self.n_rounds + 1, view
        self.scores = scores = view.scores()
        value = self._evaluate(scores)
        self.objectives.append(value)
        if self.offset is not None:
            self.offsets.append(self.offset(scores[self._sample].astype(float), self._sample))
        val_score = None
        if self.stopping is not None:
            val_score = self.stopping.measure(view.held_out().astype(float))
        self.was_ended = self._observer(self.n_kept + self.n_rounds, value, val_score)
        return self.was_ended or (self.stopping is not None and self.stopping.is_over)

    def end(self) -> None:
        """Delete the observer, which refers to this object, so that the rows are freed."""
        del self._observer

    @property
    def best_round(self) -> int:
        """Number of rounds that the model keeps."""
        return self.n_rounds if self.stopping is None else self.stopping.best_round

    def _evaluate(self, scores: Floats) -> float:
        """Return the objective; its derivatives are kept for the next round."""
        if self.problem.objective is None:
            return np.nan
        self._derivatives = None  # the engine has used them; two at a time take much memory
        self.value, gradient, curvature = self.gradient_at(scores)
        self._derivatives = gradient, curvature
        return self.value

    def gradient_at(self, scores: Floats) -> tuple[float, Floats, Floats]:
        """Return the objective, gradient and curvature at some scores."""
        assert self.problem.objective is not None
        value, gradient, curvature = self.problem.objective.evaluate(scores)
        share = self.problem.share
        return value, as_exact_sums(gradient, share), as_exact_sums(curvature, share)


# What "auto" stands for ---------------------------------------------------------------------------

AUTO = "auto"

RIDGE = {"logistic": 2.0}
OTHER_RIDGE = 4.0
"""`reg_lambda` in units of curvature, of these losses and of all others. With the logistic loss a
first step is twice as long, and it is the loss itself that shrinks the later ones."""


def is_auto(value: Any) -> bool:
    """Whether a parameter is left to the ranker."""
    return isinstance(value, str) and value == AUTO


def loss_of(loss: Any, push: str, engine: Engine) -> Any:
    """Return the loss to minimise; "auto" is the engine's default if the push supports it."""
    if not is_auto(loss):
        return loss
    return "exponential" if push == "ir" else engine.loss


def units_of(loss: Any, has_category_sets: bool = False) -> dict[str, float]:
    """Return "auto" as multiples of `PosedObjective.unit`.

    The best set of many categories fits the noise of its rows: a leaf then needs the curvature of a
    row of the rarer class.
    """
    ridge = RIDGE.get(loss, OTHER_RIDGE) if isinstance(loss, str) else OTHER_RIDGE
    return {"reg_lambda": ridge, "min_child_weight": float(has_category_sets)}


def smoothing_of(ranker: Any, problem: TreeProblem) -> float:
    """Return the curvature that LightGBM adds to each category when it sorts categories.

    LightGBM also leaves out categories with fewer rows than this number. Equal rows are merged
    before, so that the number is divided by how many are merged on average.
    """
    rows = problem.data
    if problem.objective is None or ranker.category_codes_ is None:
        return 1.0
    return 8 * problem.unit * len(rows.y) / number_of_rows(rows.weight, rows)


def penalties_of(ranker: Any, problem: TreeProblem) -> dict[str, float | None]:
    """Return `reg_lambda` and `min_child_weight` as numbers; None is the engine's default.

    "auto" is None too where the objective is the engine's own, whose curvatures only it knows.
    """
    levels = [] if ranker.category_codes_ is None else ranker.category_codes_.categories.values()
    # The libraries split fewer than four categories one by one: no set of them is chosen.
    splits_sets = ranker.engine_in_use.needs_package and any(len(names) >= 4 for names in levels)
    penalties: dict[str, float | None] = {}
    for name, factor in units_of(ranker.loss_in_use, splits_sets).items():
        value = getattr(ranker, name)
        if is_auto(value):
            value = None if problem.objective is None else factor and factor * problem.unit
        penalties[name] = None if value is None else float(value)
    return penalties


# Objectives of the engines -----------------------------------------------------------------------

HIGHEST_GRADE = 31
"""Highest relevance that the engines' own objective takes by default: its gain is 2^31 - 1."""

DRAWS_QUERIES = "bagging_by_query"
"""The parameter of LightGBM that makes `subsample` a share of the queries."""

UNBIASED = "lambdarank_unbiased"
"""The parameter of XGBoost that makes it learn from positions."""


def is_on(engine_params: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Whether a parameter of an engine, in any of the forms that engines accept, is true."""
    return str(engine_params.get(name, default)).lower() in ("true", "1", "+")


def refuse_drawn_queries(owner: str, loss: object, engine_params: Mapping[str, Any]) -> None:
    """Raise ValueError if LightGBM would draw queries with this package's gradients.

    It then draws no rows at all, whether it knows the queries or not.
    """
    if is_on(engine_params, DRAWS_QUERIES):
        raise ValueError(
            f"engine_params={{'{DRAWS_QUERIES}': True}} of {owner} needs loss='ndcg': with every "
            f"other loss LightGBM would grow all trees on all rows. Got loss={loss!r}, with which "
            "subsample draws rows."
        )


def check_own_objective(owner: str, engine_params: Mapping[str, Any], data: Rows) -> None:
    """Raise ValueError for relevance or weights that the engine's own objective rejects.

    Parameters
    ----------
    owner : str
        The ranker, for messages.
    engine_params : mapping
        Its parameters for the engine.
    data : Rows
        Rows to learn from.
    """
    queries = Queries.from_codes(data.qid, len(data.y))
    weight, query_start = queries.sort(data.weight), queries.queries.start
    if (np.maximum.reduceat(weight, query_start) > np.minimum.reduceat(weight, query_start)).any():
        raise ValueError(
            f"loss='ndcg' of {owner} needs one weight per query: in the engines' own objective a "
            "row of weight 2 is not two rows. Got sample_weight that differs within a query."
        )
    # With gains of the user's own the engine says which relevance it takes.
    has_gains = "label_gain" in engine_params or not is_on(engine_params, "ndcg_exp_gain", True)
    low, high = data.y.min(), data.y.max()
    if low < 0 or (not has_gains and (high > HIGHEST_GRADE or (data.y % 1).any())):
        raise ValueError(
            f"loss='ndcg' of {owner} needs relevance that is a whole number from 0 to "
            f"{HIGHEST_GRADE}. Got values from {low:g} to {high:g}. engine_params with a list "
            "'label_gain' (LightGBM) or 'ndcg_exp_gain': False (XGBoost) allows other gains."
        )
