"""Fit the cards of this package to the rows of a file; print one line of JSON.

    python _scorecards_ours.py ROWS.npz SEED

Seconds are of processor time, what is chosen by validation included.
"""

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from _harness import Record

from sklearn_rank import PNormPushRanker, RankBoost
from sklearn_rank.metrics import auc_score, partial_auc_score, ranking_scorer
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard

MAX_FPR = 0.05
THRESHOLDS, TERMS, POINTS = 150, 10, (-5, 5)
POWERS = (1, 2, 4, 8)
N_FOLDS, FOLDS_TO = 4, 5_000
# The same settings for all sets; steps of the logistic loss are shorter.
FULL = {"learning_rate": 0.5, "n_estimators": 300}
BAGS = {"p": 1, "loss": "logistic", "learning_rate": 0.5, "n_estimators": 100, "n_bags": 5}
SMALL = {"loss": "logistic", "solver": "corrective"}  # what a card takes without options
TOP = {"loss": "logistic", "learning_rate": 1.0, "n_estimators": 150}


def quality(y: Any, scores: Any) -> Record:
    """Return the AUC, and the mean share of positives found before the first negatives."""
    return {
        "auc": float(auc_score(y, scores)),
        "pauc": float(partial_auc_score(y, scores, max_fpr=MAX_FPR)),
    }


def options_of(rows: Any) -> dict[str, Any]:
    """Return the parameters that tell a ranker of categories and special codes."""
    codes: dict[int, list[float]] = {}
    for feature, code in rows["special"]:
        codes.setdefault(int(feature), []).append(float(code))
    categorical = rows["categorical"].tolist()
    given = {"categorical_features": categorical, "special_values": codes}
    return {name: value for name, value in given.items() if value}


def stumps(options: dict[str, Any], most: int | None = THRESHOLDS) -> Stumps:
    """Return the stumps of a card of at most so many steps."""
    return Stumps(max_thresholds=most, **options)


def n_steps(ranker: Any) -> int:
    """Return the number of stumps with a coefficient: what `max_thresholds` counts."""
    coefficients = ranker.weak_rankers_.net_coefficients(ranker.estimator_weights_)[1]
    return int(np.count_nonzero(coefficients))


def fit_full(rows: Any, options: dict[str, Any]) -> Record:
    """Fit a full card for the AUC."""
    return measured(RankBoost(**FULL, weak_ranker=stumps(options)), rows, n_steps)


def fit_bags(rows: Any, options: dict[str, Any], seed: int) -> Record:
    """Fit a full card that is the mean of bags."""
    bags = PNormPushRanker(**BAGS, weak_ranker=stumps(options), random_state=seed)
    return measured(bags, rows, n_steps)


def fit_full_for_the_top(rows: Any, options: dict[str, Any]) -> Record:
    """Fit a full card whose p is chosen by the top of the list of inner folds."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold

    X, y = rows["X"], rows["y"]
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    search = GridSearchCV(
        PNormPushRanker(**TOP, weak_ranker=stumps(options)),
        {"p": POWERS},
        scoring=ranking_scorer(f"pauc@{MAX_FPR}"),
        cv=folds[:1] if len(y) > FOLDS_TO else folds,
        refit=smallest_of_the_best,
    )
    found = measured(search, rows, lambda fitted: n_steps(fitted.best_estimator_))
    return {**found, "p": search.best_params_["p"]}


def smallest_of_the_best(results: Record) -> int:
    """Return the first candidate within one standard error of the best, by paired folds."""
    names = [name for name in results if name.startswith("split") and name.endswith("test_score")]
    scores = np.column_stack([results[name] for name in names])
    behind = scores[np.argmax(scores.mean(axis=1))] - scores
    error = 0.0
    if len(names) > 1:
        error = behind.std(axis=1, ddof=1) / np.sqrt(len(names))
    return int(np.flatnonzero(behind.mean(axis=1) <= error)[0])


def fit_small(rows: Any, options: dict[str, Any], seed: int, p: Any) -> Record:
    """Fit a small card; also measure it before its points were rounded."""
    ranker = None
    if options:
        model = stumps(options, None)
        ranker = PNormPushRanker(**SMALL, alpha=5 / len(rows["y"]), weak_ranker=model)
    card = Scorecard(ranker, points=POINTS, max_terms=TERMS, p=p, random_state=seed)
    found = measured(card, rows, lambda fitted: n_steps(fitted.ranker_))
    real = quality(rows["y_test"], card.ranker_.decision_function(rows["X_test"]))
    return {**found, "p": card.p_, "real": real}


def measured(model: Any, rows: Any, count: Any) -> Record:
    """Fit a model; return the quality on test rows, the seconds and the number of steps."""
    started = time.process_time()
    model.fit(rows["X"], rows["y"])
    seconds = time.process_time() - started
    scores = model.decision_function(rows["X_test"])
    return {**quality(rows["y_test"], scores), "s": seconds, "n": count(model)}


def main() -> None:
    """Fit all cards to one split."""
    source, seed = sys.argv[1], int(sys.argv[2])
    with np.load(source) as file:
        rows = dict(file)
    options = options_of(rows)
    # The first fit of a process pays for imports.
    RankBoost(n_estimators=2, weak_ranker=stumps(options, 2)).fit(rows["X"], rows["y"])
    found = {
        "full": fit_full(rows, options),
        "bags": fit_bags(rows, options, seed),
        "top": fit_full_for_the_top(rows, options),
        "small": fit_small(rows, options, seed, 1),
        "small_top": fit_small(rows, options, seed, "auto"),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a small set may rank without error, so that a fit has no end
    main()
