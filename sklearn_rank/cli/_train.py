"""The command ``train``: fit one ranker to all rows and store it."""

from __future__ import annotations

from typing import Any

from sklearn_rank._observers import observed
from sklearn_rank.cli import _rankers
from sklearn_rank.cli._cluster import train_on_cluster
from sklearn_rank.cli._crossval import Candidate, search
from sklearn_rank.cli._dataset import training_data, validation_data
from sklearn_rank.cli._errors import InputError, count, show_notes
from sklearn_rank.cli._metrics import choose_metrics
from sklearn_rank.cli._output import optional_output, progress
from sklearn_rank.cli._rank import calibration, hold_out
from sklearn_rank.cli._store import MODEL_SUFFIXES, Model, save_model


def train(options: Any) -> None:
    """Fit one ranker to all rows and store it."""
    if options.cluster is not None:
        train_on_cluster(options)
        return
    notes: list[str] = []
    (name,) = _rankers.choose_rankers([options.ranker])
    rankers, grids = _rankers.make_rankers([name], options)
    ranker = rankers[name]
    _rankers.check_engine(rankers)
    if options.validation is not None and not hasattr(ranker, "n_iter_no_change"):
        raise InputError(f"--validation: {name} has no rounds that it could stop")
    path: Any = optional_output(options.output, MODEL_SUFFIXES, options)
    metrics = [options.metric] if options.metric else []
    choose_metrics(metrics, None)
    data = training_data(options.table, notes)
    validation = held_out = None
    if options.calibrate is not None:
        data, held_out = hold_out(data, options.calibrate, options.seed)
    if options.validation is not None:
        validation = validation_data(options.validation, data, options.table, notes)
    _rankers.stop_early(rankers, options, len(data.y))
    candidate = Candidate(name, _rankers.pipeline_for(ranker, data.schema), grids[name])
    metric = choose_metrics(metrics, data)[-1]
    pipeline, chosen = search(candidate, data, metric, options.seed)
    ranker = pipeline[-1]
    n_iter = ranker.get_params().get("n_estimators", getattr(ranker, "max_iter", None))
    with (
        progress(f"fitting {name}", total=n_iter) as advance,
        observed(ranker, lambda *_: advance() is not None),
    ):
        warnings = _rankers.fit_pipeline(pipeline, data, name, validation)
    notes += [_rankers.with_name(name, message) for message in warnings]
    stored = None if held_out is None else calibration(pipeline, held_out)
    save_model(Model(pipeline, name, data.schema, stored), path, force=options.force)
    show_notes(notes)
    if chosen:
        print(f"--search chose {chosen} ({metric} in 2 times 3 folds)")
    rounds = getattr(ranker, "validation_scores_", None)
    stopped = "" if rounds is None else f", {ranker.n_iter_} rounds"
    print(f"{path}: {name} fitted on {data.summary()}{stopped}")
    if held_out is not None:
        print(f"{count(len(held_out.y), 'row')} held out for rank --fdr")
