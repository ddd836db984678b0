"""What the parts of `lists.py` fit to one split.

Members and peers are chosen by the same folds of the training rows, for the partial AUC up to a
false positive rate of 0.05 plus 0.2 times the AUC.
"""

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from _list_tables import figures_of, scores_of, split_of
from _real_data import join, load_lightgbm, load_mq2008, load_ohsumed, select

ENSEMBLE, BEST_MEMBER, BEST_PEER = "RankingEnsemble", "best member", "best peer"
FIRST, HISTOGRAMS, LOGISTIC = "first of compare", "HistGradientBoosting", "logistic regression"
TARGET, NUMBER = "on_top", "number_of_row"
ESTIMATED = {"auc": "AUC", "pauc@0.05": "pauc@0.05"}
LETOR = {"MQ2008": 5, "OHSUMED": 3, "LightGBM": 5}
"""Test folds of each set of queries."""


def choice(figures) -> float:
    """Return what members and peers are chosen by."""
    return figures["pauc@0.05"] + 0.2 * figures["auc"]


MODELS = ("credit", "magic", "cancer", "ionosphere")
"""Tables on which many models are compared as they come."""

BESIDE, KERNEL_ROWS = HISTOGRAMS, 10_000
SEARCHED = {
    HISTOGRAMS: {"max_leaf_nodes": [2, 4, 8, 31], "learning_rate": [0.05, 0.1]},
    "PNormPushRanker": {"p": [1, 4, 16], "learning_rate": [0.1, 0.3]},
}
"""The settings among which three folds choose by the partial AUC up to 5 % of the negatives."""


def prepared(model):
    """Return a pipeline that imputes, scales and one-hot encodes for linear and kernel models."""
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
    return make_pipeline(columns, model)


def systems(n_rows: int):
    """Return each model by its name; trees and stumps take missing values and categories."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from xgboost import XGBClassifier

    from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker, PNormPushRanker, RankBoost
    from sklearn_rank.metrics import ranking_scorer

    top = ranking_scorer("pauc@0.05")
    bases = {
        BESIDE: HistGradientBoostingClassifier(random_state=0),
        "PNormPushRanker": PNormPushRanker(n_jobs=1),
    }
    found = {
        "LogisticRegression": prepared(LogisticRegression(max_iter=1000)),
        BESIDE: bases[BESIDE],
        f"{BESIDE}, depth 1": HistGradientBoostingClassifier(max_depth=1, random_state=0),
        "XGBClassifier": XGBClassifier(n_jobs=1, enable_categorical=True),
        "LGBMClassifier": LGBMClassifier(n_jobs=1, verbosity=-1),
        "RankBoost": RankBoost(n_jobs=1),
        "PNormPushRanker(p=4)": PNormPushRanker(p=4, n_jobs=1),
        "PNormPushRanker(p=16)": PNormPushRanker(p=16, n_jobs=1),
        "BoostedTreesRanker": BoostedTreesRanker(n_jobs=1, random_state=0),
    }
    for name, grid in SEARCHED.items():
        found[f"{name}, searched"] = GridSearchCV(bases[name], grid, scoring=top, cv=3)
    if n_rows <= KERNEL_ROWS:
        found['KernelPairwiseSGDRanker(kernel="rbf")'] = prepared(
            KernelPairwiseSGDRanker(kernel="rbf", random_state=0)
        )
    return found


def fit_models(table: str, split: int, *, folder: Path | None):
    """Measure many models with the defaults of their libraries, and two that are searched."""
    X, X_test, y, y_test = split_of(table, folder, split)
    found = {}
    for name, model in systems(len(X)).items():
        found[name] = figures_of(y_test, scores_of(model.fit(X, y), X_test))
    return found


def peers():
    """Return the five peers by name."""
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    quiet = {"n_jobs": 1, "verbosity": -1, "random_state": 0}
    slow = {"learning_rate": 0.05, "n_estimators": 200, "colsample_bytree": 0.7}
    slow |= {"subsample": 0.7, "subsample_freq": 1, **quiet}
    return {
        HISTOGRAMS: HistGradientBoostingClassifier(random_state=0),
        "LightGBM": LGBMClassifier(**quiet),
        "LightGBM, slow": LGBMClassifier(reg_lambda=0, **slow),
        "LightGBM, slow, ridge": LGBMClassifier(reg_lambda=5, **slow),
        LOGISTIC: prepared(LogisticRegression(max_iter=1000)),
    }


def fit_ensemble(table: str, split: int, *, folder: Path | None):
    """Measure an ensemble, its best member and the best peer on held-out rows."""
    from sklearn.base import clone
    from sklearn.model_selection import StratifiedKFold

    from sklearn_rank.ensemble import RankingEnsemble

    X, X_test, y, y_test = split_of(table, folder, split)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=split).split(X, y))
    fitted = RankingEnsemble(cv=folds, random_state=0).fit(X, y)
    found = {ENSEMBLE: figures_of(y_test, scores_of(fitted, X_test))}
    in_folds = {
        name: {key: one.value for key, one in figures.items()}
        for name, figures in fitted.member_scores_.items()
    }
    best = max(fitted.estimators_, key=lambda name: choice(in_folds[name]))
    found[BEST_MEMBER] = figures_of(y_test, scores_of(fitted.estimators_[best], X_test))
    peers_in_folds = figures_in_folds(peers(), X, y, folds)
    best_peer = max(peers_in_folds, key=lambda name: choice(peers_in_folds[name]))
    peer = clone(peers()[best_peer]).fit(X, y)
    found[BEST_PEER] = figures_of(y_test, scores_of(peer, X_test))
    found[ENSEMBLE]["estimate"] = {
        key: (one.value, one.standard_error) for key, one in fitted.score_estimate_.items()
    }
    found[ENSEMBLE]["test errors"] = test_errors(y_test, scores_of(fitted, X_test))
    found[ENSEMBLE]["weights"] = fitted.weights_
    found[BEST_MEMBER]["name"], found[BEST_PEER]["name"] = best, best_peer
    return found


def figures_in_folds(models, X, y, folds):
    """Return the figures of each model on rows that folds held out."""
    import numpy as np
    from sklearn.model_selection import cross_val_predict

    from sklearn_rank.ensemble import HeldOutLabels

    fold = np.empty(len(y), dtype=int)
    for number, (_, test) in enumerate(folds):
        fold[test] = number
    labels = HeldOutLabels(np.asarray(y) > 0, fold, np.ones(len(y)))
    found = {}
    for name, model in models.items():
        by_decision = hasattr(model, "decision_function")
        method = "decision_function" if by_decision else "predict_proba"
        scores = cross_val_predict(model, X, y, cv=folds, method=method)
        estimates = labels.estimates(scores if by_decision else scores[:, 1]).items()
        found[name] = {key: estimate.value for key, estimate in estimates}
    return found


def test_errors(y, scores):
    """Return the figures of test rows and their standard errors."""
    import numpy as np

    from sklearn_rank.ensemble import HeldOutLabels

    rows = HeldOutLabels(np.asarray(y) > 0, np.zeros(len(y), dtype=int), np.ones(len(y)))
    return {key: (one.value, one.standard_error) for key, one in rows.estimates(scores).items()}


# The command line ------------------------------------------------------------------------------


def run(*words: object) -> None:
    """Run a command of the command line, which says on stderr if it refuses."""
    command = [sys.executable, "-m", "sklearn_rank.cli", *map(str, words)]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def fit_compare(table: str, split: int, *, folder: Path | None):
    """Measure what `compare` puts first and `train --best` fits, and two baselines."""
    import pandas as pd
    from sklearn.base import clone

    X, X_test, y, y_test = split_of(table, folder, split)
    with TemporaryDirectory(prefix="lists_") as scratch:
        place = Path(scratch)
        train, test, kept = place / "train.csv", place / "test.csv", place / "kept.json"
        model, ranked = place / "model.skops", place / "ranked.csv"
        X.assign(**{TARGET: y}).to_csv(train, index=False)
        X_test.assign(**{NUMBER: range(len(X_test))}).to_csv(test, index=False)
        run("compare", train, "--target", TARGET, "-o", kept)
        run("train", train, "--target", TARGET, "--best", kept, "-o", model)
        run("rank", model, test, "-o", ranked)
        scores = pd.read_csv(ranked).set_index(NUMBER)["score"]
        first = figures_of(y_test, scores.loc[range(len(X_test))].to_numpy())
        first["name"] = name_of(model)
    found = {FIRST: first}
    for name in (HISTOGRAMS, LOGISTIC):
        fitted = clone(peers()[name]).fit(X, y)
        found[name] = figures_of(y_test, scores_of(fitted, X_test))
    return found


def name_of(model: Path) -> str:
    """Return what a stored model is."""
    from sklearn_rank.cli._store import load_model

    return load_model(str(model), []).ranker


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
    """Measure NDCG@10 of an ensemble and of its best member on one fold of test queries."""

    from sklearn_rank.ensemble import RankingEnsemble
    from sklearn_rank.metrics import ndcg_score

    train, test = fold_of_queries(data, fold, folder)
    X, X_test = train.data, test.data
    fitted = RankingEnsemble(relevance="graded", random_state=0)
    fitted.fit(X, train.target, qid=train.qid)
    figures = fitted.member_scores_
    best = max(fitted.estimators_, key=lambda name: figures[name]["ndcg@10"].value)
    found = {}
    for name, model in ((ENSEMBLE, fitted), (BEST_MEMBER, fitted.estimators_[best])):
        is_classifier = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
        scores = scores_of(model, X_test) if is_classifier else model.predict(X_test)
        found[name] = {"NDCG@10": float(ndcg_score(test.target, scores, k=10, qid=test.qid))}
    found[ENSEMBLE]["weights"], found[BEST_MEMBER]["name"] = fitted.weights_, best
    return json.loads(json.dumps(found))
