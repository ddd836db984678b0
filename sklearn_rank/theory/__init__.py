"""Constants and bounds from the papers, as functions."""

from sklearn_rank.theory._tewari import (
    covering_number,
    lipschitz_constant,
    ogd_bound,
    ogd_step,
    rademacher_bound,
    smooth_ogd_bound,
    smooth_ogd_step,
    smooth_rademacher_bound,
    smoothness_constant,
)

__all__ = [
    "covering_number",
    "lipschitz_constant",
    "ogd_bound",
    "ogd_step",
    "rademacher_bound",
    "smooth_ogd_bound",
    "smooth_ogd_step",
    "smooth_rademacher_bound",
    "smoothness_constant",
]
