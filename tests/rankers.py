"""Every ranker of the package, those that boost, and settings under which each is soon done."""

import sklearn_rank
from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker
from sklearn_rank.estimators._boosting.boosting_ranker import BoostingRanker

RANKERS = [getattr(sklearn_rank, name) for name in sklearn_rank.__all__]
BOOSTERS = [ranker for ranker in RANKERS if issubclass(ranker, BoostingRanker)]
OTHERS = [ranker for ranker in RANKERS if ranker not in BOOSTERS]
PAIRWISE = [*BOOSTERS, KernelPairwiseSGDRanker, BoostedTreesRanker]
"""Those that see of the relevance only which row belongs above which."""


def cheap(ranker, rounds):
    """Return few rounds for a booster, on all rows; the others are quick as they come."""
    whole = {"subsample": 1.0, "colsample": 1.0} if ranker is BoostedTreesRanker else {}
    return {"n_estimators": rounds, **whole} if "n_estimators" in ranker._get_param_names() else {}


def forms(weak_rankers):
    """Return (ranker, parameters): boosters with each weak ranker, the others as they come."""
    boosted = [(ranker, {"weak_ranker": one}) for ranker in BOOSTERS for one in weak_rankers]
    return [*boosted, *((r, {}) for r in OTHERS), (KernelPairwiseSGDRanker, {"kernel": "linear"})]
