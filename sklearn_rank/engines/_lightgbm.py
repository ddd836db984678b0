"""LightGBM as an engine."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_matrix, issparse

from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank.engines.engine import Descent, Engine, RoundView, TreeData, TreeSettings

_MOST_LEAVES = 131_072
"""The engine's limit."""

_MIN_SAMPLES_LEAF, _MIN_SHARE_IN_LEAF = 20, 1 / 20
"""Rows that a leaf needs, or that share of all rows if it is less."""

_ROWS_FOR_BINS = 200_000
"""Rows from which the engine finds bins, by default."""

_COPIES_OF_SAMPLE = 4
"""From blocks of rows the engine copies those for bins three times, and less than once more."""

_NO_MISSING, _MISSING_IS_NAN, _TO_THE_LEFT = 0, 8, 2
"""Bits of a decision type: NaN counts as 0; NaN goes to a side of its own; that side is left."""

_LEAST_CURVATURE = 1e-10
"""Least curvature of a leaf: at zero the engine may choose a leaf without rows, and fail."""


class LightGBM(Engine):
    """LightGBM."""

    name: ClassVar[str] = "lightgbm"
    defaults: ClassVar[dict[str, float]] = {"reg_lambda": 0.0, "min_child_weight": 1e-3}
    own_names: ClassVar[dict[str, str]] = {
        "num_iterations": "n_estimators",
        "learning_rate": "learning_rate",
        "max_depth": "max_depth",
        "num_leaves": "max_leaf_nodes",
        "min_data_in_leaf": "min_samples_leaf",
        "max_bin": "max_bins",
        "min_sum_hessian_in_leaf": "min_child_weight",
        "lambda_l2": "reg_lambda",
        "bagging_fraction": "subsample",
        "feature_fraction": "colsample",
        "monotone_constraints": "monotonic_cst",
        "num_threads": "n_jobs",
        "seed": "random_state",
        "verbosity": "verbose",
        "objective": "loss",
        "early_stopping_round": "n_iter_no_change",
        "metric": "scoring",
        "categorical_feature": "categorical_features",
        **dict.fromkeys(("boosting", "num_class", "boost_from_average"), ""),
    }

    @property
    def error(self) -> type[Exception]:
        """The class of the engine's errors."""
        return self.module.basic.LightGBMError

    def train(self, settings: TreeSettings, rows: TreeData, descent: Descent) -> None:
        """Grow trees round by round."""
        n_rows, has_gradient = rows.X.shape[0], rows.relevance is None
        params = self._params(settings, n_rows, "none" if has_gradient else "lambdarank")
        label = np.zeros(n_rows) if has_gradient else rows.relevance
        # No name is bound to what may be a copy of X: it is freed once it has bins.
        args, has_booster = (label, rows, params, settings), rows.start is not None
        train = self._dataset(self._readable(rows.X, params, continues=has_booster), *args)
        if not any(train.feature_num_bin(j) > 1 for j in range(rows.X.shape[1])):
            if rows.start is not None:  # no more tree can have a split
                return
            # The engine fails where every feature is constant. With one that varies, and no gain
            # large enough for a split, it grows the trees that such features allow: none.
            placeholder = np.zeros(rows.X.shape)
            placeholder[:, 0] = np.arange(n_rows)
            params["min_gain_to_split"] = np.finfo(np.float64).max
            train = self._dataset(placeholder, *args)
        if rows.start is not None:
            self._continue(params, train, rows, settings.n_estimators, descent)
            return
        booster = self.module.Booster(params, train)
        if rows.held_out is not None:
            zeros = np.zeros(rows.held_out.shape[0])
            group = None if rows.query_sizes is None else [len(zeros)]
            # Other parameters than those of the training rows would make it warn.
            held_out = train.create_valid(
                self._readable(rows.held_out, params), label=zeros, group=group, params=params
            )
            booster.add_valid(held_out, "held_out")
        gradient = (lambda scores, data: descent.gradient()) if has_gradient else None
        round_view = self._round_view(booster)
        for _ in range(settings.n_estimators):
            n_trees = booster.current_iteration()
            booster.update(fobj=gradient)
            # A round in which no leaf can be split leaves no tree, after the first.
            if booster.current_iteration() > n_trees and descent.after_round(round_view):
                break

    def _round_view(self, booster: Any) -> RoundView:
        """Return the scores of training and validation rows, and the model, after any round."""
        train, held_out = _captured(booster.eval_train), _captured(booster.eval_valid)
        return RoundView(train, held_out, lambda n_rounds: self.to_bytes(booster, n_rounds))

    def _readable(self, X: SelectedRows, params: dict[str, Any], *, continues: bool = False) -> Any:
        """Return features in the engine's format; reordered rows are passed one block at a time.

        Other rows are copied: sparse ones, since the engine reads blocks of dense rows only; few
        ones, of which it would copy those for bins three times; and those that earlier trees
        must score, where it `continues` from some.
        """
        n_sampled = params.get("bin_construct_sample_cnt", _ROWS_FOR_BINS)
        is_small = X.shape[0] < _COPIES_OF_SAMPLE * n_sampled
        if X.rows is None or X.is_sparse or is_small or continues:
            return _as_matrix(X.copied())

        class RowBlocks(self.module.Sequence):  # type: ignore[name-defined]  # imported lazily
            def __len__(self) -> int:
                return int(self.rows.shape[0])

            def __getitem__(self, key: Any) -> Any:
                # The engine reads single rows for bins: views.
                return self.rows.matrix[self.rows.rows[key]]

        sequence = RowBlocks()
        sequence.rows, sequence.batch_size = X, X.rows_in_part
        return sequence

    def _continue(
        self, params: dict[str, Any], train: Any, rows: TreeData, n_rounds: int, descent: Descent
    ) -> None:
        """Add rounds to the trees of an earlier fit."""
        n_trees, ending = rows.start.current_iteration(), self.module.callback.EarlyStopException

        def after_round(env: Any) -> None:
            nonlocal n_trees
            booster = env.model
            if booster.current_iteration() == n_trees:  # no leaf could be split
                return
            n_trees = booster.current_iteration()
            if descent.after_round(self._round_view(booster)):
                raise ending(n_trees, [])

        has_gradient = rows.relevance is None
        gradient = {"objective": lambda *_: descent.gradient()} if has_gradient else {}
        self.module.train(
            {**params, **gradient},
            train,
            num_boost_round=n_rounds,
            init_model=rows.start,
            callbacks=[after_round],
            keep_training_booster=True,
        )

    def _dataset(
        self, matrix: Any, label: Any, rows: TreeData, params: Any, settings: TreeSettings
    ) -> Any:
        # Here the engine warns of unknown names and of aliases without effect. In training it
        # would warn of every leaf that can't be split.
        verbosity = 0 if settings.engine_params else -1
        weight = rows.query_weight
        return self.module.Dataset(
            matrix,
            label=label,
            group=rows.query_sizes,
            weight=None if weight is None else np.repeat(weight, rows.query_sizes),
            position=rows.shown_at,
            params={**params, "verbosity": verbosity},
            categorical_feature=list(settings.categorical),
            free_raw_data=rows.start is None,  # earlier trees score it
        ).construct()

    def _params(self, settings: TreeSettings, n_rows: int, objective: str) -> dict[str, Any]:
        # As many leaves as rows are enough, and memory is taken for all.
        leaves = min(settings.max_leaf_nodes or _MOST_LEAVES, _MOST_LEAVES, max(n_rows, 2))
        rows_in_leaf = min(_MIN_SAMPLES_LEAF, max(1, int(n_rows * _MIN_SHARE_IN_LEAF)))
        params = {
            **self._main_params(settings),
            "objective": objective,
            "boosting": "gbdt",
            "num_class": 1,
            "early_stopping_round": 0,
            "num_leaves": min(2**settings.max_depth, leaves),
            "bagging_freq": int(settings.subsample < 1),
            "deterministic": True,
            "data_random_seed": _data_seed(settings.random_state),
            "force_col_wise": True,
            # Equal rows are one row here: a row of weight 2 must count as one with two copies.
            "min_data_in_leaf": settings.min_samples_leaf or rows_in_leaf,
            "min_data_in_bin": 1,
            "min_data_per_group": 1,
            "cat_smooth": settings.cat_smooth,
            "feature_pre_filter": False,
            "metric": "None",
            "verbosity": -1,
        }
        if settings.min_child_weight is not None:
            params["min_sum_hessian_in_leaf"] = max(settings.min_child_weight, _LEAST_CURVATURE)
        if "force_row_wise" in settings.engine_params:
            del params["force_col_wise"]
        return {**params, **settings.engine_params}

    def to_bytes(self, booster: Any, n_rounds: int) -> bytes:
        """Return the first rounds of a booster."""
        return bytes(booster.model_to_string(num_iteration=n_rounds).encode())

    def with_neutral_sides(self, stored: bytes, medians: Floats, first_tree: int) -> bytes:
        """Return trees that send missing values to the median's side if training had none."""
        header, *trees = stored.decode().split("\nTree=")
        header = re.sub(r"(?m)^tree_sizes=.*\n", "", header)  # no longer true, nor needed
        trees[first_tree:] = [_with_neutral_sides(tree, medians) for tree in trees[first_tree:]]
        return "\nTree=".join([header, *trees]).encode()

    def from_bytes(self, stored: bytes, n_threads: int) -> Any:
        """Return a booster."""
        return self.module.Booster(model_str=stored.decode())

    def scores(self, booster: Any, X: Any, n_threads: int, first: int, last: int) -> Floats:
        """Return the sum of some rounds of trees."""
        rounds = {"start_iteration": first, "num_iteration": last - first}
        options = {"raw_score": True, "num_threads": n_threads, **rounds}
        return np.asarray(booster.predict(_as_matrix(X), **options))

    def contributions(self, booster: Any, X: Any, n_threads: int) -> Floats:
        """Return Shapley values, the constant last."""
        values = booster.predict(_as_matrix(X), pred_contrib=True, num_threads=n_threads)
        return values.toarray() if issparse(values) else np.asarray(values)

    def importances(self, booster: Any, n_features: int) -> Floats:
        """Return the total gain of each feature's splits."""
        return np.asarray(booster.feature_importance("gain"), dtype=np.float64)


def _with_neutral_sides(tree: str, medians: Floats) -> str:
    """Return a tree as text, with changed types of the splits that met no NaN in training."""
    fields = dict(line.split("=", 1) for line in tree.splitlines() if "=" in line)
    names, types = ("split_feature", "threshold", "decision_type"), []
    columns = (fields.get(name, "").split() for name in names)
    for feature, threshold, type_bits in zip(*columns, strict=True):
        median, decision_type = medians[int(feature)], int(type_bits)
        if decision_type & ~_TO_THE_LEFT == _NO_MISSING and not np.isnan(median):
            decision_type = _MISSING_IS_NAN | _TO_THE_LEFT * int(median <= float(threshold))
        types.append(str(decision_type))
    return re.sub(r"(?m)^decision_type=.*$", f"decision_type={' '.join(types)}", tree)


def _data_seed(seed: int) -> int:
    """Return the seed of the rows for bins.

    The engine itself derives it from `seed` for a matrix, but not for blocks of rows: it is the
    first number of its generator.
    """
    state = (214_013 * seed + 2_531_011) % (1 << 32)
    return (state >> 16 & 0x7FFF) % 0x7FFF


def _as_matrix(X: Any) -> Any:
    """Convert a sparse array to a sparse matrix, which the engine accepts."""
    return csr_matrix(X) if issparse(X) else X


def _captured(evaluate: Any) -> Callable[[], Floats]:
    """Return a function that runs an evaluation and returns the scores passed to its metric."""

    def scores() -> Floats:
        captured: list[Floats] = []

        def metric(values: Floats, data: Any) -> tuple[str, float, bool]:
            captured.append(values.copy())
            return "none", 0.0, True

        evaluate(metric)
        return captured[0]

    return scores
