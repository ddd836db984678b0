"""Tolerances: which differences rounding can explain, and which it can't.

Floats have a relative precision of 1.1e-16. Sums over n rows lose about the root of n of it, and
differences of nearly equal sums more. A tolerance lies between the error that was seen in the
largest tests and the smallest quantity that matters. All are relative unless said otherwise.
"""

SHARE_ROUNDING = 1e-13
"""Rounding of a share of the masses of a gradient, which are at most 1."""

STEP_ERROR = 1e-12
"""Error of a step of a line search; each further digit costs a pass over the rows."""

FLAT_SLOPE = 1e-6
"""Largest slope, relative to that at the start, at a point where a line search meets rounding."""

RUNAWAY = -1e8
"""Value, absolute, of an objective without a minimum; below it scores would overflow."""

INDEFINITE_NORM = 1e-10
"""Negative squared norm in a function space, relative to that at zero, that is rounding."""

STALLED_NORM = 1e-6
"""Squared norm, relative to that at zero, above which a line search should find a step."""

NORM_ROUNDING = 1e-13
"""Rounding of a squared norm, relative to the absolute values of its terms."""

FLAT_CURVATURE = 1e-10
"""Curvature, relative to the largest, of directions in which Newton's method does not move."""

ACTIVE_BALL = 1e-9
"""Distance from the boundary of a ball, relative to its radius, of an active constraint."""

LASSO_ROUNDING = 1e-14
"""Size of a coefficient that has left a lasso path, relative to its largest on the path."""

GAP_ROUNDING = 1e-15
"""Rounding of a duality gap, relative to the sizes of its terms."""

VALUE_ROUNDING = 1e-14
"""Rounding of an objective, and of its slope relative to the root of the curvature."""
