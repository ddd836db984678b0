"""Parameters of boosting rankers of stumps."""

from sklearn_rank.models import Stumps

SHARED = ("max_bins", "monotonic_cst", "categorical_features")


def stumps(**parameters):
    """Return parameters of a booster, those that only `Stumps` has in its `weak_ranker`."""
    own = [name for name in Stumps().get_params() if name in parameters and name not in SHARED]
    given = {name: parameters.pop(name) for name in own}
    return {**parameters, "weak_ranker": Stumps(**given)}
