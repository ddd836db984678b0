"""The command ``export``: a stored model in a form that a search engine reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn_rank.cli._output import show_notes, write_content
from sklearn_rank.cli._settings import ExportModel
from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.errors import InputError, listing, noting
from sklearn_rank.export.search_engines import to_linear_json, to_ranklib, to_xgboost_json


def export(settings: ExportModel) -> None:
    """Write a model in the form of a search engine."""
    drops = settings.drop_constant
    forms: dict[str, Callable[[Any], str]] = {
        "ranklib": to_ranklib,
        "xgboost": to_xgboost_json,
        "linear": partial(to_linear_json, drop_constant=drops),
    }
    form = settings.to
    if form not in forms:
        raise InputError(f"--to {form}: the forms are {listing(forms)}")
    notes: list[str] = []
    pipeline = load_model(settings.model, notes).pipeline
    with noting(notes, settings.model):
        content = forms[form](pipeline)
    show_notes(notes)
    write_content(content, settings.output)
