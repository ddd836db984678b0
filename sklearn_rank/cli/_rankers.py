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
from sklearn_rank.cli._tables import inputs
from sklearn_rank.cli._tables.columns import BOOLEAN, CATEGORY, DATE, FEW_VALUES, NUMBER, Schema
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.inputs import InputError, import_extra, listing, noting
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
    forms = {inputs.form_of(name): name for name in (*sklearn_rank.__all__, *BASELINES)}
    unknown = [name for name in named if inputs.form_of(name) not in forms]
    if unknown:
        known = inputs.choices("rankers", unknown[0], forms.values())
        raise InputError(f"unknown ranker {unknown[0]!r}; {known}")
    names = [forms[inputs.form_of(name)] for name in named] or sklearn_rank.__all__
    rankers = {name: _unfitted(name, table) for name in names}
    params = {name: ranker.get_params().keys() for name, ranker in rankers.items()}
    allowed = list(dict.fromkeys(p for name in names for p in params[name] if p != "relevance"))
    for param in folds.param:
        if param not in allowed:
            known = inputs.choices("parameters", param, allowed, 99)
            raise InputError(f"--param {param}: not a parameter of {listing(names, 3)}; {known}")
    values = {"relevance": table.relevance, "random_state": table.seed, **folds.param}
    for name, ranker in rankers.items():
        ranker.set_params(**{param: values[param] for param in values.keys() & params[name]})
    if TREES in rankers:
        with noting([], refused=(ImportError, ValueError)):
            _ = rankers[TREES].engine_in_use
    return rankers


def _unfitted(name: str, table: TableOptions | Schema) -> Any:
    """Return a ranker with its default parameters, or a single-threaded baseline."""
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
    """Remove the rankers that are compared only on request, with a note if one is slow."""
    left_out = ["SmoothMarginRanker", *([] if data.has_grades else ["ListNetLinear"])]
    n_rows = len(data.y) * (folds.cv - 1) // folds.cv
    if n_rows > MAX_QUADRATIC_ROWS and folds.param.get("kernel") != "linear":
        left_out.append("KernelPairwiseSGDRanker")
        slow = f"slow with more than {MAX_QUADRATIC_ROWS} training rows"
        notes.append(f"{left_out[-1]} skipped: {slow} (list it in --rankers to run it)")
    for name in left_out:
        del rankers[name]


def baselines(data: Dataset, notes: list[str]) -> dict[str, Any]:
    """Return the baselines of a comparison."""
    models = {}
    for name in BASELINES:
        with suppress(InputError):  # it is not installed
            models[name] = _unfitted(name, data.schema).set_params(random_state=data.seed)
    if np.unique(data.y > 0).size < 2:
        del models[LOGISTIC]
        every = "every" if data.y.min() > 0 else "no"
        notes.append(f"{LOGISTIC} skipped: {every} grade is above 0")
    elif data.schema.relevance == "graded":
        notes.append(f"{LOGISTIC} predicts relevance > 0; the other baselines predict the grades")
    if data.qid is not None:
        notes.append("the baselines ignore the queries")
    return models


def pipeline_for(model: Any, schema: Schema) -> Pipeline:
    """Return a pipeline of column encoding and ranker or baseline.

    Trees get categories as they are, CatBoost with missing ones as a level "nan", stumps and
    LightGBM (which take missing values) as 0/1 columns, and linear and kernel models imputed and
    scaled numbers beside such columns.
    """
    kind, categories = type(model).__name__, schema.columns_of(BOOLEAN, CATEGORY)
    few = [name for name in categories if len(schema.categories[name]) <= FEW_VALUES]
    texts, dates = [name for name in categories if name not in few], schema.columns_of(DATE)
    encode: Any = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    if kind.startswith((TREES, HISTOGRAMS)):
        encode = "passthrough"
    elif kind.startswith(CATBOOST):
        encode = SimpleImputer(strategy="constant", fill_value="nan")
        # Not a list, which CatBoost copies, so that scikit-learn couldn't clone it.
        model.set_params(cat_features=tuple(f"category__{name}" for name in few))
    parts: list[tuple[str, Any, Any]] = [("number", "passthrough", schema.columns_of(NUMBER))]
    parts.append(("category", encode, few))
    if texts or dates:
        skrub = import_extra("skrub")  # takes seconds, so only where it is needed
        letters = skrub.StringEncoder(random_state=0)
        parts += [(f"text {i}", letters, name) for i, name in enumerate(texts)]
        of_dates = skrub.DatetimeEncoder(resolution="second", add_weekday=True)
        parts += [(f"date {i}", of_dates, name) for i, name in enumerate(dates)]
    steps: list[tuple[str, Any]] = [("columns", ColumnTransformer(parts))]
    if not isinstance(encode, OneHotEncoder):  # only a data frame keeps categories; slower
        steps[0][1].set_output(transform="pandas")
    if not get_tags(model).input_tags.allow_nan or kind.startswith(EXTRA_TREES):
        fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
        scaler = NumberScaler() if categories else StandardScaler()
        steps += [("fill", fill), ("scale", scaler)]
    return Pipeline([*steps, ("ranker", model)])
