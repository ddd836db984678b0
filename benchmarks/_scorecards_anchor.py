"""Fit another library's card to the rows of a file, in the environment of that library.

    python _scorecards_anchor.py SYSTEM ROWS.npz SCORES.npz

ROWS holds `X` and `X_test` (floats, NaN where missing, codes of categories), `y` (0 and 1),
`categorical` (columns) and `special` (n, 2: column, code). SCORES receives a score of each test
row under one or more names. One line of JSON tells the seconds of processor time of the fit, the
preparation of the columns included, and the number of thresholds of each score. Nothing but NumPy
and the library is imported: the environments are old, or lack this package.
"""

import contextlib
import io
import json
import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np

QUANTILES = 100
"""FasterRisk: thresholds of a feature, at most; the number its own helper takes."""
TERMS, POINTS = 10, 5
RATES, ROUNDS = (0.1, 0.3), (10, 20, 50, 100, 200, 300, 500, 1000)
LARGEST_FPR = {"auc": 1.0, "pauc": 0.05}
"""XGBoost: what is tried, and the share of negatives that each choice looks at."""
FOLDS_TO = 5_000
INTERACTIONS = 10
SHAPES = ((10, 2), (5, 3), (3, 4))
"""optbinning of like size: variables and bins of each, ten steps at most in all."""


def fit_fasterrisk(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Ten terms with coefficients in [-5, 5]; the best of the pool by logistic loss."""
    from fasterrisk.fasterrisk import RiskScoreClassifier, RiskScoreOptimizer

    started = time.process_time()
    columns = binary_columns(rows)
    binary = apply_columns(columns, rows["X"])
    optimizer = RiskScoreOptimizer(binary, 2.0 * rows["y"] - 1, k=TERMS, lb=-POINTS, ub=POINTS)
    optimizer.optimize()
    multiplier, intercept, weights = optimizer.get_models(model_index=0)
    seconds = time.process_time() - started
    card = RiskScoreClassifier(multiplier, intercept, weights)
    scores = card.predict_prob(apply_columns(columns, rows["X_test"]))
    return {"auc": seconds, "n": {"auc": int(np.count_nonzero(weights))}}, {"auc": scores}


def binary_columns(rows: Any) -> list[tuple[int, str, float]]:
    """Return (column, kind, value): quantile thresholds, categories, special codes, missing."""
    categorical, special = set(rows["categorical"].tolist()), rows["special"]
    columns: list[tuple[int, str, float]] = []
    for feature, x in enumerate(rows["X"].T):
        codes = special[special[:, 0] == feature, 1]
        if np.isnan(x).any():
            columns.append((feature, "missing", np.nan))
        columns += [(feature, "is", code) for code in codes]
        ordinary = x[~np.isnan(x) & ~np.isin(x, codes)]
        if feature in categorical:
            columns += [(feature, "is", code) for code in np.unique(ordinary)]
            continue
        levels = np.arange(1, QUANTILES) / QUANTILES
        values = np.unique(ordinary)
        if len(values) > QUANTILES:
            values = np.unique(np.quantile(ordinary, levels, method="lower"))
        columns += [(feature, "to", value) for value in values[values < ordinary.max()]]
    return columns


def apply_columns(columns: list[tuple[int, str, float]], X: Any) -> Any:
    """Return a column of zeros and ones for each of them."""
    tests = {
        "missing": lambda x, value: np.isnan(x),
        "is": lambda x, value: x == value,
        "to": lambda x, value: x <= value,
    }
    return np.column_stack([tests[kind](X[:, f], value) for f, kind, value in columns]) * 1.0


def fit_optbinning(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Optimal bins of every feature, and a logistic regression on their weights of evidence."""
    train, test = (frame_of(rows, name) for name in ("X", "X_test"))
    started = time.process_time()
    card = optbinning_card(rows, train, rows["y"])
    seconds = time.process_time() - started
    return {"auc": seconds, "n": {"auc": n_steps_of(card)}}, {"auc": card.decision_function(test)}


def fit_small_optbinning(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Ten steps: the variables of most information value; how many of them, by inner folds."""
    from sklearn.metrics import roc_auc_score

    train, test = (frame_of(rows, name) for name in ("X", "X_test"))
    y, started = rows["y"], time.process_time()
    summary = optbinning_card(rows, train, y).binning_process_.summary()
    ordered = summary.sort_values("iv", ascending=False)["name"].tolist()
    figures = []
    for part, valid in inner_folds(y):
        cards = [
            optbinning_card(rows, train[ordered[:n]].iloc[part], y[part], bins)
            for n, bins in SHAPES
        ]
        figures.append(
            [roc_auc_score(y[valid], one.decision_function(train.iloc[valid])) for one in cards]
        )
    n, bins = SHAPES[int(np.argmax(np.mean(figures, axis=0)))]
    card = optbinning_card(rows, train[ordered[:n]], y, bins)
    seconds = time.process_time() - started
    return {"auc": seconds, "n": {"auc": n_steps_of(card)}}, {"auc": card.decision_function(test)}


def optbinning_card(rows: Any, train: Any, y: Any, max_n_bins: int | None = None) -> Any:
    """Return a card of these columns, fitted."""
    from optbinning import BinningProcess, Scorecard
    from sklearn.linear_model import LogisticRegression

    params: dict[str, Any] = {}
    for feature, code in rows["special"]:
        name = f"x{int(feature)}"
        if name in train:
            params.setdefault(name, {"special_codes": []})["special_codes"].append(code)
    categorical = [f"x{feature}" for feature in rows["categorical"] if f"x{feature}" in train]
    bins = BinningProcess(
        list(train.columns),
        max_n_bins=max_n_bins,
        categorical_variables=categorical or None,
        binning_fit_params=params or None,
    )
    card = Scorecard(binning_process=bins, estimator=LogisticRegression(max_iter=1000))
    return card.fit(train, y, metric_special="empirical", metric_missing="empirical")


def n_steps_of(card: Any) -> int:
    """Return the number of steps of a card of optbinning between ordinary bins."""
    table = card.table(style="detailed")
    used = table[~table["Bin"].astype(str).isin(["Special", "Missing"])]
    return int(sum(len(part) - 1 for _, part in used.groupby("Variable")))


def fit_toad(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Bins by chi-squared of at least 5 % of the rows, and a logistic regression."""
    import toad

    train, test = (frame_of(rows, name) for name in ("X", "X_test"))
    started = time.process_time()
    combiner = toad.transform.Combiner()
    combiner.fit(train, rows["y"], method="chi", min_samples=0.05, empty_separate=True)
    evidence = toad.transform.WOETransformer()
    binned = evidence.fit_transform(combiner.transform(train), rows["y"])
    card = toad.ScoreCard(combiner=combiner, transer=evidence)
    card.fit(binned, rows["y"])
    seconds = time.process_time() - started
    n = sum(len(bins) - 1 for bins in card.export().values())
    # Its points fall as the risk rises.
    return {"auc": seconds, "n": {"auc": n}}, {"auc": -card.predict(test)}


def fit_scorecardpy(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Its bins by a tree, weights of evidence, a logistic regression, its integer points."""
    import scorecardpy
    from sklearn.linear_model import LogisticRegression

    train, test = (frame_of(rows, name) for name in ("X", "X_test"))
    started = time.process_time()
    bins = scorecardpy.woebin(train.assign(y=rows["y"]), y="y", no_cores=1)
    evidence = scorecardpy.woebin_ply(train, bins, no_cores=1)
    model = LogisticRegression(max_iter=1000).fit(evidence, rows["y"])
    card = scorecardpy.scorecard(bins, model, evidence.columns)
    seconds = time.process_time() - started
    n = sum(len(part) - 1 for part in bins.values())
    points = scorecardpy.scorecard_ply(test, card, print_step=0)["score"]
    return {"auc": seconds, "n": {"auc": n}}, {"auc": -points.to_numpy(dtype=float)}


def fit_ebm(rows: Any, interactions: int = 0) -> tuple[Any, dict[str, Any]]:
    """Main effects and so many interactions, everything else by default."""
    from interpret.glassbox import ExplainableBoostingClassifier

    train, test = (frame_of(rows, name) for name in ("X", "X_test"))
    started = time.process_time()
    model = ExplainableBoostingClassifier(interactions=interactions, n_jobs=1, random_state=0)
    model.fit(train, rows["y"])
    seconds = time.process_time() - started
    # The first bin is that of missing values, the last that of unseen ones; grids count cells.
    n = sum(
        int(np.count_nonzero(np.diff(term[1:-1]))) if term.ndim == 1 else term[1:-1, 1:-1].size
        for term in model.term_scores_
    )
    return {"auc": seconds, "n": {"auc": n}}, {"auc": model.decision_function(test)}


def fit_xgboost(rows: Any) -> tuple[Any, dict[str, Any]]:
    """Boost stumps; learning rate and rounds by inner folds, for the AUC and for the top."""
    from sklearn.metrics import roc_auc_score

    data, test = (matrix_of(rows, name) for name in ("X", "X_test"))
    y, started = rows["y"], time.process_time()
    found = {criterion: (-1.0, 0.0, 0) for criterion in LARGEST_FPR}
    for rate in RATES:
        figures = []
        for train, valid in inner_folds(y):
            model = boosted(data.slice(train), rate, max(ROUNDS))
            part, truth = data.slice(valid), y[valid]
            scores = [model.predict(part, iteration_range=(0, rounds)) for rounds in ROUNDS]
            figures.append(
                [
                    [roc_auc_score(truth, one, max_fpr=fpr) for one in scores]
                    for fpr in LARGEST_FPR.values()
                ]
            )
        for criterion, means in zip(LARGEST_FPR, np.mean(figures, axis=0), strict=True):
            best = int(np.argmax(means))
            found[criterion] = max(found[criterion], (float(means[best]), rate, ROUNDS[best]))
    searched = time.process_time() - started
    seconds: dict[str, Any] = {"n": {}}
    scores = {}
    for criterion, (_, rate, rounds) in found.items():
        started = time.process_time()
        model = boosted(data, rate, rounds)
        seconds[criterion] = searched + time.process_time() - started
        trees = model.trees_to_dataframe()
        splits = trees[trees["Feature"] != "Leaf"].astype({"Category": str})
        seconds["n"][criterion] = len(splits.drop_duplicates(["Feature", "Split", "Category"]))
        scores[criterion] = model.predict(test)
    return seconds, scores


def inner_folds(y: Any) -> list[Any]:
    """Return four folds of the training rows, above 5,000 rows the first of them."""
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(y, y))
    return folds[:1] if len(y) > FOLDS_TO else folds


def boosted(data: Any, rate: float, rounds: int) -> Any:
    """Return boosted stumps."""
    import xgboost

    params = {"objective": "binary:logistic", "max_depth": 1, "eta": rate, "nthread": 1}
    return xgboost.train({**params, "seed": 0}, data, num_boost_round=rounds)


def matrix_of(rows: Any, name: str) -> Any:
    """Return the rows as XGBoost takes them; labels only of training rows."""
    import xgboost

    kinds = ["q"] * rows[name].shape[1]
    for feature in rows["categorical"]:
        kinds[feature] = "c"
    label = rows["y"] if name == "X" else None
    return xgboost.DMatrix(
        rows[name], label=label, feature_types=kinds, enable_categorical=True, nthread=1
    )


def frame_of(rows: Any, name: str) -> Any:
    """Return a table whose categories are text."""
    import pandas as pd

    frame = pd.DataFrame(rows[name], columns=[f"x{n}" for n in range(rows[name].shape[1])])
    for feature in rows["categorical"]:
        column = frame.columns[feature]
        # NaN, not None: scorecardpy has no bin for None when it applies its bins.
        values = [np.nan if np.isnan(code) else f"c{code:g}" for code in frame[column]]
        frame[column] = pd.Series(values, dtype=object)
    return frame


SYSTEMS = {
    "fasterrisk": fit_fasterrisk,
    "optbinning": fit_optbinning,
    "optbinning_small": fit_small_optbinning,
    "toad": fit_toad,
    "scorecardpy": fit_scorecardpy,
    "ebm": fit_ebm,
    "ebm_pairs": partial(fit_ebm, interactions=INTERACTIONS),
    "xgboost": fit_xgboost,
}


def main() -> None:
    """Fit, write the scores, print a line."""
    warnings.simplefilter("ignore")
    system, source, target = sys.argv[1:]
    with np.load(source) as file:
        rows = dict(file)
    with contextlib.redirect_stdout(io.StringIO()):
        found, scores = SYSTEMS[system](rows)
    np.savez(target, **scores)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
