"""The commands ``rank``, which orders the rows of a table by a stored model, and ``export``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from sklearn_rank._core.protocols import Floats
from sklearn_rank.cli._output import Output, show_notes, write_content
from sklearn_rank.cli._store import StoredModel, load_model, model_scores
from sklearn_rank.cli._tables.dataset import Dataset, model_data
from sklearn_rank.cli._tables.inputs import InputError, count, noting
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.ensemble.contributions import columns_of_features
from sklearn_rank.export.search_engines import to_linear_json, to_ranklib, to_xgboost_json

_FORMS: dict[str, Callable[[Any], str]] = {
    "ranklib": to_ranklib,
    "xgboost": to_xgboost_json,
    "linear": lambda model: to_linear_json(model, drop_constant=True),  # it has no place for one
}
_N_REASONS = 3
_REFUSED = (ValueError, TypeError, NotImplementedError, OverflowError)  # what Parquet can't hold


def rank(
    model: str, table: TableOptions, *, top: int | None, explain: bool, output: Output | None
) -> None:
    """Write the rows of a table, within each query in descending order of score."""
    notes: list[str] = []
    loaded = load_model(model, notes)
    rows = model_data(table, loaded.schema, notes, labelled=False)
    scores = model_scores(loaded, rows.X, model, notes)
    ranked = _ranked(rows, scores, partial(_reasons, loaded, model) if explain else None, top)
    if output is None:
        show_notes(notes)
        ranked.to_csv(sys.stdout, index=False)
        return
    with output.writing() as temporary:
        ending = output.path.name.lower().removesuffix(".gz")
        if ending.endswith(".parquet"):
            with noting([], f"{output}: the table cannot be written as Parquet", _REFUSED):
                ranked.to_parquet(temporary, engine="pyarrow", index=False)
        else:
            ranked.to_csv(temporary, index=False, sep="\t" if ending.endswith(".tsv") else ",")
    show_notes(notes)
    lists = "one list" if rows.qid is None else count(rows.qid.max() + 1, "query")
    written = f", {len(ranked)} written" if len(ranked) < len(rows.X) else ""
    print(f"{output}: {count(len(rows.X), 'row')} ranked in {lists}{written}")


def export(model: str, to: str, output: Output | None) -> None:
    """Export a model to a format of a search engine."""
    notes: list[str] = []
    pipeline = load_model(model, notes).pipeline
    with noting(notes, model):
        content = _FORMS[to](pipeline)
    show_notes(notes)
    write_content(content, output)


def _ranked(data: Dataset, scores: Floats, explain: Any, top: int | None) -> Any:
    """Add columns and the rank; sort by query in order of appearance, then by score, then by row.

    With `top`, only that many rows of each query are returned. `explain`, or None, maps features to
    the columns that are added besides.
    """
    query = np.zeros(len(scores), dtype=np.intp) if data.qid is None else data.qid
    ranks = pd.Series(scores).groupby(query).rank("first", ascending=False).to_numpy(dtype=np.intp)
    order = np.lexsort((ranks, query))
    order = order[ranks[order] <= (top or len(ranks))]
    added = explain(data.X.iloc[order]) if explain else {}
    frame = data.table.frame
    taken = [name for name in ("score", *added, "rank") if name in frame.columns]
    if taken:
        raise InputError(f"{data.table.path}: already has a column {taken[0]!r}; rename it")
    # The text of the user's cells is kept: 007 and 1.50 stay as they are.
    return frame.iloc[order].assign(score=scores[order], rank=ranks[order], **added)


def _reasons(model: StoredModel, name: str, X: Any) -> dict[str, Any]:
    """Return columns with the largest contributions to each score, such as "income +0.31".

    A spreadsheet shows them as they are, also where the name of a column begins like a formula.
    """
    ranker = model.pipeline[-1]
    is_card = hasattr(ranker, "card_")
    explain = getattr(ranker, "points_of" if is_card else "contributions", None)
    if explain is None:
        what = "only for stumps, trees, ensembles and cards"
        raise InputError(f"--explain is not supported for {model.ranker}, {what}")
    # Arrays of a damaged model may be anything.
    with noting([], f"{name}: can't explain the scores", (Exception,)):
        rows = model.pipeline[:-1].transform(X) if len(model.pipeline) > 1 else X
        names = ranker.variables_ if is_card else X.columns
        columns = columns_of_features(model.pipeline.steps[:-1], np.arange(len(names)))
        of_features, contributions = explain(rows), np.zeros((len(names), len(X)))
        # The last column is the score of the mean row.
        np.add.at(contributions, columns, of_features[:, : len(columns)].T)
    order = np.argsort(-np.abs(contributions), axis=0, kind="stable")[:_N_REASONS]
    shown = np.asarray([_no_formula(str(name)) for name in names], dtype=object)[order]
    values, texts = np.take_along_axis(contributions, order, axis=0), np.vectorize("{:+.3g}".format)
    reasons = np.where(values == 0, "", shown + " " + texts(values).astype(object))
    return {f"reason_{number}": of_rows for number, of_rows in enumerate(reasons, 1)}


def _no_formula(text: str) -> str:
    """Return a text that spreadsheets show unchanged; the apostrophe can be removed again."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "'")) else text
