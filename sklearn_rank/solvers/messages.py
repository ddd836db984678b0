"""Why a solver ended before its tolerance was reached: messages of a `Solution`."""

OUT_OF_ITERATIONS = "max_iter came before tol"
DIVERGED = "the steps diverge"
INDEFINITE = "the kernel is not positive semi-definite"
NO_STEP = "no step lowers the objective"
STOPPED = "an observer ended the fit"
