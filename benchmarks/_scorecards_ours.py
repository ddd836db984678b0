"""Fit one card of this package to the rows of a file; print one line of JSON.

    python _scorecards_ours.py VARIANT ROWS.npz SEED

Seconds are of processor time, what is chosen by validation included. A small card also tells its
held-out rows in bands of the risk, and the mean risk before and after some of their cells are
blanked.
"""

import json
import sys
import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from _harness import Record
from _scorecards_data import BAND

from sklearn_rank import PNormPushRanker
from sklearn_rank.metrics import auc_score, partial_auc_score
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard

MAX_FPR = 0.05
BLANKED = 0.2
"""Share of the test cells that are blanked, in columns without a gap in training."""
SMALL = {"loss": "logistic", "solver": "corrective"}  # what a card takes without options
FULL = {"p": 1, "loss": "logistic", "learning_rate": 0.3, "n_estimators": 200, "n_bags": 8}
# The same settings for all tables.
THRESHOLDS = 300
PAIRS = 10


def quality(y: Any, scores: Any) -> Record:
    """Return the AUC, and the mean share of positives found before the first negatives."""
    return {
        "auc": float(auc_score(y, scores)),
        "pauc": float(partial_auc_score(y, scores, max_fpr=MAX_FPR)),
    }


def features_of(rows: Any, name: str) -> Any:
    """Return an array, or a data frame where some columns are categories."""
    if not len(rows["categorical"]):
        return rows[name]
    import pandas as pd

    frame = pd.DataFrame(rows[name]).add_prefix("x")
    for feature in rows["categorical"]:
        codes = np.concatenate([rows["X"][:, feature], rows["X_test"][:, feature]])
        known = np.unique(codes[~np.isnan(codes)])
        frame[f"x{feature}"] = pd.Categorical(frame[f"x{feature}"], categories=known)
    return frame


def codes_of(rows: Any) -> dict[int, list[float]] | None:
    """Return the special codes by column, None without any."""
    codes: dict[int, list[float]] = {}
    for feature, code in rows["special"]:
        codes.setdefault(int(feature), []).append(float(code))
    return codes or None


def n_steps(ranker: Any) -> int:
    """Return the number of steps of the variables, and of cells of pairs without missing values."""
    rules, weights = ranker.weak_rankers_, ranker.estimator_weights_
    chosen, coefficients = rules.net_coefficients(weights)
    of_variables = rules.feature[chosen] < ranker.n_features_in_
    cells = sum(
        (one.bins.shape[0] - 1) * (one.bins.shape[1] - 1) for one in rules.pair_functions(weights)
    )
    return int(np.count_nonzero(coefficients * of_variables)) + cells


def fit_full(rows: Any, seed: int, **options: Any) -> Record:
    """Fit a full card, the mean of bags."""
    stumps = Stumps(special_values=codes_of(rows), max_thresholds=THRESHOLDS, **options)
    model = PNormPushRanker(**FULL, weak_ranker=stumps, random_state=seed)
    found = measured(model, rows)
    return {**found, "n": n_steps(model)}


def fit_small(rows: Any, seed: int, **options: Any) -> Record:
    """Fit a small card, with the defaults of `Scorecard` but for special codes."""
    codes, ranker = codes_of(rows), None
    if codes:
        ranker = PNormPushRanker(**SMALL, weak_ranker=Stumps(special_values=codes))
    card = Scorecard(ranker, random_state=seed, **options)
    found = measured(card, rows)
    real = quality(rows["y_test"], card.ranker_.decision_function(features_of(rows, "X_test")))
    return {
        **found,
        "n": n_steps(card.ranker_),
        "size": size_of(card),
        "p": card.p_,
        "real": real,
        "blanked": blanked(card, rows, seed),
        "bands": bands(card, rows["y_test"], features_of(rows, "X_test")),
    }


def size_of(card: Scorecard) -> int:
    """Return the number of distinct points of the terms other than 0, summed over the terms."""
    return sum(len(set(term.points) - {0}) for term in card.card_.terms)


def measured(model: Any, rows: Any) -> Record:
    """Fit a model; return the quality on test rows and the seconds."""
    X, X_test = features_of(rows, "X"), features_of(rows, "X_test")
    started = time.process_time()
    model.fit(X, rows["y"])
    seconds = time.process_time() - started
    return {**quality(rows["y_test"], model.decision_function(X_test)), "s": seconds}


def risks_of(card: Scorecard, X: Any) -> tuple[Any, Any, Any, Any]:
    """Return totals, risks and the ends of their intervals, interpolated as `predict_risk` does."""
    table = card.risk_table_
    totals = card.decision_function(X) + card.cut_
    return totals, *(
        np.interp(totals, table["total"], table[one]) for one in ("risk", "low", "high")
    )


def blanked(card: Scorecard, rows: Any, seed: int) -> list[float]:
    """Return the mean risk of the test rows, and with a share of their cells blanked."""
    X = rows["X_test"].copy()
    whole = ~np.isnan(rows["X"]).any(axis=0)
    X[(np.random.default_rng(seed).random(X.shape) < BLANKED) & whole] = np.nan
    both = (features_of(rows, "X_test"), features_of({**rows, "X_test": X}, "X_test"))
    return [float(risks_of(card, one)[1].mean()) for one in both]


def bands(card: Scorecard, y: Any, X: Any) -> list[Record]:
    """Return rows in bands of neighbouring totals: size, rate, risk and its interval."""
    totals, *columns = risks_of(card, X)
    found, start = [], 0
    order = np.argsort(totals, kind="stable")
    ends = [*(np.flatnonzero(np.diff(totals[order])) + 1), len(y)]
    for end in ends:
        if end - start < BAND or (end < len(y) and len(y) - end < BAND):
            continue
        here = order[start:end]
        risk, low, high = (float(column[here].mean()) for column in columns)
        rate = float(np.asarray(y)[here].mean())
        found.append({"m": len(here), "rate": rate, "risk": risk, "low": low, "high": high})
        start = end
    return found


VARIANTS = {
    "small": partial(fit_small, max_pairs=0),
    "small_pairs": partial(fit_small, max_pairs="auto"),
    "full": fit_full,
    "full_pairs": partial(fit_full, max_pairs=PAIRS),
}


def main() -> None:
    """Fit a card to one split."""
    variant, source, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with np.load(source) as file:
        rows = dict(file)
    # The first fit of a process pays for imports.
    PNormPushRanker(n_estimators=2).fit(np.arange(4.0).reshape(-1, 1), [0, 1, 0, 1])
    print(json.dumps(VARIANTS[variant](rows, seed)))


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a small set may rank without error, so that a fit has no end
    main()
