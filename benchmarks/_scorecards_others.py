"""The cards of other libraries, each fitted in an environment that is made for it."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from _harness import Record, run_in_process
from _lists_fits import say

CHILD = Path(__file__).with_name("_scorecards_anchor.py")


@dataclass(frozen=True)
class Library:
    """A library, and what pip installs to have it; `python` where it needs an old one.

    `home` is the environment of another system with the same requirements.
    """

    label: str
    requirements: tuple[str, ...]
    python: str | None = None
    home: str | None = None


OPTBINNING, EBM = ("optbinning==1.0.0",), ("interpret-core==0.7.3",)

OTHERS = {
    "fasterrisk": Library("FasterRisk", ("fasterrisk==0.1.10",), "python3.11"),
    "optbinning_small": Library("optbinning, ten steps", OPTBINNING, home="optbinning"),
    "optbinning": Library("optbinning", OPTBINNING),
    "toad": Library("toad", ("toad==0.1.7", "numpy", "pandas", "scikit-learn", "scipy", "joblib")),
    "scorecardpy": Library("scorecardpy", ("scorecardpy==0.1.9.7", "pandas<3")),
    "ebm": Library("EBM, main effects", EBM),
    "ebm_pairs": Library("EBM, ten interactions", EBM, home="ebm"),
    "xgboost": Library("XGBoost, depth 1", ("xgboost-cpu==3.2.0", "scikit-learn", "pandas")),
}

SECONDS = 600.0
"""A fit that takes longer is ended, and left out."""


def make_environment(name: str, folder: Path) -> Path:
    """Return the Python of a library's environment, made if it is not there."""
    library = OTHERS[name]
    home = folder / (library.home or name)
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    done = home / "installed"
    wanted = "\n".join(library.requirements)
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return python
    base = library.python or sys.executable
    if shutil.which(base) is None:
        raise FileNotFoundError(f"{library.label} needs {base}, which is not on the path.")
    say(f"{library.label}: making {home}")
    subprocess.run([base, "-m", "venv", "--clear", str(home)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", *library.requirements]
    subprocess.run(install, check=True)
    done.write_text(wanted, encoding="utf-8")
    return python


def fit_one(python: Path, name: str, rows: Path, scores: Path) -> Record:
    """Fit in a process of its own, with one thread; return what it printed."""
    return run_in_process(CHILD, [name, rows, scores], python=python, threads=1, timeout=SECONDS)


class Cache:
    """Figures of other libraries by library, data set and split, in a JSON file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.found: dict[str, Record] = {}
        if path.exists():
            self.found = json.loads(path.read_text(encoding="utf-8"))

    def get(self, name: str, data: str, split: int) -> Record | None:
        """Return the figures by what was chosen for, or None."""
        return self.found.get(f"{name}/{data}/{split}")

    def put(self, name: str, data: str, split: int, record: Record) -> None:
        """Keep figures, and write the file."""
        self.found[f"{name}/{data}/{split}"] = record
        text = json.dumps(dict(sorted(self.found.items())), indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")


def figures_of(printed: Record, scores: Path, y: Any) -> Record:
    """Return quality, seconds and thresholds for each criterion that was chosen by."""
    import numpy as np
    from _scorecards_ours import quality

    with np.load(scores) as file:
        return {
            criterion: {
                **quality(y, file[criterion]),
                "s": printed[criterion],
                "n": printed["n"][criterion],
            }
            for criterion in file.files
        }


def fit_task(name: str, python: Path, rows: Path) -> Record:
    """Return the figures of a library on a split, or why there are none."""
    import numpy as np

    scores = rows.with_name(f"scores_{name}_{rows.name}")
    printed = fit_one(python, name, rows, scores)
    if "error" in printed:
        return printed
    with np.load(rows) as file:
        return figures_of(printed, scores, file["y_test"])


def fit_others(
    names: Iterable[str],
    tasks: Iterable[tuple[str, int]],
    rows_of: Callable[[str, int], Path],
    cache: Cache,
    folder: Path,
    processes: int = 1,
) -> None:
    """Fit what the cache does not have; results are written in the order of the tasks."""
    tasks = list(tasks)
    for name in names:
        missing = [task for task in tasks if cache.get(name, *task) is None]
        if not missing:
            continue
        label = OTHERS[name].label
        try:
            python = make_environment(name, folder)
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            say(f"{label} is left out: {error}")
            continue
        files = [rows_of(*task) for task in missing]
        with ThreadPoolExecutor(processes) as pool:
            found = pool.map(partial(fit_task, name, python), files)
            for (data, split), record in zip(missing, found, strict=True):
                where = f"{label}, {data}, split {split}"
                if "error" in record:
                    say(f"{where}: {record['error']}")
                    continue
                cache.put(name, data, split, record)
                say(f"{where}: {record['auc']['s']:.1f} s")
