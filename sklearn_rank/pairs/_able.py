"""Which rankers learn from pairs; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn_rank.engines.posed_objective import is_listwise
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost

_RANKERS = (BoostedTreesRanker, KernelPairwiseSGDRanker, PNormPushRanker, RankBoost)

_ALLOWED = {
    "p": (1, "pairs have no list whose top could count more; use p=1"),
    "n_iter_no_change": (None, "no pairs are held out in a fit; search n_estimators"),
    "warm_start": (False, "a fit starts anew"),
    "batch_size": (None, "every step is taken on all pairs"),
    "n_bags": (1, "pairs are not resampled"),
}
"""The one value of some parameters that can be fitted, and why the others can't."""


def check_supported(ranker: Any) -> None:
    """Raise TypeError or ValueError for what can't learn from pairs, by name."""
    if not isinstance(ranker, _RANKERS):
        names = ", ".join(kind.__name__ for kind in _RANKERS)
        raise TypeError(
            f"The 'ranker' parameter of PairRanker must be one of {names}, or None. Got "
            f"{type(ranker).__name__}."
        )
    ranker.check_parameters()
    for setting, reason in _refused(ranker):
        raise ValueError(f"PairRanker can't fit {type(ranker).__name__} with {setting}: {reason}.")


def _refused(ranker: Any) -> Iterator[tuple[str, str]]:
    """Yield settings that are refused, and why."""
    values = ranker.get_params(deep=False)
    for name, (allowed, reason) in _ALLOWED.items():
        if values.get(name, allowed) != allowed:
            yield f"{name}={values[name]!r}", reason
    if values.get("push") == "ir":
        yield "push='ir'", "that push is of lists; use push='top'"
    if getattr(getattr(ranker, "solver_in_use", None), "needs_stumps", False):
        yield f"solver={ranker.solver!r}", "it merges rows of one relevance; use another solver"
    loss = values.get("loss")
    if is_listwise(loss) or loss in ("ndcg",):
        yield f"loss={loss!r}", "that is a loss of lists; use one of pairs, such as 'logistic'"
