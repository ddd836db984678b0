"""The command ``rank``: order the rows of a table by a stored model."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline

from sklearn_rank._core.protocols import Floats, Indices, Mask
from sklearn_rank.cli._output import Output, progress, show_notes
from sklearn_rank.cli._store import Model, load_model, model_scores
from sklearn_rank.cli._tables.columns import Schema
from sklearn_rank.cli._tables.dataset import Dataset, model_data
from sklearn_rank.cli._tables.errors import InputError, count, noting
from sklearn_rank.cli._tables.options import Reading
from sklearn_rank.metrics.scorers import scores_of
from sklearn_rank.model_selection.conformal import conformal_p_values, select_head

_N_REASONS = 3
_REFUSED = (ValueError, TypeError, NotImplementedError, OverflowError)  # what Parquet can't hold


def rank(
    model: str,
    data: str,
    reading: Reading,
    *,
    top: int | None,
    explain: bool,
    fdr: float | None,
    calibration: str | None,
    output: Output | None,
) -> None:
    """Write the rows of a table, within each query in descending order of score."""
    notes: list[str] = []
    if calibration is not None and fdr is None:
        raise InputError("--calibration goes with --fdr, the share of false alarms allowed")
    loaded = load_model(model, notes)
    how = loaded.schema, reading, notes
    rows = model_data(data, *how, labelled=False)
    with progress("ranking"):
        scores = model_scores(loaded, rows.X, model, notes)
        added: dict[str, Any] = {}
        if fdr is not None:
            _check_one_list(loaded.schema, "--fdr")
            known = loaded.calibration
            if calibration is not None:
                known = calibrated(loaded.pipeline, model_data(calibration, *how, labelled=True))
            added["selected"] = _select(scores, known, fdr, model, notes)
        if explain:
            added |= _reasons(loaded, rows.X, model)
    ranked = _ranked(rows, scores, added, top)
    if output is None:
        show_notes(notes)
        ranked.to_csv(sys.stdout, index=False)
        return
    with output.writing() as temporary:
        ending = output.path.name.lower().removesuffix(".gz")
        if ending.endswith(".parquet"):
            with noting([], f"{output}: Parquet can't hold the table", _REFUSED):
                ranked.to_parquet(temporary, engine="pyarrow", index=False)
        else:
            ranked.to_csv(temporary, index=False, sep="\t" if ending.endswith(".tsv") else ",")
    show_notes(notes)
    lists = "one list" if rows.qid is None else count(rows.qid.max() + 1, "query")
    written = f", {len(ranked)} written" if len(ranked) < len(rows.X) else ""
    print(f"{output}: {count(len(rows.X), 'row')} ranked in {lists}{written}")


def _ranked(data: Dataset, scores: Floats, added: dict[str, Any], top: int | None) -> Any:
    """Add columns and the rank; sort by query in order of appearance, then by score, then by row.

    With `top` only so many rows of each query are returned.
    """
    table = data.table
    taken = [name for name in ("score", *added, "rank") if name in table.frame.columns]
    if taken:
        what = f"already has a column {taken[0]!r}, which the result needs; rename it"
        raise InputError(f"{table.path}: {what}")
    query = np.zeros(len(scores), dtype=np.intp) if data.qid is None else data.qid
    rank = pd.Series(scores).groupby(query).rank("first", ascending=False).to_numpy(dtype=np.intp)
    order = np.lexsort((rank, query))
    order = order[rank[order] <= (top or len(rank))]
    # The text of the user's cells is kept: 007 and 1.50 stay as they are.
    return table.frame.assign(score=scores, rank=rank, **added).iloc[order]


def hold_out(data: Dataset, share: float) -> tuple[Dataset, Dataset]:
    """Return the rows to fit to and those that calibrate, drawn without regard to the class."""
    _check_one_list(data.schema, "--calibrate")
    if data.has_own_folds:
        what = "--calibrate draws rows at random, without regard to --time and --group"
        raise InputError(f"{what}; rank --calibration takes a file of rows held out by you")
    parts = train_test_split(np.arange(len(data.y)), test_size=share, random_state=data.seed)
    return data.take(np.sort(parts[0])), data.take(np.sort(parts[1]))


def calibrated(pipeline: Pipeline, data: Dataset) -> dict[str, Any]:
    """Return the calibration rows as a model stores them."""
    negatives = scores_of(pipeline, data.X)[data.y == 0]
    return {"negatives": negatives.tolist(), "n_rows": len(data.y)}


def _check_one_list(schema: Schema, option: str) -> None:
    if schema.positive is None or schema.qid is not None:
        raise InputError(f"{option} needs two classes and no queries, for which its bound holds")


def _select(
    scores: Floats, known: dict[str, Any] | None, fdr: float, model: str, notes: list[str]
) -> Mask:
    """Return which rows to take, by rows whose class is known; a note says how many they are."""
    if known is None:
        raise InputError(
            f"--fdr needs labelled rows that {model} was not fitted to: train --calibrate "
            "0.25 holds some out, or --calibration FILE brings them"
        )
    n_known, negatives = known["n_rows"], np.asarray(known["negatives"], dtype=np.float64)
    selected = select_head(conformal_p_values(scores, negatives, n_known), fdr)
    least = int(np.ceil(len(scores) / (fdr * (n_known + 1)) - 1e-9))
    needed = f"a head must have at least {least} of the {len(scores)} rows"
    notes.append(
        f"{count(int(selected.sum()), 'row')} selected: the longest head whose expected share of "
        f"false alarms is at most {fdr:g}"
        if selected.any()
        else f"no row is selected: {count(n_known, 'calibration row')} don't show that any "
        f"head is pure enough; {needed if least <= len(scores) else 'more of them are needed'}"
    )
    return selected


def _reasons(model: Model, X: Any, name: str) -> dict[str, Any]:
    """Return columns of the largest contributions to each score, such as "income +0.31".

    A spreadsheet shows them as they are, also where the name of a column begins like a formula.
    """
    ranker = model.pipeline[-1]
    is_card = hasattr(ranker, "card_")
    explain = getattr(ranker, "points_of" if is_card else "contributions", None)
    if explain is None:
        raise InputError(
            f"--explain needs a score that can be divided among the columns; {model.ranker} has "
            "none as it was fitted. Rankers of stumps or trees, ListNetLinear and cards have"
        )
    what = f"{name}: the model is damaged; it can't explain the scores"
    with noting([], what, (Exception,)):  # its arrays may be anything
        rows = model.pipeline[:-1].transform(X) if len(model.pipeline) > 1 else X
        names = ranker.variables_ if is_card else X.columns
        columns = np.arange(len(names)) if is_card else _columns_of_features(model.pipeline, X)
        given, parts = explain(rows), np.zeros((len(names), len(X)))
        np.add.at(parts, columns, given[:, : len(columns)].T)  # without that of the mean row
    order = np.argsort(-np.abs(parts), axis=0, kind="stable")[:_N_REASONS]
    shown = np.asarray([_no_formula(str(name)) for name in names], dtype=object)[order]
    values, texts = np.take_along_axis(parts, order, axis=0), np.vectorize("{:+.3g}".format)
    reasons = np.where(values == 0, "", shown + " " + texts(values).astype(object))
    return {f"reason_{number}": of_rows for number, of_rows in enumerate(reasons, 1)}


def _no_formula(text: str) -> str:
    """Return a text that a spreadsheet shows as it is; the apostrophe can be removed again."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "'")) else text


def _columns_of_features(pipeline: Pipeline, X: Any) -> Indices:
    """Return the column of X from which each feature of the ranker is made."""
    found = np.arange(X.shape[1])
    for _, step in pipeline.steps[:-1]:
        if hasattr(step, "output_indices_"):
            blocks = []
            for name, encoder, columns in step.transformers_:
                outputs = step.output_indices_[name]
                places = X.columns.get_indexer(np.atleast_1d(columns))
                sizes = [len(known) for known in getattr(encoder, "categories_", ())]
                n_each = sizes or (outputs.stop - outputs.start) // max(len(places), 1)
                blocks.append(np.repeat(places, n_each))
            found = np.concatenate(blocks)
        elif getattr(step, "indicator_", None) is not None:
            found = np.append(found, found[step.indicator_.features_])
    return found
