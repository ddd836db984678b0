"""The parameter `score_p`: a score in which errors at the top cost more."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn_rank._protocols import Floats
from sklearn_rank._validation import Constraint, Number
from sklearn_rank.metrics import auc_score, p_norm_push_loss


class PushScoreMixin:
    """`score` with the parameter `score_p`, before `BaseRanker` among the bases."""

    _score_allowed: ClassVar[dict[str, Constraint]] = {"score_p": Number(1, other=(None,))}

    def score(self, X: Any, y: Any, *, qid: Any = None, sample_weight: Any = None) -> float:
        """Return the AUC or, with `score_p`, one minus the p-norm push loss at that power.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Classes (binary mode) or relevance (graded mode).
        qid : array-like of shape (n_samples,), default=None
            Query of each row; needed when the ranker was fitted with `qid`.
        sample_weight : float or array-like of shape (n_samples,), default=None
            Multiplicities.

        Returns
        -------
        float
            Between 0 and 1, greater is better. With ``score_p=None``: the AUC within
            queries, ties one half. Else ``1 - p_norm_push_loss(..., p=score_p)``, where
            ties are errors; it is no AUC, and falls as `score_p` grows.

        Raises
        ------
        ValueError
            When the ranker was fitted with `qid` and is scored without, or when there
            is no comparable pair.
        """
        found: float = super().score(  # type: ignore[misc]
            X, y, qid=qid, sample_weight=sample_weight
        )
        return found

    def _score_order(self: Any, relevance: Floats, scores: Floats, qid: Any, weight: Any) -> float:
        if self.score_p is None:
            return auc_score(relevance, scores, qid=qid, sample_weight=weight)
        loss = p_norm_push_loss(relevance, scores, p=self.score_p, qid=qid, sample_weight=weight)
        return 1.0 - loss
