"""Ranking metrics: functions of labels and scores.

Greater is better unless the name ends in ``loss``. There are two families, each with its own
convention:

- *Pairs* (`auc_score`, `p_norm_push_loss`, `heights`, ...): compare two rows of one query that
  differ in relevance. A weight is a multiplicity. A tied pair counts one half in the AUC and is an
  error in the p-norm push loss and the heights; in the sums of reciprocal ranks, relevant rows come
  last among tied rows.
- *Ranks* (`ndcg_score`, `average_precision`, `precision_at_k`, ...): rows with relevance above 0
  are relevant; the value is the exact mean over all orders of tied rows; queries without a relevant
  row are skipped unless `empty` gives their value; each query counts once or by its `query_weight`.
  A rank is an integer, so rows have no weights. `partial_auc_score` and `tpr_at_fpr_score` average
  in the same way but take row weights, and they join tied rows by a straight line, as the ROC curve
  does.
"""

from sklearn_rank.metrics._choice import RankingChoice, choose_ranking
from sklearn_rank.metrics._confidence import (
    auc_interval,
    bootstrap_interval,
    compare_auc,
    compare_rankings,
    compare_tpr_at_fpr,
    tpr_at_fpr_interval,
)
from sklearn_rank.metrics._ndcg import ndcg_score
from sklearn_rank.metrics._pair_metrics import (
    auc_score,
    heights,
    max_height_loss,
    p_norm_push_loss,
    ranking_margin,
    reciprocal_log_rank_sum,
    reciprocal_rank_sum,
    reverse_heights,
)
from sklearn_rank.metrics._partial_auc import partial_auc_score, tpr_at_fpr_score
from sklearn_rank.metrics._places import (
    average_precision,
    err_score,
    precision_at_k,
    r_precision,
    recall_at_k,
    reciprocal_rank,
)
from sklearn_rank.metrics.intervals import MetricInterval, RankingComparison
from sklearn_rank.metrics.scorers import ranking_scorer

__all__ = [
    "MetricInterval",
    "RankingChoice",
    "RankingComparison",
    "auc_interval",
    "auc_score",
    "average_precision",
    "bootstrap_interval",
    "choose_ranking",
    "compare_auc",
    "compare_rankings",
    "compare_tpr_at_fpr",
    "err_score",
    "heights",
    "max_height_loss",
    "ndcg_score",
    "p_norm_push_loss",
    "partial_auc_score",
    "precision_at_k",
    "r_precision",
    "ranking_margin",
    "ranking_scorer",
    "recall_at_k",
    "reciprocal_log_rank_sum",
    "reciprocal_rank",
    "reciprocal_rank_sum",
    "reverse_heights",
    "tpr_at_fpr_interval",
    "tpr_at_fpr_score",
]
