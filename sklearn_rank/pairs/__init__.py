"""Learning from pairs: duels, preferences and annotations that compare two items."""

from sklearn_rank.pairs._given import PairTable, duel_pairs, merge_votes
from sklearn_rank.pairs.bradley_terry import BradleyTerry
from sklearn_rank.pairs.pair_folds import PairKFold
from sklearn_rank.pairs.pair_ranker import PairRanker

__all__ = ["BradleyTerry", "PairKFold", "PairRanker", "PairTable", "duel_pairs", "merge_votes"]
