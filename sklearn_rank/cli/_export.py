"""The command ``export``: a stored model in a form that a search engine reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn_rank.cli._output import show_notes
from sklearn_rank.cli._settings import ExportModel
from sklearn_rank.cli._store import load_model
from sklearn_rank.search_engines import to_linear_json, to_ranklib, to_solr, to_xgboost_json
from sklearn_rank.tables.errors import InputError, listing, noting


def _to_solr(model: Any, *, name: str, drop_constant: bool) -> str:
    return json.dumps(to_solr(model, name, drop_constant=drop_constant), indent=1)


def export(settings: ExportModel) -> None:
    """Write a model in the form of a search engine."""
    drops = settings.drop_constant
    forms: dict[str, Callable[[Any], str]] = {
        "ranklib": to_ranklib,
        "xgboost": to_xgboost_json,
        "linear": partial(to_linear_json, drop_constant=drops),
        "solr": partial(_to_solr, name=settings.name, drop_constant=drops),
    }
    form, output = settings.to, settings.output
    if form not in forms:
        raise InputError(f"--to {form}: the forms are {listing(forms)}")
    notes: list[str] = []
    pipeline = load_model(settings.model, notes).pipeline
    with noting(notes, settings.model):
        content = forms[form](pipeline)
    show_notes(notes)
    if output is None:
        print(content)
        return
    with output.writing() as temporary:
        temporary.write_text(content, encoding="utf-8")
    print(f"{output}: written")
