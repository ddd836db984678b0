"""What the papers prove, as numbers: constants and schedules that come with a guarantee."""

from sklearn_rank.theory._chen import (
    chen_schedule,
    gamma_limit,
    growth_exponent,
    lipschitz_constant,
    norm_bound,
    safe_step,
    step_divisor,
)

__all__ = [
    "chen_schedule",
    "gamma_limit",
    "growth_exponent",
    "lipschitz_constant",
    "norm_bound",
    "safe_step",
    "step_divisor",
]
