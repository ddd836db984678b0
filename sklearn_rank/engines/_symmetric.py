"""Our own symmetric trees, in NumPy, as an engine."""

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
from sklearn_rank._core.selected import SelectedRows
from sklearn_rank.engines._symmetric_leaves import chains_of, leaf_values
from sklearn_rank.engines._symmetric_splits import PRIOR_ROWS, LevelSplit, SplitSearch, leaf_of
from sklearn_rank.engines.engine import Descent, Engine, RoundView, TreeData, TreeSettings
from sklearn_rank.engines.symmetric_trees import SymmetricTrees

_LEAST_SHARE = 1e-100
"""Least share of all weight of a row in the scale of the noise: squares stay finite."""


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

        It is that of CatBoost for T trees and n rows of balanced classes. The rarer class limits
        the information in the rows: m is the equivalent number of balanced rows.
        """
        share = min(n_rarer / n_rows, 0.5)
        log_rows = np.log(4 * n_rows * share * (1 - share))
        return float(min(0.5, np.exp(0.427 * log_rows - 7.525) * (n_estimators / 1000) ** -0.917))

    def refused(self, settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the parameters that the engine does not support."""
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
        """The engine has no error class of its own."""
        return ()

    def train(self, settings: TreeSettings, rows: TreeData, descent: Descent) -> None:
        """Grow trees round by round."""
        assert rows.weighted is not None and rows.weight is not None
        bins = _find_bins(rows.weighted, settings)
        codes = _encoded(rows.X, bins)
        held_out = None if rows.held_out is None else _encoded(rows.held_out, bins)
        with ThreadPool(settings.n_jobs, codes.size).running() as threads:
            constraints = settings.monotonic_cst, settings.max_depth
            search = SplitSearch(codes, bins, rows.weight, *constraints, threads)
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
    r"""Boost symmetric trees until `descent` says to stop.

    With L the objective, f the scores, w the weights, which sum to n, and eta the learning rate (by
    default that of `Symmetric.learning_rate`), steps 1 to 8 are tree t, counted from 0. Sums over
    the rows of leaf l are :math:`G_l` of the gradient, :math:`H_l` of the curvature and :math:`N_l`
    of the weights.

    Parameters
    ----------
    settings : TreeSettings
        Parameters of the fit.
    search : SplitSearch
        The bins of the training rows, and the choice among their cuts.
    descent : Descent
        The objective, and the observer of each round.
    start : SymmetricTrees or None
        Trees of an earlier fit.
    held_out : ndarray of shape (n_features, n_held_out) or None
        Bins of rows that are scored after each round.
    """
    rng = np.random.default_rng(settings.random_state)
    weight, rate, subsample = search.weight, settings.learning_rate, settings.subsample
    n, n_features, n_cuts = float(weight.sum()), len(search.bins), len(search.cut_feature)
    ridge = settings.reg_lambda
    ridge = Symmetric.defaults["reg_lambda"] if ridge is None else ridge
    trees: list[SymmetricTrees] = [] if start is None else [start]
    # 0. The first scores, f_0: those of the earlier trees, if there are any.
    scores = descent.scores.astype(np.float64)
    held_out_scores = np.zeros(0 if held_out is None else held_out.shape[1])

    def stored(n_rounds: int) -> bytes:
        return SymmetricTrees.joined(trees)[:n_rounds].to_bytes()

    n_earlier = 0 if start is None else len(start)
    for t in range(n_earlier, n_earlier + settings.n_estimators):
        # 1. The gradient: g = dL / df.
        gradient = descent.gradient()[0].astype(np.float64)
        # 2. Draw the rows and the features that choose the splits, by default 70 % and all
        #    (`Symmetric.auto`). A merged row above 1 % of the weight is always drawn, with
        #    `subsample` of its weight. Many categories are ordered anew by rows not drawn.
        drawn_rows = search.draw(subsample, rng.random(len(weight)))
        is_allowed = rng.permutation(n_features) < max(1, round(settings.colsample * n_features))
        search.begin(gradient, drawn_rows, subsample)
        # 3. The scale of the noise is the sampling error of a score, and vanishes as eta t passes
        #    log n: sigma = sqrt(sum_i g_i^2 / w_i / n) * n / (n + exp(eta t)). It has the eta of
        #    this fit, for the trees of earlier fits too.
        sigma = np.sqrt((gradient**2 / np.maximum(weight, _LEAST_SHARE * n)).sum() / n)
        sigma *= expit(np.log(n) - rate * t)
        splits: list[LevelSplit] = []
        while n_cuts and len(splits) < settings.max_depth:
            # 4. Score each cut of all leaves: ||g|| times the cosine of g and the tree of values
            #    G_l / (N_l + 3), (sum_l G_l^2 / (N_l + 3)) / sqrt(sum_l N_l G_l^2 / (N_l + 3)^2),
            #    with G_l and N_l of the drawn rows over the share drawn. Children in an order that
            #    a constraint forbids get one value. Missing values try both sides.
            score = search.scores()
            # 5. Choose the best cut of each drawn feature by score + sigma * noise, with standard
            #    normal noise, and the best feature with noise drawn anew.
            cut = search.choose(score, is_allowed, sigma, rng.standard_normal)
            if cut is None:
                break
            # 6. Split every leaf: l <- 2 l + 1[the row goes right].
            splits.append(search.split_at(cut))
            search.divide(splits[-1])
        # 7. Values of the leaves, from all rows, by five Newton steps from v = 0:
        #    v_l <- v_l - G_l / (H_l + lambda), with g and h anew at f + v and lambda = `ridge`, by
        #    default 4 curvatures of a row of the rarer class (2 with the logistic loss).
        #    A step ends in the monotone order, and is halved while it raises L (`leaf_values`).
        leaf, chains = search.leaf, chains_of(splits, search.sign)
        values = rate * leaf_values(descent, scores, leaf, 1 << len(splits), ridge, chains)
        # 8. Keep the tree and take the step: f <- f + eta v, where `values` is eta v.
        trees.append(_tree(splits, search.bins, leaf, gradient, weight, values))
        scores = scores + values[leaf]
        if held_out is not None:
            held_out_scores = held_out_scores + values[leaf_of(splits, held_out)]
        state = RoundView(partial(np.asarray, scores), partial(np.asarray, held_out_scores), stored)
        if descent.after_round(state):
            break


def _find_bins(data: Rows, settings: TreeSettings) -> list[FeatureBins]:
    """Return the bins of each feature."""
    X = SelectedRows.of(data.X)
    rows, weight = rows_for_thresholds(data)
    sample = X[rows].copied()
    sample = sample.toarray() if issparse(sample) else sample
    n_categories = {j: 1 + int(np.fmax.reduce(X[:, j], initial=0.0)) for j in settings.categorical}
    binning = Binning(settings.max_bins, n_categories=n_categories)
    return binning.of_sample(np.asarray(sample, dtype=np.float64), weight)


def _encoded(X: SelectedRows, bins: Sequence[FeatureBins]) -> Indices:
    """Return the bin of each value, shape (n_features, n_rows)."""
    n_bins = max(feature.n_bins for feature in bins)
    codes = np.empty((len(bins), X.shape[0]), dtype=np.min_scalar_type(n_bins - 1))
    start = 0
    for block in X.parts():
        rows = slice(start, start + block.shape[0])
        columns = (block.toarray() if issparse(block) else block).T
        for code, feature, x in zip(codes, bins, columns, strict=True):
            code[rows] = feature.encode(np.ascontiguousarray(x, dtype=np.float64))
        start = rows.stop
    return codes


def _tree(
    splits: Sequence[LevelSplit],
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
        feature, is_right = bins[split.feature], split.goes_right[:-1]
        if feature.categories is None:
            # The last bin ends nowhere: a split after it tells missing values alone.
            upper_ends = np.append(feature.thresholds, np.inf)
            threshold[level] = upper_ends[np.count_nonzero(~is_right) - 1]
        else:
            goes_right[level, : len(is_right)] = is_right
    G, N = (np.bincount(leaf, x, n_leaves) for x in (gradient, weight))
    arrays: tuple[Any, ...] = (
        np.array([split.feature for split in splits], dtype=np.int32),
        threshold,
        np.array([split.goes_right[-1] for split in splits], dtype=bool),
        np.array([not split.saw_missing for split in splits], dtype=bool),
        goes_right,
        _gains(G, N, depth),
        N,
        values,
    )
    return SymmetricTrees(*(array[np.newaxis] for array in arrays))


def _gains(G: Any, N: Any, depth: int) -> Floats:
    """Return the increase of the sum of ``G ** 2 / (N + 3)`` over the leaves at each level."""
    totals = []
    for level in range(depth, -1, -1):
        g, n = (x.reshape(1 << level, -1).sum(axis=1) for x in (G, N))
        totals.append(float((g**2 / (n + PRIOR_ROWS)).sum()))
    return np.maximum(-np.diff(totals)[::-1], 0.0)
