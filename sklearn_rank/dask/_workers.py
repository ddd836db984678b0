"""The workers of a cluster, compared with the client before work starts."""

from __future__ import annotations

from typing import Any

_PACKAGES = {
    "numpy": ("numpy",),
    "scipy": ("scipy",),
    "scikit-learn": ("scikit-learn", "sklearn"),
    "sklearn-rank": ("sklearn-rank", "sklearn_rank"),
    "dask": ("dask",),
    "distributed": ("distributed",),
    "xgboost": ("xgboost", "xgboost-cpu"),
}
"""Packages whose versions matter, by the names that they may have."""


def check_workers(client: Any) -> None:
    """Raise RuntimeError where there are no workers, or where they have other versions.

    The scheduler counts as one: the tracker of XGBoost runs beside it.
    """
    names = [name for names in _PACKAGES.values() for name in names]
    found = client.get_versions(packages=names)
    own = _versions(found["client"])
    others = {"the scheduler": found["scheduler"], **found["workers"]}
    if not found["workers"]:
        raise RuntimeError("The cluster of DaskRanker has no workers.")
    for where, report in others.items():
        if not report:
            continue
        theirs = _versions(report)
        different = [
            f"{name} {theirs[name] or 'missing'} (client: {own[name]})"
            for name in own
            if theirs[name] != own[name]
        ]
        if different:
            raise RuntimeError(
                f"DaskRanker needs the same packages on the client, the scheduler and all "
                f"workers. On {where}: {', '.join(different)}. "
                'pip install "sklearn-rank[dask]" installs them.'
            )


def _versions(report: dict[str, Any]) -> dict[str, Any]:
    """Return the versions of Python and of the packages that matter."""
    found = report["packages"]
    versions = {
        package: next((found[name] for name in names if found.get(name)), None)
        for package, names in _PACKAGES.items()
    }
    return {"python": report["host"].get("python"), **versions}
