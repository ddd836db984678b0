"""Constants, bounds and step sizes from the theorems of the papers."""

from sklearn_rank.theory._chen import (
    chen_schedule,
    gamma_limit,
    growth_constant,
    growth_exponent,
    norm_bound,
    safe_step,
    slope_lipschitz_constant,
    step_divisor,
)
from sklearn_rank.theory._chen_rates import (
    iterate_error_bound,
    rate_exponent,
    sample_error_bound,
    slope_lipschitz_bound,
)
from sklearn_rank.theory._complexity import (
    covering_number,
    generalization_bound,
    l1_covering_number,
    l1_rademacher_bound,
    rademacher_bound,
    smooth_rademacher_bound,
)
from sklearn_rank.theory._tewari import (
    erm_alpha,
    erm_bound,
    lipschitz_constant,
    ogd_bound,
    ogd_step,
    smooth_ogd_bound,
    smooth_ogd_step,
    smoothness_constant,
)

__all__ = [
    "chen_schedule",
    "covering_number",
    "erm_alpha",
    "erm_bound",
    "gamma_limit",
    "generalization_bound",
    "growth_constant",
    "growth_exponent",
    "iterate_error_bound",
    "l1_covering_number",
    "l1_rademacher_bound",
    "lipschitz_constant",
    "norm_bound",
    "ogd_bound",
    "ogd_step",
    "rademacher_bound",
    "rate_exponent",
    "safe_step",
    "sample_error_bound",
    "slope_lipschitz_bound",
    "slope_lipschitz_constant",
    "smooth_ogd_bound",
    "smooth_ogd_step",
    "smooth_rademacher_bound",
    "smoothness_constant",
    "step_divisor",
]
