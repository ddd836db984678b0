"""The commands ``card`` and ``card export``, and cards as models of ``rank`` and ``evaluate``."""

from __future__ import annotations

import json
import warnings
from collections import defaultdict
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from sklearn_rank.cli._columns import CATEGORY, NUMBER, Schema, check_schema
from sklearn_rank.cli._crossval import make_folds, take
from sklearn_rank.cli._dataset import Dataset, training_data
from sklearn_rank.cli._errors import InputError, listing, show_notes, split
from sklearn_rank.cli._output import optional_output, progress, write_atomically
from sklearn_rank.cli._rankers import parse_params, with_name
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.metrics import auc_score, tpr_at_fpr_score
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Card, Scorecard, card_from_json, card_to_json, to_text
from sklearn_rank.scorecard.exports import EXPORTS
from sklearn_rank.scorecard.scorecard import FEW_TERMS, RIDGE, SMALL

_TABLE = "table"
"""Key of the details under which a stored card says how its columns are read."""

_FOLDS = 5


def card(options: Any) -> None:
    """Fit a scorecard, print it with held-out figures, and store it."""
    notes: list[str] = []
    path: Any = optional_output(options.output, (".json",), options)
    data = training_data(options.table, notes)
    if data.schema.positive is None:
        raise InputError("a card tells two classes apart; --relevance graded has more")
    dates = list(data.X.select_dtypes("datetime"))
    notes += [f"a card has no thresholds on dates; not used: {listing(dates)}"] if dates else []
    data = replace(data, X=data.X.drop(columns=dates))
    with progress("fitting"):
        scorecard = _fit(_unfitted(options, data), data, notes)
        figures = _held_out_figures(scorecard, data, options.seed)
    stored = _with_classes(scorecard.card_, data.schema)
    details = {**stored.details, _TABLE: json.dumps(asdict(data.schema))}
    with write_atomically(path, force=options.force) as temporary:
        temporary.write_text(card_to_json(replace(stored, details=details)), encoding="utf-8")
    show_notes(notes)
    print(f"{data.summary()}\n\n{to_text(_without_note(stored))}\n{figures}\n{path}: stored")


def _unfitted(options: Any, data: Dataset) -> Scorecard:
    """Return a scorecard with the parameters of the options."""
    n_rows = len(data.y) if data.weight is None else data.weight.sum()
    terms = options.max_terms or 10
    monotone, special = (_by_column(options, name, data) for name in ("monotone", "special"))
    ranker = PNormPushRanker(
        **({**SMALL, "alpha": RIDGE / n_rows} if terms <= FEW_TERMS else {}),
        monotonic_cst={name: values[-1] for name, values in monotone.items()} or None,
        weak_ranker=Stumps(special_values=special or None),
    )
    try:
        low, high = map(int, (options.points or "-5:5").split(":"))
    except ValueError:
        raise InputError(f"--points {options.points}: must read LOW:HIGH, as -5:5") from None
    made = Scorecard(ranker, points=(low, high), max_terms=terms, random_state=options.seed)
    for name, value in parse_params(options.param).items():
        parts = made, ranker, ranker.weak_ranker
        has = next((one for one in parts if name in one.get_params(deep=False)), None)
        if has is None:
            raise InputError(f"--param {name}: neither Scorecard nor its ranker has it")
        has.set_params(**{name: value})
    return made


def _by_column(options: Any, option: str, data: Dataset) -> dict[str, list[float]]:
    """Return the numbers of an option whose values are COL=NUMBER."""
    found: dict[str, list[float]] = defaultdict(list)
    for text in split(getattr(options, option)):
        name, _, value = text.rpartition("=")
        try:
            found[name].append(float(value))
        except ValueError:
            raise InputError(f"--{option} {text}: must read COL=NUMBER") from None
        if name not in data.X.columns:
            raise InputError(f"--{option} {text}: the features are {listing(data.X.columns)}")
    return dict(found)


def _fit(model: Any, data: Dataset, notes: list[str]) -> Any:
    """Return a scorecard or its ranker, fitted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(data.X, data.y, qid=data.qid, sample_weight=data.weight)
        except (ValueError, TypeError) as error:  # of its own checks
            raise InputError(with_name("card", str(error))) from error
    notes += [str(one.message).partition("\n")[0] for one in caught]
    return model


def _held_out_figures(scorecard: Any, data: Dataset, seed: int) -> str:
    """Return a line on cards that are fitted without a fold, at the p of this one."""
    figures = []
    for train, test in make_folds(data, _FOLDS, seed):
        rows = take(data, train)
        ranker = FrozenEstimator(_fit(clone(scorecard.ranker_), rows, []))
        rounded = _fit(clone(scorecard).set_params(ranker=ranker, p=None), rows, [])
        scores = rounded.decision_function(data.X.iloc[test])
        qid = None if data.qid is None else data.qid[test]
        top = tpr_at_fpr_score(data.y[test], scores, qid=qid, max_fpr=0.05)
        figures.append([auc_score(data.y[test], scores, qid=qid), float(top)])
    auc, share = np.mean(figures, axis=0)
    return (
        f"held out ({_FOLDS} folds): AUC {auc:.3f}; {100 * share:.0f} % of class "
        f"{data.schema.positive!r} before 5 % of the others"
    )


def _with_classes(fitted: Card, schema: Schema) -> Card:
    """Return a card with the classes of the table in place of 0 and 1."""
    positive = str(schema.positive)
    others = [one for one in schema.classes or () if one != positive]
    return replace(fitted, classes=(others[0] if len(others) == 1 else "others", positive))


def _without_note(stored: Card) -> Card:
    """Return a card without the note on the table."""
    details = {key: value for key, value in stored.details.items() if key != _TABLE}
    return replace(stored, details=details)


def _read(name: str) -> Card:
    try:
        return card_from_json(Path(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{name}: is not a card. {error}") from error


def load_card(name: str) -> tuple[Pipeline, Schema]:
    """Return a stored card, whose scores are totals of the columns on it, and their schema."""
    stored = _read(name)
    names = tuple(one.name for one in stored.variables)
    kinds = {one.name: CATEGORY if one.groups else NUMBER for one in stored.variables}
    plain = {"target": "", "qid": None, "relevance": "binary", "positive": str(stored.classes[1])}
    try:
        table = {**plain, "kinds": kinds, **json.loads(stored.details.get(_TABLE, "{}"))}
        for key, value in table.items():
            if isinstance(value, dict):
                table[key] = {name: value[name] for name in names if name in value}
        schema = Schema(**table)
        check_schema(schema)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: the details {_TABLE!r} of the card are damaged") from error
    # Categories in a table are texts.
    variables = tuple(
        replace(one, column=k, groups=one.groups and tuple(tuple(map(str, g)) for g in one.groups))
        for k, one in enumerate(stored.variables)
    )
    used = replace(stored, variables=variables, n_features=len(names), feature_names=names, cut=0)
    return Pipeline([("card", Scorecard.from_json(card_to_json(_without_note(used))))]), schema


def export(options: Any) -> None:
    """Write a card in another form."""
    form = options.to
    if form not in EXPORTS:
        raise InputError(f"--to {form}: the forms are {listing(EXPORTS)}")
    export = EXPORTS[form]
    path = optional_output(options.output, (export.suffix,), options)
    if path is None and export.to_bytes is not None:
        raise InputError(f"--to {form} needs -o FILE{export.suffix}")
    try:
        content = export.content(_without_note(_read(options.card)))
    except (ValueError, ImportError) as error:
        raise InputError(with_name(options.card, str(error))) from error
    if path is None:
        print(content)
        return
    with write_atomically(path, force=options.force) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    print(f"{path}: written")
