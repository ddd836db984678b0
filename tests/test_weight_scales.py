"""Very small and very large weights: products of them neither underflow nor overflow."""

import numpy as np
import pytest
from rankers import BOOSTERS, RANKERS, cheap

from sklearn_rank import (
    BoostedTreesRanker,
    KernelPairwiseSGDRanker,
    ListNetLinear,
    PNormPushRanker,
    RankBoost,
    metrics,
)
from sklearn_rank.objectives import MARGIN_LOSSES, pair_loss_and_gradient
from sklearn_rank.solvers import Corrective

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

RNG = np.random.default_rng(0)
N = 60
X = RNG.normal(size=(N, 3))
Y = (X[:, 0] + RNG.normal(size=N) > 0).astype(int)
GRADES, QID, F = RNG.integers(0, 3, N).astype(float), RNG.integers(0, 4, N), RNG.normal(size=N)
WEIGHT = 0.25 + 0.7 * RNG.random(N)
TASKS = {"binary": {"y": Y}, "graded": {"y": GRADES, "qid": QID}}

POWERS = [2.0**-530, 2.0**-1000]
SCALES = [1e-160, 1e-170, 1e-300, 1e150]

OTHER_FORMS = [
    *((ranker, {"weak_ranker": "feature"}) for ranker in BOOSTERS),
    *((PNormPushRanker, {"push": push}) for push in ("bottom", "both", "ir")),
    *((PNormPushRanker, {"loss": "logistic", "p": p}) for p in (1, 4)),
    (PNormPushRanker, {"loss": "hinge"}),
    (PNormPushRanker, {"p": 64}),
    (PNormPushRanker, {"solver": "lbfgs", "alpha": 0.1}),
    (PNormPushRanker, {"solver": Corrective()}),
    (RankBoost, {"n_bags": 3}),
    (PNormPushRanker, {"n_iter_no_change": 2, "validation_fraction": 0.7, "score_p": 4}),
    (RankBoost, {"n_iter_no_change": 2, "validation_fraction": 0.7}),
    (KernelPairwiseSGDRanker, {"solver": "gd", "max_iter": 20}),
    (KernelPairwiseSGDRanker, {"solver": "gd", "max_iter": 20, "batch_size": 20}),
    (KernelPairwiseSGDRanker, {"solver": "lbfgs", "loss": "hinge", "max_iter": 20}),
    (ListNetLinear, {"solver": "ogd", "eta0": 0.1, "max_iter": 3}),
    (BoostedTreesRanker, {"loss": "exponential", "p": 4}),
]
FORMS = [(ranker, {}) for ranker in RANKERS]
FORMS += [pytest.param(*form, marks=pytest.mark.slow) for form in OTHER_FORMS]


def fit(ranker, parameters, task, weight):
    model = ranker(relevance=task, random_state=0, **{**cheap(ranker, 5), **parameters})
    return model.fit(X, sample_weight=weight, **TASKS[task])


def values(model):
    return np.append(model.predict(X), getattr(model, "offset_", 0.0))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(("ranker", "parameters"), FORMS, ids=str)
def test_models_of_any_scale_of_the_weights(ranker, parameters, task):
    expected = values(fit(ranker, parameters, task, WEIGHT))
    for power in POWERS:
        found = values(fit(ranker, parameters, task, WEIGHT * power))
        np.testing.assert_array_equal(found, expected)
    for scale in SCALES:
        model = fit(ranker, parameters, task, WEIGHT * scale)
        assert np.isfinite(values(model)).all()
        assert np.isfinite(getattr(model, "objective_curve_", 0)).all()
        assert 0 <= model.score(X, sample_weight=WEIGHT * scale, **TASKS[task]) <= 1


def test_a_light_row_beside_a_heavy_one_that_is_in_no_pair():
    weight = np.where(QID == 0, 1.0, 1e-170 * WEIGHT)
    y = np.where(QID == 0, 1, Y)  # the heavy query has one class
    for relevance in ("binary", "graded"):
        model = RankBoost(n_estimators=5, relevance=relevance)
        model.fit(X, y, qid=QID, sample_weight=weight)
        assert np.isfinite(values(model)).all()


RATIOS = [
    *(metrics.auc_score, metrics.ranking_margin),
    *(metrics.partial_auc_score, metrics.tpr_at_fpr_score),
]
SUMS = [metrics.heights, metrics.reverse_heights, metrics.max_height_loss]


@pytest.mark.parametrize("task", TASKS)
def test_metrics_of_any_scale_of_the_weights(task):
    labels = {"y_true": TASKS[task]["y"], "qid": TASKS[task].get("qid"), "y_score": F}
    options = [{"p": p, "loss": loss} for p in (1, 4, np.inf) for loss in ("zero_one", "logistic")]
    for scale in SCALES:
        heavy = {"sample_weight": WEIGHT * scale, **labels}
        light = {"sample_weight": WEIGHT, **labels}
        for metric in RATIOS:
            np.testing.assert_allclose(metric(**heavy), metric(**light), rtol=1e-9)
        for metric in SUMS:
            np.testing.assert_allclose(metric(**heavy) / scale, metric(**light), rtol=1e-9)
        for one in options:
            found = metrics.p_norm_push_loss(**heavy, **one)
            np.testing.assert_allclose(found, metrics.p_norm_push_loss(**light, **one), rtol=1e-9)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
@pytest.mark.parametrize("task", TASKS)
def test_pair_losses_of_any_scale_of_the_weights(loss, task):
    labels = TASKS[task]["y"], F
    options = {"loss": loss, "qid": TASKS[task].get("qid")}
    value, gradient = pair_loss_and_gradient(*labels, sample_weight=WEIGHT, **options)
    for scale in (1e-140, 1e-160, 1e-170, 1e-300, 1e150):
        found, slopes = pair_loss_and_gradient(*labels, sample_weight=WEIGHT * scale, **options)
        np.testing.assert_allclose(found, value * scale**2, rtol=1e-9, atol=1e-300)
        np.testing.assert_allclose(slopes, gradient * scale**2, rtol=1e-9, atol=1e-300)
