"""Tolerances: the differences that rounding can explain.

Floats have a relative precision of 1.1e-16. The sum of n rows loses about the root of n of it, and
the difference of nearly equal sums loses more. A tolerance is larger than the errors that tests
have shown, and smaller than any difference that matters. All are relative unless said otherwise.
"""

# Searches for weak rankers, and their steps

GAIN_TIE = 1e-10
"""Difference of two gains, relative to the larger, that are tied: rounding must not choose."""

EDGE_ROUNDING = 1e-13
"""Rounding of an edge, relative to the sizes of the gradient and of h."""

SHARE_ROUNDING = 1e-13
"""Rounding of a share of the masses of a gradient, which are at most 1."""

SIZE_ROUNDING = 1e-9
"""Shortfall of the weight of a bin, relative to the smallest that is allowed."""

STEP_ERROR = 1e-12
"""Error of a step of a line search, relative to the longest: a further digit costs a pass."""

SHORTEST_STEP = 1e-12
"""Length, absolute, of the shortest step that is tried to lower an objective."""

CURVATURE_ERROR = 1e-10
"""Error of the curvature of a rounded hinge, as a share of the pairs of a row."""

# Solvers

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

VARIANCE_ROUNDING = 1e-12
"""Rounding of the variance of a feature within queries, relative to its mean square."""

# Scores, offsets and metrics

SCORE_ROUNDING = 1e-12
"""Rounding of scores, and of sums of weights, relative to their size."""

SCORE_PRECISION = 1e-9
"""Differences of scores, relative to their range, that solvers leave between equal rows."""

ZERO_SCORE = 1e-9
"""Size, absolute, of a score (log-odds) that a solver leaves instead of zero."""

METRIC_ROUNDING = 1e-12
"""Rounding of estimates, standard errors and differences of metrics, most of them in [0, 1]."""

MAJORITY_ROUNDING = 1e-12
"""Majority, as a share of the votes, that is the rounding of a tie."""

SAME_CUT = 1e-9
"""Difference of equal cut-offs, relative to the longest list."""
