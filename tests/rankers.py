"""Every ranker of the package, those that boost, and parameters under which each is soon done."""

import sklearn_rank
from sklearn_rank import KernelPairwiseSGDRanker
from sklearn_rank.estimators._boosting import BoostingRanker

RANKERS = [getattr(sklearn_rank, name) for name in sklearn_rank.__all__]
BOOSTERS = [ranker for ranker in RANKERS if issubclass(ranker, BoostingRanker)]

CHEAP = {KernelPairwiseSGDRanker: {"solver": "lbfgs"}}


def cheap(ranker, rounds):
    """Return few rounds for a booster, and what is quick for any other ranker."""
    return {"n_estimators": rounds} if ranker in BOOSTERS else CHEAP.get(ranker, {})
