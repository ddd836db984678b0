"""scikit-learn's callbacks and `verbose`: what is told of a fit, and what can end it."""

import pickle
import re

import numpy as np
import pytest
import sklearn
from rankers import RANKERS, cheap
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from sklearn_rank import RankBoost
from sklearn_rank._core.callbacks import make_printer
from sklearn_rank.datasets import make_queries
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.model_selection import QueryKFold
from sklearn_rank.preprocessing import QueryMinMaxScaler

try:
    from sklearn import callback
except ImportError:  # scikit-learn 1.8
    callback = None

needs_callbacks = pytest.mark.skipif(callback is None, reason="scikit-learn 1.8 has none")
# The fits here are far from converged.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 4))
Y = np.where(X[:, 0] + RANDOM.normal(size=60) > 0, "yes", "no")


class Log:
    """A callback that notes every call, and ends the fit after some iterations."""

    def __init__(self, end_after=None, task="round"):
        self.calls, self.fitted, self.end_after, self.task = [], [], end_after, task

    def setup(self, estimator, context):
        self.calls.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", context.task_name, context.max_subtasks))

    def on_fit_task_end(
        self, estimator, context, *, X=None, y=None, metadata=None, fitted_estimator=None
    ):
        self.calls.append(("end", context.task_name, context.task_id))
        if context.task_name == self.task and fitted_estimator is not None:
            self.fitted.append((fitted_estimator, X, y, metadata))
            return len(self.fitted) == self.end_after
        return False

    def names(self, kind):
        return [call[1] for call in self.calls if call[0] == kind]


# verbose -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verbose", [0, 1, 2, True])
def test_printed_lines(verbose, capsys):
    printer = make_printer("RankBoost", "round", 25, verbose)
    assert not any(printer(number, 1 / number) for number in range(1, 26))
    shown = {0: [], 2: range(1, 26)}.get(int(verbose) if verbose is not True else 1)
    shown = [1, *range(2, 26, 2)] if shown is None else shown
    expected = [f"[RankBoost] round {n}/25: objective {1 / n:.6g}" for n in shown]
    assert capsys.readouterr().out.splitlines() == expected


def test_the_score_of_validation_rows_is_printed_every_tenth_round(capsys):
    X, y = np.random.default_rng(0).normal(size=(300, 3)), np.arange(300) % 3 == 0
    X[y, 0] += 1
    ranker = RankBoost(n_estimators=30, verbose=1)
    ranker.fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    scores = re.findall(r"round (\d+)/30: .*, validation score (.*)", capsys.readouterr().out)
    assert [int(number) for number, _ in scores] == [1, 10, 20, 30]
    for number, score in scores:
        assert float(score) == pytest.approx(ranker.validation_scores_[int(number) - 1], rel=1e-5)


# Callbacks ---------------------------------------------------------------------------------


@needs_callbacks
def test_every_round_is_a_task():
    log = Log()
    ranker = RankBoost(n_estimators=3).set_callbacks(log).fit(X, Y)
    around = [("setup", "fit"), ("begin", "fit", 3)], [("end", "fit", 0), ("teardown", "fit")]
    rounds = [(("begin", "round", 0), ("end", "round", number)) for number in range(3)]
    assert log.calls == [*around[0], *sum(rounds, ()), *around[1]]
    assert ranker.n_iter_ == 3


@needs_callbacks
def test_a_callback_gets_the_ranker_as_it_is_after_the_round():
    log = Log()
    ranker = RankBoost(n_estimators=4).set_callbacks(log).fit(X, Y)
    for (so_far, rows, y, metadata), scores in zip(
        log.fitted, ranker.staged_decision_function(X), strict=True
    ):
        np.testing.assert_allclose(so_far.decision_function(X), scores, rtol=1e-12)
        np.testing.assert_array_equal(rows, X)
        np.testing.assert_array_equal(y, Y)
        assert metadata == {}
        again = pickle.loads(pickle.dumps(so_far))
        np.testing.assert_array_equal(again.predict(X), so_far.predict(X))


@needs_callbacks
@pytest.mark.parametrize("options", [{}, {"n_iter_no_change": 4, "validation_fraction": 0.5}])
def test_true_ends_the_fit(options):
    log = Log(end_after=3)
    ranker = RankBoost(n_estimators=9, random_state=0, **options).set_callbacks(log).fit(X, Y)
    assert len(log.fitted) == 3
    assert 1 <= ranker.n_iter_ <= 3
    assert len(ranker.objective_curve_) == len(ranker.estimator_weights_) == ranker.n_iter_
    if not options:
        assert ranker.n_iter_ == 3
        short = RankBoost(n_estimators=3, random_state=0).fit(X, Y)
        np.testing.assert_array_equal(ranker.decision_function(X), short.decision_function(X))


@needs_callbacks
def test_the_rounds_of_a_refit_have_a_name_of_their_own():
    options = {"n_iter_no_change": 2, "validation_fraction": 0.5, "random_state": 0}
    log = Log()
    ranker = RankBoost(n_estimators=9, **options).set_callbacks(log).fit(X, Y)
    told, n_search = log.names("end"), len(ranker.validation_scores_)
    assert told.count("round") in (n_search, n_search + 1)  # the last may begin in vain
    assert told[-1 - ranker.n_iter_ :] == ["refit round"] * ranker.n_iter_ + ["fit"]
    assert log.calls[1] == ("begin", "fit", None)
    assert log.names("begin").count("fit") == 1
    ended = RankBoost(n_estimators=9, **options).set_callbacks(Log(end_after=3)).fit(X, Y)
    search = RankBoost(n_estimators=3, refit_stopped=False, **options).fit(X, Y)
    np.testing.assert_array_equal(ended.decision_function(X), search.decision_function(X))


@needs_callbacks
def test_callbacks_are_torn_down_when_a_fit_fails():
    log = Log()

    def fail(*_, **__):
        raise RuntimeError("on purpose")

    log.on_fit_task_end = fail
    ranker = RankBoost(n_estimators=3).set_callbacks(log)
    with pytest.raises(RuntimeError, match="on purpose"):
        ranker.fit(X, Y)
    assert log.calls[-1] == ("teardown", "fit")
    assert vars(ranker).keys() == {*ranker.get_params(), "_skl_callbacks"}


@needs_callbacks
@pytest.mark.parametrize("failing", range(1, 4))
def test_a_callback_that_fails_keeps_the_model_of_the_earlier_rounds(failing):
    """At the end of the first and the second round, and at the end of the fit."""
    log, calls = Log(), []

    def fail(*_, **__):
        calls.append(failing)
        if len(calls) == failing:
            raise RuntimeError("on purpose")

    ranker = RankBoost(n_estimators=3, warm_start=True, tol=0).fit(X, Y)
    ranker.set_callbacks(log).set_params(n_estimators=5)
    before = dict(vars(ranker))
    log.on_fit_task_end = fail
    with pytest.raises(RuntimeError, match="on purpose"):
        ranker.fit(X, Y)
    assert vars(ranker) == before
    assert ranker.n_iter_ == 3


@needs_callbacks
@pytest.mark.parametrize("relevance", ["binary", "graded"])
@pytest.mark.parametrize("ranker", RANKERS)
def test_every_ranker_begins_and_ends_its_tasks(ranker, relevance):
    log = Log()
    y = Y if relevance == "binary" else (Y == "yes") * 1.0
    parameters = {**cheap(ranker, 3), "relevance": relevance}
    fitted = ranker(**parameters).set_callbacks(log).fit(X, y)
    assert log.calls[0] == ("setup", "fit")
    assert log.calls[-1] == ("teardown", "fit")
    assert sorted(log.names("begin")) == sorted(log.names("end"))
    assert log.names("end")[-1] == "fit"
    plain = ranker(**parameters).fit(X, y)
    np.testing.assert_array_equal(fitted.predict(X), plain.predict(X))
    assert vars(fitted).keys() - vars(plain).keys() == {"_skl_callbacks"}


@needs_callbacks
def test_scoring_monitor_sees_the_training_score_of_every_round():
    monitor = callback.ScoringMonitor(scoring={"auc": "roc_auc", "accuracy": "accuracy"})
    ranker = RankBoost(n_estimators=5).set_callbacks(monitor).fit(X, Y)
    rounds = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    expected = [np.mean(labels == Y) for labels in ranker.staged_predict(X)]
    assert [row["accuracy"] for row in rounds] == expected
    assert rounds[-1]["auc"] == pytest.approx(ranker.score(X, Y), rel=1e-12)


@needs_callbacks
def test_callbacks_reach_a_ranker_in_a_search_over_pipelines(capsys):
    """No estimator of the package makes scikit-learn warn that it has no callbacks."""
    pytest.importorskip("rich")
    data = make_queries(n_queries=6, random_state=0)
    monitor = callback.ScoringMonitor(scoring={"ndcg": ranking_scorer("ndcg@5")})
    pipeline = make_pipeline(QueryMinMaxScaler(), RankBoost(relevance="graded"))
    pipeline[-1].set_callbacks(monitor)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline[0].set_fit_request(qid=True).set_transform_request(qid=True)
        search = GridSearchCV(
            pipeline,
            {"rankboost__n_estimators": [2, 3]},
            cv=QueryKFold(2),
            scoring=ranking_scorer("ndcg@5"),
            error_score="raise",
        ).set_callbacks(callback.ProgressBar(max_propagation_depth=2))
        search.fit(data.data, data.target, qid=data.qid)
    shown = capsys.readouterr().out
    assert "RankBoost - fit" in shown
    assert "QueryMinMaxScaler - fit" in shown
    rounds = [row for row in monitor.get_logs().data if row["task_name"] == "round"]
    refitted = search.best_params_["rankboost__n_estimators"]
    assert len(rounds) == 2 * (2 + 3) + refitted
