"""The papers' tables: the plain algorithm, the figures' formulas, the positive class."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import metrics as oracles
from printed import PAPERS

from sklearn_rank import PNormPushRanker


@pytest.fixture
def protocol(scripts):
    return scripts("_paper_protocol")


@pytest.fixture
def figures(scripts):
    return scripts("_paper_figures")


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    return X, (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("p", [1, 4, 64])
def test_the_plain_algorithm_is_the_rankers(protocol, p):
    X, y = rows()
    options = {"n_estimators": 20, "tol": 0, "learning_rate": 1}
    ranker = PNormPushRanker(p=p, weak_ranker="feature", **options).fit(X, y)
    assert_allclose(protocol.boosted(X, y, p, 20), ranker.coef_, rtol=1e-6, atol=1e-8)


def test_the_largest_edge_with_its_sign_never_turns_a_feature_round(protocol):
    X, y = rows()
    assert (protocol.boosted(X, y, 1, 20)[1] < 0) and (
        protocol.boosted(X, y, 1, 20, True) >= 0
    ).all()


def test_no_order_with_good_on_top_has_as_small_a_dcg_as_is_printed():
    """Three folds of the ionosphere: hence "bad" is the positive class of Table 4."""
    n_rows, n_good, _ = np.array(PAPERS["Rudin2009"]["ionosphere_rows"]["value"], dtype=int) // 3
    ranks = np.arange(n_rows - n_good + 1, n_rows + 1)
    printed = PAPERS["Rudin2009"]["table_4"]["rows"]["DCG"]
    assert (1 / np.log1p(ranks)).sum() > 17 > max(map(float, printed)) + 2


def example():
    """Return the labels and the scores of Rudin (2009), sec. 3.3."""
    labels = np.array(PAPERS["Rudin2009"]["labels_20"]["value"], dtype=int)
    return labels, np.arange(len(labels), 0, -1) / len(labels)


@pytest.mark.parametrize("p", [1, 2, 4])
def test_contributions_add_up_to_the_push(figures, p):
    labels, scores = example()
    expected = oracles.push_loss(labels, scores, p, loss="exponential", normalize=False)
    assert_allclose(figures.push_contributions(p).sum(), expected)


def test_contributions_add_up_to_the_information_retrieval_push(figures):
    labels, scores = example()
    sums = [np.exp(scores[labels < 0] - score).sum() for score in scores[labels > 0]]
    assert figures.ir_contributions().shape == (12, 8)
    assert_allclose(figures.ir_contributions().sum(axis=1), np.log1p(sums))
