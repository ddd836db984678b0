"""The objective of a loss, a power and a push."""

from __future__ import annotations

from sklearn_rank.objectives._exponential_pushes import PUSHES
from sklearn_rank.objectives._margin_push import MarginPush
from sklearn_rank.objectives._push import Push
from sklearn_rank.pair_sums import MarginLoss, as_margin_loss
from sklearn_rank.rows import Preferences


def make_push(
    preferences: Preferences,
    loss: str | MarginLoss,
    p: float,
    push: str,
    bottom_weight: float = 1.0,
) -> Push:
    """Return the push with a margin loss: of ``PUSHES`` for the exponential one.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_rank.objectives import make_push
    >>> from sklearn_rank.rows import Preferences
    >>> preferences = Preferences.from_labels(np.array([1, 1, 0, 0]), None, np.ones(4))
    >>> for loss in ("exponential", "logistic"):
    ...     push = make_push(preferences, loss, 1.0, "top")
    ...     print(type(push).__name__, round(push.value(np.zeros(4)), 2))
    SidePush 1.39
    MarginPush 0.69
    """
    loss = as_margin_loss(loss, "make_push")
    if loss.factorises:
        return PUSHES[push](preferences, float(p), bottom_weight)
    return MarginPush(preferences, loss, float(p), push, bottom_weight)
