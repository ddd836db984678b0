"""Numbers at the edge of floats: a finite result or a sentence, never a warning."""

import inspect
import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rankers import RANKERS, cheap
from tiers import cover

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
    metrics,
)
from sklearn_rank.models import Stumps
from sklearn_rank.objectives import MARGIN_LOSSES, PUSHES
from sklearn_rank.scorecard import Scorecard
from sklearn_rank.solvers import Corrective

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:Loky-backed parallel loops:UserWarning"),
]

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
GRADES, QID = RNG.integers(0, 4, N).astype(float), RNG.integers(0, 3, N)
ROW = np.arange(N)
LARGEST, SMALLEST = np.finfo(float).max, 5e-324
LARGEST_INT = np.iinfo(np.int64).max


def powers(low, high, size):
    return 10.0 ** RNG.uniform(low, high, size)


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def mapped(array):
    """Return a memory-mapped array that can't be written."""
    import tempfile

    with tempfile.NamedTemporaryFile(suffix=".npy") as file:
        np.save(file.name, array)
        return np.load(file.name, mmap_mode="r")


FRAME = pd.DataFrame(X, columns=list("abc"))
WHOLE = (FRAME * 30).round()

FEATURES = {
    **{f"1e{power}": X * 10.0**power for power in (-300, -100, -20, 20, 100, 160, 300)},
    "1e-300 to 1e300": np.sign(X) * powers(-300, 300, X.shape),
    "columns of every size": X * [1e-300, 1.0, 1e300],
    "largest": np.where(X > 0, LARGEST, -LARGEST),
    "one largest": np.where(ROW[:, None] == 3, LARGEST, X),
    "two largest": np.where(ROW[:, None] == 3, LARGEST, np.where(ROW[:, None] == 5, -LARGEST, X)),
    "above floats": np.clip(X, -1, 1).astype(np.longdouble) * np.finfo(np.longdouble).max,
    "smallest": np.where(X > 0, SMALLEST, 0),
    "subnormal": np.round(X * 100) * SMALLEST,
    "constant columns": np.column_stack([X[:, 0], np.ones(N), np.full(N, 1e100)]),
    "all constant": np.ones((N, 3)),
    "zeros": np.zeros((N, 3)),
    "equal columns": np.repeat(X[:, :1], 3, axis=1),
    "far from zero": 1e20 + X * 1e10,
    "float16": X.astype(np.float16),
    "float32": X.astype(np.float32),
    "largest float32": (np.sign(X) * np.finfo(np.float32).max).astype(np.float32),
    "longdouble": X.astype(np.longdouble),
    "big-endian": X.astype(">f8"),
    "int8": np.clip(X * 60, -128, 127).astype(np.int8),
    "int64": np.where(X > 0, LARGEST_INT, -LARGEST_INT),
    "bool": X > 0,
    "Fortran order": np.asfortranarray(X),
    "reversed": X[::-1, ::-1],
    "read-only": read_only(X),
    "memory-mapped": mapped(X),
    "objects": X.astype(object),
    "pandas": FRAME,
    "pandas Float64": FRAME.astype("Float64"),
    "pandas boolean": (FRAME > 0).astype("boolean"),
    "Arrow int64": WHOLE.astype("int64[pyarrow]"),
    "Arrow table": pa.table({name: FRAME[name].to_numpy() for name in FRAME}),
    "polars": pl.DataFrame({name: FRAME[name].to_numpy() for name in FRAME}),
}

WEIGHTS = {
    **{f"1e{power}": powers(power, power + 1, N) for power in (-300, -100, -20, 20, 100, 299)},
    "1e-300 to 1e300": powers(-300, 300, N),
    "zeros": np.where(ROW % 2, 1.0, 0.0),
    "zeros and tiny": np.where(ROW % 2, 1e-300, 0.0),
    "one huge": np.where(ROW == 3, 1e300, 1.0),
    "one tiny": np.where(ROW == 3, 1e-300, 1.0),
    "huge above": np.where(Y == 1, 1e300, 1e-300),
    "huge below": np.where(Y == 1, 1e-300, 1e300),
    "largest": np.full(N, LARGEST),
    "smallest": np.full(N, SMALLEST),
    "a number": 1e300,
    "int8": np.full(N, 100, np.int8),
    "read-only": read_only(np.ones(N)),
    "pandas Float64": pd.Series(np.full(N, 2.0), dtype="Float64"),
    "Arrow double": pd.Series(np.full(N, 2.0), dtype="double[pyarrow]"),
}

LABELS = {
    "one above": (ROW == 7).astype(int),
    "one below": (ROW != 7).astype(int),
    "int8": Y.astype(np.int8),
    "bool": Y.astype(bool),
    "float32": Y.astype(np.float32),
    "large uint64": np.where(Y == 1, np.uint64(2**64 - 1), np.uint64(1)),
    "pandas Int64": pd.Series(Y, dtype="Int64"),
    "Arrow bool": pd.Series(Y.astype(bool), dtype="bool[pyarrow]"),
    "Arrow string": pd.Series(np.where(Y, "yes", "no"), dtype="string[pyarrow]"),
}

RELEVANCES = {
    **{f"1e{power}": GRADES * 10.0**power for power in (-300, -100, 2, 20, 300)},
    "1e-300 to 1e300": powers(-300, 300, N),
    "largest": np.where(GRADES > 1, LARGEST, -LARGEST),
    "subnormal": GRADES * SMALLEST,
    "distinct": X[:, 2],
    "last bits": 1 + GRADES * np.finfo(float).eps,
    "far below zero": -800 * GRADES,
    "int64": np.where(GRADES > 1, LARGEST_INT, -LARGEST_INT),
    "pandas Float64": pd.Series(GRADES, dtype="Float64"),
    "Arrow double": pd.Series(GRADES, dtype="double[pyarrow]"),
}

QUERIES = {
    "of one row": np.where(ROW < 8, 0, ROW),
    "large": QID * 10**18,
    "1e300": QID * 1e300,
    "pandas Int64": pd.Series(QID, dtype="Int64"),
    "Arrow int64": pd.Series(QID, dtype="int64[pyarrow]"),
    "Arrow string": pd.Series(QID).map(str).astype("string[pyarrow]"),
}

CASES = {
    **{f"X: {name}": {"X": value} for name, value in FEATURES.items()},
    **{f"weight: {name}": {"weight": value} for name, value in WEIGHTS.items()},
    **{f"y: {name}": {"y": value, "grades": value} for name, value in LABELS.items()},
    **{f"grades: {name}": {"grades": value} for name, value in RELEVANCES.items()},
    **{f"qid: {name}": {"qid": value} for name, value in QUERIES.items()},
}


def few(ranker, **parameters):
    return ranker, {"n_estimators": 4, **parameters}


def kernel(name, solver, loss="logistic", **parameters):
    parameters |= {"kernel": name, "solver": solver, "loss": loss, "max_iter": 10}
    return KernelPairwiseSGDRanker, parameters


LBFGS = {"solver": "lbfgs", "alpha": 0.1, "weak_ranker": "feature"}
FORMS = {
    **{ranker.__name__: (ranker, cheap(ranker, 4)) for ranker in RANKERS},
    **{
        f"{ranker.__name__} of features": few(ranker, weak_ranker="feature")
        for ranker in (RankBoost, PNormPushRanker, SmoothMarginRanker)
    },
    **{f"push {push}": few(PNormPushRanker, push=push) for push in PUSHES},
    **{
        f"{loss}, p={p}, {weak}": few(PNormPushRanker, loss=loss, p=p, weak_ranker=weak)
        for loss in MARGIN_LOSSES
        for p, weak in ((1, "stump"), (4, "feature"))
    },
    **{
        f"p={p:g}": few(PNormPushRanker, p=p, weak_ranker=weak)
        for p, weak in ((1, "stump"), (1e4, "feature"), (1e6, "stump"))
    },
    **{f"lbfgs, p={p:g}": (PNormPushRanker, {**LBFGS, "p": p}) for p in (1, 1e6, np.inf)},
    "corrective": few(PNormPushRanker, solver=Corrective()),
    "bags": few(RankBoost, n_bags=3),
    "monotonic": few(RankBoost, monotonic_cst=[1, 0, -1]),
    "few thresholds": few(RankBoost, weak_ranker=Stumps(max_thresholds=3)),
    "stops early": few(PNormPushRanker, n_iter_no_change=2, validation_fraction=0.75, score_p=4),
    **{
        f"{name}, {solver}, {loss}": kernel(name, solver, loss)
        for name, solver, loss in (
            *(("linear", "gd", "logistic"), ("linear", "lbfgs", "hinge")),
            *(("poly", "gd", "least_squares"), ("rbf", "lbfgs", "squared_hinge")),
        )
    },
    "batches": kernel("rbf", "gd", batch_size=4, average=True),
    "l1": (ListNetLinear, {"penalty": "l1"}),
    "no penalty": (ListNetLinear, {"penalty": None}),
    "ball": (ListNetLinear, {"max_norm": 1.0}),
    "smoothed DCG": (ListNetLinear, {"loss": "smoothed_dcg"}),
    "online": (ListNetLinear, {"solver": "ogd", "eta0": 0.1, "max_iter": 3}),
    "trees, p=1e6": few(BoostedTreesRanker, loss="exponential", p=1e6),
    "LightGBM": few(BoostedTreesRanker, engine="lightgbm"),
    "trees of lists": few(BoostedTreesRanker, loss="ndcg"),
    "Scorecard": (Scorecard, {"cv": 2, "max_terms": 3}),
}

NUMBERS = (
    *("objective_curve_", "offset_", "estimator_weights_", "feature_importances_", "coef_"),
    *("margin_curve_", "smooth_margin_curve_", "dual_coef_", "staged_offsets_"),
)


def arrays_of(case, task):
    """Return what fit and score take; graded relevance has queries."""
    graded = task == "graded"
    y = case.get("grades", GRADES) if graded else case.get("y", Y)
    options = {"qid": case.get("qid", QID if graded else None), "sample_weight": case.get("weight")}
    return SimpleNamespace(X=case.get("X", X), y=y, options=options)


def assert_finite(values, what):
    assert np.isfinite(np.asarray(values, dtype=float)).all(), what


def failures(check, cases):
    """Return the errors of a check by the names of its cases; none where all pass."""
    found = {}
    for name, case in cases.items():
        try:
            check(case)
        except Exception as error:  # every one: its case is named, and the others run
            found[name] = error
    return found


def is_sentence(error):
    """Whether a message says in words what is wrong; some of scikit-learn's have no full stop."""
    text = str(error).strip()
    return len(text.split()) > 4 and (text.endswith((".", ")")) or "infinity" in text)


TASKS = ("binary", "graded")


@pytest.mark.parametrize(("form", "case"), cover(1, list(FORMS), list(CASES)))
def test_fits_are_finite_or_refused(form, case):
    assert_fits_are_finite_or_refused(FORMS[form], CASES[case])


@pytest.mark.nightly
@pytest.mark.parametrize("form", FORMS)
def test_fits_to_every_case_are_finite_or_refused(form):
    assert failures(partial(assert_fits_are_finite_or_refused, FORMS[form]), CASES) == {}


def assert_fits_are_finite_or_refused(form, case):
    for task in TASKS if form[0] is not Scorecard else TASKS[:1]:
        assert_finite_or_refused(form, case, task)


def assert_finite_or_refused(form, case, task):
    model = make(form, task)
    given = arrays_of(case, task)
    try:
        model.fit(given.X, given.y, **given.options)
        assert 0 <= model.score(given.X, given.y, **given.options) <= 1
    except ValueError as error:
        assert is_sentence(error), error
        return
    scores = model.predict if task == "graded" else model.decision_function
    assert_finite(scores(given.X), "scores")
    for name in NUMBERS:
        assert_finite(getattr(model, name, 0.0), name)


def make(form, task="binary"):
    """Return an unfitted model; a scorecard has no relevance to choose."""
    ranker, parameters = form
    mode = {} if ranker is Scorecard else {"relevance": task}
    return ranker(random_state=0, **mode, **parameters)


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_predictions_far_from_the_training_rows(form):
    model = make(form).fit(X, Y)
    for features in ("1e20", "1e300", "largest", "above floats", "subnormal"):
        try:
            assert_finite(model.decision_function(FEATURES[features]), "scores")
        except ValueError as error:
            assert is_sentence(error), error


def test_scores_that_overflow_are_refused():
    model = ListNetLinear(relevance="binary").fit(X, Y)
    model.coef_ = np.full(3, 2.0)
    with pytest.raises(ValueError, match=r"scores of ListNetLinear overflow.*1e\+308"):
        model.decision_function(np.full((2, 3), 1e308))


# Metrics ------------------------------------------------------------------------------------

F = X[:, 0]
SCORES = {
    **{f"1e{power}": F * 10.0**power for power in (-300, 20, 300)},
    "far apart": np.where(Y == 1, -1e20, 1e20),
    "1e-300 to 1e300": np.sign(F) * powers(-300, 300, N),
    "largest": np.sign(F) * LARGEST,
    "above floats": np.clip(F, -1, 1).astype(np.longdouble) * np.finfo(np.longdouble).max,
    "infinite": np.where(np.abs(F) > 1, np.sign(F) * np.inf, F),
    "all infinite": np.full(N, np.inf),
    "zeros": np.zeros(N),
    "subnormal": np.round(F * 9) * SMALLEST,
    "float32": F.astype(np.float32),
    "int8": np.clip(F * 50, -128, 127).astype(np.int8),
    "int64": np.where(F > 0, LARGEST_INT, -LARGEST_INT),
    "bool": F > 0,
    "read-only": read_only(F),
    "memory-mapped": mapped(F),
    "pandas Float64": pd.Series(F, dtype="Float64"),
    "Arrow double": pd.Series(F, dtype="double[pyarrow]"),
}

METRIC_CASES = {
    **{f"scores: {name}": {"scores": value} for name, value in SCORES.items()},
    **{f"weight: {name}": {"weight": value} for name, value in WEIGHTS.items()},
    **{f"y: {name}": {"y": value} for name, value in LABELS.items() if "string" not in name},
    **{f"grades: {name}": {"grades": value} for name, value in RELEVANCES.items()},
}

FUNCTIONS = vars(metrics)
OF_OTHER_THINGS = ("ranking_scorer", "p_norm_push_loss")
MAY_BE_INFINITE = {
    "p_norm_push_loss": "where the loss overflows",
    "ranking_margin": "where the difference of two scores overflows",
}
OTHER_ARGUMENTS = {
    "precision_at_k": {"k": 5},
    "recall_at_k": {"k": 5},
    "partial_auc_score": {"max_fpr": 0.3},
    "tpr_at_fpr_score": {"max_fpr": 0.3},
    "tpr_at_fpr_interval": {"max_fpr": 0.3},
    "compare_tpr_at_fpr": {"max_fpr": 0.3},
    "choose_ranking": {"n_resamples": 9},
}
PUSH_LOSSES = {
    f"p_norm_push_loss, {loss}, p={p:g}": ("p_norm_push_loss", {"loss": loss, "p": p})
    for loss in ("zero_one", "exponential", "logistic", "hinge")
    for p in (1, 64, 1e6, np.inf)
}
RESAMPLED = ("bootstrap_interval", "compare_rankings")
METRICS = {
    **{
        name: (name, OTHER_ARGUMENTS.get(name, {}))
        for name in metrics.__all__
        if name.islower() and name not in (*OF_OTHER_THINGS, *RESAMPLED)
    },
    **PUSH_LOSSES,
}


def numbers_of(value):
    """Return all numbers of a result, a table or a metric alike."""
    if hasattr(value, "__dataclass_fields__"):
        found = [getattr(value, name) for name in value.__dataclass_fields__]
        return np.concatenate([numbers_of(one) for one in found])
    array = np.asarray(value)
    return array.ravel().astype(float) if array.dtype.kind in "biuf" else np.zeros(0)


def arguments(name, case):
    """Return positional and keyword arguments of a metric; None where the case does not apply."""
    known = inspect.signature(FUNCTIONS[name]).parameters
    labels, scores = case.get("y", case.get("grades", Y)), case.get("scores", F)
    if "weight" in case and "sample_weight" not in known:
        return None
    options = {} if "weight" not in case else {"sample_weight": case["weight"]}
    if name == "choose_ranking":
        return [labels, {"a": scores, "b": F[::-1]}], options
    if name.startswith("compare"):
        return [labels, scores, F[::-1]], options
    if "qid" in known and "y" not in case:
        options["qid"] = QID
    return [labels, scores], options


@pytest.mark.parametrize(("metric", "case"), cover(1, list(METRICS), list(METRIC_CASES)))
def test_metrics_are_finite_or_refuse(metric, case):
    assert_metrics_are_finite_or_refuse(METRICS[metric], METRIC_CASES[case])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:For .* every row is relevant")
@pytest.mark.parametrize("metric", METRICS)
def test_metrics_of_every_case_are_finite_or_refuse(metric):
    check = partial(assert_metrics_are_finite_or_refuse, METRICS[metric])
    assert failures(check, METRIC_CASES) == {}


def assert_metrics_are_finite_or_refuse(metric, case):
    assert_metric_is_finite_or_refuses(*metric, case)
    if "scores" not in case:
        assert_metric_is_finite_or_refuses(*metric, {**case, "scores": SCORES["infinite"]})


def assert_metric_is_finite_or_refuses(name, options, case):
    given = arguments(name, case)
    if given is None:
        return
    try:
        found = numbers_of(FUNCTIONS[name](*given[0], **given[1], **options))
    except ValueError as error:
        assert is_sentence(error), error
        return
    if name not in MAY_BE_INFINITE:
        assert not np.isinf(found).any()


@pytest.mark.parametrize("name", ["auc_score", "p_norm_push_loss"])
@pytest.mark.parametrize("side", ["huge above", "huge below"])
def test_pairs_whose_weights_underflow_are_refused(name, side):
    options = {"p": 4} if name == "p_norm_push_loss" else {}
    with pytest.raises(ValueError, match="within a factor of 1e250"):
        FUNCTIONS[name](Y, F, sample_weight=WEIGHTS[side], **options)


@pytest.mark.parametrize("value", [SMALLEST, 1e301, LARGEST])
def test_weights_beyond_the_limits_are_refused(value):
    weight = np.where(ROW == 3, value, 1.0)
    words = "sample_weight must be 0 or between 2.2e-308 and 1e+300"
    with pytest.raises(ValueError, match=f"{re.escape(words)}.*{re.escape(f'Got {value:g}')}"):
        RankBoost().fit(X, Y, sample_weight=weight)


# Defects that the battery has found, one by one ---------------------------------------------


@pytest.mark.parametrize("ranker", [RankBoost, PNormPushRanker, SmoothMarginRanker])
def test_features_whose_squares_overflow(ranker):
    words = rf"X has values as large as .*{ranker.__name__} with weak_ranker='feature'.*at most"
    with pytest.raises(ValueError, match=words):
        ranker(weak_ranker="feature").fit(X * 1e110, Y)
