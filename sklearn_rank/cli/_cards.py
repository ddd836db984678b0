"""The commands ``card`` and ``card export``, and cards as models of ``rank`` and ``evaluate``."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sklearn_rank.cli._crossval import Fold, most_folds
from sklearn_rank.cli._output import progress, show_notes, write_content
from sklearn_rank.cli._settings import ExportCard, MakeCard
from sklearn_rank.cli._tables.cards import card_of_table
from sklearn_rank.cli._tables.columns import CATEGORY, NUMBER, Schema, check_schema
from sklearn_rank.cli._tables.dataset import Dataset, least_hashes, pooled_hashes, training_data
from sklearn_rank.cli._tables.errors import InputError, listing, noting
from sklearn_rank.cli._tables.kinds import FEW_VALUES
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics import held_out
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Card, Scorecard, card_from_json, card_to_json, to_text
from sklearn_rank.scorecard._log import WEIGHTS
from sklearn_rank.scorecard.exports import EXPORTS
from sklearn_rank.scorecard.scorecard import FEW_TERMS, SMALL

_TABLE = "table"
"""Key of the details under which a stored card says how its columns are read."""

_FOLDS = 5


def card(settings: MakeCard) -> None:
    """Fit a scorecard, print it with held-out figures, and store it."""
    notes: list[str] = []
    data, seed = training_data(settings.table, notes), settings.table.seed
    if data.schema.positive is None:
        raise InputError("a card tells two classes apart; --relevance graded has more")
    dates, known = list(data.X.select_dtypes("datetime")), data.schema.categories
    long = [name for name in known if len(known[name]) > FEW_VALUES]
    notes += [f"a card has no thresholds on dates; not used: {listing(dates)}"] if dates else []
    what = f"a card has no room for more than {FEW_VALUES} categories of a column; not used:"
    notes += [f"{what} {listing(long)}"] if long else []
    data = replace(data, X=data.X.drop(columns=[*dates, *long]))
    if not data.X.shape[1]:
        raise InputError(f"{data.name}: no column is left for a card")
    for option in ("monotone", "special"):
        for name, values in getattr(settings, option).items():
            if name not in data.X.columns:
                what = f"the features are {listing(data.X.columns)}"
                raise InputError(f"--{option} {name}={values[0]:g}: {what}")
    with progress("fitting"):
        unfitted = _unfitted(settings)
        if data.has_own_folds and unfitted.has_number_of_folds:
            unfitted.set_params(cv=most_folds(data, unfitted.cv, seed))
        scorecard = _fit(unfitted, data, notes)
        figures = _held_out_figures(scorecard, data, seed)
    positive = str(data.schema.positive)
    others = [one for one in data.schema.classes or () if one != positive]
    classes = others[0] if len(others) == 1 else "others", positive
    n_rows = f"{len(data.y)} rows, {data.y.sum()} of them with the event"
    weights = {WEIGHTS: f"column {data.schema.weight!r} of {n_rows}"}
    details = {**scorecard.card_.details, **({} if data.weight is None else weights)}
    stored = replace(scorecard.card_, classes=classes, details=details)
    rows = pooled_hashes([least_hashes(data.X[list(stored.features.values())])])
    details = {**details, _TABLE: json.dumps(asdict(replace(data.schema, rows=rows)))}
    with settings.output.writing() as temporary:
        temporary.write_text(card_to_json(replace(stored, details=details)), encoding="utf-8")
    show_notes(notes)
    print(f"{data.summary()}\n\n{to_text(stored)}\n{figures}\n{settings.output}: stored")


def _unfitted(settings: MakeCard) -> Scorecard:
    """Return a scorecard with the parameters of the settings."""
    monotone = {name: values[-1] for name, values in settings.monotone.items()}
    small = SMALL if settings.max_terms <= FEW_TERMS else {}
    ranker = PNormPushRanker(**small, weak_ranker=Stumps(special_values=settings.special or None))
    made = Scorecard(ranker, points=settings.points, max_terms=settings.max_terms)
    made.set_params(monotonic_cst=monotone or None, random_state=settings.table.seed)
    for name, value in settings.param.items():
        parts = made, ranker, ranker.weak_ranker
        has = next((one for one in parts if name in one.get_params(deep=False)), None)
        if has is None:
            raise InputError(f"--param {name}: neither Scorecard nor its ranker has it")
        has.set_params(**{name: value})
    return made


def _fit(model: Any, data: Dataset, notes: list[str]) -> Any:
    """Return a scorecard or its ranker, fitted."""
    with noting(notes, "card"):
        return model.fit(data.X, data.y, qid=data.qid, sample_weight=data.weight)


def _held_out_figures(scorecard: Any, data: Dataset, seed: int) -> str:
    """Return a line on cards that are fitted without a fold, at the p of this one."""
    figures: list[list[float]] = []
    folds: list[Fold] = []
    with suppress(InputError):  # a single row of a class, say
        folds = most_folds(data, _FOLDS, seed)
    for train, test in folds:
        rows, own = data.take(train), data.take(test)
        ranker = _fit(clone(scorecard.ranker_), rows, [])
        rounded = _fit(scorecard.rounding(ranker), rows, [])
        scores = rounded.decision_function(own.X)
        figures.append([held_out.value(k, own.y, scores, own.qid) for k in ("auc", "tpr@0.05")])
    known = [one for one in figures if not np.isnan(one).any()]
    if not known:
        return "no held-out figures: these rows have no folds with both classes"
    auc, share = np.mean(known, axis=0)
    return (
        f"held out ({len(known)} folds): AUC {auc:.3f}; {100 * share:.0f} % of class "
        f"{data.schema.positive!r} before 5 % of the others"
    )


def _read(name: str) -> tuple[Card, str]:
    """Return a stored card, and its note on how columns are read."""
    try:
        stored = card_from_json(Path(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(
            f"{name}: is not a card, which sklearn-rank card writes. {error}"
        ) from error
    details = dict(stored.details)
    note = details.pop(_TABLE, "{}")
    return replace(stored, details=details), note


def load_card(name: str) -> tuple[Pipeline, Schema]:
    """Return a stored card, whose scores are totals of the columns on it, and their schema."""
    stored, note = _read(name)
    axes = {axis.name: axis for term in stored.terms for axis in term.axes}
    names = tuple(stored.features.values())
    kinds = {name: CATEGORY if axes[name].groups is not None else NUMBER for name in names}
    plain = {"target": "", "qid": None, "relevance": "binary", "positive": str(stored.classes[1])}
    try:
        table = {**plain, "kinds": kinds, **json.loads(note)}
        for key, value in table.items():
            if isinstance(value, dict):
                table[key] = {name: value[name] for name in names if name in value}
        schema = Schema(**table)
        check_schema(schema)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: the details {_TABLE!r} of the card are damaged") from error

    return Pipeline([("card", Scorecard.from_json(card_to_json(card_of_table(stored))))]), schema


def export(settings: ExportCard) -> None:
    """Write a card in another form."""
    form, output = settings.to, settings.output
    if form not in EXPORTS:
        raise InputError(f"--to {form}: the forms are {listing(EXPORTS)}")
    export = EXPORTS[form]
    if output is not None and output.path.suffix.lower() != export.suffix:
        raise InputError(f"{output}: the name of this output must end in {export.suffix}")
    if output is None and export.to_bytes is not None:
        raise InputError(f"--to {form} needs -o FILE{export.suffix}")
    with noting([], settings.card, (ValueError, ImportError)):
        content = export.content(_read(settings.card)[0])
    write_content(content, output)
