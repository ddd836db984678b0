"""Contributions of the columns of X to the scores of the members of an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse
from sklearn import preprocessing as prep
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer

from sklearn_rank._core.protocols import Floats, Indices, Values
from sklearn_rank._core.rows import Rows, distinct_rows, hash_rows
from sklearn_rank._core.validation import categorical_positions
from sklearn_rank.ensemble.members import FrameRows, given_rows, member_scores

_COLUMNWISE = (prep.MaxAbsScaler, prep.MinMaxScaler, prep.OrdinalEncoder, prep.StandardScaler)
"""Steps that make each feature from the column at its position."""

_N_BACKGROUND = 50
"""Training rows to which sampled contributions refer."""

_MOST = 1000
"""Most rows, and columns, of X for which contributions are sampled."""


# By the last step --------------------------------------------------------------------------


def own_contributions(model: Any, X: Any) -> Floats | None:
    """Return the contributions of columns to the scores of a member, up to a constant.

    A ranker has contributions; those of trees are differences along their paths. None for other
    members, and where a step of a pipeline makes a feature of several columns.
    """
    is_pipeline, rows = len(getattr(model, "steps", [])) > 1, given_rows(X)
    final = model[-1] if is_pipeline else model
    trees = _trees_of(final)
    if not trees and not hasattr(final, "contributions"):
        return None
    columns = np.arange(X.shape[1])
    if is_pipeline:
        try:
            columns = columns_of_features(model.steps[:-1], columns)
        except (IndexError, ValueError):
            return None
        rows = model[:-1].transform(rows)
    by_feature = _path_contributions(trees, rows) if trees else final.contributions(rows)[:, :-1]
    column_values = np.zeros(X.shape)
    np.add.at(column_values.T, columns, by_feature.T)
    return column_values


def columns_of_features(steps: Sequence[tuple[str, Any]], columns: Indices) -> Indices:
    """Return the column of X from which steps of a pipeline compute each feature.

    `columns` are those of the features before the steps. An IndexError or a ValueError says that a
    step may make a feature of several columns.
    """
    for name, step in steps:
        if hasattr(step, "steps"):
            columns = columns_of_features(step.steps, columns)
        elif isinstance(step, ColumnTransformer):
            columns = _columns_of_parts(step, columns)
        elif isinstance(step, prep.OneHotEncoder):
            columns = np.repeat(columns, [len(levels) for levels in step.categories_])
        elif isinstance(step, SimpleImputer):
            indicated = step.indicator_.features_ if step.add_indicator else []
            columns = np.append(columns, columns[indicated])
        elif getattr(step, "func", "") is not None and not isinstance(step, _COLUMNWISE):
            raise ValueError(f"step {name!r} may make a feature of several columns")
        may_drop = isinstance(step, prep.OneHotEncoder | SimpleImputer)  # a level, or a column
        if may_drop and len(step.get_feature_names_out()) != len(columns):
            raise ValueError(f"step {name!r} drops features")
    return columns


def _columns_of_parts(encoder: Any, columns: Indices) -> Indices:
    """Return the column of each feature that a `ColumnTransformer` makes."""
    names, blocks = list(getattr(encoder, "feature_names_in_", [])), [columns[:0]]
    for name, transformer, selection in encoder.transformers_:
        positions = [names.index(i) if isinstance(i, str) else i for i in np.atleast_1d(selection)]
        block_columns, outputs = columns[positions], encoder.output_indices_[name]
        n_outputs = outputs.stop - outputs.start
        if len(block_columns) > 1 and n_outputs:
            block_columns = columns_of_features([(name, transformer)], block_columns)
        blocks.append(np.resize(block_columns, n_outputs))
    return np.concatenate(blocks)


def _trees_of(model: Any) -> list[Any]:
    """Return the trees of a scikit-learn forest or tree; the score is their mean."""
    has_paths = hasattr(model, "decision_path") and type(model).__module__.startswith("sklearn.")
    return getattr(model, "estimators_", [model]) if has_paths else []


def _path_contributions(trees: list[Any], rows: Any) -> Floats:
    """Return, for each feature, the mean over trees of the changes in node value at its splits."""
    rows = rows.astype(np.float32) if issparse(rows) else np.asarray(rows, dtype=np.float32)
    path_sums = np.zeros(rows.shape)
    for tree in (model.tree_ for model in trees):
        splits = np.flatnonzero(tree.children_left >= 0)
        child = np.concatenate([tree.children_left[splits], tree.children_right[splits]])
        parent = np.concatenate([splits, splits])
        value = tree.value[:, 0, -1]  # of classifiers the probability of the second class
        shape = tree.node_count, rows.shape[1]
        change = csr_array((value[child] - value[parent], (child, tree.feature[parent])), shape)
        path_sums += (tree.decision_path(rows) @ change).toarray()
    return path_sums / len(trees)


# Samples -----------------------------------------------------------------------------------


def background_of(models: Sequence[Any], data: Rows, seed: int) -> dict[str, list[Values]]:
    """Return training rows drawn by weight, if a member's contributions must be sampled.

    They do not depend on the order of the rows.
    """
    if data.X.shape[1] > _MOST or all(own_contributions(m, data.X[:1]) is not None for m in models):
        return {}
    row_hash = hash_rows(getattr(data.X, "numbers", data.X))
    rows, weight, _, _ = distinct_rows(row_hash, data.y, data.qid, data.weight)
    rng, share = np.random.default_rng(seed), weight / weight.sum()
    return {"background_": _columns_of(data.X[rng.choice(rows, _N_BACKGROUND, p=share)])}


def sampled_shapley(
    name: str, model: Any, X: Any, background: Sequence[Values]
) -> tuple[Floats, float]:
    """Return sampled Shapley values, and the mean score of the background rows.

    Each background row takes the values of a row of X one by one, in a random order of the columns
    and in the opposite order; the changes of the score are averaged.
    """
    n_rows, n_columns = X.shape
    if max(X.shape) > _MOST:
        raise ValueError(
            f"contributions of RankingEnsemble are sampled for member {name!r}, for up to {_MOST} "
            f"rows and features. Got X of shape {X.shape}: pass fewer (rank --top N)."
        )
    orders = np.tile(np.arange(n_columns), (_N_BACKGROUND, 1))
    orders = np.random.default_rng(0).permuted(orders, axis=1)
    orders = np.concatenate([orders, orders[:, ::-1]])
    rank, scores = np.argsort(orders, axis=1).T[:, :, np.newaxis], []
    columns, replaced = _columns_of(X), [np.tile(column, 2)[:, np.newaxis] for column in background]
    for n_replaced in range(n_columns + 1):
        sources = zip(rank < n_replaced, columns, replaced, strict=True)
        mixed = [np.where(*choice).ravel() for choice in sources]
        scores.append(member_scores(name, model, _rows_of(mixed, X)).reshape(-1, n_rows))
    column_values = np.zeros(X.shape)
    np.add.at(column_values.T, orders.T, np.diff(scores, axis=0) / len(orders))
    return column_values, float(np.mean(scores[0]))


def _columns_of(X: Any) -> list[Values]:
    """Return the columns of the rows."""
    if isinstance(X, FrameRows):
        return [X.frame[name].to_numpy() for name in X.frame.columns]
    return list((X.toarray() if issparse(X) else X).T)


def _rows_of(columns: Sequence[Values], X: Any) -> Any:
    """Return rows with other columns, as the same kind of object as X but dense."""
    if not isinstance(X, FrameRows):
        return np.column_stack(columns).astype(np.float64)
    frame = type(X.frame)(dict(zip(X.frame.columns, columns, strict=True)))
    names = [X.frame.columns[j] for j in categorical_positions(X.frame)]
    if hasattr(frame, "iloc"):
        return FrameRows(frame.astype(dict.fromkeys(names, "category")))
    return FrameRows(frame.cast({name: X.frame.schema[name] for name in names}))
