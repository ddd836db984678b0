"""RankBoost and AdaBoost: one limit, reached from two objectives (RudinSchapire2009)."""

import numpy as np
import pytest
from oracles import definitions as oracles
from sklearn.datasets import make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score

from sklearn_rank import RankBoost

N_ROUNDS = 400


def coarse(n_rows, n_features, n_values, seed):
    """Noisy classes, and few distinct values a feature: all see the same thresholds."""
    noisy = {"n_informative": 3, "n_redundant": 0, "flip_y": 0.2, "weights": [0.6]}
    X, y = make_classification(n_rows, n_features, **noisy, random_state=seed)
    low, width = X.min(axis=0), np.ptp(X, axis=0)
    return np.floor((X - low) / width * (n_values - 1e-9)), y


def figures(y, decision):
    """AUC and accuracy."""
    return np.array([roc_auc_score(y, decision), np.mean((decision > 0) == (y == 1))])


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        (2000, 4, 12, 0),
        (2000, 4, 64, 0),
        pytest.param((3000, 6, 24, 2), marks=pytest.mark.nightly),
        pytest.param((5000, 8, 64, 3), marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_auc_and_accuracy_equal_adaboosts(data):
    """Within 0.01 after 400 rounds.

    scikit-learn's AdaBoost picks its trees by impurity, not by edge, and gets to the
    common limit more slowly: with many thresholds it is still behind.
    """
    X, y = coarse(*data)
    ranker = RankBoost(n_estimators=N_ROUNDS, tol=0, learning_rate=1).fit(X, y)
    ours = figures(y, ranker.decision_function(X))
    h = np.column_stack([stump.h for stump in oracles.stumps(X)])
    by_oracle = figures(y, oracles.adaboost(h, y, N_ROUNDS)[0])
    np.testing.assert_allclose(ours, by_oracle, atol=0.01)
    ada = AdaBoostClassifier(n_estimators=N_ROUNDS, random_state=0).fit(X, y)
    theirs = figures(y, ada.decision_function(X))
    assert np.all(ours >= theirs - 0.005)
    if data[2] == 12:
        np.testing.assert_allclose(ours, theirs, atol=0.01)


def test_the_skew_is_zero_after_the_offset():
    X, y = coarse(400, 4, 24, 0)
    for ranker in (RankBoost(learning_rate=1), RankBoost()):
        for decision in ranker.fit(X, y).staged_decision_function(X):
            above, below = np.exp(-decision[y == 1]).sum(), np.exp(decision[y == 0]).sum()
            assert above == pytest.approx(below, rel=1e-9)
