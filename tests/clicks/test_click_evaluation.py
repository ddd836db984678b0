"""Estimates of DCG from clicks on other rankers' lists."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles.clicks import dcg_from_clicks as oracle
from sklearn.base import clone

from sklearn_rank.clicks import PositionPropensity, dcg_from_clicks, make_clicks
from sklearn_rank.datasets import make_queries

QID = np.array([0, 0, 0, 1, 1, 1, 2, 2])
ALPHA, BETA = np.array([0.9, 0.5, 0.3]), np.array([0.1, 0.05, 0.0])


def a_log(seed, n_impressions):
    """Impressions of up to three rows in any order, with any clicks."""
    rng = np.random.default_rng(seed)
    rows = []
    for impression in range(n_impressions):
        shown = rng.permutation(np.flatnonzero(rng.integers(0, 3) == QID))[: rng.integers(1, 4)]
        rows += [(impression, row, at + 1, rng.integers(0, 2)) for at, row in enumerate(shown)]
    return [tuple(map(int, one)) for one in rows]


def estimate(log, scores, **options):
    impression, row, position, clicks = np.array(log).T
    options = {"propensity": ALPHA, "k": 2, "min_overlap": 0.0, "n_bootstrap": 0, **options}
    return dcg_from_clicks(clicks, position, row, impression, scores, qid=QID, **options)


@given(
    seed=st.integers(0, 10_000),
    n_impressions=st.integers(1, 12),
    method=st.sampled_from(["ips", "dr"]),
    clip=st.sampled_from([None, 0.7, 0.3]),
    offset=st.sampled_from([None, BETA]),
)
def test_estimates_are_those_of_the_definition(seed, n_impressions, method, clip, offset):
    rng, log = np.random.default_rng(seed), a_log(seed, n_impressions)
    scores = rng.integers(0, 3, len(QID)).astype(float)  # with ties
    predicted = rng.random(len(QID)) if method == "dr" else np.zeros(len(QID))
    beta = np.zeros(3) if offset is None else offset
    expected = oracle(log, scores, QID, ALPHA, beta, predicted, 2, 1 / clip if clip else np.inf)
    options = {"attraction": predicted} if method == "dr" else {}
    try:
        found = estimate(log, scores, method=method, clip=clip, offset=offset, **options)
    except ValueError as error:  # nothing that counts was ever shown
        assert "does not determine" in str(error)
        return
    assert found.dcg == pytest.approx(expected, rel=1e-10, abs=1e-12)


TWO = [(0, 0, 1, 1), (0, 1, 2, 0), (1, 0, 1, 0), (1, 1, 2, 1)]
"""Two impressions of rows 0 and 1 of query 0; row 2 is never shown."""


def test_rows_never_shown_are_said_so():
    found = estimate(TWO, [3.0, 1.0, 2.0, 0, 0, 0, 0, 0])
    assert found.n_unseen == 1
    assert found.overlap == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert found.kind == "lower bound"
    assert "never shows 1 of the ranker's rows" in str(found)
    assert found.dcg == pytest.approx(1 / (2 * 0.9))  # one click in two impressions at 0.9


def test_a_log_that_can_not_tell_is_refused():
    scores = [3.0, 1.0, 2.0, 0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"does not determine.*61%.*min_overlap=90%"):
        estimate(TWO, scores, min_overlap=0.9)
    with pytest.raises(ValueError, match="does not determine"):
        estimate(TWO, [0.0, 0.0, 5.0, 0, 0, 0, 0, 0], k=1)


def test_clipped_estimates_are_lower_bounds_and_not_above_the_others():
    scores = [1.0, 2.0, 0.0, 0, 0, 0, 0, 0]
    whole, clipped = (estimate(TWO, scores, clip=clip) for clip in (None, 0.7))
    assert (whole.kind, clipped.kind) == ("estimate", "lower bound")
    assert clipped.dcg < whole.dcg
    assert clipped.largest_weight == whole.largest_weight == pytest.approx(2.0)
    assert estimate(TWO, scores, clip=0.4).kind == "estimate"
    for method, options in (("snips", {}), ("dr", {"attraction": np.zeros(8)})):
        assert estimate(TWO, scores, clip=0.7, method=method, **options).kind == "biased"


def test_the_self_normalised_estimate_divides_by_the_share_that_stands():
    scores = [3.0, 1.0, 2.0, 0, 0, 0, 0, 0]
    plain, divided = (estimate(TWO, scores, method=one) for one in ("ips", "snips"))
    assert divided.dcg == pytest.approx(plain.dcg / plain.overlap)
    assert (plain.kind, divided.kind) == ("lower bound", "biased")  # one row was never shown
    scores = [3.0, 2.0, 1.0, 0, 0, 0, 0, 0]
    assert estimate(TWO, scores, method="snips").kind == "estimate"
    options = {"method": "dr", "attraction": [0.4] * 8, "k": 3}
    assert estimate(TWO, scores, **options).kind == "estimate"  # as good as the predictions


def test_effective_rows_are_the_squared_sum_of_weights_over_the_sum_of_squares():
    scores = [1.0, 2.0, 3.0, 0, 0, 0, 0, 0]
    log = [*TWO, (2, 1, 1, 0)]
    found = estimate(log, scores, k=3)
    # The ranker puts row 2 first, which is never shown, then row 1, then row 0.
    weight = {1: 3 / (2 * 0.5 + 0.9) / np.log2(3), 0: 3 / (2 * 0.9) / np.log2(4)}
    each = np.array([weight[row] for _, row, _, _ in log])
    assert found.effective_rows == pytest.approx(each.sum() ** 2 / (each**2).sum())


def test_positions_that_the_log_does_not_have_may_have_an_offset():
    scores = [3.0, 2.0, 1.0, 0, 0, 0, 0, 0]
    found = [estimate(TWO, scores, offset=offset).dcg for offset in (BETA, BETA[:2])]
    assert found[0] == found[1] != estimate(TWO, scores).dcg


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"propensity": [0.0, 1.0]}, "propensity"),
        ({"propensity": [1.0]}, r"propensity.* and 2 numbers.*Got shape \(1,\)"),
        ({"clip": 0.0}, "clip"),
        ({"clip": 1.5}, "clip"),
        ({"method": "dm"}, "method"),
        ({"method": "dr"}, "attraction.*is required with"),
        ({"attraction": [0.5] * 8}, "attraction.*must be None with"),
        ({"method": "dr", "attraction": [0.5] * 7 + [2.0]}, r"8 numbers, at least 0 .*Got 2\."),
        ({"method": "dr", "attraction": [0.5] * 6 + [3.0, -1.0]}, r"at most 1.*Got 3\."),
        ({"method": "dr", "attraction": [0.5] * 7}, r"8 numbers.*Got shape \(7,\)"),
        ({"method": "dr", "attraction": [0.5] * 9}, "y_score has 8, attraction has 9"),
        ({"offset": [0.1]}, "offset.* and 2 numbers"),
        ({"offset": [-0.1, 0.0]}, "offset"),
        ({"n_bootstrap": 5}, "two queries"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        estimate(TWO, [3.0, 2.0, 1.0, 0, 0, 0, 0, 0], **options)


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ([(0, 8, 1, 1)], r"from 0 to 7.*Got 8"),
        ([(0, 0, 1, 1), (0, 3, 2, 0)], "one query each"),
        ([*TWO, TWO[0]], "impression of dcg_from_clicks must show each row once"),
        ([(0, 0, 0, 1)], "Got 0"),
        ([(0, 0, 1, -1)], "0 or 1"),
    ],
)
def test_bad_rows_of_a_log_are_refused(log, message):
    with pytest.raises(ValueError, match=message):
        estimate(log, np.zeros(8))


# --- coverage ------------------------------------------------------------------------------------

DATA = make_queries(n_queries=60, rows_per_query=8, random_state=0)
RANKERS = np.random.default_rng(1).normal(size=(3, len(DATA.target))) + DATA.target / 2
NEW = DATA.data[:, 0] + DATA.data[:, 1]
RATES = 1.0 / np.arange(1, 9)
STEEP = np.maximum(RATES**2, 0.02)
"""Propensities whose weights go up to 50."""


def truth(attraction):
    order = np.lexsort((-NEW, DATA.qid)).reshape(60, 8)[:, :5]
    return float((attraction[order] @ (1 / np.log2(np.arange(2, 7)))).mean())


def simulated(seed, **options):
    options = {"n_impressions": 3000, "n_shown": 8, "examination": RATES, **options}
    return make_clicks(DATA.target, RANKERS, DATA.qid, random_state=seed, **options)


def of_log(log, propensity, **options):
    options = {"qid": DATA.qid, "propensity": propensity, "k": 5, "n_bootstrap": 100, **options}
    columns = log.click, log.position, log.row, log.impression
    return dcg_from_clicks(*columns, NEW, random_state=0, **options)


def held(n_logs, propensity, users=None, **options):
    """Return the share of simulated logs whose interval holds the truth, and the mean error."""
    inside, errors, weights = [], [], []
    for seed in range(n_logs):
        log = simulated(seed, **(users or {}))
        found = of_log(log, propensity, **options)
        true = truth(log.attraction)
        assert found.kind == "estimate"
        weights.append(found.largest_weight)
        inside.append(found.low <= true <= found.high)
        errors.append(found.dcg - true)
    assert not isinstance(propensity, np.ndarray) or max(weights) <= 50.0001
    return np.mean(inside), np.mean(errors)


STEEP_LOG = {"n_impressions": 20_000, "examination": STEEP}
SHORT_LOG = {"n_impressions": 20_000, "n_shown": 6, "examination": RATES[:6]}
"""Does not show all rows of the new ranker: predictions, right ones, stand for the others."""
METHODS = {"ips": {}, "dr": {"attraction": np.full(len(DATA.target), 0.3)}}
RIGHT = make_clicks(DATA.target, RANKERS, DATA.qid, n_impressions=1).attraction
COVERED = {
    "ips": (STEEP_LOG, {}),
    "dr": (STEEP_LOG, {"method": "dr", **METHODS["dr"]}),
    "dr with rows never shown": (SHORT_LOG, {"method": "dr", "attraction": RIGHT}),
}


@pytest.mark.parametrize("method", METHODS)
def test_estimates_are_unbiased(method):
    _, error = held(20, RATES, method=method, n_bootstrap=2, **METHODS[method])
    assert abs(error) < 0.02


def test_a_wrong_propensity_is_noticed():
    _, error = held(5, RATES**0.5, n_bootstrap=2)
    assert abs(error) > 0.1


@pytest.mark.nightly
@pytest.mark.parametrize(("users", "options"), COVERED.values(), ids=COVERED)
def test_intervals_hold_the_truth_with_known_propensities(users, options):
    assert held(200, users["examination"], users, **options)[0] >= 0.9


@pytest.mark.nightly
@pytest.mark.parametrize(("users", "options"), COVERED.values(), ids=COVERED)
def test_intervals_hold_the_truth_with_estimated_propensities(users, options):
    assert held(200, PositionPropensity(), users, **options)[0] >= 0.88


MANY = make_queries(n_queries=3000, rows_per_query=8, random_state=0)


def covered_of_drawn_queries(n_logs, propensity):
    """Return the share of logs of 60 of 3,000 queries whose interval holds the DCG of them all.

    Logs of the same queries differ less than the intervals say, which are of queries drawn anew.
    """
    rng, inside = np.random.default_rng(2), []
    rankers = rng.normal(size=(3, len(MANY.target))) + MANY.target / 2
    new = MANY.data[:, 0] + MANY.data[:, 1]
    gain = make_clicks(MANY.target, new, MANY.qid, n_impressions=1).attraction
    order = np.lexsort((-new, MANY.qid)).reshape(3000, 8)[:, :5]
    true = float((gain[order] @ (1 / np.log2(np.arange(2, 7)))).mean())
    for seed in range(n_logs):
        rows = np.flatnonzero(np.isin(MANY.qid, rng.choice(3000, 60, replace=False)))
        y, qid = MANY.target[rows], MANY.qid[rows]
        log = make_clicks(y, rankers[:, rows], qid, random_state=seed, n_shown=8, **STEEP_LOG)
        columns = log.click, log.position, log.row, log.impression
        options = {"qid": qid, "propensity": propensity, "k": 5, "n_bootstrap": 100}
        found = dcg_from_clicks(*columns, new[rows], random_state=0, **options)
        inside.append(found.low <= true <= found.high)
    return np.mean(inside)


@pytest.mark.nightly
def test_intervals_of_few_queries_are_somewhat_narrow():
    assert covered_of_drawn_queries(200, STEEP) >= 0.85  # measured: 0.88


@pytest.mark.parametrize("method", ["em", "harvesting"])
def test_propensities_are_estimated_again_in_each_sample(method):
    """As from a log in which queries are there as often as they were drawn."""
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(11), [3] * 10 + [5])  # one query has positions 4 and 5
    y = rng.integers(0, 3, len(qid))
    rankers, options = rng.normal(size=(3, len(qid))), {"n_impressions": 3000, "n_shown": 5}
    log = make_clicks(y, rankers, qid, random_state=0, **options)
    columns = log.click, log.position, log.row
    model = PositionPropensity(method, n_bootstrap=0, tol=1e-3)
    known = np.minimum(model.fit(*columns).propensity_, 1.0)

    def of_sample(counts):  # where it has a position; those of the log at others
        rows = np.repeat(np.arange(len(log.qid)), counts[log.qid])
        found = clone(model).fit(*(column[rows] for column in columns)).propensity_
        return np.concatenate([np.minimum(found, 1.0), known[len(found) :]])

    draws = np.random.RandomState(0)
    counts = [np.bincount(draws.randint(11, size=11), minlength=11) for _ in range(12)]
    assert min(one[10] for one in counts) == 0
    dcgs = []
    for one in counts:
        again = [np.flatnonzero(log.qid == q) for q, times in enumerate(one) for _ in range(times)]
        rows = np.concatenate(again)
        impression = np.concatenate(
            [log.impression[part] + 9999 * number for number, part in enumerate(again)]
        )
        options = {"qid": qid, "k": 5, "propensity": of_sample(one), "min_overlap": 0.0}
        found = dcg_from_clicks(
            *(column[rows] for column in columns), impression, y, n_bootstrap=0, **options
        )
        dcgs.append(found.dcg)
    options = {"qid": qid, "k": 5, "n_bootstrap": 12, "random_state": 0}
    found = dcg_from_clicks(*columns, log.impression, y, propensity=model, **options)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(dcgs, [0.025, 0.975])))
    plain = dcg_from_clicks(*columns, log.impression, y, propensity=known, **options)
    assert found.dcg == pytest.approx(plain.dcg)
    assert found.low != pytest.approx(plain.low)


def test_estimated_propensities_above_1_count_as_1():
    log = simulated(0, examination=np.roll(RATES, 1))
    model = PositionPropensity(n_bootstrap=0)
    found = model.fit(log.click, log.position, log.row).propensity_
    assert found.max() > 1
    expected = of_log(log, np.minimum(found, 1.0), n_bootstrap=0)
    assert of_log(log, model, n_bootstrap=0).dcg == pytest.approx(expected.dcg)


def test_trust_is_corrected_by_the_affine_form():
    tau, log = 0.4, simulated(0, trust=0.4, n_impressions=20_000)
    trust = tau / np.arange(1, 9)
    # P(click) = rate (a + (1 - a) t) = rate (1 - t) a + rate t
    right = of_log(log, RATES * (1 - trust), offset=RATES * trust, n_bootstrap=0).dcg
    wrong = of_log(log, RATES, n_bootstrap=0).dcg
    assert right == pytest.approx(truth(log.attraction), abs=0.03)
    assert abs(wrong - truth(log.attraction)) > 0.1
