"""Ranking for scikit-learn: exact losses over all pairs, in time linear in the number of rows.

Docstrings cite papers by key, as in "Rudin2009, sec. 2"; `docs/references.bib` spells them out.
"""

from __future__ import annotations

import importlib
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from sklearn_rank._core.release import __version__ as __version__

if TYPE_CHECKING:
    from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
    from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
    from sklearn_rank.estimators.list_net_linear import ListNetLinear
    from sklearn_rank.estimators.p_norm_push import PNormPushRanker
    from sklearn_rank.estimators.rank_boost import RankBoost
    from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker

__all__ = [
    "BoostedTreesRanker",
    "KernelPairwiseSGDRanker",
    "ListNetLinear",
    "PNormPushRanker",
    "RankBoost",
    "SmoothMarginRanker",
]

# Imported when first asked for (PEP 562): scikit-learn takes a second, which `sklearn-rank --help`
# and a mistyped option should not wait for.
_HOMES = {
    "BoostedTreesRanker": "sklearn_rank.estimators.boosted_trees",
    "KernelPairwiseSGDRanker": "sklearn_rank.estimators.kernel_pairwise",
    "ListNetLinear": "sklearn_rank.estimators.list_net_linear",
    "PNormPushRanker": "sklearn_rank.estimators.p_norm_push",
    "RankBoost": "sklearn_rank.estimators.rank_boost",
    "SmoothMarginRanker": "sklearn_rank.estimators.smooth_margin",
}


def __getattr__(name: str) -> Any:
    """Import a ranker, or a module such as `sklearn_rank.metrics`."""
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    if not name.startswith("_"):
        with suppress(ModuleNotFoundError):
            return importlib.import_module(f"sklearn_rank.{name}")
    raise AttributeError(f"module 'sklearn_rank' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
