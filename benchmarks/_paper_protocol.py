"""The experiments of Rudin (2009), sec. 8: rows, splits, fits and measures, and other readings.

A run is what one cell of the paper's tables rests on: a random sample of MAGIC, or a division into
three folds, of which the mean is taken.
"""

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from _real_data import load_two_classes
from sklearn.model_selection import KFold, StratifiedKFold

from sklearn_rank import PNormPushRanker
from sklearn_rank.metrics import (
    auc_score,
    p_norm_push_loss,
    reciprocal_log_rank_sum,
    reciprocal_rank_sum,
)

ROUNDS = 100
POWERS = (1, 2, 4, 8, 16, 64)
SETTINGS = {**{f"p = {p}": {"p": p} for p in POWERS}, "IR": {"push": "ir"}}
FULL = {"solver": "lbfgs", "alpha": 0, "n_estimators": 1000, "tol": 1e-8}
NUMBERS = tomllib.loads(
    Path(__file__).with_name("printed_numbers.toml").read_text(encoding="utf-8")
)["Rudin2009"]


MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "AUC": auc_score,
    **{f"R_{p}": partial(p_norm_push_loss, p=p, normalize=False) for p in (2, 4, 8, 16)},
    "DCG": reciprocal_log_rank_sum,
    "AveR": reciprocal_rank_sum,
}


@dataclass(frozen=True)
class Experiment:
    """A table of the paper and the figure that goes with it."""

    table: int
    figure: int
    title: str
    data: str
    protocol: str
    removed: dict[str, int]
    """Powers of ten that the table leaves out; the paper says only that it does so."""
    n_last_features: int | None = None
    n_train: int | None = None
    """None: three folds."""
    left_end: float = 0.2
    """Share of the negatives in the figure's panels on the right."""

    def load(self, folder):
        """Return the features that count and the labels."""
        X, y = load_two_classes(self.data, folder)
        return X if self.n_last_features is None else X[:, -self.n_last_features :], y

    def printed(self, measure):
        """Return a row of the table as it is printed."""
        return NUMBERS[f"table_{self.table}"]["rows"][measure]

    def printed_values(self):
        """Return an array of settings and measures, the powers of ten put back."""
        rows = [
            np.array(self.printed(name), dtype=float) * 10.0 ** self.removed.get(name, 0)
            for name in MEASURES
        ]
        return np.array(rows).T


EXPERIMENTS = [
    Experiment(
        3,
        5,
        "MAGIC gamma telescope",
        "magic",
        "1000 random rows train, the others test; gamma is the positive class",
        {"R_2": 10, "R_4": 18, "R_8": 34, "R_16": 66, "DCG": 3},
        n_train=1000,
        left_end=0.1,
    ),
    Experiment(
        4,
        6,
        "Ionosphere",
        "ionosphere",
        'the last five features; three random folds, means over them; "bad" is the positive class',
        {"R_2": 4, "R_4": 7, "R_8": 13, "R_16": 26},
        n_last_features=5,
    ),
    Experiment(
        5,
        7,
        "Boston housing",
        "housing",
        "CHAS is the label, the other 13 columns are the features; three random folds, means over "
        "them",
        {"R_8": 9, "R_16": 18},
    ),
]


@dataclass(frozen=True)
class Reading:
    """How what the text leaves open is read; `tables`: where the readings differ."""

    scaled_on: str = "all rows"
    stratified: bool = False
    rounds: int | None = ROUNDS
    """None: the objective is minimised fully."""
    one_sign: bool = False
    """The largest edge is chosen, not the largest in absolute value."""
    rounds_ir: int | None = None
    swapped: bool = False
    tie_gain: float = 0.0
    """Added to the scores of the positives of the test rows."""
    tables: tuple[int, ...] = (3, 4, 5)


TEXT = Reading()
STRATIFIED = Reading(stratified=True)
READINGS = {
    "scaled on the training rows": Reading(scaled_on="training rows"),
    "IR boosted like the others": Reading(rounds_ir=ROUNDS),
    "20 rounds": Reading(rounds=20),
    "minimised fully": Reading(rounds=None),
    "ties count for the positives": Reading(tie_gain=1e-9),
    "largest edge with its sign": Reading(one_sign=True),
    '"good" is the positive class': Reading(swapped=True, tables=(4,)),
}
"""Other readings than TEXT; each differs from it in one thing."""


def _columns(*names):
    return np.isin(list(MEASURES), names)


REWEIGHTED = {
    "DCG to base 2": lambda n_positive: np.where(_columns("DCG"), np.log(2), 1),
    "sums over the folds": lambda n_positive: np.where(_columns("AUC"), 1, 3),
    "DCG and AveR as means": lambda n_positive: np.where(
        _columns("DCG", "AveR"), 1 / n_positive, 1
    ),
}
"""Readings of a measure that multiply it by a number, given the positives of a test set."""


def parts(experiment, reading, y, seed):
    """Return a list of (train, test): one random split."""
    rng = np.random.default_rng([seed, experiment.table])
    if experiment.n_train is None:
        kind = StratifiedKFold if reading.stratified else KFold
        folds = kind(3, shuffle=True, random_state=int(rng.integers(2**31)))
        return list(folds.split(y[:, np.newaxis], y))
    rows = rng.permutation(len(y))
    return [(rows[: experiment.n_train], rows[experiment.n_train :])]


def scaled(X, rows):
    """Return features of which these rows lie in [0, 1]."""
    low, high = X[rows].min(axis=0), X[rows].max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


def fit_scores(setting, reading, X, y, train):
    """Return scores of all rows."""
    X = scaled(X, train if reading.scaled_on == "training rows" else slice(None))
    power = SETTINGS[setting].get("p")
    if power is None or reading.rounds is None:
        return library_scores(setting, X, y, train, reading.rounds_ir)
    return X @ boosted(X[train], y[train], power, reading.rounds, reading.one_sign)


def library_scores(setting, X, y, train, rounds):
    """Return the scores of a ranker that has so many rounds, or None: all that it takes."""
    options = FULL if rounds is None else {"n_estimators": rounds, "tol": 0, "learning_rate": 1}
    ranker = PNormPushRanker(weak_ranker="feature", **SETTINGS[setting], **options)
    return ranker.fit(X[train], y[train]).decision_function(X)


def boosted(X, y, p, rounds, one_sign=False, step_of=None):
    """Return coefficients by the algorithm of the paper's Figure 2.

    Ten times as fast on a few hundred rows as `PNormPushRanker`, which `library_gap` compares.
    """
    above, below = X[y == 1], X[y == 0]
    coef, f_above, f_below = np.zeros(X.shape[1]), np.zeros(len(above)), np.zeros(len(below))
    for _ in range(rounds):
        edges = shares(-f_above) @ above - shares(p * f_below) @ below
        chosen = edges.argmax() if one_sign else np.abs(edges).argmax()
        h_above, h_below = above[:, chosen], below[:, chosen]
        step = (step_of or line_search)(f_above, f_below, h_above, h_below, p)
        coef[chosen] += step
        f_above, f_below = f_above + step * h_above, f_below + step * h_below
    return coef


def shares(logarithms):
    """Return numbers that add up to one, given their logarithms up to a constant."""
    found = np.exp(logarithms - logarithms.max())
    return found / found.sum()


def line_search(f_above, f_below, h_above, h_below, p, tol=1e-10):
    """Return the minimum of log R_p / p along one feature, by Newton steps of at most 2."""
    step = 0.0
    for number in range(40):
        a, b = shares(-f_above - step * h_above), shares(p * (f_below + step * h_below))
        mean_above, mean_below = a @ h_above, b @ h_below
        if abs(mean_below - mean_above) < tol:
            break
        curvature = a @ (h_above - mean_above) ** 2 + p * (b @ (h_below - mean_below) ** 2)
        newton = (mean_above - mean_below) / max(curvature, 1e-12)
        step += np.clip(newton, -2, 2) / (1 if number < 15 else 2)
    return step


def library_gap(experiment, X, y, seed):
    """Return how far scores of `PNormPushRanker` are from those of `boosted`, over their range."""
    train = parts(experiment, TEXT, y, seed)[0][0]
    X, gaps = scaled(X, slice(None)), []
    for p in POWERS:
        plain = X @ boosted(X[train], y[train], p, ROUNDS)
        ours = library_scores(f"p = {p}", X, y, train, ROUNDS)
        difference = (ours - ours.mean()) - (plain - plain.mean())
        gaps.append(np.abs(difference).max() / np.ptp(plain))
    return max(gaps)


def measure_run(experiment, reading, X, y, seed):
    """Return means over the parts, an array of settings and measures."""
    y = 1 - y if reading.swapped else y
    split = parts(experiment, reading, y, seed)
    values = np.empty((len(split), len(SETTINGS), len(MEASURES)))
    for number, (train, test) in enumerate(split):
        for row, setting in enumerate(SETTINGS):
            scores = fit_scores(setting, reading, X, y, train)[test] + reading.tie_gain * y[test]
            values[number, row] = [of(y[test], scores) for of in MEASURES.values()]
    return values.mean(axis=0)


def measure_runs(experiment, reading, X, y, seeds, jobs):
    """Return an array of runs, settings and measures."""
    job = joblib.delayed(measure_run)
    return np.array(
        joblib.Parallel(n_jobs=jobs)(job(experiment, reading, X, y, seed) for seed in seeds)
    )
