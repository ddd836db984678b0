"""The parameters of boosted trees: which values are allowed, and which go together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from scipy.sparse import issparse

from sklearn_rank._core.rows import Rows
from sklearn_rank._core.validation import (
    FLAG,
    KEYWORDS,
    Choice,
    Constraint,
    Number,
    check_positions,
    check_same,
    largest_size,
)
from sklearn_rank.engines.engine import Engine
from sklearn_rank.engines.posed_objective import LOSS_CHOICE, check_loss, is_listwise
from sklearn_rank.engines.registry import ENGINES, get_engine
from sklearn_rank.estimators._boosting.rounds_ranker import RoundsRanker
from sklearn_rank.estimators._tree_fit import (
    AUTO,
    UNBIASED,
    check_own_objective,
    is_on,
    loss_of,
    refuse_drawn_queries,
)
from sklearn_rank.models.stumps import check_monotonic
from sklearn_rank.objectives import PUSHES
from sklearn_rank.objectives.listwise import check_grades

NDCG = "ndcg"
"""The loss that is the engine's own: LambdaMART."""

_LARGEST_FEATURE = float(np.finfo(np.float32).max)
"""Engines keep features in single precision."""


class TreeParameters(RoundsRanker):
    """Base class of `BoostedTreesRanker`: its parameters, and the checks of their values."""

    # Requested by default, as qid is.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"position": True}

    _allowed: ClassVar[dict[str, Constraint]] = {
        **RoundsRanker._allowed,
        "engine": Choice(("auto", *ENGINES)),
        "loss": replace(LOSS_CHOICE, options=(AUTO, *LOSS_CHOICE.options, NDCG)),
        "p": Number(1),
        "push": Choice(tuple(PUSHES)),
        "max_leaf_nodes": Number(2, integer=True, other=(AUTO, None)),
        "max_depth": Number(1, 30, integer=True, other=(AUTO, None)),
        "min_samples_leaf": Number(1, integer=True, other=(None,)),
        "min_child_weight": Number(0, closed="left", other=(AUTO, None)),
        "reg_lambda": Number(0, closed="left", other=(AUTO, None)),
        "subsample": Number(0, 1, "right", other=(AUTO,)),
        "colsample": Number(0, 1, "right", other=(AUTO,)),
        "learning_rate": Number(0, 1, "right", other=(AUTO,)),
        "max_bins": Number(2, 65535, integer=True, other=(AUTO,)),
        "engine_params": KEYWORDS,
        "warm_start": FLAG,
        "score_p": Number(1, other=(None,)),
    }

    def __init__(
        self,
        *,
        engine: str = "auto",
        loss: Any = "auto",
        p: float = 1.0,
        push: str = "top",
        n_estimators: int = 200,
        learning_rate: float | str = "auto",
        max_leaf_nodes: int | str | None = "auto",
        max_depth: int | str | None = "auto",
        max_bins: int | str = "auto",
        min_samples_leaf: int | None = None,
        min_child_weight: float | str | None = "auto",
        reg_lambda: float | str | None = "auto",
        subsample: float | str = "auto",
        colsample: float | str = "auto",
        monotonic_cst: Any = None,
        categorical_features: Any = "from_dtype",
        engine_params: dict[str, Any] | None = None,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        refit_stopped: bool = True,
        scoring: Any = None,
        warm_start: bool = False,
        score_p: float | None = None,
        relevance: str = "binary",
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.engine = engine
        self.loss = loss
        self.p = p
        self.push = push
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.max_bins = max_bins
        self.min_samples_leaf = min_samples_leaf
        self.min_child_weight = min_child_weight
        self.reg_lambda = reg_lambda
        self.subsample = subsample
        self.colsample = colsample
        self.monotonic_cst = monotonic_cst
        self.categorical_features = categorical_features
        self.engine_params = engine_params
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.refit_stopped = refit_stopped
        self.scoring = scoring
        self.warm_start = warm_start
        self.score_p = score_p
        self.relevance = relevance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # What the parameters stand for ------------------------------------------------------

    @property
    def engine_in_use(self) -> Engine:
        """The engine; "auto" is a library if a setting requires one."""
        needs_library = self._has_own_objective or bool(self.engine_params)
        return get_engine(self.engine, type(self).__name__, needs_library=needs_library)

    @property
    def loss_in_use(self) -> Any:
        """The loss that the parameter `loss` stands for."""
        return loss_of(self.loss, self.push, self.engine_in_use)

    @property
    def _has_own_objective(self) -> bool:
        return isinstance(self.loss, str) and self.loss == NDCG

    @property
    def _n_threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    # Checks ------------------------------------------------------------------------------

    def _check_combination(self) -> None:
        name = type(self).__name__
        if self._has_own_objective:
            if self.p != 1 or self.push != "top":
                raise ValueError(
                    f"loss='ndcg' of {name} is the engine's own objective, which has no push: it "
                    f"needs p=1 and push='top'. Got p={self.p:g} and push={self.push!r}."
                )
        else:
            check_loss(name, self.loss_in_use, self.p, self.push)
            refuse_drawn_queries(name, self.loss, self.engine_params or {})
        engine = self.engine_in_use
        engine.check_params(name, self.engine_params or {})
        values = self.get_params(deep=False)
        for parameter, allowed in engine.refused(values):
            raise ValueError(
                f"{parameter} of {name} with engine={engine.name!r} must be {allowed}. "
                f"Got {values[parameter]!r}."
            )
        depth: Any = self.max_depth
        if not (depth is None or depth == AUTO) and depth > engine.max_depth:
            raise ValueError(
                f"max_depth of {name} with engine={engine.name!r} must be at most "
                f"{engine.max_depth}. Got {self.max_depth}."
            )

    def check_training(self, data: Rows) -> None:
        """Raise ValueError if nothing can be learned from the rows."""
        super().check_training(data)
        name = type(self).__name__
        if self._has_own_objective:
            check_own_objective(name, self.engine_params or {}, data)
        elif is_listwise(self.loss_in_use):
            highest = data.largest(float(np.max(data.y, initial=-np.inf)))
            check_grades(self.loss_in_use, highest, name)
        self._monotonic(data.X.shape[1])
        if self._is_continued:
            self._check_same_model(data)

    @property
    def _is_continued(self) -> bool:
        """Whether a fit keeps the trees of the last fit."""
        return self.warm_start and hasattr(self, "_trees_")

    def _fixed_settings(self, engine: Engine, data: Rows) -> dict[str, Any]:
        """Return the settings that a warm start must not change."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "engine": engine.name,
            "classes": None if data.classes is None else data.classes.tolist(),
            "number of features": data.X.shape[1],
            "names of features": None if names is None else names.tolist(),
        }

    def _check_same_model(self, data: Rows) -> None:
        """Raise ValueError if the trees of the last fit cannot be kept."""
        name = f"{type(self).__name__} with warm_start=True"
        engine = self.engine_in_use
        check_same(name, self._fixed_, self._fixed_settings(engine, data))
        if self.n_estimators <= self.n_iter_:
            raise ValueError(
                f"{name} adds rounds: n_estimators={self.n_estimators} must be more than the "
                f"{self.n_iter_} rounds fitted."
            )
        has_held_out = self.n_iter_no_change is not None or data.held_out is not None
        if has_held_out or self.category_codes_ is not None:
            refused = "categories" if self.category_codes_ is not None else "held-out rows"
            raise ValueError(
                f"{name} can't continue with {refused}: refit, or fit without "
                "categorical_features, n_iter_no_change and X_val."
            )
        if issparse(data.X) and not engine.keeps_zeros_sparse:
            raise ValueError(
                f"{name} can't continue with sparse X on {engine.name}, which would need it dense: "
                "use engine='lightgbm' from the first fit."
            )

    def _check_features(self, X: Any) -> None:
        if (largest := largest_size(X)) > _LARGEST_FEATURE:
            raise ValueError(
                f"X has values as large as {largest:.0e}: {type(self).__name__} keeps features in "
                "single precision."
            )

    def _monotonic(self, n_features: int) -> tuple[int, ...] | None:
        """Return the constraint of each feature."""
        names = getattr(self, "feature_names_in_", None)
        return check_monotonic(
            type(self).__name__, self.monotonic_cst, names, n_features, self._categorical_positions
        )

    def _validate_training(
        self,
        X: Any,
        y: Any,
        qid: Any,
        sample_weight: Any,
        validation: dict[str, Any] | None = None,
        position: Any = None,
    ) -> Rows:
        data = super()._validate_training(X, y, qid, sample_weight, validation)
        if position is None:
            return data
        name = type(self).__name__
        if not self._has_own_objective:
            raise ValueError(
                f"position of {name} needs loss='ndcg', whose engines correct for it. Got "
                f"loss={self.loss!r}: weight clicked rows by 1 / propensity in sample_weight."
            )
        is_xgboost = self.engine_in_use.name == "xgboost"
        if is_xgboost and not is_on(self.engine_params or {}, UNBIASED):
            raise ValueError(
                f"position of {name} has an effect with engine='xgboost' only with "
                f"engine_params={{'{UNBIASED}': True}}."
            )
        positions = check_positions(name, position, data.n_passed)
        return replace(data, shown_at=positions[data.position])
