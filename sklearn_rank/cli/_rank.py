"""The command ``rank``: order the rows of a table by a stored model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from sklearn_rank._protocols import Floats
from sklearn_rank.cli._dataset import Dataset, model_data
from sklearn_rank.cli._errors import InputError, count, show_notes
from sklearn_rank.cli._output import optional_output, write_atomically
from sklearn_rank.cli._progress import progress
from sklearn_rank.cli._rankers import scores_of
from sklearn_rank.cli._store import load_model
from sklearn_rank.grouping import Groups

_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet", ".csv.gz", ".tsv.gz")


def rank(options: Any) -> None:
    """Write the rows of a table, within each query in descending order of score."""
    notes: list[str] = []
    output = None if options.output == "-" else options.output
    path = optional_output(output, _TABLE_SUFFIXES, options)
    model = load_model(options.model, notes)
    data = model_data(options.data, model.schema, options.table, notes, labelled=False)
    with progress("ranking"):
        scores = scores_of(model.pipeline, data.X)
    ranked = _ranked(data, scores, keeps_text=path is None or _is_text(path))
    if path is None:
        show_notes(notes)
        ranked.to_csv(sys.stdout, index=False)
        return
    with write_atomically(path, force=options.force) as temporary:
        _write_table(ranked, temporary)
    show_notes(notes)
    lists = "one list" if data.qid is None else count(data.qid.max() + 1, "query")
    print(f"{path}: {count(len(ranked), 'row')} ranked in {lists}")


def _ranked(data: Dataset, scores: Floats, *, keeps_text: bool) -> Any:
    """Add score and rank; sort by query in order of appearance, then by score, then by row."""
    table = data.table
    taken = [name for name in ("score", "rank") if name in table.frame.columns]
    if taken:
        raise InputError(
            f"{table.path}: already has a column {taken[0]!r}, which the result needs; rename it"
        )
    query = np.zeros(len(scores), dtype=np.intp) if data.qid is None else data.qid
    order = np.lexsort((-scores, query))
    ranks = Groups.of_runs(query[order]).positions + 1
    # The text of the user's cells is kept: 007 and 1.50 stay as they are.
    rows = table.text if keeps_text and table.text is not None else table.frame
    return rows.iloc[order].assign(score=scores[order], rank=ranks)


def _is_text(path: Path) -> bool:
    return path.suffix != ".parquet"


def _write_table(frame: Any, path: Path) -> None:
    if not _is_text(path):
        frame.to_parquet(path, engine="pyarrow", index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if ".tsv" in path.suffixes else ",")
