"""Checks of rankers and workers: what a cluster can't fit is refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sklearn_rank._pair_sums.margin_losses import MARGIN_LOSSES
from sklearn_rank.estimators.boosted_trees import BoostedTreesRanker
from sklearn_rank.estimators.kernel_pairwise import KernelPairwiseSGDRanker
from sklearn_rank.estimators.list_net_linear import ListNetLinear
from sklearn_rank.estimators.p_norm_push import PNormPushRanker
from sklearn_rank.estimators.rank_boost import RankBoost
from sklearn_rank.estimators.smooth_margin import SmoothMarginRanker
from sklearn_rank.models import as_model

_RANKERS = (
    *(BoostedTreesRanker, KernelPairwiseSGDRanker, ListNetLinear),
    *(PNormPushRanker, RankBoost, SmoothMarginRanker),
)

_ALLOWED = {
    "n_iter_no_change": (None, "no rows are held out there"),
    "warm_start": (False, "a fit on a cluster starts from scratch"),
    "batch_size": (None, "each step there uses all rows"),
    "n_bags": (1, "rows are not resampled there"),
    "kernel": ("linear", "its matrix needs all pairs of rows; use 'linear'"),
    "engine": ("xgboost", "only XGBoost trains trees there; use 'xgboost'"),
}
"""Parameters with a single value that a cluster can fit, and why it can't fit others."""


def check_supported(estimator: Any, has_queries: bool) -> None:
    """Raise TypeError or ValueError for settings that cannot be fitted on a cluster.

    Parameters
    ----------
    estimator : estimator
        The ranker.
    has_queries : bool
        Whether qid is passed.
    """
    if type(estimator) not in _RANKERS:
        names = ", ".join(ranker.__name__ for ranker in _RANKERS)
        raise TypeError(
            f"DaskRanker fits one of {names} of sklearn_rank. Got {type(estimator).__name__}."
        )
    estimator.check_parameters()
    for setting, reason in _refusals(estimator, has_queries):
        raise ValueError(
            f"DaskRanker can't fit {type(estimator).__name__} with {setting}: {reason}."
        )


def _refusals(ranker: Any, has_queries: bool) -> Iterator[tuple[str, str]]:
    """Yield refused settings, and the reasons."""
    params = ranker.get_params(deep=False)
    for name, (allowed, reason) in _ALLOWED.items():
        if params.get(name, allowed) != allowed:
            yield f"{name}={params[name]!r}", reason
    if params.get("p") == np.inf:
        yield "p=inf", "it is fitted for a sequence of powers; use a finite p"
    if hasattr(ranker, "solver") and not ranker.solver_in_use.traits.on_cluster:
        yield f"solver={params['solver']!r}", "its steps are not sums over rows"
    if "weak_ranker" in params and as_model(ranker.weak_ranker).name not in ("stump", "feature"):
        yield f"weak_ranker={ranker.weak_ranker!r}", "weak rankers there are 'stump' or 'feature'"
    if params.get("loss") == "ndcg":
        yield "loss='ndcg'", "it is XGBoost's own objective, of the rows of one worker"
    if has_queries:
        return
    if isinstance(ranker, ListNetLinear):
        yield "qid=None", "its loss is a sum over queries, each of which one worker holds"
    elif "loss" in params and not _is_additive(ranker.loss):
        names = ", ".join(repr(name) for name, loss in MARGIN_LOSSES.items() if _is_additive(loss))
        yield (
            f"loss={ranker.loss!r} in one list",
            "its sum over pairs sorts all rows. Pass qid, which keeps each query on one worker, or "
            f"use one of {names} or an object with the method `in_processes`",
        )


def _is_additive(loss: Any) -> bool:
    """Whether the sum over the pairs of one list can be computed from sums over rows."""
    loss = MARGIN_LOSSES.get(loss, loss) if isinstance(loss, str) else loss
    # "auto" is the logistic or the exponential loss, and both are.
    return loss == "auto" or getattr(loss, "factorises", False) or hasattr(loss, "in_processes")


# Workers -------------------------------------------------------------------------------------

_PACKAGES = (
    *("python", "numpy", "scipy", "scikit-learn"),
    *("sklearn-rank", "dask", "distributed", "xgboost"),
)
"""Packages whose versions must agree: they compute the sums, or send them."""


def check_workers(client: Any) -> None:
    """Raise RuntimeError if there are no workers or their package versions differ."""
    reports = client.get_versions(packages=[*_PACKAGES, "xgboost-cpu"])
    if not reports["workers"]:
        raise RuntimeError("The cluster of DaskRanker has no workers.")
    client_versions = _versions(reports["client"])
    # The scheduler too: XGBoost's tracker runs beside it.
    for machine, report in {"the scheduler": reports["scheduler"], **reports["workers"]}.items():
        versions = _versions(report) if report else client_versions
        different = [
            f"{name} {versions[name] or 'missing'} (client: {client_versions[name]})"
            for name in _PACKAGES
            if versions[name] != client_versions[name]
        ]
        if different:
            raise RuntimeError(
                f"DaskRanker needs the same packages on the client, the scheduler and all "
                f"workers. On {machine}: {', '.join(different)}. "
                'pip install "sklearn-rank[dask]" installs them.'
            )


def _versions(report: dict[str, Any]) -> dict[str, Any]:
    """Return the versions of the packages that matter."""
    versions = report["packages"]
    return {name: versions.get(name) or versions.get(f"{name}-cpu") for name in _PACKAGES}
