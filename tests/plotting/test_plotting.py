"""Displays: what they draw is what loops over the definition give, and they change nothing."""

import copy
import dataclasses
import sys

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from sklearn_rank import PNormPushRanker, RankBoost, SmoothMarginRanker
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import auc_score, precision_at_k, recall_at_k
from sklearn_rank.model_selection import QueryKFold
from sklearn_rank.models import Stumps
from sklearn_rank.plotting import (
    RankedListDisplay,
    ScorecardDisplay,
    ShapeFunctionDisplay,
    TopROCDisplay,
)
from sklearn_rank.preprocessing import QueryMinMaxScaler
from sklearn_rank.scorecard import Scorecard

RUDIN = np.array([-1, 1, -1, 1, -1, -1, 1, 1]), np.arange(1, 9) / 2
FROM_PREDICTIONS = [TopROCDisplay, RankedListDisplay]


@pytest.fixture(autouse=True)
def close_figures():
    assert matplotlib.get_backend().lower() == "agg"
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:, :6], y


@pytest.fixture(scope="module")
def ranker(cancer):
    return RankBoost(n_estimators=30).fit(*cancer)


def random_rows(seed, n=40, n_scores=6):
    """Labels, scores with many ties, queries and weights (some zero)."""
    rng = np.random.default_rng(seed)
    y, score = rng.integers(0, 2, n), rng.integers(0, n_scores, n).astype(float)
    return y, score, rng.integers(0, 4, n), rng.integers(0, 4, n).astype(float)


# TopROCDisplay -------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_top_roc_is_the_roc_curve(weighted):
    y, score, _, weight = random_rows(0)
    weight = weight if weighted else None
    display = TopROCDisplay.from_predictions(y, score, sample_weight=weight, max_fpr=1.0)
    fpr, tpr, _ = roc_curve(y, score, sample_weight=weight, drop_intermediate=False)
    assert_allclose(display.fpr, fpr)
    assert_allclose(display.tpr, tpr)
    assert display.roc_auc == pytest.approx(roc_auc_score(y, score, sample_weight=weight))
    assert_allclose(display.line_.get_xydata(), np.column_stack([fpr, tpr]))


@settings(max_examples=settings.default.max_examples * 2 // 5)
@given(st.integers(0, 10_000))
def test_top_roc_of_queries_has_the_pooled_auc(seed):
    y, score, qid, weight = random_rows(seed)
    y[:2], weight[:2], qid[:2] = [0, 1], 1, 0
    display = TopROCDisplay.from_predictions(y, score, qid=qid, sample_weight=weight)
    plt.close("all")
    expected = auc_score(y, score, qid=qid, sample_weight=weight)
    assert display.roc_auc == pytest.approx(expected, abs=1e-12)
    assert (np.diff(display.fpr) >= 0).all()
    assert (np.diff(display.tpr) >= 0).all()
    assert (display.fpr[0], display.tpr[0]) == (0, 0)
    assert (display.fpr[-1], display.tpr[-1]) == pytest.approx((1, 1))


def test_top_roc_mean_of_two_queries_by_hand():
    """One query in perfect order, one reversed: the first jumps at 0, the second at 1."""
    display = TopROCDisplay.from_predictions([0, 1, 0, 1], [1, 2, 2, 1], qid=[0, 0, 1, 1])
    points = np.unique(np.column_stack([display.fpr, display.tpr]), axis=0)
    assert_allclose(points, [[0, 0], [0, 0.5], [1, 0.5], [1, 1]])


def test_top_roc_infinite_scores():
    display = TopROCDisplay.from_predictions([0, 1, 0, 1, 0], [-np.inf, np.inf, 0, 1, 2])
    assert display.roc_auc == pytest.approx(5 / 6)


def test_top_roc_zoom_ends_at_max_fpr_on_the_curve():
    y, score, *_ = random_rows(3, n_scores=1000)
    display = TopROCDisplay.from_predictions(y, score, max_fpr=0.33)
    x, height = display.line_.get_xydata()[-1]
    assert x == 0.33
    assert height == pytest.approx(np.interp(0.33, display.fpr, display.tpr))
    assert display.ax_.get_xlim() == (0, 0.33)
    bottom, top = display.ax_.get_ylim()
    assert bottom == 0
    assert height <= top < 1.1


def test_top_roc_log_axis_starts_at_the_first_negative():
    y, score, *_ = random_rows(3, n_scores=1000)
    display = TopROCDisplay.from_predictions(y, score, max_fpr=0.5, xscale="log")
    first = np.min(display.fpr[display.fpr > 0])
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_xlim() == pytest.approx((first, 0.5))
    with pytest.raises(ValueError, match="the first negative is at"):
        display.plot(max_fpr=first / 2, xscale="log")


def list_of_runs(*lengths):
    """Return labels and scores of a list of positives, negatives, positives and so on."""
    y = np.repeat(np.arange(1, len(lengths) + 1) % 2, lengths)
    return y, -np.arange(len(y), dtype=float)


@pytest.mark.parametrize("lengths", [(50, 1000), (30, 80, 20, 920), (0, 100, 50, 900)])
def test_top_roc_log_axis_starts_at_the_first_negative_of_a_straight_part(lengths):
    """The first negative is on the axis, where scikit-learn would drop it from a line."""
    y, score = list_of_runs(*lengths)
    display = TopROCDisplay.from_predictions(y, score, xscale="log", max_fpr=0.05)
    assert display.ax_.get_xlim() == pytest.approx((1 / 1000, 0.05))
    assert display.line_.get_xydata()[0] == pytest.approx((1 / 1000, lengths[0] / 50))


@pytest.mark.parametrize("order", [1, -1])
def test_top_roc_curves_on_one_log_axis_are_whole(order):
    lists = [list_of_runs(30, 80, 20, 920), list_of_runs(0, 1, 1, 3, 1)][::order]
    first = TopROCDisplay.from_predictions(*lists[0], xscale="log", max_fpr=0.5)
    second = TopROCDisplay.from_predictions(*lists[1], xscale="log", max_fpr=0.5, ax=first.ax_)
    assert first.ax_.get_xlim() == pytest.approx((1 / 1000, 0.5))
    starts = [display.line_.get_xdata()[0] for display in (first, second)]
    assert sorted(starts) == pytest.approx([1 / 1000, 1 / 4])
    linear = TopROCDisplay.from_predictions(*lists[0], ax=first.ax_)
    assert linear.ax_.get_xlim() == (0, 0.1)
    again = TopROCDisplay.from_predictions(*lists[0], xscale="log", max_fpr=0.5, ax=first.ax_)
    assert again.ax_.get_xlim()[0] == pytest.approx(again.line_.get_xdata()[0])


def test_top_roc_displays_share_axes_and_differ_in_grey(ranker, cancer):
    first = TopROCDisplay.from_estimator(ranker, *cancer)
    second = TopROCDisplay.from_estimator(ranker, *cancer, ax=first.ax_, name="again")
    assert second.ax_ is first.ax_
    assert second.figure_ is first.figure_
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_linestyle() != second.line_.get_linestyle()
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    auc = f"(AUC {ranker.score(*cancer):.3f})"
    assert texts == [f"RankBoost {auc}", f"again {auc}"]


def test_top_roc_options_reach_the_line():
    display = TopROCDisplay.from_predictions(*RUDIN, color="red", linewidth=5)
    assert display.line_.get_color() == "red"
    assert display.line_.get_linewidth() == 5
    bare = TopROCDisplay(fpr=display.fpr, tpr=display.tpr).plot()
    assert bare.ax_.get_legend() is None


# RankedListDisplay -------------------------------------------------------------------------


def expected_list(y, score, rng, n_draws=4000):
    """Return precision, recall and label at each place, averaged over random orders of ties."""
    sums = np.zeros((3, len(y)))
    for _ in range(n_draws):
        order = np.lexsort([rng.random(len(y)), -score])
        found = np.cumsum(y[order])
        sums += [found / np.arange(1, len(y) + 1), found / found[-1], y[order]]
    return sums / n_draws


def test_ranked_list_is_the_mean_over_orders_of_ties():
    y, score, *_ = random_rows(1, n=12, n_scores=4)
    display = RankedListDisplay.from_predictions(y, score)
    precision, recall, label = expected_list(y, score, np.random.default_rng(0))
    assert_array_equal(display.k, np.arange(1, 13))
    assert_allclose(display.precision, precision, atol=0.04)
    assert_allclose(display.recall, recall, atol=0.04)
    assert_allclose(display.grade, label, atol=0.04)


def test_ranked_list_without_ties_exactly():
    y, score = RUDIN
    display = RankedListDisplay.from_predictions(y, score)
    assert_allclose(display.precision, [1, 1, 2 / 3, 2 / 4, 3 / 5, 3 / 6, 4 / 7, 4 / 8])
    assert_allclose(display.recall, [0.25, 0.5, 0.5, 0.5, 0.75, 0.75, 1, 1])
    assert_allclose(display.grade, [1, 1, 0, 0, 1, 0, 1, 0])
    assert_array_equal(display.strip_.get_array().ravel(), display.grade)
    assert_array_equal(display.precision_line_.get_ydata(), display.precision)
    assert_array_equal(display.recall_line_.get_ydata(), display.recall)


def test_ranked_list_weights_are_multiplicities():
    y, score, _, weight = random_rows(2, n=15)
    copies = weight.astype(int)
    weighted = RankedListDisplay.from_predictions(y, score, sample_weight=weight)
    repeated = RankedListDisplay.from_predictions(np.repeat(y, copies), np.repeat(score, copies))
    at = np.searchsorted(repeated.k, weighted.k)
    assert_allclose(repeated.k[at], weighted.k)
    assert_allclose(repeated.precision[at], weighted.precision)
    assert_allclose(repeated.recall[at], weighted.recall)


def test_ranked_list_of_queries_is_the_mean_of_their_lists():
    y, score, qid, _ = random_rows(5)
    y[qid == 3] = 0  # a query without a relevant row does not count
    lists = [RankedListDisplay.from_predictions(y[qid == q], score[qid == q]) for q in range(3)]
    display = RankedListDisplay.from_predictions(y, score, qid=qid)
    for k, precision, recall, grade in zip(
        display.k, display.precision, display.recall, display.grade, strict=True
    ):
        at = [min(int(k), len(one.k)) - 1 for one in lists]
        found = [one.precision[j] for one, j in zip(lists, at, strict=True)]
        assert precision == pytest.approx(np.mean(found))
        recalls = [one.recall[j] for one, j in zip(lists, at, strict=True)]
        assert recall == pytest.approx(np.mean(recalls))
        present = [one.grade[int(k) - 1] for one in lists if k <= len(one.k)]
        assert grade == pytest.approx(np.mean(present))


def test_ranked_list_of_queries_of_other_lengths_is_that_of_the_metrics():
    """Precision divided by k after the end of a query, unlike the metric and its scorers."""
    y, score, qid = [1, 0, 0, 1, 1, 0], [5, 3, 4, 2, 1, 2], [0, 0, 0, 0, 1, 1]
    display = RankedListDisplay.from_predictions(y, score, qid=qid)
    for k, precision, recall in zip(display.k, display.precision, display.recall, strict=True):
        assert precision == pytest.approx(precision_at_k(y, score, k=int(k), qid=qid))
        assert recall == pytest.approx(recall_at_k(y, score, k=int(k), qid=qid))


def test_ranked_list_cut_offs_that_differ_by_rounding_are_one():
    weight = np.array([0.1, 0.2, 0.3, 0.3, 0.3])
    display = RankedListDisplay.from_predictions(
        [1, 0, 1, 1, 0], [5, 4, 3, 5, 4], qid=[0, 0, 0, 1, 1], sample_weight=weight
    )
    assert_allclose(display.k, [0.1, 0.3, 0.6])
    assert_allclose(display.grade, [1, 0.5, 0.5])
    assert_allclose(display.precision, [1, (1 / 3 + 1) / 2, (4 / 6 + 1 / 2) / 2])


def test_ranked_list_grades():
    y, score = [0, 3, 1, 2], [0.1, 0.9, 0.5, 0.5]
    display = RankedListDisplay.from_predictions(y, score)
    assert display.levels == (0, 3)
    assert_allclose(display.grade, [3, 1.5, 1.5, 0])
    assert_allclose(display.precision, [1, 1, 1, 0.75])
    stricter = RankedListDisplay.from_predictions(y, score, relevant_above=2)
    assert_allclose(stricter.recall, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="needs a relevant row: no label is above 3"):
        RankedListDisplay.from_predictions(y, score, relevant_above=3)


def test_ranked_list_long_strip_is_averaged_and_max_k_cuts():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 5000)
    display = RankedListDisplay.from_predictions(y, -np.arange(5000.0), max_k=4000)
    drawn = display.strip_.get_array().ravel()
    assert_allclose(drawn, y[: len(drawn) * 5].reshape(-1, 5).mean(axis=1), atol=0.21)
    assert drawn.mean() == pytest.approx(y[:4001].mean(), abs=0.01)
    assert display.ax_.get_xlim() == (0, 4000)
    assert len(display.k) == 5000
    with pytest.raises(ValueError, match="max_k must be above 0"):
        display.plot(max_k=0)


# ShapeFunctionDisplay -------------------------------------------------------------------------


def sum_of_functions(display, rows):
    """Return the sum of all functions of a display, of rows as the ranker takes them."""
    return display.intercept + sum(one(rows[:, one.feature]) for one in display.functions)


def with_missing(X, seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < 0.2, np.nan, X)


@pytest.mark.parametrize(
    "kind",
    [
        RankBoost(n_estimators=60),
        SmoothMarginRanker(n_estimators=20),
        PNormPushRanker(n_estimators=60),
        PNormPushRanker(n_estimators=30, solver="lbfgs", alpha=0.1),
        RankBoost(n_estimators=60, relevance="graded"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_shape_functions_add_up_to_the_score(cancer, kind):
    X, y = with_missing(cancer[0]), cancer[1]
    fitted = kind.fit(X, y)
    display = ShapeFunctionDisplay.from_estimator(fitted, max_features=None)
    rows = with_missing(cancer[0] * np.random.default_rng(1).uniform(0.5, 1.5, X.shape), 2)
    rows[0] = np.nan
    is_graded = fitted.relevance == "graded"
    score = fitted.predict(rows) if is_graded else fitted.decision_function(rows)
    assert_allclose(sum_of_functions(display, rows), score, rtol=0, atol=1e-10)


def test_shape_function_at_its_thresholds_and_in_the_picture(cancer, ranker):
    """h is 1 above a threshold, not at it; the drawn steps are rule sums, rule by rule."""
    display = ShapeFunctionDisplay.from_estimator(ranker, cancer[0], max_features=None)
    rules, alpha = ranker.weak_rankers_, ranker.estimator_weights_
    for number, feature in enumerate(display.features):
        steps = display.steps_[number].get_data()
        assert_allclose(
            steps.edges[[0, -1]], np.array([f(cancer[0][:, feature]) for f in (min, max)])
        )
        for left, right, value in zip(steps.edges, steps.edges[1:], steps.values, strict=False):
            middle = (left + right) / 2
            terms = zip(rules.feature, rules.threshold, alpha, strict=True)
            expected = sum(a * (middle > t) for j, t, a in terms if j == feature)
            assert value == pytest.approx(expected, abs=1e-12)
        at = display.thresholds[number][:1]
        assert display.functions[number](at) == display.values[number][0]


@pytest.mark.slow
def test_shape_functions_by_importance_with_names():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    fitted = RankBoost(n_estimators=30).fit(X, y)
    display = ShapeFunctionDisplay.from_estimator(fitted, X, max_features=4)
    best = np.argsort(-fitted.feature_importances_, kind="stable")[:4]
    assert_array_equal(display.features, best)
    assert display.names == list(X.columns[best])
    assert [panel.get_xlabel() for panel in display.axes_] == display.names
    assert (np.diff(display.importances) <= 0).all()
    chosen = ShapeFunctionDisplay.from_estimator(fitted, features=["mean radius", 7])
    assert sorted(chosen.features) == [0, 7]
    with pytest.raises(ValueError, match=r"not known to the ranker: \['girth', 99\]"):
        ShapeFunctionDisplay.from_estimator(fitted, features=["girth", 99, 1])


def test_shape_function_marks_missing_values(cancer, ranker):
    X = cancer[0].copy()
    X[cancer[1] == 0, 2] = np.nan
    fitted = RankBoost(n_estimators=10).fit(X, cancer[1])
    display = ShapeFunctionDisplay.from_estimator(fitted, X, max_features=None)
    number = list(display.features).index(2)
    (mark,) = display.marks_[number]
    assert (mark.get_ydata(), mark.get_label()) == (display.missing[number], "missing")
    assert display.functions[number](np.array([np.nan])) == display.missing[number]
    complete = ShapeFunctionDisplay.from_estimator(ranker, cancer[0])
    assert complete.marks_ == [[]] * len(complete.features)


def test_shape_function_of_categories_and_special_codes(tmp_path):
    rng = np.random.default_rng(0)
    kind, x = rng.choice(["red", "green", "blue", "$_{$"], 300), rng.normal(size=300)
    y = (x > 0) ^ (kind == "red") ^ (rng.random(300) < 0.2)
    x[rng.random(300) < np.where(y, 0.1, 0.3)] = -99.0
    x[:20] = np.nan
    X = pd.DataFrame({"$_$": pd.Categorical(kind), "x": x})
    fitted = RankBoost(weak_ranker=Stumps(special_values={"x": [-99, -98]}), n_estimators=40).fit(
        X, y
    )
    display = ShapeFunctionDisplay.from_estimator(fitted, X, max_features=None)
    total = sum_of_functions(display, fitted.check_rows(X))
    assert_allclose(total, fitted.decision_function(X), atol=1e-12)
    of_kind, of_x = (display.names.index(name) for name in ("$_$", "x"))
    labels = [label.get_text() for label in display.axes_[of_kind].get_xticklabels()]
    assert sorted(", ".join(labels).split(", ")) == ["$_{$", "blue", "green", "red"]
    assert (np.diff(display.steps_[of_kind].get_data().values) > 0).all()
    assert display.marks_[of_kind] == []
    marks = display.marks_[of_x]
    assert [mark.get_label() for mark in marks] == ["missing", "-99", "-98"]
    assert marks[1].get_ydata() == display.functions[of_x](np.array([-99.0]))
    assert display.ranges[of_x][0] > -10
    assert marks[0].get_ydata() == display.missing[of_x]
    display.figure_.savefig(tmp_path / "shape.png")


def test_shape_function_axes(ranker):
    axes = plt.subplots(2)[1]
    display = ShapeFunctionDisplay.from_estimator(ranker, max_features=2, ax=axes)
    assert display.axes_.tolist() == axes.tolist()
    for other in (plt.subplots(3)[1], axes[0]):
        with pytest.raises(ValueError, match=r"draws 2 panels, each on axes\. Got"):
            display.plot(other)


def test_shape_function_refuses(cancer):
    linear = RankBoost(weak_ranker="feature", n_estimators=3).fit(*cancer)
    for other in (linear, RandomForestClassifier(n_estimators=2).fit(*cancer)):
        with pytest.raises(ValueError, match="needs a boosting ranker fitted with weak_ranker='st"):
            ShapeFunctionDisplay.from_estimator(other)
    with pytest.raises(NotFittedError):
        ShapeFunctionDisplay.from_estimator(RankBoost())
    stumps = RankBoost(n_estimators=3).fit(*cancer)
    with pytest.raises(ValueError, match="X has 2 features, but RankBoost is expecting 6"):
        ShapeFunctionDisplay.from_estimator(stumps, cancer[0][:, :2])
    with pytest.raises(ValueError, match="no feature to draw"):
        ShapeFunctionDisplay.from_estimator(stumps, features=())


@pytest.mark.parametrize("one", [True, np.False_, 1.0, -1, 6, "x6"], ids=repr)
def test_shape_function_takes_names_and_indices_only(ranker, one):
    """Not a mask, whose values would be the columns 0 and 1."""
    message = r"features not known .*: \[.*\]. A feature is a column's name or an int in \[0, 5\]"
    with pytest.raises(ValueError, match=message):
        ShapeFunctionDisplay.from_estimator(ranker, features=[0, one])


def test_shape_function_of_one_name(cancer):
    X = pd.DataFrame(cancer[0], columns=["age", "a", "g", "e", "u", "v"])
    ranker = RankBoost(n_estimators=3).fit(X, cancer[1])
    assert ShapeFunctionDisplay.from_estimator(ranker, features="age").names == ["age"]


@pytest.mark.slow
def test_shape_function_passes_queries_to_steps_that_request_them():
    data = make_queries(random_state=0)
    X, y, qid = data.data, data.target > 0, data.qid
    scaled = QueryMinMaxScaler().fit_transform(X, qid=qid)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(QueryMinMaxScaler(), RankBoost(n_estimators=5))
        folds = QueryKFold(2)
        search = GridSearchCV(make_pipeline(FunctionTransformer(), pipe), {}, cv=folds)
        search.fit(X, y, qid=qid)
        display = ShapeFunctionDisplay.from_estimator(search, X, qid=qid)
        with pytest.raises(ValueError, match="QueryMinMaxScaler was fitted with qid"):
            ShapeFunctionDisplay.from_estimator(search, X)
    ranker = RankBoost(n_estimators=5).fit(scaled, y, qid=qid)
    expected = ShapeFunctionDisplay.from_estimator(ranker, scaled)
    assert_allclose(display.ranges, expected.ranges)
    for one, other in zip(display.functions, expected.functions, strict=True):
        assert_allclose(one.values, other.values)


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, -1, 1.5, True, "2"])
def test_counts_are_checked(number, ranker):
    shapes = ShapeFunctionDisplay.from_estimator(ranker)
    texts, one = ["<= 1", "> 1"], np.ones(2)
    card = ScorecardDisplay(
        names=["x"], labels=[texts], points=[one], counts=[one], event_rates=[one]
    )
    calls = [
        ("n_columns", shapes, shapes.plot),
        ("n_columns", card, card.plot),
        ("max_features", shapes, lambda **of: shapes.from_estimator(ranker, **of)),
    ]
    for name, display, draw in calls:
        before = {**vars(display)}
        match = f"{name!r} parameter of {type(display).__name__} must be .*an int in \\[1, inf"
        with pytest.raises(ValueError, match=match):
            draw(**{name: number})
        assert all(vars(display)[key] is value for key, value in before.items())


# All -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (TopROCDisplay, {"max_fpr": 0}, "max_fpr must be a float"),
        (TopROCDisplay, {"max_fpr": 1.5}, "max_fpr must be a float"),
        (TopROCDisplay, {"xscale": "symlog"}, "xscale must be 'linear' or 'log'"),
        (TopROCDisplay, {"qid": RUDIN[0]}, "a query with rows of both classes"),
    ],
)
def test_options_are_checked(kind, options, message):
    with pytest.raises(ValueError, match=message):
        kind.from_predictions(*RUDIN, **options)


def test_two_classes_are_needed():
    with pytest.raises(ValueError, match=r"TopROCDisplay needs two classes\. The labels have 3"):
        TopROCDisplay.from_predictions([0, 1, 2], [0, 1, 2])
    with pytest.raises(ValueError, match="rows of both classes"):
        TopROCDisplay.from_predictions([1, 1], [0, 1])


LABELS = [list("nynyn"), np.array(list("nynyn"), dtype=object), [False, True, False, True, False]]
LABELS += [np.array(LABELS[0]) == "y", np.array([1, 2, 1, 2, 1], dtype="M8[D]")]


@pytest.mark.slow
@pytest.mark.parametrize("labels", LABELS, ids=["str", "object", "list", "bool", "dates"])
@pytest.mark.parametrize("weight", [None, 1e-150])
@pytest.mark.parametrize("kind", FROM_PREDICTIONS)
def test_classes_of_any_kind(kind, weight, labels):
    """What is drawn is that of the classes 0 and 1."""
    found, expected = (
        kind.from_predictions(y, [0, 1, 2, 3, 4], sample_weight=weight)
        for y in (labels, [0, 1, 0, 1, 0])
    )
    for name, value in vars(expected).items():
        if isinstance(value, np.ndarray) and value.dtype.kind in "fb":
            assert_array_equal(getattr(found, name), value)


@pytest.mark.parametrize("kind", FROM_PREDICTIONS)
@pytest.mark.parametrize("labels", [[1, None, 1], [1.0, np.nan, 1.0], ["a", np.nan, None]])
def test_labels_without_order_or_missing_are_refused(kind, labels):
    with pytest.raises(ValueError, match=r"of one kind|Some are missing|must hold numbers"):
        kind.from_predictions(np.array(labels, dtype=object), [0, 1, 2])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TopROCDisplay, RankedListDisplay])
def test_names_with_dollars_are_drawn_as_they_are(kind, cancer, ranker, tmp_path):
    """Not as mathematics, which can't be drawn here."""
    display = kind.from_estimator(ranker, *cancer, name="in $_$")
    display.figure_.savefig(tmp_path / "named.png")


@pytest.mark.slow
@pytest.mark.parametrize("kind", FROM_PREDICTIONS)
def test_from_estimator_is_from_predictions_of_its_scores(kind, cancer, ranker):
    X, y = cancer
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    graded = RankBoost(n_estimators=5, relevance="graded").fit(X, y)
    named = np.array(["benign", "malignant"])[y]
    by_name = RankBoost(n_estimators=30).fit(X, named)
    cases = [
        (ranker, y, ranker.decision_function(X)),
        (forest, y, forest.predict_proba(X)[:, 1]),
        (graded, y, graded.predict(X)),
        (by_name, named, ranker.decision_function(X)),
    ]
    for estimator, labels, score in cases:
        first = kind.from_estimator(estimator, X, labels)
        second = kind.from_predictions(y, score)
        assert_same_data(first, second)
        plt.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TopROCDisplay, RankedListDisplay])
def test_from_estimator_passes_queries_to_steps_that_request_them(kind):
    data = make_queries(random_state=0)
    X, y, qid = data.data, data.target > 0, data.qid
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(QueryMinMaxScaler(), RankBoost(n_estimators=5)).fit(X, y, qid=qid)
        first = kind.from_estimator(pipe, X, y, qid=qid)
        second = kind.from_predictions(y, pipe.decision_function(X, qid=qid), qid=qid)
    assert_same_data(first, second)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TopROCDisplay, RankedListDisplay])
def test_from_estimator_needs_the_queries_that_the_ranker_was_fitted_with(kind):
    data = make_queries(random_state=0)
    X, y, qid = data.data, data.target > 0, data.qid
    ranker = RankBoost(n_estimators=5).fit(X, y, qid=qid)
    for estimator in (ranker, make_pipeline(FunctionTransformer(), ranker)):
        match = f"fitted with qid and can't be scored without it.*Pass qid to {kind.__name__}"
        with pytest.raises(ValueError, match=match):
            kind.from_estimator(estimator, X, y)
        first = kind.from_estimator(estimator, X, y, qid=qid)
        second = kind.from_predictions(y, ranker.decision_function(X), qid=qid)
        assert_same_data(first, second)


@pytest.mark.parametrize("kind", FROM_PREDICTIONS)
def test_from_estimator_refuses(kind, cancer, ranker):
    X, y = cancer
    with pytest.raises(NotFittedError):
        kind.from_estimator(RankBoost(), X, y)
    with pytest.raises(ValueError, match="labels that RankBoost was not fitted with"):
        kind.from_estimator(ranker, X, y + 1)
    three = RandomForestClassifier(n_estimators=2).fit(X, y + (X[:, 0] > 15))
    with pytest.raises(ValueError, match="fitted with 3 classes"):
        kind.from_estimator(three, X, y)


def data_of(display):
    return {name: value for name, value in vars(display).items() if not name.endswith("_")}


def assert_same_data(first, second):
    for name in {*data_of(second)} - {"name"}:
        assert_array_equal(vars(first)[name], vars(second)[name])


def displays(cancer, ranker):
    return [
        TopROCDisplay.from_estimator(ranker, *cancer),
        RankedListDisplay.from_estimator(ranker, *cancer),
        ShapeFunctionDisplay.from_estimator(ranker, cancer[0], max_features=2),
    ]


def plain(value):
    """Return what NumPy can compare, for lists of dataclasses dicts of their fields."""
    if isinstance(value, list):
        return [plain(one) for one in value]
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    colour = np.where(rng.random(200) < 0.7, np.where(y, "red", "blue"), "green")
    frame = {"colour": colour, "size": rng.normal(size=200) + y, "age": rng.normal(size=200)}
    return pd.DataFrame(frame), y


def pipeline_of(ranker, *, output="default"):
    encoder = OneHotEncoder(sparse_output=False).set_output(transform=output)
    transformer = make_column_transformer(
        (encoder, ["colour"]), remainder=StandardScaler(), verbose_feature_names_out=False
    )
    return make_pipeline(transformer.set_output(transform=output), ranker)


@pytest.mark.slow
@pytest.mark.parametrize("output", ["default", "pandas"])
def test_every_display_takes_a_pipeline(table, output):
    X, y = table
    pipeline = pipeline_of(RankBoost(n_estimators=20), output=output).fit(X, y)
    assert TopROCDisplay.from_estimator(pipeline, X, y).name == "RankBoost"
    assert RankedListDisplay.from_estimator(pipeline, X, y).name == "RankBoost"
    shapes = ShapeFunctionDisplay.from_estimator(pipeline, X)
    assert set(shapes.names) <= {"colour_blue", "colour_green", "colour_red", "size", "age"}
    size = shapes.names.index("size")
    scaled = (X["size"] - X["size"].mean()) / X["size"].std(ddof=0)
    assert_allclose(shapes.ranges[size], [scaled.min(), scaled.max()])
    named = ShapeFunctionDisplay.from_estimator(pipeline, features=["colour_red"])
    assert named.names == ["colour_red"]
    rows = pipeline[:-1].transform(X)
    score = sum_of_functions(shapes, np.asarray(rows, float))
    assert_allclose(score, pipeline.decision_function(X))
    card = Scorecard(PNormPushRanker(n_estimators=5), max_terms=4, cv=2)
    display = ScorecardDisplay.from_estimator(pipeline_of(card, output=output).fit(X, y))
    assert set(display.names) <= {"colour_blue", "colour_green", "colour_red", "size", "age"}


@pytest.mark.slow
def test_names_where_transformers_give_none_and_in_nested_searches(table):
    X, y = table[0][["size", "age"]], table[1]
    nameless = make_pipeline(FunctionTransformer(np.asarray), RankBoost(n_estimators=5)).fit(X, y)
    assert set(ShapeFunctionDisplay.from_estimator(nameless, X).names) <= {"x0", "x1"}
    inner = make_pipeline(StandardScaler(), RankBoost())
    search = GridSearchCV(inner, {"rankboost__n_estimators": [3, 5]}, cv=2)
    outer = make_pipeline(SimpleImputer(), search).fit(X, y)
    assert set(ShapeFunctionDisplay.from_estimator(outer, X).names) <= {"size", "age"}
    with pytest.raises(ValueError, match="Got LogisticRegression"):
        ShapeFunctionDisplay.from_estimator(make_pipeline(LogisticRegression()).fit(X, y))


@pytest.mark.slow
def test_plotting_again_returns_the_display_and_changes_no_data(cancer, ranker):
    for display in displays(cancer, ranker):
        before = copy.deepcopy(data_of(display))
        assert display.plot() is display
        for name, value in data_of(display).items():
            if not callable(value):
                np.testing.assert_equal(plain(value), plain(before[name]))
        display.figure_.canvas.draw()
        assert display.ax_.figure is display.figure_
        assert display.ax_.get_xlabel()
        assert display.ax_.get_ylabel()


@pytest.mark.slow
def test_legends_cover_no_data(cancer, ranker):
    """Legends of curves lie above the axes."""
    for display in displays(cancer, ranker)[:2]:
        display.figure_.canvas.draw()
        legend = display.ax_.get_legend().get_window_extent()
        assert legend.y0 >= display.ax_.get_window_extent().y1 - 1
        assert legend.x1 <= display.figure_.bbox.x1
        assert legend.y1 <= display.figure_.bbox.y1


def test_a_missing_matplotlib_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    text = r'TopROCDisplay requires matplotlib. Install it with: pip install "sklearn-rank\[plot\]"'
    with pytest.raises(ImportError, match=text):
        TopROCDisplay.from_predictions([0, 1], [0, 1])
