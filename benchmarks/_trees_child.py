"""What `bench_trees.py` runs in processes of their own; each task prints one line of JSON.

speed ROWS DEPTH ENGINE JSON          whole fits in turns; JSON: rounds, repeats, pairwise_repeats,
                                      threads
list DATA SPLIT ENGINE SYSTEM JSON    a search on one split of a data set; JSON: folder, grid
fold DATA NUMBER SYSTEM JSON          a search on one fold of queries; JSON: folder, grid
own DATA NUMBER ENGINE JSON           loss="ndcg" beside the engine's own call; JSON: folder
"""

import json
import sys
import time
import warnings
from typing import Any

from _harness import Record

TEST_ROWS, LIST_ROWS, LIST_TEST_ROWS = 100_000, 10_000, 50_000
WARM_ROWS = 1_000
SMALL = 5_000
"""Below so many training rows a choice is made by cross-validation."""
N_FOLDS = 4
TRAIN_SEED, TEST_SEED = 1, 0


# --- speed ---------------------------------------------------------------------------------------


def speed(rows: str, depth: str, engine: str, options: str) -> Record:
    """Time whole fits in turns, after one of each to few rows; return seconds and test AUC."""
    import numpy as np
    from _data import draw_interactions
    from _trees_systems import log_loss, ours, scores_after, xgboost_pairwise

    from sklearn_rank.metrics import auc_score

    given = json.loads(options)
    n_threads, rounds = given["threads"], given["rounds"]
    X, y = draw_interactions(int(rows), seed=TRAIN_SEED)
    test = draw_interactions(TEST_ROWS, seed=TEST_SEED)
    parameters = {"learning_rate": 0.1, "max_depth": int(depth), "n_estimators": rounds}
    one_list = {"qid": np.zeros(len(y), dtype=np.int64)}
    builds: dict[str, Any] = {
        "log-loss": lambda **own: log_loss(n_threads, engine=engine, **own),
        "exponential": lambda **own: ours(n_threads, engine=engine, loss="exponential", **own),
        "logistic": lambda **own: ours(n_threads, engine=engine, loss="logistic", **own),
    }
    if engine == "xgboost":
        builds["rank:pairwise"] = lambda **own: xgboost_pairwise(n_threads, **own)
    found: Record = {name: {"s": [], "auc": None} for name in builds}
    for turn in range(given["repeats"] + 1):
        rows_of_turn = slice(WARM_ROWS if turn == 0 else None)
        for name, build in builds.items():
            if name == "rank:pairwise" and turn > given["pairwise_repeats"]:
                continue
            model = build(**parameters)
            queries = one_list if name == "rank:pairwise" else {}
            queries = {key: value[rows_of_turn] for key, value in queries.items()}
            started = time.perf_counter()
            model.fit(X[rows_of_turn], y[rows_of_turn], **queries)
            if turn == 0:
                continue
            found[name]["s"].append(time.perf_counter() - started)
            if found[name]["auc"] is None:
                scores = scores_after(model, test[0], rounds)
                found[name]["auc"] = float(auc_score(test[1], scores))
    return found


# --- lists ---------------------------------------------------------------------------------------


def split_of(data: str, split: int, folder: str | None) -> tuple[Any, ...]:
    """Return training and test features and labels."""
    from sklearn.model_selection import train_test_split

    if data == "generated":
        from _data import draw_interactions

        train = draw_interactions(LIST_ROWS, seed=TRAIN_SEED + split)
        test = draw_interactions(LIST_TEST_ROWS, seed=TEST_SEED)
        return train[0], test[0], train[1], test[1]
    X, y = load_list(data, folder)
    return tuple(train_test_split(X, y, test_size=0.5, stratify=y, random_state=split))


def load_list(data: str, folder: str | None) -> tuple[Any, Any]:
    """Return the features and the labels of a data set."""
    from _real_data import load_two_classes
    from sklearn.datasets import load_breast_cancer, load_digits

    if data == "magic":
        return tuple(load_two_classes("magic", folder))
    if data == "cancer":
        return load_breast_cancer(return_X_y=True)
    X, digit = load_digits(return_X_y=True)
    return X, (digit == int(data.removeprefix("digit"))).astype(int)


def search_list(data: str, split: str, engine: str, name: str, options: str) -> Record:
    """Return the choice by the AUC of validation rows, and by their top, with test figures."""
    from _one_list import quality
    from _trees_systems import LINEAR, linear_push, list_model, scores_after

    given = json.loads(options)
    X, X_test, y, y_test = split_of(data, int(split), given["folder"])
    if name.startswith(LINEAR):
        scores = linear_push(X, y, int(name.rpartition("=")[2]))
        return {"test": {"auc": quality(y_test, scores(X_test))}}
    tried = candidates(name, engine, X, y, given["grid"])
    found: Record = {"validation": {}, "chosen": {}, "test": {}}
    models: dict[str, Any] = {}
    for criterion in ("auc", "top"):
        best = max(tried, key=lambda one: one[criterion])
        chosen = {key: best[key] for key in ("learning_rate", "max_depth", "n_estimators")}
        key = json.dumps(chosen)
        if key not in models:
            models[key] = list_model(name, 1, engine, **chosen).fit(X, y)
        scores = scores_after(models[key], X_test, chosen["n_estimators"])
        found["validation"][criterion] = best[criterion]
        found["chosen"][criterion] = chosen
        found["test"][criterion] = quality(y_test, scores)
    return found


def candidates(name: str, engine: str, X: Any, y: Any, given: Record) -> list[Record]:
    """Return all candidates with the AUC and the top of validation rows, means over folds."""
    import numpy as np
    from _one_list import quality
    from _trees_systems import Grid, list_model, scores_after
    from sklearn.model_selection import StratifiedKFold

    grid = Grid(**given)
    folds = list(StratifiedKFold(N_FOLDS, shuffle=True, random_state=0).split(X, y))
    if len(y) >= SMALL:
        folds = folds[:1]
    tried = []
    for setting in grid.settings():
        found = np.zeros((len(folds), len(grid.rounds), 2))
        for number, (train, valid) in enumerate(folds):
            model = list_model(name, 1, engine, **setting).fit(X[train], y[train])
            for place, rounds in enumerate(grid.rounds):
                one = quality(y[valid], scores_after(model, X[valid], rounds))
                found[number, place] = one["auc"], one["top"]
        for rounds, (auc, top) in zip(grid.rounds, found.mean(axis=0).tolist(), strict=True):
            tried.append({**setting, "n_estimators": rounds, "auc": auc, "top": top})
    return tried


# --- queries -------------------------------------------------------------------------------------


def search_fold(data: str, number: str, name: str, options: str) -> Record:
    """Return the choice by NDCG@10 of the validation queries, and the test's, query by query."""
    from _letor_child import figures, load_fold
    from _trees_systems import QUERY_SYSTEMS, Grid, scores_after

    from sklearn_rank.metrics import ndcg_score

    given, system = json.loads(options), QUERY_SYSTEMS[name]
    train, valid, test = load_fold(given["folder"], data, int(number))
    grid, best = Grid(**given["grid"]), {"validation": -1.0}
    for setting in grid.settings():
        model = system.fitted(train, 1, **setting)
        for rounds in grid.rounds:
            scores = scores_after(model, valid.data, rounds)
            found = float(ndcg_score(valid.target, scores, k=10, qid=valid.qid))
            if found > best["validation"]:
                best = {"validation": found, "chosen": {**setting, "n_estimators": rounds}}
                best_model = model
    scores = scores_after(best_model, test.data, best["chosen"]["n_estimators"])
    return {**best, "test": figures(test, scores)}


def own_model(data: str, number: str, engine: str, options: str) -> Record:
    """Return how far the scores of loss="ndcg" are from those of the engine's own call."""
    import numpy as np
    from _letor_child import load_fold
    from _systems import by_group_sizes, by_qid
    from _trees_systems import ours, scores_after

    train, _, test = load_fold(json.loads(options)["folder"], data, int(number))
    parameters = {"learning_rate": 0.1, "max_depth": 4, "n_estimators": 50}
    mine = ours(1, engine=engine, loss="ndcg", relevance="graded", **parameters)
    mine.fit(train.data, train.target, qid=train.qid)
    shared = {"min_child_weight": 1.0, "reg_lambda": 1.0, "max_bin": 255, "n_jobs": 1}
    if engine == "xgboost":
        from xgboost import XGBRanker

        theirs = XGBRanker(objective="rank:ndcg", base_score=0.0, **shared, **parameters)
        theirs.fit(train.data, train.target, **by_qid(train.qid))
    else:
        from lightgbm import LGBMRanker

        rows = {"min_child_samples": 0, "min_data_in_bin": 1, "num_leaves": 16}
        theirs = LGBMRanker(verbosity=-1, **rows, **shared, **parameters)
        theirs.fit(train.data, train.target, **by_group_sizes(train.qid))
    n_rounds = parameters["n_estimators"]
    both = [np.asarray(scores_after(model, test.data, n_rounds)) for model in (mine, theirs)]
    return {"gap": float(np.max(np.abs(both[0] - both[1]))), "spread": float(np.std(both[1]))}


TASKS = {"speed": speed, "list": search_list, "fold": search_fold, "own": own_model}

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # libraries warn where a validation part has few positives
    task, *arguments = sys.argv[1:]
    print(json.dumps(TASKS[task](*arguments)))
