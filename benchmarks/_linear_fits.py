"""Linear fits of the same problem by this package, scikit-survival and scikit-learn.

Each minimises a mean loss + ALPHA / 2 * ||w||^2 and returns seconds, iterations and how near the
optimum it ended.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from _harness import Record, timed

ALPHA = 1e-3
TOL = 1e-6
"""The fits stop when the gradient is this share of that at zero."""


@dataclass(frozen=True)
class LinearFit:
    """A fit, the package it needs, and whether it is too slow to be repeated."""

    fit: Callable[[Any, Any], Record]
    module: str = "sklearn_rank"
    slow: bool = False


def pair_objective(loss: str, X: Any, y: Any, coef: Any) -> tuple[float, float]:
    """Return mean pair loss + ALPHA / 2 * ||coef||^2, and the norm of its gradient."""
    import numpy as np

    from sklearn_rank.objectives import pair_loss_and_gradient

    n_pairs = float(y.sum()) * float((y == 0).sum())
    value, gradient = pair_loss_and_gradient(y, X @ coef, loss=loss)
    gradient = X.T @ gradient / n_pairs + ALPHA * coef
    return value / n_pairs + ALPHA / 2 * float(coef @ coef), float(np.linalg.norm(gradient))


def describe_solution(loss: str, X: Any, y: Any, coef: Any) -> Record:
    """Return the objective, and the gradient as a share of that at zero."""
    value, gradient = pair_objective(loss, X, y, coef)
    return {"objective": value, "gradient": gradient / pair_objective(loss, X, y, 0 * coef)[1]}


def ranker(loss: str) -> Callable[[Any, Any], Record]:
    """Return the fit of a linear ranker to the optimum of one loss."""

    def fit(X: Any, y: Any) -> Record:
        from sklearn_rank import KernelPairwiseSGDRanker

        model = KernelPairwiseSGDRanker(
            kernel="linear", solver="lbfgs", loss=loss, alpha=ALPHA, tol=TOL
        )
        seconds = timed(lambda: model.fit(X, y))
        solution = describe_solution(loss, X, y, model.coef_)
        return {"s": seconds, "iterations": model.n_iter_, **solution}

    return fit


def fast_survival_svm(X: Any, y: Any) -> Record:
    """Fit scikit-survival's linear ranking SVM, with its own tolerance, to the same pairs.

    It minimises 0.5 ||w||^2 + a / 2 * (sum over pairs of (1 - m)_+^2). Divided by a P / 2, P the
    number of pairs, that is the mean over pairs + 1 / (a P) * ||w||^2: the objective here when
    a = 2 / (ALPHA P). The two then differ by the factor ALPHA, and "off" is by how much its own
    minimum, times ALPHA, differs from the objective evaluated here at its solution.

    Its coefficients, unlike its `predict`, grow with time: positives get the longer one, and
    each row has its event. It breaks ties of time at random, and so would compare rows of one
    class; its trees can count ties, so it is given them.
    """
    import numpy as np
    from sksurv.svm import FastSurvivalSVM
    from sksurv.util import Surv

    class WithTies(FastSurvivalSVM):
        def _fit(self, X, time, event, samples_order):
            time = time[samples_order]
            ranks = np.unique(time, return_inverse=True)[1]
            optimizer = self._create_optimizer(X[samples_order], (time, ranks), event)
            return optimizer.run(tol=self.tol, options={"maxiter": self.max_iter, "disp": False})

    n_pairs = float(y.sum()) * float((y == 0).sum())
    survival = Surv.from_arrays(np.ones(len(y), dtype=bool), 1.0 + y)
    model = WithTies(alpha=2 / (ALPHA * n_pairs), rank_ratio=1.0, random_state=0)
    seconds = timed(lambda: model.fit(X, survival))
    solution = describe_solution("squared_hinge", X, y, model.coef_)
    off = abs(ALPHA * model.optimizer_result_.fun / solution["objective"] - 1)
    return {"s": seconds, "iterations": model.n_iter_, **solution, "off": off}


def logistic_regression(X: Any, y: Any) -> Record:
    """Fit scikit-learn's logistic regression, default solver.

    It minimises the mean loss of rows + ||w||^2 / (2 C n): the ridge here when C = 1 / (ALPHA n).
    It stops when no entry of the gradient is above `tol`: the share TOL of the largest at zero.
    """
    import numpy as np
    from scipy.special import expit
    from sklearn.linear_model import LogisticRegression

    def gradient(coef, intercept):
        wrong = expit(X @ coef + intercept) - y
        return np.append(X.T @ wrong / len(y) + ALPHA * coef, wrong.mean())

    at_zero = gradient(np.zeros(X.shape[1]), 0.0)
    tol = TOL * float(np.abs(at_zero).max())
    model = LogisticRegression(C=1 / (ALPHA * len(y)), tol=tol, max_iter=1000)
    seconds = timed(lambda: model.fit(X, y))
    left = gradient(model.coef_[0], model.intercept_[0])
    share = float(np.linalg.norm(left) / np.linalg.norm(at_zero))
    return {"s": seconds, "iterations": int(model.n_iter_[0]), "gradient": share}


LINEAR_FITS = {
    "logistic": LinearFit(ranker("logistic")),
    "squared_hinge": LinearFit(ranker("squared_hinge")),
    "LogisticRegression": LinearFit(logistic_regression, "sklearn"),
    "FastSurvivalSVM": LinearFit(fast_survival_svm, "sksurv", slow=True),
}
