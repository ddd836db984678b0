"""`BoostedTreesRanker` in the command line: its engine, and the engine's own classifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator, ClassifierMixin

from sklearn_rank._protocols import Floats, Values
from sklearn_rank.cli._errors import InputError
from sklearn_rank.engines._engine import Engine
from sklearn_rank.engines._registry import get_engine

TREES = "BoostedTreesRanker"


def find_engine(ranker: Any) -> Engine:
    """Return the engine of a `BoostedTreesRanker`; if it can't be used, the error says why."""
    try:
        return get_engine(ranker.engine, TREES)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error


def leave_out_trees(rankers: Mapping[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the rankers that can be used here; a note says why there are no trees."""
    try:
        check_engines(rankers)
    except InputError as error:
        notes.append(f"no {TREES}: {error}")
        return {name: ranker for name, ranker in rankers.items() if name != TREES}
    return dict(rankers)


def check_engines(rankers: Mapping[str, Any]) -> None:
    """Raise InputError if a ranker needs an engine that can't be used."""
    if TREES in rankers:
        find_engine(rankers[TREES])


class TreeClassifier(ClassifierMixin, BaseEstimator):
    """The trees of a ranker's engine, with its parameters and the engine's own log-loss.

    Parameters
    ----------
    ranker : BoostedTreesRanker
        Unfitted; only its parameters are used.
    """

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    @property
    def name(self) -> str:
        """Name in the table."""
        return f"{find_engine(self.ranker).title} classifier"

    @property
    def about(self) -> str:
        """How it differs from the ranker, for the footnote."""
        stops = self.ranker.n_iter_no_change is not None
        end = ", all rounds (no early stopping)" if stops else ""
        return f"the trees of {TREES} with the log-loss of single rows{end}"

    def fit(self, X: Any, y: Values, sample_weight: Values | None = None) -> Self:
        """Fit to the classes 0 and 1."""
        ranker, engine = self.ranker, find_engine(self.ranker)
        settings = ranker._settings(X.shape[1], ranker.random_state, None)
        with engine.errors_named(self.name, settings.engine_params):
            self.booster_ = engine.train_classifier(settings, X, y, sample_weight)
        return self

    def decision_function(self, X: Any) -> Floats:
        """Return the log-odds of class 1."""
        return find_engine(self.ranker).scores(self.booster_, X, n_threads=1)
