"""What `clicks.py` measures: a log of two production rankers, and who learns from it.

A cell is a data set, a bias of positions, a number of impressions and one of five parts, whose
queries test. The production rankers are linear ListNet on the true grades of 1 % of the training
queries each; a tenth of the users of a row of grade 0 click on it when they see it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from _real_data import LIGHTGBM, MQ2008, load_lightgbm, load_mq2008
from _systems import by_qid_alike

N_PARTS, N_SHOWN, NOISE, PRODUCTION_SHARE = 5, 10, 0.1, 0.01
ROUNDS = 100
TITLES = {MQ2008: "MQ2008", LIGHTGBM: "LightGBM's example"}
RAW, WEIGHTED, TRUE = "raw clicks", "weights", "true grades"


class Cell(NamedTuple):
    """One case: what is measured in it does not depend on other cells."""

    data: str
    eta: float
    n_impressions: int
    part: int


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows of queries with grades."""

    X: Any
    y: Any
    qid: Any

    def sorted(self) -> "Queries":
        """Return the rows by the id of their query, as the libraries of others want them."""
        order = np.argsort(self.qid, kind="stable")
        return Queries(self.X[order], self.y[order], self.qid[order])

    def of(self, chosen: Any) -> "Queries":
        """Return the rows of some queries."""
        rows = np.isin(self.qid, chosen)
        return Queries(self.X[rows], self.y[rows], self.qid[rows])


# --- data and log --------------------------------------------------------------------------------


def load_part(folder: Any, cell: Cell) -> tuple[Queries, Queries]:
    """Return the training and the test queries of a cell: the published folds, or five parts."""
    if cell.data == MQ2008:
        train, _, test = load_mq2008(folder)[cell.part]
        return Queries(train.data, train.target, train.qid), Queries(
            test.data, test.target, test.qid
        )
    train, test = load_lightgbm(folder)
    X = np.concatenate([train.data.toarray(), test.data.toarray()])
    qid = np.concatenate([train.qid, train.qid.max() + 1 + test.qid])
    whole = Queries(X, np.concatenate([train.target, test.target]), qid)
    order = np.random.default_rng(0).permutation(np.unique(qid))
    tested = order[cell.part :: N_PARTS]
    return whole.of(np.setdiff1d(order, tested)), whole.of(tested)


def production_scores(train: Queries, seed: int) -> Any:
    """Return the scores of the two rankers that make the lists."""
    from sklearn_rank import ListNetLinear

    order = np.random.default_rng(seed).permutation(np.unique(train.qid))
    size = max(int(PRODUCTION_SHARE * len(order)), 2)
    scores = []
    for number in range(2):
        few = train.of(order[number * size : (number + 1) * size])
        scores.append(ListNetLinear(alpha=0.01).fit(few.X, few.y, qid=few.qid).predict(train.X))
    return np.array(scores)


def make_log(train: Queries, cell: Cell) -> tuple[Any, Any]:
    """Return a simulated log of the training queries, and the propensities estimated from it."""
    from sklearn_rank.clicks import PositionPropensity, make_clicks

    log = make_clicks(
        train.y,
        production_scores(train, cell.part),
        train.qid,
        n_impressions=cell.n_impressions,
        examination=known_propensity(cell.eta),
        noise=NOISE,
        random_state=cell.part,
    )
    found = PositionPropensity(n_bootstrap=0).fit(log.click, log.position, log.row, log.qid)
    return log, np.minimum(found.propensity_, 1)


def known_propensity(eta: float) -> Any:
    """Return how often each position is seen: 1 / rank to the power of eta."""
    return np.arange(1.0, N_SHOWN + 1) ** -eta


# --- ours ----------------------------------------------------------------------------------------


def our_rankers() -> dict[str, Any]:
    """Return the rankers that learn from pairs, with a fixed number of rounds."""
    from sklearn_rank import BoostedTreesRanker, KernelPairwiseSGDRanker, PNormPushRanker, RankBoost

    graded = {"relevance": "graded"}
    return {
        "RankBoost": RankBoost(n_estimators=ROUNDS, **graded),
        "PNormPushRanker, logistic": PNormPushRanker(
            p=1, loss="logistic", n_estimators=ROUNDS, **graded
        ),
        "KernelPairwiseSGDRanker, linear": KernelPairwiseSGDRanker(kernel="linear", **graded),
        "BoostedTreesRanker, logistic": BoostedTreesRanker(
            loss="logistic", n_estimators=ROUNDS, n_jobs=1, random_state=0, **graded
        ),
    }


LIST_NET = "ListNetLinear"
OURS = (*our_rankers(), LIST_NET)


def fit_pairs(ranker: Any, train: Queries, found: Any) -> Any:
    """Fit to the pairs of a log, weighted by inverse propensities."""
    from sklearn_rank.pairs import PairRanker

    return PairRanker(ranker).fit(train.X, found.pairs, sample_weight=found.weight)


def fit_list_net(train: Queries, log: Any, propensity: Any) -> Any:
    """Fit top-one probabilities in proportion to clicks over the propensities of impressions."""
    from sklearn_rank import ListNetLinear

    n = len(train.y)
    clicked = np.bincount(log.row, log.click, n)
    seen = np.bincount(log.row, propensity[log.position - 1], n)
    rows = np.flatnonzero(seen > 0)
    rate = (clicked[rows] + 0.1) / (seen[rows] + 1)  # a row without clicks has odds too
    return ListNetLinear().fit(train.X[rows], np.log(rate), qid=train.qid[rows])


def fit_true(ranker: Any, train: Queries) -> Any:
    """Fit to the true grades of all rows; queries weigh alike, as in a log."""
    return ranker.fit(train.X, train.y, **by_qid_alike(train.qid))


# --- others --------------------------------------------------------------------------------------


def clicked_lists(log: Any) -> Any:
    """Return the rows of the log in impressions with a click; the others teach nothing."""
    return np.flatnonzero((np.bincount(log.impression, log.click) > 0)[log.impression])


def fit_xgboost(train: Queries, log: Any) -> Any:
    """Fit lambdarank to the lists as they were shown, from the top."""
    from xgboost import XGBRanker

    rows = clicked_lists(log)
    model = XGBRanker(
        objective="rank:ndcg",
        lambdarank_unbiased=True,
        n_estimators=ROUNDS,
        learning_rate=0.1,
        max_depth=6,
        n_jobs=1,
        random_state=0,
    )
    X = train.X[log.row[rows]].astype(np.float32)
    return model.fit(X, log.click[rows], qid=log.impression[rows]).predict


def equal_lists(log: Any) -> tuple[Any, Any]:
    """Return the rows of the first of equal lists with equal clicks, and how many there are."""
    rows = clicked_lists(log)
    first = rows[np.r_[True, log.impression[rows][1:] != log.impression[rows][:-1]]]
    clicked = np.bincount(log.impression, log.click * 2 ** (log.position - 1))
    lists = np.column_stack([log.qid[first], log.ranker[first], clicked[log.impression[first]]])
    _, kept, number = np.unique(lists, axis=0, return_index=True, return_counts=True)
    times = np.zeros(len(clicked))
    times[log.impression[first[kept]]] = number
    of_row = times[log.impression]
    return np.flatnonzero(of_row), of_row[of_row > 0]


def fit_lightgbm(train: Queries, log: Any) -> Any:
    """Fit lambdarank with a term for each position; equal lists are one, with a weight."""
    import lightgbm

    rows, weight = equal_lists(log)
    data = lightgbm.Dataset(
        train.X[log.row[rows]].astype(np.float32),
        log.click[rows],
        weight=weight,
        group=np.unique(log.impression[rows], return_counts=True)[1],
        position=log.position[rows],
    )
    parameters = {"objective": "lambdarank", "learning_rate": 0.1, "num_threads": 1}
    return lightgbm.train({**parameters, "verbosity": -1, "seed": 0}, data, ROUNDS).predict


def fit_xgboost_true(train: Queries) -> Any:
    from xgboost import XGBRanker

    train = train.sorted()
    model = XGBRanker(objective="rank:ndcg", n_estimators=ROUNDS, learning_rate=0.1, n_jobs=1)
    return model.fit(train.X, train.y, qid=train.qid).predict


def fit_lightgbm_true(train: Queries) -> Any:
    import lightgbm

    train = train.sorted()
    group = np.unique(train.qid, return_counts=True)[1]
    data = lightgbm.Dataset(train.X, train.y, group=group)
    parameters = {"objective": "lambdarank", "learning_rate": 0.1, "num_threads": 1}
    return lightgbm.train({**parameters, "verbosity": -1, "seed": 0}, data, ROUNDS).predict


XGBOOST, LIGHTGBM_TREES = "XGBoost", "LightGBM"
KINDS = ("ours", LIGHTGBM_TREES, XGBOOST)


# --- all of it -----------------------------------------------------------------------------------


def systems_of(train: Queries, log: Any, estimated: Any) -> dict[str, Callable[[], Any]]:
    """Return what fits each system and returns its predictor, by "system: labels"."""
    from sklearn_rank.clicks import click_pairs

    calls: dict[str, Callable[[], Any]] = {
        f"{XGBOOST}: {TRUE}": partial(fit_xgboost_true, train),
        f"{LIGHTGBM_TREES}: {TRUE}": partial(fit_lightgbm_true, train),
        f"{LIST_NET}: {TRUE}": lambda: fit_list_net_true(train).predict,
    }
    for label, propensity in {RAW: np.ones(N_SHOWN), WEIGHTED: estimated}.items():
        found = click_pairs(log.click, log.position, log.row, log.impression, propensity)
        for name, ranker in our_rankers().items():
            calls[f"{name}: {label}"] = partial(
                lambda r, pairs: fit_pairs(r, train, pairs).predict, ranker, found
            )
        calls[f"{LIST_NET}: {label}"] = partial(
            lambda p: fit_list_net(train, log, p).predict, propensity
        )
    for name, ranker in our_rankers().items():
        calls[f"{name}: {TRUE}"] = partial(lambda one: fit_true(one, train).predict, ranker)
    calls[f"{XGBOOST}: {WEIGHTED}"] = partial(fit_xgboost, train, log)
    calls[f"{LIGHTGBM_TREES}: {WEIGHTED}"] = partial(fit_lightgbm, train, log)
    return calls


def fit_list_net_true(train: Queries) -> Any:
    from sklearn_rank import ListNetLinear

    return ListNetLinear().fit(train.X, train.y, qid=train.qid)


def measure_cell(folder: Any, kind: str, *of: Any) -> dict[str, Any]:
    """Return the NDCG@10 of each test query by the systems of a kind, and those of propensities."""
    import warnings

    from sklearn_rank.metrics import ndcg_score

    cell = Cell(*of)
    train, test = load_part(folder, cell)
    log, estimated = make_log(train, cell)
    found: dict[str, Any] = {}
    for name, fit in systems_of(train, log, estimated).items():
        if kind_of(name) != kind:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of iterations, and of XGBoost's groups
            scores = fit()(test.X)
        values = ndcg_score(test.y, scores, qid=test.qid, k=10, average=None)
        found[name] = np.round(values, 5).tolist()
    off = float(np.abs(estimated / known_propensity(cell.eta) - 1).max())
    return {"cell": list(cell), "kind": kind, "off": off, "ndcg": found}


def kind_of(system: str) -> str:
    """Return whose a system is: "XGBoost", "LightGBM" or "ours"."""
    name = system.partition(":")[0]
    return name if name in (XGBOOST, LIGHTGBM_TREES) else "ours"
