"""Sums of a margin loss over all comparable pairs, none of which is built.

They are what objectives minimise and what metrics report. Users find the public names in
`sklearn_rank.objectives`.
"""

from sklearn_rank._pair_sums._exponential_sums import (
    ExponentialSums,
    SegmentSums,
    log_sum_exp,
    safe_log,
)
from sklearn_rank._pair_sums._pair_loss import PairLoss, Push, pair_loss_and_gradient
from sklearn_rank._pair_sums.listed_pairs import (
    ListedExponential,
    ListedPairLoss,
    mean_loss,
    mean_of_larger,
)
from sklearn_rank._pair_sums.margin_losses import (
    MARGIN_LOSS_CHOICE,
    MARGIN_LOSSES,
    MarginLoss,
    as_margin_loss,
)

__all__ = [
    "MARGIN_LOSSES",
    "MARGIN_LOSS_CHOICE",
    "ExponentialSums",
    "ListedExponential",
    "ListedPairLoss",
    "MarginLoss",
    "PairLoss",
    "Push",
    "SegmentSums",
    "as_margin_loss",
    "log_sum_exp",
    "mean_loss",
    "mean_of_larger",
    "pair_loss_and_gradient",
    "safe_log",
]
