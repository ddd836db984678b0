"""XGBoost as an engine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from sklearn_rank._bins.starts import bin_starts
from sklearn_rank._core.arrays import blocks
from sklearn_rank._core.protocols import Floats
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank.engines.engine import Descent, Engine, RoundView, TreeData, TreeSettings

_OBJECTIVES = {True: "reg:squarederror", False: "rank:ndcg"}
"""The engine's name of the objective, by whether it gets gradients; then any objective will do."""

_BLOCK_VALUES = 1 << 22
"""Values of a sparse matrix that are made dense at a time."""

_LARGEST_SINGLE = float(np.finfo(np.float32).max)


class XGBoost(Engine):
    """XGBoost.

    A value that a sparse matrix does not store is zero here, where XGBoost takes it for a
    missing value: sparse rows are made dense, a block at a time. The bins stay dense.
    """

    name: ClassVar[str] = "xgboost"
    keeps_zeros_sparse: ClassVar[bool] = False
    defaults: ClassVar[dict[str, float]] = {"reg_lambda": 1.0, "min_child_weight": 1.0}
    own_names: ClassVar[dict[str, str]] = {
        "learning_rate": "learning_rate",
        "eta": "learning_rate",
        "max_leaves": "max_leaf_nodes",
        "grow_policy": "max_leaf_nodes",
        "max_depth": "max_depth",
        "max_bin": "max_bins",
        "min_child_weight": "min_child_weight",
        "reg_lambda": "reg_lambda",
        "lambda": "reg_lambda",
        "subsample": "subsample",
        "colsample_bytree": "colsample",
        "monotone_constraints": "monotonic_cst",
        "nthread": "n_jobs",
        "seed": "random_state",
        "verbosity": "verbose",
        "objective": "loss",
        "eval_metric": "scoring",
        **dict.fromkeys(("booster", "base_score", "num_class", "multi_strategy"), ""),
    }

    def refused(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the unsupported parameters: the rows of a leaf cannot be limited."""
        if settings["min_samples_leaf"] is not None:
            why = "min_child_weight limits the curvature of a leaf, about a quarter of its rows"
            yield "min_samples_leaf", f"None: {why}"

    @property
    def error(self) -> type[Exception]:
        """The class of the engine's errors."""
        return self.module.core.XGBoostError

    def train(self, settings: TreeSettings, rows: TreeData, descent: Descent) -> None:
        """Grow trees round by round."""
        options = {"label": rows.relevance, "group": rows.query_sizes}
        if rows.weighted is not None:
            starts = bin_starts(rows.weighted, settings.max_bins, settings.categorical)
            options = {"ref": self._matrix(SelectedRows(starts), settings)}
        has_gradient, binning = rows.relevance is None, {}
        if rows.start is None:
            train = self._matrix(rows.X, settings, **options)
        else:
            # Earlier trees need exact values: that of a bin may lie across a threshold.
            options.pop("ref", None)
            train = self._exact_matrix(rows.X, settings, **options)
            binning = {"max_bin": settings.max_bins}
        if rows.query_weight is not None:  # not before: the engine's bins would be weighted
            train.set_info(weight=rows.query_weight)
        held_out = None
        if rows.held_out is not None:
            held_out = self._matrix(rows.held_out, settings, ref=train)
        self.module.train(
            {**binning, **self._params(settings, _OBJECTIVES[has_gradient])},
            train,
            settings.n_estimators,
            obj=(lambda scores, matrix: descent.gradient()) if has_gradient else None,
            # Rows in `evals` keep their scores from round to round.
            evals=[] if held_out is None else [(held_out, "held_out")],
            custom_metric=lambda scores, matrix: ("none", 0.0),
            callbacks=[self._make_callback(train, held_out, descent)],
            verbose_eval=False,
            xgb_model=rows.start,
        )

    def _params(self, settings: TreeSettings, objective: str) -> dict[str, Any]:
        params = self._main_params(settings)
        if settings.max_leaf_nodes is not None:  # it decides both `max_leaves` and the policy
            params["grow_policy"] = "lossguide"
        return params | {
            "objective": objective,
            "tree_method": "hist",
            "disable_default_eval_metric": True,
            "verbosity": 1,  # warnings, as Python's
            "base_score": 0.0,
            # From XGBoost 3.4 on nothing else limits sets chosen for their noise; its own is 64.
            "max_cat_threshold": 4 if objective == _OBJECTIVES[True] else 64,
            **settings.engine_params,
        }

    def _make_callback(self, train: Any, held_out: Any, descent: Descent) -> Any:
        to_bytes = self.to_bytes

        # The class lives until the next garbage collection, its object does not: the rows are
        # attributes of the object.
        class AfterRound(self.module.callback.TrainingCallback):  # type: ignore[name-defined]  # imported lazily
            def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
                train, held_out, descent = self.state
                view = RoundView(  # scores of no rows are 0 x 0 with XGBoost 3.4
                    lambda: model.predict(train, output_margin=True, training=True).ravel(),
                    lambda: model.predict(held_out, output_margin=True).ravel(),
                    lambda n_rounds: to_bytes(model, n_rounds),
                )
                return bool(descent.after_round(view))

        callback = AfterRound()
        callback.state = train, held_out, descent
        return callback

    def _matrix(self, X: SelectedRows, settings: TreeSettings, **options: Any) -> Any:
        """Return rows in the engine's format, with binned features."""
        options = {**options, **_categories(X.shape[1], settings.categorical)}
        if settings.engine_params.get("tree_method", "hist") != "hist":
            options.pop("ref", None)
            return self._exact_matrix(X, settings, **options)
        options = {"max_bin": settings.max_bins, "nthread": settings.n_jobs, **options}
        if X.rows is None and not X.is_sparse:
            return self.module.QuantileDMatrix(X.matrix, **options)
        return self.module.QuantileDMatrix(self._dense_blocks(X, options), **options)

    def _exact_matrix(self, X: SelectedRows, settings: TreeSettings, **options: Any) -> Any:
        """Return rows in the engine's format, with their values."""
        return self.module.DMatrix(_dense(X.copied()), nthread=settings.n_jobs, **options)

    def _dense_blocks(self, X: SelectedRows, options: dict[str, Any]) -> Any:
        """Return the engine's iterator over dense blocks of rows."""
        label, group = options.pop("label", None), options.pop("group", None)
        types = {k: options.pop(k) for k in ("feature_types",) if k in options}
        # For rows in blocks the engine wants the query of each row.
        qid = None if group is None else np.repeat(np.arange(len(group)), group)

        class DenseBlocks(self.module.DataIter):  # type: ignore[name-defined]  # imported lazily
            def next(self, input_data: Any) -> bool:
                block = next(self.blocks, None)
                if block is None:
                    return False
                rows, columns, types = self.state
                present = {k: v[block] for k, v in columns.items() if v is not None}
                input_data(data=_dense(rows[block].copied()), **present, **types)
                return True

            def reset(self) -> None:
                rows = self.state[0]
                # A process without rows gives one empty block: the engine asks for a block.
                self.blocks = iter((slice(0, 0),))
                if rows.shape[0]:
                    sparse_blocks = _blocks(rows) if rows.is_sparse else None
                    self.blocks = sparse_blocks or blocks(rows.shape[0], rows.rows_in_part)

        iterator = DenseBlocks()
        iterator.state = X, {"label": label, "qid": qid}, types
        iterator.reset()
        return iterator

    def to_bytes(self, booster: Any, n_rounds: int) -> bytes:
        """Return the first rounds of a booster."""
        is_all = n_rounds == booster.num_boosted_rounds()
        return bytes((booster if is_all else booster[:n_rounds]).save_raw("ubj"))

    def with_neutral_sides(self, stored: bytes, medians: Floats, first_tree: int) -> bytes:
        """Return trees that send missing values to the median's side if training had none."""
        model = json.loads(self.from_bytes(stored, 1).save_raw("json"))
        forest = model["learner"]["gradient_booster"]["model"]
        for tree in forest["trees"][forest["iteration_indptr"][first_tree] :]:
            median = medians[tree["split_indices"]].astype(np.float32)
            is_left = median < np.array(tree["split_conditions"], dtype=np.float32)
            is_split = np.array(tree["left_children"]) >= 0
            is_neutral = is_split & (np.array(tree["split_type"]) == 0) & ~np.isnan(median)
            default_left = np.where(is_neutral, is_left, tree["default_left"])
            tree["default_left"] = default_left.astype(int).tolist()
        return bytes(self.from_bytes(json.dumps(model).encode(), 1).save_raw("ubj"))

    def from_bytes(self, stored: bytes, n_threads: int) -> Any:
        """Return a booster."""
        booster = self.module.Booster()
        booster.load_model(bytearray(stored))
        booster.set_param({"nthread": n_threads})
        booster.save_config()  # applies the threads now, not while several threads score
        return booster

    def scores(self, booster: Any, X: Any, n_threads: int, first: int, last: int) -> Floats:
        """Return the sum of some rounds of trees."""
        options = {"predict_type": "margin", "iteration_range": (first, last), "missing": np.nan}
        if not issparse(X):
            return np.asarray(booster.inplace_predict(X, **options))
        scores = [booster.inplace_predict(_dense(X[block]), **options) for block in _blocks(X)]
        return np.concatenate(scores)

    def contributions(self, booster: Any, X: Any, n_threads: int) -> Floats:
        """Return Shapley values, the constant last."""
        types = booster.feature_types
        options = {"feature_types": types, "enable_categorical": types is not None}
        values = []
        for block in _blocks(X):
            # Beyond single precision numbers become infinite, which this call refuses.
            rows = np.clip(_dense(X[block]), -_LARGEST_SINGLE, _LARGEST_SINGLE)
            matrix = self.module.DMatrix(rows, nthread=n_threads, **options)
            values.append(booster.predict(matrix, pred_contribs=True))
        return np.concatenate(values).astype(np.float64)

    def importances(self, booster: Any, n_features: int) -> Floats:
        """Return the total gain of each feature's splits."""
        gain = np.zeros(n_features)
        for name, value in booster.get_score(importance_type="total_gain").items():
            gain[int(name.removeprefix("f"))] = value
        return gain


def _categories(n_features: int, categorical: tuple[int, ...]) -> dict[str, Any]:
    """Return the options of a matrix of the engine that mark features as categories."""
    if not categorical:
        return {}
    types = ["c" if j in categorical else "q" for j in range(n_features)]
    return {"feature_types": types, "enable_categorical": True}


def _dense(rows: Any) -> Floats:
    """Return rows as a dense matrix, with the zeros that a sparse one does not store."""
    return rows.toarray() if issparse(rows) else rows


def _blocks(X: Any) -> Iterator[slice]:
    """Return blocks of rows that are small enough to be made dense."""
    return blocks(X.shape[0], max(1, _BLOCK_VALUES // X.shape[1]))
