"""A ranker that learns from pairs of items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from sklearn_rank._core.callbacks import stamped_state, take_state
from sklearn_rank._core.given_pairs import GivenPairs
from sklearn_rank._core.protocols import Floats, Indices
from sklearn_rank._core.rows import Rows
from sklearn_rank._core.sums import shared_property
from sklearn_rank.engines.posed_objective import is_listwise
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost
from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker
from sklearn_rank.pairs._given import check_weighted_pairs, items_and_pairs, share_in_order

_BOOSTERS = PNormPushRanker, RankBoost, SmoothMarginRanker
_RANKERS = (BoostedTreesRanker, KernelPairwiseSGDRanker, *_BOOSTERS)

_ALLOWED = {"n_iter_no_change": None, "warm_start": False, "batch_size": None, "n_bags": 1}
"""The only value of some parameters with which pairs can be fitted."""

_SMALLEST_WEIGHT, _LARGEST_WEIGHT = -200, 80
"""Binary exponents between which weights of pairs stay unscaled: sums are far from overflow."""


class PairRanker(BaseEstimator):
    r"""Fit a ranker to pairs (winner, loser) of items: duels, A/B preferences, annotations.

    Use it when you have pairwise preferences instead of grades. Items are rows of X, which is
    stored once; a pair is two row numbers and may have a weight. New items are scored from their
    features; for items without features, see `BradleyTerry`.

    It minimises the ranker's objective over the given pairs instead of pairs from relevance,

    .. math:: \frac{\sum_j w_j \, \phi(f(x_{i_j}) - f(x_{k_j}))}{\sum_j w_j}

    (for the exponential loss, the logarithm of the sum), where :math:`i_j` is the winner of pair j,
    :math:`k_j` its loser and :math:`w_j` its weight, :math:`\phi` the loss and f the scores of the
    ranker, with its penalty. With ``p > 1``, the losses of the pairs that an item loses are summed,
    :math:`H_k = \sum_{j : k_j = k} w_j \, \phi`, and it minimises :math:`(\sum_k H_k^p / \sum_k
    N_k^p)^{1/p}`, with :math:`N_k` the weight of these pairs (for the exponential loss,
    :math:`\frac1p \log \sum_k H_k^p`): the plain sum of Rudin2009, sec. 7, in which an item that
    loses more often counts more. The cost of an iteration grows with the numbers of items and of
    pairs. With ``p=1``, the model is the same as when every pair is its own query of two rows.
    Trees are the exception: with ``subsample`` below 1 they draw items, not pairs; LightGBM takes
    its thresholds from the items, each counted once, and counts items for ``min_samples_leaf``,
    whose default also depends on the number of items. For trees, items with equal features are
    merged with ``p=1``, and keep their own heights otherwise.

    Parameters
    ----------
    ranker : ranker, Pipeline or None, default=None
        The ranker, which is cloned and fitted with ``relevance="graded"``. A `BoostedTreesRanker`,
        `KernelPairwiseSGDRanker`, `PNormPushRanker`, `RankBoost` or `SmoothMarginRanker` with a
        pairwise loss, a push other than "ir", and no early stopping or bags; or a pipeline that
        ends in one, whose other steps see each item once. None means ``PNormPushRanker(p=1,
        loss="logistic")``, logistic stumps.

    Attributes
    ----------
    ranker_ : ranker or Pipeline
        The fitted ranker, which can explain rows and be exported, for example to ONNX.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if all are strings.
    n_pairs_ : int
        Number of pairs with positive weight.

    See Also
    --------
    BradleyTerry : Scores of items without features.
    PairTable : Items and pairs as one object, for searches and cross-validation.

    References
    ----------
    Freund2003, sec. 2 (weights of single pairs, of the exponential loss). Rudin2009, sec. 7 (the
    sum of p-th powers). The mean loss of listed pairs and the norm are defined here.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.pairs import PairRanker
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> pairs = [(1, 0), (2, 1), (3, 2), (3, 0)]  # winner, loser
    >>> ranker = PairRanker().fit(X, pairs)
    >>> ranker.predict(X).argsort()
    array([0, 1, 2, 3])
    >>> ranker.score(X, pairs)
    1.0

    A linear model, the logistic regression of differences:

    >>> from sklearn_rank import KernelPairwiseSGDRanker
    >>> linear = PairRanker(KernelPairwiseSGDRanker(kernel="linear", alpha=0.1))
    >>> bool(linear.fit(X, pairs).ranker_.coef_[0] > 0)
    True
    """

    __getstate__, __setstate__ = stamped_state, take_state

    def __init__(self, ranker: Any = None) -> None:
        self.ranker = ranker

    def fit(self, X: Any, pairs: Any = None, *, sample_weight: Any = None) -> Self:
        """Fit the ranker to pairs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features) or PairTable
            Features of the items, or items and pairs together.
        pairs : array-like of shape (n_pairs, 2), default=None
            Rows of X: the winner and the loser of each pair. None: X is a `PairTable`.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities: a weight of 2 is equivalent to duplicating the pair, 0 to removing it.

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        TypeError
            If `ranker` cannot learn from pairs.
        ValueError
            If a parameter of `ranker` or an array is invalid, for example if a winner is its own
            loser, an index is out of range or a weight is negative.
        """
        X, pairs = items_and_pairs(X, pairs)
        # 1. A clone of the ranker, in graded mode.
        model = PNormPushRanker(p=1, loss="logistic") if self.ranker is None else self.ranker
        _check_supported(model[-1] if isinstance(model, Pipeline) else model)
        model = clone(model)
        ranker = model[-1] if isinstance(model, Pipeline) else model
        ranker.set_params(relevance="graded")
        # 2. The items, each once, through the first steps of a pipeline; then their pairs.
        if isinstance(model, Pipeline) and len(model) > 1:
            X = model[:-1].fit_transform(X)
        X = ranker.check_items(X)
        pairs, weight = check_weighted_pairs("PairRanker", pairs, X.shape[0], sample_weight)
        items = PairedItems.from_pairs(X, pairs, weight)
        items = replace(items, has_heights=getattr(ranker, "p", 1) > 1)
        # 3. What the ranker's own `fit` does, with these pairs instead of those of relevance.
        ranker.check_training(items)
        ranker.set_fitted(ranker.fit_rows(items))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))
        self.n_pairs_ = len(pairs)
        self.ranker_ = model
        return self

    def predict(self, X: Any) -> Floats:
        """Return the score of each item.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_items,)
            Higher for items that win. With the logistic loss, the difference of two scores is the
            log-odds that the first wins.
        """
        check_is_fitted(self)
        return np.asarray(self.ranker_.predict(X))

    def score(self, X: Any, pairs: Any = None, *, sample_weight: Any = None) -> float:
        """Return the weighted share of correctly ordered pairs; ties count one half.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_items, n_features) or PairTable
            Features of the items, or items and pairs together.
        pairs : array-like of shape (n_pairs, 2), default=None
            Rows of X: the winner and the loser of each pair. None: X is a `PairTable`.
        sample_weight : float or array-like of shape (n_pairs,), default=None
            Multiplicities of the pairs.

        Returns
        -------
        float
            Between 0 and 1, greater is better.
        """
        check_is_fitted(self)
        X, pairs = items_and_pairs(X, pairs)
        scores = self.predict(X)
        pairs, weight = check_weighted_pairs("PairRanker", pairs, len(scores), sample_weight)
        return share_in_order(scores, pairs, weight)

    def __sklearn_tags__(self) -> Tags:
        """Return the ranker's tags for X; pairs are required."""
        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.target_tags.required = "ranker", True
        if hasattr(self.ranker, "__sklearn_tags__"):
            tags.input_tags = self.ranker.__sklearn_tags__().input_tags
        return tags


def _check_supported(ranker: Any) -> None:
    """Raise TypeError or ValueError for rankers and settings that cannot learn from pairs."""
    if not isinstance(ranker, _RANKERS):
        names = ", ".join(ranker_class.__name__ for ranker_class in _RANKERS)
        raise TypeError(
            f"The 'ranker' parameter of PairRanker must be one of {names}, or None. Got "
            f"{type(ranker).__name__}."
        )
    ranker.check_parameters()
    params = ranker.get_params(deep=False)
    unsupported = [name for name, value in _ALLOWED.items() if params.get(name, value) != value]
    if params.get("push") == "ir":
        unsupported.append("push")
    if is_listwise(params.get("loss")) or params.get("loss") == "ndcg":
        unsupported.append("loss")
    if hasattr(ranker, "solver_in_use") and ranker.solver_in_use.traits.needs_stumps:
        unsupported.append("solver")
    if unsupported:
        raise ValueError(
            f"PairRanker can't fit {type(ranker).__name__} with "
            f"{', '.join(f'{name}={params[name]!r}' for name in unsupported)}: pairs have no list "
            "and no grades, and each fit starts from scratch on all of them."
        )


@dataclass(frozen=True, eq=False)
class PairedItems(Rows):
    """Rows to learn from that pairs compare, instead of relevance.

    Attributes
    ----------
    above, below : ndarray of shape (n_pairs,)
        Rows of each pair: the first belongs above the second.
    pair_weight : ndarray of shape (n_pairs,)
        Positive multiplicities of the pairs.
    has_heights : bool, default=False
        Whether each item has a height of its own, so that equal rows stay apart.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.pairs.pair_ranker import PairedItems
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> rows = PairedItems.from_pairs(X, np.array([[0, 1], [2, 1]]), np.ones(2))
    >>> rows.weight
    array([1., 2., 1.])
    >>> rows.distinct().weight
    array([2., 2.])
    """

    above: Any = None
    below: Any = None
    pair_weight: Any = None
    has_heights: bool = False

    @classmethod
    def from_pairs(cls, X: Any, pairs: Indices, pair_weight: Floats) -> PairedItems:
        """Return the rows of X with their pairs, of shape (n_pairs, 2), of positive weight."""
        # Contiguous columns: every sum over pairs reads each on its own.
        above, below = (np.ascontiguousarray(pairs[:, side], dtype=np.intp) for side in (0, 1))
        weight = GivenPairs(X.shape[0], above, below, pair_weight).weight
        rows = cls(X, np.zeros(len(weight)), None, weight, None, None, None, None)
        return replace(rows, above=above, below=below, pair_weight=pair_weight)

    @shared_property
    def preferences(self) -> GivenPairs:
        """The pairs."""
        return GivenPairs(len(self.y), self.above, self.below, self.pair_weight)

    def take(self, rows: Indices, weight: Floats | None = None) -> PairedItems:
        """Return some of the rows, with the pairs that have both rows among them."""
        new_row = np.full(len(self.y), -1)
        new_row[rows] = np.arange(len(rows))
        above, below = new_row[self.above], new_row[self.below]
        is_kept = (above >= 0) & (below >= 0)
        return self._at(rows, weight, above[is_kept], below[is_kept], self.pair_weight[is_kept])

    def distinct(self) -> PairedItems:
        """Merge equal rows; the order is that of a hash of the features."""
        if self.has_heights:
            return self.take(np.argsort(self.row_hash, kind="stable"))
        _, first, new_row = np.unique(self.row_hash, return_index=True, return_inverse=True)
        weight = np.bincount(new_row, self.weight).astype(np.float64, copy=False)
        return self._at(first, weight, new_row[self.above], new_row[self.below], self.pair_weight)

    def _at(
        self, rows: Indices, weight: Floats | None, above: Indices, below: Indices, pairs: Floats
    ) -> PairedItems:
        """Return some of the rows with given pairs and pair weights."""
        data = cast("PairedItems", super().take(rows, weight))
        return replace(data, above=above, below=below, pair_weight=pairs)

    def with_moderate_weights(self) -> PairedItems:
        """Return rows whose sums of weights neither underflow nor overflow.

        Where the largest weight of a pair lies outside [2^-200, 2^80] all are multiplied by one
        power of two: very small ones so that it is about one, very large ones so that it is about
        2^80.
        """
        exponent = int(np.frexp(self.pair_weight.max())[1])
        if _SMALLEST_WEIGHT <= exponent <= _LARGEST_WEIGHT:
            return self
        new_exponent = 0 if exponent < 0 else _LARGEST_WEIGHT
        with np.errstate(under="ignore"):
            weight = np.ldexp(self.pair_weight, new_exponent - exponent)
        pairs = GivenPairs(len(self.y), self.above, self.below, np.clip(weight, 2.0**-1000, None))
        return replace(self, weight=pairs.weight, pair_weight=pairs.pair_weight)
