"""The rankers by kind: what the laws and misuses of one kind are tested on."""

import sklearn_rank
from sklearn_rank.estimators._boosting import BoostingRanker

RANKERS = [getattr(sklearn_rank, name) for name in sklearn_rank.__all__]
BOOSTERS = [ranker for ranker in RANKERS if issubclass(ranker, BoostingRanker)]
