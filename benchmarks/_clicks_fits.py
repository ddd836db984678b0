"""What `clicks.py` measures: a log of two production rankers, and the rankers that learn from it.

A cell is a data set, a bias of positions, a number of impressions and one of five parts, whose
queries test. The production rankers are linear ListNet on the true grades of 1 % of the training
queries each; a tenth of the users of a row of grade 0 click on it when they see it.
"""

from itertools import product
from typing import Any, NamedTuple

import numpy as np
from _real_data import LIGHTGBM, MQ2008, join, load_lightgbm, load_mq2008
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


class Queries(NamedTuple):
    """Rows of queries with grades."""

    X: Any
    y: Any
    qid: Any

    def of(self, chosen: Any) -> "Queries":
        """Return the rows of some queries."""
        rows = np.isin(self.qid, chosen)
        return Queries(self.X[rows], self.y[rows], self.qid[rows])


# --- data and log --------------------------------------------------------------------------------


def load_part(folder: Any, cell: Cell) -> tuple[Queries, Queries]:
    """Return the training and the test queries of a cell: the published folds, or five parts."""
    if cell.data == MQ2008:
        train, _, test = load_mq2008(folder)[cell.part]
        return tuple(Queries(part.data, part.target, part.qid) for part in (train, test))
    rows = join(load_lightgbm(folder))
    whole = Queries(rows.data, rows.target, rows.qid)
    order = np.random.default_rng(0).permutation(np.unique(whole.qid))
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


def fit_list_net(train: Queries, log: Any, propensity: Any) -> Any:
    """Fit top-one probabilities in proportion to clicks over the propensities of impressions."""
    from sklearn_rank import ListNetLinear

    n = len(train.y)
    clicked = np.bincount(log.row, log.click, n)
    seen = np.bincount(log.row, propensity[log.position - 1], n)
    rows = np.flatnonzero(seen > 0)
    rate = (clicked[rows] + 0.1) / (seen[rows] + 1)  # a row without clicks has odds too
    return ListNetLinear().fit(train.X[rows], np.log(rate), qid=train.qid[rows])


# --- others --------------------------------------------------------------------------------------

XGBOOST, LIGHTGBM_TREES = "XGBoost", "LightGBM"
KINDS = ("ours", LIGHTGBM_TREES, XGBOOST)
OF_OTHERS = (TRUE, WEIGHTED)
"""What the systems of others learn from: their correction is that of the weights."""


def fit_xgboost(X: Any, y: Any, qid: Any, **more: Any) -> Any:
    """Fit lambdarank to lists of which the rows are together."""
    from xgboost import XGBRanker

    fixed = {"learning_rate": 0.1, "max_depth": 6, "n_jobs": 1, "random_state": 0}
    model = XGBRanker(objective="rank:ndcg", n_estimators=ROUNDS, **fixed, **more)
    return model.fit(X, y, qid=qid)


def fit_lightgbm(X: Any, y: Any, qid: Any, **more: Any) -> Any:
    """Fit lambdarank to lists of which the rows are together."""
    import lightgbm

    data = lightgbm.Dataset(X, y, group=np.unique(qid, return_counts=True)[1], **more)
    parameters = {"objective": "lambdarank", "learning_rate": 0.1, "num_threads": 1}
    return lightgbm.train({**parameters, "verbosity": -1, "seed": 0}, data, ROUNDS)


def clicked_lists(log: Any) -> Any:
    """Return the rows of the log in impressions with a click; the others teach nothing."""
    return np.flatnonzero((np.bincount(log.impression, log.click) > 0)[log.impression])


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


# --- all of it -----------------------------------------------------------------------------------


def fit_true(system: str, train: Queries) -> Any:
    """Fit a system to the true grades of all rows; with pairs, queries weigh as in a log: alike."""
    from sklearn_rank import ListNetLinear

    if system == LIST_NET:
        return ListNetLinear().fit(train.X, train.y, qid=train.qid)
    if system in OURS:
        return our_rankers()[system].fit(train.X, train.y, **by_qid_alike(train.qid))
    order = np.argsort(train.qid, kind="stable")
    fit = fit_xgboost if system == XGBOOST else fit_lightgbm
    return fit(train.X[order], train.y[order], train.qid[order])


def fit_clicks(system: str, train: Queries, log: Any, propensity: Any) -> Any:
    """Fit a system to a log; those of others have their own correction for the position."""
    from sklearn_rank.clicks import click_pairs
    from sklearn_rank.pairs import PairRanker

    if system == LIST_NET:
        return fit_list_net(train, log, propensity)
    if system in OURS:
        pairs = click_pairs(log.click, log.position, log.row, log.impression, propensity)
        ranker = PairRanker(our_rankers()[system])
        return ranker.fit(train.X, pairs.pairs, sample_weight=pairs.weight)
    rows, weight = (clicked_lists(log), None) if system == XGBOOST else equal_lists(log)
    lists = train.X[log.row[rows]].astype(np.float32), log.click[rows], log.impression[rows]
    if system == XGBOOST:
        return fit_xgboost(*lists, lambdarank_unbiased=True)
    return fit_lightgbm(*lists, weight=weight, position=log.position[rows])


def measure_cell(folder: Any, kind: str, *of: Any) -> dict[str, Any]:
    """Return the NDCG@10 of each test query by the systems of a kind, and those of propensities."""

    from sklearn_rank.metrics import ndcg_score

    cell = Cell(*of)
    train, test = load_part(folder, cell)
    log, estimated = make_log(train, cell)
    cases = product(OURS, (TRUE, RAW, WEIGHTED)) if kind == "ours" else product([kind], OF_OTHERS)
    ndcg: dict[str, Any] = {}
    for system, labels in cases:
        propensity = estimated if labels == WEIGHTED else np.ones(N_SHOWN)
        if labels == TRUE:
            model = fit_true(system, train)
        else:
            model = fit_clicks(system, train, log, propensity)
        values = ndcg_score(test.y, model.predict(test.X), qid=test.qid, k=10, average=None)
        ndcg[f"{system}: {labels}"] = np.round(values, 5).tolist()
    off = float(np.abs(estimated / known_propensity(cell.eta) - 1).max())
    return {"cell": list(cell), "kind": kind, "off": off, "ndcg": ndcg}
