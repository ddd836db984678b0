"""Every warning points at the line of the user that led to it."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, InconsistentVersionWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import sklearn_rank
from sklearn_rank import (
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)

X = np.array([[0.0, 3.0], [1.0, 1.0], [2.0, 2.0], [3.0, 0.0], [1.5, 0.5], [2.5, 2.5]])
Y = np.array([0, 0, 1, 1, 1, 0])

SOURCES = {
    "no weak ranker": (RankBoost(), np.ones((6, 2)), ConvergenceWarning),
    "lbfgs": (PNormPushRanker(solver="lbfgs", n_estimators=2), X, ConvergenceWarning),
    "margin": (SmoothMarginRanker(n_estimators=2), X, ConvergenceWarning),
    "kernel": (
        KernelPairwiseSGDRanker(solver="gd", eta0="auto", max_iter=2),
        X,
        ConvergenceWarning,
    ),
    "step": (KernelPairwiseSGDRanker(eta0=1e6, tol=0, max_iter=1), X, UserWarning),
    "listnet": (ListNetLinear(max_iter=1), X, ConvergenceWarning),
    "online": (
        ListNetLinear(solver="ogd", eta0=1.0, max_iter=2, tol=0, relevance="binary"),
        X,
        ConvergenceWarning,
    ),
}


def caught_from(function):
    """Return the file and the line of the first warning of a call, and the category."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function()
    return caught[0].filename, caught[0].lineno, caught[0].category


def line_of(function):
    """Return the line below the `def`."""
    return function.__code__.co_firstlineno + 1


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("around", ["nothing", "pipeline", "search"])
def test_a_warning_points_at_the_call_of_fit(source, around):
    model, X, category = SOURCES[source]
    if around == "pipeline":
        model = make_pipeline(FunctionTransformer(), model)
    if around == "search":
        model = GridSearchCV(model, {"verbose": [0]}, cv=[(np.arange(6), np.arange(6))])

    def call():
        model.fit(X, Y)

    assert caught_from(call) == (__file__, line_of(call), category)


def test_a_warning_about_another_version_points_at_the_call_that_loads(monkeypatch):
    stored = pickle.dumps(RankBoost(n_estimators=1).fit(X, Y))
    monkeypatch.setattr(sklearn_rank._core.callbacks, "__version__", "9.9.9")

    def call():
        pickle.loads(stored)

    filename, line, category = caught_from(call)
    assert (filename, line) == (__file__, line_of(call))
    assert issubclass(category, InconsistentVersionWarning)
