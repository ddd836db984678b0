"""scikit-learn's own checks, with no expected failure."""

from itertools import product

import pytest
from libraries import need
from rankers import BOOSTERS, RANKERS
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import check_estimator
from tiers import cover

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    SmoothMarginRanker,
)
from sklearn_rank.ensemble import RankingEnsemble
from sklearn_rank.metrics import ranking_scorer
from sklearn_rank.preprocessing import QueryMinMaxScaler
from sklearn_rank.solvers import Corrective

RELEVANCES = ["binary", "graded"]


class OwnKernel:
    """(1 + a.b)^2 of two rows; the repr of a function would name a test by its address."""

    def __call__(self, a, b):
        return (1.0 + a @ b) ** 2

    def __repr__(self):
        return "OwnKernel()"


# A check fits some ten times: what follows takes few rounds or steps, which change no answer.
FEW = {KernelPairwiseSGDRanker: {"max_iter": 10}}
FEW |= {booster: {"n_estimators": 4} for booster in [*BOOSTERS, BoostedTreesRanker]}
EVERY_RANKER = [
    pytest.param(
        ranker(relevance=relevance, **FEW.get(ranker, {})),
        marks=[] if relevance == ranker().relevance else pytest.mark.slow,
    )
    for ranker, relevance in product(RANKERS, RELEVANCES)
    if ranker is not BoostedTreesRanker  # XGBoost takes ten times as long as most
]
RAW_FEATURES = [
    ranker(relevance=relevance, weak_ranker="feature", n_estimators=4)
    for ranker, relevance in product(BOOSTERS, RELEVANCES)
]
KERNEL_AXES = RELEVANCES, ["rbf", "linear", "precomputed"], ["gd", "lbfgs"]
KERNELS = [
    pytest.param(
        KernelPairwiseSGDRanker(relevance=case[0], kernel=case[1], solver=case[2], max_iter=10),
        marks=[] if case in cover(1, *KERNEL_AXES) else pytest.mark.nightly,
    )
    for case in product(*KERNEL_AXES)
]
# Some checks have so few rows that a smaller part of them would hold no pair.
STOPPED = {"n_iter_no_change": 3, "validation_fraction": 0.5, "n_estimators": 8}
BATCHES = {"batch_size": 20, "random_state": 0, "max_iter": 10}
SPECIAL = [
    PNormPushRanker(solver="lbfgs", alpha=0.1, n_estimators=6),
    PNormPushRanker(solver=Corrective(), n_estimators=4),
    PNormPushRanker(solver="corrective", n_estimators=3, n_bags=3),
    RankBoost(n_bags=3, n_estimators=4),
    RankBoost(n_bags=3, n_estimators=4, relevance="graded"),
    PNormPushRanker(solver="corrective", n_estimators=4, loss="logistic", relevance="graded"),
    PNormPushRanker(solver="lbfgs", alpha=0.1, weak_ranker="feature", relevance="graded"),
    PNormPushRanker(push="both", n_estimators=6),
    RankBoost(selection="optimal", n_estimators=6),
    RankBoost(scoring="ndcg@10", n_estimators=6),
    RankBoost(relevance="graded", scoring=ranking_scorer("push@4"), **STOPPED),
    SmoothMarginRanker(relevance="graded", scoring="auc", **STOPPED),
    RankBoost(weak_ranker=DecisionTreeRegressor(max_depth=2, random_state=0), n_estimators=5),
    KernelPairwiseSGDRanker(**BATCHES),
    KernelPairwiseSGDRanker(**BATCHES, kernel="linear", relevance="graded"),
    KernelPairwiseSGDRanker(**BATCHES, kernel="precomputed", average=True),
    # Near enough to the minimum for a weight of 2 and the row twice to agree.
    # The last width of its rounded kinks limits how exact lbfgs is, the more so the smaller alpha.
    KernelPairwiseSGDRanker(loss="hinge", solver="lbfgs", alpha=1.0, tol=1e-10, max_iter=5000),
    KernelPairwiseSGDRanker(loss="least_squares", kernel=OwnKernel(), max_iter=4),
]
LINEAR = [
    *(ListNetLinear(relevance=relevance, penalty="l1") for relevance in RELEVANCES),
    ListNetLinear(penalty="l1", max_norm=1.0, relevance="binary"),
    ListNetLinear(loss="smoothed_dcg", alpha=0.1),
    *(ListNetLinear(solver="ogd", eta0=0.1, max_iter=10, relevance=r) for r in RELEVANCES),
    ListNetLinear(solver="ogd", max_norm=3.0, max_iter=10),
]
QUICK_TREES = [BoostedTreesRanker(engine=e, n_estimators=3) for e in ("lightgbm", "symmetric")]
TREES = [
    BoostedTreesRanker(engine="symmetric", relevance="graded", **STOPPED),
    BoostedTreesRanker(engine="xgboost", relevance="graded", n_estimators=4),
    BoostedTreesRanker(engine="lightgbm", relevance="graded", **STOPPED),
    BoostedTreesRanker(engine="lightgbm", loss="exponential", p=4.0, push="both", n_estimators=4),
]
ENSEMBLED = {"stumps": RankBoost, "push": PNormPushRanker}
ENSEMBLES = [
    RankingEnsemble(
        [(name, ranker(relevance=r, n_estimators=3)) for name, ranker in ENSEMBLED.items()],
        relevance=r,
        cv=2,
        n_steps=3,
    )
    for r in RELEVANCES
]
ENSEMBLES += [
    pytest.param(RankingEnsemble(relevance=r), marks=pytest.mark.nightly) for r in RELEVANCES
]


pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:RankingEnsemble uses . folds:UserWarning"),
    pytest.mark.filterwarnings("ignore:.* runs all rounds, without early stopping:UserWarning"),
]


def assert_checks_pass(estimator):
    """Run every check, and raise the errors of those that fail, each with the check's name."""
    if isinstance(estimator, BoostedTreesRanker):
        need(estimator.engine)
    errors = []
    for one in check_estimator(estimator, on_skip=None, on_fail=None):
        if one["status"] not in ("passed", "skipped"):
            one["exception"].add_note(f"{one['check_name']} of {estimator}")
            errors.append(one["exception"])
    if errors:
        raise ExceptionGroup(f"{len(errors)} checks of {estimator} failed", errors)


@pytest.mark.parametrize("estimator", [*EVERY_RANKER, *QUICK_TREES, QueryMinMaxScaler()], ids=str)
def test_checks_of_scikit_learn(estimator):
    assert_checks_pass(estimator)


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator", [*RAW_FEATURES, *KERNELS, *SPECIAL, *LINEAR, *TREES, *ENSEMBLES], ids=str
)
def test_checks_of_other_settings(estimator):
    assert_checks_pass(estimator)
