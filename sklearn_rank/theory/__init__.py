"""Constants, bounds and step sizes from the theorems of the papers.

Arguments outside the documented ranges raise a ValueError. Bounds and constants are floats, in
units of loss unless the function says otherwise. The guide "Theory in practice" has the
derivations, an assessment of each bound, and the corrections of the papers.
"""

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
from sklearn_rank.theory._rudin import (
    combination_cover,
    ir_push_bounds,
    largest_p,
    max_height_bounds,
    price_bounds,
    push_distance,
    push_tail_bound,
)
from sklearn_rank.theory._rudin_schapire import (
    f_skew,
    f_skew_bound,
    margin_bound,
    rankboost_loss,
    smooth_margin_gain,
    smooth_margin_step,
    tied_limit,
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
    "combination_cover",
    "covering_number",
    "erm_alpha",
    "erm_bound",
    "f_skew",
    "f_skew_bound",
    "gamma_limit",
    "generalization_bound",
    "growth_constant",
    "growth_exponent",
    "ir_push_bounds",
    "iterate_error_bound",
    "l1_covering_number",
    "l1_rademacher_bound",
    "largest_p",
    "lipschitz_constant",
    "margin_bound",
    "max_height_bounds",
    "norm_bound",
    "ogd_bound",
    "ogd_step",
    "price_bounds",
    "push_distance",
    "push_tail_bound",
    "rademacher_bound",
    "rankboost_loss",
    "rate_exponent",
    "safe_step",
    "sample_error_bound",
    "slope_lipschitz_bound",
    "slope_lipschitz_constant",
    "smooth_margin_gain",
    "smooth_margin_step",
    "smooth_ogd_bound",
    "smooth_ogd_step",
    "smooth_rademacher_bound",
    "smoothness_constant",
    "step_divisor",
    "tied_limit",
]
