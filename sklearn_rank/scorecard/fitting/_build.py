"""A card made of a fitted ranker."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sklearn_rank._core.distinct import number_of_rows
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.release import __version__
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import shared_property
from sklearn_rank.models import PairFunction, StepFunction
from sklearn_rank.scorecard._adverse import inferred_end, worst_points
from sklearn_rank.scorecard.card import Card
from sklearn_rank.scorecard.fitting._neutral import neutral_points, with_unseen
from sklearn_rank.scorecard.fitting._scaling import (
    Rounded,
    minmax_points,
    nearest,
    round_steps,
    scaled_points,
)
from sklearn_rank.scorecard.fitting._statements import fit_statements
from sklearn_rank.scorecard.fitting._training import BinnedTraining
from sklearn_rank.scorecard.fitting._variables import Columns, make_pairs, make_variables
from sklearn_rank.scorecard.risk._risk import RiskCurve, with_risk
from sklearn_rank.scorecard.search._choices import chosen_settings
from sklearn_rank.scorecard.search._folds import moments
from sklearn_rank.scorecard.terms import Pair, Variable

Tables = list[Indices]

FEW = 0.02
"""Share of the rows below which missing values and special codes are no evidence."""


@dataclass(frozen=True, eq=False)
class CardBuilder:
    """Makes a card of a fitted ranker.

    Attributes
    ----------
    ranker : ranker
        Fitted, of stumps, in binary mode.
    data : Rows
        The training rows, equal ones as one, categories as codes.
    known : Rows
        The same rows of all processes, perhaps without features.
    points : (int, int) or None
        Least and greatest points of a bin.
    scaling : None, "minmax" or dict
        As in `Scorecard`.
    held_out : Rows or None
        Rows with standardised totals of cards made without them, for the curve of risk; None for
        the training rows.
    unseen, adverse : str
        As in `Scorecard`.
    """

    ranker: Any
    data: Rows
    known: Rows
    points: tuple[int, int] | None
    scaling: Any
    held_out: Rows | None
    unseen: str = "neutral"
    adverse: str = "auto"

    @shared_property
    def training(self) -> BinnedTraining:
        """The training rows by their bins."""
        return BinnedTraining.of(self.ranker, self.data)

    def build(self) -> Card:
        """Return the card."""
        classes = tuple(self.ranker.classes_.tolist())
        adverse = inferred_end(self.adverse, classes)
        worst = worst_points("Scorecard", self.unseen, adverse)
        rounded = self._rounded()
        scale = None
        if isinstance(self.scaling, dict):
            scale = self._curve(self.training.totals(rounded.tables), 1)
        # What would differ by rounding between processes is that of the first.
        tables, intercept = self.data.agree(self._scaled(rounded, scale))
        tables = told(self.training, tables)
        totals = self.training.totals(tables) + intercept
        near = rounded.multiplier * _ratio_of_ranges(rounded.tables, tables)
        loss = self.training.best_multiplier(totals, near)[1]
        # One curve: with odds on the scale it is the one that they are on.
        curve = self._curve(totals) if scale is None else scale.on_scale(self.scaling)
        variables, pairs = self._terms(tables, worst)
        card = Card(
            variables,
            intercept,
            0,
            classes,
            int(self.ranker.n_features_in_),
            None if self._names is None else tuple(self._names),
            details=self._details(loss),
            adverse=adverse,
            unseen=self.unseen,
            pairs=pairs,
        )
        if self.unseen == "neutral":
            card = self._with_neutral_points(card, curve, totals, tables)
        return with_risk(card, curve, totals, keeps_points=self.scaling is not None)

    def _with_neutral_points(
        self, card: Card, curve: RiskCurve, totals: Floats, tables: Tables
    ) -> Card:
        """Return the card with points of unseen values that leave the mean risk as it is."""
        points = {
            tuple(step.features): np.asarray(table)[bins]
            for step, table, bins in zip(
                self.training.steps, tables, self.training.bins, strict=True
            )
        }
        weight = self.training.preferences.weight
        found = neutral_points(card, curve, totals, weight, points)
        return with_unseen(card, self.data.agree(found))

    @property
    def _names(self) -> list[str] | None:
        """Names of the columns, where they have some."""
        names = getattr(self.ranker, "feature_names_in_", None)
        return None if names is None else names.tolist()

    def _terms(
        self, tables: Tables, worst: Callable[[Iterable[int]], int] | None
    ) -> tuple[tuple[Variable, ...], tuple[Pair, ...]]:
        """Return the variables and pairs with these points by bin of the step functions."""
        columns = self._names or [f"x{j}" for j in range(int(self.ranker.n_features_in_))]
        settings = self.ranker.stump_settings()
        codes = self.ranker.category_codes_
        categories = {} if codes is None else codes.categories
        known = Columns(
            self.data,
            columns,
            categories,
            given=tuple(settings["thresholds"]),
            worst=worst,
            ranks=settings["category_order"],
        )
        steps = self.training.steps
        single = [one for one in steps if isinstance(one, StepFunction)]
        pairs = [one for one in steps if isinstance(one, PairFunction)]
        variables = make_variables(single, tables[: len(single)], known)
        return variables, make_pairs(pairs, tables[len(single) :], known)

    def _rounded(self) -> Rounded:
        """Return the integer tables before scaling; real ones with points=None."""
        return self._unrounded if self.points is None else round_steps(self.training, self.points)

    @shared_property
    def _unrounded(self) -> Rounded:
        """The step functions as they are, but for shifts."""
        tables: list[Any] = self.training.centred
        return Rounded(tables, *self.training.best_multiplier(self.training.totals(tables), 1.0))

    def _scaled(self, rounded: Rounded, scale: RiskCurve | None) -> tuple[Tables, int]:
        """Return integer tables and the intercept, without the cut."""
        if scale is not None:
            return scaled_points(rounded.tables, scale.line(), self.scaling)
        return (list(rounded.tables) if self.scaling is None else minmax_points(rounded.tables)), 0

    def _curve(self, totals: Floats, n_slopes: int | None = None) -> RiskCurve:
        """Return the curve of probabilities, calibrated on rows held out, at totals."""
        rows = self.training.data
        order = self.training.preferences.order
        positive, weight = rows.y[order], rows.weight[order]
        mean, deviation = moments(totals, weight)
        z = (totals - mean) / deviation
        total = float(weight.sum())
        if self.held_out is not None:
            rows, total = self.held_out, float(self.known.weight.sum())
            positive, weight, z = rows.y, rows.weight, rows.X[:, 0]
        # Weights below one say nothing about the number of rows.
        weight = weight * (number_of_rows(self.known.weight) / total)
        return RiskCurve.fit(z, positive, weight, mean, deviation, n_slopes)

    def _details(self, loss: float) -> dict[str, Any]:
        """Return the statements of the card besides its points."""
        data = self.known
        low, high = self.points or (None, None)
        scaling = self.scaling if isinstance(self.scaling, dict) else {}
        return {
            "made_by": f"sklearn_rank {__version__}",
            "ranker": type(self.ranker).__name__,
            "p": None if not hasattr(self.ranker, "p") else float(self.ranker.p),
            **chosen_settings(self.ranker),
            "training_loss_of_the_ranker": self._unrounded.loss,
            "training_loss_of_the_card": loss,
            "training_rows": float(data.weight.sum()),
            "training_rows_of_the_upper_class": float(data.weight[data.y].sum()),
            "base_rate": float(data.weight[data.y].sum() / data.weight.sum()),
            "queries": data.qid is not None,
            "lowest_points": low,
            "highest_points": high,
            "scaling": "pdo" if scaling else self.scaling,
            **{name: float(scaling[name]) for name in ("pdo", "score", "odds") if name in scaling},
            "risk_rows": "training rows" if self.held_out is None else "rows held out",
            **fit_statements(self.data, self.known, self.held_out),
        }


def told(training: BinnedTraining, tables: Sequence[Any]) -> list[Any]:
    """Return points, neutral ones for missing values and codes of which no rule tells.

    Where these are enough rows for a bin, the ranker might have told them apart and did not.
    """
    return [
        _told_by_one(step, table, weight)
        for step, table, weight in zip(training.steps, tables, training.weight_by_bin, strict=True)
    ]


def _told_by_one(step: StepFunction | PairFunction, table: Any, weight: Floats) -> Any:
    is_untold = (step.values == 0) & (weight < FEW * weight.sum())
    is_untold[: step.bins.n_values] = False
    if not is_untold.any() or is_untold.all() or not weight[~is_untold].any():
        return table
    neutral = np.average(table[~is_untold], weights=weight[~is_untold])
    is_rounded = np.issubdtype(table.dtype, np.integer)
    return np.where(is_untold, nearest(neutral) if is_rounded else neutral, table)


def card_totals(
    ranker: Any, data: Rows, points: tuple[int, int] | None
) -> Callable[[Floats], Floats]:
    """Return the totals, a function of features, of the card before scaling.

    Parameters
    ----------
    ranker : ranker
        Fitted.
    data : Rows
        Its training rows.
    points : (int, int) or None
        As in `CardBuilder`.
    """
    training = BinnedTraining.of(ranker, data)
    tables = training.centred if points is None else round_steps(training, points).tables
    tables = told(training, data.agree(tables))

    def totals(X: Floats) -> Floats:
        found = np.zeros(len(X))
        for step, table in zip(training.steps, tables, strict=True):
            found += np.asarray(table)[step.bins_of_rows(X)]
        return found

    return totals


def _ratio_of_ranges(before: Sequence[Any], after: Sequence[Any]) -> float:
    """Return the sum of the ranges of former points by that of new ones."""
    old, new = (sum(float(np.ptp(one)) for one in tables) for tables in (before, after))
    return old / new if old and new else 1.0
