"""Allowed values of the arguments of theorems, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, TypeVar, cast

import numpy as np

from sklearn_rank._core.validation import Constraint, Number, check_parameters

Function = TypeVar("Function", bound=Callable[..., Any])

POSITIVE = Number(0, closed="neither")
INSIDE = Number(0, 1, closed="neither")
_NOT_NEGATIVE = Number(0, closed="left")
_SHARE = Number(0, 1)
_COUNT = Number(1, integer=True)

_ALLOWED: dict[str, Constraint] = {
    **dict.fromkeys(("n_above", "n_below", "n_features", "n_weak_rankers"), _COUNT),
    **dict.fromkeys(("n_queries", "n_rows", "max_iter"), _COUNT),
    **dict.fromkeys(("n_neg", "n_pos", "kappa", "alpha", "s", "constant", "theta"), POSITIVE),
    **dict.fromkeys(("epsilon", "radius", "max_norm", "row_norm", "l1_norm", "sigma"), POSITIVE),
    **dict.fromkeys(("lipschitz", "smoothness", "largest_loss", "exponential_loss"), POSITIVE),
    **dict.fromkeys(("best_loss", "push_loss", "ir_push", "max_height", "step"), _NOT_NEGATIVE),
    **dict.fromkeys(("complexity", "log_cover", "near_zero", "slope_at_zero"), _NOT_NEGATIVE),
    **dict.fromkeys(("delta", "smooth_margin"), INSIDE),
    **dict.fromkeys(("edge", "min_risk", "right", "wrong"), _SHARE),
    "beta": Number(0, 1, closed="neither", other=(None,)),
    "exponent": Number(1, closed="left"),
    "f_skew": Number(-np.inf, closed="neither"),
    "max_loss": Number(0, closed="neither", other=(None,)),
    "max_relevance": Number(0, 1022),
    "p": Number(1, closed="left"),
    "pair_share": Number(0, 0.5, closed="right"),
}


def check_limit(owner: str, name: str, value: float, limit: float, text: str) -> None:
    """Check that an argument is at most a limit that depends on others; errors say its `text`."""
    if value > limit:
        raise ValueError(
            f"The {name!r} parameter of {owner} must be at most {text}. Got {value!r} instead."
        )


def checked(**extra: Constraint) -> Callable[[Function], Function]:
    """Check the arguments of a function by name; `extra` are constraints of this function alone."""

    def decorate(function: Function) -> Function:
        call_signature, constraints = signature(function), _ALLOWED | extra
        names = [name for name in call_signature.parameters if name in constraints]
        allowed = {name: constraints[name] for name in names}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            bound = call_signature.bind(*args, **kwargs)
            bound.apply_defaults()
            check_parameters(function.__name__, bound.arguments, allowed)
            for name, value in bound.arguments.items():
                if isinstance(value, np.integer):  # products of narrow integers overflow
                    bound.arguments[name] = int(value)
            return function(*bound.args, **bound.kwargs)

        return cast(Function, call)

    return decorate
