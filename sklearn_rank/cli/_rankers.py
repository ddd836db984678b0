"""The rankers of this package, the baselines, and their pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import sklearn_rank
from sklearn_rank.cli._tables.columns import BOOLEAN, CATEGORY, DATE, FEW_VALUES, NUMBER, Schema
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.inputs import InputError, import_extra, listing
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.ensemble.members import NumberScaler
from sklearn_rank.models import Stumps

TREES, DEFAULT = "BoostedTreesRanker", "PNormPushRanker"
LOGISTIC, HISTOGRAMS, STUMPS = "logistic regression", "HistGradientBoosting", "HistGradient stumps"
EXTRA_TREES, LIGHTGBM, CATBOOST = "ExtraTrees", "LightGBM", "CatBoost"
_QUIET = {"allow_writing_files": False, "thread_count": 1, "verbose": 0}
"""Parameters of CatBoost, which else writes a folder of files and prints each round."""

_TREES: dict[str, tuple[str, str, dict[str, Any]]] = {
    HISTOGRAMS: ("sklearn.ensemble", "HistGradientBoosting", {}),
    STUMPS: ("sklearn.ensemble", "HistGradientBoosting", {"max_depth": 1}),
    EXTRA_TREES: ("sklearn.ensemble", "ExtraTrees", {"max_features": "sqrt"}),
    LIGHTGBM: ("lightgbm", "LGBM", {"n_jobs": 1, "verbose": -1}),
    CATBOOST: ("catboost", "CatBoost", _QUIET),
}
"""Module, name without Classifier or Regressor, and parameters of other libraries' trees."""

BASELINES = (LOGISTIC, *_TREES)
"""Models that rankers are compared with, as they come."""

SIMPLEST_FIRST = (
    *(LOGISTIC, "ListNetLinear", STUMPS, "RankBoost", "PNormPushRanker", "SmoothMarginRanker"),
    *(TREES, CATBOOST, LIGHTGBM, HISTOGRAMS, EXTRA_TREES, "KernelPairwiseSGDRanker"),
)
"""Linear models, sums of functions of one column, trees, and what keeps its training rows."""

MAX_QUADRATIC_ROWS = 2000
"""Maximum number of training rows for rankers of quadratic time, unless they are named."""


def rankers_of(table: TableOptions, folds: Folds, named: Sequence[str]) -> dict[str, Any]:
    """Return unfitted models, by default all rankers; each gets its part of the options."""
    if folds.n_jobs == 0:
        raise InputError("--n-jobs 0: must be a number of jobs, or -1 for all cores")
    forms = {_form(name): name for name in (*sklearn_rank.__all__, *BASELINES)}
    unknown = [name for name in named if _form(name) not in forms]
    if unknown:
        allowed_names = listing(forms.values())
        raise InputError(f"unknown ranker {unknown[0]!r}; the rankers are {allowed_names}")
    names = [forms[_form(name)] for name in named] or sklearn_rank.__all__
    rankers = {name: _unfitted(name, table) for name in names}
    params = {name: ranker.get_params().keys() for name, ranker in rankers.items()}
    allowed = dict.fromkeys(param for name in names for param in params[name])
    for param in folds.param:
        if param not in allowed or param == "relevance":
            which = listing((name for name in allowed if name != "relevance"), 99)
            what = f"no parameter {param!r} of {listing(names, 3)}; they have {which}"
            raise InputError(f"--param {param}: {what}")
    values = {"relevance": table.relevance, "random_state": table.seed, **folds.param}
    for name, ranker in rankers.items():
        ranker.set_params(**{param: values[param] for param in values.keys() & params[name]})
    if TREES in rankers:
        try:
            _ = rankers[TREES].engine_in_use
        except (ImportError, ValueError) as error:
            raise InputError(str(error)) from error
    return rankers


def _form(name: str) -> str:
    return "".join(name.casefold().split())


def _unfitted(name: str, table: TableOptions | Schema) -> Any:
    """Return a ranker with its own parameters, or a baseline of one thread."""
    if name == LOGISTIC:
        return LogisticRegression(max_iter=1000)
    if name in _TREES:
        module, kind, params = _TREES[name]
        library = import_extra(module, "bench" if name == CATBOOST else module)
        ending = "Regressor" if table.relevance == "graded" else "Classifier"
        return getattr(library, kind + ending)(**params)
    ranker = getattr(sklearn_rank, name)()
    if "weak_ranker" in ranker.get_params(deep=False):
        ranker.set_params(weak_ranker=Stumps())  # an object: with parameters to set
    return ranker


def leave_out(rankers: dict[str, Any], notes: list[str], folds: Folds, data: Dataset) -> None:
    """Remove the rankers that are compared only when asked for; notes say why if they must."""
    left_out = {"SmoothMarginRanker": ""} | ({} if data.has_grades else {"ListNetLinear": ""})
    n_rows = len(data.y) * (folds.cv - 1) // folds.cv
    if n_rows > MAX_QUADRATIC_ROWS and folds.param.get("kernel") != "linear":
        slow = f"slow above {MAX_QUADRATIC_ROWS} training rows (--rankers names what to run)"
        left_out["KernelPairwiseSGDRanker"] = slow
    for name, reason in left_out.items():
        del rankers[name]
        if reason:
            notes.append(f"no {name}: {reason}")


def baselines(data: Dataset, notes: list[str]) -> dict[str, Any]:
    """Return the baselines of a comparison."""
    models = {}
    for name in BASELINES:
        with suppress(InputError):  # it is not installed
            models[name] = _unfitted(name, data.schema).set_params(random_state=data.seed)
    if np.unique(data.y > 0).size < 2:
        del models[LOGISTIC]
        every = "every" if data.y.min() > 0 else "no"
        notes.append(f"no {LOGISTIC}: {every} grade is above 0")
    elif data.schema.relevance == "graded":
        notes.append(f"{LOGISTIC} learns relevance > 0, the other baselines the grades")
    if data.qid is not None:
        notes.append("the baselines do not see the queries")
    return models


def pipeline_for(model: Any, schema: Schema) -> Pipeline:
    """Return a pipeline of column encoding and ranker or baseline.

    Trees get categories as they are, CatBoost with missing ones as a level "nan", stumps and
    LightGBM (which take missing values) as 0/1 columns, and linear and kernel models imputed and
    scaled numbers beside such columns.
    """
    kind, categories = type(model).__name__, None
    if kind.startswith((TREES, HISTOGRAMS)):
        categories = "passthrough"
    elif kind.startswith(CATBOOST):
        categories = SimpleImputer(strategy="constant", fill_value="nan")
    encoder = _encoder(schema, categories)
    if kind.startswith(CATBOOST):  # it copies lists, so that scikit-learn couldn't clone it
        names = tuple(f"category__{name}" for name in encoder.transformers[1][2])
        model.set_params(cat_features=names)
    steps: list[tuple[str, Any]] = [("columns", encoder)]
    if not get_tags(model).input_tags.allow_nan or kind.startswith(EXTRA_TREES):
        fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
        scaler = NumberScaler() if schema.columns_of(BOOLEAN, CATEGORY) else StandardScaler()
        steps += [("fill", fill), ("scale", scaler)]
    return Pipeline([*steps, ("ranker", model)])


def _encoder(schema: Schema, kept: Any) -> ColumnTransformer:
    """Return what encodes columns, categories by a transformer or, with None, as 0/1 columns."""
    categories = schema.columns_of(BOOLEAN, CATEGORY)
    few = [name for name in categories if len(schema.categories[name]) <= FEW_VALUES]
    texts, dates = [name for name in categories if name not in few], schema.columns_of(DATE)
    steps: list[tuple[str, Any, Any]] = [("number", "passthrough", schema.columns_of(NUMBER))]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps.append(("category", kept or one_hot, few))
    if texts or dates:
        skrub = import_extra("skrub")  # takes seconds, so only where it is needed
        letters = skrub.StringEncoder(random_state=0)
        steps += [(f"text {i}", letters, name) for i, name in enumerate(texts)]
        parts = skrub.DatetimeEncoder(resolution="second", add_weekday=True)
        steps += [(f"date {i}", parts, name) for i, name in enumerate(dates)]
    # Only a data frame keeps categories, which arrays are faster without.
    encoder = ColumnTransformer(steps)
    return encoder.set_output(transform="pandas") if kept else encoder
