"""The forms that Solr's learning-to-rank module reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sklearn_rank._core.warnings import warn
from sklearn_rank.export.search_engines._forms import linear_score
from sklearn_rank.export.search_engines._nodes import Leaf, Node, Split, nodes_of
from sklearn_rank.export.search_engines._scores import LinearScore, TreeScore, exported
from sklearn_rank.export.search_engines.tree_arrays import LARGEST_ZERO

_SLACK = np.float32(1e-6)
"""What Solr adds to each threshold, in single precision."""

_CLASS = "org.apache.solr.ltr.model."


def to_solr(
    model: Any,
    name: str,
    *,
    feature_names: Sequence[str] | None = None,
    store: str | None = None,
    drop_constant: bool = False,
) -> dict[str, Any]:
    """Return a model of Solr: ``LinearModel`` or ``MultipleAdditiveTreesModel``.

    It is for ``PUT /solr/COLLECTION/schema/model-store``. A row goes to the left where the feature
    is at most the threshold plus 1e-6, which Solr adds. The thresholds are written less this, so
    that Solr compares with those of the model.

    Parameters
    ----------
    model : ranker or Pipeline
        Fitted: `ListNetLinear`, `KernelPairwiseSGDRanker` with ``kernel="linear"``,
        `BoostedTreesRanker` of either engine, or a booster of stumps or features. StandardScaler
        and MinMaxScaler (without clip) before a linear one are folded in.
    name : str
        Name of the model in Solr.
    feature_names : sequence of str of length n_features, default=None
        Names of the features in Solr. None: those of the X that the model was fitted to.
    store : str, default=None
        Name of the feature store that has the features. None: Solr's default.
    drop_constant : bool, default=False
        Whether a linear model leaves out the constant that it adds to each score, for which the
        form has no place. The order is the same.

    Returns
    -------
    dict
        The model, for ``json.dumps``.

    Raises
    ------
    TypeError
        When the ranker has no form for search engines, or names are no texts.
    ValueError
        When the model holds what the form can't: categories, learned branches of missing values,
        kernels, pairs of features, other weak rankers, a constant of a linear model, steps of a
        pipeline; or when names are absent, repeated or too few.

    Warns
    -----
    UserWarning
        When nothing that can be written gives, with 1e-6 added in single precision, the threshold
        of the model. This happens nearer to 0 than 4e-6, and from minus a power of two, such as -1,
        to 1e-6 above it. The nearest is written, towards the side without training rows but never
        across 0, and features between both go the other way. 0 goes where the model sends it.

    Notes
    -----
    The scores are those of `predict`, in binary mode of `decision_function`. A feature without a
    value is Solr's default for it, 0.

    Examples
    --------
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.export.search_engines import to_solr
    >>> ranker = RankBoost(n_estimators=1).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> found = to_solr(ranker, "stumps", feature_names=["title"])
    >>> found["class"], found["features"]
    ('org.apache.solr.ltr.model.MultipleAdditiveTreesModel', [{'name': 'title'}])
    >>> found["params"]["trees"][0]["root"]["threshold"]
    '1.9999990463256836'
    """
    found = exported(model, feature_names, needs_names=True)
    if isinstance(found.score, LinearScore):
        kind = "LinearModel"
        score = linear_score(found, f"a {kind} of Solr", drop_constant=drop_constant)
        weights = dict(zip(found.names, score.weights.tolist(), strict=True))
        params: dict[str, Any] = {"weights": weights}
    else:
        kind = "MultipleAdditiveTreesModel"
        _warn_of_moved(found.score, found.owner)
        trees = found.score.all_trees()
        params = {"trees": [{"weight": "1.0", "root": _node(one, found.names)} for one in trees]}
    head = {} if store is None else {"store": store}
    features = [{"name": one} for one in found.names]
    return {**head, "class": _CLASS + kind, "name": name, "features": features, "params": params}


def _node(node: Node, names: list[str]) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"value": repr(node.value)}
    return {
        "feature": names[node.feature],
        "threshold": repr(_before_slack(node)[0]),
        "left": _node(node.left, names),
        "right": _node(node.right, names),
    }


def _before_slack(split: Split) -> tuple[float, float]:
    """Return the number to write for a limit, and the limit once Solr has added to it.

    Where that can't be the limit, it is the nearest on the side where no training rows were. 0
    stays on its side of the limit: features without a value have it, and special codes may be 0.
    """
    first = np.float32(split.limit) - _SLACK
    tried = [first, *(np.nextafter(first, np.float32(sign * np.inf)) for sign in (-1, 1))]

    def cost(written: np.float32) -> tuple[bool, bool, float]:
        reached = float(written + _SLACK)
        move, zero_moves = reached - split.limit, (reached < 0) != (split.limit < 0)
        is_wrong = (move > 0) == split.is_below and abs(move) > LARGEST_ZERO
        return zero_moves, is_wrong, abs(move)

    best = min(tried, key=cost)
    return float(best), float(best + _SLACK)


def _warn_of_moved(score: TreeScore, owner: str) -> None:
    """Warn of thresholds that Solr can't reach; up to `LARGEST_ZERO` LightGBM does not tell."""
    splits = [one for tree in score.trees for one in nodes_of(tree) if isinstance(one, Split)]
    distances = [abs(_before_slack(one)[1] - one.limit) for one in splits]
    moved = [one for one in distances if one > LARGEST_ZERO]
    if moved:
        warn(
            f"{owner}: {len(moved)} thresholds move by up to {max(moved):.1e} in Solr, which adds "
            "1e-6 to each in single precision.",
            UserWarning,
        )
