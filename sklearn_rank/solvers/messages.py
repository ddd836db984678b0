"""Why a solver ended before its tolerance was reached: messages of a `Solution`."""

OUT_OF_ITERATIONS = "max_iter came before tol"
DIVERGED = "the steps diverge"
INDEFINITE = "the kernel is not positive semi-definite"
STOPPED = "an observer ended the fit"
