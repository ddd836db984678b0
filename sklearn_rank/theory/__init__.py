"""Constants, bounds and step sizes from the theorems of the papers."""

from sklearn_rank.theory._chen import (
    chen_schedule,
    gamma_limit,
    growth_exponent,
    norm_bound,
    safe_step,
    slope_lipschitz_constant,
    step_divisor,
)
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
    "chen_schedule",
    "covering_number",
    "gamma_limit",
    "growth_exponent",
    "lipschitz_constant",
    "norm_bound",
    "ogd_bound",
    "ogd_step",
    "rademacher_bound",
    "safe_step",
    "slope_lipschitz_constant",
    "smooth_ogd_bound",
    "smooth_ogd_step",
    "smooth_rademacher_bound",
    "smoothness_constant",
    "step_divisor",
]
