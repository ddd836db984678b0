"""benchmarks/paper_tables.py: the plain algorithm, the figures' formulas, and the page."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import definitions as oracles
from printed import PAPERS, ROOT

from sklearn_rank import PNormPushRanker
from sklearn_rank.metrics import auc_score

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture
def protocol(scripts):
    return scripts("_paper_protocol")


@pytest.fixture
def figures(scripts):
    return scripts("_paper_figures")


@pytest.fixture
def tables(scripts):
    return scripts("paper_tables")


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


def test_a_run_tests_every_row_of_the_folds_once(protocol):
    y = np.arange(30) % 2
    for experiment in protocol.EXPERIMENTS[1:]:
        split = protocol.parts(experiment, protocol.TEXT, y, 0)
        assert sorted(np.concatenate([test for _, test in split])) == list(range(30))
        assert [len(train) for train, _ in split] == [20, 20, 20]


def test_ties_are_errors_except_in_one_reading(protocol):
    X, y = np.zeros((60, 5)), np.arange(60) % 2
    others = protocol.READINGS["ties count for the positives"]
    for reading, auc in ((protocol.TEXT, auc_score([0, 1], [0.0, 0.0])), (others, 1.0)):
        found = protocol.measure_run(protocol.EXPERIMENTS[2], reading, X, y, 0)
        assert (found[:, 0] == auc).all()


def test_no_order_with_good_on_top_has_as_small_a_dcg_as_is_printed():
    """Three folds of the ionosphere: hence "bad" is the positive class of Table 4."""
    n_rows, n_good, _ = np.array(PAPERS["Rudin2009"]["ionosphere_rows"]["value"], dtype=int) // 3
    ranks = np.arange(n_rows - n_good + 1, n_rows + 1)
    printed = PAPERS["Rudin2009"]["table_4"]["rows"]["DCG"]
    assert (1 / np.log1p(ranks)).sum() > 17 > max(map(float, printed)) + 2


@pytest.mark.parametrize("p", [1, 2, 4])
def test_contributions_add_up_to_the_push(figures, p):
    above, below = figures.example()
    scores = np.concatenate([above, below])
    labels = np.repeat([1, -1], [len(above), len(below)])
    expected = oracles.rudin_risk(scores, labels, p, "exponential")
    assert_allclose(figures.push_contributions(p).sum(), expected)


def test_contributions_add_up_to_the_information_retrieval_push(figures):
    above, below = figures.example()
    sums = [sum(np.exp(-(f - g)) for g in below) for f in above]
    assert figures.ir_contributions().shape == (12, 8)
    assert_allclose(figures.ir_contributions().sum(axis=1), np.log1p(sums))


def test_z_is_the_distance_in_spreads_of_single_runs(protocol, tables):
    experiment = protocol.EXPERIMENTS[0]
    printed = experiment.printed_values()
    runs = np.array([printed * 0.9, printed * 1.1, printed * 1.3])
    assert_allclose(tables.deviations(experiment, runs), -0.5)
    assert (tables.deviations(experiment, np.array([runs[0] * 0.9, runs[0]])) > 1).all()
    shown = tables.cells_table(experiment, runs)
    printed_first = experiment.printed("R_2")[0]
    assert shown.rows[1][:2] == ["R_2, 1e10", f"{printed_first} / 7.2 ± 1.3 (-0.5)"]
    assert shown.note.count("49 of 49 printed values") == 1


@pytest.mark.parametrize(
    "title", ["3: ", "4: ", "4, stratified folds: ", "5: ", "5, stratified folds: "]
)
def test_the_page_prints_the_tables(title):
    page = (ROOT / "docs" / "benchmarks" / "paper_tables.md").read_text(encoding="utf-8")
    body = page.partition(f"<summary>Table {title}")[2].partition("</details>")[0]
    found = {
        line.split(" | ")[0].strip("| ").partition(",")[0]: [
            cell.partition(" / ")[0] for cell in line.strip("| ").split(" | ")[1:]
        ]
        for line in body.splitlines()
        if line.startswith("| ") and " / " in line
    }
    assert found == PAPERS["Rudin2009"][f"table_{title[0]}"]["rows"]


def test_readings_of_the_first_rows_change_one_thing(scripts):
    """The loop with a line search of one's own is the plain algorithm; ties get the order asked."""
    first_rows = scripts("table_3_first_rows")
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 4)), np.arange(60) % 3 == 0
    plain = first_rows.boosted(X, y, 1, first_rows.ROUNDS)
    found = first_rows.boosted_with(X, y, 1, first_rows.line_search)
    assert_allclose(found, plain, rtol=1e-6, atol=1e-8)
    ranks = first_rows.in_order(np.array([1.0, 2.0, 1.0]), np.array([5, 1, 4]))
    assert ranks.tolist() == [1.0, 2.0, 0.0]
