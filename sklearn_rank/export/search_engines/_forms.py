"""The formats of the plugins of Elasticsearch and OpenSearch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import count
from typing import Any

from sklearn_rank.export.search_engines._nodes import Leaf, Node, next_single
from sklearn_rank.export.search_engines._scores import exported, names_of


def _all_trees(model: Any, form: str) -> list[Node]:
    """Return the trees of a model; the constant, unless it is 0, is a leaf at the end."""
    owner, trees, constant = exported(model)
    if isinstance(trees, list):
        return [*trees, Leaf(constant)] if constant or not trees else trees
    raise ValueError(f"{owner} is linear with these parameters; use to_linear_json, not {form}.")


def to_ranklib(model: Any) -> str:
    """Write boosted stumps or trees in the XML of RankLib, of type ``model/ranklib``.

    The score is the sum of the trees, whose weights are 1. A row goes to the left where the feature
    is at most the threshold, both in single precision. Features are numbered from 1, in the order
    of the columns of X: the feature set must have the same order.

    Parameters
    ----------
    model : ranker or Pipeline
        Fitted: `BoostedTreesRanker` of any engine, or `RankBoost`, `PNormPushRanker` or
        `SmoothMarginRanker` with stumps.

    Returns
    -------
    str
        The model, with the name of RankLib's LambdaMART in its first line.

    Raises
    ------
    TypeError
        If the ranker cannot be written for search engines.
    ValueError
        If the model is linear, or has parts that the format does not support: categories, learned
        branches for missing values, other weak rankers, steps of a pipeline.

    Notes
    -----
    The scores are those of `predict` or, in binary mode, of `decision_function`, on
    single-precision features. The plugins also add in single precision.

    Examples
    --------
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.export.search_engines import to_ranklib
    >>> ranker = RankBoost(n_estimators=1).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> lines = to_ranklib(ranker).splitlines()
    >>> lines[0]
    '## LambdaMART'
    >>> lines[-1].partition("<split pos")[0]
    '<ensemble><tree id="1" weight="1.0"><split><feature>1</feature><threshold>2.5</threshold>'
    """
    trees = _all_trees(model, "RankLib's XML")
    # RankLib takes the first child of an element for its content: no white space between them.
    texts = [
        f'<tree id="{tree_id}" weight="1.0"><split>{_ranklib_node(tree)}</split></tree>'
        for tree_id, tree in enumerate(trees, 1)
    ]
    return f"## LambdaMART\n<ensemble>{''.join(texts)}</ensemble>\n"


def _ranklib_node(node: Node) -> str:
    if isinstance(node, Leaf):
        return f"<output>{node.value!r}</output>"
    return (
        f"<feature>{node.feature + 1}</feature><threshold>{node.limit!r}</threshold>"
        f'<split pos="left">{_ranklib_node(node.left)}</split>'
        f'<split pos="right">{_ranklib_node(node.right)}</split>'
    )


def to_xgboost_json(model: Any, *, feature_names: Sequence[str] | None = None) -> str:
    """Write boosted stumps or trees as XGBoost's JSON dump, of type ``model/xgboost+json``.

    It is a list of trees, whose leaf values are added. A row goes to the child ``yes`` where the
    feature is less than ``split_condition``, both in single precision.

    Parameters
    ----------
    model : ranker or Pipeline
        Fitted: `BoostedTreesRanker` of any engine, or `RankBoost`, `PNormPushRanker` or
        `SmoothMarginRanker` with stumps.
    feature_names : sequence of str of length n_features, default=None
        Names of the features in the search engine. None: those of the training X.

    Returns
    -------
    str
        The model.

    Raises
    ------
    TypeError
        If the ranker cannot be written for search engines, or if names are not strings.
    ValueError
        If the model is linear, or has parts that the format does not support: categories, learned
        branches for missing values, other weak rankers, steps of a pipeline; or if names are
        absent, repeated or too few.

    Notes
    -----
    The scores are those of `predict`, in binary mode of `decision_function`. The child ``missing``
    of each split is the one that 0 goes to: a feature without a value counts as 0, as in the other
    forms. Versions of the plugins that do not read ``missing`` either put 0 in its place
    (Elasticsearch) or send it to the child ``no`` (OpenSearch).

    Examples
    --------
    >>> from sklearn_rank import RankBoost
    >>> from sklearn_rank.export.search_engines import to_xgboost_json
    >>> ranker = RankBoost(n_estimators=1).fit([[1.0], [2.0], [3.0]], [0, 0, 1])
    >>> to_xgboost_json(ranker, feature_names=["title"])[:44]
    '[{"nodeid": 0, "depth": 0, "split": "title",'
    """
    trees, names = _all_trees(model, "XGBoost's JSON"), names_of(model, feature_names)
    return json.dumps([_xgboost_node(tree, names, count(), 0) for tree in trees])


def _xgboost_node(node: Node, names: list[str], ids: count[int], depth: int) -> dict[str, Any]:
    node_id = next(ids)
    if isinstance(node, Leaf):
        return {"nodeid": node_id, "leaf": node.value}
    left = _xgboost_node(node.left, names, ids, depth + 1)
    right = _xgboost_node(node.right, names, ids, depth + 1)
    yes, no = left["nodeid"], right["nodeid"]
    return {
        "nodeid": node_id,
        "depth": depth,
        "split": names[node.feature],
        "split_condition": next_single(node.limit),  # x < next is x <= limit
        "yes": yes,
        "no": no,
        "missing": yes if node.limit >= 0 else no,
        "children": [left, right],
    }


def to_linear_json(
    model: Any, *, feature_names: Sequence[str] | None = None, drop_constant: bool = False
) -> str:
    """Write a linear model as weights by feature, of type ``model/linear``.

    Parameters
    ----------
    model : ranker or Pipeline
        Fitted: `ListNetLinear`, `KernelPairwiseSGDRanker` with ``kernel="linear"``, or a booster
        with ``weak_ranker="feature"``. StandardScaler and MinMaxScaler (without clip) before it are
        folded into the weights, as are steps that only select columns.
    feature_names : sequence of str of length n_features, default=None
        Names of the features in the search engine. None: those of the training X.
    drop_constant : bool, default=False
        Whether to drop a constant that the model adds to each score (its offset in binary mode, the
        shift of a scaler), which the format does not support. The order is the same.

    Returns
    -------
    str
        The model.

    Raises
    ------
    TypeError
        If the ranker cannot be written for search engines, or if names are not strings.
    ValueError
        If the model is not linear, has a step that cannot be folded in, or adds a constant; or if
        names are absent, repeated or too few.

    Examples
    --------
    >>> from sklearn_rank import ListNetLinear
    >>> from sklearn_rank.export.search_engines import to_linear_json
    >>> ranker = ListNetLinear(alpha=1.0).fit([[1.0], [2.0], [3.0]], [0, 1, 2])
    >>> to_linear_json(ranker, feature_names=["title"])[:10]
    '{"title": '
    """
    owner, weights, constant = exported(model)
    names = names_of(model, feature_names)
    if isinstance(weights, list):
        raise ValueError(f"{owner} is not linear: it cannot be exported as weights.")
    if constant != 0 and not drop_constant:
        raise ValueError(
            f"{owner} adds the constant {constant:g} (of the offset in binary mode and "
            "of scaling), which per-feature weights cannot express. It does not change the order: "
            "drop_constant=True drops it."
        )
    return json.dumps(dict(zip(names, weights.tolist(), strict=True)))
