"""What the parts on one list run in processes of their own, each ending in a line of JSON.

    _one_list.py generated FOLDER ROWS HELD_OUT SEED      writes generated training and test rows
    _one_list.py magic FOLDER SEED [DATA]                 writes a random half of MAGIC each
    _one_list.py fit FOLDER SYSTEM THREADS                fits once: time, memory, quality
    _one_list.py search FOLDER SYSTEM THREADS MOST_ROWS   chooses parameters, fits, scores

FOLDER holds X_train.npy, y_train.npy, X_test.npy and y_test.npy.
"""

import itertools
import json
import sys
from pathlib import Path

from _harness import Record, timed, watch

MAX_FPR = 0.05
VALIDATION_SHARE = 0.25


def load(folder: Path, part: str):
    """Return features and labels of "train" or "test"."""
    import numpy as np

    # np.load reads a file straight into its array: no temporary raises the mark before the fit.
    return np.load(folder / f"X_{part}.npy"), np.load(folder / f"y_{part}.npy")


def write_generated(folder: Path, rows: str, held_out: str, seed: str) -> Record:
    """Write training rows of one seed and test rows that are the same for all seeds."""
    from _data import write_two_classes

    for part, n_rows, stream in (("train", rows, 1 + int(seed)), ("test", held_out, 0)):
        write_two_classes(
            folder / f"X_{part}.npy", folder / f"y_{part}.npy", int(n_rows), seed=stream
        )
    return {}


def write_magic(folder: Path, seed: str, data: str | None = None) -> Record:
    """Write one random half of MAGIC to train on, the other to test on."""
    import numpy as np
    from _real_data import load_two_classes
    from sklearn.model_selection import train_test_split

    X, y = load_two_classes("magic", data)
    # By halves of each class, in random order: the file is sorted by class.
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=int(seed)
    )
    for part, features, labels in (("train", X_train, y_train), ("test", X_test, y_test)):
        np.save(folder / f"X_{part}.npy", features)
        np.save(folder / f"y_{part}.npy", labels)
    return {}


def quality(y, scores) -> Record:
    """Return the AUC, and the mean share of positives found up to a false positive rate."""
    from sklearn_rank.metrics import auc_score, partial_auc_score

    return {
        "auc": float(auc_score(y, scores)),
        "top": float(partial_auc_score(y, scores, max_fpr=MAX_FPR)),
    }


def fit(folder: Path, name: str, threads: str) -> Record:
    """Fit one system once; return what it took, and how well it ranks the test rows."""
    import numpy as np
    from _lists_systems import ALL

    system = ALL[name]
    model = system.build(int(threads))
    X, y = load(folder, "train")
    queries = system.queries(np.zeros(len(y), dtype=np.int64))
    record = {"rows": len(y), **watch(lambda: model.fit(X, y, **queries))}
    del X, y
    X, y = load(folder, "test")
    scores = []
    record["predict_s"] = timed(lambda: scores.append(system.scores(model, X)))
    return {**record, "test_rows": len(y), **quality(y, scores[0])}


def search(folder: Path, name: str, threads: str, most_rows: str) -> Record:
    """Choose a system's parameters on a validation split, fit all rows, score the test rows.

    With more training rows than `most_rows` the choice sees only the first so many.
    """
    from _lists_systems import ALL
    from sklearn.model_selection import train_test_split

    from sklearn_rank.metrics import auc_score

    system = ALL[name]
    X, y = load(folder, "train")
    seen = slice(int(most_rows))
    X_fit, X_validation, y_fit, y_validation = train_test_split(
        X[seen], y[seen], test_size=VALIDATION_SHARE, stratify=y[seen], random_state=0
    )
    tried = []
    for values in itertools.product(*system.grid.values()):
        chosen = dict(zip(system.grid, values, strict=True))
        model = system.build(int(threads), **chosen).fit(X_fit, y_fit)
        auc = float(auc_score(y_validation, system.scores(model, X_validation)))
        tried.append({**chosen, "auc": auc})
    best = max(tried, key=lambda one: one["auc"])
    chosen = {key: best[key] for key in system.grid}
    model = system.build(int(threads), **chosen).fit(X, y)
    X, y = load(folder, "test")
    return {**chosen, "tried": tried, **quality(y, system.scores(model, X))}


TASKS = {"generated": write_generated, "magic": write_magic, "fit": fit, "search": search}


def main() -> None:
    """Run one task."""
    task, folder, *arguments = sys.argv[1:]
    print(json.dumps(TASKS[task](Path(folder), *arguments)))


if __name__ == "__main__":
    main()
