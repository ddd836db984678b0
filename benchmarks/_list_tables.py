"""Ten real and generated tables with two classes, their splits, and paired differences over splits.

The seven rare tables lie in `rare/NAME.csv.gz` of the data folder: CSV with a header, the last
column `target` (1 belongs on top), empty cells are missing. All are from the UCI Machine Learning
Repository under CC BY 4.0 (Wilt, Wine Quality, Yeast, Abalone, Ozone Level Detection, QSAR
biodegradation, Adult).
"""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

import _real_data
from _real_data import DataNotFoundError
from _stats import say, standard_error

RARE = ("wilt", "wine_quality", "yeast_me2", "abalone", "ozone_level_8hr", "qsar_biodeg", "adult")
TABLES = (*RARE, "magic", "credit", "cancer")
METRICS = ("AUC", "pauc@0.05", "tpr@0.05", "average precision")
TEST_SHARE = 0.4
RATIO = TEST_SHARE / (1 - TEST_SHARE)
"""Of rows tested to rows trained on, for the errors of means over splits that share rows."""
CREDIT_ROWS = 5_000

Figures = dict[str, float]
"""Each of METRICS."""


def load_table(name: str, folder: Path | None):
    """Return the features, categories as such, and labels of which 1 belongs on top."""
    import pandas as pd

    if name not in RARE:
        X, y = _real_data.load_table(name, folder, CREDIT_ROWS)
        is_table = hasattr(X, "columns")
        return X if is_table else pd.DataFrame(X).add_prefix("x"), y.astype(int)
    path = None if folder is None else Path(folder) / "rare" / f"{name}.csv.gz"
    if path is None or not path.is_file():
        raise DataNotFoundError(f"no file rare/{name}.csv.gz in the data folder")
    table = pd.read_csv(path)
    y, X = table["target"].to_numpy(), table.drop(columns="target")
    return X.astype(dict.fromkeys(X.select_dtypes(exclude="number").columns, "category")), y


def split_of(name: str, folder: Path | None, number: int):
    """Return the rows of a split, 60 and 40 %, stratified: training, test, and their labels."""
    from sklearn.model_selection import train_test_split

    X, y = load_table(name, folder)
    return train_test_split(X, y, test_size=TEST_SHARE, stratify=y, random_state=number)


def figures_of(y, scores) -> Figures:
    """Return the metrics of held-out rows."""
    from sklearn.metrics import average_precision_score

    from sklearn_rank.metrics import auc_score, partial_auc_score, tpr_at_fpr_score

    return {
        "AUC": float(auc_score(y, scores)),
        "pauc@0.05": float(partial_auc_score(y, scores, max_fpr=0.05)),
        "tpr@0.05": float(tpr_at_fpr_score(y, scores, max_fpr=0.05)),
        "average precision": float(average_precision_score(y, scores)),
    }


def differences(one: Sequence[Figures], other: Sequence[Figures], metric: str) -> list[float]:
    """Return by how much one system is above another one, split by split."""
    return [a[metric] - b[metric] for a, b in zip(one, other, strict=True)]


def p_value(values: Sequence[float]) -> float:
    """Return the two-sided p-value of a mean difference (Student's t)."""
    from scipy.stats import t

    error = standard_error(values, RATIO)
    if error == 0:
        return float(mean(values) == 0)
    return float(2 * t.sf(abs(mean(values)) / error, len(values) - 1))


def significantly_below(by_table: Mapping[str, Sequence[float]], level: float = 0.05) -> list[str]:
    """Return the tables on which differences are below 0, by Holm's procedure over the tables."""
    several = {name: values for name, values in by_table.items() if len(values) > 1}
    found = sorted((p_value(values), name) for name, values in several.items())
    below: list[str] = []
    for number, (p, name) in enumerate(found):
        if p > level / (len(found) - number):
            break
        below += [name] * (mean(by_table[name]) < 0)
    return below


def _quietly(measure: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few rounds or iterations are no concern here
        return measure(*task)


def stored(path: Path | None) -> dict[tuple[Any, ...], Any]:
    """Return the results that a file of JSON lines holds, by task."""
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.is_file() else []
    return {tuple(task): result for task, result in map(json.loads, lines)}


def measure_all(
    measure: Callable[..., Any], tasks: Sequence[tuple[Any, ...]], path: Path | None, n_jobs: int
) -> dict[tuple[Any, ...], Any]:
    """Return what `measure` finds for each task, several at a time.

    Results go to a file of JSON lines, so that a run that was interrupted goes on. The file knows
    nothing of the code that made it: start a new one for new code.
    """
    from joblib import Parallel, delayed

    found = stored(path)
    missing = [task for task in tasks if task not in found]
    runs = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_quietly)(measure, task) for task in missing
    )
    for number, (task, result) in enumerate(zip(missing, runs, strict=True), start=1):
        found[task] = result
        if path is not None:
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([task, result]) + "\n")
        say(f"{number} of {len(missing)}: {' '.join(map(str, task))}")
    return {task: found[task] for task in tasks}
