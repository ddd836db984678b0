"""The parts of the scripts that try claims of the papers which are not the package's own."""

from pathlib import Path

import numpy as np
import pytest
from oracles import definitions as oracles

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


pytestmark = pytest.mark.usefixtures("scripts")


def test_adaboost_is_the_oracles():
    from claim_adaboost import adaboost

    rng = np.random.default_rng(0)
    X, y = rng.random((60, 4)) < 0.5, rng.random(60) < 0.4
    *_, (scores, _, skew) = adaboost(X, y, X, 30, constant=True)
    np.testing.assert_allclose(scores, oracles.adaboost(X, y, 30)[0], atol=1e-9)
    terms = np.exp(np.where(y, -scores, scores))
    assert skew == pytest.approx((terms[y].sum() - terms[~y].sum()) / terms.sum(), abs=1e-12)


def test_the_risk_of_the_known_distribution_is_the_sum_over_pairs():
    from claim_schedule import make_problem

    problem = make_problem()
    scores = np.random.default_rng(0).standard_normal(len(problem.points))
    margins = scores[:, np.newaxis] - scores
    pairs = np.outer(problem.positive, problem.negative)
    assert problem.risk(scores) == pytest.approx(float(np.sum(pairs * (1 - margins) ** 2)))
    assert problem.least_risk() < problem.risk(scores)


def test_the_penalised_minimum_has_no_better_neighbour():
    from claim_schedule import make_problem

    problem, alpha = make_problem(), 0.1

    def objective(coefficients):
        scores = problem.kernel @ coefficients
        return problem.risk(scores) + alpha / 2 * coefficients @ scores

    best = problem.penalised(alpha)
    rng = np.random.default_rng(0)
    for step in rng.standard_normal((20, len(best))):
        assert objective(best) <= objective(best + 1e-2 * step)


def test_the_rate_of_least_squares():
    """(2.5) at q = 2, where min(q + 1, 2q - 1) = 3."""
    from claim_schedule import rate

    assert rate(2.0, 0.1, 0.5) == pytest.approx(0.4)
    assert rate(1.0, 0.1, 0.5) == pytest.approx(0.2)
