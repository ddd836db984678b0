"""What the benchmark of scorecards makes of its fits."""

import pytest

pytestmark = pytest.mark.usefixtures("scripts")


def runs_of(**values):
    """Return figures by system and split, the same for both measures."""
    return {
        name: {split: {"auc": one, "pauc": one} for split, one in enumerate(ones)}
        for name, ones in values.items()
    }


def test_the_better_of_two_is_that_of_the_mean():
    from _scorecards_tables import BEST, paired

    runs = runs_of(
        small=[0.9, 0.8, 0.7], fasterrisk=[0.8, 0.8, 0.8], optbinning_small=[0.9, 0.9, 0.0]
    )
    assert paired(runs, "small", BEST, "auc") == pytest.approx([0.1, 0, -0.1])
    del runs["fasterrisk"]
    assert paired(runs, "small", BEST, "auc") == pytest.approx([0, -0.1, 0.7])


def test_differences_are_of_the_splits_that_both_have():
    from _scorecards_tables import paired

    runs = runs_of(small=[0.9, 0.8, 0.7], ebm=[0.8, 0.8])
    assert paired(runs, "small", "ebm", "auc") == pytest.approx([0.1, 0])
    runs["ebm"].clear()
    with pytest.raises(KeyError):
        paired(runs, "small", "ebm", "auc")
    with pytest.raises(KeyError):
        paired(runs, "small", "toad", "auc")


def test_intervals_have_the_variance_of_splits_that_share_rows():
    from _list_tables import corrected_interval, p_value
    from _lists_fits import interval
    from scipy.stats import t

    values = [0.01, 0.03, -0.01, 0.02, 0.02]
    deviation = (sum((one - 0.014) ** 2 for one in values) / 4) ** 0.5
    half = t.ppf(0.975, 4) * deviation * (1 / 5 + 0.4 / 0.6) ** 0.5
    assert corrected_interval(values) == pytest.approx((0.014 - half, 0.014 + half))
    assert interval(values, 0.4 / 0.6) == pytest.approx((0.014 - half, 0.014 + half), rel=1e-3)
    low, _ = corrected_interval(values, 1 - p_value(values))
    assert low == pytest.approx(0, abs=1e-12)


def test_significance_needs_two_splits():
    from _scorecards_tables import nowhere_below

    found = {"magic": runs_of(small=[0.5], ebm=[0.9])}
    assert nowhere_below(found, "small", "ebm", "auc").measured is None
    found["wilt"] = runs_of(small=[0.50, 0.51, 0.5], ebm=[0.90, 0.91, 0.9])
    verdict = nowhere_below(found, "small", "ebm", "auc", 0.01)
    assert verdict.measured == 1
    assert "wilt" in verdict.label


@pytest.mark.parametrize(("rate", "holds"), [(0.2, True), (0.3, True), (0.45, False)])
def test_a_band_holds_within_both_errors(rate, holds):
    from _scorecards_tables import covered

    # se² + r (1 - r) / m = .05² + .2 .8 / 64 = .0707²
    band = {"m": 64, "rate": rate, "risk": 0.2, "low": 0.102, "high": 0.298}
    assert covered([band]) == [holds]


def test_bands_have_enough_rows_and_whole_totals():
    import numpy as np
    from _scorecards_ours import bands

    from sklearn_rank.datasets import make_credit
    from sklearn_rank.scorecard import Scorecard

    credit = make_credit(600, random_state=0)
    card = Scorecard(max_terms=3, p=1).fit(credit.data, credit.target)
    found = bands(card, credit.target, credit.data)
    totals = card.decision_function(credit.data)
    ends = np.cumsum([band["m"] for band in found])
    assert ends[-1] == 600
    assert min(band["m"] for band in found) >= 50
    assert np.all(np.diff(np.sort(totals))[ends[:-1] - 1] > 0)
    events = sum(band["m"] * band["rate"] for band in found)
    assert events == pytest.approx(credit.target.sum())
    assert all(band["low"] <= band["risk"] <= band["high"] for band in found)
