"""The commands ``card`` and ``card export``, and cards as models of ``rank`` and ``evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from sklearn_rank.cli._contest import Fold, make_folds
from sklearn_rank.cli._output import Output, show_notes, write_content
from sklearn_rank.cli._tables.cards import card_of_table, in_all_forms
from sklearn_rank.cli._tables.columns import CATEGORY, FEW_VALUES, NUMBER, Schema
from sklearn_rank.cli._tables.dataset import Dataset, training_data
from sklearn_rank.cli._tables.inputs import InputError, listing, noting
from sklearn_rank.cli._tables.options import TableOptions
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import (
    Card,
    Scorecard,
    card_from_json,
    card_to_json,
    to_html,
    to_sql,
    to_text,
)
from sklearn_rank.scorecard._text import WEIGHTS

_TABLE = "table"
"""Key of the details under which a saved card records how its columns are read."""


def _onnx(card: Card) -> bytes:
    from sklearn_rank.export.onnx import to_onnx

    content: bytes = to_onnx(card).SerializeToString()
    return content


_FORMS: dict[str, tuple[str, Callable[..., str | bytes]]] = {
    "sql": (".sql", to_sql),
    "html": (".html", to_html),
    "text": (".txt", to_text),
    "onnx": (".onnx", _onnx),
}
"""File suffix and export function of each format."""


def card(table: TableOptions, *, output: Output, **options: Any) -> None:
    """Fit a scorecard, print it with held-out figures, and save it."""
    notes: list[str] = []
    points, seed = _parse_points(options.pop("points")), table.seed
    for option in ("monotone", "special"):
        options[option] = _by_column(f"--{option}", options[option])
    data = training_data(table, notes)
    if data.schema.positive is None:
        raise InputError("a card requires two classes; --relevance graded is not supported")
    dates, categories = list(data.X.select_dtypes("datetime")), data.schema.categories
    long = [name for name in categories if len(categories[name]) > FEW_VALUES]
    notes += [f"a card cannot use dates; skipped: {listing(dates)}"] if dates else []
    what = f"a card cannot use columns with more than {FEW_VALUES} categories; skipped:"
    notes += [f"{what} {listing(long)}"] if long else []
    data = replace(data, X=data.X.drop(columns=[*dates, *long]))
    if not data.X.shape[1]:
        raise InputError(f"{data.table.path}: a card can use none of the columns")
    for option in ("monotone", "special"):
        for name, values in options[option].items():
            if name not in data.X.columns:
                what = f"the features are {listing(data.X.columns)}"
                raise InputError(f"--{option} {name}={values[0]:g}: {what}")
    unfitted = _unfitted_card(seed, points=points, **options)
    if isinstance(unfitted.cv, int) and not (data.time is None and data.group is None):
        unfitted.set_params(cv=_most_folds(data, unfitted.cv, seed))
    with noting(notes, "card"):
        scorecard = unfitted.fit(data.X, data.y, qid=data.qid, sample_weight=data.weight)
    positive = str(data.schema.positive)
    others = [label for label in data.schema.classes or () if label != positive]
    classes = others[0] if len(others) == 1 else "others", positive
    n_rows = f"{len(data.y)} rows, {data.y.sum()} of them with the event"
    weights = {WEIGHTS: f"column {data.schema.weight!r} of {n_rows}"}
    details = {**scorecard.card_.details, **({} if data.weight is None else weights)}
    stored = replace(scorecard.card_, classes=classes, details=details)
    details = {**details, _TABLE: json.dumps(asdict(data.schema))}
    with output.writing() as temporary:
        temporary.write_text(card_to_json(replace(stored, details=details)), encoding="utf-8")
    show_notes(notes)
    print(f"{data.summary()}\n\n{to_text(stored)}\n{_held_out(details, positive)}")
    print(f"{output}: saved")


def _by_column(option: str, texts: Iterable[str]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        try:
            values.setdefault(name, []).append(float(value))
        except ValueError:
            raise InputError(f"{option} {text}: must be COL=NUMBER") from None
    return values


def _parse_points(text: str) -> tuple[int, int]:
    try:
        low, high = map(int, text.split(":"))
    except ValueError:
        raise InputError(f"--points {text}: must be LOW:HIGH, such as -5:5") from None
    return low, high


def _most_folds(data: Dataset, most: int, seed: int) -> list[Fold]:
    """Return at most this many folds: as many as the rows, queries or groups allow."""
    for number in range(most, 2, -1):
        with suppress(InputError):
            return make_folds(data, number, seed)
    return make_folds(data, 2, seed)


def _unfitted_card(
    seed: int,
    max_terms: int,
    points: tuple[int, int],
    monotone: Mapping[str, list[float]],
    special: Mapping[str, list[float]],
    param: Mapping[str, Any],
) -> Scorecard:
    """Return a scorecard with the parameters of the options."""
    signs = {name: values[-1] for name, values in monotone.items()}
    unfitted = Scorecard(
        points=points, max_terms=max_terms, monotonic_cst=signs or None, random_state=seed
    )
    ranker = unfitted.default_ranker()
    stumps = Stumps(special_values=special or None)
    unfitted.set_params(ranker=ranker.set_params(weak_ranker=stumps))
    for name, value in param.items():
        parts = unfitted, ranker, stumps
        owner = next((part for part in parts if name in part.get_params(deep=False)), None)
        if owner is None:
            raise InputError(f"--param {name}: neither Scorecard nor its ranker has this parameter")
        owner.set_params(**{name: value})
    return unfitted


def _held_out(details: dict[str, Any], positive: str) -> str:
    """Return a line on the metrics of held-out rows."""
    if "held_out_auc" not in details:
        return "no held-out figures: these require one list, and both classes in each fold"
    auc, pauc = details["held_out_auc"], details["held_out_pauc_5"]
    what = "mean height of the ROC curve up to 5 % FPR"
    return f"held out: AUC {auc:.3f}; {what} {pauc:.3f} (class {positive!r})"


def _read_card(name: str) -> tuple[Card, str]:
    """Return a saved card, and its record of how columns are read."""
    try:
        stored = card_from_json(Path(name).read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"{name}: was not saved by sklearn-rank card. {error}") from error
    details = dict(stored.details)
    note = details.pop(_TABLE, "{}")
    return replace(stored, details=details), note


def load_card(name: str) -> tuple[Pipeline, str, Schema]:
    """Return a saved card as a model whose scores are its totals, its name, and its schema."""
    stored, note = _read_card(name)
    kinds = {v.name: NUMBER if v.groups is None else CATEGORY for v in stored.variables}
    plain = {"target": "", "qid": None, "relevance": "binary", "positive": str(stored.classes[1])}
    try:
        table = {**plain, "kinds": kinds, **json.loads(note)}
        for key, value in table.items():
            if isinstance(value, dict):
                table[key] = {name: value[name] for name in kinds if name in value}
        schema = Schema(**table)
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{name}: the entry {_TABLE!r} of its details is damaged") from error

    scorecard = Scorecard.from_json(card_to_json(card_of_table(stored)))
    return Pipeline([("card", scorecard)]), "Scorecard", schema


def export(card: str, to: str, dialect: str | None, output: Output | None) -> None:
    """Export a card to another format."""
    if dialect is not None and to != "sql":
        raise InputError("--dialect requires --to sql")
    suffix, content_of = _FORMS[to]
    if output is not None and output.path.suffix.lower() != suffix:
        raise InputError(f"{output}: the output file name must end in {suffix}")
    if output is None and to == "onnx":
        raise InputError(f"--to {to} requires -o FILE{suffix}")
    with noting([], card, (ValueError, ImportError)):
        stored = _read_card(card)[0]
        stored = in_all_forms(stored, load_card(card)[2]) if to in ("sql", "onnx") else stored
        content = content_of(stored, *filter(None, [dialect]))
    write_content(content, output)
