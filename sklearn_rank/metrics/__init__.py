"""How good is the order? Plain functions of labels and scores."""

from sklearn_rank.metrics._pairwise import auc_score, p_norm_push_loss

__all__ = ["auc_score", "p_norm_push_loss"]
