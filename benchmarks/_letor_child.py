"""What `_peers_letor.py` runs in processes of their own; each task prints one line of JSON.

choose DATA SET FOLD FOLDER   every system: its choice on the validation queries, then the
                              test; leaves the rows to train on and to test in FOLDER
fit FOLDER CHOICE             one fit of these rows; CHOICE is JSON: a label and parameters
compare FILE                  intervals; FILE is JSON: pairs of values, query by query
"""

import json
import math
import os
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Record, watch
from _real_data import MQ2008, OHSUMED, load_lightgbm, load_mq2008, load_ohsumed

HELD_OUT = 0.25


# --- data ----------------------------------------------------------------------------------------


def load_fold(folder: str, name: str, number: int) -> list[Any]:
    """Return train, valid and test of a fold: dense, queries numbered as they appear.

    Where there is no validation file it is a quarter of the training queries, drawn once.
    OHSUMED's features are scaled inside queries, as those of MQ2008 are.
    """
    if name == MQ2008:
        parts = load_mq2008(folder)[number]
    else:
        train, test = load_ohsumed(folder)[number] if name == OHSUMED else load_lightgbm(folder)
        parts = (*_hold_out(train), test)
    return [_prepared(part, scaled=name == OHSUMED) for part in parts]


def _hold_out(train: Any) -> list[Any]:
    from sklearn.utils import Bunch

    from sklearn_rank.model_selection import QueryShuffleSplit

    splitter = QueryShuffleSplit(n_splits=1, test_size=HELD_OUT, random_state=0)
    (split,) = splitter.split(train.target, train.target, qid=train.qid)
    return [
        Bunch(data=train.data[rows], target=train.target[rows], qid=train.qid[rows])
        for rows in split
    ]


def _prepared(part: Any, *, scaled: bool) -> Any:
    import numpy as np

    from sklearn_rank.preprocessing import QueryMinMaxScaler

    X = part.data if isinstance(part.data, np.ndarray) else part.data.toarray()
    part.data = QueryMinMaxScaler().fit_transform(X, qid=part.qid) if scaled else X
    part.qid = np.cumsum(part.qid != np.roll(part.qid, 1))  # XGBoost wants them to grow
    return part


def save(part: Any, folder: Path, name: str) -> None:
    """Write a query set as three .npy files."""
    import numpy as np

    folder.mkdir(exist_ok=True)
    for key in ("data", "target", "qid"):
        np.save(folder / f"{name}_{key}.npy", part[key])


def load(folder: Path, name: str) -> Any:
    """Read what `save` has written; no temporary raises the mark of memory before the fit."""
    import numpy as np
    from sklearn.utils import Bunch

    return Bunch(
        **{key: np.load(folder / f"{name}_{key}.npy") for key in ("data", "target", "qid")}
    )


# --- tasks ---------------------------------------------------------------------------------------


def figures(part: Any, scores: Any) -> dict[str, list[float | None]]:
    """Return each metric for each query; None where a query has no relevant row."""
    from sklearn_rank.metrics import average_precision, ndcg_score

    metrics = {f"NDCG@{k}": partial(ndcg_score, k=k) for k in (1, 5, 10)}
    values = {
        name: metric(part.target, scores, qid=part.qid, average=None)
        for name, metric in {**metrics, "MAP": average_precision}.items()
    }
    return {
        name: [None if math.isnan(value) else float(value) for value in found]
        for name, found in values.items()
    }


def choose(data: str, name: str, number: str, folder: str) -> Record:
    """Return each system's choice and its figures on the test queries; leave the rows behind."""
    from _letor_systems import SYSTEMS

    parts = load_fold(data, name, int(number))
    save(parts[0], Path(folder), "train")
    save(parts[2], Path(folder), "test")
    found = {}
    for label, system in SYSTEMS.items():
        started = time.process_time()
        try:
            found[label] = chosen(system, *parts)
        except Exception as error:
            found[label] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
        found[label]["cpu_s"] = time.process_time() - started
    return found


def chosen(system: Any, train: Any, valid: Any, test: Any) -> Record:
    """Return the configuration of the highest validation NDCG@10, and its test figures.

    The first of equal ones is taken. Test rows are scored once, by what was chosen.
    """
    from sklearn_rank.metrics import ndcg_score

    tried, best = [], -1.0
    for parameters, scores in system.candidates(train, n_threads=1):
        found = float(ndcg_score(valid.target, scores(valid.data), k=10, qid=valid.qid))
        tried.append({"parameters": parameters, "validation": found})
        if found > best:
            best, choice, its_scores = found, parameters, scores
    return {
        "parameters": choice,
        "validation": best,
        "test": figures(test, its_scores(test.data)),
        "tried": tried,
    }


def fit(folder: str, choice: str) -> Record:
    """Return seconds and memory of one fit, and its test NDCG@10 to see that it is the same."""
    from _letor_systems import SYSTEMS

    from sklearn_rank.metrics import ndcg_score

    label, parameters = json.loads(choice)
    system, n_threads = SYSTEMS[label], int(os.environ["OMP_NUM_THREADS"])
    train, test = (load(Path(folder), part) for part in ("train", "test"))
    system.build(n_threads, **parameters)  # importing is no part of a fit
    models = []
    found = watch(lambda: models.append(system.fitted(parameters, train, n_threads)))
    scores = system.scores(models[0], test.data)
    found["NDCG@10"] = float(ndcg_score(test.target, scores, k=10, qid=test.qid))
    return found


def compare(path: str) -> Record:
    """Return the mean differences with their intervals, and the p-values."""
    from dataclasses import asdict

    import numpy as np

    from sklearn_rank.metrics import compare_rankings

    pairs = json.loads(Path(path).read_text(encoding="utf-8"))
    return {
        name: asdict(
            compare_rankings(*(np.array(one, dtype=float) for one in pair), random_state=0)
        )
        for name, pair in pairs.items()
    }


TASKS = {"choose": choose, "fit": fit, "compare": compare}

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a strength at which a solver stops early is one that loses
    task, *arguments = sys.argv[1:]
    print(json.dumps(TASKS[task](*arguments)))
