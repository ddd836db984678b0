"""An objective of scores and a model as one function of the coefficients."""

from __future__ import annotations

from sklearn_rank._protocols import Floats, LinearScores, Objective


class CoefficientObjective:
    r"""The objective as a function of the coefficients, with a ridge.

    .. math:: F(w) = L(H w) + \frac\alpha2 \|w\|^2, \qquad
        \nabla F(w) = H^\top \nabla L(H w) + \alpha w

    where L is the objective, of scores, and ``H @ w`` are the scores of the model.

    Parameters
    ----------
    objective : Objective
        L.
    model : LinearScores
        H: `scores` and `pull_back` are its products.
    alpha : float, default=0.0
        Strength of the ridge.
    """

    def __init__(self, objective: Objective, model: LinearScores, alpha: float = 0.0) -> None:
        self.objective = objective
        self.model = model
        self.alpha = alpha

    def __call__(self, coefficients: Floats) -> tuple[float, Floats]:
        """Return value and gradient."""
        value, gradient = self.objective.value_and_gradient(self.model.scores(coefficients))
        slopes = self.alpha * coefficients + self.model.pull_back(gradient)
        return value + self._ridge(coefficients), slopes

    def value(self, coefficients: Floats) -> float:
        """Return the value; the objective need not be smooth."""
        return self.objective.value(self.model.scores(coefficients)) + self._ridge(coefficients)

    def with_objective(self, objective: Objective) -> CoefficientObjective:
        """Return the same function of another objective."""
        return CoefficientObjective(objective, self.model, self.alpha)

    def _ridge(self, coefficients: Floats) -> float:
        return self.alpha / 2 * float(coefficients @ coefficients)
