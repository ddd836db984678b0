"""The rankers of this package, the baselines, and their pipelines."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import sklearn_rank
from sklearn_rank._protocols import Floats, Values
from sklearn_rank.cli._columns import BOOLEAN, CATEGORY, MAX_CATEGORIES, NUMBER, Schema
from sklearn_rank.cli._errors import InputError, listing
from sklearn_rank.cli._trees import TREES, TreeClassifier

BASELINE = "logistic regression"

MAX_QUADRATIC_ROWS = 5000
"""Maximum number of training rows for rankers of quadratic time, unless they are named."""

_QUADRATIC = frozenset({"KernelPairwiseSGDRanker"})
"""Rankers whose time is quadratic in the number of rows."""


def available_rankers() -> dict[str, Any]:
    """Return the estimators of `sklearn_rank` by name."""
    public = {name: getattr(sklearn_rank, name) for name in sklearn_rank.__all__}
    return {
        name: value
        for name, value in public.items()
        if inspect.isclass(value) and issubclass(value, BaseEstimator)
    }


def choose_rankers(names: Iterable[str] | None) -> list[str]:
    """Return the names of rankers, given in any case; None means all of them."""
    rankers = available_rankers()
    by_form = {name.casefold(): name for name in rankers}
    chosen: dict[str, None] = {}
    for name in rankers if names is None else names:
        if name.casefold() not in by_form:
            hint = "; put DATA before --rankers" if "." in name else ""
            raise InputError(f"unknown ranker {name!r}; the rankers are {listing(rankers)}{hint}")
        chosen[by_form[name.casefold()]] = None
    return list(chosen)


def parse_params(texts: Iterable[str]) -> dict[str, Any]:
    """Parse texts of the form ``name=value``."""
    params: dict[str, Any] = {}
    for text in texts:
        param, equals, value = text.partition("=")
        if not equals:
            hint = "; put DATA before --param" if "." in text else ""
            raise InputError(f"--param {text}: must read NAME=VALUE, such as p=8{hint}")
        if param == "relevance":
            raise InputError(f"--param {text}: use --relevance {value}")
        if param in params:
            raise InputError(f"--param {text}: {param!r} is given twice")
        params[param] = _parse_value(value)
    return params


def make_rankers(
    names: list[str], relevance: str, seed: int, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Return unfitted rankers; each gets those parameters that it has."""
    rankers = {name: available_rankers()[name]() for name in names}
    known = {name: ranker.get_params(deep=False) for name, ranker in rankers.items()}
    allowed = list(dict.fromkeys(p for has in known.values() for p in has if p != "relevance"))
    for param in params:
        if param not in allowed:
            who = f"{names[0]} has no" if len(names) == 1 else "no ranker has a"
            raise InputError(
                f"--param {param}: {who} parameter {param!r}; "
                f"the parameters are {listing(allowed, 99)}"
            )
    for name, ranker in rankers.items():
        # Not every ranker has random_state; all have relevance.
        ranker.set_params(relevance=relevance)
        given = {"random_state": seed, **params}
        ranker.set_params(**{key: value for key, value in given.items() if key in known[name]})
    return rankers


def leave_out_slow(rankers: Mapping[str, Any], n_rows: int, notes: list[str]) -> dict[str, Any]:
    """Return the rankers that are fast enough for `n_rows` rows; a note names the others."""
    slow = [name for name, ranker in rankers.items() if n_rows > _max_rows(name, ranker)]
    notes += [
        f"no {name}: its time grows with the square of the rows, and a fold trains on {n_rows}, "
        f"more than {MAX_QUADRATIC_ROWS}; --rankers {name} runs it nevertheless, and with "
        "--param kernel=linear its time grows with the rows only"
        for name in slow
    ]
    return {name: ranker for name, ranker in rankers.items() if name not in slow}


def _max_rows(name: str, ranker: Any) -> float:
    is_quadratic = name in _QUADRATIC and ranker.kernel != "linear"
    return MAX_QUADRATIC_ROWS if is_quadratic else np.inf


def ranker_pipeline(ranker: Any, schema: Schema) -> Pipeline:
    """Return a pipeline of column encoding and ranker.

    Rankers that accept missing values use thresholds, which do not depend on scales: they get
    the columns unchanged. The others are linear or kernel models, which need imputed and scaled
    columns.
    """
    return _pipeline(ranker, schema, scales=not get_tags(ranker).input_tags.allow_nan)


def baseline_pipelines(rankers: Mapping[str, Any], schema: Schema) -> dict[str, Pipeline]:
    """Return pipelines with classifiers: logistic regression, and beside trees their engine's."""
    linear = LogisticRegression(max_iter=1000)
    baselines = {BASELINE: _pipeline(linear, schema, scales=True)}
    if TREES in rankers:
        trees = TreeClassifier(rankers[TREES])
        baselines[trees.name] = _pipeline(trees, schema, scales=False)
    return baselines


def _pipeline(model: Any, schema: Schema, *, scales: bool) -> Pipeline:
    steps = [("columns", _encoder(schema)), *(_fill_and_scale() if scales else [])]
    return Pipeline([*steps, ("ranker", model)])


def fit_pipeline(
    pipeline: Pipeline,
    X: Any,
    y: Values,
    qid: Values | None,
    weight: Values | None,
    name: str,
) -> list[str]:
    """Fit, passing `qid` and `weight` to the ranker; return the distinct warnings."""
    # An error of the ranker's own checks is bad input.
    given = {"ranker__qid": qid, "ranker__sample_weight": weight}
    routed = {key: value for key, value in given.items() if value is not None}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            pipeline.fit(X, y, **routed)
        except (ValueError, TypeError) as error:
            raise InputError(with_name(name, str(error))) from error
    return list(dict.fromkeys(_shorten(str(w.message).partition("\n")[0]) for w in caught))


def _shorten(warning: str) -> str:
    if "every step was RankBoost's" in warning:
        return "equals RankBoost here, having found no ranking without errors"
    return warning


def with_name(name: str, message: str) -> str:
    """Prefix a message with a name that it does not contain."""
    return message if name in message else f"{name}: {message}"


def scores_of(pipeline: Pipeline, X: Any) -> Floats:
    """Return the scores of the rows."""
    method = "decision_function" if hasattr(pipeline, "decision_function") else "predict"
    return np.asarray(getattr(pipeline, method)(X), dtype=np.float64)


def _encoder(schema: Schema) -> ColumnTransformer:
    one_hot = OneHotEncoder(
        handle_unknown="ignore", max_categories=MAX_CATEGORIES, sparse_output=False
    )
    return ColumnTransformer(
        [
            ("number", "passthrough", schema.columns_of(NUMBER)),
            # One for each column: `rank --explain` maps features back to columns by them.
            *(
                (f"category{number}", one_hot, [name])
                for number, name in enumerate(schema.columns_of(BOOLEAN, CATEGORY))
            ),
        ],
        sparse_threshold=0.0,
        verbose_feature_names_out=False,
    )


def _fill_and_scale() -> list[tuple[str, BaseEstimator]]:
    fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
    return [("fill", fill), ("scale", StandardScaler())]


def _parse_value(text: str) -> Any:
    """Parse a value: none, true, false, a number, or else text."""
    named = {"none": None, "true": True, "false": False}
    if text.lower() in named:
        return named[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text
