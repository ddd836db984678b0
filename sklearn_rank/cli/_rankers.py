"""The rankers of this package, the baselines, and their pipelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import sklearn_rank
from sklearn_rank.cli._tables.columns import BOOLEAN, CATEGORY, DATE, NUMBER, Schema
from sklearn_rank.cli._tables.dataset import Dataset
from sklearn_rank.cli._tables.errors import InputError, import_extra, listing
from sklearn_rank.cli._tables.kinds import FEW_VALUES
from sklearn_rank.cli._tables.options import Folds, TableOptions
from sklearn_rank.engines.registry import get_engine
from sklearn_rank.ensemble.members import NumberScaler
from sklearn_rank.models import Stumps

TREES, DEFAULT = "BoostedTreesRanker", "PNormPushRanker"
LOGISTIC, HISTOGRAMS, LIGHTGBM = "logistic regression", "HistGradientBoosting", "LightGBM"
BASELINES = (LOGISTIC, HISTOGRAMS, "HistGradient stumps", LIGHTGBM)
"""Models that rankers are compared with, as they come; the stumps are trees of depth 1."""

MAX_QUADRATIC_ROWS = 2000
"""Maximum number of training rows for rankers of quadratic time, unless they are named."""

_MIN_RARER = 100
"""Rows of the rarer class from which on boosting stops early: of fewer a tenth says too little."""

_PATIENCE = 10
"""Rounds after the best one from which on boosting may then end."""


def choose_rankers(names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """Return the names of rankers, or of `others`, given in any case, with or without blanks."""
    known = [*sklearn_rank.__all__, *others]
    by_form = {_form(name): name for name in known}
    unknown = [name for name in names if _form(name) not in by_form]
    if unknown:
        raise InputError(f"unknown ranker {unknown[0]!r}; the rankers are {listing(known)}")
    return list(dict.fromkeys(by_form[_form(name)] for name in names))


def _form(name: str) -> str:
    return "".join(name.casefold().split())


def _unfitted(name: str, seed: int, *, is_graded: bool) -> Any:
    """Return a ranker with its own parameters, or a baseline of one thread."""
    if name not in BASELINES:
        return getattr(sklearn_rank, name)()
    if name == LOGISTIC:
        return LogisticRegression(max_iter=1000)
    if name == LIGHTGBM:
        _check(LIGHTGBM.lower(), LIGHTGBM)
        lightgbm = import_extra("lightgbm", "lightgbm")
        kind = lightgbm.LGBMRegressor if is_graded else lightgbm.LGBMClassifier
        return kind(random_state=seed, n_jobs=1, verbose=-1)
    trees = HistGradientBoostingRegressor if is_graded else HistGradientBoostingClassifier
    return trees(random_state=seed, max_depth=None if name == HISTOGRAMS else 1)


def rankers_of(table: TableOptions, folds: Folds) -> dict[str, Any]:
    """Return the unfitted rankers of a comparison; those named are checked."""
    if folds.n_jobs == 0:
        raise InputError("--n-jobs 0: must be a number of jobs, or -1 for all cores")
    named = choose_rankers(folds.rankers)
    rankers = make_rankers(named or sklearn_rank.__all__, table, folds)
    if named:
        check_engine(rankers)
    return rankers


def make_rankers(names: Iterable[str], table: TableOptions, folds: Folds) -> dict[str, Any]:
    """Return unfitted rankers; each gets those of the options that are parameters of it."""
    params, grid = folds.param, folds.search
    is_graded = table.relevance == "graded"
    rankers = {name: _unfitted(name, table.seed, is_graded=is_graded) for name in names}
    for ranker in rankers.values():
        if "weak_ranker" in ranker.get_params(deep=False):
            ranker.set_params(weak_ranker=Stumps())  # an object: with parameters to set
    known = {name: ranker.get_params() for name, ranker in rankers.items()}
    allowed = list(dict.fromkeys(p for has in known.values() for p in has if p != "relevance"))
    for option, given in (("--param", params), ("--search", grid)):
        for param in given.keys() - set(allowed):
            who = f"{next(iter(known))} has no" if len(known) == 1 else "no ranker has a"
            what = f"{who} parameter {param!r}; the parameters are {listing(allowed, 99)}"
            raise InputError(f"{option} {param}: {what}")
    for param in params.keys() & grid.keys():
        raise InputError(f"--search {param}: --param sets it to {params[param]}")
    for name, ranker in rankers.items():
        given = {"relevance": table.relevance, "random_state": table.seed, **params}
        ranker.set_params(**{key: value for key, value in given.items() if key in known[name]})
    return rankers


def has_rounds(model: Any, params: Mapping[str, Any]) -> bool:
    """Whether rows held out may choose the rounds of a model, unless parameters say otherwise."""
    is_booster = hasattr(model, "refit_stopped") and hasattr(model, "staged_predict")
    return is_booster and "n_iter_no_change" not in params


def stop_early(ranker: Any, params: Mapping[str, Any], data: Dataset, *, is_given: bool) -> None:
    """Let rows choose the rounds of boosting: given ones, or a tenth of many."""
    n_rarer = len(data.y) - np.unique(data.y, return_counts=True)[1].max()
    if has_rounds(ranker, params) and (is_given or n_rarer >= _MIN_RARER):
        ranker.set_params(n_iter_no_change=_PATIENCE)


def leave_out(
    rankers: dict[str, Any], notes: list[str], kernel: str | None, n_rows: int, *, has_grades: bool
) -> None:
    """Remove the rankers that are compared only when asked for; notes say why if they must."""
    left_out = {"SmoothMarginRanker": ""} | ({} if has_grades else {"ListNetLinear": ""})
    if n_rows > MAX_QUADRATIC_ROWS and kernel != "linear":
        left_out["KernelPairwiseSGDRanker"] = (
            f"slow above {MAX_QUADRATIC_ROWS} training rows (--rankers names what to run)"
        )
    try:
        check_engine({TREES: sklearn_rank.BoostedTreesRanker()})
    except InputError as error:
        left_out[TREES] = str(error)
    for name, reason in left_out.items():
        del rankers[name]
        if reason:
            notes.append(f"no {name}: {reason}")


def check_engine(rankers: Mapping[str, Any]) -> None:
    """Raise InputError if trees are among the rankers and their engine can't be used."""
    if TREES in rankers:
        _check(rankers[TREES].engine, TREES)


def _check(engine: str, owner: str) -> None:
    try:
        get_engine(engine, owner)
    except (ImportError, ValueError) as error:
        raise InputError(str(error)) from error


def baselines(data: Dataset, notes: list[str]) -> dict[str, Any]:
    """Return the baselines of a comparison."""
    is_graded, models = data.schema.relevance == "graded", {}
    for name in BASELINES:
        with suppress(InputError):  # no LightGBM
            models[name] = _unfitted(name, data.seed, is_graded=is_graded)
    if np.unique(data.y > 0).size < 2:
        del models[LOGISTIC]
        notes.append(f"no {LOGISTIC}: it needs rows with a relevance above 0, and others")
    elif is_graded:
        notes.append(f"{LOGISTIC} learns relevance > 0, the other baselines the grades")
    if data.qid is not None:
        notes.append("the baselines do not see the queries")
    return models


def pipeline_for(model: Any, schema: Schema) -> Pipeline:
    """Return a pipeline of column encoding and ranker or baseline.

    Trees get categories as they are, stumps and LightGBM (which take missing values) as 0/1
    columns, and linear and kernel models imputed and scaled numbers beside such columns.
    """
    if hasattr(model, "relevance"):  # grades may have been found in the table
        model.set_params(relevance=schema.relevance)
    keeps_categories = type(model).__name__.startswith((TREES, HISTOGRAMS))
    encoder = _encoder(schema, keeps_categories=keeps_categories)
    steps: list[tuple[str, Any]] = [("columns", encoder)]
    if not get_tags(model).input_tags.allow_nan:
        fill = SimpleImputer(add_indicator=True, keep_empty_features=True)
        scaler = NumberScaler() if schema.columns_of(BOOLEAN, CATEGORY) else StandardScaler()
        steps += [("fill", fill), ("scale", scaler)]
    return Pipeline([*steps, ("ranker", model)])


def _encoder(schema: Schema, *, keeps_categories: bool) -> ColumnTransformer:
    categories = schema.columns_of(BOOLEAN, CATEGORY)
    few = [name for name in categories if len(schema.categories[name]) <= FEW_VALUES]
    texts, dates = [name for name in categories if name not in few], schema.columns_of(DATE)
    steps: list[tuple[str, Any, Any]] = [("number", "passthrough", schema.columns_of(NUMBER))]
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    steps.append(("category", "passthrough" if keeps_categories else one_hot, few))
    if texts or dates:
        skrub = import_extra("skrub")  # takes seconds, so only where it is needed
        letters = skrub.StringEncoder(random_state=0)
        steps += [(f"text {i}", letters, name) for i, name in enumerate(texts)]
        parts = skrub.DatetimeEncoder(resolution="second", add_weekday=True)
        steps += [(f"date {i}", parts, name) for i, name in enumerate(dates)]
    # Only a data frame keeps categories, which arrays are faster without.
    made = ColumnTransformer(steps)
    return made.set_output(transform="pandas") if keeps_categories else made
