"""The command ``evaluate``: measure a stored model on rows whose target is known."""

from __future__ import annotations

from typing import Any

from sklearn_rank.cli._dataset import model_data
from sklearn_rank.cli._errors import InputError, show_notes
from sklearn_rank.cli._metrics import LabelledRows, choose_metrics, heading, measure
from sklearn_rank.cli._output import optional_output
from sklearn_rank.cli._plots import PLOT_SUFFIXES, plot_evaluation
from sklearn_rank.cli._progress import progress
from sklearn_rank.cli._rankers import scores_of
from sklearn_rank.cli._report import (
    about_intervals,
    about_metrics,
    cells,
    data_summary,
    print_table,
    write_json,
)
from sklearn_rank.cli._store import load_model


def evaluate(options: Any) -> None:
    """Evaluate a stored model on rows with a target."""
    notes: list[str] = []
    json_path = optional_output(options.json, (".json",), options)
    plot_path = optional_output(options.plot, PLOT_SUFFIXES, options)
    choose_metrics(options.metrics, None)
    model = load_model(options.model, notes)
    data = model_data(options.data, model.schema, options.table, notes, labelled=True)
    metrics = choose_metrics(options.metrics, data)
    with progress("evaluating"):
        rows = LabelledRows(data.y.astype(float), data.qid)
        scores = scores_of(model.pipeline, data.X)
        found = {name: measure(name, rows, scores) for name in metrics}
    if plot_path is not None and not (rows.y > 0).any():
        raise InputError(f"{data.name}: --plot needs a row with a relevance above 0")
    show_notes(notes)
    title = f"{model.ranker} on {data.summary()}"
    table = cells({heading(name): one for name, one in found.items()})
    print_table(title, {"": table}, about_intervals(data, found.values()) + about_metrics(found))
    if json_path is not None:
        content = {**data_summary(data), "model": options.model, "ranker": model.ranker}
        content["results"] = {name: one.as_json() for name, one in found.items()}
        write_json(json_path, content, force=options.force)
    if plot_path is not None:
        plot_evaluation(plot_path, rows, scores, title, force=options.force)
