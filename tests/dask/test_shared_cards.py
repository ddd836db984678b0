"""The same card from one process and from several that each hold a part of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from shared_fits import run_together
from sklearn.base import clone

from sklearn_rank import PNormPushRanker, RankBoost
from sklearn_rank.dask._together import Together
from sklearn_rank.models import Stumps
from sklearn_rank.scorecard import Scorecard

POINTS = {"pdo": 20, "score": 600, "odds": 50}
CARDS = {
    "default": (Scorecard(max_terms=4, cv=3, n_repeats=2), None),
    "points": (Scorecard(max_terms=3, p=2, cv=3, scaling=POINTS, points=None), None),
    "few values": (Scorecard(max_terms=3, p=2, cv=3, max_pairs=0), None),
    "queries": (Scorecard(RankBoost(n_estimators=5), cv=3, max_terms=3, scoring="auc"), 15),
    "directions": (
        Scorecard(RankBoost(n_estimators=5), cv=2, scoring="auc", monotonic_cst="auto"),
        15,
    ),
    "constraints": (
        Scorecard(
            PNormPushRanker(
                n_estimators=5,
                monotonic_cst=[1, 0, 0],
                weak_ranker=Stumps(special_values={2: [-9]}, thresholds={1: [0.2, 0.5]}),
            ),
            p=2,
            cv=2,
            max_terms=5,
            scaling="minmax",
        ),
        None,
    ),
}


def together(card, X, y, qid, weight, part, size):
    """Return the card of each of several processes."""

    def fit(collective):
        here = np.flatnonzero(part == collective.rank)
        own, found = clone(card), clone(card)
        ranker = own.unfitted_ranker()
        ranker.n_features_in_ = X.shape[1]
        rows = ranker.training_data(X, y, qid=qid, sample_weight=weight).take(here)
        codes = None if qid is None else np.unique(rows.qid, return_inverse=True)[1]
        rows = replace(rows, qid=codes, collective=Together(collective))
        found.set_fitted(own.fit_rows(rows, ranker))
        return found

    return run_together(size, fit)[0]


@pytest.mark.parametrize(
    "name", [pytest.param("default", marks=pytest.mark.slow), *list(CARDS)[1:]]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_card_is_that_of_one_process(name):
    (card, n_queries), random, n = CARDS[name], np.random.default_rng(0), 240
    X = (
        random.random((n, 3)).round(2)
        if name != "few values"
        else random.integers(0, 3, (n, 3)) / 2
    )
    y = (X[:, 0] - X[:, 1] ** 2 + random.normal(size=n) / 2 > 0.2).astype(int)
    X[random.random(n) < 0.1, 2] = -9 if name == "constraints" else np.nan
    X[:40], y[:40] = X[40:80], y[40:80]  # equal rows on several processes
    qid = None if n_queries is None else random.integers(0, n_queries, n)
    part = random.integers(0, 3, n) if qid is None else qid % 3
    weight = random.integers(1, 4, n).astype(float)
    card = clone(card).set_params(random_state=0)
    alone = clone(card).fit(X, y, qid=qid, sample_weight=weight)
    for found in together(card, X, y, qid, weight, part, 3):
        assert repr(found.card_.variables) == repr(alone.card_.variables)
        assert (found.cut_, found.p_) == (alone.cut_, alone.p_)
        risks = [np.array(one.card_.risk) for one in (found, alone)]
        np.testing.assert_allclose(*risks, rtol=1e-6)
        for key, value in alone.card_.details.items():
            expected = pytest.approx(value, rel=1e-9) if isinstance(value, float) else value
            assert found.card_.details[key] == expected
        assert found.p_scores_.keys() == alone.p_scores_.keys()
        for p, scores in alone.p_scores_.items():
            np.testing.assert_allclose(found.p_scores_[p], scores, rtol=1e-9)
