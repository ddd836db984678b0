"""The command ``train``: fit one ranker to all rows and store it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from sklearn_rank._core.callbacks import observed
from sklearn_rank.cli import _contest, _crossval, _rankers
from sklearn_rank.cli._compare import show
from sklearn_rank.cli._metrics import choose_metrics
from sklearn_rank.cli._output import Output, progress, show_notes
from sklearn_rank.cli._rank import calibrated, hold_out
from sklearn_rank.cli._store import Model, save_model
from sklearn_rank.cli._tables.dataset import Dataset, model_data, training_data
from sklearn_rank.cli._tables.errors import InputError, count, with_name
from sklearn_rank.cli._tables.options import Folds, TableOptions


def train(
    table: TableOptions,
    folds: Folds,
    ranker: str | None,
    best: str | None,
    metric: str | None,
    validation: str | None,
    calibrate: float | None,
    output: Output,
) -> None:
    """Fit one ranker to all rows and store it."""
    notes: list[str] = []
    given = {"ranker": ranker, "validation": validation, "metric": metric, "calibrate": calibrate}
    rankers = _checked(table, folds, best, given)
    metrics, held_out, watched = [metric] if metric else [], None, None
    choose_metrics(metrics, None)
    data = training_data(table, notes)
    if calibrate is not None:
        data, held_out = hold_out(data, calibrate)
    if validation is not None:
        how = {"labelled": True, "weighted": True}
        watched = model_data(validation, data.schema, table.reading, notes, **how)
    metric = choose_metrics(metrics, data)[-1]
    if best is None:
        ((name, model),) = rankers.items()
        pipeline, chosen = _fit(name, model, data, watched, metric, folds, notes)
    else:
        contest = _contest.hold(folds, rankers, data, notes, metrics, best)
        show(contest, notes)
        print()
        notes.clear()  # they are shown
        name, (pipeline, chosen) = contest.order[0], _contest.fit_first(contest, notes)
    stored = None if held_out is None else calibrated(pipeline, held_out)
    save_model(Model(pipeline, name, data.schema, stored), output)
    show_notes(notes)
    if chosen:
        of = "2 times 3 folds" if data.time is None else "3 periods"
        print(f"--search chose {chosen} ({metric} in {of})")
    model = pipeline[-1]
    stops = hasattr(model, "refit_stopped") and model.n_iter_no_change is not None
    stopped = f", {model.n_iter_} rounds" if stops or validation else ""
    print(f"{output}: {name} fitted on {data.summary()}{stopped}")
    if held_out is not None:
        print(f"{count(len(held_out.y), 'row')} held out for rank --fdr")


def _checked(
    table: TableOptions, folds: Folds, best: str | None, given: dict[str, Any]
) -> dict[str, Any]:
    """Return the unfitted ranker, or with --best those to compare; InputError for what clashes."""
    if best is None:
        if folds.rankers:
            raise InputError("--rankers goes with --best; --ranker names the one to fit")
        for name, option in {"cv": "--cv", "n_jobs": "--n-jobs"}.items():
            if getattr(folds, name) != getattr(Folds, name):
                raise InputError(f"{option} goes with --best; --search has folds of its own")
        if given["metric"] and not folds.search:
            raise InputError("--metric goes with --search, or with --best")
        names = [given["ranker"] or _rankers.DEFAULT]
        (name,) = _rankers.choose_rankers(names, _rankers.BASELINES)
        rankers = _rankers.make_rankers([name], table, folds)
        _rankers.check_engine(rankers)
        if given["validation"] is not None and not hasattr(rankers[name], "n_iter_no_change"):
            raise InputError(f"--validation: {name} has no rounds that it could stop")
        return rankers
    for option in ("ranker", "validation"):
        if given[option] is not None:
            raise InputError(f"--{option} does not go with --best, which compares models by folds")
    if best and given["calibrate"] is not None:
        what = "the rows that --calibrate holds out had a part in that run; use --best alone"
        raise InputError(f"--best {best}: {what}")
    return _rankers.rankers_of(table, folds)


def _fit(
    name: str,
    ranker: Any,
    data: Dataset,
    validation: Dataset | None,
    metric: str,
    folds: Folds,
    notes: list[str],
) -> tuple[Pipeline, str]:
    """Fit one model; return it and the parameters that a search chose."""
    _rankers.stop_early(ranker, folds.param, data, is_given=validation is not None)
    pipeline = _rankers.pipeline_for(ranker, data.schema)
    pipeline, chosen = _crossval.search(pipeline, data, metric, folds)
    ranker = pipeline[-1]
    n_iter = ranker.get_params().get("n_estimators", getattr(ranker, "max_iter", None))
    with (
        progress(f"fitting {name}", total=n_iter) as advance,
        observed(ranker, lambda *_: advance() is not None),
    ):
        warnings = _crossval.fit_pipeline(pipeline, data, name, validation)
    notes += [with_name(name, message) for message in warnings]
    return pipeline, chosen
