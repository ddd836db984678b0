"""Cards with pairs of variables: the grids are the ranker's, the totals those of the card."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.frozen import FrozenEstimator

from sklearn_rank import PNormPushRanker, RankBoost
from sklearn_rank.models import Stumps
from sklearn_rank.models.grid_cuts import GridGain
from sklearn_rank.scorecard import Scorecard

QUICK = {"p": 1, "cv": 2, "n_repeats": 1, "alpha": 0.01, "min_bin_size": 0.02}


def rows(n=800, seed=0):
    """Rows told by numbers with codes and missing values together with categories."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=["age", "debt", "noise"])
    X["home"] = pd.Categorical(rng.choice(["own", "rent", "with parents", "other"], n))
    is_owner = X["home"].isin(["own", "other"])
    chance = np.where(is_owner == (X["age"] > 0), 0.85, 0.15)
    chance = np.where((X["debt"] > 0.3) & (X["age"] > 0.5), 0.95, chance)
    y = (rng.random(n) < chance).astype(int)
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    X.loc[rng.random(n) < 0.1, "debt"] = -99.0
    return X, y


def ranker(**options):
    stumps = Stumps(special_values={"debt": [-99.0]}, **options)
    return PNormPushRanker(loss="logistic", solver="corrective", weak_ranker=stumps)


def test_a_card_has_the_grids_of_its_ranker():
    X, y = rows()
    card = Scorecard(ranker(), max_pairs=2, **QUICK).fit(X, y)
    assert card.card_.pairs
    assert any("home" in pair.name for pair in card.card_.pairs)
    points, coded = card.card_.points(X), card.ranker_.check_rows(X)
    n_variables = len(card.card_.variables)
    functions = {tuple(one.features): one for one in card.ranker_.pair_functions_}
    for column, pair in enumerate(card.card_.pairs, n_variables):
        function = functions[pair.columns]
        bins, scores = function.bins_of_rows(coded), function.of_rows(coded)
        for one in range(function.bins.n_values):  # equal cells have equal points
            assert len(np.unique(points[bins == one, column])) == 1
        order = np.argsort(scores[bins < function.bins.missing], kind="stable")
        assert (np.diff(points[bins < function.bins.missing, column][order]) >= 0).all()
        assert sum(pair.counts) == len(y)
        assert sum(pair.events) == y.sum()
        lengths = [len(one.groups or ()) or len(one.thresholds) + 1 for one in pair.axes]
        assert max(lengths) <= 4
    np.testing.assert_array_equal(card.card_.totals(X), card.card_.intercept + points.sum(axis=1))


@pytest.mark.parametrize("unseen", ["neutral", "worst"])
def test_values_that_training_has_not_seen_have_points(unseen):
    X, y = rows()
    card = Scorecard(ranker(), max_pairs=2, unseen=unseen, adverse="high", **QUICK).fit(X, y)
    (pair,) = [one for one in card.card_.pairs if "home" in one.name]
    new = X.head(3).astype({"home": object})
    new["home"] = "a tent"
    column = card.terms_.index(pair.name)
    labels = [pair.labels()[one] for one in card.card_.bins(new)[:, column]]
    assert all("any other" in one and one.endswith("(not seen in training)") for one in labels)
    if unseen == "worst":
        assert set(card.card_.points(new)[:, column]) == {max(pair.points)}


def test_a_card_is_read_as_it_was_written():
    X, y = rows()
    card = Scorecard(ranker(), max_pairs=2, **QUICK).fit(X, y)
    again = Scorecard.from_json(card.to_json())
    np.testing.assert_array_equal(card.decision_function(X), again.decision_function(X))


def test_thresholds_of_pairs_are_short():
    X, y = rows()
    card = Scorecard(ranker(), max_pairs=2, **QUICK).fit(X, y)
    ends = [end for pair in card.card_.pairs for axis in pair.axes for end in axis.thresholds]
    assert ends
    assert all(len(repr(end)) <= 6 for end in ends)


def test_the_number_of_pairs_may_be_the_rankers_or_frozen():
    X, y = rows()
    card = Scorecard(ranker(max_pairs=1), **QUICK).fit(X, y)
    assert len(card.card_.pairs) == 1
    fitted = RankBoost(n_estimators=20, weak_ranker=Stumps(max_pairs=1)).fit(X, y)
    frozen = Scorecard(FrozenEstimator(fitted)).fit(X, y)
    assert len(frozen.card_.pairs) == 1
    kept = Scorecard(FrozenEstimator(fitted), max_pairs=0).fit(X, y)  # 0 is the ranker's own number
    assert kept.card_.terms[-1].points == frozen.card_.terms[-1].points
    with pytest.raises(ValueError, match="max_pairs is set on Scorecard and on its ranker"):
        Scorecard(ranker(max_pairs=1), max_pairs=2, **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="max_pairs=2 of Scorecard can't be set on a frozen"):
        Scorecard(FrozenEstimator(fitted), max_pairs=2).fit(X, y)


def test_the_number_of_pairs_is_chosen_by_folds():
    X, y = rows()
    options = {**QUICK, "alpha": "auto", "max_pairs": "auto", "scoring": "auc"}
    card = Scorecard(ranker(), **options).fit(X, y)
    assert card.card_.pairs
    assert "max_pairs" in {record["parameter"] for record in card.search_}
    y = np.random.default_rng(0).integers(0, 2, len(y))
    assert not Scorecard(ranker(), **options).fit(X, y).card_.pairs


def rows_with_directions(n=500, seed=0):
    """Rows whose class rises with age, falls with debt, and with both together."""
    X, _ = rows(n, seed)
    age, debt = X["age"].fillna(0), X["debt"].clip(-3)
    chance = 0.15 + 0.6 * ((age > 0.2) & (debt < 0.3)) + 0.2 * (age > 1)
    return X, (np.random.default_rng(seed).random(n) < chance).astype(int)


@settings(max_examples=min(10, settings.default.max_examples))
@given(
    st.integers(0, 10**6),
    st.sampled_from([{"age": 1}, {"debt": -1}, {"age": 1, "debt": -1}]),
    st.sampled_from([None, "minmax", {"pdo": 20, "score": 600, "odds": 20}]),
    st.sampled_from([(-5, 5), (-2, 2), (0, 9)]),
)
def test_totals_keep_their_directions_whatever_the_other_variables(seed, signs, scaling, points):
    X, y = rows_with_directions(seed=seed)
    card = Scorecard(
        ranker(), max_pairs=2, monotonic_cst=signs, scaling=scaling, points=points, **QUICK
    ).fit(X, y)
    some = X.head(40).astype({"home": object})
    some.loc[some.index[:5], "home"] = "a tent"
    some.loc[some.index[5:9], ["age", "debt"]] = np.nan
    for name, sign in signs.items():
        values = np.unique(X[name].dropna())
        moved = [some.assign(**{name: one}) for one in [*values[values != -99.0], 99.0]]
        totals = card.decision_function(pd.concat(moved)).reshape(len(moved), -1)
        assert (sign * np.diff(totals, axis=0) >= 0).all()


def test_variables_with_directions_are_in_pairs():
    X, y = rows_with_directions(1500)
    signs = {"age": 1, "debt": -1}
    card = Scorecard(ranker(), max_pairs=1, monotonic_cst=signs, **QUICK).fit(X, y)
    assert [pair.name for pair in card.card_.pairs] == ["age × debt"]


def test_differences_of_both_signs_are_no_division_by_zero():
    # Sums over reversed ranges of places are negative: one was just minus the ridge.
    gain = GridGain([(2, np.ones(2)), (2, np.ones(2))], 0.0, 0.003, 0.5, 0)
    found = gain.of_cells(np.array([[-0.006, 2.0, 3.0], [-0.003, 0.997, 0.0]]))
    np.testing.assert_allclose(found, [0.0, 3.5, 0.0])
