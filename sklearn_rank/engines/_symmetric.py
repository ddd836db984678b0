"""Symmetric trees of our own, in NumPy, as an engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse
from scipy.special import expit

from sklearn_rank._bins.binned_features import Binning, FeatureBins, rows_for_thresholds
from sklearn_rank._core.parallel import ThreadPool
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.selected import Selection
from sklearn_rank.engines._symmetric_leaves import chains_of, leaf_values
from sklearn_rank.engines._symmetric_splits import PRIOR_ROWS, Split, SplitSearch, leaf_of
from sklearn_rank.engines.engine import Descent, Engine, RoundView, TreeData, TreeSettings
from sklearn_rank.engines.symmetric_trees import SymmetricTrees

_LEAST_SHARE = 1e-100
"""Share of all weight below which a row has this one in the noise: squares stay finite."""


class Symmetric(Engine):
    """Symmetric trees in NumPy."""

    name: ClassVar[str] = "symmetric"
    needs_package: ClassVar[bool] = False
    keeps_zeros_sparse: ClassVar[bool] = False
    defaults: ClassVar[dict[str, float]] = {"reg_lambda": 1.0, "min_child_weight": 0.0}
    own_names: ClassVar[dict[str, str]] = {}
    loss: ClassVar[str] = "exponential"
    auto: ClassVar[dict[str, Any]] = {
        "max_depth": 6,
        "max_leaf_nodes": None,
        "max_bins": 128,
        "subsample": 0.7,
        "colsample": 1.0,
    }
    max_depth: ClassVar[int] = 8

    def learning_rate(self, n_estimators: int, n_rows: float, n_rarer: float) -> float:
        r"""Return the learning rate that is "auto".

        .. math:: \min(1/2, e^{.427 \ln m - 7.525} (T / 1000)^{-.917}), \qquad
            m = 4 n_+ (1 - n_+ / n)

        It is that of CatBoost for T trees and n rows of balanced classes. The rows of the rarer
        class tell how far to go: m is the number of balanced rows that know as much.
        """
        share = min(n_rarer / n_rows, 0.5)
        log_rows = np.log(4 * n_rows * share * (1 - share))
        return float(min(0.5, np.exp(0.427 * log_rows - 7.525) * (n_estimators / 1000) ** -0.917))

    def refused(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield what the engine can't take."""
        if settings["loss"] == "ndcg":
            yield "loss", "another loss: 'ndcg' is the objective of LightGBM and XGBoost"
        if settings["engine_params"]:
            yield "engine_params", "None: they are parameters of LightGBM and XGBoost"
        if settings["max_leaf_nodes"] not in ("auto", None):
            yield "max_leaf_nodes", "'auto' or None: a tree has 2 ** max_depth leaves"
        if settings["min_samples_leaf"] is not None:
            yield "min_samples_leaf", "None: leaves of few rows are damped by reg_lambda"
        if settings["min_child_weight"] not in ("auto", None, 0):
            yield (
                "min_child_weight",
                "'auto', None or 0: leaves of few rows are damped by reg_lambda",
            )

    @property
    def error(self) -> tuple[()]:
        """No error is its own."""
        return ()

    def train(self, settings: TreeSettings, rows: TreeData, descent: Descent) -> None:
        """Grow trees round by round."""
        assert rows.weighted is not None and rows.weight is not None
        bins = _find_bins(rows.weighted, settings)
        codes = _encoded(rows.X, bins)
        held_out = None if rows.held_out is None else _encoded(rows.held_out, bins)
        with ThreadPool(settings.n_jobs, codes.size).running() as threads:
            search = SplitSearch(
                codes, bins, rows.weight, settings.monotonic_cst, settings.max_depth, threads
            )
            _grow_trees(settings, search, descent, rows.start, held_out)

    def to_bytes(self, booster: SymmetricTrees, n_rounds: int) -> bytes:
        """Return the first rounds."""
        return booster[:n_rounds].to_bytes()

    def from_bytes(self, stored: bytes, n_threads: int) -> SymmetricTrees:
        """Return the trees."""
        return SymmetricTrees.from_bytes(stored)

    def scores(
        self, booster: SymmetricTrees, X: Any, n_threads: int, first: int, last: int
    ) -> Floats:
        """Return the sum of some trees."""
        return booster.scores(X, first, last)

    def contributions(self, booster: SymmetricTrees, X: Any, n_threads: int) -> Floats:
        """Return Shapley values, the constant last."""
        return booster.contributions(X)

    def importances(self, booster: SymmetricTrees, n_features: int) -> Floats:
        """Return the total gain of each feature's splits."""
        return booster.importances(n_features)


def _grow_trees(
    settings: TreeSettings,
    search: SplitSearch,
    descent: Descent,
    start: SymmetricTrees | None,
    held_out: Indices | None,
) -> None:
    """Grow trees until `descent` says to stop; `held_out` are the bins of rows to be scored."""
    random = np.random.default_rng(settings.random_state)
    weight, rate, n_features = search.weight, settings.learning_rate, len(search.bins)
    n_rows, ridge = float(weight.sum()), settings.reg_lambda
    ridge = Symmetric.defaults["reg_lambda"] if ridge is None else ridge
    at_least = np.maximum(weight, _LEAST_SHARE * n_rows)
    trees: list[SymmetricTrees] = [] if start is None else [start]
    scores = descent.scores.astype(np.float64)
    held_out_scores = np.zeros(0 if held_out is None else held_out.shape[1])

    def stored(n_rounds: int) -> bytes:
        return SymmetricTrees.joined(trees)[:n_rounds].to_bytes()

    n_before = 0 if start is None else len(start)
    for number in range(n_before, n_before + settings.n_estimators):
        gradient = descent.gradient()[0].astype(np.float64)
        # 1. The rows and the features that choose the splits.
        drawn = search.draw(settings.subsample, random.random(len(weight)))
        is_open = random.permutation(n_features) < max(1, round(settings.colsample * n_features))
        # 2. Splits by noisy scores. The noise is the sampling error of a score; it falls to
        # nothing as rate times trees passes the logarithm of the rows.
        noise = np.sqrt((gradient**2 / at_least).sum() / n_rows)
        noise *= expit(np.log(n_rows) - rate * number)
        splits, leaf = search.grow(
            gradient, drawn, settings.subsample, is_open, noise, random.standard_normal
        )
        # 3. Values of the leaves by Newton steps, on all rows.
        n_leaves, chains = 1 << len(splits), chains_of(splits, search.sign)
        values = rate * leaf_values(descent, scores, leaf, n_leaves, ridge, chains)
        trees.append(_tree(splits, search.bins, leaf, gradient, weight, values))
        scores = scores + values[leaf]
        if held_out is not None:
            held_out_scores = held_out_scores + values[leaf_of(splits, held_out)]
        view = RoundView(partial(np.asarray, scores), partial(np.asarray, held_out_scores), stored)
        if descent.after_round(view):
            break


def _find_bins(data: Rows, settings: TreeSettings) -> list[FeatureBins]:
    """Return the bins of each feature."""
    X = Selection.of(data.X)
    chosen, weight = rows_for_thresholds(data)
    sample = X[chosen].copied()
    sample = sample.toarray() if issparse(sample) else sample
    n_categories = {j: 1 + int(np.fmax.reduce(X[:, j], initial=0.0)) for j in settings.categorical}
    binning = Binning(settings.max_bins, n_categories=n_categories)
    return binning.of_sample(np.asarray(sample, dtype=np.float64), weight)


def _encoded(X: Selection, bins: Sequence[FeatureBins]) -> Indices:
    """Return the bin of each value, one line for each feature."""
    largest = max(feature.n_bins for feature in bins)
    codes = np.empty((len(bins), X.shape[0]), dtype=np.min_scalar_type(largest - 1))
    first = 0
    for part in X.parts():
        rows = slice(first, first + part.shape[0])
        columns = (part.toarray() if issparse(part) else part).T
        for line, feature, x in zip(codes, bins, columns, strict=True):
            line[rows] = feature.encode(np.ascontiguousarray(x, dtype=np.float64))
        first = rows.stop
    return codes


def _tree(
    splits: Sequence[Split],
    bins: Sequence[FeatureBins],
    leaf: Indices,
    gradient: Floats,
    weight: Floats,
    values: Floats,
) -> SymmetricTrees:
    """Return one tree as arrays."""
    n_leaves, depth = len(values), len(splits)
    n_categories = max((len(b.categories) for b in bins if b.categories is not None), default=0)
    goes_right = np.zeros((depth, n_categories), dtype=bool)
    threshold = np.full(depth, np.nan)
    for level, split in enumerate(splits):
        feature, right = bins[split.feature], split.goes_right[:-1]
        if feature.categories is None:
            # The last bin ends nowhere: a split after it tells missing values alone.
            ends = np.append(feature.thresholds, np.inf)
            threshold[level] = ends[np.count_nonzero(~right) - 1]
        else:
            goes_right[level, : len(right)] = right
    sums: list[Any] = [np.bincount(leaf, of, n_leaves) for of in (gradient, weight)]
    arrays: tuple[Any, ...] = (
        np.array([split.feature for split in splits], dtype=np.int32),
        threshold,
        np.array([split.goes_right[-1] for split in splits], dtype=bool),
        np.array([not split.is_taught for split in splits], dtype=bool),
        goes_right,
        _gains(sums[0], sums[1], depth),
        sums[1],
        values,
    )
    return SymmetricTrees(*(array[np.newaxis] for array in arrays))


def _gains(gradient: Floats, weight: Floats, depth: int) -> Floats:
    """Return by how much each level raised the sum of ``G ** 2 / (N + q)`` over its leaves."""
    sums = []
    for level in range(depth, -1, -1):
        G, N = (x.reshape(1 << level, -1).sum(axis=1) for x in (gradient, weight))
        sums.append(float((G**2 / (N + PRIOR_ROWS)).sum()))
    return np.maximum(-np.diff(sums)[::-1], 0.0)
