"""The command ``export``: a stored model in a form that a search engine reads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sklearn_rank.cli._output import Output, show_notes, write_content
from sklearn_rank.cli._store import load_model
from sklearn_rank.cli._tables.errors import InputError, listing, noting
from sklearn_rank.export.search_engines import to_linear_json, to_ranklib, to_xgboost_json


def export(model: str, to: str, *, drop_constant: bool, output: Output | None) -> None:
    """Write a model in the form of a search engine."""
    forms: dict[str, Callable[[Any], str]] = {
        "ranklib": to_ranklib,
        "xgboost": to_xgboost_json,
        "linear": partial(to_linear_json, drop_constant=drop_constant),
    }
    if to not in forms:
        raise InputError(f"--to {to}: the forms are {listing(forms)}")
    notes: list[str] = []
    pipeline = load_model(model, notes).pipeline
    with noting(notes, model):
        content = forms[to](pipeline)
    show_notes(notes)
    write_content(content, output)
