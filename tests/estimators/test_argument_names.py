"""Errors about an array name the argument that the user passed; a number is a weight."""

import re
from functools import partial

import numpy as np
import pytest
from rankers import RANKERS, cheap
from sklearn.linear_model import LogisticRegression

from sklearn_rank import ListNetLinear, RankBoost, metrics
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.model_selection import QueryKFold, QueryShuffleSplit, check_query_leakage
from sklearn_rank.objectives import pair_loss_and_gradient
from sklearn_rank.plotting import RankedListDisplay, TopROCDisplay
from sklearn_rank.preprocessing import QueryMinMaxScaler

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

N = 8
X = np.arange(2.0 * N).reshape(N, 2) % 5
Y = np.array([0, 1, 1, 0, 1, 0, 0, 1])
F = np.array([0.5, 1.0, 0.2, 0.1, 2.0, 3.0, 0.4, 1.5])
QID = np.repeat([1, 2], N // 2)

SCORES = {
    "table": np.ones((N, 2)),
    "cube": np.ones((N, 1, 1)),
    "number": 3.0,
    "text": list("abcdefgh"),
    "long": np.ones(N + 1),
    "nan": [np.nan] * N,
    "complex": np.ones(N) * 1j,
}
RELEVANCES = SCORES
IDS = {
    "table": np.ones((N, 2)),
    "cube": np.ones((N, 1, 1)),
    "number": 3,
    "text": "query",
    "long": np.ones(N + 1),
    "nan": [np.nan] * N,
    "mixed": ["a", *range(N - 1)],
}
WEIGHTS = {**SCORES, "negative": -np.ones(N), "zero": np.zeros(N), "number": -1.0}
LABELS = {"table": np.ones((N, 2)), "cube": np.ones((N, 1, 1)), "number": 3.0, "long": [0] * 9}
GRADES = {**LABELS, "text": list("abcdefgh"), "nan": [np.nan] * N}

ARRAYS = {"y_true": RELEVANCES, "y_score": SCORES, "qid": IDS, "sample_weight": WEIGHTS}
PAIRS = ["auc_score", "heights", "reverse_heights", "max_height_loss", "ranking_margin"]
CURVES = ["partial_auc_score", "tpr_at_fpr_score"]
PLACES = ["ndcg_score", "average_precision", "reciprocal_rank", "err_score", "r_precision"]
SUMS = ["reciprocal_rank_sum", "reciprocal_log_rank_sum"]


def scored(function, *absent, **options):
    """Return a function of arrays by name, good ones by default, and what may be bad."""
    good = {"y_true": Y, "y_score": F, "qid": QID, "sample_weight": np.ones(N)}
    good = {name: value for name, value in good.items() if name not in absent}
    return partial(function, **good, **options), {name: ARRAYS[name] for name in good}


CALLS = {
    **{name: scored(getattr(metrics, name)) for name in [*PAIRS, *CURVES]},
    **{name: scored(getattr(metrics, name), "sample_weight") for name in [*PLACES, *SUMS]},
    "precision_at_k": scored(metrics.precision_at_k, "sample_weight", k=2),
    "recall_at_k": scored(metrics.recall_at_k, "sample_weight", k=2),
    "p_norm_push_loss": scored(metrics.p_norm_push_loss, p=2.0),
    "pair_loss_and_gradient": scored(pair_loss_and_gradient),
    "auc_interval": (
        partial(metrics.auc_interval, y_true=Y, y_score=F, qid=QID, fold=None),
        {"y_true": RELEVANCES, "y_score": SCORES, "qid": IDS, "fold": IDS},
    ),
    "compare_auc": (
        partial(metrics.compare_auc, y_true=Y, y_score_a=F, y_score_b=F),
        {"y_true": RELEVANCES, "y_score_a": SCORES, "y_score_b": SCORES, "fold": IDS},
    ),
    "tpr_at_fpr_interval": (
        partial(metrics.tpr_at_fpr_interval, y_true=Y, y_score=F, fold=None),
        {"y_true": RELEVANCES, "y_score": SCORES, "fold": IDS},
    ),
    "compare_tpr_at_fpr": (
        partial(metrics.compare_tpr_at_fpr, y_true=Y, y_score_a=F, y_score_b=F),
        {"y_true": RELEVANCES, "y_score_a": SCORES, "y_score_b": SCORES, "fold": IDS},
    ),
    "bootstrap_interval": (
        partial(metrics.bootstrap_interval),
        {"values": {name: SCORES[name] for name in ("table", "cube", "number", "text")}},
    ),
    "compare_rankings": (
        partial(metrics.compare_rankings, values_a=F, values_b=F),
        {"values_a": {"cube": F[:, None, None]}, "values_b": {"text": ["a"] * N}},
    ),
    "QueryKFold": (partial(QueryKFold(2).split, X, Y), {"qid": IDS}),
    "QueryShuffleSplit": (
        partial(QueryShuffleSplit(2, test_size=0.5).split, X, qid=QID),
        {"y": {name: LABELS[name] for name in ("table", "cube", "number", "long")}},
    ),
    "check_query_leakage": (partial(check_query_leakage, 2, X), {"qid": IDS}),
    "QueryMinMaxScaler": (partial(QueryMinMaxScaler().fit, X), {"qid": IDS}),
    "TopROCDisplay": scored(TopROCDisplay.from_predictions),
    "RankedListDisplay": scored(RankedListDisplay.from_predictions, "y_true"),
}
CALLS["RankedListDisplay"][0].keywords["y_true"] = Y
CALLS["TopROCDisplay"][1]["y_true"] = LABELS  # which takes classes of any kind
NAMES = re.compile(
    r"\b(X|y|y_true|y_score|y_score_a|y_score_b|y_prob|qid|group|groups|fold|sample_weight|values_a"
    r"|values_b|reference_weight|current)\b"
)


def refuses(function, name, bad):
    """Assert that a call raises an error that names the argument, and first of all arguments.

    Errors about lengths name what an array is compared with, too.
    """
    with pytest.raises((ValueError, TypeError)) as caught:
        function(**{name: bad})
    message = str(caught.value)
    named = set(NAMES.findall(message))
    assert name in message
    if "inconsistent" not in message:
        assert named <= {name}, message


@pytest.mark.parametrize("who", CALLS)
def test_an_error_names_the_argument(who):
    function, arrays = CALLS[who]
    for name, values in arrays.items():
        for bad in values.values():
            refuses(function, name, bad)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("relevance", ["binary", "graded"])
def test_an_error_of_an_estimator_names_the_argument(ranker, relevance):
    model = ranker(relevance=relevance, **cheap(ranker, 2))
    for name, values in {"qid": IDS, "sample_weight": WEIGHTS}.items():
        for bad in values.values():
            refuses(partial(model.fit, X, Y), name, bad)
    model.fit(X, Y)
    for name, values in {"qid": IDS, "sample_weight": WEIGHTS}.items():
        for bad in values.values():
            refuses(partial(model.score, X, Y), name, bad)
    for bad in (GRADES if relevance == "graded" else LABELS).values():
        refuses(partial(model.score, X), "y", bad)


def test_an_error_of_partial_fit_names_the_argument():
    model = ListNetLinear(solver="ogd", eta0=1.0)
    for name, values in {"qid": IDS, "sample_weight": WEIGHTS, "y": {"text": ["a"] * N}}.items():
        for bad in values.values():
            refuses(partial(model.partial_fit, **{"X": X, "y": Y}), name, bad)


# A number as weight -------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [2.5, 3, np.float64(0.5), np.array(2.0)])
def test_a_number_is_the_weight_of_every_row(weight):
    weights = np.full(N, float(weight))
    for name in [*PAIRS, *CURVES]:
        function = getattr(metrics, name)
        expected = function(Y, F, qid=QID, sample_weight=weights)
        np.testing.assert_array_equal(function(Y, F, qid=QID, sample_weight=weight), expected)
    found = pair_loss_and_gradient(Y, F, sample_weight=weight)
    expected = pair_loss_and_gradient(Y, F, sample_weight=weights)
    assert found[0] == expected[0]
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("ranker", RANKERS)
def test_a_number_is_the_weight_of_every_row_of_a_fit(ranker):
    model = ranker(**cheap(ranker, 2), random_state=0)
    expected = model.fit(X, Y, sample_weight=np.full(N, 2.0)).predict(X)
    np.testing.assert_array_equal(model.fit(X, Y, sample_weight=2.0).predict(X), expected)
    assert model.score(X, Y, sample_weight=2) == model.score(X, Y, sample_weight=[2.0] * N)


# Labels that a model does not know ----------------------------------------------------------


@pytest.mark.parametrize("model", [RankBoost(n_estimators=2), LogisticRegression()])
def test_score_and_scorer_agree_on_unknown_labels_of_weight_zero(model):
    model.fit(X, Y)
    y, weight = np.append(Y, 7), np.append(np.ones(N), 0.0)
    rows = np.concatenate([X, X[:1]])
    scorer = ranking_scorer("auc")
    expected = scorer(model, X, Y)
    assert scorer(model, rows, y, sample_weight=weight) == expected
    if isinstance(model, RankBoost):
        assert model.score(rows, y, sample_weight=weight) == expected
    with pytest.raises(ValueError, match=r"y_true has labels that .* not fitted with: \[7\]"):
        scorer(model, rows, y)
