"""The command ``train``: fit one ranker to all rows and store it."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from sklearn_rank._core.callbacks import observed
from sklearn_rank.cli import _contest, _crossval, _rankers
from sklearn_rank.cli._compare import show
from sklearn_rank.cli._metrics import choose_metrics
from sklearn_rank.cli._output import progress, show_notes
from sklearn_rank.cli._rank import calibration, hold_out
from sklearn_rank.cli._settings import Folds, Train
from sklearn_rank.cli._store import Model, save_model
from sklearn_rank.cli._tables.dataset import Dataset, model_data, training_data
from sklearn_rank.cli._tables.errors import InputError, count, with_name


def train(settings: Train) -> None:
    """Fit one ranker to all rows and store it."""
    notes: list[str] = []
    table, validation, held_out = settings.table, None, None
    rankers = _checked(settings)
    metrics = [settings.metric] if settings.metric else []
    choose_metrics(metrics, None)
    data = training_data(table, notes)
    if settings.calibrate is not None:
        data, held_out = hold_out(data, settings.calibrate, table.seed)
    if settings.validation is not None:
        how = {"labelled": True, "weighted": True}
        validation = model_data(settings.validation, data.schema, table.reading, notes, **how)
    metric = choose_metrics(metrics, data)[-1]
    if settings.best is None:
        ((name, ranker),) = rankers.items()
        pipeline, chosen = _fit(name, ranker, data, validation, metric, settings, notes)
    else:
        contest = _contest.hold(settings, rankers, data, notes, metrics, settings.best)
        show(contest, notes)
        print()
        notes.clear()  # they are shown
        name, (pipeline, chosen) = contest.order[0], _contest.fit_first(contest, notes)
    stored = None if held_out is None else calibration(pipeline, held_out)
    save_model(Model(pipeline, name, data.schema, stored), settings.output)
    show_notes(notes)
    if chosen:
        folds = "2 times 3 folds" if data.time is None else "3 periods"
        print(f"--search chose {chosen} ({metric} in {folds})")
    model = pipeline[-1]
    stops = hasattr(model, "refit_stopped") and model.n_iter_no_change is not None
    stopped = f", {model.n_iter_} rounds" if stops or settings.validation else ""
    print(f"{settings.output}: {name} fitted on {data.summary()}{stopped}")
    if held_out is not None:
        print(f"{count(len(held_out.y), 'row')} held out for rank --fdr")


def _checked(settings: Train) -> dict[str, Any]:
    """Return the unfitted ranker, or with --best those to compare; InputError for what clashes."""
    if settings.best is None:
        if settings.folds.rankers:
            raise InputError("--rankers goes with --best; --ranker names the one to fit")
        for name, option in {"cv": "--cv", "repeats": "--repeats", "n_jobs": "--n-jobs"}.items():
            if getattr(settings.folds, name) != getattr(Folds, name):
                raise InputError(f"{option} goes with --best; --search has folds of its own")
        if settings.metric and not settings.folds.search:
            raise InputError("--metric goes with --search, or with --best")
        named = settings.ranker or _rankers.DEFAULT
        (name,) = _rankers.choose_rankers([named], _rankers.BASELINES)
        rankers = _rankers.make_rankers([name], settings)
        _rankers.check_engine(rankers)
        if settings.validation is not None and not hasattr(rankers[name], "n_iter_no_change"):
            raise InputError(f"--validation: {name} has no rounds that it could stop")
        return rankers
    for option in ("ranker", "validation"):
        if getattr(settings, option) is not None:
            raise InputError(f"--{option} does not go with --best, which compares models by folds")
    if settings.best and settings.calibrate is not None:
        what = "the rows that --calibrate holds out had a part in that run; use --best alone"
        raise InputError(f"--best {settings.best}: {what}")
    return _rankers.rankers_of(settings)


def _fit(
    name: str,
    ranker: Any,
    data: Dataset,
    validation: Dataset | None,
    metric: str,
    settings: Train,
    notes: list[str],
) -> tuple[Pipeline, str]:
    """Fit one model; return it and the parameters that a search chose."""
    _rankers.stop_early(ranker, settings.folds.param, data, is_given=validation is not None)
    pipeline = _rankers.pipeline_for(ranker, data.schema)
    pipeline, chosen = _crossval.search(pipeline, data, metric, settings)
    ranker = pipeline[-1]
    n_iter = ranker.get_params().get("n_estimators", getattr(ranker, "max_iter", None))
    with (
        progress(f"fitting {name}", total=n_iter) as advance,
        observed(ranker, lambda *_: advance() is not None),
    ):
        warnings = _crossval.fit_pipeline(pipeline, data, name, validation)
    notes += [with_name(name, message) for message in warnings]
    return pipeline, chosen
