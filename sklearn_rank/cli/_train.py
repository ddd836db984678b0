"""The command ``train``: fit one ranker to all rows and store it."""

from __future__ import annotations

from math import inf

from sklearn_rank._callbacks import observed
from sklearn_rank.cli import _rankers
from sklearn_rank.cli._crossval import search
from sklearn_rank.cli._dataset import model_data, training_data
from sklearn_rank.cli._errors import InputError, count, import_extra, show_notes, with_name
from sklearn_rank.cli._metrics import choose_metrics
from sklearn_rank.cli._output import progress
from sklearn_rank.cli._rank import calibration, hold_out
from sklearn_rank.cli._settings import Train
from sklearn_rank.cli._store import Model, save_model


def train(settings: Train) -> None:
    """Fit one ranker to all rows and store it."""
    if settings.cluster is not None:
        for module in ("dask.dataframe", "distributed", "xgboost"):
            import_extra(module, "dask")
        import_extra("sklearn_rank.cli._cluster").train_on_cluster(settings)
        return
    notes: list[str] = []
    table, output = settings.table, settings.output
    (name,) = _rankers.choose_rankers([settings.ranker], _rankers.BASELINES)
    rankers = _rankers.make_rankers([name], settings)
    ranker = rankers[name]
    _rankers.check_engine(rankers)
    if settings.validation is not None and not hasattr(ranker, "n_iter_no_change"):
        raise InputError(f"--validation: {name} has no rounds that it could stop")
    metrics = [settings.metric] if settings.metric else []
    choose_metrics(metrics, None)
    data = training_data(table, notes)
    validation = held_out = None
    if settings.calibrate is not None:
        data, held_out = hold_out(data, settings.calibrate, table.seed)
    if settings.validation is not None:
        how = {"labelled": True, "weighted": True}
        validation = model_data(settings.validation, data.schema, table.reading, notes, **how)
    _rankers.stop_early([ranker], settings.folds.param, len(data.y) if validation is None else inf)
    pipeline = _rankers.pipeline_for(ranker, data.schema)
    metric = choose_metrics(metrics, data)[-1]
    pipeline, chosen = search(pipeline, data, metric, settings)
    ranker = pipeline[-1]
    n_iter = ranker.get_params().get("n_estimators", getattr(ranker, "max_iter", None))
    with (
        progress(f"fitting {name}", total=n_iter) as advance,
        observed(ranker, lambda *_: advance() is not None),
    ):
        warnings = _rankers.fit_pipeline(pipeline, data, name, validation)
    notes += [with_name(name, message) for message in warnings]
    stored = None if held_out is None else calibration(pipeline, held_out)
    save_model(Model(pipeline, name, data.schema, stored), output)
    show_notes(notes)
    if chosen:
        print(
            f"--search chose {chosen} ({metric} in "
            f"{'2 times 3 folds' if data.time is None else '3 periods'})"
        )
    rounds = getattr(ranker, "validation_scores_", None)
    stopped = "" if rounds is None else f", {ranker.n_iter_} rounds"
    print(f"{output}: {name} fitted on {data.summary()}{stopped}")
    if held_out is not None:
        print(f"{count(len(held_out.y), 'row')} held out for rank --fdr")
