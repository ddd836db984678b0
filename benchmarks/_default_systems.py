"""What `lists.py` fits to one split: every system with its defaults, and ensembles on queries.

Each system uses one thread, except AutoGluon, which uses two threads and a fixed time. A system
whose package is missing is skipped, so CatBoost and AutoGluon may be in separate environments.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _list_tables import figures_of, split_of
from _real_data import join, load_lightgbm, load_mq2008, load_ohsumed, select

ENSEMBLE, TREES, FIRST = "RankingEnsemble", "BoostedTreesRanker", "first of compare"
LIGHTGBM_TREES = "BoostedTreesRanker, engine=lightgbm"
HISTOGRAMS, LOGISTIC = "HistGradientBoosting", "LogisticRegression"
CATBOOST, AUTOGLUON = "CatBoost", "AutoGluon"
RBF_KERNEL = "KernelPairwiseSGDRanker, rbf"
LEFT_OUT = {RBF_KERNEL: ("adult", "magic")}
"""Tables of more than 10,000 rows, the square of which is too many for a kernel."""
AUTOGLUON_SECONDS = 150
TARGET, NUMBER = "on_top", "number_of_row"
ESTIMATED = {"auc": "AUC", "pauc@0.05": "pauc@0.05"}
LETOR = {"MQ2008": 5, "OHSUMED": 3, "LightGBM": 5}
"""Test folds of each set of queries."""


def prepared(estimator):
    """Return a pipeline that imputes, scales and one-hot encodes."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    categories = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_include="category")),
    )
    return make_pipeline(columns, estimator)


def own_estimators() -> dict[str, Any]:
    """Return our rankers and the ensemble with their defaults, by name."""
    import sklearn_rank as ours
    from sklearn_rank.ensemble import RankingEnsemble

    seed = {"random_state": 0}
    return {
        ENSEMBLE: RankingEnsemble(n_jobs=1, **seed),
        TREES: ours.BoostedTreesRanker(n_jobs=1, **seed),
        LIGHTGBM_TREES: ours.BoostedTreesRanker(engine="lightgbm", n_jobs=1, **seed),
        "RankBoost": ours.RankBoost(n_jobs=1),
        "PNormPushRanker": ours.PNormPushRanker(n_jobs=1),
        "SmoothMarginRanker": ours.SmoothMarginRanker(n_jobs=1),
        "ListNetLinear": prepared(ours.ListNetLinear(relevance="binary", **seed)),
        "KernelPairwiseSGDRanker, linear": prepared(
            ours.KernelPairwiseSGDRanker(kernel="linear", **seed)
        ),
        RBF_KERNEL: prepared(ours.KernelPairwiseSGDRanker(kernel="rbf", **seed)),
    }


def other_estimators() -> dict[str, Any]:
    """Return the classifiers of other libraries with their defaults, by name."""
    from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    systems = {
        LOGISTIC: prepared(LogisticRegression(max_iter=1000)),
        "RandomForest": prepared(RandomForestClassifier(n_jobs=1, random_state=0)),
        HISTOGRAMS: HistGradientBoostingClassifier(random_state=0),
        f"{HISTOGRAMS}, depth 1": HistGradientBoostingClassifier(max_depth=1, random_state=0),
    }
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        systems["LightGBM"] = LGBMClassifier(n_jobs=1, verbosity=-1, random_state=0)
    if find_spec("xgboost"):
        from xgboost import XGBClassifier

        systems["XGBoost"] = XGBClassifier(n_jobs=1, enable_categorical=True, random_state=0)
    return systems


def score(model, X):
    """Return the scores of rows by a fitted model."""
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            scores = getattr(model, method)(X)
            return scores if scores.ndim == 1 else scores[:, 1]
    return model.predict(X)


def fit_estimator(name: str, X, y, X_test):
    """Fit one of our estimators or of other libraries; return its scores and estimates."""
    fitted = {**own_estimators(), **other_estimators()}[name].fit(X, y)
    scores = score(fitted, X_test)
    if name != ENSEMBLE:
        return scores, {}
    estimates = fitted.score_estimate_.items()
    estimate = {key: (each.value, each.standard_error) for key, each in estimates}
    return scores, {"estimate": estimate, "weights": fitted.weights_}


def fit_catboost(X, y, X_test):
    """Fit CatBoost with its defaults; missing categories are a level of their own."""
    from catboost import CatBoostClassifier

    texts = list(X.columns[X.dtypes == "category"])
    levels = {
        column: lambda frame, c=column: frame[c].astype(object).fillna("nan").astype(str)
        for column in texts
    }
    options = {"cat_features": texts, "verbose": 0, "allow_writing_files": False}
    model = CatBoostClassifier(thread_count=1, random_seed=0, **options)
    model.fit(X.assign(**levels), y)
    return model.predict_proba(X_test.assign(**levels))[:, 1], {}


def fit_autogluon(X, y, X_test):
    """Fit AutoGluon's preset `best_quality` for the AUC."""
    from autogluon.tabular import TabularPredictor

    with TemporaryDirectory(prefix="autogluon_") as folder:
        predictor = TabularPredictor(TARGET, eval_metric="roc_auc", path=folder, verbosity=0)
        train = X.assign(**{TARGET: y})
        limits = {"time_limit": AUTOGLUON_SECONDS, "num_cpus": 2, "num_gpus": 0}
        predictor.fit(train, presets="best_quality", **limits)
        return predictor.predict_proba(X_test)[1].to_numpy(), {}


def run(*words: object) -> None:
    """Run a command of the command line, which says on stderr if it refuses."""
    command = [sys.executable, "-m", "sklearn_rank.cli", *map(str, words)]
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, env={**os.environ, **threads})


def fit_compare(X, y, X_test):
    """Let `compare` choose, `train --best` fit and `rank` score."""
    import pandas as pd

    from sklearn_rank.cli._store import load_model

    with TemporaryDirectory(prefix="lists_") as scratch:
        train, test, kept, model, ranked = (
            Path(scratch) / name
            for name in ("train.csv", "test.csv", "kept.json", "model.skops", "ranked.csv")
        )
        X.assign(**{TARGET: y}).to_csv(train, index=False)
        X_test.assign(**{NUMBER: range(len(X_test))}).to_csv(test, index=False)
        run("compare", train, "--target", TARGET, "-o", kept)
        run("train", train, "--target", TARGET, "--best", kept, "-o", model)
        run("rank", model, test, "-o", ranked)
        scores = pd.read_csv(ranked).set_index(NUMBER)["score"]
        name = load_model(str(model), []).ranker
    return scores.loc[range(len(X_test))].to_numpy(), {"name": name}


def systems() -> dict[str, Callable[..., Any]]:
    """Return each system whose package is installed, by name."""
    names = [*own_estimators(), *other_estimators()]
    calls: dict[str, Callable[..., Any]] = {name: partial(fit_estimator, name) for name in names}
    if not find_spec("lightgbm"):
        del calls[LIGHTGBM_TREES]
    if find_spec("catboost"):
        calls[CATBOOST] = fit_catboost
    if find_spec("autogluon"):
        calls[AUTOGLUON] = fit_autogluon
    return {**calls, FIRST: fit_compare}


def fit_system(name: str, table: str, split: int, *, folder: Path | None):
    """Return the figures of a system on a split, and the processor seconds of fit and scores."""
    from threadpoolctl import threadpool_limits

    X, X_test, y, y_test = split_of(table, folder, split)
    call = systems()[name]
    started, before = time.perf_counter(), os.times()
    with threadpool_limits(None if name == AUTOGLUON else 1):
        scores, more = call(X, y, X_test)
    seconds, processor = time.perf_counter() - started, sum(os.times()[:4]) - sum(before[:4])
    figures = {**figures_of(y_test, scores), "s": processor, "wall s": seconds, **more}
    if name == ENSEMBLE:
        figures["test errors"] = test_errors(y_test, scores)
    return figures


def test_errors(y, scores):
    """Return the figures of test rows and their standard errors."""
    import numpy as np

    from sklearn_rank.ensemble import HeldOutLabels

    rows = HeldOutLabels(np.asarray(y) > 0, np.zeros(len(y), dtype=int), np.ones(len(y)))
    return {key: (each.value, each.standard_error) for key, each in rows.estimates(scores).items()}


# Queries --------------------------------------------------------------------------------------


def fold_of_queries(data: str, fold: int, folder: Path | None):
    """Return the training and the test rows of a fold by query, dense.

    The folds are the published ones; LightGBM's example, which has a single test set of 50 queries,
    is divided anew.
    """
    from sklearn_rank.model_selection import QueryKFold

    if data != "LightGBM":
        train, *_, test = {"MQ2008": load_mq2008, "OHSUMED": load_ohsumed}[data](folder)[fold]
        return train, test
    rows = join(load_lightgbm(folder))
    folds = QueryKFold(LETOR[data], shuffle=True, random_state=0)
    train, test = list(folds.split(rows.data, rows.target, qid=rows.qid))[fold]
    return select(rows, train), select(rows, test)


def fit_queries(data: str, fold: int, *, folder: Path | None):
    """Return NDCG@10 on test queries of an ensemble and of the member best on training folds."""
    from sklearn_rank.ensemble import RankingEnsemble
    from sklearn_rank.metrics import ndcg_score

    train, test = fold_of_queries(data, fold, folder)
    fitted = RankingEnsemble(relevance="graded", random_state=0)
    fitted.fit(train.data, train.target, qid=train.qid)
    in_folds = fitted.member_scores_
    best = max(fitted.estimators_, key=lambda name: in_folds[name]["ndcg@10"].value)
    ndcg = partial(ndcg_score, test.target, k=10, qid=test.qid)
    ours, theirs = (ndcg(score(model, test.data)) for model in (fitted, fitted.estimators_[best]))
    return {"ensemble": float(ours), "best member": float(theirs), "name": best}
