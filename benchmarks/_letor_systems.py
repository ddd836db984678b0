"""The rankers that `_peers_letor.py` compares on query data, and what is searched for each.

Every system has twelve configurations. One that goes round by round is fitted in four settings and
judged after three numbers of rounds, which is what twelve fits would give. The values are the usual
ones of each library, from few and shallow trees to its defaults, and strengths of a ridge over
five and a half powers of ten; they were written down before any test query was scored with them.
Two things were known: test figures of other settings on MQ2008's first fold, where shallow trees
did well, which is why all have them; and that weights which make queries count alike help linear
models on the validation queries of that fold.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from _systems import (
    System,
    by_group_id,
    by_group_sizes,
    by_qid,
    decision,
    lightgbm_raw,
    prediction,
    xgboost_margin,
)

ROUNDS = (30, 100, 300)
BUDGET = 12


@dataclass(frozen=True)
class LetorSystem(System):
    """A system that may have rounds.

    Attributes
    ----------
    rounds : sequence of int
        Numbers of rounds to choose from.
    rounds_name : str
        The parameter that holds their number.
    scores_after : callable or None
        Maps the fitted estimator, features and a number of rounds to scores.
    boosting : bool
        Whether fit times are compared with it.
    """

    rounds: Sequence[int] = ()
    rounds_name: str = "n_estimators"
    scores_after: Callable[[Any, Any, int], Any] | None = None
    boosting: bool = False

    def settings(self) -> list[dict[str, Any]]:
        """Return what is fitted, the number of rounds left out."""
        return [
            dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())
        ]

    def fitted(self, parameters: dict[str, Any], part: Any, n_threads: int) -> Any:
        """Return the estimator, fitted to a query set."""
        labels = (part.target > 0).astype(int) if self.binary_labels else part.target
        model = self.build(n_threads, **parameters)
        return model.fit(part.data, labels, **self.queries(part.qid))

    def candidates(self, part: Any, n_threads: int) -> Any:
        """Yield each configuration and the function of features that gives its scores."""
        for setting in self.settings():
            if not self.rounds:
                model = self.fitted(setting, part, n_threads)
                yield setting, lambda X, model=model: self.scores(model, X)
                continue
            model = self.fitted({**setting, self.rounds_name: max(self.rounds)}, part, n_threads)
            for rounds in self.rounds:
                yield (
                    {**setting, self.rounds_name: rounds},
                    lambda X, model=model, rounds=rounds: self.scores_after(model, X, rounds),
                )


# --- queries and rounds --------------------------------------------------------------------------


def by_qid_alike(qid: Any) -> dict[str, Any]:
    """Hand over query ids, and weights that make every query count about the same.

    A pair weighs the product of its rows' weights, and a query has about as many pairs as the
    square of its rows.
    """
    import numpy as np

    _, query, n_rows = np.unique(qid, return_inverse=True, return_counts=True)
    return {"qid": qid, "sample_weight": n_rows.mean() / n_rows[query]}


def by_qid_of_list_net(qid: Any) -> dict[str, Any]:
    """Hand over query ids to the last step of a pipeline."""
    return {"listnetlinear__qid": qid}


def _staged(stages: Any, rounds: int) -> Any:
    """Return the scores after so many rounds, or after the last if there were fewer."""
    for number, scores in enumerate(stages, start=1):
        last = scores
        if number == rounds:
            break
    return last


def ours_after(model: Any, X: Any, rounds: int) -> Any:
    return _staged(model.staged_predict(X), rounds)


def sklearn_after(model: Any, X: Any, rounds: int) -> Any:
    return _staged(model.staged_decision_function(X), rounds).ravel()


def xgboost_after(model: Any, X: Any, rounds: int) -> Any:
    return model.predict(X, output_margin=True, iteration_range=(0, rounds))


def lightgbm_after(model: Any, X: Any, rounds: int) -> Any:
    return model.predict(X, raw_score=True, num_iteration=rounds)


def catboost_after(model: Any, X: Any, rounds: int) -> Any:
    return model.predict(X, ntree_end=rounds)


# --- ours ----------------------------------------------------------------------------------------


def rank_boost(n_threads: int, **parameters: Any) -> Any:
    from sklearn_rank import RankBoost

    parameters = {"learning_rate": 1.0, **parameters}
    return RankBoost(relevance="graded", n_jobs=n_threads, **parameters)


def rank_boost_of_trees(n_threads: int, max_depth: int, **parameters: Any) -> Any:
    from sklearn.tree import DecisionTreeRegressor

    tree = DecisionTreeRegressor(max_depth=max_depth)
    return rank_boost(n_threads, weak_ranker=tree, random_state=0, **parameters)


def push(n_threads: int, **parameters: Any) -> Any:
    from sklearn_rank import PNormPushRanker

    parameters = {"learning_rate": 1.0, **parameters}
    return PNormPushRanker(relevance="graded", n_jobs=n_threads, **parameters)


def list_net(n_threads: int, **parameters: Any) -> Any:
    from sklearn_rank import ListNetLinear

    return ListNetLinear(max_iter=5000, n_jobs=n_threads, **parameters)


def list_net_of_splines(n_threads: int, n_knots: int, **parameters: Any) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import SplineTransformer

    # Straight between the knots; a row has two values other than zero for each feature.
    splines = SplineTransformer(n_knots=n_knots, degree=1, sparse_output=True)
    return make_pipeline(splines, list_net(n_threads, **parameters))


def pairwise(n_threads: int, **parameters: Any) -> Any:
    from sklearn_rank import KernelPairwiseSGDRanker

    return KernelPairwiseSGDRanker(
        relevance="graded", kernel="linear", solver="lbfgs", n_jobs=n_threads, **parameters
    )


# --- the others ----------------------------------------------------------------------------------


def xgboost_ranker(n_threads: int, **parameters: Any) -> Any:
    from xgboost import XGBRanker

    return XGBRanker(learning_rate=0.1, n_jobs=n_threads, random_state=0, **parameters)


def xgboost_classifier(n_threads: int, **parameters: Any) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(learning_rate=0.1, n_jobs=n_threads, random_state=0, **parameters)


def lightgbm_ranker(n_threads: int, **parameters: Any) -> Any:
    from lightgbm import LGBMRanker

    return LGBMRanker(n_jobs=n_threads, random_state=0, verbose=-1, **parameters)


def lightgbm_classifier(n_threads: int, **parameters: Any) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=n_threads, random_state=0, verbose=-1, **parameters)


def catboost_ranker(n_threads: int, **parameters: Any) -> Any:
    from catboost import CatBoostRanker

    return CatBoostRanker(
        loss_function="YetiRank",
        learning_rate=0.1,
        thread_count=n_threads,
        random_seed=0,
        verbose=False,
        allow_writing_files=False,
        **parameters,
    )


def gradient_boosting(n_threads: int, **parameters: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    del n_threads  # the environment tells it
    return HistGradientBoostingClassifier(early_stopping=False, random_state=0, **parameters)


def logistic_regression(n_threads: int, **parameters: Any) -> Any:
    from sklearn.linear_model import LogisticRegression

    del n_threads
    return LogisticRegression(max_iter=5000, **parameters)


def _powers(highest: float) -> list[float]:
    """Return twelve strengths of a ridge, half a power of ten apart, the strongest first."""
    return [10.0 ** (highest - k / 2) for k in range(BUDGET)]


_STEPS = {"learning_rate": [0.1, 1.0]}
_BINS = {**_STEPS, "max_bins": [16, 64]}
_DEPTHS = [1, 2, 4, 6]
_LEAVES = [2, 4, 16, 31]

_OURS_IN_ROUNDS = {
    "scores": prediction,
    "rounds": ROUNDS,
    "scores_after": ours_after,
    "ours": True,
}
_OURS_LINEAR = {"scores": prediction, "queries": by_qid, "ours": True}
_XGBOOST = {"scores": xgboost_margin, "scores_after": xgboost_after}
_LIGHTGBM = {"scores": lightgbm_raw, "scores_after": lightgbm_after}
_TREES = {"rounds": ROUNDS, "boosting": True}


def _ours() -> list[LetorSystem]:
    boosted = [
        LetorSystem(
            "RankBoost", "sklearn_rank", rank_boost, queries=by_qid, grid=_BINS, **_OURS_IN_ROUNDS
        ),
        LetorSystem(
            "RankBoost, queries alike",
            "sklearn_rank",
            rank_boost,
            queries=by_qid_alike,
            grid=_BINS,
            **_OURS_IN_ROUNDS,
        ),
        LetorSystem(
            "RankBoost of trees, queries alike",
            "sklearn_rank",
            rank_boost_of_trees,
            queries=by_qid_alike,
            grid={**_STEPS, "max_depth": [2, 4]},
            **{**_OURS_IN_ROUNDS, "rounds": (10, 30, 100)},
        ),
        LetorSystem(
            "PNormPushRanker",
            "sklearn_rank",
            push,
            queries=by_qid,
            grid={"p": [2, 4], **_STEPS},
            **_OURS_IN_ROUNDS,
        ),
        LetorSystem(
            'PNormPushRanker, push="ir"',
            "sklearn_rank",
            push,
            queries=by_qid,
            grid={"push": ["ir"], **_BINS},
            **_OURS_IN_ROUNDS,
        ),
    ]
    linear = [
        LetorSystem(
            "ListNetLinear", "sklearn_rank", list_net, grid={"alpha": _powers(0.5)}, **_OURS_LINEAR
        ),
        LetorSystem(
            "ListNetLinear, smoothed DCG",
            "sklearn_rank",
            list_net,
            grid={
                "loss": ["smoothed_dcg"],
                "sigma": [1.0, 0.3],
                "alpha": [10.0**-k for k in range(6)],
            },
            **_OURS_LINEAR,
        ),
        LetorSystem(
            "ListNetLinear of splines",
            "sklearn_rank",
            list_net_of_splines,
            grid={"n_knots": [3, 5, 9], "alpha": [10.0**-k for k in range(4)]},
            **{**_OURS_LINEAR, "queries": by_qid_of_list_net},
        ),
    ]
    pairs = [
        LetorSystem(
            f"KernelPairwiseSGDRanker, linear, {loss}{words}",
            "sklearn_rank",
            pairwise,
            grid={"loss": [loss], "alpha": _powers(2.5)},
            **{**_OURS_LINEAR, "queries": queries},
        )
        for words, queries in (("", by_qid), (", queries alike", by_qid_alike))
        for loss in ("logistic", "hinge", "squared_hinge")
    ]
    return boosted + linear + pairs


def _others() -> list[LetorSystem]:
    xgboost = [
        LetorSystem(
            f"XGBRanker {objective}, {method}",
            "xgboost",
            xgboost_ranker,
            queries=by_qid,
            grid={
                "objective": [objective],
                "lambdarank_pair_method": [method],
                "max_depth": _DEPTHS,
            },
            **_XGBOOST,
            **_TREES,
        )
        for objective, method in (
            ("rank:pairwise", "mean"),
            ("rank:pairwise", "topk"),
            ("rank:ndcg", "topk"),
        )
    ]
    classifiers = [
        LetorSystem(
            "XGBClassifier",
            "xgboost",
            xgboost_classifier,
            grid={"max_depth": _DEPTHS},
            binary_labels=True,
            **_XGBOOST,
            **_TREES,
        ),
        LetorSystem(
            "LGBMClassifier",
            "lightgbm",
            lightgbm_classifier,
            grid={"num_leaves": _LEAVES},
            binary_labels=True,
            **_LIGHTGBM,
            **_TREES,
        ),
        LetorSystem(
            "HistGradientBoostingClassifier",
            "sklearn",
            gradient_boosting,
            decision,
            grid={"max_leaf_nodes": _LEAVES},
            binary_labels=True,
            rounds_name="max_iter",
            scores_after=sklearn_after,
            **_TREES,
        ),
        LetorSystem(
            "LogisticRegression",
            "sklearn",
            logistic_regression,
            decision,
            grid={"C": [1.0 / ridge for ridge in _powers(4.0)]},
            binary_labels=True,
        ),
    ]
    rankers = [
        LetorSystem(
            "LGBMRanker lambdarank",
            "lightgbm",
            lightgbm_ranker,
            queries=by_group_sizes,
            grid={"num_leaves": _LEAVES},
            **_LIGHTGBM,
            **_TREES,
        ),
        LetorSystem(
            "CatBoostRanker YetiRank",
            "catboost",
            catboost_ranker,
            prediction,
            by_group_id,
            grid={"depth": _DEPTHS},
            scores_after=catboost_after,
            rounds_name="iterations",
            **_TREES,
        ),
    ]
    return [*xgboost, *rankers, *classifiers]


SYSTEMS = {system.label: system for system in [*_ours(), *_others()]}
